"""Many people asked at once: all are served, within Slack's limits, and others do not wait for them."""

import asyncio

import pytest

from hibernator.messages.channel import AwayError
from hibernator.messages.slack_api import SlackApi
from messages.scenes import BOB, CAROL
from messages.test_slack import Desk, desk, letter

__all__ = ["desk"]  # a fixture
MANY = 1000
A_MINUTE = 50  # what Slack allows a method of its third tier, at least


async def test_a_thousand_people_are_asked_as_fast_as_slack_lets_them_and_nobody_else_waits(
    desk: Desk,
) -> None:
    """The clock is ours: minutes of Slack take no time here."""
    for method in ("users.lookupByEmail", "conversations.open"):
        desk.slack.limits[method] = (A_MINUTE, 60.0)
    channel, asked = desk.channel(), letter()
    known = await channel.send(asked, "x")  # bob was asked about something before
    crowd = [f"person-{number}@company.com" for number in range(MANY)]
    for one in crowd:
        desk.slack.person(one)
    left, refusals, started = list(crowd), 0, desk.clock.monotonic()
    while left:
        served = []
        for one in left:
            if channel.turn(one):
                break
            try:
                await channel.send(letter(recipient=one), f"mark-{one}")
            except AwayError:
                refusals += 1
                break
            finally:
                channel.over(one)
            served.append(one)
        if len(served) < len(left):
            # The crowd waits for Slack, and a message in a known conversation does not.
            await desk.clock.advance(1)
            assert channel.turn(BOB) == 0.0
            await channel.send(asked, known)
            channel.over(BOB)
            await desk.clock.advance(max(0.0, channel.turn(left[-1])))
        left = [one for one in left if one not in served]
    assert all(len(desk.slack.questions(one)) == 1 for one in crowd)
    minutes = (desk.clock.monotonic() - started) / 60
    assert minutes <= MANY / A_MINUTE + 0.5
    assert refusals <= MANY / A_MINUTE + 1  # one for each full minute: Slack is asked, and not pressed


async def test_what_slack_asked_to_wait_for_is_not_called_before_that(desk: Desk) -> None:
    desk.slack.limits["users.info"] = (1, 5.0)
    folder = str(desk.folder / "token")
    api = SlackApi(f"{desk.slack.url}/api/", folder, desk.session, desk.clock, desk.metrics)
    who = {"user": desk.slack.user_of(BOB)}
    asked: list[str] = []
    desk.slack.after_call = asked.append
    await api.call("users.info", who)
    for _ in range(3):
        with pytest.raises(AwayError, match="wait 5 seconds"):
            await api.call("users.info", who, patience=4.0)
    assert asked == ["users.info"] * 2  # the second had to wait; the others did not ask
    async with asyncio.TaskGroup() as group:
        patient = group.create_task(api.call("users.info", who, patience=30.0))
        await asyncio.sleep(0)
        await desk.clock.advance(5)
    assert patient.result()["user"]["id"] == who["user"]


async def test_of_two_requests_to_one_person_the_second_waits_for_the_first(desk: Desk) -> None:
    channel = desk.channel()
    assert channel.turn(BOB, "one") == 0.0
    assert channel.turn(BOB, "two") > 0.0  # both were looked at before either was sent
    await desk.clock.advance(3)  # the first is slow
    assert channel.turn(BOB, "two") > 0.0
    await channel.send(letter(), "x")
    channel.over(BOB)
    assert channel.turn(BOB, "two") == 1.0


async def test_while_slack_takes_no_edits_new_questions_go_out(desk: Desk) -> None:
    """A thousand messages that change take twenty minutes, in which others are asked about other things."""
    channel, first = desk.channel(), letter()
    known = await channel.send(first, "x")
    desk.slack.limits["chat.update"] = (0, 30.0)
    with pytest.raises(AwayError, match="wait 30 seconds"):
        await channel.send(letter(is_open=False, end="rejected"), known)
    await desk.clock.advance(1)
    assert channel.turn(CAROL, is_edit=True) == 29.0
    assert channel.turn(CAROL) == 0.0
