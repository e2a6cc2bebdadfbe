"""docs/images/timeline.svg: the picture of the README, drawn from an example that readers can run."""

from pathlib import Path

from whenever import Instant

from hibernator.cli.offline.ranges import Range, years_of
from hibernator.cli.offline.setting import read_scene
from hibernator.cli.offline.simulate import laid_out
from hibernator.pictures import svg
from hibernator.schedule import times

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "team.yaml"
START, END = "2026-03-23", "2026-04-06"


def text() -> str:
    period = Range(times.parse("--from", START), times.parse("--to", END), days=14)
    now = Instant.from_utc(2026, 3, 23)
    scene = read_scene([str(EXAMPLE)], years_of(now, period.start, period.end))
    return svg.render(laid_out(scene, period, now=now))
