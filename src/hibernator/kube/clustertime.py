"""What time it is in a cluster: now, or by the clock of a demo, which a file beside its kubeconfig describes.

So what a command reads as now belongs to the cluster that it talks to. Elsewhere, and once the demo is over,
no such file is there, and now is now.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from whenever import Instant, TimeDelta

_NAME: Final = "demo-clock.json"


class Pace(msgspec.Struct, frozen=True):
    """A time that read `start` when the real one read `began`, and goes `speed` times as fast."""

    start: str
    began: str
    speed: float

    def at(self, real: Instant) -> Instant:
        passed = (real - Instant.parse_iso(self.began)).total("seconds")
        return Instant.parse_iso(self.start) + TimeDelta(seconds=passed * self.speed)


def publish(kubeconfig: Path, start: Instant, speed: float) -> None:
    """Let commands know that the time of this cluster reads `start` now."""
    pace = Pace(start.format_iso(), Instant.now().format_iso(), speed)
    kubeconfig.with_name(_NAME).write_bytes(msgspec.json.encode(pace))


def clock_of(kubeconfig: str | None) -> Callable[[], Instant]:
    """The clock in the cluster of this kubeconfig."""
    return lambda: now(kubeconfig)


def now(kubeconfig: str | None) -> Instant:
    """The time in the cluster of this kubeconfig, or of the one that the environment names, to the second."""
    real = Instant.now()
    near = Path(kubeconfig or os.environ.get("KUBECONFIG") or "none")
    with suppress(OSError, ValueError):  # the usual case: this is no demo
        real = msgspec.json.decode(near.with_name(_NAME).read_bytes(), type=Pace).at(real)
    return real.round("second", mode="floor")
