"""Terminals that cannot show every character: they get the nearest that they can, and never a crash."""

import codecs
import io
import os
from typing import Final, TextIO

_HANDLER: Final = "hibernator-plain"
# As wide as what they stand for, so that what fits a terminal still does.
_NEAREST: Final = {
    "…": "~",
    "→": ">",
    "·": ".",
    "✓": "+",
    "✗": "x",
    "●": "*",
    "○": "o",
    "★": "*",
    "◆": "+",
    "▼": "v",
    "█": "#",
}
_EVERYTHING_IS_ASCII: Final = frozenset({"C", "POSIX"})


def _nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_NEAREST.get(character, "?") for character in missing), error.end


codecs.register_error(_HANDLER, _nearest)


def forgive(stream: TextIO) -> None:
    """Let a stream show what it can.

    Python writes UTF-8 where the locale is C, which is right for files and pipes. On a terminal whose
    locale is set to C, it would print wrong characters.
    """
    if isinstance(stream, io.TextIOWrapper):
        locale = os.environ.get("LC_ALL") or os.environ.get("LANG")
        is_ascii = stream.isatty() and locale in _EVERYTHING_IS_ASCII
        stream.reconfigure(encoding="ascii" if is_ascii else None, errors=_HANDLER)
