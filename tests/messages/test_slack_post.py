"""A post in a channel of Slack: everybody can follow a request, and nobody can decide it there."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from whenever import Instant

from decisions.exception_seen import PLAN, said
from hibernator.api.scheduleexception import ScheduleException
from hibernator.messages.channel import AwayError, Letter
from hibernator.messages.conversation import of_exception, of_remediation
from hibernator.messages.facts import facts_of_exception
from hibernator.messages.slack_api import SlackApi
from hibernator.messages.slack_blocks import sheet
from hibernator.messages.slack_post import SlackPost
from hibernator.messages.views import post
from messages.scenes import AT, DIRECTORY, pending, remediation, sent, stored
from messages.test_slack import LINK, Desk, desk_of
from support.slack_blocks import check_blocks

ROOM = "C024BE91L"


def topics(exception: ScheduleException, now: Instant = AT, *, held: bool = True) -> list[str]:
    known = {f"#{ROOM.lower()}": sent(f"#{ROOM}")} if held else {}
    about = of_exception(exception, DIRECTORY)
    return [one.topic for one in post(about, f"#{ROOM}", known, now)]


def test_a_post_is_followed_by_every_decision_and_the_end() -> None:
    first = stored(said(pending(), "approve", "bob"))
    rejected = stored(said(first, "reject", "carol", reason="not in the freeze"))
    assert topics(pending(), held=False) == ["asked"]
    assert topics(first) == ["asked", "decision-1"]
    assert topics(rejected) == ["asked", "decision-1", "decision-2", "outcome"]
    lines = [step.line for step in of_exception(rejected, DIRECTORY).story]
    assert lines == ["✓ bob approved it.", "✗ carol rejected it: not in the freeze"]


def test_what_ended_long_before_there_was_a_channel_is_not_posted() -> None:
    over = stored(said(pending(), "reject", "bob", reason="no"))
    assert topics(over, AT.add(hours=25), held=False) == []
    assert topics(over, AT.add(hours=1), held=False) == ["asked", "decision-1", "outcome"]


def test_the_story_of_a_remediation_tells_that_it_was_escalated() -> None:
    decided = {"escalatedAt": "2026-01-29T12:00:00Z", "decision": "Approved", "decidedBy": "carol"}
    about = of_remediation(remediation(decided), None, DIRECTORY)
    assert [(step.topic, step.line) for step in about.story] == [
        ("escalated", "Escalated: the second level is asked, too."),
        ("decision-1", "✓ carol approved it."),
    ]


def test_a_post_has_no_buttons_in_any_mode_and_no_line_of_it_is_markup() -> None:
    facts = facts_of_exception(pending(reason="<!channel> now"), PLAN)
    question = Letter(recipient=f"#{ROOM}", topic="asked", facts=facts, link=LINK, is_post=True)
    step = replace(question, topic="decision-1", line="✗ bob rejected it: <!channel> *no*")
    for letter in (question, replace(question, is_open=False, end="rejected"), step):
        shown = [sheet(letter, mode) for mode in ("buttons", "links")]
        assert all(check_blocks(list(one.blocks)) == [] for one in shown)
        told = json.dumps([one.blocks for one in shown])
        assert '"actions"' not in told
        assert "<!channel>" not in told
    assert LINK in json.dumps(sheet(question, "links").blocks)
    assert LINK not in json.dumps(sheet(question, "notify").blocks)


class PostDesk(Desk):
    def channel(self) -> SlackPost:
        token = str(self.folder / "token")
        api = SlackApi(f"{self.slack.url}/api/", token, self.session, self.clock, self.metrics)
        return SlackPost(api, self.clock, mode="buttons", channel=ROOM)


async def test_a_channel_that_the_app_is_not_in_says_so_and_works_once_it_is_invited(tmp_path: Path) -> None:
    async with desk_of(tmp_path) as made:
        desk = PostDesk(made.slack, made.clock, made.session, made.folder)
        room = desk.slack.channel(ROOM, is_member=False)
        facts = facts_of_exception(pending(), PLAN)
        letter = Letter(recipient=f"#{ROOM}", topic="asked", facts=facts, link=LINK, is_post=True)
        channel = desk.channel()
        with pytest.raises(AwayError, match="C024BE91L: the app is not in it: invite") as error:
            await channel.send(letter, "x")
        assert not error.value.everyone  # so it is an event on the request
        desk.slack.channel(ROOM)
        await channel.send(letter, "x", again=True)
        assert len(room) == 1
