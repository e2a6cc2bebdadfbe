"""Sets of instants: sorted half-open spans that do not touch. All arithmetic with time is this algebra."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import Generic, NamedTuple, TypeVar

Span = tuple[int, int]
Spans = tuple[Span, ...]


def union(*sets: Iterable[Span]) -> Spans:
    """Bring any spans, in any order, overlapping or empty, into one set."""
    merged: list[Span] = []
    for start, end in sorted(span for spans in sets for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return tuple(merged)


def intersect(left: Spans, right: Spans) -> Spans:
    common: list[Span] = []
    i = j = 0
    while i < len(left) and j < len(right):
        start, end = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if start < end:
            common.append((start, end))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(common)


def subtract(left: Spans, right: Spans) -> Spans:
    rest: list[Span] = []
    j = 0
    for start, end in left:
        at = start
        while j < len(right) and right[j][1] <= at:
            j += 1
        k = j
        while k < len(right) and right[k][0] < end:
            if at < right[k][0]:
                rest.append((at, right[k][0]))
            at = right[k][1]
            k += 1
        if at < end:
            rest.append((at, end))
    return tuple(rest)


def clip(spans: Spans, lo: int, hi: int) -> Spans:
    return intersect(spans, ((lo, hi),))


V = TypeVar("V")


class Steps(NamedTuple, Generic[V]):
    """`values[i]` holds from `starts[i]` until `starts[i + 1]`, the last until `end`. Neighbours differ."""

    starts: Sequence[int]
    values: Sequence[V]
    end: int


def paint(lo: int, hi: int, ground: V, layers: Sequence[tuple[Iterable[Span], V]]) -> Steps[V]:
    """Lay one set of spans over the other; where several lie, the last in the list is seen.

    Each set must be in order and without spans that touch.
    """
    edges = sorted(
        [(edge, 1 << index) for index, (spans, _) in enumerate(layers) for span in spans for edge in span]
    )
    seen = [ground, *[value for _, value in layers]]  # by the highest bit that is set
    starts, values, lying = [lo], [ground], 0
    for edge, layer in edges:
        if edge >= hi:
            break
        lying ^= layer
        value = seen[lying.bit_length()]
        if edge <= starts[-1]:
            values[-1] = value
        elif value is not values[-1]:
            starts.append(edge)
            values.append(value)
    return _joined(starts, values, hi)


def overlay(steps: Steps[V], spans: Sequence[Span], change: Callable[[V], V]) -> Steps[V]:
    """Change what holds in the spans, each value on its own."""
    if not spans:
        return steps
    starts, values = list(steps.starts), list(steps.values)
    for span in spans:
        start, end = max(span[0], starts[0]), min(span[1], steps.end)
        if start >= end:
            continue
        i, j = bisect_right(starts, start) - 1, bisect_left(starts, end)
        new_starts, new_values = [start, *starts[i + 1 : j]], [change(value) for value in values[i:j]]
        if starts[i] < start:
            new_starts.insert(0, starts[i])
            new_values.insert(0, values[i])
        if end < steps.end and (j == len(starts) or starts[j] > end):
            new_starts.append(end)
            new_values.append(values[j - 1])
        starts[i:j], values[i:j] = new_starts, new_values
    return _joined(starts, values, steps.end)


def join(parts: Sequence[Steps[V]]) -> Steps[V]:
    """Put steps that follow each other into one."""
    if len(parts) == 1:
        return parts[0]
    starts = [start for part in parts for start in part.starts]
    values = [value for part in parts for value in part.values]
    return _joined(starts, values, parts[-1].end)


def cut(steps: Steps[V], lo: int, hi: int) -> Steps[V]:
    i, j = bisect_right(steps.starts, lo) - 1, bisect_left(steps.starts, hi)
    return Steps([lo, *steps.starts[i + 1 : j]], steps.values[i:j], hi)


def _joined(starts: list[int], values: list[V], end: int) -> Steps[V]:
    if any(map(is_, values, values[1:])):
        keep = [i for i in range(len(values)) if not i or values[i] is not values[i - 1]]
        starts, values = [starts[i] for i in keep], [values[i] for i in keep]
    return Steps(starts, values, end)
