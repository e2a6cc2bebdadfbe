"""Which days are holidays: dates and calendars in a ConfigMap, and the public holidays of a country."""

from collections.abc import Mapping
from datetime import date

from hibernator.schedule.spans import Spans, union
from hibernator.schedule.ticks import DAY, date_of, day_of
from hibernator.schedule.zones import Zone


class Holidays:
    """Days and their names, from all the sources of one schedule."""

    __slots__ = ("_dates",)

    def __init__(self, dates: Mapping[date, str] | None = None) -> None:
        self._dates = {day_of(day): name for day, name in (dates or {}).items()}

    def named(self, first: int, last: int) -> dict[int, str]:
        """The holidays among the days from first to last, both included."""
        return {day: name for day, name in self._dates.items() if first <= day <= last}

    def spans(self, zone: Zone, lo: int, hi: int) -> Spans:
        """All instants in [lo, hi), and some around it, whose local date is a holiday."""
        days = self.named(lo // DAY - 2, hi // DAY + 2)
        return union(*(zone.day(day) for day in days))

    def text(self, zone: Zone, ticks: int) -> str:
        """Why this instant is on a holiday: `2026-12-25 is a holiday (Christmas Day)`."""
        day = zone.reading(ticks) // DAY
        name = self.named(day, day)[day]
        return f"{date_of(day)} is a holiday ({name})" if name else f"{date_of(day)} is a holiday"


NO_HOLIDAYS = Holidays()
