"""docs/images/cookbook/*.svg: a picture for each recipe of the cookbook, drawn from the recipe itself."""

import re
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from whenever import Instant

from hibernator.cli.offline.ranges import Range, years_of
from hibernator.cli.offline.setting import read_scene
from hibernator.cli.offline.simulate import laid_out
from hibernator.pictures import svg
from hibernator.schedule import times

PAGE: Final = Path(__file__).parents[1] / "docs" / "guides" / "cookbook.md"
FOLDER: Final = Path("docs/images/cookbook")
_RECIPE: Final = re.compile(r"^```yaml (\S+)\.yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOW: Final = Instant.from_utc(2026, 3, 2)
_WEEK: Final = ("2026-03-02", "2026-03-09")
_PERIODS: Final = {
    "holidays": ("2026-05-11", "2026-05-18"),
    "between-the-years": ("2026-12-21", "2027-01-06"),
}


def recipes() -> dict[str, str]:
    """Every recipe of the page by its name."""
    return dict(_RECIPE.findall(PAGE.read_text(encoding="utf-8")))


def outputs() -> Iterator[tuple[Path, partial[str]]]:
    for name, text in recipes().items():
        yield FOLDER / f"{name}.svg", partial(picture, name, text)


def picture(name: str, text: str) -> str:
    start, end = _PERIODS.get(name, _WEEK)
    period = Range(times.parse("--from", start), times.parse("--to", end), days=7)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{name}.yaml")
        file.write_text(text, encoding="utf-8")
        years = years_of(_NOW, period.start, period.end)
        return svg.render(laid_out(read_scene([str(file)], years), period, now=_NOW))
