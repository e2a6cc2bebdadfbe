"""TimeWindowScaler: a number of replicas for each window of the week."""

from datetime import datetime
from typing import Annotated, Literal

from hibernator.api.kind import Kind
from hibernator.api.meta import Conditions, Journal, Model, Object, ObservedGeneration, says
from hibernator.api.windows import (
    START_IS_NOT_END,
    STRICT_TIME,
    SUBDIVISION_NEEDS_COUNTRY,
    Country,
    HolidaySource,
    Subdivision,
    Timezone,
)

Day = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
HolidayMode = Literal["ignore", "treat-as-closed", "treat-as-open"]

# The same in every version.
Days = Annotated[
    tuple[Day, ...],
    says("The days on which it begins.", minItems=1, maxItems=7, x_kubernetes_list_type="set"),
]
Start = Annotated[
    str, says("When it begins, as HH:MM on the local clock (inclusive).", pattern=STRICT_TIME, maxLength=5)
]
End = Annotated[
    str,
    says(
        "When it ends, as HH:MM (exclusive). Before `start` it is on the next day.",
        pattern=STRICT_TIME,
        maxLength=5,
    ),
]
GracePeriodSeconds = Annotated[
    int,
    says(
        "How long to wait, after a window was left, before scaling down.",
        minimum=0,
        default=0,
        format="int32",
    ),
]
Pause = Annotated[
    bool, says("Compute and report what would be done, but do not touch the target.", default=False)
]


class TargetReference(Model):
    kind: Annotated[str, says("The kind of the target.", enum=["Deployment"])]
    name: Annotated[str, says("The name of the target.", minLength=1, maxLength=253)]
    api_version: Annotated[
        str, says("The API version of the target.", enum=["apps/v1"], default="apps/v1")
    ] = "apps/v1"
    namespace: Annotated[
        str | None, says("The namespace of the target; it can only be the scaler's own.", maxLength=63)
    ] = None


class ScalerWindow(Model):
    RULES = (START_IS_NOT_END,)

    days: Days
    start: Start
    end: End
    replicas: Annotated[int, says("How many replicas run in this window.", minimum=0, format="int32")]


class ScalerHolidays(Model):
    """What public holidays do. Dates from all the sources count together."""

    RULES = (SUBDIVISION_NEEDS_COUNTRY,)

    mode: Annotated[
        HolidayMode,
        says(
            "`treat-as-closed` runs `defaultReplicas` on holidays, `treat-as-open` the most that any window "
            "asks for, `ignore` treats them as any day.",
            default="ignore",
        ),
    ] = "ignore"
    source_ref: Annotated[HolidaySource | None, says("A ConfigMap that lists dates or holds calendars.")] = (
        None
    )
    country: Country = None
    subdivision: Subdivision = None


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
        int, says("How many replicas run when no window matches.", minimum=0, default=0, format="int32")
    ] = 0
    holidays: Annotated[ScalerHolidays | None, says("What public holidays do.")] = None
    grace_period_seconds: GracePeriodSeconds = 0
    pause: Pause = False


class TimeWindowScalerStatus(Model):
    current_window: Annotated[
        str,
        says(
            "`OffHours` when no window matches, `BusinessHours` in an ordinary daytime window, otherwise "
            "`Custom-` and a hash of the window."
        ),
    ] = ""
    effective_replicas: Annotated[
        int | None, says("How many replicas are wanted now, grace included.", format="int32")
    ] = None
    target_observed_replicas: Annotated[
        int | None, says("How many replicas the target had when it was last looked at.", format="int32")
    ] = None
    last_scale_time: Annotated[datetime | None, says("When the target was last scaled.")] = None
    grace_period_expiry: Annotated[
        datetime | None, says("Until when scaling down is put off; absent when no grace is running.")
    ] = None
    baseline_replicas: Annotated[
        int | None,
        says(
            "How many replicas the target had before it was first scaled; shares are of this.", format="int32"
        ),
    ] = None
    next_boundary: Annotated[datetime | None, says("When the wanted number may change next.")] = None
    holiday_data: Annotated[
        str | None,
        says(
            "The release of the `holidays` library that public holidays were taken from, such as `0.108`; "
            "absent where the spec names no country."
        ),
    ] = None
    scalings: Annotated[int | None, says("How often the target was scaled so far.")] = None
    paused: Annotated[bool | None, says("Whether it was paused when it was last looked at.")] = None
    journal: Journal = ()
    observed_generation: ObservedGeneration = None
    conditions: Conditions = ()


class TimeWindowScaler(Object, kw_only=True):
    """Runs a Deployment with as many replicas as the window of the week asks for."""

    spec: Annotated[TimeWindowScalerSpec, says("What is scaled, and when to how many replicas.")]
    status: Annotated[TimeWindowScalerStatus, says("The current state, written by the operator.")] = (
        TimeWindowScalerStatus()
    )


SCALERS = Kind(TimeWindowScaler, "kyklos.io", "v1alpha1", "TimeWindowScaler", "timewindowscalers")
