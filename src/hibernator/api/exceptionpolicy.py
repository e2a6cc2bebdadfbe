"""ExceptionPolicy: who must agree to the exceptions of a plan, and which exceptions there may be at all.

The owner of the plan writes it, not who asks. Policies add to what an exception asks for and never take
anything away, so that their order has no meaning.
"""

from typing import Annotated, Literal

from hibernator.api.kind import DOMAIN, Kind
from hibernator.api.meta import Model, Object, ReadyStatus, rule, says
from hibernator.api.people import Email, Role
from hibernator.api.scheduleexception import ExceptionType
from hibernator.api.selector import Selector
from hibernator.api.windows import DURATION, OffHourWindow

MOST_NAMED = 10  # people, and as many roles, in each place of a policy
LONGEST_PATTERN = 128

DATE = r"^[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
# Groups are left out, so that a match takes time that grows with the length of the reason and no faster.
PATTERN = r"^([^()\\\n\r\t]|\\[^\n\r\t])+$"

Emails = Annotated[tuple[Email, ...], says("People.", maxItems=MOST_NAMED, x_kubernetes_list_type="set")]
Roles = Annotated[
    tuple[Role, ...],
    says(
        "Roles, as the operator's configuration names them.",
        maxItems=MOST_NAMED,
        x_kubernetes_list_type="set",
    ),
]
Types = Annotated[
    tuple[ExceptionType, ...],
    says("Types of exceptions; all when empty.", maxItems=3, x_kubernetes_list_type="set"),
]
Windows = Annotated[
    tuple[OffHourWindow, ...],
    says("Hours of the week, in the plan's zone.", maxItems=16, x_kubernetes_list_type="atomic"),
]
CountedChannel = Literal["slack", "link", "dashboard", "cli", "kubectl", "api"]

_NAMED = "(has(self.emails) ? self.emails.size() : 0) + (has(self.roles) ? self.roles.size() : 0)"
_NAMES_AN_APPROVER = rule(f"{_NAMED} > 0", "No approver is named: set emails or roles")


class Requirement(Model):
    """Who must agree."""

    RULES = (
        _NAMES_AN_APPROVER,
        rule(
            "type(self.threshold) == string ? self.threshold == 'all' : self.threshold >= 1",
            "threshold must be `all` or a number from 1 on",
            field=".threshold",
        ),
        rule(
            f"type(self.threshold) == string || self.threshold <= {_NAMED}",
            "threshold asks for more approvals than there are approvers",
            field=".threshold",
        ),
    )

    emails: Emails = ()
    roles: Roles = ()
    threshold: Annotated[
        int | Literal["all"], says("How many of them must agree: `all`, or a number.", default="all")
    ] = "all"


class Relief(Model):
    """A case in which no one has to agree: everything that is set here must hold."""

    RULES = (
        rule(
            "has(self.types) || has(self.durationAtMost) || has(self.requesterRoles)"
            " || (has(self.wakesOnly) && self.wakesOnly) || has(self.withinHours)",
            "An empty entry of unless would approve everything: set a condition, or remove require",
        ),
    )

    types: Types = ()
    duration_at_most: Annotated[
        str | None,
        says(
            "It lasts no longer, joined with exceptions of the plan next to it: a duration such as `2h`.",
            pattern=DURATION,
            maxLength=32,
        ),
    ] = None
    requester_roles: Annotated[
        tuple[Role, ...],
        says(
            "The requester has one of these roles, also by a group.",
            maxItems=MOST_NAMED,
            x_kubernetes_list_type="set",
        ),
    ] = ()
    wakes_only: Annotated[
        bool, says("It is of type `suspend`, which wakes workloads and puts none to sleep.", default=False)
    ] = False
    within_hours: Annotated[
        tuple[OffHourWindow, ...],
        says(
            "It is valid only within these hours of the week, in the plan's zone.",
            maxItems=16,
            x_kubernetes_list_type="atomic",
        ),
    ] = ()


class Limits(Model):
    """What no exception may exceed, even with all approvals."""

    max_duration: Annotated[
        str | None,
        says(
            "How long an exception may last, such as `8h`. Exceptions of a plan with less than an hour "
            "between them count as one.",
            pattern=DURATION,
            maxLength=32,
        ),
    ] = None
    max_active_per_week: Annotated[
        int | None,
        says(
            "How many exceptions of a plan may begin in any seven days. Deleted ones count.",
            minimum=0,
            maximum=30,
            format="int32",
        ),
    ] = None
    min_notice: Annotated[
        str | None,
        says(
            "How long before `validFrom` an exception must be submitted, such as `24h`.",
            pattern=DURATION,
            maxLength=32,
        ),
    ] = None
    types: Annotated[
        tuple[ExceptionType, ...],
        says("The types that are allowed; all when empty.", maxItems=3, x_kubernetes_list_type="set"),
    ] = ()


class Override(Model):
    """Whose agreement lets an exception begin in a freeze: one of them is enough."""

    RULES = (_NAMES_AN_APPROVER,)

    emails: Emails = ()
    roles: Roles = ()


