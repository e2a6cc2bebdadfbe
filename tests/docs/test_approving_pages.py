"""The guides to SAML and to the pages: what they name is what there is."""

import re
from pathlib import Path

import yaml

from hibernator.web import outcome, requests
from hibernator.web.app import _service
from hibernator.web.saml import claims
from hibernator.web.settings import settings
from support.pages import ROOT, blocks
from support.saml import provider

GUIDES = ROOT / "docs" / "guides"
SAML = (GUIDES / "saml.md").read_text("utf-8")
PHONE = (GUIDES / "approve-from-a-phone.md").read_text("utf-8")
SOURCES = ROOT / "src" / "hibernator" / "web"


def test_the_settings_for_saml_are_settings(tmp_path: Path) -> None:
    (text,) = [block.text for block in blocks(GUIDES / "saml.md", "yaml")]
    for name in ("keys", "idp.xml"):
        (tmp_path / name).write_text("k" * 44 if name == "keys" else provider().metadata())
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(yaml.safe_load(text)))
    own = {"session_key_file": str(tmp_path / "keys"), "saml_idp_metadata_file": str(tmp_path / "idp.xml")}
    found = _service(settings(own, {}, tmp_path / "web.yaml"))
    assert found.entity_id == "https://hibernator.company.com/saml/metadata"
    assert found.consumer == "https://hibernator.company.com/saml/acs"


def test_every_attribute_that_is_looked_for_is_in_the_guide_in_its_order() -> None:
    for what, names in (("address", claims.EMAIL), ("name", claims.NAME), ("groups", claims.GROUPS)):
        (row,) = re.findall(rf"^\| {what} \| (.*) \|$", SAML, re.MULTILINE)
        assert tuple(re.findall(r"`([^`]+)`", row))[: len(names)] == names


def test_every_reason_for_which_saml_refuses_is_in_the_guide() -> None:
    known = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", SAML, re.MULTILINE))))
    text = "".join(path.read_text("utf-8") for path in (SOURCES / "saml").glob("*.py"))
    raised = set(re.findall(r'NotBelievedError\(\s*"(\w+)"', text)) | set(
        re.findall(r'_equal\(\s*"(\w+)"', text)
    )
    assert raised <= known


def test_every_title_that_the_page_says_after_a_decision_is_in_the_guide() -> None:
    titles = {title for _, title, _ in outcome._ENDS.values()} - {"Cancelled", "Expired"}
    titles |= {requests._GONE.title, requests._NOT_ASKED.title, "Your approval counts", "Nothing was decided"}
    for title in titles:
        assert f"| {title} |" in PHONE
