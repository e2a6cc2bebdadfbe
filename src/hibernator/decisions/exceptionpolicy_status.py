"""What the status of an ExceptionPolicy says: whether it can be read, and which plans it is about."""

from dataclasses import dataclass
from typing import Literal

from whenever import Instant

from hibernator.api.exceptionpolicy import ExceptionPolicy
from hibernator.api.meta import ReadyStatus
from hibernator.decisions.conditions import ConditionState, Notice
from hibernator.decisions.exceptionpolicy_problems import check_policy_spec
from hibernator.decisions.readiness import READY, is_news, ready_status

Reason = Literal["InForce", "InvalidSpec", "NamespaceSelectorRefused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the decision may look at."""

    policy: ExceptionPolicy
    home: str  # the operator's own namespace
    recorded: frozenset[int] = frozenset()  # what of the journal the audit trail has


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    status: ReadyStatus | None = None
    notices: tuple[Notice[Reason], ...] = ()
    after: float | None = None  # every change comes by a watch


def decide(seen: Seen, now: Instant) -> Decision:
    policy, before = seen.policy, seen.policy.status
    if policy.metadata.deletion_timestamp:
        return Decision()
    reason, message = _said(seen)
    verdict = ConditionState(READY, reason == "InForce", reason, message)
    notice: Notice[Reason] = Notice("Normal" if verdict.holds else "Warning", reason, message)
    return Decision(
        status=ready_status(before, policy.metadata, verdict, seen.recorded, now),
        notices=(notice,) if is_news(before.conditions, verdict) else (),
    )


def _said(seen: Seen) -> tuple[Reason, str]:
    spec, namespace = seen.policy.spec, seen.policy.metadata.namespace
    if problems := tuple(check_policy_spec(spec)):
        why = " ".join(f"{p.path}: {p.message}. {p.fix}" for p in problems)
        return "InvalidSpec", f"No exception passes this policy until it is corrected. {why}"
    if spec.namespace_selector is None:
        return "InForce", f"It is about plans of the namespace {namespace}."
    if namespace == seen.home:
        return "InForce", "It is about plans of the namespaces that namespaceSelector selects."
    return "NamespaceSelectorRefused", (
        f"namespaceSelector has an effect only in the namespace {seen.home}: here, the policy is about plans "
        f"of the namespace {namespace}. Remove it, or create the policy there."
    )
