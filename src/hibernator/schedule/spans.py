"""Sets of instants: sorted half-open spans that do not touch. All arithmetic with time is this algebra."""

from collections.abc import Iterable

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
