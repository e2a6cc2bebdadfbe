"""The holidays in ConfigMaps among the files, read once for all who name them, and within the same bounds."""

from functools import lru_cache

from hibernator.cli.offline.loading.documents import Document
from hibernator.schedule.daysoff import DaysOff


def days_off(config_map: Document, years: range) -> DaysOff:
    return _read(tuple(sorted(text_data(config_map).items())), years.start, years.stop)


def text_data(config_map: Document) -> dict[str, str]:
    """The entries of a ConfigMap that are text."""
    data = config_map.part("data")
    return (
        {str(key): value for key, value in data.items() if isinstance(value, str)}
        if isinstance(data, dict)
        else {}
    )


@lru_cache(maxsize=256)
def _read(entries: tuple[tuple[str, str], ...], first: int, end: int) -> DaysOff:
    from hibernator.controllers.daysoff_reading import read_now  # only where there are holidays to read

    return read_now(dict(entries), range(first, end))
