"""The guide to an emergency exception, lived through: by the people in it, and as their terminals show it."""

import asyncio
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from hibernator.cli import exception as commands
from support.clock import ManualClock
from support.command import hibernator
from support.people import People

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "emergency-exception.md"
_FENCE = re.compile(r"^```(?P<words>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def steps() -> Iterator[tuple[str, list[str], str]]:
    """Who types what, and what they see: a block for the shell that names somebody, and the next one."""
    blocks = [(match["words"].split(), match["text"]) for match in _FENCE.finditer(GUIDE.read_text("utf-8"))]
    for (words, typed), (_, seen) in pairwise(blocks):
        if len(words) == 2 and words[0] == "sh":
            program, *arguments = shlex.split(typed.replace("\\\n", " "))
            assert program == "hibernator"
            yield f"{words[1]}@company.com", arguments, seen


async def test_an_emergency_exception_from_need_to_expiry(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock("2026-03-06T12:00:00Z")  # a Friday
    monkeypatch.setattr(commands, "now", lambda _kubeconfig: clock.now())
    people.plan_over_web()
    async with people.operator(clock) as run:
        for user, arguments, seen in steps():
            path = people.kubeconfig(user, "system:masters", extra={})
            given = (f"--kubeconfig={path}", "-n", people.namespace)
            done = await asyncio.to_thread(hibernator, *arguments, *given)
            assert done.out.replace(people.namespace, "team-a") == seen, done.err
            await run.settle()
        await run.until(lambda: people.state("demo-night") == "Active")
        for moment, asleep in (("20:00", False), ("22:59", False), ("23:00", True)):
            await run.advance_to(f"2026-03-06T{moment}:00Z")
            assert people.is_asleep() is asleep
        await run.advance_to("2026-03-07T00:00:00Z")
        assert people.state("demo-night") == "Expired"
        assert people.entries() == [("demo-night", "Expired")]
        assert people.is_asleep()
        await run.advance_to("2026-03-07T06:00:00Z")
        assert not people.is_asleep()
