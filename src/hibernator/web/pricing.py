"""What an hour costs, as the settings say it."""

from pathlib import Path

from hibernator.audit.pricefile import read_price_file
from hibernator.decisions.prices import Prices
from hibernator.settings import SettingsError


def prices_of(file: str) -> Prices:
    """The prices of a file; without one, list prices."""
    if not file:
        return Prices()
    try:
        found, problems = read_price_file(Path(file))
    except ValueError as error:
        raise SettingsError(f"pricesFile is {file!r}, which cannot be read: {error}.") from error
    for one in problems:
        what = ": ".join(filter(None, (one.path, one.message)))
        raise SettingsError(f"pricesFile is {file!r}: {what}. {one.fix}")
    return found