class Freeze(Model):
    """A time in which no exception may begin, nor any window of one."""

    RULES = (
        rule(
            "has(self.firstDay) == has(self.lastDay)",
            "A freeze of dates needs firstDay and lastDay",
            field=".lastDay",
        ),
        rule(
            "has(self.firstDay) != (has(self.windows) && self.windows.size() > 0)",
            "A freeze has either firstDay and lastDay, or windows",
        ),
        rule(
            "!has(self.firstDay) || !has(self.lastDay) || self.firstDay <= self.lastDay",
            "lastDay must not be before firstDay",
            field=".lastDay",
        ),
    )

    first_day: Annotated[
        str | None,
        says("The first day of it, such as `2026-12-20`, in the plan's zone.", pattern=DATE, maxLength=10),
    ] = None
    last_day: Annotated[
        str | None, says("The last day of it, which is part of it.", pattern=DATE, maxLength=10)
    ] = None
    windows: Windows = ()
    types: Types = ()
    override: Annotated[
        Override | None,
        says("Who must approve an exception that begins in it; without one, none may begin."),
    ] = None


class Escalation(Model):
    """Who may agree too, when a request has waited for long."""

    RULES = (_NAMES_AN_APPROVER,)

    after: Annotated[
        str, says("How long after it was submitted, such as `4h`.", pattern=DURATION, maxLength=32)
    ]
    emails: Emails = ()
    roles: Roles = ()


class ExceptionPolicySpec(Model):
    RULES = (
        rule(
            "has(self.require) || !has(self.unless) || self.unless.size() == 0",
            "unless says when require does not apply: set require, or remove unless",
            field=".unless",
        ),
        rule(
            "has(self.require) || !has(self.escalateAfter)",
            "escalateAfter adds approvers to those of require: set require, or remove escalateAfter",
            field=".escalateAfter",
        ),
        rule(
            "!has(self.reasonPattern) || (has(self.reasonRequired) && self.reasonRequired)",
            "reasonPattern has an effect only with reasonRequired: true",
            field=".reasonPattern",
        ),
    )

    message: Annotated[
        str,
        says(
            "Why the policy exists, in a sentence: people read it where the policy refuses something or asks"
            " for an approval.",
            maxLength=512,
        ),
    ] = ""
    namespace_selector: Annotated[
        Selector | None,
        says(
            "Only in the operator's own namespace: the namespaces whose plans this is about. `{}` means all"
            " namespaces. Without it, a policy is about the plans of its own namespace."
        ),
    ] = None
    plan_selector: Annotated[
        Selector | None, says("The plans that it is about, by their labels; all when absent.")
    ] = None
    remediation_selector: Annotated[
        Selector | None,
        says(
            "The AIAnalyses whose RemediationApprovalRequests it is about, by their labels. `{}` means all;"
            " none when absent. Only `require`, `escalateAfter` and `channels` count for them. A policy that"
            " has this and no `planSelector` is about no plans."
        ),
    ] = None
    require: Annotated[
        Requirement | None, says("Who must agree, besides those whom the exception and other policies name.")
    ] = None
    unless: Annotated[
        tuple[Relief, ...],
        says(
            "Cases in which `require` does not apply; one is enough. Limits and freezes apply always.",
            maxItems=8,
            x_kubernetes_list_type="atomic",
        ),
    ] = ()
    limits: Annotated[Limits | None, says("What no exception may exceed, even with all approvals.")] = None
    freeze: Annotated[
        tuple[Freeze, ...],
        says("Times in which no exception may begin.", maxItems=16, x_kubernetes_list_type="atomic"),
    ] = ()
    escalate_after: Annotated[
        Escalation | None, says("Who may agree in place of those of `require` after some time.")
    ] = None
    channels: Annotated[
        tuple[CountedChannel, ...],
        says(
            "The channels through which an approval counts; all when empty. A rejection counts through any.",
            maxItems=6,
            x_kubernetes_list_type="set",
        ),
    ] = ()
    reason_required: Annotated[bool, says("Whether an exception must say its reason.", default=False)] = False
    reason_pattern: Annotated[
        str | None,
        says(
            "What the reason must contain, such as a ticket number: `[A-Z]+-[0-9]+`. A regular expression"
            " with classes, `|`, `^`, `$` and the repetitions `?`, `*`, `+` and `{2,4}`, without groups.",
            pattern=PATTERN,
            minLength=1,
            maxLength=LONGEST_PATTERN,
        ),
    ] = None


class ExceptionPolicy(Object, kw_only=True):
    """Says who must agree to the exceptions of plans, and which exceptions there may be."""

    spec: Annotated[ExceptionPolicySpec, says("Which plans, who must agree, and what is not allowed.")]
    status: Annotated[ReadyStatus, says("Whether the policy can be read.")] = ReadyStatus()


EXCEPTION_POLICIES = Kind(ExceptionPolicy, DOMAIN, "v1alpha1", "ExceptionPolicy", "exceptionpolicies")
