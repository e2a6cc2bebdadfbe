"""The guide to an emergency exception, lived through: by the people in it, and as their terminals show it."""

import asyncio
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise

import pytest

from hibernator.kube import clustertime
from support.clock import ManualClock
from support.command import hibernator
from support.pages import blocks
from support.people import People


def steps() -> Iterator[tuple[str, list[str], str]]:
    """Who types what, and what they see: a block for the shell that names somebody, and the next one."""
    for typed, seen in pairwise(blocks("docs/guides/emergency-exception.md")):
        if typed.language == "sh" and typed.name:
            program, *arguments = shlex.split(typed.text.replace("\\\n", " "))
            assert program == "hibernator"
            yield f"{typed.name}@company.com", arguments, seen.text


def as_shown(out: str) -> str:
    """What a command printed, with the hash and the age of the guide: a uid and this machine make them."""
    hashed = re.sub(r"(?m)^(  seen +)[0-9a-f]{20}$", r"\g<1>3f2a9c01de4b77a0c1d2", out)
    return re.sub(r"(?m)(company\.com   )\d+s$", r"\g<1>0s", hashed)


async def test_an_emergency_exception_from_need_to_expiry(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock("2026-03-06T12:00:00Z")  # a Friday
    monkeypatch.setattr(clustertime, "now", lambda _kubeconfig: clock.now())
    people.plan_over_web()
    async with people.operator(clock) as run:
        for user, arguments, seen in steps():
            path = people.kubeconfig(user, "system:masters", extra={})
            given = (f"--kubeconfig={path}", "-n", people.namespace)
            done = await asyncio.to_thread(hibernator, *arguments, *given)
            printed = done.out.replace(f" -n {people.namespace} --kubeconfig {path}", "")
            assert as_shown(printed.replace(people.namespace, "team-a")) == seen, done.err
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
