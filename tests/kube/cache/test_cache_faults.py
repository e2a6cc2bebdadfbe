"""Whatever breaks between a cache and the API server: nothing is missed, and nothing stays that is gone."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hibernator.api.core import ConfigMap
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from hibernator.kube.errors import NotFound
from hibernator.kube.reflector import ReflectorTuning
from support.caches import Listener, World, following
from support.faultproxy import FaultProxy
from support.faults import Action, Answer, Cut, Delay, Drop, Freeze, InWatch, Record, gone_in_watch

_WATCH = "watch=true"
_LIST = "configmaps.*limit="
_QUICK = ReflectorTuning(short=0.2, first_wait=0.05, longest_wait=0.2)
_IMPATIENT = ReflectorTuning(silence=1.0, short=0.2, first_wait=0.05, longest_wait=0.2)


def lists(proxy: FaultProxy) -> int:
    return len([seen for seen in proxy.seen("GET", "configmaps") if _WATCH not in seen.path])


def added(*objects: ConfigMap) -> Counter[str]:
    return Counter(f"+ {obj.metadata.name} {obj.metadata.uid}" for obj in objects)


def deleted(*objects: ConfigMap) -> Counter[str]:
    return Counter(f"- {obj.metadata.name} {obj.metadata.uid}" for obj in objects)


class Gap:
    """Things that happen while nobody watches."""

    before: list[ConfigMap]
    after: list[ConfigMap]

    async def prepare(self, world: World) -> None:
        self.before = [await world.make(name) for name in ("gone", "again", "changed", "same")]

    async def happen(self, world: World) -> None:
        await world.delete("gone")
        await world.delete("again")
        again = await world.make("again")
        changed = await world.change("changed", "1")
        new = await world.make("new")
        self.after = [again, changed, self.before[3], new]

    def transitions(self) -> Counter[str]:
        """What must be heard of, and how often."""
        gone, again, _, _ = self.before
        made_again, _, _, new = self.after
        return added(*self.before, made_again, new) + deleted(gone, again)


@asynccontextmanager
async def gap(
    client: Client, proxy: FaultProxy, world: World, habits: ReflectorTuning = _QUICK
) -> AsyncIterator[tuple[Gap, Listener]]:
    """A cache whose watch hangs, while things happen that it hears nothing of."""
    happenings = Gap()
    await happenings.prepare(world)
    async with following(client, world.namespace, habits) as listener:
        await listener.until_like(*happenings.before)
        await proxy.watching()
        proxy.freeze_watches()
        await happenings.happen(world)
        yield happenings, listener


@pytest.mark.parametrize("gone", [Answer(410, "Expired"), Answer(410, "Gone"), gone_in_watch()])
async def test_after_a_410_as_an_answer_or_inside_the_stream_a_list_finds_what_the_watch_missed(
    shaken: Client, proxy: FaultProxy, world: World, gone: Action
) -> None:
    async with gap(shaken, proxy, world) as (happenings, listener):
        rule = proxy.next(path=_WATCH, action=gone)
        proxy.cut_watches()
        await listener.until_like(*happenings.after)
        assert listener.transitions == happenings.transitions()
        assert rule.hits == 1
        assert lists(proxy) == 2


async def test_a_version_that_is_always_too_old_does_not_make_it_spin(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    async with gap(shaken, proxy, world) as (happenings, listener):
        rule = proxy.next(path=_WATCH, action=gone_in_watch(), times=4)
        proxy.cut_watches()
        await rule.used_up()
        last = await world.make("last")
        await listener.until_like(*happenings.after, last)
        assert lists(proxy) == 5
        assert listener.transitions == happenings.transitions() + added(last)


async def test_a_watch_that_breaks_goes_on_from_the_last_version_without_a_list(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    async with gap(shaken, proxy, world) as (happenings, listener):
        proxy.cut_watches()
        await listener.until_like(*happenings.after)
        assert listener.transitions == happenings.transitions()
        assert lists(proxy) == 1


async def test_a_watch_that_hangs_half_open_is_found_by_its_silence_and_not_gone_on_with(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    async with gap(shaken, proxy, world, _IMPATIENT) as (happenings, listener):
        await listener.until_like(*happenings.after)
        assert listener.transitions == happenings.transitions()
        assert lists(proxy) >= 2


@pytest.mark.parametrize(
    "fault",
    [
        Answer(500),
        Answer(503),
        Answer(429, "TooManyRequests", retry_after=1),
        Answer(403, "Forbidden"),
        Answer(404, "NotFound"),
        Cut(),
        InWatch(after=0, then="cut"),
        InWatch(after=0, then="end"),
        InWatch(after=1, then="cut"),
        InWatch(after=2, line=b'{"type":"MODIFIED","obj', then="cut"),
        InWatch(after=1, line=b"<html>\n", then="end"),
        InWatch(after=1, line=b'{"type":"ERROR","object":{"code":500,"message":"etcd"}}\n', then="end"),
    ],
)
async def test_a_watch_that_cannot_be_opened_or_soon_ends_is_tried_until_it_stands(
    shaken: Client, proxy: FaultProxy, world: World, fault: Action
) -> None:
    async with gap(shaken, proxy, world) as (happenings, listener):
        rule = proxy.next(path=_WATCH, action=fault, times=2)
        proxy.cut_watches()
        await listener.until_like(*happenings.after)
        assert listener.transitions == happenings.transitions()
        assert rule.hits >= 1
        assert lists(proxy) == 1


async def test_a_watch_that_is_accepted_and_never_answered_is_given_up(
    proxy: FaultProxy, world: World
) -> None:
    async with (
        Client(find(str(proxy.kubeconfig)), deadline=1.0) as client,
        gap(client, proxy, world) as (happenings, listener),
    ):
        rule = proxy.next(path=_WATCH, action=Freeze())
        proxy.cut_watches()
        await listener.until_like(*happenings.after)
        assert rule.hits == 1
        assert listener.transitions == happenings.transitions()


@pytest.mark.parametrize(
    "fault", [Answer(500), Answer(403, "Forbidden"), Answer(404, "NotFound"), Cut(), Drop()]
)
async def test_a_list_that_fails_is_tried_until_it_succeeds(
    shaken: Client, proxy: FaultProxy, world: World, fault: Action
) -> None:
    made = await world.make("a")
    proxy.next(path=_LIST, action=fault, times=3)
    async with following(shaken, world.namespace, _QUICK) as listener:
        await listener.cache.wait_synced()
        await listener.until_like(made)
        assert lists(proxy) == 4


async def test_a_list_that_expires_between_its_pages_is_asked_for_all_at_once(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    made = [await world.make(f"x{number}") for number in range(5)]
    proxy.next(path="continue=", action=Answer(410, "Expired"))
    async with following(shaken, world.namespace, ReflectorTuning(page=2)) as listener:
        await listener.until_like(*made)
    pages, whole = (
        proxy.seen("GET", "limit=2"),
        [
            seen
            for seen in proxy.seen("GET", "configmaps")
            if "limit=" not in seen.path and _WATCH not in seen.path
        ],
    )
    assert (len(pages), len(whole)) == (2, 1)


async def test_a_list_from_a_server_that_lags_behind_does_not_turn_time_back(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    old = Record()
    first = proxy.next(path=_LIST, action=old)
    async with gap(shaken, proxy, world) as (happenings, listener):
        assert first.hits == 1
        proxy.clear()
        await listener.until_like(*happenings.after)
        proxy.next(path=_WATCH, action=gone_in_watch())
        stale = proxy.next(path=_LIST, action=Answer(200, body=old.body), times=2)
        proxy.cut_watches()
        await stale.used_up()
        last = await world.make("last")
        await listener.until_like(*happenings.after, last)
        assert listener.transitions == happenings.transitions() + added(last)


async def test_an_older_state_is_believed_if_the_server_insists_as_after_a_restore(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    old = Record()
    proxy.next(path=_LIST, action=old)
    habits = ReflectorTuning(first_wait=0.05, longest_wait=0.1, believe_older_lists_after=0.3)
    async with gap(shaken, proxy, world, habits) as (happenings, listener):
        rewinds: list[str] = []
        listener.cache.on_rewind(lambda: rewinds.append("rewind"))
        proxy.clear()
        await listener.until_like(*happenings.after)
        proxy.next(path=_WATCH, action=gone_in_watch())
        proxy.next(path=_LIST, action=Answer(200, body=old.body), times=100)
        proxy.cut_watches()
        await listener.until(lambda: listener.cache.get(world.namespace, "gone") == happenings.before[0])
        assert rewinds == ["rewind"]


async def test_an_older_state_is_believed_at_once_by_a_cache_that_was_called_to_read_anew(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    old = Record()
    proxy.next(path=_LIST, action=old)
    async with gap(shaken, proxy, world) as (happenings, listener):
        cache = listener.cache
        proxy.clear()
        await listener.until_like(*happenings.after)
        await proxy.watching()
        proxy.next(path=_LIST, action=Answer(200, body=old.body))
        cache.relist()
        assert cache.synced.is_set()  # it is no less filled than before
        await cache.wait_synced()
        assert cache.get(world.namespace, "gone") == happenings.before[0]
        assert lists(proxy) == 2


async def test_a_cache_that_is_called_to_read_anew_while_it_lists_lists_once_more(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    made = await world.make("a")
    hold = Delay()
    rule = proxy.next(path=_LIST, action=hold)
    async with following(shaken, world.namespace, _QUICK) as listener:
        await rule.hit()
        listener.cache.relist()
        hold.over.set()
        async with asyncio.timeout(30):
            await listener.cache.wait_synced()
        await listener.until_like(made)
        assert lists(proxy) == 2


async def test_after_a_long_absence_of_the_server_a_list_comes_before_the_watch_goes_on(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    habits = ReflectorTuning(short=0.2, first_wait=0.05, longest_wait=0.2, longest_absence=0.1)
    async with gap(shaken, proxy, world, habits) as (happenings, listener):
        rule = proxy.next(path=_WATCH, action=Answer(503), times=4)
        proxy.cut_watches()
        await rule.hit()
        await listener.until_like(*happenings.after)
        assert listener.transitions == happenings.transitions()
        assert lists(proxy) >= 2


async def test_our_own_write_outlives_a_list_that_was_taken_before_it(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    made = await world.make("a")
    async with following(shaken, world.namespace, _QUICK) as listener:
        cache = listener.cache
        await listener.until_like(made)
        await proxy.watching()
        old = Record()
        proxy.next(path=_LIST, action=old)
        proxy.next(path=_WATCH, action=gone_in_watch())
        proxy.cut_watches()
        await proxy.watching()
        proxy.freeze_watches()
        mine = await world.change("a", "mine")
        cache.wrote(mine)
        proxy.next(path=_LIST, action=Answer(200, body=old.body))
        relist = proxy.next(path=_WATCH, action=gone_in_watch())
        proxy.cut_watches()
        await relist.hit()
        last = await world.make("last")
        await listener.until(lambda: cache.get(world.namespace, "last") == last)
        assert cache.get(world.namespace, "a") == mine


async def test_in_a_storm_of_changes_and_faults_every_addition_and_deletion_is_heard_once(
    shaken: Client, proxy: FaultProxy, world: World
) -> None:
    dice = random.Random(7)
    faults: list[Action] = [
        Answer(410, "Expired"),
        gone_in_watch(),
        gone_in_watch(after=2),
        Answer(500),
        Cut(),
        InWatch(after=1, then="cut"),
        InWatch(after=3, then="end"),
        InWatch(after=2, then="freeze"),
    ]
    lists_fail: list[Action] = [Answer(503), Cut(), Drop()]
    names = [f"x{number}" for number in range(8)]
    async with following(shaken, world.namespace, _IMPATIENT) as listener:
        await listener.cache.wait_synced()
        for turn in range(150):
            if turn % 6 == 0:
                proxy.next(path=_WATCH, action=dice.choice(faults))
                proxy.next(path=_LIST, action=dice.choice(lists_fail))
            if turn % 9 == 0:
                await proxy.watching()
                proxy.cut_watches()
            await happen(world, dice, dice.choice(names))
        proxy.clear()
        last = await world.make("last")
        await listener.until(lambda: listener.cache.get(world.namespace, "last") == last)
        await listener.until_like(*await world.truth())
    alive = {f"{obj.metadata.name} {obj.metadata.uid}" for obj in await world.truth()}
    heard = {key[2:] for key in listener.transitions}
    assert all(count == 1 for count in listener.transitions.values())
    for who in heard:
        assert listener.transitions[f"+ {who}"] == 1
        assert listener.transitions[f"- {who}"] == (0 if who in alive else 1)
    assert alive <= heard


async def happen(world: World, dice: random.Random, name: str) -> None:
    """Something happens to an object: it is made, changed or deleted."""
    try:
        if dice.random() < 0.3:
            await world.delete(name)
        else:
            await world.change(name, str(dice.random()))
    except NotFound:
        await world.make(name)
    await asyncio.sleep(0)
