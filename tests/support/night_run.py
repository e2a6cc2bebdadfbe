"""One case of the product, on the real control plane: a night and a morning in which one write meets a fault.

    stage = await Stage.set_up(cluster, namespace, "Parallel")
    await stage.play(case)          # AssertionError says what is wrong at the end

Cases are played one after the other in the same namespace, a day later each, and each begins where the last
one ended: with everything awake. The first night of a stage is one without faults.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self

import msgspec
from whenever import Instant

from hibernator.api.cloudprovider import PROVIDERS
from hibernator.api.core import CONFIG_MAPS
from hibernator.api.hibernateplan import PLANS
from hibernator.api.k8scluster import CLUSTERS
from hibernator.api.planstatus import TargetStatus
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.audit.trail import Trail
from hibernator.decisions.hibernateplan_restore import LABEL as RESTORE_DATA
from hibernator.decisions.sleepmark import LABEL, MARK, TRACE
from hibernator.executors.workloads.kinds import BUILT_IN, AnyObject
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.kube.controller import Controller, Key
from hibernator.kube.election import NotLeadingError
from hibernator.kube.errors import ApiError
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.night_cases import WRITES, Case, Strategy
from support.night_client import Blow, FaultyClient, Past
from support.plan_lives import Killed, operating
from support.plan_scenes import PlanScene, cron_job, plan, workloads
from support.scaler_scenes import workload
from support.settled import up_to_date

NAME: Final = "nights"
_PASSES: Final = 60
_BLIND: Final = 4  # passes that fail before the watches of a process flow again
_DEADLINE: Final = 60.0  # real seconds; reached only by a case that fails
_LOOK_EVERY: Final = 0.005
_FIRST_DAY: Final = Instant.from_utc(2026, 3, 2)
_WEEK: Final = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_HOURS: Final = (20, 30, 44, 54)  # of the day and the next two: evening, morning, evening, morning
_EMPTY: Final = (EXCEPTIONS, PROVIDERS, CLUSTERS)  # no night has any of these
_KINDS: Final = tuple(kind.api for kind in BUILT_IN if kind.label in {"Deployment", "CronJob"})
_TIERS: Final = {"web": "front", "report": "front", "import": "back", "mail": "side"}
_PATCHED: Final = {
    "apiVersion": "batch/v1",
    "resource": "cronjobs",
    "selector": {"matchLabels": {"tier": "side"}},
    "patch": [{"op": "replace", "path": "/spec/suspend", "value": True}],
}


def nightly(namespace: str, strategy: Strategy) -> dict[str, Any]:
    """A plan over three targets, one of them by a patch; in a DAG the last two wait for the first."""
    targets = [
        workloads(tier, namespace, "Deployment", "CronJob", workloadSelector={"matchLabels": {"tier": tier}})
        for tier in ("front", "back")
    ]
    patched = {"namespace": {"literals": [namespace]}, **_PATCHED}
    targets.append({"name": "side", "type": "patches", "parameters": patched})
    edges = [{"from": "front", "to": "back"}, {"from": "front", "to": "side"}]
    chosen: dict[str, Any] = {"type": strategy} | ({"dependencies": edges} if strategy == "DAG" else {})
    made = plan(*targets, name=NAME, execution={"strategy": chosen})
    made["spec"]["schedule"]["offHours"] = [{"start": "20:00", "end": "06:00", "daysOfWeek": list(_WEEK)}]
    return made


def sleepers() -> list[dict[str, Any]]:
    found = [workload(name="web", replicas=2), *map(cron_job, ("report", "import", "mail"))]
    for one in found:
        one["metadata"]["labels"] = {"tier": _TIERS[one["metadata"]["name"]]}
    return found


class NightClock(ManualClock):
    """Nobody waits for it here, and several nights pass in one event loop, which never rests as a whole."""

    async def settle(self) -> None:
        """Nothing has to come to rest before time goes on."""


class Recorded(Trail):
    """Has everything at once, so that a plan of a thousand nights does not carry them all in its journal."""

    def has(self, event_id: str) -> bool:
        del event_id
        return True


@dataclass
class Stage:
    """A namespace with one plan in which nights pass."""

    scene: PlanScene
    admin: Client
    awake: dict[str, Any] = field(default_factory=dict)
    day: int = 0
    writes: int = 0  # of the last night and its morning

    @classmethod
    @asynccontextmanager
    async def set_up(cls, cluster: ClusterInTest, namespace: str, strategy: Strategy) -> AsyncIterator[Self]:
        """With the first night over, so that there is a yesterday."""
        scene = PlanScene(cluster, namespace)
        scene.create(*sleepers(), nightly(namespace, strategy))
        async with Client(credentials.find(str(cluster.kubeconfig))) as admin:
            stage = cls(scene, admin)
            stage.awake = await stage.workloads()
            # No write has the number 0.
            await stage.play(
                Case(-1, strategy, "fresh", deleted=False, turned=False, fault="killed", write=0)
            )
            yield stage

    async def play(self, case: Case) -> bool:
        """Let the case come to its end; False if its write never came."""
        async with AsyncExitStack() as stack:
            night = Night(self, case, stack)
            await night.pass_by()
            self.day += 3
            self.writes = night.blow.writes
            assert self.writes < WRITES or night.blow.struck, "a night takes more writes than there are cases"
            return bool(night.blow.struck)

    async def workloads(self) -> dict[str, Any]:
        """Everything about the workloads that a night must not change. Asks without holding up others."""
        found = [one for kind in _KINDS for one in await self.admin.list(kind, self.scene.namespace)]
        return {one.metadata.name: _shown(one) for one in found}


@dataclass
class Night:
    stage: Stage
    case: Case
    stack: AsyncExitStack
    clock: NightClock = field(init=False)
    blow: Blow = field(init=False)
    _moment: int = 0
    _client: FaultyClient = field(init=False)
    _controller: Controller = field(init=False)
    _failures: int = 0
    _due: bool = False  # another process is to take over

    def __post_init__(self) -> None:
        self.clock = NightClock(self._hour(0))
        self.blow = Blow(self.case.fault, self.case.write, self._strike)

    async def pass_by(self) -> None:
        """Evening and morning; if it was the morning that was turned round, another night as well."""
        self.blow.plans.append(await self.stage.admin.get(PLANS, NAME, self.stage.scene.namespace))
        await self._begin_life(None)
        while True:
            await self._rest()
            await self._rest_of_what_was_late()
            await self._check()
            if self._moment % 2:
                return
            await self._go_on_to(self._moment + 1)

    def _hour(self, moment: int) -> Instant:
        return _FIRST_DAY.add(hours=24 * self.stage.day + _HOURS[moment])

    async def _go_on_to(self, moment: int) -> None:
        self._moment = moment
        await self.clock.advance_to(self._hour(moment))

    async def _strike(self) -> None:
        """Everything that happens in the moment of the fault."""
        self._due = self.case.cache != "fresh"
        if self.case.deleted:
            await self._delete_restore_data()
        if self.case.turned:
            await self._go_on_to(self._moment + 1)

    async def _delete_restore_data(self) -> None:
        admin, namespace = self.stage.admin, self.stage.scene.namespace
        for found in await admin.list(CONFIG_MAPS, namespace, label_selector=f"{RESTORE_DATA}=true"):
            name = found.metadata.name
            await admin.patch(
                CONFIG_MAPS, name, namespace, {"metadata": {"finalizers": None}}, resource_version=None
            )
            if not found.metadata.deletion_timestamp:
                await admin.delete(CONFIG_MAPS, name, namespace, uid=found.metadata.uid)

    async def _rest(self) -> None:
        """Passes, until nothing is left to do at this moment for a process that sees everything."""
        for _ in range(_PASSES):
            struck_before = bool(self.blow.struck)
            quiet = await self._pass()
            if self._due:
                await self._take_over()
            elif struck_before and self.case.fault == "late":
                await self._release()
            if quiet and self._client.flows.is_set():
                return
            if quiet:
                self._client.flows.set()
                await self._caught_up()
        raise AssertionError("the plan never comes to rest")

    async def _rest_of_what_was_late(self) -> None:
        if self.blow.held:
            await self._release()
            await self._rest()

    async def _release(self) -> None:
        """What was on its way arrives at last. Nobody waits for the answer."""
        held, self.blow.held = self.blow.held, None
        if held:
            try:
                await held(self.stage.admin)
            except ApiError:
                return
            await self._caught_up()

    async def _pass(self) -> bool:
        """One look at the plan; whether it found nothing to do."""
        before, key = self.blow.writes, Key(self.stage.scene.namespace, NAME)
        try:
            result = await self._controller._reconcile(key)
        except ApiError:
            self._failures += 1
            await self._caught_up()
            return self._failures >= _BLIND and not self._client.flows.is_set()
        except (Killed, NotLeadingError):
            self._due = True
            return False
        except BaseExceptionGroup as group:
            if not group.subgroup(Killed):
                raise
            self._due = True
            return False
        if self.blow.writes != before or not result.after:
            if self.blow.struck:
                await self._caught_up()
            return False
        found = await self.stage.admin.get(PLANS, NAME, self.stage.scene.namespace)
        if found.status.current_operation and self._client.flows.is_set():
            await self.clock.advance(result.after)
            return False
        return True

    async def _take_over(self) -> None:
        """Another process, which has seen less than there is."""
        self._due, self._failures = False, 0
        await self.stack.aclose()
        past = None
        if self.case.cache == "of yesterday":
            past = Past(self.blow.plans[0])
        elif self.case.cache == "one behind":
            plans = self.blow.plans
            past = Past(plans[max(0, len(plans) - 2)], maps=plans[0].metadata.resource_version)
        await self._begin_life(past)

    async def _begin_life(self, past: Past | None) -> None:
        self._client = FaultyClient(self.stage.admin, self.blow, past)
        if past is None:
            self._client.flows.set()
        key = Key(self.stage.scene.namespace, NAME)
        life = operating(self._client, key, self.clock, empty=_EMPTY, trail=Recorded)
        self._controller = await self.stack.enter_async_context(life)

    async def _caught_up(self) -> None:
        """Return when the watches that flow have seen everything."""
        if not self._client.flows.is_set():
            return
        async with asyncio.timeout(_DEADLINE):
            for cache in (source.cache for source in self._controller.sources):
                while True:
                    if cache.kind in _EMPTY or await up_to_date(cache):
                        break
                    await asyncio.sleep(_LOOK_EVERY)  # nobody tells when an API server's watch has caught up

    async def _check(self) -> None:
        admin, namespace = self.stage.admin, self.stage.scene.namespace
        found, status = await self.stage.workloads(), (await admin.get(PLANS, NAME, namespace)).status
        at = f"{self.case}\n  struck: {self.blow.struck or 'nothing'}\n  at {self.clock.now()}: "
        said = msgspec.json.encode(status.targets).decode()
        if self._moment % 2:
            left = await admin.list(CONFIG_MAPS, namespace, label_selector=f"{RESTORE_DATA}=true")
            assert found == self.stage.awake, f"{at}not awake as before: {_differences(found)}; {said}"
            assert not left, f"{at}restore data is left; {said}"
            assert status.phase == "Active", f"{at}{status.phase}; {said}"
        else:
            awake = [name for name, one in found.items() if MARK not in one["annotations"]]
            assert not awake, f"{at}awake at night: {awake}; {said}"
            assert all(LABEL in one["labels"] for one in found.values()), f"{at}no label; {said}"
            assert status.phase == "Hibernated", f"{at}{status.phase}; {said}"
        tried = {one.message for plan in self.blow.plans for one in plan.status.targets if _is_retried(one)}
        attempts = {one.attempts or 1 for one in status.targets}
        assert attempts <= {1}, f"{at}it has cost attempts: {' '.join(tried)} {said}"


def _is_retried(target: TargetStatus) -> bool:
    return target.state == "Pending" and bool(target.attempts)


def _shown(found: AnyObject) -> dict[str, Any]:
    """All but what Kubernetes itself adds, and the trace that a waking leaves."""
    annotations = {
        key: text
        for key, text in found.metadata.annotations.items()
        if "kubernetes.io" not in key and not key.startswith("deprecated.") and key != TRACE
    }
    return {"spec": found.spec, "annotations": annotations, "labels": found.metadata.labels}


def _differences(found: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {"replicas": one["spec"].get("replicas"), "suspend": one["spec"].get("suspend")}
        | {"annotations": one["annotations"]}
        for name, one in found.items()
    }
