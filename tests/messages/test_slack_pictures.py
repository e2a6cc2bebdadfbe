"""The picture in a message of Slack: uploaded once, shown when it is ready, and never waited for in vain."""

import asyncio
from typing import Any

from hibernator.messages.slack_api import ACCEPTED
from messages.scenes import BOB, CAROL
from messages.test_slack import Desk, desk, letter

__all__ = ["desk"]  # a fixture
PICTURE = "files.getUploadURLExternal"


def kinds(message: dict[str, Any]) -> set[str]:
    return {block["type"] for block in message["blocks"]}


def uploads(desk: Desk) -> int:
    return [method for method, _ in desk.slack.calls].count(PICTURE)


async def test_a_picture_is_uploaded_once_and_shown_to_everybody_who_is_asked(desk: Desk) -> None:
    channel = desk.channel()
    both = channel.send(letter(), "x"), channel.send(letter(recipient=CAROL), "y")
    first, _ = await asyncio.gather(*both)
    for who in (BOB, CAROL):
        [block] = [one for one in desk.slack.conversation(who)[0]["blocks"] if one["type"] == "image"]
        assert block["alt_text"].startswith("The plan before and after: ")
    assert uploads(desk) == 1
    [painted] = desk.slack.files.contents.values()
    assert painted.startswith(b"\x89PNG")
    await channel.send(letter(is_open=False, end="rejected"), first)
    assert "image" in kinds(desk.slack.conversation(BOB)[0])
    await channel.send(letter(topic="outcome", end="rejected", first=first), "z")
    assert uploads(desk) == 1


async def test_a_picture_that_slack_still_looks_at_comes_a_moment_later(desk: Desk) -> None:
    desk.slack.files.processing = 1.5
    async with asyncio.TaskGroup() as group:
        sent = group.create_task(desk.channel().send(letter(), "x"))
        while not sent.done():
            await desk.clock.advance(1)
    assert "image" in kinds(desk.slack.conversation(BOB)[0])


async def test_without_a_picture_the_message_has_the_timeline_in_characters(desk: Desk) -> None:
    desk.slack.files.processing = 3600
    async with asyncio.TaskGroup() as group:
        sent = group.create_task(desk.channel().send(letter(), "x"))
        while not sent.done():
            await desk.clock.advance(1)
    [message] = desk.slack.conversation(BOB)
    assert "image" not in kinds(message)
    assert "```" in str(message["blocks"])


async def test_a_missing_scope_for_pictures_stops_no_message(desk: Desk) -> None:
    desk.slack.scopes.discard("files:write")
    channel = desk.channel()
    await channel.send(letter(), "x")
    await channel.send(letter(recipient=CAROL), "y")
    assert "```" in str(desk.slack.conversation(BOB)[0]["blocks"])
    assert uploads(desk) == 0  # refused before it is counted as a call
    assert desk.metrics.value(ACCEPTED, "bot") == 1
    assert channel.turn(CAROL) == 0.0


async def test_after_an_outage_the_next_message_has_its_picture(desk: Desk) -> None:
    channel = desk.channel()
    desk.slack.limits[PICTURE] = (0, 7.0)
    await channel.send(letter(), "x")
    assert "image" not in kinds(desk.slack.conversation(BOB)[0])
    del desk.slack.limits[PICTURE]
    await desk.clock.advance(7)
    await channel.send(letter(recipient=CAROL), "y")
    assert "image" in kinds(desk.slack.conversation(CAROL)[0])
