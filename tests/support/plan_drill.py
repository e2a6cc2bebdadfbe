"""A plan whose work is made up: the decision is real, and what comes of each run is said by the test."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from whenever import Instant, TimeDelta

from hibernator.api.hibernateplan import HibernatePlan, HibernatePlanSpec
from hibernator.api.meta import ObjectMeta
from hibernator.api.planstatus import HibernatePlanStatus, ItemCount, Rest
from hibernator.api.problem import Problem
from hibernator.decisions.hibernateplan import decide
from hibernator.decisions.hibernateplan_case import Decision, Run, ScheduleState, Seen
from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.decisions.hibernateplan_status import TargetOutcome, Woken

EVENING = Instant("2026-03-02T20:00:00Z")
Fate = Callable[[Run, int], str]


def spec(*names: str, **changes: Any) -> HibernatePlanSpec:
    document = {
        "schedule": {
            "timezone": "UTC",
            "offHours": [{"start": "20:00", "end": "06:00", "daysOfWeek": ["MON"]}],
        },
        "targets": [{"name": name, "type": "noop"} for name in names],
    }
    return msgspec.convert(document | changes, HibernatePlanSpec)


def strategy(type_: str, **more: Any) -> dict[str, Any]:
    return {"strategy": {"type": type_} | more}


def all_well(_run: Run, _attempt: int) -> str:
    return "done"


def failing(*names: str, attempts: int = 99, state: str = "failed") -> Fate:
    return lambda run, attempt: state if run.name in names and attempt <= attempts else "done"


@dataclass
class Drill:
    spec: HibernatePlanSpec
    now: Instant = EVENING
    status: HibernatePlanStatus = field(default_factory=HibernatePlanStatus)
    kept: set[str] = field(default_factory=set)
    generation: int = 1
    annotations: dict[str, str] = field(default_factory=dict)
    deleted: bool = False
    changed: set[str] = field(default_factory=set)
    due: set[str] = field(default_factory=set)
    due_at: Instant | None = None
    problems: tuple[Problem, ...] = ()
    woken: tuple[Woken, ...] | None = ()
    strays: tuple[str, ...] = ()
    unreadable: bool = False
    log: list[str] = field(default_factory=list)  # `Sleep a`, in the order in which runs began
    most_at_once: int = 0
    outcomes: dict[str, TargetOutcome] = field(default_factory=dict)
    _began: set[tuple[int | None, str, str, int | None]] = field(default_factory=set)

    def plan(self) -> HibernatePlan:
        metadata = ObjectMeta(
            name="nights",
            namespace="shop",
            generation=self.generation,
            annotations=self.annotations,
            deletion_timestamp=datetime(2026, 3, 2, tzinfo=UTC) if self.deleted else None,
        )
        return HibernatePlan(metadata=metadata, spec=self.spec, status=self.status)

    def look(self, wanted: Rest) -> Decision:
        """One pass of the controller, up to the work."""
        clock = ScheduleState(
            wanted=wanted, reason="OffHours", message="So it is.", until=None, following=None
        )
        decision = decide(
            Seen(
                plan=self.plan(),
                clock=clock,
                kept=frozenset(self.kept),
                changed=frozenset(self.changed),
                due=frozenset(self.due),
                due_at=self.due_at,
                outcomes=self.outcomes,
                problems=self.problems,
                woken=self.woken,
                strays=self.strays,
                unreadable=self.unreadable,
            ),
            self.now,
        )
        self.status = decision.status
        self.outcomes = {}
        self.most_at_once = max(self.most_at_once, len(decision.runs))
        return decision

    def work(self, decision: Decision, fate: Fate = all_well) -> None:
        """Do what the decision names."""
        states = {target.name: target for target in self.status.targets}
        for run in decision.runs:
            attempt = states[run.name].attempts or 1
            begun = self.status.cycle, run.operation, run.name, attempt
            if begun not in self._began:
                self._began.add(begun)
                self.log.append(f"{run.operation} {run.name}")
            state: Any = fate(run, attempt)
            if run.operation == "Sleep":
                self.kept.add(run.name)
            elif state == "done":
                self.kept.discard(run.name)
            self.outcomes[run.name] = TargetOutcome(
                state=state,
                items=ItemCount(total=1),
                message=f"{run.name} {state}.",
                saving=Saving(2.0, 4.0),
            )

    def go(self, wanted: Rest, fate: Fate = all_well, *, patiently: bool = False) -> Decision:
        """Go on until nothing is left to do now; patiently, also through pauses."""
        for _ in range(500):
            decision = self.look(wanted)
            self.work(decision, fate)
            if decision.runs:
                continue
            if not patiently or self.status.current_operation is None:
                return decision
            self.now += TimeDelta(seconds=decision.after)
        raise AssertionError("it never comes to rest")

    @property
    def phase(self) -> str:
        return self.status.phase or ""

    @property
    def states(self) -> dict[str, str]:
        return {target.name: target.state for target in self.status.targets}
