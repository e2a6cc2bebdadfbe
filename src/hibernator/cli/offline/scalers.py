"""TimeWindowScalers of either version, without the cluster that some of their numbers come from.

A share is of what the target ran before it was first scaled, and a measured number needs Prometheus. Where
the files do not tell, the nearest that they do tell is shown, with a note.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.conversion import ConversionError, converted
from hibernator.cli.offline.loading.documents import Document, without_nulls
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.scaler import ScalerTimeline
from hibernator.schedule.scaler_words import ScaledWindow, label
from hibernator.schedule.windows import scaler_window
from hibernator.schedule.zones import zone_of


def as_v1beta1(document: Document) -> Any:
    """The spec with all that it says, whichever version it is written in."""
    try:
        return converted(document.value, v1beta1.SCALERS.api_version).get("spec")
    except ConversionError:
        return document.part("spec")


def decoded(document: Document) -> v1beta1.TimeWindowScalerSpec:
    return msgspec.convert(without_nulls(as_v1beta1(document)), v1beta1.TimeWindowScalerSpec)


def timeline(spec: v1beta1.TimeWindowScalerSpec, holidays: Holidays, baseline: int) -> ScalerTimeline:
    windows = [
        ScaledWindow(
            scaler_window(window, zone_of(window.timezone or spec.timezone)),
            window.external.max if window.external else v1beta1.share(window.replicas or 0, baseline),
            label(window),
        )
        for window in spec.windows
    ]
    return ScalerTimeline(
        zone_of(spec.timezone),
        windows,
        v1beta1.share(spec.default_replicas, baseline),
        mode=spec.holidays.mode if spec.holidays else "ignore",
        holidays=holidays,
        grace_seconds=spec.grace_period_seconds,
    )


def baseline(
    document: Document, spec: v1beta1.TimeWindowScalerSpec, others: Sequence[Document]
) -> int | None:
    """What shares are of: as the status says, or as the target among the files does."""
    known = document.part("status", "baselineReplicas")
    if isinstance(known, int):
        return known
    target = spec.target_ref
    for other in others:
        if (other.kind, other.namespace, other.name) == (target.kind, document.namespace, target.name):
            replicas = other.part("spec", "replicas")
            return replicas if isinstance(replicas, int) else 1
    return None


def has_shares(spec: v1beta1.TimeWindowScalerSpec) -> bool:
    return any(isinstance(each, str) for each in (spec.default_replicas, *(w.replicas for w in spec.windows)))


def is_measured(spec: v1beta1.TimeWindowScalerSpec) -> bool:
    return any(window.external for window in spec.windows)
