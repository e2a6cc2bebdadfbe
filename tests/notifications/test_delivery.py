"""From the trail to a sink: each event once, in order, through crashes and outages."""

import asyncio
import itertools
import os
import signal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from whenever import Instant

from hibernator.api.hibernatenotification import NOTIFICATIONS
from hibernator.api.hibernateplan import PLANS
from hibernator.kube.errors import Unavailable
from hibernator.notifications import courier
from hibernator.notifications.metrics import SENT
from hibernator.notifications.sinks import deliver
from support.mortal import Nursery
from support.notifying import EVENING, Scene, Sink, cycles, http_sink
from support.notifying_lives import PID


async def test_each_event_arrives_once_and_in_order_and_old_ones_do_not(scene: Scene, sink: Sink) -> None:
    await scene.happens(scene.slept(1))
    await scene.notification({"url": f"{sink.url}/hook", "headers": {"X-Team": "shop"}})
    await scene.look()
    assert sink.got == []  # it happened before anybody asked
    await scene.happens(
        scene.slept(2), scene.slept(2, "target.slept", target="web"), scene.slept(2, "sleep.completed")
    )
    await scene.look_until_done()
    await scene.look_until_done()
    assert [one["data"]["type"] for one in sink.got] == [
        "hibernateplan.sleep.started",
        "hibernateplan.sleep.completed",
    ]
    assert [one["data"]["event"] for one in sink.got] == ["Start", "Success"]
    assert sink.headers[0]["x-team"] == "shop"
    status = scene.sink()
    assert (status.delivered, status.cursor, status.circuit) == (2, 4, "Closed")
    assert scene.metrics.value(SENT, "webhook", "sent") == 2
    assert scene.ready()[:2] == ("True", "NothingSelected")  # it has no plan here, only what the trail says


async def test_kill_9_at_every_step_loses_nothing_and_repeats_only_under_the_same_id(
    scene: Scene, sink: Sink, tmp_path: Path
) -> None:
    """Killed by the sink once it has a message, and before and after each record of one."""
    await scene.notification({"url": sink.url})
    await scene.look()
    await scene.happens(scene.slept(1), scene.slept(1, "sleep.completed"), scene.slept(1, "wake.started"))
    killed_with: list[str] = []

    def kill() -> None:
        taken = sink.got[-1]["id"]
        if taken not in killed_with:
            killed_with.append(taken)
            os.kill(int((tmp_path / PID).read_text()), signal.SIGKILL)

    sink.taken = kill
    given = str(scene.cluster.kubeconfig), scene.namespace, str(tmp_path)
    deaths = 0
    with Nursery("support.notifying_lives:send") as nursery:
        for step in itertools.cycle((1, 1, 2)):
            if not await asyncio.to_thread(nursery.live, *given, step=step):
                break
            deaths += 1
    ids = [one["id"] for one in sink.got]
    assert [*dict.fromkeys(ids)] == killed_with
    assert ids == sorted(ids, key=killed_with.index)  # in order, with what is repeated
    types = {one["id"]: one["data"]["type"].removeprefix("hibernateplan.") for one in sink.got}
    assert [types[one] for one in killed_with] == ["sleep.started", "sleep.completed", "wake.started"]
    scene.reborn(await scene.client.get(NOTIFICATIONS, "on-call", scene.namespace))
    assert scene.sink().delivered == 3
    assert deaths >= 9  # with each message: sent, before its record, after its record


async def test_a_record_that_fails_is_no_second_message(scene: Scene, sink: Sink) -> None:
    await scene.notification({"url": sink.url})
    await scene.look()
    await scene.happens(scene.slept(1))
    patch = scene.client.patch

    async def away(*_: object, **__: object) -> None:
        raise Unavailable("the API server is away")

    scene.client.patch = away  # type: ignore[method-assign,assignment]
    with pytest.raises(Unavailable):
        await scene.look()
    scene.client.patch = patch  # type: ignore[method-assign]
    await scene.look()
    assert len(sink.got) == 1
    assert scene.sink().delivered == 1


