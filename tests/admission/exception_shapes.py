"""Exceptions that the CRD refuses, by the rule that they break, with a word of what people are told."""

from typing import Any

PLAIN: dict[str, Any] = {"approvalRequired": False, "approverEmails": []}
SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "4": ({"validUntil": "2026-03-01T00:00:00Z"}, "validUntil must not be before validFrom"),
    "5": ({"validUntil": "2026-07-01T00:00:00Z"}, "An exception lasts at most 90 days"),
    "6": ({"type": "bend"}, 'supported values: "extend", "suspend", "replace"'),
    "7": ({"type": "suspend", "leadTime": "soon"}, "spec.leadTime"),
    "8 times": (
        {"windows": [{"start": "25:00", "end": "06:00", "daysOfWeek": ["MON"]}]},
        "spec.windows[0].start",
    ),
    "8 days": ({"windows": [{"start": "20:00", "end": "06:00", "daysOfWeek": ["Someday"]}]}, "daysOfWeek"),
    "8 some": ({"windows": []}, "spec.windows"),
}
