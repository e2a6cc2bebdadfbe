"""What became of a scaler between two statuses, for its journal and from there for the audit trail."""

from collections.abc import Collection, Iterator

import msgspec
from whenever import Instant

from hibernator.api.timewindowscaler import TimeWindowScaler, TimeWindowScalerStatus
from hibernator.decisions.journal import News, by_author, degraded_news, noted, spec_news
from hibernator.decisions.scaler_mark import Mark, as_data

DEGRADED = "Degraded"


def journaled(
    scaler: TimeWindowScaler,
    status: TimeWindowScalerStatus,
    recorded: Collection[int],
    now: Instant,
    *more: News,
) -> TimeWindowScalerStatus:
    """The new status with all that it tells of; `more` is what cannot be seen from the two statuses."""
    before = scaler.status
    news = (
        *spec_news(before.observed_generation, scaler.metadata),
        *_pause(scaler, status),
        *more,
        *_grace(before, status),
        *degraded_news(before.conditions, status.conditions, DEGRADED),
    )
    return msgspec.structs.replace(status, journal=noted(before.journal, news, recorded, now))


def told_of(
    scaler: TimeWindowScaler, mark: Mark, recorded: Collection[int], now: Instant
) -> TimeWindowScalerStatus:
    """The old status with a scaling that it had not told of, before the next one takes the mark's place."""
    return msgspec.structs.replace(
        scaler.status,
        effective_replicas=mark.wanted,
        current_window=mark.window,
        last_scale_time=mark.at,
        scalings=mark.number,
        journal=noted(scaler.status.journal, [scaling(mark)], recorded, now),
    )


def scaling(mark: Mark) -> News:
    return News("drift.corrected" if mark.drift else "scaled", data=as_data(mark), at=Instant(mark.at))


def _pause(scaler: TimeWindowScaler, after: TimeWindowScalerStatus) -> Iterator[News]:
    before = scaler.status
    if bool(after.paused) != bool(before.paused):
        by = by_author(before.observed_generation, scaler.metadata)
        yield News("paused" if after.paused else "resumed", data=by)


def _grace(before: TimeWindowScalerStatus, after: TimeWindowScalerStatus) -> Iterator[News]:
    if after.grace_period_expiry and not before.grace_period_expiry:
        until = Instant(after.grace_period_expiry).format_iso(unit="second")
        yield News("grace.started", data={"replicas": after.effective_replicas or 0, "until": until})
    elif before.grace_period_expiry and not after.grace_period_expiry:
        yield News("grace.ended", data={"replicas": after.effective_replicas or 0})
