"""The holidays that were read from ConfigMaps, for every controller that needs them.

Who reconciles a schedule takes the dates that are here and waits for nobody. `daysoff_reader` brings them.
"""

from collections.abc import Callable

from hibernator.api.hibernateplan import PlanHolidays
from hibernator.api.timewindowscaler import ScalerHolidays
from hibernator.kube.controller import Key
from hibernator.schedule.calendars import Listed
from hibernator.schedule.daysoff import DaysOff

MISSING = DaysOff(Listed({}), version="missing", exists=False)


class DaysOffBook:
    def __init__(self) -> None:
        self._known: dict[Key, DaysOff] = {}
        self._handlers: list[Callable[[Key], None]] = []

    def on_change(self, handler: Callable[[Key], None]) -> None:
        """Call back with the ConfigMap of which something new is known."""
        self._handlers.append(handler)

    def get(self, namespace: str, name: str) -> DaysOff | None:
        """What is known of a ConfigMap; None as long as it was not read."""
        return self._known.get(Key(namespace, name))

    def put(self, key: Key, days_off: DaysOff) -> None:
        self._known[key] = days_off
        for handler in self._handlers:
            handler(key)

    def drop(self, key: Key) -> None:
        self._known.pop(key, None)

    def awaits(self, namespace: str, block: PlanHolidays | ScalerHolidays | None) -> bool:
        """Whether a schedule cannot be laid out yet: a day that may be a holiday is not taken for none."""
        return bool(block and block.source_ref and self.get(namespace, block.source_ref.name) is None)
