"""The channel for Slack, against a Slack on loopback: who is found, what is posted, edited, found again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec import structs

from decisions.exception_seen import PLAN
from hibernator.api.approvaldelivery import SentMessage
from hibernator.kube.metrics import Metrics
from hibernator.messages.channel import AwayError, Letter, RefusedError
from hibernator.messages.facts import facts_of_exception
from hibernator.messages.records import Due, due
from hibernator.messages.slack import Slack, place_of
from hibernator.messages.slack_api import ACCEPTED, TOKEN_REFUSED, SlackApi
from messages.scenes import ALICE, AT, BOB, CAROL, DORA, pending, sent
from support.clock import ManualClock
from support.slack import BOT_TOKEN, TEAM, LoopbackSlack, loopback_slack

LINK = "https://hibernator.company.com/approve/uid-on-site-event"
PEOPLE = (ALICE, BOB, CAROL, DORA)


@dataclass
class Desk:
    slack: LoopbackSlack
    clock: ManualClock
    session: aiohttp.ClientSession
    folder: Path
    metrics: Metrics = field(default_factory=lambda: Metrics((ACCEPTED,)))

    def channel(self) -> Slack:
        """The channel as a process that has just started has it."""
        api = SlackApi(
            f"{self.slack.url}/api/", str(self.folder / "token"), self.session, self.clock, self.metrics
        )
        return Slack(api, self.clock, mode="buttons", team=TEAM)


@asynccontextmanager
async def desk_of(folder: Path) -> AsyncIterator[Desk]:
    clock = ManualClock(AT)
    (folder / "token").write_text(f"{BOT_TOKEN}\n")
    async with (
        loopback_slack(now=lambda: clock.now().timestamp()) as slack,
        aiohttp.ClientSession() as session,
    ):
        for one in PEOPLE:
            slack.person(one)
        yield Desk(slack, clock, session, folder)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_of(tmp_path) as found:
        yield found


def letter(**more: Any) -> Letter:
    facts = facts_of_exception(pending(), PLAN)
    given: dict[str, Any] = {"recipient": BOB, "topic": "asked", "facts": facts, "link": LINK, "asked": True}
    return Letter(**given | more)


async def test_an_address_is_found_once_a_day_and_the_message_is_where_its_id_says(desk: Desk) -> None:
    channel = desk.channel()
    found = await channel.send(letter(recipient="Bob@Company.com"), channel.id_of(sent(BOB), "asked"))
    [posted] = desk.slack.conversation(BOB)
    place = place_of(found)
    assert place
    assert place.ts == posted["ts"]
    channel.over(BOB)
    assert channel.turn(BOB) == 1.0  # one message a second in a conversation
    assert channel.turn(CAROL) == 0.0
    await channel.send(letter(topic="outcome", end="rejected", first=found), "x")
    assert [method for method, _ in desk.slack.calls if not method.startswith("files.")] == [
        "users.lookupByEmail",
        "conversations.open",
        "chat.postMessage",
        "chat.postMessage",
    ]
    assert desk.slack.conversation(BOB)[1]["thread_ts"] == posted["ts"]
    await desk.clock.advance(24 * 3600)
    await channel.send(letter(topic="reminder-half"), "y")
    assert [method for method, _ in desk.slack.calls].count("users.lookupByEmail") == 2


async def test_who_is_unknown_deactivated_a_guest_or_of_another_team_is_refused_in_words(desk: Desk) -> None:
    odd: list[tuple[dict[str, Any], str]] = [
        ({"deleted": True}, "deactivated"),
        ({"is_restricted": True}, "guest"),
        ({"is_ultra_restricted": True}, "guest"),
        ({"is_bot": True}, "bot"),
        ({"team_id": "T0OTHER"}, "another workspace"),
    ]
    for number, (more, words) in enumerate(odd):
        desk.slack.person(f"odd-{number}@company.com", **more)
        with pytest.raises(RefusedError, match=words):
            await desk.channel().send(letter(recipient=f"odd-{number}@company.com"), "x")
    with pytest.raises(RefusedError, match="no user of Slack has this address"):
        await desk.channel().send(letter(recipient="none@company.com"), "x")


async def test_a_lost_or_old_message_is_posted_anew_and_only_once(desk: Desk) -> None:
    channel = desk.channel()
    first = await channel.send(letter(), "x")
    desk.slack.conversation(BOB).clear()  # somebody deleted it
    second = await channel.send(letter(), first)
    assert second != first
    assert await desk.channel().send(letter(), first, again=True) == second  # it died before the record
    assert len(desk.slack.conversation(BOB)) == 1
    await desk.clock.advance(31 * 24 * 3600)
    third = await channel.send(letter(), second)
    assert third != second
    assert len(desk.slack.conversation(BOB)) == 2
    over = letter(is_open=False, end="rejected")
    assert await desk.channel().send(over, third) == third
    desk.slack.conversation(BOB).clear()
    await desk.channel().send(over, third)
    assert desk.slack.conversation(BOB) == []  # nobody is told anew of what is over


async def test_who_is_known_is_not_looked_up_again_because_slack_opens_no_conversation_now(
    desk: Desk,
) -> None:
    desk.slack.limits["conversations.open"] = (0, 5.0)
    channel, before = desk.channel(), len(desk.slack.calls)
    assert channel.at_once == 4
    with pytest.raises(AwayError, match="wait 5 seconds"):
        await channel.send(letter(), "x")
    assert channel.at_once == 1  # what Slack would refuse is not tried four times
    del desk.slack.limits["conversations.open"]
    await desk.clock.advance(5)
    await channel.send(letter(), "x", again=True)
    assert [method for method, _ in desk.slack.calls[before:]].count("users.lookupByEmail") == 1
    await desk.clock.advance(60)
    assert channel.at_once == 4


async def test_a_message_that_can_no_longer_be_changed_is_replaced(desk: Desk) -> None:
    channel = desk.channel()
    first = await channel.send(letter(), "x")
    desk.slack.troubles.append({"error": "edit_window_closed"})
    second = await channel.send(letter(), first)
    [message] = desk.slack.conversation(BOB)
    assert second.endswith(message["ts"])
    assert second != first


async def test_rates_outages_and_a_revoked_token_wait_and_heal(desk: Desk) -> None:
    channel = desk.channel()
    desk.slack.troubles.append({"error": "ratelimited", "after": 17})
    with pytest.raises(AwayError, match="wait 17 seconds") as error:
        await channel.send(letter(), "x")
    assert (error.value.after, error.value.everyone) == (17.0, True)
    assert channel.turn(CAROL) == 17.0  # no other is tried until then
    await desk.clock.advance(17)
    desk.slack.troubles.append({"error": "internal_error"})
    with pytest.raises(AwayError):
        await channel.send(letter(), "x")
    desk.slack.token = "xoxb-new"
    with pytest.raises(AwayError, match="refuses the token of the app: invalid_auth"):
        await channel.send(letter(), "x")
    assert desk.metrics.value(ACCEPTED, "bot") == 0
    assert channel.turn(BOB, letter().facts.uid) == 60.0
    assert channel.turn(CAROL, letter().facts.uid) == 75.0  # behind the one that finds out
    (desk.folder / "token").write_text("xoxb-new")
    await desk.clock.advance(60)
    await channel.send(letter(), "x", again=True)
    assert desk.metrics.value(ACCEPTED, "bot") == 1
    assert len(desk.slack.conversation(BOB)) == 1
    desk.slack.scopes.discard("chat:write")
    with pytest.raises(AwayError, match="missing_scope \\(chat:write\\)"):
        await channel.send(letter(topic="outcome", end="rejected"), "x")


@pytest.mark.parametrize("code", ["message_limit_exceeded", "ekm_access_denied", "service_unavailable"])
async def test_what_the_whole_workspace_has_too_much_of_is_tried_again(desk: Desk, code: str) -> None:
    channel = desk.channel()
    desk.slack.troubles.append({"error": code})
    with pytest.raises(AwayError, match=code) as error:
        await channel.send(letter(), "x")
    assert error.value.everyone
    assert await channel.send(letter(), "x", again=True)


@pytest.mark.parametrize("code", ["messages_tab_disabled", "accesslimited", "two_factor_setup_required"])
async def test_what_an_administrator_of_slack_mends_is_one_condition(desk: Desk, code: str) -> None:
    channel = desk.channel()
    desk.slack.troubles.append({"error": code})
    with pytest.raises(AwayError, match=f"refuses the token of the app: {code}") as error:
        await channel.send(letter(), "x")
    assert error.value.reason == TOKEN_REFUSED
    assert desk.metrics.value(ACCEPTED, "bot") == 0


async def test_an_open_question_is_asked_anew_after_thirty_days_and_the_old_one_says_so(desk: Desk) -> None:
    channel = desk.channel()
    first = await channel.send(letter(), "x")
    record = SentMessage(
        channel="slack",
        topic="asked",
        id=first,
        hash=channel.hash_of(letter()),
        sent_at=desk.clock.now().to_stdlib(),
    )
    tomorrow = desk.clock.now().add(hours=24)
    assert due(record, channel, record.hash, desk.clock.now()) == Due(at=tomorrow)  # is it still there?
    assert due(record, channel, record.hash, desk.clock.now(), is_open=False) == Due()
    await desk.clock.advance(30 * 24 * 3600 - 1800)
    seen = structs.replace(record, sent_at=desk.clock.now().to_stdlib())
    assert due(seen, channel, seen.hash, desk.clock.now()) == Due(at=desk.clock.now().add(minutes=30))
    await desk.clock.advance(1800)
    assert due(record, channel, record.hash, desk.clock.now()) == Due(now=True)
    assert await channel.send(letter(), first) != first
    old, new = desk.slack.conversation(BOB)
    assert "asked below" in str(old["blocks"])
    assert "hibernator_approve" not in str(old["blocks"])
    assert "hibernator_approve" in str(new["blocks"])


async def test_the_outcome_is_sent_also_where_the_question_was_deleted(desk: Desk) -> None:
    channel = desk.channel()
    first = await channel.send(letter(), "x")
    desk.slack.conversation(BOB).clear()
    over = letter(topic="outcome", end="rejected", first=first)
    told = await channel.send(over, "y")
    [posted] = desk.slack.conversation(BOB)
    assert "thread_ts" not in posted
    assert await desk.channel().send(over, "y", again=True) == told  # it died before the record


async def test_without_the_scope_to_read_its_own_messages_it_still_sends(desk: Desk) -> None:
    desk.slack.scopes.discard("im:history")
    await desk.channel().send(letter(), "x", again=True)
    assert len(desk.slack.conversation(BOB)) == 1
    assert desk.metrics.value(ACCEPTED, "bot") == 1


async def test_in_an_organisation_people_belong_to_several_workspaces(desk: Desk) -> None:
    for number, teams in enumerate(([TEAM, "T0HOME"], ["T0HOME"])):
        who = f"grid-{number}@company.com"
        desk.slack.person(who, team_id="T0HOME", enterprise_user={"enterprise_id": "E0", "teams": teams})
        if TEAM in teams:
            await desk.channel().send(letter(recipient=who), "x")
        else:
            with pytest.raises(RefusedError, match="another workspace"):
                await desk.channel().send(letter(recipient=who), "x")
