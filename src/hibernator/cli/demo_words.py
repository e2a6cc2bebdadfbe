"""What the demo says, the same on a screen and in plain lines: times, who is waited for, what to try next."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whenever import Instant

from hibernator.demo.scene import YOU, ZONE, address
from hibernator.demo.view import View

if TYPE_CHECKING:
    from hibernator.demo.run import Ending

_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Question:
    """Something that people are asked."""

    name: str
    about: str
    progress: str
    state: Literal["open", "yes", "no", "over"]
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


def date(moment: Instant) -> str:
    return moment.to_tz(ZONE).to_stdlib().strftime("%d %b")


def questions(view: View) -> Iterator[Question]:
    """Who was asked what, and how that stands."""
    for one in view.exceptions:
        status, until = one.status, Instant(one.spec.valid_until)
        if not one.spec.approval_required:
            continue
        about = one.spec.reason or f"Bend {one.spec.plan_ref.name}"
        if status.approval_state == "Pending" and status.state == "Pending":
            missing = [
                place.email or place.role or ""
                for place in status.required_approvals
                if place.status == "pending"
            ]
            yield Question(
                one.metadata.name,
                about,
                f"{status.approval_progress} agreed",
                "open",
                f"waits for {', '.join(_short(who) for who in missing)}",
            )
        else:
            answer: Literal["yes", "no", "over"] = (
                "over"
                if status.state in {"Expired", "Cancelled"}
                else "yes"
                if status.approval_state == "Approved"
                else "no"
            )
            yield Question(one.metadata.name, about, status.state or "", answer, f"until {clock(until)}")
    for request in view.requests:
        decision, context = request.status.decision, request.spec.approval_context
        about = f"Run {context.recommended_playbook}? {context.confidence:.0%} sure."
        name, by = request.spec.ai_analysis_ref.name, Instant(request.spec.required_by)
        if not decision:
            left = max(0, round((by - view.now).total("seconds") / _HOUR))
            yield Question(name, about, "open", "open", f"decide by {clock(by)}, in {left} h")
        else:
            yield Question(
                name,
                about,
                decision,
                {"Approved": "yes", "Rejected": "no"}.get(decision, "over"),  # type: ignore[arg-type]
                f"it had until {clock(by)}",
            )


def _short(who: str) -> str:
    return who.partition("@")[0]


def tries(view: View) -> Iterator[Try]:
    """What is worth a try now, the best first."""
    for one in view.exceptions:
        mine = [place for place in one.status.required_approvals if place.email == address(YOU)]
        if one.status.state == "Pending" and any(place.status == "pending" for place in mine):
            where = f"-n {one.metadata.namespace} --context {YOU}"
            yield Try(f"hibernator exception approve {one.metadata.name} {where}", "be Bob, and agree")
    if view.plan and view.plan.status.phase in {"Hibernating", "Hibernated"}:
        yield Try("hibernator plan restore-data nights -n shop-core", "what it will be woken to")
    yield Try("hibernator plan describe nights -n shop-core", "the plan in words")
    yield Try("kubectl scale deployment chat -n shop-help --replicas 9", "and see it put right")
    yield Try('hibernator plan suspend nights -n shop-core --reason "a migration"', "no sleep tonight")
    yield Try("hibernator audit list", "who did what, and when")


def summary(ending: "Ending") -> Iterator[str]:
    """The whole demo in a few lines."""
    view = ending.view
    hours = round((view.now - ending.since).total("seconds") / _HOUR)
    minutes, seconds = divmod(round(ending.seconds), 60)
    yield f"{hours} hour{'' if hours == 1 else 's'} of a shop in {minutes} min {seconds} s:"
    if view.plan:
        history = view.plan.status.history
        slept = sum(1 for cycle in history if cycle.sleep and cycle.sleep.result == "Succeeded")
        woke = sum(1 for cycle in history if cycle.wake and cycle.wake.result == "Succeeded")
        saved = view.plan.status.savings
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
    return {0: "not once", 1: "once", 2: "twice"}.get(count, f"{count} times")
