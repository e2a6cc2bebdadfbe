"""What a message says where no template words it: what, where, why, how long, what to run. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from hibernator.messages.wording import plain
from hibernator.notifications.markup import Markup
from hibernator.notifications.occasions import Occasion, Parcel

_MOST_LINES: Final = 20
_LONGEST: Final = 1000

_TITLES: Final = {
    "hibernateplan.sleep.started": "{name} is going to sleep",
    "hibernateplan.sleep.completed": "{name} is asleep",
    "hibernateplan.sleep.interrupted": "{name} did not go to sleep completely: waking began",
    "hibernateplan.sleep.failed": "{name} could not go to sleep",
    "hibernateplan.wake.started": "{name} is waking up",
    "hibernateplan.wake.completed": "{name} is awake",
    "hibernateplan.wake.interrupted": "{name} did not wake up completely: sleeping began",
    "hibernateplan.wake.failed": "{name} could not wake up",
    "hibernateplan.wake.late": "{name} is late: it is still waking up",
    "hibernateplan.failing": "{name} is still broken",
    "hibernateplan.target.slept": "{name}: target {target} is asleep",
    "hibernateplan.target.woken": "{name}: target {target} is awake",
    "hibernateplan.target.wokenbyothers": "{name}: others woke items of target {target}",
    "hibernateplan.target.sleptagain": "{name}: items of target {target} sleep again",
    "hibernateplan.target.failed": "{name}: target {target} failed",
    "hibernateplan.target.aborted": "{name}: work on target {target} was cancelled",
    "hibernateplan.retried": "{name}: a retry was requested",
    "hibernateplan.recovered": "{name} works again",
    "hibernateplan.degraded": "{name} cannot do its work",
    "hibernateplan.suspended": "{name} is suspended and does not go to sleep",
    "hibernateplan.resumed": "{name} follows its schedule again",
    "hibernateplan.exception.applied": "{name}: exception {exception} overrides the schedule",
    "hibernateplan.exception.ended": "{name}: exception {exception} has ended",
    "scheduleexception.requested": "Approval is requested for exception {name}",
    "scheduleexception.approved": "Exception {name} was approved",
    "scheduleexception.rejected": "Exception {name} was rejected",
    "scheduleexception.timedout": "Exception {name} was not approved in time",
    "scheduleexception.cancelled": "Exception {name} was cancelled",
    "scheduleexception.expiring": "Exception {name} expires soon",
    "timewindowscaler.scaled": "{name} was scaled",
    "timewindowscaler.drift.corrected": "{name}: a manual change of replicas was undone",
    "timewindowscaler.scaling.skipped": "{name} is paused and was not scaled",
    "timewindowscaler.degraded": "{name} cannot do its work",
    "timewindowscaler.recovered": "{name} works again",
    "timewindowscaler.paused": "{name} was paused",
    "timewindowscaler.resumed": "{name} works again after a pause",
    "remediationapprovalrequest.created": "Approval is requested for remediation {name}",
    "remediationapprovalrequest.recreated": "Approval is requested again for remediation {name}",
    "remediationapprovalrequest.escalated": "Remediation {name} still waits for approval: it was escalated",
    "remediationapprovalrequest.approved": "Remediation {name} was approved",
    "remediationapprovalrequest.rejected": "Remediation {name} was rejected",
    "remediationapprovalrequest.expired": "Remediation {name} was not decided in time",
    "hibernator.test": "A test message of {name}",
}
_COMMANDS: Final = {
    "Failure": {
        "HibernatePlan": "hibernator plan retry {name} -n {namespace}",
        "TimeWindowScaler": "hibernator scaler describe {name} -n {namespace}",
    },
    "WakeLate": {"HibernatePlan": "hibernator plan describe {name} -n {namespace}"},
    "ApprovalWaiting": {
        "ScheduleException": "hibernator exception approve {name} -n {namespace}",
        "RemediationApprovalRequest": "hibernator remediation approve {name} -n {namespace}",
    },
    "ExceptionRequested": {"ScheduleException": "hibernator exception approve {name} -n {namespace}"},
    "ExceptionExpiring": {"ScheduleException": "hibernator exception describe {name} -n {namespace}"},
}
_PATHS: Final = {
    "HibernatePlan": "plans/{namespace}/{name}",
    "TimeWindowScaler": "scalers/{namespace}/{name}",
    "ScheduleException": "approve/{uid}",
    "RemediationApprovalRequest": "approve/{uid}",
}


@dataclass(frozen=True, slots=True)
class Words:
    """A message before any markup."""

    title: str
    lines: tuple[str, ...]
    time: str = ""
    command: str = ""
    link: str = ""


def explained(occasion: Occasion, base_url: str) -> Occasion:
    """The occasion with its title, the command to run next, and where to look."""
    values = {
        "name": occasion.name,
        "namespace": occasion.namespace,
        "uid": occasion.uid,
        "target": plain(str(occasion.data.get("target", ""))),
        "exception": plain(str(occasion.data.get("exception", ""))),
    }
    title = _TITLES.get(occasion.type, "{name}: " + occasion.type).format(**values)
    if occasion.event == "Savings":
        title = f"{title}, and saved resources while it slept"
    command = _COMMANDS.get(occasion.event, {}).get(occasion.kind, "")
    path = _PATHS.get(occasion.kind, "") if base_url else ""
    return structs.replace(
        occasion,
        title=title,
        command=command.format(**values),
        link=f"{base_url}/{path.format(**values)}" if path else "",
    )


def words(parcel: Parcel) -> Words:
    if len(parcel.occasions) > 1:
        return _of_many(parcel.occasions)
    one = parcel.first
    return Words(_sign(one) + one.title, tuple(_rows(one)), one.time, one.command, one.link)


def text(parcel: Parcel, markup: Markup) -> str:
    """The message in the markup of a sink."""
    said = words(parcel)
    parts = [markup.bold(said.title), *map(markup.escape, said.lines)]
    if said.time:
        parts.append(f"{markup.escape('When:')} {markup.moment(said.time)}")
    if said.command:
        parts.append(f"{markup.escape('Run:')} {markup.code(said.command)}")
    if said.link:
        parts.append(markup.link("Open in Hibernator", said.link))
    return "\n".join(parts)


def _of_many(occasions: Sequence[Occasion]) -> Words:
    broken = sum(one.event in {"Failure", "WakeLate"} for one in occasions)
    title = f"{len(occasions)} events"
    if broken:
        title = f"{title}, {broken} of them {'is' if broken == 1 else 'are'} a failure"
    if len({one.type for one in occasions}) == 1:
        names = len({one.uid for one in occasions})
        title = f"{occasions[0].event} ({names}): {occasions[0].title} and others"
    lines = [f"{_sign(one)}{one.namespace}/{one.title}" for one in _worst_first(occasions)]
    rest = len(lines) - _MOST_LINES
    more = [f"and {rest} more"] if rest > 0 else []
    return Words(_sign(_worst_first(occasions)[0]) + title, (*lines[:_MOST_LINES], *more))


def _worst_first(occasions: Sequence[Occasion]) -> list[Occasion]:
    return sorted(occasions, key=lambda one: one.event not in {"Failure", "WakeLate"})


def _sign(one: Occasion) -> str:
    return {"Failure": "✗ ", "WakeLate": "✗ ", "Success": "✓ ", "Recovery": "✓ "}.get(one.event, "")


def _rows(one: Occasion) -> Iterator[str]:
    where = f"{one.kind} {one.namespace}/{one.name}"
    yield f"Where: {where}" + (f", plan {one.plan}" if one.plan and one.plan != one.name else "")
    if one.message:
        yield f"Why: {plain(one.message)[:_LONGEST]}"
    if one.seconds is not None:
        yield f"Took: {_duration(one.seconds)}"
    if failed := one.data.get("failed"):
        yield f"Failed targets: {failed}"
    if one.user:
        yield f"By: {plain(one.user)}"
    for key, title in (("cpuCoreHours", "CPU core hours"), ("memoryGiBHours", "GiB hours of memory")):
        if isinstance(one.data.get(key), int | float):
            yield f"Saved so far: {one.data[key]:.1f} {title}"


def _duration(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"
