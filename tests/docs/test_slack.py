"""The manifest that people paste into Slack."""

import yaml

from hibernator.web.slack import PATH
from support.pages import ROOT, blocks
from support.slack_methods import HISTORY, SCOPES


def test_the_manifest_has_what_the_process_needs() -> None:
    """As the loopback Slack asks for it, which refuses a call without its scope."""
    block = blocks(ROOT / "docs" / "guides" / "slack.md")[0]
    manifest = yaml.safe_load(block.text)
    others = {"connections:write", "groups:history", ""}  # of the other token, and of private channels
    needed = {*SCOPES.values(), *HISTORY.values()} - others
    assert {*manifest["oauth_config"]["scopes"]["bot"]} == needed
    assert manifest["settings"]["interactivity"]["request_url"].endswith(PATH)
    assert manifest["features"]["app_home"]["messages_tab_enabled"]  # where people find what they are asked
