"""`hibernator simulate`: timelines of files or of a cluster, as text, JSON, a picture or a calendar."""

from whenever import Instant

from hibernator.cli.offline import out
from hibernator.cli.offline.commands import Output
from hibernator.cli.offline.ranges import Range, years_of
from hibernator.cli.offline.scene import Scene
from hibernator.cli.offline.source import Source
from hibernator.pictures import contract, svg, terminal
from hibernator.pictures.strips import Strip, strip
from hibernator.schedule import times

DAYS = 14


def run(
    source: Source,
    start: str | None,
    end: str | None,
    output: Output,
    width: int | None,
    now: Instant | None,
) -> None:
    now = now or source.now()
    period = Range(times.parse("--from", start), times.parse("--to", end), DAYS)
    scene = source.scene(years_of(now, period.start, period.end))
    strips = laid_out(scene, period, now)
    match output:
        case Output.JSON:
            out.data(contract.render(strips))
        case Output.SVG:
            out.data(svg.render(strips))
        case Output.ICS:
            from hibernator.pictures import ics  # the calendar library is slow to import

            out.data(ics.render(strips))
        case Output.TEXT:
            console = out.console(width)
            out.lines(console, terminal.render(strips, console.width, out.ink(console)))
    out.notes(scene.notes)


def laid_out(scene: Scene, period: Range, now: Instant) -> list[Strip]:
    """Each resource over the period, as its own clock sees it."""
    return [strip(resource, *period.seen_from(resource.zone.name, now)) for resource in scene.resources]
