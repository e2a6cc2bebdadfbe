"""The range that `--from` and `--to` make together."""

from dataclasses import dataclass

from whenever import Instant

from hibernator.cli.exits import CliError, Exit
from hibernator.schedule.holidays import years_around
from hibernator.schedule.spoken import shown
from hibernator.schedule.times import Moment

MAX_DAYS = 5 * 366


@dataclass(frozen=True, slots=True)
class Range:
    """What `--from` and `--to` say; what they leave open begins today and lasts `days` days."""

    start: Moment | None
    end: Moment | None
    days: int

    def seen_from(self, zone: str, now: Instant) -> tuple[Instant, Instant]:
        """The instants of the range for something that lives by that zone's clock."""
        start = (
            self.start.seen_from(zone, now) if self.start else now.to_tz(zone).start_of("day").to_instant()
        )
        end = self.end.seen_from(zone, now) if self.end else _later(start, zone, self.days)
        if end <= start:
            raise CliError(
                f"The range is empty: it would begin on {shown(start, zone)} and end on {shown(end, zone)}.",
                hint="Give a --to that is later than --from.",
                code=Exit.USAGE,
            )
        if (end - start).total("hours") > MAX_DAYS * 24:
            raise CliError(
                f"The range from {shown(start, zone)} to {shown(end, zone)} is longer than five years.",
                hint="Give a --from and a --to that are closer together.",
                code=Exit.USAGE,
            )
        return start, end


def years_of(now: Instant, *moments: Moment | None) -> range:
    """The years whose holidays matter to what is shown: around the moments, or around now."""
    instants = [moment.seen_from("UTC", now) for moment in moments if moment] or [now]
    years = [instant.to_tz("UTC").year for instant in instants]
    return years_around(min(years), max(years) + 1)


def _later(start: Instant, zone: str, days: int) -> Instant:
    """As many days later on the wall clock: a day with a change of the clock has 23 or 25 hours."""
    return start.to_tz(zone).add(days=days, disambiguation="compatible").to_instant()
