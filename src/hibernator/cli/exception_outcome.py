"""Waits until the operator has processed a decision, so that the approver learns whether it counts.

The API server decides who may write a decision. Only the operator knows whether it counts, because it knows
addresses and roles. The command waits a few seconds for that, and not longer.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.scheduleexception import EXCEPTIONS, HistoryEntry, ScheduleException
from hibernator.cli.cluster import Session
from hibernator.cli.exits import CliError
from hibernator.cli.leader import until
from hibernator.decisions.conditions import find
from hibernator.decisions.scheduleexception_request import seats_of
from hibernator.decisions.scheduleexception_status import READY
from hibernator.kube.client import Client

T = TypeVar("T", bound=Object)

LONGEST_SECONDS: Final = 5.0
_HEARD: Final = frozenset({"approved", "rejected", "refused"})


async def outcome(session: Session, name: str, user: str) -> str:
    """How the exception stands after this user's decision; raises `CliError` where that does not count."""
    view = f"`hibernator exception view {name}{session.options}`"
    answer = f"The operator does not say yet whether that counts: see {view}."

    def is_over(exception: ScheduleException) -> bool:
        nonlocal answer
        if entry := _entry(exception, user):
            answer = _answer(exception, entry, view)
        return entry is not None and not _is_under_way(exception)

    await look_until(is_over, session.client, EXCEPTIONS, name, session.namespace)
    return answer


async def look_until(
    fact: Callable[[T], bool], client: Client, kind: Kind[T], name: str, namespace: str
) -> None:
    """Look again and again until something is so, but not for long."""

    async def is_so() -> bool:
        return fact(await client.get(kind, name, namespace))

    await until(is_so, LONGEST_SECONDS)


def _is_under_way(exception: ScheduleException) -> bool:
    """Whether it only waits to be put on record, which takes a moment as a rule."""
    ready = find(exception.status.conditions, READY)
    return ready is not None and ready.reason == "AwaitingRecord"


def _entry(exception: ScheduleException, user: str) -> HistoryEntry | None:
    """The newest entry of the history about this user's decision, if the operator has processed it."""
    newest_first = reversed(exception.status.history)
    return next((entry for entry in newest_first if entry.actor == user and entry.action in _HEARD), None)


def _answer(exception: ScheduleException, entry: HistoryEntry, view: str) -> str:
    if entry.action != "refused":
        return f"{exception.status.state}: {exception.status.message}"
    reason, _, message = entry.reason.partition(": ")
    roles = sorted({seat.name for seat in seats_of(exception) if seat.kind == "role"})
    hint = f"See {view}."
    if reason == "NotAsked" and roles:
        hint = f"Ask an administrator for the role {' or '.join(roles)}: the operator's ConfigMap has them."
    raise CliError(f"Your decision was recorded, but not counted. {message}", hint=hint)
