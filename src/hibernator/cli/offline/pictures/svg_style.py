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


def _variables(colours: dict[str, str]) -> str:
    return "svg{" + "".join(f"--{name}:{colour};" for name, colour in colours.items()) + "}"


def _fill(name: str) -> str:
    return _both("fill", name)


def _stroke(name: str) -> str:
    return _both("stroke", name)


def _both(what: str, name: str) -> str:
    """A colour for readers that know no variables (Inkscape, rsvg, mail, PDF), then for those that do."""
    return f"{what}:{_LIGHT[name]};{what}:var(--{name})"


STYLE = "\n".join(
    [
        _variables(_LIGHT),
        "@media (prefers-color-scheme: dark){" + _variables(_DARK) + "}",
        f"text{{font-family:{_FONT};font-size:12px;{_fill('text')}}}",
        ".title{font-size:15px;font-weight:600}",
        f".quiet{{{_fill('quiet')}}}",
        ".small{font-size:11px}",
        f".number{{font-size:11px;font-weight:600;{_fill('on-bar')}}}",
        f".paper{{{_fill('paper')};{_stroke('edge')}}}",
        f".lane{{{_fill('lane')}}}",
        f".line{{{_stroke('line')};stroke-opacity:.14}}",
        f".bar{{{_fill('bar')}}}",
        f".bar-holiday{{{_fill('bar-holiday')}}}",
        ".would-wake{fill:url(#wake)}",
        ".would-sleep{fill:url(#sleep)}",
        f".would-wake,.would-sleep{{{_stroke('proposed')};stroke-width:1.5}}",
        f".proposed-text{{{_fill('proposed')}}}",
        f".holiday-text{{{_fill('holiday')}}}",
        f".exception-text{{{_fill('exception')}}}",
        f".missing{{{_fill('paper')};{_stroke('quiet')};stroke-dasharray:2 2}}",
        *(f".{name}{{{_fill(name)}}}" for name in CLASSES.values()),
    ]
)
