"""HibernatePlan: what sleeps, when, in which order, and how it is going."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, get_args

import msgspec

from hibernator.api.kind import DOMAIN, Kind
from hibernator.api.meta import SHORT_NAME, ConnectorReference, Model, Object, rule, says
from hibernator.api.planstatus import LONGEST_NAME, MOST_TARGETS, HibernatePlanStatus
from hibernator.api.windows import (
    DURATION,
    SUBDIVISION_NEEDS_COUNTRY,
    Country,
    HolidaySource,
    OffHourWindow,
    Subdivision,
    Timezone,
)

PlanHolidayMode = Literal["ignore", "sleep-all-day", "stay-awake"]
BuiltInType = Literal[
    "workloadscaler", "patches", "karpenter", "ec2", "asg", "rds", "eks", "gke", "cloudsql", "noop"
]
IN_ACCOUNTS = ["ec2", "asg", "rds", "cloudsql"]  # reached through a CloudProvider
IN_CLUSTERS = ["workloadscaler", "karpenter"]  # through a K8SCluster, or in the operator's own cluster
CLOUD_CLUSTERS = ["eks", "gke"]  # through either
PLUGIN_TYPE = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+"
StrategyType = Literal["Sequential", "Parallel", "DAG", "Staged"]
BehaviorMode = Literal["Strict", "BestEffort"]
WokenByOthers = Literal["Leave", "SleepAgain"]

_BUILT_IN = get_args(BuiltInType)

# Together with MOST_TARGETS these keep the cost of the rules below within what the API server allows.
MOST_DEPENDENCIES = 200
MOST_STAGES = 20

TargetName = Annotated[
    str, says("The name of a target of this plan.", pattern=SHORT_NAME, maxLength=LONGEST_NAME)
]


class PlanHolidays(Model):
    """What public holidays do to the schedule. Dates from all the sources count together."""

    RULES = (SUBDIVISION_NEEDS_COUNTRY,)

    mode: Annotated[
        PlanHolidayMode,
        says(
            "`sleep-all-day` sleeps from midnight to midnight on holidays, `stay-awake` does not sleep on "
            "them at all, `ignore` treats them as any day.",
            default="ignore",
        ),
    ] = "ignore"
    source_ref: Annotated[HolidaySource | None, says("A ConfigMap that lists dates or holds calendars.")] = (
        None
    )
    country: Country = None
    subdivision: Subdivision = None


class Schedule(Model):
    """When the targets of a plan are asleep."""

    timezone: Timezone
    off_hours: Annotated[
        tuple[OffHourWindow, ...],
        says(
            "The windows in which everything sleeps. They all count, and may overlap.",
            minItems=1,
            maxItems=64,
            x_kubernetes_list_type="atomic",
        ),
    ]
    holidays: Annotated[PlanHolidays | None, says("What public holidays do.")] = None


class Target(Model):
    """One thing, or one group of things, that sleeps."""

    RULES = (
        rule(
            f"!(self.type in {IN_ACCOUNTS + CLOUD_CLUSTERS}) || has(self.connectorRef)",
            "connectorRef is required: a cloud resource is reached through a CloudProvider or a K8SCluster",
            naming="'connectorRef is required: a target of type ' + self.type + ' is reached through a '"
            f" + (self.type in {CLOUD_CLUSTERS} ? 'CloudProvider or a K8SCluster' : 'CloudProvider')",
            reason="FieldValueRequired",
        ),
        rule(
            f"!(self.type in {IN_ACCOUNTS}) || !has(self.connectorRef)"
            " || self.connectorRef.kind == 'CloudProvider'",
            "connectorRef.kind must be CloudProvider for this type of target",
            naming="'connectorRef.kind must be CloudProvider for a target of type ' + self.type",
            field=".connectorRef.kind",
        ),
        rule(
            f"!(self.type in {IN_CLUSTERS}) || !has(self.connectorRef)"
            " || self.connectorRef.kind == 'K8SCluster'",
            "connectorRef.kind must be K8SCluster for this type of target",
            naming="'connectorRef.kind must be K8SCluster for a target of type ' + self.type",
            field=".connectorRef.kind",
        ),
        rule(
            "self.type != 'patches' || !has(self.connectorRef)",
            "a target of type patches has no connectorRef: it works in the operator's own cluster, which "
            "knows what the author of the plan may do",
            field=".connectorRef",
            reason="FieldValueForbidden",
        ),
    )

    name: Annotated[str, says("What it is called in this plan.", pattern=SHORT_NAME, maxLength=LONGEST_NAME)]
    type: Annotated[
        str,
        says(
            f"What kind of thing it is, and so how it is put to sleep: one of {', '.join(_BUILT_IN)}, or the "
            "type of a plug-in, which has a dot in its name.",
            pattern=f"^({'|'.join(_BUILT_IN)}|{PLUGIN_TYPE})$",
            maxLength=100,
        ),
    ]
    connector_ref: Annotated[
        ConnectorReference | None,
        says("How to reach it. Without one, workloads are those of the operator's own cluster."),
    ] = None
    parameters: Annotated[
        Mapping[str, Any],
        says(
            "Which of its kind sleep, and how. What may be written here depends on `type`.",
            maxProperties=64,
        ),
    ] = msgspec.field(default_factory=dict)


class Dependency(Model):
    RULES = (rule("self.from != self.to", "A target cannot wait for itself", field=".to"),)

    from_: Annotated[TargetName, says("The target that sleeps first (and wakes last).")] = msgspec.field(
        name="from"
    )
    to: Annotated[TargetName, says("The target that sleeps only when `from` does (and wakes before it).")]


class Stage(Model):
    name: Annotated[str, says("What the stage is called.", pattern=SHORT_NAME, maxLength=LONGEST_NAME)]
    targets: Annotated[
        tuple[TargetName, ...],
        says(
            "The targets that belong to it.",
            minItems=1,
            maxItems=MOST_TARGETS,
            x_kubernetes_list_type="set",
        ),
    ]
    parallel: Annotated[
        bool, says("Whether its targets are worked on at the same time or one by one.", default=False)
    ] = False
    max_concurrency: Annotated[
        int | None, says("How many of them at the same time; all when absent.", minimum=1, format="int32")
    ] = None


class Strategy(Model):
    """In which order the targets sleep. Waking runs the order backwards."""

    RULES = (
        rule(
            "self.type == 'DAG' || !has(self.dependencies) || self.dependencies.size() == 0",
            "dependencies are only for the strategy DAG: change the type or remove them",
            field=".dependencies",
            reason="FieldValueForbidden",
        ),
        rule(
            "self.type == 'Staged' || !has(self.stages) || self.stages.size() == 0",
            "stages are only for the strategy Staged: change the type or remove them",
            field=".stages",
            reason="FieldValueForbidden",
        ),
        rule(
            "self.type != 'Staged' || (has(self.stages) && self.stages.size() > 0)",
            "stages are required by the strategy Staged",
            reason="FieldValueRequired",
        ),
    )

    type: Annotated[
        StrategyType,
        says(
            "`Sequential` goes by the order of the list, `Parallel` takes all at once, `DAG` follows "
            "`dependencies`, `Staged` takes one stage after the other.",
            default="Sequential",
        ),
    ] = "Sequential"
    max_concurrency: Annotated[
        int | None,
        says(
            "How many targets are worked on at the same time; no limit when absent.",
            minimum=1,
            format="int32",
        ),
    ] = None
    dependencies: Annotated[
        tuple[Dependency, ...],
        says(
            "For `DAG`: which target comes before which.",
            maxItems=MOST_DEPENDENCIES,
            x_kubernetes_list_type="atomic",
        ),
    ] = ()
    stages: Annotated[
        tuple[Stage, ...],
        says(
            "For `Staged`: the stages in their order. Each target belongs to exactly one.",
            maxItems=MOST_STAGES,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = ()


class Execution(Model):
    strategy: Annotated[
        Strategy, says("In which order the targets are worked on.", default={"type": "Sequential"})
    ] = Strategy()


class Behavior(Model):
    mode: Annotated[
        BehaviorMode,
        says(
            "`Strict` stops at the first target that fails for good, `BestEffort` goes on with the others.",
            default="Strict",
        ),
    ] = "Strict"
    retries: Annotated[
        int,
        says(
            "How often a failed target is tried again: after a minute, then twice as long each time, at "
            "most half an hour.",
            minimum=0,
            maximum=10,
            default=3,
            format="int32",
        ),
    ] = 3
    on_woken_by_others: Annotated[
        WokenByOthers,
        says(
            "What to do about a thing that others wake while the plan sleeps, as a GitOps tool may: `Leave` "
            "it awake until the next sleep, or `SleepAgain`. Hibernator checks every quarter of an hour.",
            default="Leave",
        ),
    ] = "Leave"
    grace_for_new: Annotated[
        str | None,
        says(
            "How old a workload must be to be put to sleep, such as `30m`. A newer one stays awake until it "
            "is that old, and then sleeps for the rest of the night.",
            pattern=DURATION,
            maxLength=32,
        ),
    ] = None


# Spelled out below rather than as `.?dependencies`, which would hide sizes from the API server's estimate
# of what a rule may cost; so would `join`, while `format` does not.
_DEPENDENCIES = "self.execution.strategy.dependencies"
_STAGES = "self.execution.strategy.stages"
_IS_TARGET = "self.targets.exists(t, t.name == {})"


class HibernatePlanSpec(Model):
    RULES = (
        rule(
            f"!has({_DEPENDENCIES}) || {_DEPENDENCIES}.all(d,"
            f" {_IS_TARGET.format('d.from')} && {_IS_TARGET.format('d.to')})",
            "dependencies name targets that this plan does not have",
            naming="'dependencies name targets that this plan does not have: %s'.format(["
            f"{_DEPENDENCIES}.filter(d, !{_IS_TARGET.format('d.from')}).map(d, d.from)"
            f" + {_DEPENDENCIES}.filter(d, !{_IS_TARGET.format('d.to')}).map(d, d.to)])",
            field=".execution.strategy.dependencies",
        ),
        rule(
            f"!has({_STAGES}) || {_STAGES}.all(s, s.targets.all(n, {_IS_TARGET.format('n')}))",
            "stages name targets that this plan does not have",
            naming="'stages name targets that this plan does not have: %s'.format(["
            f"{_STAGES}.map(s, s.targets.filter(n, !{_IS_TARGET.format('n')})).filter(l, l.size() > 0)])",
            field=".execution.strategy.stages",
        ),
        rule(
            f"!has({_STAGES}) || {_STAGES}.size() == 0"
            f" || self.targets.all(t, {_STAGES}.exists(s, t.name in s.targets))",
            "stages leave out targets of this plan",
            naming="'stages leave out targets of this plan: %s'.format([self.targets"
            f".filter(t, !{_STAGES}.exists(s, t.name in s.targets)).map(t, t.name)])",
            field=".execution.strategy.stages",
        ),
        rule(
            f"!has({_STAGES}) || self.targets.all(t, {_STAGES}.filter(s, t.name in s.targets).size() <= 1)",
            "each target belongs to exactly one stage",
            naming="'each target belongs to exactly one stage, but some are in several: %s'.format(["
            f"self.targets.filter(t, {_STAGES}.filter(s, t.name in s.targets).size() > 1).map(t, t.name)])",
            field=".execution.strategy.stages",
        ),
    )

    schedule: Annotated[Schedule, says("When everything sleeps.")]
    targets: Annotated[
        tuple[Target, ...],
        says(
            "What sleeps.",
            minItems=1,
            maxItems=MOST_TARGETS,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ]
    execution: Annotated[
        Execution, says("How the work is done.", default={"strategy": {"type": "Sequential"}})
    ] = Execution()
    behavior: Annotated[
        Behavior, says("What happens when something fails.", default={"mode": "Strict", "retries": 3})
    ] = Behavior()
    suspend: Annotated[
        bool, says("Leave everything as it is and follow the schedule no more.", default=False)
    ] = False
    suspend_until: Annotated[datetime | None, says("With `suspend`: when the plan goes on by itself.")] = None
    suspend_reason: Annotated[str | None, says("With `suspend`: why, for other readers.", maxLength=1024)] = (
        None
    )
    dry_run: Annotated[bool, says("Report what would sleep and wake, but touch nothing.", default=False)] = (
        False
    )


class HibernatePlan(Object, kw_only=True):
    """Puts targets to sleep in their off hours and wakes them as they were."""

    RULES = (
        rule(
            f"self.metadata.name.size() <= {LONGEST_NAME}",
            f"The name of a HibernatePlan has at most {LONGEST_NAME} characters, because its exceptions "
            "carry it as a label",
        ),
    )

    spec: Annotated[HibernatePlanSpec, says("What sleeps, when and in which order.")]
    status: Annotated[HibernatePlanStatus, says("How it is going, written by the operator.")] = (
        HibernatePlanStatus()
    )


PLANS = Kind(HibernatePlan, DOMAIN, "v1alpha1", "HibernatePlan", "hibernateplans")
