"""Several events as one message, and quiet hours: later, and never lost."""

import pytest

from hibernator.api.hibernatenotification import NOTIFICATIONS
from hibernator.api.hibernateplan import PLANS
from hibernator.notifications import courier
from support.notifying import Scene, Sink, cycles


class KilledError(BaseException):
    """The process is gone: nothing below catches this."""


async def test_fifty_plans_that_sleep_at_once_are_one_message_also_after_a_crash(
    scene: Scene, sink: Sink
) -> None:
    await scene.notification({"url": sink.url}, groupWithin="1m")
    await scene.look()
    await scene.happens(*(scene.slept(1, name=f"plan-{number}") for number in range(50)))
    result = await scene.look()
    assert sink.got == []
    assert result.after == 63  # it may still grow, by a clock that may be behind
    await scene.clock.advance(63)
    patch = scene.client.patch

    async def dies(*_: object, **__: object) -> None:
        raise KilledError

    scene.client.patch = dies  # type: ignore[method-assign,assignment]
    with pytest.raises(BaseExceptionGroup):
        await scene.look()
    scene.client.patch = patch  # type: ignore[method-assign]
    await scene.happens(scene.slept(2))
    scene.reborn(await scene.client.get(NOTIFICATIONS, "on-call", scene.namespace))
    await scene.look()
    first, second = sink.got
    assert first == second
    assert len(first["data"]["events"]) == 50
    assert scene.sink().delivered == 1


async def test_quiet_hours_let_failures_through_and_send_the_rest_when_they_are_over(
    scene: Scene, sink: Sink
) -> None:
    quiet = {"start": "20:00", "end": "06:00", "timezone": "UTC"}  # it is 20:00
    await scene.notification({"url": sink.url}, quietHours=quiet)
    await scene.look()
    await scene.happens(
        scene.slept(1), scene.slept(1, "sleep.failed"), scene.slept(1, "wake.started"), scene.slept(2)
    )
    result = await scene.look_until_done()
    assert [one["data"]["event"] for one in sink.got] == ["Failure"]
    assert result.after == 10 * 3600
    await scene.clock.advance(10 * 3600)
    await scene.look_until_done()
    held = sink.got[1]["data"]["events"]
    assert [one["type"].removeprefix("hibernateplan.") for one in held] == [
        "sleep.started",
        "wake.started",
        "sleep.started",
    ]
    assert len(sink.got) == 2
    assert scene.sink().held_from is None
    await scene.happens(scene.slept(3))
    await scene.look_until_done()
    assert len(sink.got) == 3


async def test_quiet_hours_in_no_known_zone_keep_no_message_waiting_and_are_said(
    scene: Scene, sink: Sink
) -> None:
    quiet = {"start": "20:00", "end": "06:00", "timezone": "Europe/Berln"}
    await scene.notification({"url": sink.url}, quietHours=quiet)
    await scene.look()
    await scene.happens(scene.slept(1), scene.slept(1, "sleep.failed"))
    await scene.look_until_done()
    assert [one["data"]["event"] for one in sink.got] == ["Start", "Failure"]
    status, reason, message = scene.ready()
    assert (status, reason) == ("False", "InvalidSpec")
    assert message.startswith("spec.quietHours.timezone: 'Europe/Berln' is not a zone")
    assert message.endswith("Until then it has no effect.")


async def test_quiet_hours_of_many_failures_hold_what_came_after_them(
    scene: Scene, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(courier, "MOST_IN_GROUP", 3)
    quiet = {"start": "20:00", "end": "06:00", "timezone": "UTC"}
    await scene.notification({"url": sink.url}, quietHours=quiet)
    await scene.look()
    failures = [scene.slept(number, "sleep.failed") for number in range(1, 7)]
    await scene.happens(scene.slept(1), *failures, scene.slept(7), scene.slept(8))
    await scene.look_until_done()
    assert [one["data"]["event"] for one in sink.got] == ["Failure"] * 6
    await scene.clock.advance(10 * 3600)
    await scene.look_until_done()
    held = [cycle for one in sink.got[6:] for cycle in cycles(one)]
    assert held == [1, 7, 8]
    await scene.look_until_done()
    assert len(sink.got) == 8


async def test_quiet_hours_hold_what_the_clock_brings_beside_what_is_urgent(scene: Scene, sink: Sink) -> None:
    await scene.plan()
    broken = {
        "type": "Degraded",
        "status": "True",
        "reason": "TargetsFailed",
        "message": "web failed",
        "lastTransitionTime": "2026-03-02T20:00:30Z",
    }
    scene.notifier.objects.plans.wrote(
        await scene.client.patch(
            PLANS,
            "shop",
            scene.namespace,
            {"status": {"conditions": [broken]}},
            resource_version=None,
            subresource="status",
        )
    )
    await scene.exception("party", until=scene.clock.now().add(hours=1, minutes=4))
    quiet = {"start": "20:00", "end": "20:30", "timezone": "UTC"}
    await scene.notification(
        {"url": sink.url}, quietHours=quiet, repeatEvery="5m", onEvents=["Failure", "ExceptionExpiring"]
    )
    await scene.look()
    await scene.clock.advance(6 * 60)
    await scene.look_until_done()
    assert [one["data"]["type"] for one in sink.got] == ["hibernateplan.failing"]
    scene.reborn(await scene.client.get(NOTIFICATIONS, "on-call", scene.namespace))
    await scene.look_until_done()
    assert len(sink.got) == 1
    await scene.clock.advance(25 * 60)
    await scene.look_until_done()
    assert [one["data"]["type"] for one in sink.got[1:]] == [
        "scheduleexception.expiring",
        "hibernateplan.failing",
    ]
