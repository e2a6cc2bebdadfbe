"""What the demo says, the same on a screen and in plain lines: times, who is waited for, what to try next."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whenever import Instant

from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.scheduleexception_request import needs_approval
from hibernator.demo.scene import YOU, ZONE, address
from hibernator.demo.view import View

if TYPE_CHECKING:
    from hibernator.demo.run import Ending

_HOUR = 3600
_DAY = 24 * _HOUR
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


Answer = Literal["open", "yes", "no", "over"]
_ANSWERS: Mapping[str, Answer] = {"Approved": "yes", "Rejected": "no"}


@dataclass(frozen=True, slots=True)
class Question:
    """Something that people are asked."""

    name: str
    about: str
    progress: str
    answer: Answer
    end: str


@dataclass(frozen=True, slots=True)
class Try:
    """A command, and what it is good for."""

    command: str
    why: str


def clock(moment: Instant) -> str:
    """`Mon 19:58`, as the shop's clock shows it."""
    local = moment.to_tz(ZONE)
    return f"{local.date().day_of_week().name[:3].title()} {local.hour:02}:{local.minute:02}"


def words(text: str) -> str:
    """What the operator said, with the shop's clock in place of UTC."""
    return _INSTANT.sub(lambda found: clock(Instant(found[0])), text)


def pace(speed: float) -> str:
    """How long a day takes: `2 min 24 s`."""
    minutes, seconds = divmod(round(_DAY / speed), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def date(moment: Instant) -> str:
    return moment.to_tz(ZONE).to_stdlib().strftime("%d %b")


def questions(view: View) -> Iterator[Question]:
    """Who was asked what, and how that stands."""
    for exception in view.exceptions:
        if needs_approval(exception):
            yield _about_exception(exception)
    for request in view.requests:
        yield _about_remediation(request, view.now)


def _about_exception(exception: ScheduleException) -> Question:
    spec, status, name = exception.spec, exception.status, exception.metadata.name
    about = spec.reason or f"Override the schedule of {spec.plan_ref.name}?"
    if status.state in {None, "Pending"}:
        missing = [
            one.email or one.role or "" for one in status.required_approvals if one.status == "pending"
        ]
        waits = f"waits for {', '.join(who.partition('@')[0] for who in missing)}"
        return Question(name, about, f"{status.approval_progress} agreed", "open", waits)
    answer: Answer = "yes" if status.approval_state == "Approved" else "no"
    if status.state in {"Expired", "Cancelled"}:
        answer = "over"
    return Question(name, about, status.state.lower(), answer, f"until {clock(Instant(spec.valid_until))}")


def _about_remediation(request: RemediationApprovalRequest, now: Instant) -> Question:
    decision, context = request.status.decision, request.spec.approval_context
    name, by = request.spec.ai_analysis_ref.name, Instant(request.spec.required_by)
    about = f"Run {context.recommended_playbook}? {context.confidence:.0%} sure."
    if decision:
        answer = _ANSWERS.get(decision, "over")
        return Question(name, about, decision.lower(), answer, f"had until {clock(by)}")
    left = max(0, round((by - now).total("seconds") / _HOUR))
    return Question(name, about, "open", "open", f"decide by {clock(by)}, in {left} h")


def tries(view: View) -> Iterator[Try]:
    """What is worth a try now, the best first. The contexts are in the namespace of the plan."""
    for exception in view.exceptions:
        mine = [one for one in exception.status.required_approvals if one.email == address(YOU)]
        if exception.status.state == "Pending" and any(one.status == "pending" for one in mine):
            command = f"hibernator exception approve {exception.metadata.name} --context {YOU}"
            yield Try(command, "be Bob, and agree")
    for request in view.requests:
        if not request.status.decision:
            command = f"hibernator remediation approve {request.metadata.name} --context {YOU}"
            yield Try(command, "let it run")
    if view.plan.status.phase in {"Hibernating", "Hibernated"}:
        yield Try("hibernator plan restore-data nights", "what it will be woken to")
        if all(exception.status.state not in {"Approved", "Active"} for exception in view.exceptions):
            yield Try("hibernator plan wake nights --for 8h", "and see it wake")
    yield Try("hibernator plan describe nights", "the plan in words")
    yield Try("kubectl scale deployment chat -n shop-help --replicas 9", "and see it put right")
    yield Try('hibernator plan suspend nights --reason "a migration"', "no sleep tonight")
    yield Try("hibernator audit list", "who did what, and when")
    yield Try("hibernator doctor", "whether all is well")


def summary(ending: "Ending") -> Iterator[str]:
    """The whole demo in a few lines."""
    view = ending.view
    hours = round((view.now - ending.since).total("seconds") / _HOUR)
    minutes, seconds = divmod(round(ending.seconds), 60)
    yield f"{hours} hour{'' if hours == 1 else 's'} of a shop in {minutes} min {seconds} s:"
    history, saved = view.plan.status.history, view.plan.status.savings
    slept = sum(1 for cycle in history if cycle.sleep and cycle.sleep.result == "Succeeded")
    woke = sum(1 for cycle in history if cycle.wake and cycle.wake.result == "Succeeded")
    cores = f", and saved {saved.cpu_core_hours:.0f} core hours" if saved and saved.cpu_core_hours else ""
    yield f"  nights         slept {_times(slept)}, woke {_times(woke)}{cores}"
    chat = [one.text for one in view.happenings if one.about == "chat"]
    closed = ", and closed on its day off" if any("holiday" in text for text in chat) else ""
    yield f"  chat           scaled {_times(sum(text.startswith('Scaled') for text in chat))}{closed}"
    for question in questions(view):
        yield f"  {question.name:<14} {question.progress}; {question.end}"
    chain = f"broken: {ending.problem}" if ending.problem else "every hash of their chain fits"
    yield f"  audit trail    {ending.recorded} events, and {chain}"
    yield "Everything is gone again: no process, no file."


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
