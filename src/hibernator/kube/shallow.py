"""JSON that is nested too deeply to be decoded, cut down to what can be.

API servers store ten thousand levels, where a kind lets people write anything. Decoders give up after a
thousand, also where they only skip. So one such object would hide every other of its page, and end the watch
of its kind. What is cut away is never taken for the object: the decoder looks for `TOO_DEEP` first.
"""

import re
from typing import Final

TOO_DEEP: Final = b'"hibernator: nested too deeply"'
_LEVELS: Final = 200  # far more than any object has that means something
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"


def shallow(body: bytes) -> bytes:
    """The same with `TOO_DEEP` in place of each value below the deepest level; without recursion."""
    kept: list[bytes] = []
    depth = start = 0
    for token in _TOKEN.finditer(body):
        first = body[token.start()]
        if first in _OPENING:
            depth += 1
            if depth == _LEVELS + 1:
                kept += (body[start : token.start()], TOO_DEEP)
        elif first in _CLOSING:
            if depth == _LEVELS + 1:
                start = token.end()
            depth -= 1
    kept.append(body[start:])
    return b"".join(kept)
