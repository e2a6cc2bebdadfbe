"""TimeWindowScaler: a number of replicas for each window of the week."""

from typing import Annotated, Literal

from hibernator.api.meta import Model, says
from hibernator.api.windows import STRICT_TIME, HolidaySource

Day = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
HolidayMode = Literal["ignore", "treat-as-closed", "treat-as-open"]


class TargetReference(Model):
    kind: Annotated[str, says("The kind of the target.", enum=["Deployment"])]
    name: Annotated[str, says("The name of the target.", minLength=1)]
    namespace: Annotated[
        str | None, says("The namespace of the target; it can only be the scaler's own.")
    ] = None


class ScalerWindow(Model):
    days: Annotated[
        tuple[Day, ...],
        says("The days on which it begins.", minItems=1, maxItems=7, x_kubernetes_list_type="set"),
    ]
    start: Annotated[
        str, says("When it begins, as HH:MM on the local clock (inclusive).", pattern=STRICT_TIME)
    ]
    end: Annotated[
        str,
        says(
            "When it ends, as HH:MM (exclusive). Before `start` it is on the next day.", pattern=STRICT_TIME
        ),
    ]
    replicas: Annotated[int, says("How many replicas run in this window.", minimum=0, format="int32")]


class ScalerHolidays(Model):
    """What public holidays do. Dates from all the sources count together."""

    mode: Annotated[
        HolidayMode,
        says(
            "`treat-as-closed` runs `defaultReplicas` on holidays, `treat-as-open` the most that any window asks for, "
            "`ignore` treats them as any day.",
            default="ignore",
        ),
    ] = "ignore"
    source_ref: Annotated[HolidaySource | None, says("A ConfigMap that lists dates or holds calendars.")] = (
        None
    )
    country: Annotated[
        str | None,
        says("An ISO 3166-1 country code such as `DE`, for its public holidays.", pattern="^[A-Z]{2}$"),
    ] = None
    subdivision: Annotated[
        str | None,
        says("A part of the country such as `BY`, for its own holidays besides.", pattern="^[A-Z0-9-]{1,8}$"),
    ] = None


class TimeWindowScalerSpec(Model):
    target_ref: Annotated[TargetReference, says("What is scaled.")]
    timezone: Annotated[str, says("The IANA zone in which all times are read.", minLength=1)]
    windows: Annotated[
        tuple[ScalerWindow, ...],
        says(
            "When to run how many. Where windows overlap, the last in the list wins.", minItems=1, maxItems=64
        ),
    ]
    default_replicas: Annotated[
        int, says("How many replicas run when no window matches.", minimum=0, default=0, format="int32")
    ] = 0
    holidays: Annotated[ScalerHolidays | None, says("What public holidays do.")] = None
    grace_period_seconds: Annotated[
        int, says("How long to wait before scaling down.", minimum=0, default=0, format="int32")
    ] = 0
    pause: Annotated[bool, says("Compute and report, but do not touch the target.", default=False)] = False
