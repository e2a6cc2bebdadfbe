"""docs/reference/audit-events.md: every type of event, from the one table of them."""

from itertools import groupby

from hibernator.audit.types import EVENT_TYPES, EventType

INTRODUCTION = """\
<!-- Made from src/hibernator/audit/types.py by `make generate`; do not edit. -->

# Audit events

What can be in the audit trail. The part before the first dot is what it happened to, the rest is the
`action`. How to read the trail is in [the guide](../guides/audit.md).
"""


HEAD = """\
| type | category | severity | outcome | when |
|---|---|---|---|---|
"""


def text() -> str:
    parts = [INTRODUCTION]
    for subject, found in groupby(sorted(EVENT_TYPES.values(), key=_subject), key=_subject):
        parts.append(f"## {subject}\n\n{HEAD}" + "".join(map(_row, found)))
    return "\n".join(parts)


def _subject(found: EventType) -> str:
    return found.name.partition(".")[0]


def _row(found: EventType) -> str:
    cells = (f"`{found.name}`", found.category, found.severity, found.outcome, found.description)
    return f"| {' | '.join(cells)} |\n"
