"""What a request says is worked out once for what is known, and holds nobody else up."""

import asyncio
from typing import Any

import msgspec
from whenever import Instant, TimeDelta

from hibernator.api.aianalysis import ANALYSES
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.decisions.scheduleexception_line import plan_key
from hibernator.kube.store import Store
from hibernator.messages.figuring import BY_PLAN, Figuring
from support.exception_scenes import EVERY_DAY

FROM = Instant.from_utc(2026, 3, 2)


class Scene:
    def __init__(self) -> None:
        self.exceptions, self.plans = Store(EXCEPTIONS), Store(PLANS)
        self.exceptions.index(BY_PLAN, lambda one: (plan_key(one),))
        self.figuring = Figuring(self.exceptions, self.plans, Store(ANALYSES))
        self._version = 0

    def exception(
        self, namespace: str, name: str = "late", windows: int = 1, days: int = 1, state: str = "Pending"
    ) -> ScheduleException:
        spec = {
            "planRef": {"name": "nights"},
            "type": "suspend",
            "validFrom": FROM.format_iso(),
            "validUntil": (FROM + TimeDelta(hours=24 * days)).format_iso(),
            "windows": _windows(windows),
        }
        found = msgspec.convert(self._object(namespace, name, spec), ScheduleException)
        found = msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, state=state))
        self.exceptions.saw(found)
        return found

    def plan(self, namespace: str, windows: int = 1) -> None:
        schedule = {"timezone": "Europe/Berlin", "offHours": _windows(windows)}
        spec = {"schedule": schedule, "targets": []}
        self.plans.saw(msgspec.convert(self._object(namespace, "nights", spec), HibernatePlan))

    def _object(self, namespace: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        self._version += 1
        metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"}
        return {"metadata": metadata | {"resourceVersion": str(self._version)}, "spec": spec}


def _windows(number: int) -> list[dict[str, Any]]:
    minutes = [divmod(20 * one, 60) for one in range(number)]
    return [
        {"start": f"{hour:02}:{minute:02}", "end": f"{hour:02}:{minute + 10:02}", "daysOfWeek": EVERY_DAY}
        for hour, minute in minutes
    ]


async def test_it_is_worked_out_again_only_when_something_changes_from_which_it_follows() -> None:
    scene = Scene()
    scene.plan("shop")
    found = scene.exception("shop")
    first = await scene.figuring.facts(found)
    assert first.comparison
    scene.exception("shop", "asked")
    scene.exception("elsewhere", state="Active")
    assert await scene.figuring.facts(found) is first
    scene.exception("shop", "in-force", state="Active")
    second = await scene.figuring.facts(found)
    assert second is not first
    scene.plan("shop", windows=2)
    third = await scene.figuring.facts(found)
    assert third is not second
    assert await scene.figuring.facts(scene.exception("shop", days=2)) is not third


async def test_a_request_that_takes_long_to_lay_out_holds_up_no_page_of_another_namespace() -> None:
    scene = Scene()
    for namespace in ("crowd", "shop"):
        scene.plan(namespace)
    long = [scene.exception("crowd", f"long-{one}", windows=64, days=90) for one in range(4)]
    async with asyncio.TaskGroup() as group:
        slow = [group.create_task(scene.figuring.facts(one)) for one in long]
        await asyncio.sleep(0)
        assert (await scene.figuring.facts(scene.exception("shop"))).comparison
        assert not any(one.done() for one in slow)