async def test_a_sink_that_is_away_for_an_hour_loses_nothing(scene: Scene, sink: Sink) -> None:
    await scene.notification({"url": sink.url})
    await scene.look()
    sink.away = True
    await scene.happens(*(scene.slept(number) for number in range(1, 6)))
    for _ in range(10):
        result = await scene.look()
        assert result.after
        await scene.clock.advance(result.after)
    status = scene.sink()
    assert status.circuit == "Open"
    assert status.failures_in_a_row == 10
    assert "502" in status.last_failure_message
    assert scene.ready()[:2] == ("False", "SinkFailing")
    assert scene.notifier.lag() > 600
    sink.away = False
    await scene.clock.advance(3600)
    await scene.look_until_done()
    assert [one["data"]["cycle"] for one in sink.got] == [1, 2, 3, 4, 5]
    assert scene.sink().circuit == "Closed"
    assert scene.notifier.lag() == 0


async def test_a_sink_of_apprise_is_kept_like_any_other(scene: Scene, sink: Sink) -> None:
    await scene.notification({"url": f"{sink.url.replace('http', 'json')}/secret-path"}, type_="apprise")
    await scene.look()
    sink.answers = [(500, {}, "no /secret-path here")]
    await scene.happens(scene.slept(1))
    await scene.look()
    status = scene.sink()
    assert (status.failed, status.last_failure_message) == (1, "the service answered 500: no /••• here")
    await scene.clock.advance(60)
    await scene.look_until_done()
    assert sink.paths == ["/secret-path"]
    assert scene.sink().delivered == 1
    assert scene.metrics.value(SENT, "apprise", "sent") == 1


async def test_what_a_sink_asks_to_wait_is_waited(scene: Scene, sink: Sink) -> None:
    await scene.notification({"url": sink.url})
    await scene.look()
    sink.answers = [(429, {"Retry-After": "120"}, "")]
    await scene.happens(scene.slept(1))
    result = await scene.look()
    assert result.after
    assert 120 <= result.after <= 133  # and a little more, so that many do not come back at once
    await scene.clock.advance(result.after - 1)
    await scene.look()
    assert sink.got == []
    await scene.clock.advance(2)
    await scene.look()
    assert len(sink.got) == 1


async def test_what_will_never_be_taken_is_a_dead_letter_and_the_next_follows(
    scene: Scene, sink: Sink
) -> None:
    secret = "very-secret-token"
    await scene.notification({"url": sink.url, "headers": {"Authorization": secret}})
    await scene.look()
    sink.answers = [(422, {}, f"you sent {secret}")]
    await scene.happens(scene.slept(1), scene.slept(2))
    await scene.look_until_done()
    status = scene.sink()
    [letter] = status.dead_letters
    assert (status.dropped, letter.event) == (1, "Start")
    assert "422: you sent •••" in letter.message
    assert [one["data"]["cycle"] for one in sink.got] == [2]


async def test_after_more_than_a_day_a_message_is_given_up(scene: Scene, sink: Sink) -> None:
    await scene.notification({"url": sink.url})
    await scene.look()
    sink.away = True
    await scene.happens(*(scene.slept(number) for number in range(1, 21)))
    await scene.clock.advance(24 * 3600)
    result = await scene.look()
    assert scene.sink().dropped is None  # a day away loses nothing
    await scene.clock.advance(2 * 3600 + (result.after or 0))
    await scene.happens(scene.slept(21))
    asked = sink.asked
    await scene.look()
    assert sink.asked == asked + 4  # for three of the old ones, and for the new one
    assert scene.sink().dropped == 20
    assert "given up after a day" in scene.sink().dead_letters[0].message
    assert len(scene.sink().dead_letters) == 10
    sink.away = False
    await scene.clock.advance(3600)
    await scene.look_until_done()
    assert [one["data"]["cycle"] for one in sink.got] == [21]


