"""What a controller makes of each way in which a look can end."""

import asyncio
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from hibernator.api.core import ConfigMap
from hibernator.kube.cache import Cache
from hibernator.kube.controller import (
    For,
    Key,
    Result,
    Stalled,
    Transient,
)
from hibernator.kube.election import NotLeadingError
from hibernator.kube.errors import Conflict, Forbidden, Throttled, Unavailable
from hibernator.kube.logging import with_subject
from hibernator.kube.metrics import RECONCILE_ERRORS, RECONCILE_SECONDS, RECONCILES
from support.looks import Looks, Setup, meta


@pytest.mark.parametrize(
    ("error", "not_before", "not_after", "result"),
    [
        (Conflict("changed"), 0, 0, "conflict"),
        (Throttled("busy", retry_after=7), 7, 9, "throttled"),
        (NotLeadingError("who leads?"), 0.8, 1, "fenced"),
        (Unavailable("down"), 24, 30, "transient"),
        (Forbidden("no"), 24, 30, "transient"),
        (Transient("the cloud is slow"), 24, 30, "transient"),
        (TimeoutError(), 24, 30, "transient"),
        (ConnectionResetError(), 24, 30, "transient"),
        (ZeroDivisionError("a bug"), 24, 30, "fault"),
        (asyncio.CancelledError(), 24, 30, "fault"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
async def test_an_error_is_tried_again_when_it_makes_sense(
    setup: Setup,
    maps: Cache[ConfigMap],
    error: BaseException,
    not_before: float,
    not_after: float,
    result: str,
) -> None:
    looks = Looks(error)
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        if not_before:
            await setup.clock.advance(not_before - 0.01)
            assert len(looks.keys) == 1
        await setup.clock.advance(not_after - not_before + 0.01)
        assert len(looks.keys) == 2
        await setup.clock.advance(86_400)
        assert len(looks.keys) == 2
    assert setup.metrics.value(RECONCILES, "test", result) == 1
    assert setup.metrics.value(RECONCILES, "test", "done") == 1
    assert setup.metrics.value(RECONCILE_ERRORS, "test", type(error).__name__) == 1
    assert setup.metrics.value(RECONCILE_SECONDS, "test") == 2


async def test_failures_in_a_row_wait_as_the_table_says_and_success_starts_it_anew(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    looks = Looks(*[Unavailable("down")] * 6, Result(), Unavailable("down"))
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.settle()
        for longest in (30, 60, 120, 300, 300, 300):
            (moment,) = setup.clock.pending()
            assert 0.8 * longest <= (moment - setup.clock.now()).total("seconds") <= longest
            await setup.clock.advance_to(moment)
        assert setup.clock.pending() == ()
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.settle()
        (moment,) = setup.clock.pending()
        assert (moment - setup.clock.now()).total("seconds") <= 30


async def test_a_key_that_is_stalled_waits_for_a_change_and_for_nothing_else(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    looks = Looks(Stalled("spec.timezone is no zone"))
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.advance(7 * 86_400)
        assert len(looks.keys) == 1
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.settle()
        assert len(looks.keys) == 2


async def test_conflict_after_conflict_does_not_spin(setup: Setup, maps: Cache[ConfigMap]) -> None:
    looks = Looks(*[Conflict("changed")] * 1_000)
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.advance(10)
        assert 10 < len(looks.keys) < 30


async def test_a_fault_is_logged_with_its_key_and_where_it_came_from(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    with capture_logs(processors=[with_subject]) as lines:
        async with setup.running(setup.controller(Looks(ZeroDivisionError("a bug")), For(maps))):
            maps.saw(ConfigMap(metadata=meta("a")))
            await setup.clock.settle()
    (line,) = lines
    assert line["log_level"] == "error"
    assert (line["controller"], line["namespace"], line["name"]) == ("test", "team", "a")
    assert isinstance(line["exc_info"], ZeroDivisionError)


async def test_a_server_that_goes_on_being_busy_is_asked_less_and_less_often(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    looks = Looks(*(Throttled("busy", retry_after=1) for _ in range(8)))
    moments: list[float] = []

    async def reconcile(key: Key) -> Result:
        moments.append(setup.clock.monotonic())
        return await looks(key)

    async with setup.running(setup.controller(reconcile, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.advance(600)
    pauses = [later - earlier for earlier, later in pairwise(moments)]
    assert len(pauses) == 8
    for failures, pause in enumerate(pauses):
        assert max(1.0, 0.8 * 2**failures) <= pause <= max(1.2, 2**failures) + 0.01


async def test_what_a_server_asks_for_is_the_least_that_is_waited(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    looks = Looks(Throttled("busy", retry_after=50), Unavailable("down", retry_after=100))
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.advance(49.9)
        assert len(looks.keys) == 1
        await setup.clock.advance(10.2)
        assert len(looks.keys) == 2
        await setup.clock.advance(88)
        assert len(looks.keys) == 2
        await setup.clock.advance(33)
        assert len(looks.keys) == 3
