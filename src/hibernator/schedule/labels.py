"""What `status.currentWindow` calls the window in force (ruling 19)."""

import hashlib

import msgspec

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.timewindowscaler import ScalerWindow
from hibernator.schedule.ticks import HOUR
from hibernator.schedule.windows import scaler_window
from hibernator.schedule.words import DAYS
from hibernator.schedule.zones import zone_of

OFF_HOURS = "OffHours"
BUSINESS_HOURS = "BusinessHours"

_FRIDAY = 4
_EARLIEST, _LATEST = 5 * HOUR, 22 * HOUR


def label(window: ScalerWindow | v1beta1.ScalerWindow) -> str:
    read = scaler_window(window, zone_of("UTC"))
    if read.days[-1] <= _FRIDAY and read.start >= _EARLIEST and read.end <= _LATEST:
        return BUSINESS_HOURS
    return _custom(msgspec.to_builtins(window) | {"days": [DAYS[day] for day in read.days]})


def all_day_label(replicas: int) -> str:
    """The window that stands in for all others on a holiday that is treated as open."""
    return _custom({"days": DAYS, "start": "00:00", "end": "24:00", "replicas": replicas})


def _custom(fields: object) -> str:
    """The same days, times and replicas always give the same label, however they are ordered."""
    return f"Custom-{hashlib.sha256(msgspec.json.encode(fields, order='sorted')).hexdigest()[:8]}"
