"""Looking into documents that may be wrong in any way.

What is not there, or is not of the right type, is empty; telling so is the structural check's business.
"""

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]


def block(document: Any, *path: str) -> Document:
    """Find a block of fields; an empty one where there is none."""
    found = _find(document, path)
    return found if isinstance(found, dict) else {}


def entries(document: Any, *path: str) -> Iterator[tuple[int, Document]]:
    """Find the blocks of a list, with their places in it."""
    found = _find(document, path)
    for index, entry in enumerate(found if isinstance(found, list) else ()):
        if isinstance(entry, dict):
            yield index, entry


def texts(document: Any, *path: str) -> list[str]:
    """Find the texts of a list."""
    found = _find(document, path)
    return [entry for entry in found if isinstance(entry, str)] if isinstance(found, list) else []


def text(document: Any, *path: str) -> str:
    """Find a text; an empty one where there is none."""
    found = _find(document, path)
    return found if isinstance(found, str) else ""


def _find(document: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document
