"""The picture as PNG: with letters, on a machine that has no fonts."""

import struct
from pathlib import Path

from hibernator.pictures import png

IMAGE = Path(__file__).parents[2] / "docs" / "images" / "timeline.svg"


def size(image: bytes) -> tuple[int, int]:
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    wide, high = struct.unpack(">II", image[16:24])
    return wide, high


def test_letters_and_marks_are_drawn_without_the_fonts_of_the_machine() -> None:
    drawn = '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40">{}</svg>'
    text = '<text y="30" style="font-family:system-ui, sans-serif">{}</text>'
    missing = text.format("\N{CJK UNIFIED IDEOGRAPH-4E00}")
    empty, word, star, diamond, box = (
        png.render(drawn.format(inside))
        for inside in ("", text.format("Mo"), text.format("★"), text.format("◆"), missing)
    )
    assert size(word) == (120, 60)
    assert len({empty, word, star, diamond, box}) == 5


def test_the_picture_of_the_readme_keeps_its_shape() -> None:
    assert size(png.render(IMAGE.read_text(encoding="utf-8"))) == (1470, 1320)
