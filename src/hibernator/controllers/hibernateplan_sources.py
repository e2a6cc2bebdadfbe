"""What a plan looks at besides itself: the clock with its exceptions, and the connectors it may use."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from whenever import Instant

from hibernator.api.cloudprovider import PROVIDERS, CloudProvider
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.k8scluster import CLUSTERS, K8SCluster
from hibernator.api.planstatus import ActiveException, NextTransition, RecentException, Rest
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import ScheduleException
from hibernator.controllers.connectors import BY_PROVIDER, provider_key
from hibernator.controllers.shared import ACTIVE
from hibernator.decisions.conditions import whole_second
from hibernator.decisions.connectors import Connector, Name, borrowed, connectors_of
from hibernator.decisions.hibernateplan import active_exceptions
from hibernator.decisions.hibernateplan_case import MOST_EXCEPTIONS, ScheduleState
from hibernator.decisions.scheduleexception_line import plan_key
from hibernator.kube.cache import Cache, Caches
from hibernator.kube.controller import Key, Watches
from hibernator.kube.store import Store
from hibernator.schedule.holidays import DaysOff, load_holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.problems import check_exception
from hibernator.schedule.timeline import Answer, State

_CHANGES: Final = 64  # of reason or window, without one of state, after which there is no next transition


def lay_out(
    plan: HibernatePlan, active: Sequence[ScheduleException], days_off: DaysOff | None
) -> tuple[PlanTimeline, tuple[str, ...]]:
    """The plan's timeline, and what was wrong with what it was made of."""
    schedule = plan.spec.schedule
    holidays, problems = load_holidays(schedule.holidays, days_off)
    source = schedule.holidays.source_ref if schedule.holidays else None
    named = f"ConfigMap {source.name}" if source else ""
    troubles = [
        f"{f'{named}, ' if p.path.startswith('data') else ''}{p.path}: {p.message}. {p.fix}" for p in problems
    ]
    if days_off and not days_off.exists:
        troubles.append(f"{named} does not exist: no day is a holiday. Create it, or correct its name.")
    usable = []
    for one in active:
        if mistakes := list(check_exception(one.spec)):
            why = " ".join(f"{p.path}: {p.message}. {p.fix}" for p in mistakes)
            troubles.append(f"ScheduleException {one.metadata.name} has no effect: {why}")
        else:
            usable.append((one.metadata.name, one.spec))
    return PlanTimeline(schedule, usable, holidays), tuple(troubles)


def schedule_state(timeline: PlanTimeline, now: Instant) -> ScheduleState:
    answer = timeline.at(now)
    return ScheduleState(
        wanted=_rest(answer),
        reason=str(answer.reason),
        message=answer.message,
        until=answer.until,
        following=_following(timeline, answer),
    )


def exception_entries(shown: Iterable[ScheduleException]) -> tuple[ActiveException, ...]:
    """The entries of `status.activeExceptions`. One that was deleted is not remembered."""
    return active_exceptions(
        ActiveException(
            name=one.metadata.name,
            type=one.spec.type,
            valid_from=one.spec.valid_from,
            valid_until=one.spec.valid_until,
            state=one.status.state or "",
            applied_at=one.status.applied_at,
            expired_at=one.status.expired_at,
        )
        for one in shown
    )


def in_force(active: Iterable[ScheduleException]) -> tuple[RecentException, ...]:
    """What the plan shall remember of those that are active; nothing held before it was active."""
    return tuple(
        RecentException(
            uid=one.metadata.uid,
            name=one.metadata.name,
            began_at=max(one.spec.valid_from, one.status.applied_at or one.spec.valid_from),
            valid_until=one.spec.valid_until,
        )
        for one in active
    )


def _following(timeline: PlanTimeline, answer: Answer[State]) -> NextTransition | None:
    """When the state itself changes next; reasons and windows change more often."""
    before, until = answer.value, answer.until
    for _ in range(_CHANGES):
        if until is None:
            return None
        later = timeline.at(until)
        if later.value is not before:
            return NextTransition(at=whole_second(until), to=_rest(later), reason=str(later.reason))
        until = later.until
    return None


