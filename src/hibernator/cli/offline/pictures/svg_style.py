"""The colours and patterns of the picture, for readers with a light screen and for those with a dark one."""

from hibernator.cli.offline.pictures.tones import Cause, Tone

CLASSES = {
    Tone(asleep=True, cause=Cause.SCHEDULE): "asleep",
    Tone(asleep=True, cause=Cause.HOLIDAY): "asleep-holiday",
    Tone(asleep=True, cause=Cause.EXCEPTION): "asleep-exception",
    Tone(asleep=False, cause=Cause.SCHEDULE): "awake",
    Tone(asleep=False, cause=Cause.HOLIDAY): "awake-holiday",
    Tone(asleep=False, cause=Cause.EXCEPTION): "awake-exception",
}

_LIGHT = {
    "paper": "#ffffff",
    "edge": "#d1d9e0",
    "text": "#1f2328",
    "quiet": "#59636e",
    "line": "#1f2328",
    "lane": "#eff2f5",
    "asleep": "#3d4b94",
    "asleep-holiday": "#1b7c83",
    "asleep-exception": "#8250df",
    "awake": "#ffe9a8",
    "awake-holiday": "#b6e3e8",
    "awake-exception": "#d3b3fb",
    "bar": "#f2c14e",
    "bar-holiday": "#1b7c83",
    "on-bar": "#1f2328",
    "proposed": "#cf222e",
    "exception": "#8250df",
    "holiday": "#1b7c83",
}
_DARK = {
    "paper": "#0d1117",
    "edge": "#3d444d",
    "text": "#f0f6fc",
    "quiet": "#9198a1",
    "line": "#f0f6fc",
    "lane": "#1a2029",
    "asleep": "#33418f",
    "asleep-holiday": "#146c74",
    "asleep-exception": "#6e40c9",
    "awake": "#b08a2e",
    "awake-holiday": "#56b8c2",
    "awake-exception": "#b594f5",
    "bar": "#a37a1e",
    "bar-holiday": "#146c74",
    "on-bar": "#ffffff",
    "proposed": "#ff7b72",
    "exception": "#b594f5",
    "holiday": "#56b8c2",
}
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


_SHAPES = (
    f"text{{font-family:{_FONT};font-size:12px}}",
    ".title{font-size:15px;font-weight:600}",
    ".small{font-size:11px}",
    ".number{font-size:11px;font-weight:600}",
    ".line{stroke-opacity:.14}",
    ".would-wake{fill:url(#wake)}",
    ".would-sleep{fill:url(#sleep)}",
    ".would-wake,.would-sleep{stroke-width:1.5}",
    ".missing{stroke-dasharray:2 2}",
)


def _coloured(colours: dict[str, str]) -> str:
    """Each colour where it is used, as it is.

    Variables would be shorter, but Inkscape, rsvg, mail clients and makers of PDF files know none, and some
    draw everything black.
    """
    fills = {
        "text": "text",
        ".quiet": "quiet",
        ".number": "on-bar",
        ".paper": "paper",
        ".lane": "lane",
        ".bar": "bar",
        ".bar-holiday": "bar-holiday",
        ".proposed-text": "proposed",
        ".holiday-text": "holiday",
        ".exception-text": "exception",
        ".missing": "paper",
        **{f".{name}": name for name in CLASSES.values()},
    }
    strokes = {".paper": "edge", ".line": "line", ".would-wake,.would-sleep": "proposed", ".missing": "quiet"}
    rules = [f"{where}{{fill:{colours[name]}}}" for where, name in fills.items()]
    return "\n".join(rules + [f"{where}{{stroke:{colours[name]}}}" for where, name in strokes.items()])


STYLE = "\n".join(
    [*_SHAPES, _coloured(_LIGHT), f"@media (prefers-color-scheme: dark){{\n{_coloured(_DARK)}\n}}"]
)
