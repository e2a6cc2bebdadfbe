"""The words for recurring time that plans, exceptions and scalers share."""

from typing import Annotated

from hibernator.api.meta import Model, rule, says

# Plans and exceptions are written by people in a hurry: `6:00` and `saturday` are fine.
RELAXED_TIME = r"^([0-1]?[0-9]|2[0-3]):[0-5][0-9]$"
STRICT_TIME = r"^([0-1][0-9]|2[0-3]):[0-5][0-9]$"
RELAXED_DAY = r"^(?i:MON|TUE|WED|THU|FRI|SAT|SUN|MONDAY|TUESDAY|WEDNESDAY|THURSDAY|FRIDAY|SATURDAY|SUNDAY)$"
DURATION = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"

# `6:00` and `06:00` are the same time.
START_IS_NOT_END = rule(
    "(self.start.size() == 4 ? '0' : '') + self.start != (self.end.size() == 4 ? '0' : '') + self.end",
    "Invalid window: start must not equal end",
)
SUBDIVISION_NEEDS_COUNTRY = rule(
    "!has(self.subdivision) || has(self.country)",
    "subdivision is a part of a country: set country too",
    field=".subdivision",
)

Timezone = Annotated[
    str,
    says(
        "The IANA zone in which all times are read, such as `Europe/Berlin`, with its changes to and from "
        "summer time.",
        minLength=1,
        maxLength=64,
    ),
]
Country = Annotated[
    str | None,
    says(
        "An ISO 3166-1 country code such as `DE`, for its public holidays.", pattern="^[A-Z]{2}$", maxLength=2
    ),
]
Subdivision = Annotated[
    str | None,
    says(
        "A part of the country such as `BY`, for its own holidays besides.",
        pattern="^[A-Z0-9-]{1,8}$",
        maxLength=8,
    ),
]


class OffHourWindow(Model):
    """A stretch of the week, from `start` on each of the days to `end`, which may be on the next day."""

    RULES = (START_IS_NOT_END,)

    start: Annotated[
        str,
        says("When it begins, as HH:MM on the local clock (inclusive).", pattern=RELAXED_TIME, maxLength=5),
    ]
    end: Annotated[
        str,
        says(
            "When it ends, as HH:MM on the local clock (exclusive). Before `start` it is on the next day; "
            "`23:59` means the end of the day.",
            pattern=RELAXED_TIME,
            maxLength=5,
        ),
    ]
    days_of_week: Annotated[
        tuple[
            Annotated[str, says("A day, as MON or Monday in any case.", pattern=RELAXED_DAY, maxLength=9)],
            ...,
        ],
        says("The days on which it begins.", minItems=1, maxItems=14, x_kubernetes_list_type="set"),
    ]


class HolidaySource(Model):
    """Where the dates of holidays are written down."""

    name: Annotated[
        str,
        says(
            "A ConfigMap in the same namespace. Keys such as `2026-12-25` are holidays, whatever the value; "
            "the value of a key that ends in `.ics` is read as an iCalendar file.",
            minLength=1,
            maxLength=253,
        ),
    ]
