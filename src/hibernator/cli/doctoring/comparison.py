"""The first place at which what is installed is not what this version would install."""

from typing import Any, Final

_LEFT_OUT: Final[tuple[Any, ...]] = (None, "", [], {})  # by the API server, which writes nothing empty


def difference(ours: Any, theirs: Any, path: str, *, more: bool = False) -> str:
    """Empty when there is none. With `more`, they may have fields that we do not, such as defaults."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key not in theirs:
                if value in _LEFT_OUT:
                    continue
                return f"{path}.{key}"
            if found := difference(value, theirs[key], f"{path}.{key}", more=more):
                return found
        return "" if more else next((f"{path}.{key}" for key in theirs if key not in ours), "")
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        places = (
            difference(one, other, f"{path}[{index}]", more=more)
            for index, (one, other) in enumerate(zip(ours, theirs, strict=True))
        )
        return next(filter(None, places), "")
    return "" if ours == theirs else path
