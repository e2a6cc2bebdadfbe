"""What a request says, in words: the page, a mail and a message in a chat show the same facts.

    facts = facts_of_exception(exception, plan, others)
    facts.title    # Keep team-a/dev-plan awake
    facts.ask      # alice asks to keep the plan dev-plan awake from … until …

Pure. Everything in it may hold what people wrote: what shows it escapes it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.scheduleexception import EXCEPTIONS, HistoryEntry, RequiredApproval, ScheduleException
from hibernator.api.windows import OffHourWindow
from hibernator.approvals import decision, remediation
from hibernator.decisions.impact import Change, beside
from hibernator.decisions.person import in_place_of, mailbox
from hibernator.decisions.scheduleexception_request import VERIFIED_EMAIL, requester, requester_claims
from hibernator.pictures.comparison import Comparison, compare
from hibernator.pictures.strips import hours
from hibernator.schedule.holidays import load_holidays
from hibernator.schedule.problems import check_exception, check_schedule
from hibernator.schedule.timeline import State

UTC: Final = "UTC"
_LOCAL: Final = "%a %-d %b %Y, %H:%M"
_UNKNOWN: Final = "an unknown user"

Word = Literal["pending", "approved", "rejected"]


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class ApproverLine:
    """One person or role that is asked, and what was said for it."""

    who: str
    word: Word
    by: str = ""  # the one who said it
    at: Instant | None = None
    reason: str = ""
    policy: str = ""  # the ExceptionPolicy that asks for it, where the request itself does not

    @property
    def asked(self) -> str:
        """Who is asked, and by which policy."""
        return f"{self.who} (by ExceptionPolicy {self.policy})" if self.policy else self.who


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    kind: str
    namespace: str
    name: str
    uid: str
    spec_hash: str
    title: str  # what it does, in a few words; a mail's subject too
    ask: str  # who asks for what, in one sentence
    reason: str
    rows: tuple[Row, ...]
    zone: str  # of the plan
    type: str = ""  # of an exception
    requester: str = ""  # who asks: their name, and their address where it is another
    starts: Instant | None = None
    ends: Instant | None = None
    channels: tuple[str, ...] = ()  # through which an approval counts, as policies say; all when empty
    deadline: Instant | None
    state: str  # Pending, Active, Rejected and so on
    message: str  # what goes on, as the operator words it
    voices: tuple[ApproverLine, ...]
    progress: str = ""  # 1 of 2 approvals
    comparison: Comparison | None = None  # None for remediations, and where the plan is gone or invalid
    hours: tuple[float, float] | None = None  # asleep in the days shown, before and after
    changes: tuple[Change, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.state == "Pending"

    def without_plan(self) -> "Facts":
        """The same without what follows from the plan as it is now."""
        return replace(self, zone=UTC, comparison=None, hours=None, changes=())

    @property
    def hours_words(self) -> str:
        """How long it sleeps, before and after."""
        return f"{self.hours[0]:g} h → {self.hours[1]:g} h in this period" if self.hours else ""

    @property
    def without_decision(self) -> str:
        """What happens without an answer until the deadline."""
        what = "nothing changes" if self.kind == EXCEPTIONS.kind else "it does not run"
        return f"Without approval by then, {what}."

    def change_words(self, most: int = 5) -> tuple[str, ...]:
        """What changes when, on the plan's clock."""
        shown = tuple(_change(change, self.zone) for change in self.changes[:most])
        more = len(self.changes) - most
        return (*shown, f"and {more} more") if more > 0 else shown