async def test_what_is_wrong_with_a_secret_is_in_the_status(scene: Scene) -> None:
    await scene.notification('{"url": 7}')
    await scene.look()
    await scene.happens(scene.slept(1))
    await scene.look()
    status, reason, message = scene.ready()
    assert (status, reason) == ("False", "SinkFailing")
    assert f"the Secret {scene.namespace}/on-call, key config: it is no configuration of the type" in message
    assert Instant(scene.sink().next_attempt_time) > scene.clock.now()  # type: ignore[arg-type]


async def test_a_template_of_the_user_words_the_message_and_a_broken_one_does_not_lose_it(
    scene: Scene, sink: Sink
) -> None:
    path = f"/api/v1/namespaces/{scene.namespace}/configmaps"
    data = {"good.jinja": "{{ event }} of {{ plan }}", "bad.jinja": "{% for"}
    scene.cluster.request("POST", path, {"metadata": {"name": "words"}, "data": data})
    for key in ("good", "bad"):
        await scene.notification(
            {"url": sink.url},
            name=key,
            sinks=[
                {
                    "name": "out",
                    "type": "webhook",
                    "secretRef": {"name": key},
                    "templateRef": {"name": "words", "key": f"{key}.jinja"},
                }
            ],
        )
        await scene.look(key)
    await scene.happens(scene.slept(1))
    await scene.look("good")
    await scene.look("bad")
    good, bad = (one["data"]["text"] for one in sink.got)
    assert good == "Start of shop"
    assert "shop is going to sleep" in bad
    assert "The template words was not used: the template is broken: line 1" in bad


async def test_a_plan_that_woke_tells_what_it_has_saved(scene: Scene, sink: Sink) -> None:
    await scene.plan()
    savings = {"status": {"savings": {"cpuCoreHours": 12.5, "memoryGiBHours": 40.0}}}
    written = await scene.client.patch(
        PLANS, "shop", scene.namespace, savings, resource_version=None, subresource="status"
    )
    scene.notifier.objects.plans.wrote(written)
    await scene.notification({"url": sink.url}, onEvents=["Savings"])
    await scene.look()
    await scene.happens(scene.slept(1, "wake.completed", seconds=60))
    await scene.look_until_done()
    [got] = sink.got
    assert got["data"]["event"] == "Savings"
    assert "Saved so far: 12.5 CPU core hours" in got["data"]["text"]


