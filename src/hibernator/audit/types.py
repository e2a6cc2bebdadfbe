"""What can happen, in one table: each type of event with what it means to someone who reads the trail.

Controllers name a type and nothing else; category, severity and outcome follow from here, so that the same
thing is never filed in two ways. `docs/reference/audit-events.md` is written from this table.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

Category = Literal["lifecycle", "scaling", "hibernation", "approval", "security", "system"]
Severity = Literal["info", "notice", "warning", "error"]
Outcome = Literal["success", "failure", "denied"]


class EventType(NamedTuple):
    name: str  # the subject, then what happened: `hibernateplan.sleep.started`
    category: Category
    severity: Severity
    outcome: Outcome
    description: str

    @property
    def action(self) -> str:
        """What happened, without to what: `sleep.started`."""
        return self.name.partition(".")[2]


class _Meaning(NamedTuple):
    severity: Severity
    outcome: Outcome
    description: str


def _info(description: str) -> _Meaning:
    return _Meaning("info", "success", description)


def _notice(description: str) -> _Meaning:
    """Someone chose this, or will want to know."""
    return _Meaning("notice", "success", description)


def _warning(description: str) -> _Meaning:
    return _Meaning("warning", "success", description)


def _failed(description: str, severity: Severity = "warning") -> _Meaning:
    return _Meaning(severity, "failure", description)


def _denied(description: str) -> _Meaning:
    return _Meaning("warning", "denied", description)


def _of(subject: str, category: Category, meanings: Mapping[str, _Meaning]) -> Iterator[EventType]:
    for action, meaning in meanings.items():
        yield EventType(f"{subject}.{action}", category, *meaning)


def _kind(subject: str, kind: str, *without: str) -> Iterator[EventType]:
    lives = {
        "created": _info(f"The {kind} was seen for the first time."),
        "changed": _info(f"The spec of the {kind} was changed."),
        "deleted": _notice(f"The {kind} was deleted."),
    }
    for action in without:
        del lives[action]
    yield from _of(subject, "lifecycle", lives)


_LATE_OR_WRONG: Final = _denied("A decision was not accepted: not this person's to take, or too late.")

_TABLE: Final = (
    *_kind("timewindowscaler", "TimeWindowScaler"),
    *_of(
        "timewindowscaler",
        "scaling",
        {
            "scaled": _info("The schedule gave the target another number of replicas."),
            "drift.corrected": _notice("Others had changed the replicas; they were set back."),
            "scaling.skipped": _info("Another number of replicas was due, but the scaler is paused."),
            "window.overridden": _info("A holiday took the place of the windows."),
            "grace.started": _info("Fewer replicas are due, after the grace period."),
            "grace.ended": _info("The grace period is over, or no longer needed."),
            "paused": _notice("The scaler was paused."),
            "resumed": _notice("A paused scaler works again."),
            "degraded": _failed("The scaler cannot do its work; the error says why."),
            "recovered": _info("A degraded scaler does its work again."),
        },
    ),
    *_kind("hibernateplan", "HibernatePlan"),
    *_of(
        "hibernateplan",
        "hibernation",
        {
            "sleep.started": _info("The plan began to put its targets to sleep."),
            "sleep.completed": _info("All targets are asleep."),
            "sleep.interrupted": _notice("Waking began before all targets were asleep."),
            "sleep.failed": _failed("Targets could not be put to sleep; the data says which.", "error"),
            "wake.started": _info("The plan began to wake its targets."),
            "wake.completed": _info("All targets are awake."),
            "wake.interrupted": _notice("Sleeping began before all targets were awake."),
            "wake.failed": _failed("Targets could not be woken; the data says which.", "error"),
            "target.slept": _info("One target was put to sleep."),
            "target.woken": _info("One target was woken."),
            "target.wokenbyothers": _notice(
                "Others woke items of a target while the plan sleeps; the data says what it still saves."
            ),
            "target.sleptagain": _info("Items of a target that others had woken sleep again."),
            "target.failed": _failed("One target failed; it is tried again while retries are left."),
            "target.aborted": _failed("Work on one target was cancelled half-way."),
            "retried": _notice("A user asked for a retry of the failed targets."),
            "suspended": _notice("The plan was suspended."),
            "resumed": _notice("A suspended plan follows its schedule again."),
            "degraded": _failed("The plan cannot do its work; the error says why.", "error"),
            "recovered": _info("A degraded plan does its work again."),
            "exception.applied": _notice("An exception overrides the schedule; the data names it."),
            "exception.ended": _info("An exception no longer overrides the schedule of the plan."),
        },
    ),
    *(
        found
        for subject, kind in (("cloudprovider", "CloudProvider"), ("k8scluster", "K8SCluster"))
        for found in (
            *_kind(subject, kind),
            *_of(
                subject,
                "lifecycle",
                {
                    "ready": _info(f"The credentials of the {kind} were tried and work."),
                    "degraded": _failed(f"The credentials of the {kind} were tried and do not work."),
                },
            ),
        )
    ),
    *_kind("scheduleexception", "ScheduleException", "created"),  # which is to be drafted or requested
    *_of(
        "scheduleexception",
        "approval",
        {
            "drafted": _info("An exception was written down, but not yet asked for."),
            "requested": _info("Approval of an exception was asked for."),
            "approval.given": _notice("One of the required people agreed."),
            "approval.refused": _LATE_OR_WRONG,
            "approved": _notice("Everyone who must agree has agreed."),
            "rejected": _notice("One of the required people said no."),
            "timedout": _failed("Not everyone agreed before the deadline: the exception is rejected."),
            "policy.changed": _notice("A policy appeared, changed or went before this was decided."),
            "escalated": _notice("Not decided for some time; a policy allows more people to approve."),
            "waiting": _info("Another exception of the plan is active; this one takes over after it."),
            "activated": _notice("The exception overrides its plan's schedule from its start to its end."),
            "expired": _info("The exception is over."),
            "cancelled": _notice("The requester took the exception back."),
        },
    ),
    *_kind("planrequest", "PlanRequest", "changed"),  # which cannot be
    *_of(
        "planrequest",
        "hibernation",
        {
            "done": _info("The operator did to the plan what a user asked for on its page."),
            "refused": _denied("The operator did not do it; the error says why."),
        },
    ),
    *_kind("exceptionpolicy", "ExceptionPolicy"),
    *_of(
        "exceptionpolicy",
        "approval",
        {
            "ready": _notice("The policy can be read and is in force."),
            "degraded": _failed("The policy has a mistake; the error says which, and what counts meanwhile."),
        },
    ),
    *_kind("remediationrequest", "RemediationRequest"),
    *_kind("aianalysis", "AIAnalysis"),
    *_of(
        "aianalysis",
        "approval",
        {
            "adopted": _info("A RemediationRequest took ownership of the analysis."),
            "approving": _info("The recommendation needs approval."),
            "ready": _notice("The recommendation may be carried out."),
            "rejected": _notice("The recommendation will not be carried out; the data says why."),
        },
    ),
    *_kind("remediationapprovalrequest", "RemediationApprovalRequest", "changed"),  # which cannot be
    *_of(
        "remediationapprovalrequest",
        "approval",
        {
            "recreated": _warning("A request that was deleted while it waited was made again."),
            "escalated": _warning("No decision so far: the next level was asked."),
            "approval.given": _notice("It was approved; nothing goes ahead before this is on record."),
            "approval.refused": _LATE_OR_WRONG,
            "approved": _notice("The remediation was approved."),
            "rejected": _notice("The remediation was rejected."),
            "expired": _failed("No decision before the deadline."),
        },
    ),
    *_of(
        "admission",
        "security",
        {
            "denied": _denied("Admission refused a request; the error says why."),
            "deletion": _info("A user asked to delete this; `….deleted` says whether it was deleted."),
        },
    ),
    *_of(
        "policy",
        "system",
        {
            "loaded": _notice("An approval policy was read and is in force."),
            "broken": _failed("An approval policy cannot be read: everything needs approval.", "error"),
        },
    ),
    *_of(
        "audit",
        "system",
        {
            "pruned": _notice(
                "Events beyond the retention were removed; the data names the last and its hash."
            ),
            "rewound": _warning(
                "The API server was set back to an older state, as by a restore of etcd from a backup. What "
                "happened after the backup stays in the trail, and may happen again."
            ),
            "checkpoint": _info("The operator signed what the chain was; the data has the signature."),
        },
    ),
)

EVENT_TYPES: Final[Mapping[str, EventType]] = {found.name: found for found in _TABLE}