def facts_of_exception(
    exception: ScheduleException, plan: HibernatePlan | None, others: Iterable[ScheduleException] = ()
) -> Facts:
    """`others` are the exceptions of the same namespace, of which those in force are drawn, too."""
    spec, status, metadata = exception.spec, exception.status, exception.metadata
    matter = decision.matter_of(exception)
    comparison = _comparison(exception, plan, others)
    zone = comparison.after.resource.zone.name if comparison else UTC
    starts, ends = Instant(spec.valid_from), Instant(spec.valid_until)
    who = requester(exception) or _UNKNOWN
    plan_name = spec.plan_ref.name
    return Facts(
        kind=EXCEPTIONS.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=matter.uid,
        spec_hash=matter.spec_hash,
        title=_TITLES[spec.type].format(f"{metadata.namespace}/{plan_name}"),
        ask=f"{who} asks to {_ASKS[spec.type].format(plan_name)}.",
        reason=spec.reason or "",
        rows=tuple(_exception_rows(exception, starts, ends, zone)),
        zone=zone,
        type=spec.type,
        requester=_asker(exception),
        starts=starts,
        ends=ends,
        channels=status.channels,
        deadline=Instant(status.approval_deadline) if status.approval_deadline else None,
        state=status.state or "Pending",
        message=status.message,
        voices=tuple(_voice(one, exception) for one in status.required_approvals),
        progress=_progress(status.approval_progress),
        comparison=comparison,
        hours=_hours(comparison),
        changes=comparison.changes if comparison else (),
    )


def facts_of_remediation(request: RemediationApprovalRequest, analysis: AIAnalysis | None) -> Facts:
    spec, status, metadata = request.spec, request.status, request.metadata
    context, matter = spec.approval_context, remediation.matter_of(request)
    playbook = context.recommended_playbook or "a remediation"
    return Facts(
        kind=APPROVAL_REQUESTS.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=matter.uid,
        spec_hash=matter.spec_hash,
        title=f"Run {playbook} in {metadata.namespace}",
        ask=(
            f"The analysis {spec.ai_analysis_ref.name} recommends {playbook} and is "
            f"{context.confidence:.0%} sure."
        ),
        reason=context.reason,
        rows=tuple(_remediation_rows(request, analysis)),
        zone=UTC,
        channels=status.channels,
        deadline=Instant(spec.required_by),
        state=status.decision or "Pending",
        message=status.message,
        voices=tuple(_levels(request)),
    )


def _asker(exception: ScheduleException) -> str:
    who = requester(exception) or _UNKNOWN
    address = requester_claims(exception).get(VERIFIED_EMAIL, "")
    return f"{who} ({address})" if address and address != who else who


def local(at: Instant, zone: str) -> str:
    """A moment on the clock of a zone, as people write it."""
    return f"{at.to_tz(zone).to_stdlib().strftime(_LOCAL)} ({zone})"


def _exception_rows(exception: ScheduleException, starts: Instant, ends: Instant, zone: str) -> Iterator[Row]:
    spec = exception.spec
    yield Row("Plan", f"{exception.metadata.namespace}/{spec.plan_ref.name}")
    yield Row("From", local(starts, zone))
    yield Row("Until", local(ends, zone))
    yield Row(_WINDOWS[spec.type], "; ".join(_window(window) for window in spec.windows))
    if spec.lead_time and spec.type == "suspend":
        yield Row("Lead time", f"no sleep begins within {spec.lead_time} before")
    if (impact := exception.status.impact) and impact.workloads is not None:
        yield Row("Workloads", str(impact.workloads))
    yield Row("Request", exception.metadata.name)


def _remediation_rows(request: RemediationApprovalRequest, analysis: AIAnalysis | None) -> Iterator[Row]:
    spec = request.spec
    found = analysis.spec.analysis if analysis else None
    yield Row("Playbook", spec.approval_context.recommended_playbook or "none is named")
    yield Row("Confidence", f"{spec.approval_context.confidence:.0%}")
    if found and isinstance(found.signal, str) and found.signal:
        yield Row("Signal", found.signal)
    if found and found.reason:
        yield Row("Found", found.reason)
    if spec.remediation_request_ref:
        yield Row("Remediation", spec.remediation_request_ref.name)
    yield Row("Namespace", request.metadata.namespace)
    yield Row("Request", request.metadata.name)


