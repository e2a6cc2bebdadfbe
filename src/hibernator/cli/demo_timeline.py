"""The scene as timelines: two weeks of it before it opens, and two days of it while it runs."""

from pathlib import Path
from typing import Any

from rich.text import Text
from whenever import Instant, Time

from hibernator.cli.offline.setting import read_scene
from hibernator.demo.scene import ZONE, Scene
from hibernator.demo.view import View
from hibernator.pictures import terminal
from hibernator.pictures.days import days
from hibernator.pictures.ink import PROPOSED, STYLES, Ink, is_asleep, tone
from hibernator.pictures.resource import Resource, ShownException, Standing
from hibernator.pictures.strips import Strip, strip
from hibernator.pictures.terminal import spread
from hibernator.schedule.holidays import NO_HOLIDAYS, DaysOff, load_holidays, read_dates, years_around
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.scaler import ScalerTimeline
from hibernator.schedule.ticks import from_instant

DAYS = 2  # that the live view shows
_TWO_WEEKS = 14
_PROGRESS = 3  # lines below it that show how far the start is
_HOURS = 24
_CAPTION = (
    Text("Two weeks of a shop, as its schedules have it, while its cluster starts:", "italic"),
    Text(),
)


def two_weeks(scene: Scene, folder: Path, width: int, ink: Ink, *, height: int | None) -> list[Text]:
    """Two weeks without further exceptions, cut to `height` lines; all of it where `height` is None."""
    file = folder / "scene.yaml"
    file.write_text(scene.text, encoding="utf-8")
    start, end = _span(scene.opens, _TWO_WEEKS)
    year = scene.opens.to_tz("UTC").year
    resources = read_scene([str(file)], years_around(year, year)).resources
    strips = [strip(resource, start, end) for resource in resources]
    whole = [*_CAPTION, *terminal.render(strips, width, ink)]
    fits = height is None or len(whole) + _PROGRESS <= height
    return whole if fits else [*_CAPTION, *terminal.render(strips[:1], width, ink)]


def _span(moment: Instant, length: int) -> tuple[Instant, Instant]:
    """Whole local days from that of the moment on."""
    today = moment.to_tz(ZONE).date()
    first, last = (date.at(Time(0)).assume_tz(ZONE).to_instant() for date in (today, today.add(days=length)))
    return first, last


class Days:
    """Two days of the plan and the scaler as the cluster has them now."""

    def __init__(self, ink: Ink, per_hour: int) -> None:
        self._ink = ink
        self._cells = _HOURS * per_hour

    @property
    def width(self) -> int:
        return DAYS * self._cells

    def axis(self, now: Instant) -> Text:
        """The hours, with a mark where the clock is."""
        start, end = _span(now, DAYS)
        names = [
            start.add(hours=_HOURS * day + 12).to_tz(ZONE).date().day_of_week().name for day in range(DAYS)
        ]
        labels = [label for name in names for label in (name[:3].title(), "06", "12", "18")]
        step = self._cells // 4
        at = int((now - start) / (end - start) * self.width)
        if at % step <= len(labels[at // step]):
            labels[at // step] = ""  # the mark stands there
        line = "".join(label.ljust(step) for label in labels)
        return Text.assemble((line[:at], "dim"), ("▼", "bold"), (line[at + 1 :], "dim"))

    def plan(self, view: View) -> Text:
        return self._row(self._strip(_plan(view), view.now))

    def scaler(self, view: View) -> Text:
        return self._row(self._strip(_scaler(view), view.now))

    def _strip(self, resource: Resource, now: Instant) -> Strip:
        return strip(resource, *_span(now, DAYS))

    def _row(self, shown: Strip) -> Text:
        spans = [(from_instant(each.start), from_instant(each.end)) for each in shown.intervals]
        most = max((each.value for each in shown.intervals if not shown.resource.is_plan), default=0)
        line = Text()
        for day in days(shown.resource.zone, shown.first, shown.last):
            cells = [
                (" ", "") if index is None else self._cell(shown, index, most)
                for index, _ in spread(day, spans, self._cells)
            ]
            for proposal in shown.proposals:
                changes = [(change.start, change.end) for change in proposal.changes]
                for at, (found, _) in enumerate(spread(day, changes, self._cells)):
                    if found is not None:
                        cells[at] = (self._hatch(proposal.changes[found].after), PROPOSED)
            for character, style in cells:
                line.append(character, style)
        return line

    def _cell(self, shown: Strip, index: int, most: int) -> tuple[str, str]:
        interval = shown.intervals[index]
        held = tone(interval)
        if shown.resource.is_plan:
            return self._ink.tones[held], STYLES[held]
        return self._ink.level(interval.value, most), STYLES[held._replace(asleep=False)]

    def _hatch(self, after: Any) -> str:
        return self._ink.would_sleep if is_asleep(after) else self._ink.would_wake


def _plan(view: View) -> Resource:
    schedule = view.plan.spec.schedule
    active = [(one.metadata.name, one.spec) for one in view.exceptions if one.status.applied_at]
    waiting = [one for one in view.exceptions if one.status.state == "Pending"]
    proposals = tuple(
        (
            ShownException(one.metadata.name, one.spec, Standing.PENDING),
            PlanTimeline(schedule, [*active, (one.metadata.name, one.spec)]),
        )
        for one in waiting
    )
    timeline = PlanTimeline(schedule, active)
    return Resource("HibernatePlan", "", "", timeline, NO_HOLIDAYS, proposals=proposals)


def _scaler(view: View) -> Resource:
    spec = view.scaler.spec
    year = view.now.to_tz("UTC").year
    days_off = DaysOff.of(*read_dates(view.days_off, years_around(year, year)))
    holidays, _ = load_holidays(spec.holidays, days_off)
    return Resource("TimeWindowScaler", "", "", ScalerTimeline.of(spec, holidays), holidays)