async def test_a_surprise_in_one_sink_stops_no_other(
    scene: Scene, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:

    async def surprised(clients: Any, config: Any, *more: Any) -> str:
        if config.url.endswith("/odd"):
            raise RuntimeError(config.url)
        return await deliver(clients, config, *more)

    monkeypatch.setattr(courier, "deliver", surprised)
    await scene.notification(
        {"url": sink.url},
        sinks=[
            {"name": "odd", "type": "webhook", "secretRef": {"name": "odd"}},
            {"name": "out", "type": "webhook", "secretRef": {"name": "on-call"}},
        ],
    )
    scene.secret("odd", {"url": f"{sink.url}/odd"})
    await scene.look()
    await scene.happens(scene.slept(1), scene.slept(2))
    await scene.look()
    assert [cycles(one) for one in sink.got] == [[1], [2]]
    assert "odd: unexpected RuntimeError while it was sent." in scene.ready()[2]
    found = scene.notifier.cache.get(scene.namespace, "on-call")
    assert found
    kept = {"spec": {"sinks": [msgspec.to_builtins(found.spec.sinks[1])]}}
    changed = await scene.client.patch(NOTIFICATIONS, "on-call", scene.namespace, kept, resource_version=None)
    scene.notifier.cache.wrote(changed)
    await scene.clock.advance(1200)
    await scene.look()
    assert scene.notifier.lag() == 0  # a sink that was removed waits for nothing


async def test_ten_thousand_events_reach_a_sink_that_takes_ten_messages_a_second(
    scene: Scene, sink: Sink
) -> None:
    await scene.notification({"url": sink.url}, groupWithin="1m")
    await scene.look()
    await scene.happens(*(scene.slept(number) for number in range(10_000)))
    await scene.clock.advance(63)
    sink.limit = (10, lambda: scene.clock.now().timestamp())
    while (result := await scene.look()).after is not None:
        await scene.clock.advance(max(0.1, result.after))
    assert [cycle for one in sink.got for cycle in cycles(one)] == list(range(10_000))
    status = scene.sink()
    assert (status.delivered, status.dropped) == (100, None)
    assert (scene.clock.now() - EVENING).total("seconds") < 63 + 3 * 10


async def test_one_by_one_a_sink_that_takes_ten_a_second_gets_all_in_order_and_no_other_waits(
    scene: Scene, sink: Sink
) -> None:
    """As 10,000 do, in some seventeen minutes of the clock; each plan in its own order."""
    plans = ("shop", "bank", "mill")
    async with http_sink() as other:
        for name, url in (("on-call", sink.url), ("other", other.url)):
            await scene.notification({"url": url}, name=name)
            await scene.look(name)
        await scene.happens(*(scene.slept(number, name=plans[number % 3]) for number in range(150)))
        sink.limit = (10, lambda: scene.clock.now().timestamp())
        while (result := await scene.look()).after is not None:
            await scene.look_until_done("other")
            assert len(other.got) == 150  # after the first second of the slow one
            await scene.clock.advance(max(0.1, result.after))
    for number, plan in enumerate(plans):
        got = [one["data"]["cycle"] for one in sink.got if one["data"]["plan"] == plan]
        assert got == list(range(number, 150, 3))
    status = scene.sink()
    assert (status.delivered, status.dropped, len(sink.got)) == (150, None, 150)
    assert (scene.clock.now() - EVENING).total("seconds") <= 15 * 3


async def test_a_sink_that_is_back_after_a_day_and_slow_gets_all_however_old_they_become(
    scene: Scene, sink: Sink
) -> None:
    await scene.notification({"url": sink.url})
    await scene.look()
    sink.away = True
    await scene.happens(*(scene.slept(number) for number in range(60)))
    await scene.look()
    await scene.clock.advance(25 * 3600 - 30)
    sink.away, sink.limit = False, (1, lambda: scene.clock.now().timestamp())
    while (result := await scene.look()).after is not None:
        await scene.clock.advance(max(0.1, result.after))
    assert [one["data"]["cycle"] for one in sink.got] == list(range(60))
    assert scene.sink().dropped is None


async def test_one_message_that_a_sink_fails_at_for_a_day_takes_no_others_along(
    scene: Scene, sink: Sink
) -> None:
    await scene.plan()
    await scene.notification({"url": sink.url})
    await scene.look()
    await scene.happens(*(scene.slept(number) for number in range(4)))
    sink.away = True
    await scene.look()
    await scene.clock.advance(26 * 3600)
    sink.away, sink.answers = False, [(500, {}, "cannot read it")]
    await scene.look_until_done()
    assert [one["data"]["cycle"] for one in sink.got] == [1, 2, 3]
    assert "500: cannot read it" in scene.sink().dead_letters[0].message
    told = scene.ready()[2]
    assert told == "All sinks take messages. 1 message to out given up. See deadLetters."


async def test_no_part_of_a_secret_is_left_where_an_answer_is_shortened(scene: Scene, sink: Sink) -> None:
    secret = "sëcret&token/with+signs" * 2
    await scene.notification({"url": sink.url, "headers": {"Authorization": f"{secret}\n"}})
    await scene.look()
    for number, length in enumerate((*range(150, 200, 7), *range(430, 480, 7))):
        for shown in (secret, quote(secret), quote(secret, safe="")):
            sink.answers = [(422, {}, "x" * length + shown + "\x1b[2J")]
            await scene.happens(scene.slept(number))
            await scene.look_until_done()
            told = scene.sink().last_failure_message
            assert not any(part in told for part in ("sëc", "s%C3", "token", "with"))
            assert "\x1b" not in told
            assert len(told) <= 500