def _voice(one: RequiredApproval, exception: ScheduleException) -> ApproverLine:
    who = one.email or f"a member of the role {one.role}"
    word: Word = (
        "approved" if one.status == "approved" else "rejected" if one.status == "rejected" else "pending"
    )
    heard = [entry for entry in exception.status.history if entry.action == word]
    theirs = [entry for entry in heard if _is_for(one, entry, _entry(exception, entry.actor))]
    for entry in theirs or (heard if len(heard) == 1 else ()):
        by = in_place_of(entry.actor, entry.on_behalf_of)
        return ApproverLine(who, word, by, Instant(entry.timestamp), entry.reason, one.policy or "")
    return ApproverLine(who, word, policy=one.policy or "")


def _is_for(one: RequiredApproval, entry: HistoryEntry, said: Any) -> bool:
    """Whether a decision was that of the person or role that is asked, as far as it says so itself."""
    if one.role and entry.role == one.role:
        return True
    known = said.known_by.email if said and said.known_by else ""
    addresses = entry.actor, entry.on_behalf_of, said and said.email, known
    return bool(one.email) and mailbox(one.email or "") in {mailbox(found) for found in addresses if found}


def _entry(exception: ScheduleException, user: str) -> Any:
    for yes in exception.status.approvals:
        if yes.approved_by == user:
            return yes
    return next((no for no in exception.status.rejections if no.rejected_by == user), None)


def _levels(request: RemediationApprovalRequest) -> Iterator[ApproverLine]:
    status = request.status
    at = Instant(status.decided_at) if status.decided_at else None
    if status.decision in {"Approved", "Rejected"}:
        word: Word = "approved" if status.decision == "Approved" else "rejected"
        by = in_place_of(status.decided_by or _UNKNOWN, status.decided_for)
        yield ApproverLine(by, word, by, at, status.decision_message)
        return
    for level in request.spec.approvers:
        for email in level.emails:
            yield ApproverLine(email, "pending")
        for role in level.roles:
            yield ApproverLine(f"a member of the role {role}", "pending")
    for one in status.required_approvals:
        word = "approved" if one.status == "approved" else "pending"
        who = one.email or f"a member of the role {one.role}"
        yield ApproverLine(who, word, policy=one.policy or "")


def _comparison(
    exception: ScheduleException, plan: HibernatePlan | None, others: Iterable[ScheduleException]
) -> Comparison | None:
    if plan is None or any(check_exception(exception.spec)) or any(check_schedule(plan.spec.schedule)):
        return None
    # Days off from a ConfigMap are not drawn: who shows this may not read ConfigMaps.
    holidays = load_holidays(plan.spec.schedule.holidays)[0]
    return compare(plan, exception, holidays, beside(exception, others))


def _hours(comparison: Comparison | None) -> tuple[float, float] | None:
    if comparison is None:
        return None
    return hours(comparison.before.intervals, State.ASLEEP), hours(comparison.after.intervals, State.ASLEEP)


def _progress(progress: str) -> str:
    have, _, needed = progress.partition("/")
    if not needed:
        return ""
    return f"{have} of {needed} approval{'' if needed == '1' else 's'}"


def _change(change: Change, zone: str) -> str:
    start, end = change.start.to_tz(zone).to_stdlib(), change.end.to_tz(zone).to_stdlib()
    until = f"{end:%H:%M}" if start.date() == end.date() else f"{end:%a %-d %b, %H:%M}"
    word = "asleep instead of awake" if change.state is State.ASLEEP else "awake instead of asleep"
    return f"{start:%a %-d %b, %H:%M} until {until}: {word}"


def _window(window: OffHourWindow) -> str:
    return f"{_days(window.days_of_week)} {window.start} to {window.end}"


def _days(days: Sequence[str]) -> str:
    return ", ".join(day[:3].capitalize() for day in days)


_TITLES: Final = {
    "extend": "More sleep for {}",
    "suspend": "Keep {} awake",
    "replace": "Another schedule for {}",
}
_ASKS: Final = {
    "extend": "let the plan {} sleep longer",
    "suspend": "keep the plan {} awake",
    "replace": "replace the schedule of the plan {}",
}
_WINDOWS: Final = {"extend": "Asleep too", "suspend": "Awake", "replace": "Asleep only"}