def _rest(answer: Answer[State]) -> Rest:
    return "Asleep" if answer.value is State.ASLEEP else "Awake"


_BY_CONNECTOR = "connector"


class ConnectorUse:
    def __init__(self, caches: Caches, plans: Cache[HibernatePlan]) -> None:
        self._plans = plans
        self._providers = caches.of(PROVIDERS)
        self._clusters = caches.of(CLUSTERS)
        self._plans.index(_BY_CONNECTOR, lambda plan: map("/".join, connectors_of(plan)))
        self._clusters.index(BY_PROVIDER, provider_key)
        self.sources = (
            Watches(self._providers, self._of_provider),
            Watches(self._clusters, self._of_cluster),
        )

    def problems(self, plan: HibernatePlan) -> tuple[Problem, ...]:
        return tuple(borrowed(plan, self._find))

    def _find(self, name: Name) -> Connector | None:
        kind, *place = name
        return self._providers.get(*place) if kind == PROVIDERS.kind else self._clusters.get(*place)

    def _of_provider(self, provider: CloudProvider) -> Iterator[Key]:
        place = f"{provider.metadata.namespace}/{provider.metadata.name}"
        yield from self._naming(f"{PROVIDERS.kind}/{place}")
        for cluster in self._clusters.find(BY_PROVIDER, place):
            yield from self._of_cluster(cluster)

    def _of_cluster(self, cluster: K8SCluster) -> Iterator[Key]:
        yield from self._naming(f"{CLUSTERS.kind}/{cluster.metadata.namespace}/{cluster.metadata.name}")

    def _naming(self, connector: str) -> Iterator[Key]:
        for plan in self._plans.find(_BY_CONNECTOR, connector):
            yield Key(plan.metadata.namespace, plan.metadata.name)


class PlanExceptions:
    """The exceptions of a plan. Make it before the controller, so that it sees each change first.

    One that is active and was changed goes on as it was, until it is decided whether it stays active: a
    policy may not let it, or people may have to agree first.
    """

    def __init__(self, exceptions: Store[ScheduleException]) -> None:
        self._exceptions = exceptions
        self._decided: dict[str, ScheduleException] = {}  # as it was decided about, by uid
        self._over: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)  # when and which, in order
        exceptions.on_change(self._changed)

    def active(self, plan: str) -> tuple[ScheduleException, ...]:
        return tuple(self._decided.get(one.metadata.uid, one) for one in self._exceptions.find(ACTIVE, plan))

    def awaits(self, plan: str) -> bool:
        """Whether one was changed before this process began, and is not decided about."""
        return not all(map(_is_decided, self.active(plan)))

    def last(self, plan: str) -> Iterator[ScheduleException]:
        """Of those that were active and expired, the last ones."""
        namespace = plan.partition("/")[0]
        for _, name in self._over.get(plan, ())[-MOST_EXCEPTIONS:]:
            found = self._exceptions.get(namespace, name)
            if found is not None:
                yield found

    def _changed(self, old: ScheduleException | None, new: ScheduleException | None) -> None:
        self._remember(old, new)
        if old is not None and _is_over(old):
            places = self._over[plan_key(old)]
            del places[bisect_left(places, _place(old))]
            if not places:
                del self._over[plan_key(old)]
        if new is not None and _is_over(new):
            insort(self._over[plan_key(new)], _place(new))

    def _remember(self, old: ScheduleException | None, new: ScheduleException | None) -> None:
        uid = new.metadata.uid if new else ""
        if old is not None and (old.metadata.uid != uid or new is None or _is_decided(new)):
            self._decided.pop(old.metadata.uid, None)
        elif old is not None and old.status.state == "Active" and _is_decided(old):
            self._decided[uid] = old


def _is_decided(one: ScheduleException) -> bool:
    return one.status.observed_generation in {None, one.metadata.generation}


def _is_over(one: ScheduleException) -> bool:
    return one.status.state == "Expired" and not one.metadata.deletion_timestamp


def _place(one: ScheduleException) -> tuple[str, str]:
    over = one.status.expired_at
    return over.isoformat() if over else "", one.metadata.name
