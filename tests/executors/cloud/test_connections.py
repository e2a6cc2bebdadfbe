"""What is open stays open while nothing changes, and is closed once nobody uses it any more."""

from dataclasses import dataclass, field

import pytest

from hibernator.executors import connections
from hibernator.executors.connections import Connections
from hibernator.executors.protocol import Retryable

NAME = ("CloudProvider", "team", "dev")


@dataclass
class Door:
    """Something to open, made of a word."""

    word: str = "one"
    looks: int = 0
    opened: list["Room"] = field(default_factory=list)

    async def look(self) -> str:
        self.looks += 1
        return self.word

    async def make(self, word: str) -> "Room":
        self.opened.append(Room(word))
        return self.opened[-1]


@dataclass
class Room:
    word: str
    closed: bool = False

    async def close(self) -> None:
        self.closed = True


async def test_what_is_open_is_given_to_everybody_without_another_look() -> None:
    door, open_ = Door(), Connections()
    first = await open_.get(NAME, door.look, door.make)
    assert await open_.get(NAME, door.look, door.make) is first
    assert (door.looks, len(door.opened)) == (1, 1)
    await open_.close()
    assert first.closed


async def test_a_look_that_finds_the_same_keeps_it_open_and_another_opens_anew() -> None:
    door, open_ = Door(), Connections()
    first = await open_.get(NAME, door.look, door.make)
    assert await open_.get(NAME, door.look, door.make, afresh=True) is first
    door.word = "two"
    second = await open_.get(NAME, door.look, door.make, afresh=True)
    assert (second.word, first.closed) == ("two", False)  # somebody may be in the middle of something
    await open_.close()
    assert (first.closed, second.closed) == (True, True)


async def test_what_was_replaced_is_closed_when_no_one_can_be_using_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "_IN_USE", -1.0)
    door, open_ = Door(), Connections()
    first = await open_.get(NAME, door.look, door.make)
    door.word = "two"
    await open_.get(NAME, door.look, door.make, afresh=True)
    assert first.closed


async def test_what_cannot_be_opened_rests_for_a_moment_unless_it_is_wanted_afresh(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door, open_ = Door(), Connections()

    async def fail(_word: str) -> Room:
        raise Retryable("Nobody is there.")

    for _ in range(3):
        with pytest.raises(Retryable, match="Nobody is there"):
            await open_.get(NAME, door.look, fail)
    assert door.looks == 1
    assert (await open_.get(NAME, door.look, door.make, afresh=True)).word == "one"
    assert (await open_.get(NAME, door.look, fail)).word == "one"
    open_.forget(NAME)
    monkeypatch.setattr(connections, "_REST", 0.0)
    with pytest.raises(Retryable):
        await open_.get(NAME, door.look, fail)
    assert (await open_.get(NAME, door.look, door.make)).word == "one"


async def test_what_belongs_to_a_connector_that_is_gone_is_forgotten() -> None:
    door, open_ = Door(), Connections()
    first = await open_.get(NAME, door.look, door.make)
    open_.forget(NAME)
    assert await open_.get(NAME, door.look, door.make) is not first
    await open_.close()
    assert first.closed
