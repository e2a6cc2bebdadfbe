"""ScheduleException: a plan's schedule, bent for a while."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from hibernator.api.meta import Model, says
from hibernator.api.windows import DURATION, OffHourWindow

ExceptionType = Literal["extend", "suspend", "replace"]


class PlanReference(Model):
    name: Annotated[str, says("The HibernatePlan that is bent.", minLength=1)]
    namespace: Annotated[str | None, says("The plan's namespace; it can only be the exception's own.")] = None


class ScheduleExceptionSpec(Model):
    plan_ref: Annotated[PlanReference, says("The plan whose schedule this bends.")]
    valid_from: Annotated[datetime, says("From when it holds (inclusive).")]
    valid_until: Annotated[
        datetime, says("Until when it holds (exclusive), at most 90 days after `validFrom`.")
    ]
    type: Annotated[
        ExceptionType,
        says(
            "`extend` sleeps in these windows too, `suspend` stays awake in them, `replace` sleeps in them and at no "
            "other time."
        ),
    ]
    lead_time: Annotated[
        str | None,
        says(
            "With `suspend`: no sleep begins this long before a window. A duration such as `30m`, `1h` or `3600s`.",
            pattern=f"^$|{DURATION}",
        ),
    ] = None
    windows: Annotated[
        tuple[OffHourWindow, ...],
        says("When it applies, in the plan's zone.", minItems=1, maxItems=64),
    ] = msgspec.field(default=())
