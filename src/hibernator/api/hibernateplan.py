"""HibernatePlan: what sleeps, when, in which order, and how it is going."""

from typing import Annotated, Literal

import msgspec

from hibernator.api.meta import Model, says
from hibernator.api.windows import START_IS_NOT_END, HolidaySource, OffHourWindow

PlanHolidayMode = Literal["ignore", "sleep-all-day", "stay-awake"]


class PlanHolidays(Model):
    """What public holidays do to the schedule. Dates from all the sources count together."""

    mode: Annotated[
        PlanHolidayMode,
        says(
            "`sleep-all-day` sleeps from midnight to midnight on holidays, `stay-awake` does not sleep on them at "
            "all, `ignore` treats them as any day.",
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


class Schedule(Model):
    """When the targets of a plan are asleep."""

    timezone: Annotated[
        str, says("The IANA zone in which all times are read, such as `Europe/Berlin`.", minLength=1)
    ]
    off_hours: Annotated[
        tuple[
            Annotated[
                OffHourWindow,
                msgspec.Meta(extra_json_schema={"x-kubernetes-validations": [START_IS_NOT_END]}),
            ],
            ...,
        ],
        says(
            "The windows in which everything sleeps. They all count, and may overlap.",
            minItems=1,
            maxItems=64,
        ),
    ]
    holidays: Annotated[PlanHolidays | None, says("What public holidays do.")] = None
