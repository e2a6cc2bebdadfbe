"""Settings of Slack that cannot work are refused in words, before anything starts."""

from pathlib import Path
from typing import Any

import pytest

from hibernator.settings import SettingsError
from support.webs import web_settings

ISSUER = "https://id.company.com"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"slack_bot_token_file": ""}, "slackBotTokenFile is missing"),
        ({"slack_team_id": ""}, "slackTeamId is ''"),
        ({"slack_team_id": "company"}, "write the id of the workspace"),
        ({"slack_channel": "#approvals"}, "slackChannel is '#approvals': write the id of the channel"),
        ({"slack_signing_secret_file": ""}, "no click could come in"),
        ({"slack_api_url": "http://slack.company.com/api/"}, "slackApiUrl"),
        ({"slack_bot_token_file": "/nowhere"}, "slackBotTokenFile is '/nowhere', which cannot be read"),
    ],
)
def test_settings_that_cannot_work_are_refused(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    (tmp_path / "token").write_text("xoxb-1")
    good: dict[str, Any] = {
        "slack_bot_token_file": str(tmp_path / "token"),
        "slack_signing_secret_file": str(tmp_path / "token"),
        "slack_team_id": "T024BE7LD",
        "slack_mode": "buttons",
    }
    assert web_settings(tmp_path, oidc_issuer=ISSUER, **good).slack_mode == "buttons"
    with pytest.raises(SettingsError) as error:
        web_settings(tmp_path, oidc_issuer=ISSUER, **good | changed)
    assert words in str(error.value)
