"""The guide to single sign-on: its settings are settings, and let in who the providers say is there."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hibernator.web import claims as claims_module, oidc, provider, refusals, site
from hibernator.web.claims import identity
from hibernator.web.settings import Settings, settings
from support.pages import ROOT, blocks

PAGE = ROOT / "docs" / "guides" / "single-sign-on.md"
SHARED, *PROVIDERS = [block.text for block in blocks(PAGE, "yaml")]
ALICE = {"sub": "00u1", "iat": 0, "email": "alice@company.com", "name": "Alice"}
TENANT = "8f1d6a0c-6c1b-4d0e-9a57-2d0f1f7f2f10"

# What an ID token of each looks like, by the documentation of the provider.
TOKENS: dict[str, dict[str, Any]] = {
    "Okta": {
        "email_verified": True,
        "groups": ["ops"],
        "idp": "00o1",
        "preferred_username": "alice@company.com",
    },
    "Entra ID": {"tid": TENANT, "oid": "1", "preferred_username": "alice@company.com", "groups": ["ops"]},
    "Auth0": {"email_verified": True, "nickname": "alice", "https://hibernator.company.com/groups": ["ops"]},
    "Google": {"email_verified": True, "hd": "company.com", "azp": "hibernator"},
    "Keycloak": {"email_verified": True, "groups": ["ops"], "typ": "ID", "acr": "1"},
    "Dex": {"email_verified": True, "groups": ["ops"], "at_hash": "x"},
}


def chosen(text: str, folder: Path) -> Settings:
    """What the guide says, with the secrets of this machine."""
    (folder / "keys").write_text("k" * 44)
    (folder / "secret").write_text("secret")
    file = folder / "web.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(SHARED) | yaml.safe_load(text)))
    flags = {
        "session_key_file": str(folder / "keys"),
        "oidc_client_secret_file": str(folder / "secret"),
    }
    return settings(flags, {}, file)


@pytest.mark.parametrize("text", PROVIDERS, ids=lambda text: text.splitlines()[0])
def test_the_settings_of_a_provider_let_in_whom_it_says_to_be_of_the_company(
    tmp_path: Path, text: str
) -> None:
    found = chosen(text, tmp_path)
    name = text.splitlines()[0].removeprefix("# ")
    known = identity(ALICE | TOKENS[name], oidc.rules(found), found.oidc_issuer)
    assert known.email == "alice@company.com"
    assert known.username == f"{found.oidc_issuer}#00u1"
    assert known.groups == (() if name == "Google" else ("ops",))
    stranger = ALICE | TOKENS[name] | {"email": "alice@gmail.com"}
    with pytest.raises(refusals.LoginRefusedError):
        identity(stranger, oidc.rules(found), found.oidc_issuer)


def test_every_provider_of_the_guide_is_one_of_the_table() -> None:
    assert [text.splitlines()[0].removeprefix("# ") for text in PROVIDERS] == list(TOKENS)


def test_every_reason_for_which_someone_cannot_log_in_is_in_the_guide() -> None:
    told = set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE.read_text("utf-8"), re.MULTILINE)))
    )
    used = set(claims_module._REASONS.values())
    for module in (claims_module, oidc, provider, refusals, site):
        source = Path(str(module.__file__)).read_text("utf-8")
        used |= set(re.findall(r'LoginRefusedError\(\s*"(\w+)"', source))
    assert used - {"subject"} <= told  # which no provider leaves out
