"""The picture for programs that show no SVG, as mail clients do; the same on every machine.

The letters come from a font in the lock and never from the machine, which may have none.
"""

from functools import cache
from importlib import resources
from typing import Final

import resvg_py

from hibernator.pictures import pairs
from hibernator.pictures.comparison import Comparison

_PACKAGE: Final = "fontpkg_noto_sans"
_FILE: Final = "files/NotoSans[wdth,wght].ttf"
_FAMILY: Final = "Noto Sans"
_DENSITY: Final = 1.5  # sharp on a phone, and still about a hundred kilobytes
_MOST_DAYS: Final = 5
_INSTEAD: Final = str.maketrans({"★": "*", "◆": "•"})  # what the font has no letters for


def paint(comparison: Comparison) -> bytes:
    """The timeline before and after. It takes half a second: call it off the event loop."""
    return render(pairs.alone(pairs.pairs(comparison, "", _MOST_DAYS)))


def render(svg: str) -> bytes:
    painted: bytes = resvg_py.svg_to_bytes(
        svg_string=svg.translate(_INSTEAD),
        skip_system_fonts=True,
        font_files=[_font()],
        font_family=_FAMILY,
        sans_serif_family=_FAMILY,
        zoom=_DENSITY,
    )
    return painted


@cache
def _font() -> str:
    return str(resources.files(_PACKAGE) / _FILE)
