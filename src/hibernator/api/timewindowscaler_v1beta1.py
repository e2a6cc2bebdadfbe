"""TimeWindowScaler in v1beta1: any scalable kind, a zone for each window, shares and measured numbers.

v1alpha1 stays the version that is stored; `conversion` says how the one becomes the other.
"""

import re
from typing import Annotated

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object, rule, says
from hibernator.api.timewindowscaler import (
    Days,
    End,
    GracePeriodSeconds,
    Pause,
    ScalerHolidays,
    Start,
    TimeWindowScalerStatus,
)
from hibernator.api.windows import START_IS_NOT_END, Timezone

PERCENTAGE = r"^(0|[1-9][0-9]{0,2}|1000)%$"
ADDRESS = r"^https?://[^\s/?#@]+(/[^\s?#]*)?$"  # nothing that would turn our path into something else
MOST_REPLICAS = 2**31 - 1  # what a replica count of Kubernetes can hold

# The bounds keep the annotation in which v1alpha1 carries these texts well below what annotations may hold.
LONGEST_ADDRESS = 512
LONGEST_QUERY = 1024

ONE_OF_REPLICAS_AND_EXTERNAL = rule(
    "has(self.replicas) != has(self.external)",
    "Write exactly one of replicas and external: a window runs either a written or a measured number",
)
MIN_UP_TO_MAX = rule("self.min <= self.max", "min must not be greater than max", field=".min")


def _replicas(description: str, **schema: object) -> object:
    return says(
        description,
        x_kubernetes_int_or_string=True,
        minimum=0,
        maximum=MOST_REPLICAS,
        pattern=PERCENTAGE,
        **schema,
    )


class TargetReference(Model):
    kind: Annotated[
        str,
        says(
            "The kind of the target: Deployment, StatefulSet, DaemonSet (which runs on its nodes or on none) "
            "or any other kind with a scale subresource.",
            pattern="^[A-Z][A-Za-z0-9]*$",
            maxLength=63,
        ),
    ]
    name: Annotated[str, says("The name of the target.", minLength=1, maxLength=253)]
    api_version: Annotated[
        str,
        says(
            "The API version of the target, such as `apps/v1` or `argoproj.io/v1alpha1`.",
            pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9][a-z0-9]*$",
            maxLength=317,
            default="apps/v1",
        ),
    ] = "apps/v1"
    namespace: Annotated[
        str | None, says("The namespace of the target; it can only be the scaler's own.", maxLength=63)
    ] = None


class PrometheusQuery(Model):
    server_address: Annotated[
        str,
        says(
            "Where Prometheus answers, such as `http://prometheus.monitoring:9090`.",
            pattern=ADDRESS,
            maxLength=LONGEST_ADDRESS,
        ),
    ]
    query: Annotated[
        str,
        says(
            "A PromQL query with one number as its result; it is rounded up.",
            minLength=1,
            maxLength=LONGEST_QUERY,
        ),
    ]


class ExternalReplicas(Model):
    """A number of replicas that is measured, not written."""

    RULES = (MIN_UP_TO_MAX,)

    prometheus: Annotated[PrometheusQuery, says("The query that gives the number.")]
    min: Annotated[
        int,
        says(
            "The fewest replicas, whatever the result.",
            minimum=0,
            maximum=MOST_REPLICAS,
            format="int32",
        ),
    ]
    max: Annotated[
        int,
        says("The most replicas, whatever the result.", minimum=0, maximum=MOST_REPLICAS, format="int32"),
    ]


class ScalerWindow(Model):
    RULES = (START_IS_NOT_END, ONE_OF_REPLICAS_AND_EXTERNAL)

    days: Days
    start: Start
    end: End
    timezone: Annotated[
        str | None,
        says("The IANA zone of this window, when it is not the spec's.", minLength=1, maxLength=64),
    ] = None
    replicas: Annotated[
        int | str | None,
        _replicas(
            "How many replicas run in this window: a number, or a share such as `50%` of what the target had "
            "before it was first scaled, rounded up, at most `1000%`."
        ),
    ] = None
    external: Annotated[
        ExternalReplicas | None,
        says("In place of `replicas`: a number that is measured while the window is open."),
    ] = None


class TimeWindowScalerSpec(Model):
    target_ref: Annotated[TargetReference, says("What is scaled.")]
    timezone: Timezone
    windows: Annotated[
        tuple[ScalerWindow, ...],
        says(
            "When to run how many. Where windows overlap, the last in the list wins.",
            minItems=1,
            maxItems=64,
            x_kubernetes_list_type="atomic",
        ),
    ]
    default_replicas: Annotated[
        int | str,
        _replicas(
            "How many replicas run when no window matches: a number, or a share such as `10%` of what the "
            "target had before it was first scaled, rounded up, at most `1000%`.",
            default=0,
        ),
    ] = 0
    holidays: Annotated[ScalerHolidays | None, says("What public holidays do.")] = None
    grace_period_seconds: GracePeriodSeconds = 0
    pause: Pause = False


class TimeWindowScaler(Object, kw_only=True):
    """Runs a workload with as many replicas as the window of the week asks for."""

    spec: Annotated[TimeWindowScalerSpec, says("What is scaled, and when to how many replicas.")]
    status: Annotated[TimeWindowScalerStatus, says("The current state, written by the operator.")] = (
        TimeWindowScalerStatus()
    )


SCALERS = Kind(TimeWindowScaler, "kyklos.io", "v1beta1", "TimeWindowScaler", "timewindowscalers")


def share(replicas: int | str, baseline: int) -> int:
    """The number that is meant: a share is of the baseline, rounded up so that a part of one is one."""
    if isinstance(replicas, int):
        return replicas
    if not re.fullmatch(PERCENTAGE, replicas):
        raise ValueError(f"replicas is {replicas!r}; write a number or a share from 0% to 1000%")
    return min(-(-int(replicas[:-1]) * baseline // 100), MOST_REPLICAS)
