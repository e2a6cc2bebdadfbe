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
    "line": "#1f232822",
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
    "line": "#f0f6fc26",
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


STYLE = "\n".join(
    [
        _variables(_LIGHT),
        "@media (prefers-color-scheme: dark){" + _variables(_DARK) + "}",
        f"text{{font-family:{_FONT};font-size:12px;fill:var(--text)}}",
        ".title{font-size:15px;font-weight:600}",
        ".quiet{fill:var(--quiet)}",
        ".small{font-size:11px}",
        ".number{font-size:11px;font-weight:600;fill:var(--on-bar)}",
        ".paper{fill:var(--paper);stroke:var(--edge)}",
        ".lane{fill:var(--lane)}",
        ".line{stroke:var(--line)}",
        ".bar{fill:var(--bar)}",
        ".bar-holiday{fill:var(--bar-holiday)}",
        ".would-wake{fill:url(#wake)}",
        ".would-sleep{fill:url(#sleep)}",
        ".would-wake,.would-sleep{stroke:var(--proposed);stroke-width:1.5}",
        ".proposed-text{fill:var(--proposed)}",
        ".holiday-text{fill:var(--holiday)}",
        ".exception-text{fill:var(--exception)}",
        ".missing{fill:var(--paper);stroke:var(--quiet);stroke-dasharray:2 2}",
        *(f".{name}{{fill:var(--{name})}}" for name in CLASSES.values()),
    ]
)
