"""What the page says after a decision: whether it counted, and what happens next. Pure."""

from dataclasses import dataclass
from typing import Final, Literal

from whenever import Instant

from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import HistoryEntry, ScheduleException
from hibernator.decisions.person import in_place_of
from hibernator.messages.facts import Facts

Tone = Literal["yes", "no", "plain"]


@dataclass(frozen=True, slots=True)
class Note:
    """One message at the top of the page."""

    tone: Tone
    title: str
    words: str = ""


def of_exception(exception: ScheduleException, facts: Facts, user: str, now: Instant) -> Note | None:
    """What became of it, and of what this person decided; None while there is nothing to say."""
    mine = _mine(exception, user)
    if facts.state in _ENDS:
        return _ended(facts, mine, now)
    if mine and mine.action == "refused":
        return Note("no", "Your decision was not counted", _why(mine.reason))
    if mine:
        return Note("yes", "Your approval counts", _still(facts))
    if _said(exception, user):
        return Note(
            "plain", "Your decision is recorded", "The operator has not counted it yet. Look again soon."
        )
    return None


def of_remediation(request: RemediationApprovalRequest, user: str) -> Note | None:
    status = request.status
    if status.decision:
        tone: Tone = {"Approved": "yes", "Rejected": "no"}.get(status.decision, "plain")  # type: ignore[assignment]
        title, words = _REMEDIATION[status.decision]
        by = (
            f" by {in_place_of(status.decided_by, status.decided_for)}"
            if status.decided_by and status.decision != "Expired"
            else ""
        )
        return Note(tone, f"{title}{by}", words)
    if refused := next((one for one in reversed(status.refused) if one.by == user), None):
        return Note("no", "Your decision was not counted", refused.message)
    if any(yes.approved_by == user for yes in status.approvals):
        return Note("yes", "Your approval counts", status.message)
    if status.decided_by:
        return Note(
            "plain", "A decision is recorded", "The operator has not counted it yet. Look again soon."
        )
    return None


def is_heard(case: ScheduleException | RemediationApprovalRequest, user: str) -> bool:
    """Whether the operator has answered what this person decided."""
    if isinstance(case, RemediationApprovalRequest):
        counted = any(yes.approved_by == user for yes in case.status.approvals)
        return bool(case.status.decision) or counted or any(one.by == user for one in case.status.refused)
    status, mine = case.status, _mine(case, user)
    if status.approval_state != "Approved":
        return mine is not None
    # Between the last approval and being active it is written to the trail, which takes a moment.
    waits = any(one.reason == "AnotherActive" for one in status.conditions)
    return waits or status.state not in {"Pending", "Approved"}


def _mine(exception: ScheduleException, user: str) -> HistoryEntry | None:
    acts = {"approved", "rejected", "refused"}
    decided = [entry for entry in exception.status.history if entry.actor == user and entry.action in acts]
    return decided[-1] if decided else None


def _said(exception: ScheduleException, user: str) -> bool:
    status = exception.status
    users = {*(yes.approved_by for yes in status.approvals), *(no.rejected_by for no in status.rejections)}
    return user in users


def _ended(facts: Facts, mine: HistoryEntry | None, now: Instant) -> Note:
    tone, title, words = _ENDS[facts.state]
    if facts.state == "Active" and facts.starts and facts.starts > now:
        words = "The schedule changes as shown, from the start of the request on."
    if facts.state in {"Approved", "Rejected"}:
        words = f"{facts.message} {words}".strip()
    if mine and mine.action == "refused":
        words = f"{words} Your decision was not counted: {_why(mine.reason)}"
    return Note(tone, title, words)


def _still(facts: Facts) -> str:
    waiting = [voice.who for voice in facts.voices if voice.word == "pending"]
    asked = f" Still asked: {', '.join(waiting)}." if waiting else ""
    return f"{facts.progress}.{asked}" if facts.progress else asked.strip()


def _why(reason: str) -> str:
    """The sentence behind the word, as the operator noted it."""
    return reason.partition(": ")[2] or reason


_ENDS: Final[dict[str, tuple[Tone, str, str]]] = {
    "Approved": ("yes", "Approved", ""),
    "Active": ("yes", "Approved and active", "The schedule is changed as shown."),
    "Rejected": ("no", "Rejected", "The schedule stays as it is."),
    "Cancelled": ("plain", "Cancelled", "The requester cancelled it. The schedule stays as it is."),
    "Expired": ("plain", "Expired", "It is over. There is nothing left to decide."),
}
_REMEDIATION: Final = {
    "Approved": ("Approved", "The remediation may run now."),
    "Rejected": ("Rejected", "The remediation does not run."),
    "Expired": ("Expired", "No decision came in time. The remediation does not run."),
}
