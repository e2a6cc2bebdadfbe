"""ConfigMaps as far as they can hold holidays: a cache of all ConfigMaps must not hold all their data."""

import re
from typing import Final

import msgspec

from hibernator.api.core import ConfigMap
from hibernator.api.kind import Kind

_A_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_OTHER: Final = 8  # so many keys that mean nothing here are kept, to be able to say so


class HolidayMap(ConfigMap):
    """A ConfigMap without the values that no holiday needs; keys stay, so that a mistake can be told."""

    def __post_init__(self) -> None:
        others = [key for key in self.data if not (_A_DATE.fullmatch(key) or key.endswith(".ics"))]
        if others:
            kept = {key: value for key, value in self.data.items() if key not in others}
            msgspec.structs.force_setattr(self, "data", kept | dict.fromkeys(others[:_OTHER], ""))


HOLIDAY_MAPS = Kind(HolidayMap, "", "v1", "ConfigMap", "configmaps")
