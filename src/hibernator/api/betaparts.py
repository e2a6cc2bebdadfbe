"""What v1beta1 of a TimeWindowScaler says and v1alpha1 cannot, in the form in which it is put aside.

Each window is remembered as v1alpha1 shows it. So an edit through v1alpha1 keeps what that version does not
show: a window is the same one when at least two of its days, start, end and replicas are as they were,
the most alike first, then in their order. Its zone stays; its share or measured number stays until someone
writes another number of replicas.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.meta import Model

_ALIKE: Final = 2  # of days, start, end and replicas

_Share = Annotated[str, msgspec.Meta(pattern=v1beta1.PERCENTAGE)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=v1beta1.MOST_REPLICAS)]
_Zone = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class _Strict(Model, forbid_unknown_fields=True):
    """A part of the annotation. Anyone can write to it, so it is held to all that the CRD says."""


class _Prometheus(_Strict):
    server_address: Annotated[str, msgspec.Meta(pattern=v1beta1.ADDRESS, max_length=v1beta1.LONGEST_ADDRESS)]
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=v1beta1.LONGEST_QUERY)]


class _External(_Strict):
    prometheus: _Prometheus
    min: _Count
    max: _Count

    def __post_init__(self) -> None:
        if self.min > self.max:
            raise ValueError("min is greater than max")


class _Shown(_Strict, array_like=True):
    """A window as v1alpha1 shows it."""

    days: tuple[str, ...]
    start: str
    end: str
    replicas: int

    def likeness(self, other: "_Shown") -> int:
        return (
            (set(self.days) == set(other.days))
            + (self.start == other.start)
            + (self.end == other.end)
            + (self.replicas == other.replicas)
            + (self == other)  # before one that only lists its days in another order
        )


class _Window(_Strict):
    was: _Shown
    timezone: _Zone | None = None
    replicas: _Share | None = None
    external: _External | None = None

    def __post_init__(self) -> None:
        if self.replicas is not None and self.external is not None:
            raise ValueError("a window has both replicas and external")

    @property
    def is_plain(self) -> bool:
        return self.timezone is None and self.replicas is None and self.external is None


class _Default(_Strict):
    was: int
    replicas: _Share


class BetaParts(_Strict):
    """All of them: every window if any is special, so that they hold each other's places."""

    default_replicas: _Default | None = None
    windows: tuple[_Window, ...] = ()


NOTHING: Final = BetaParts()


class _BetaWindow(Model):
    """A window of v1beta1, held to what its schema says."""

    days: tuple[str, ...]
    start: str
    end: str
    timezone: _Zone | None = None
    replicas: _Count | _Share | None = None
    external: _External | None = None

    def __post_init__(self) -> None:
        if (self.replicas is None) == (self.external is None):
            raise ValueError("a window has exactly one of replicas and external")

    def parts(self) -> _Window:
        number = self.external.max if self.external else v1beta1.share(self.replicas or 0, 1)
        return _Window(
            was=_Shown(days=self.days, start=self.start, end=self.end, replicas=number),
            timezone=self.timezone,
            replicas=self.replicas if isinstance(self.replicas, str) else None,
            external=self.external,
        )


def projected(spec: Any) -> tuple[Any, BetaParts]:
    """The nearest v1alpha1 of a v1beta1 spec, and what it leaves out.

    A spec that the schema would refuse comes through as it is: while the API server works out who owns which
    field it converts what it has not validated yet, and its refusal is worded better than ours could be.
    """
    try:
        windows = tuple(window.parts() for window in msgspec.convert(spec["windows"], list[_BetaWindow]))
        replicas = msgspec.convert(spec.get("defaultReplicas", 0), _Count | _Share)
    except (msgspec.ValidationError, KeyError, TypeError):
        return spec, NOTHING
    shown = dict(spec)
    default = None
    if isinstance(replicas, str):
        default = _Default(was=v1beta1.share(replicas, 1), replicas=replicas)
        shown["defaultReplicas"] = default.was
    if all(window.is_plain for window in windows):
        return shown, BetaParts(default_replicas=default)
    shown["windows"] = [_plain(*pair) for pair in zip(spec["windows"], windows, strict=True)]
    return shown, BetaParts(default_replicas=default, windows=windows)


def merged(spec: Any, parts: BetaParts) -> Any:
    """The v1beta1 of a v1alpha1 spec and of what was put aside when that was made."""
    if not isinstance(spec, Mapping):
        return spec
    full = dict(spec)
    default = parts.default_replicas
    if default and spec.get("defaultReplicas", 0) == default.was:
        full["defaultReplicas"] = default.replicas
    windows = spec.get("windows")
    if parts.windows and isinstance(windows, list | tuple):
        full["windows"] = [_full(*pair) for pair in zip(windows, _found(windows, parts.windows), strict=True)]
    return full


def _plain(window: Mapping[str, Any], parts: _Window) -> Mapping[str, Any]:
    common = {key: value for key, value in window.items() if key not in {"timezone", "external"}}
    return {**common, "replicas": parts.was.replicas}


def _full(window: Any, parts: _Window | None) -> Any:
    if parts is None:
        return window
    full = dict(window)
    if parts.timezone is not None:
        full["timezone"] = parts.timezone
    if window["replicas"] == parts.was.replicas:
        if parts.replicas is not None:
            full["replicas"] = parts.replicas
        elif parts.external is not None:
            del full["replicas"]
            full["external"] = msgspec.to_builtins(parts.external)
    return full


def _found(windows: Sequence[Any], parts: Sequence[_Window]) -> list[_Window | None]:
    """For each window, what was put aside of it."""
    likenesses = [
        (-alike, i, j)
        for i, window in enumerate(windows)
        if (shown := _shown(window))
        for j, part in enumerate(parts)
        if (alike := shown.likeness(part.was)) >= _ALIKE
    ]
    found: list[_Window | None] = [None] * len(windows)
    taken: set[int] = set()
    for _, i, j in sorted(likenesses):
        if found[i] is None and j not in taken:
            found[i] = parts[j]
            taken.add(j)
    return found


def _shown(window: Any) -> _Shown | None:
    try:
        return msgspec.convert([window[name] for name in ("days", "start", "end", "replicas")], _Shown)
    except (msgspec.ValidationError, KeyError, TypeError):
        return None
