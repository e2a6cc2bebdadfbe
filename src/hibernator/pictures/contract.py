"""Timelines for programs. The shape is a contract, written down in docs/reference/timeline-json.md."""

import json
from collections.abc import Sequence
from typing import Any

from whenever import Instant

from hibernator.pictures.strips import Strip
from hibernator.schedule.timeline import Interval


def render(strips: Sequence[Strip]) -> str:
    return (
        json.dumps({"timelines": [_timeline(strip) for strip in strips]}, indent=2, ensure_ascii=False) + "\n"
    )


def _timeline(strip: Strip) -> dict[str, Any]:
    resource = strip.resource
    return {
        "kind": resource.kind,
        "namespace": resource.namespace,
        "name": resource.name,
        "timezone": resource.zone.name,
        "intervals": [_interval(each) for each in strip.intervals],
    }


def _interval(interval: Interval[Any]) -> dict[str, Any]:
    return {
        "from": instant(interval.start),
        "to": instant(interval.end),
        **value(interval.value),
        "window": interval.window or None,
        "reason": str(interval.reason),
        "message": interval.message,
    }


def value(held: Any) -> dict[str, Any]:
    """What holds, under the name that fits: a number of replicas or a state."""
    return {"replicas": held} if isinstance(held, int) else {"state": str(held)}


def instant(moment: Instant) -> str:
    return moment.format_iso()
