"""Reads dates and calendars that users wrote, alone in its process (`kube.child`)."""

from collections.abc import Mapping
from typing import Any

import icalendar  # noqa: F401 — before the limits, so that it counts for no question
import recurring_ical_events  # noqa: F401 — likewise

from hibernator.kube.child_worker import run
from hibernator.schedule.holidays import read_dates


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    try:
        dates, problems = read_dates(question["data"], range(*question["years"]))
    except MemoryError:
        return {"error": "memory"}
    return {"dates": [(str(day), name) for day, name in dates.items()], "problems": problems}


if __name__ == "__main__":
    run(answer)
