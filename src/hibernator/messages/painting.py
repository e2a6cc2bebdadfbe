"""The timeline before and after as a PNG, for channels that show pictures. Pure; slow enough for a thread."""

from typing import Final

from hibernator.pictures import pairs, png
from hibernator.pictures.comparison import Comparison

_MOST_DAYS: Final = 5


def paint(comparison: Comparison) -> bytes:
    return png.render(pairs.alone(pairs.pairs(comparison, "", _MOST_DAYS)))
