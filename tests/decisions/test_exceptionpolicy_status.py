"""What an ExceptionPolicy says about itself, and what the audit trail gets to know of it."""

from typing import Any

import msgspec
import pytest
from whenever import Instant, TimeDelta

from decisions.policies import MANAGER, policy
from hibernator.api.exceptionpolicy import ExceptionPolicy
from hibernator.decisions.exceptionpolicy_status import Decision, Seen, decide
from hibernator.decisions.journal import CHANGED_BY, note

NOW = Instant("2026-03-02T08:00:00Z")
HOME = "hibernator-system"


def look(found: ExceptionPolicy, now: Instant = NOW) -> Decision:
    return decide(Seen(policy=found, home=HOME), now)


def after(found: ExceptionPolicy, decision: Decision, **spec: Any) -> ExceptionPolicy:
    """The policy with the status that was decided, and with another spec if one is given."""
    assert decision.status
    metadata = found.metadata
    if spec:
        generation = metadata.generation + 1
        by = {CHANGED_BY: note(generation, "olga")}
        metadata = msgspec.structs.replace(metadata, generation=generation, annotations=by)
        found = policy(namespace=metadata.namespace, **spec)
    return msgspec.structs.replace(found, metadata=metadata, status=decision.status)


def ready(decision: Decision) -> tuple[str, str, str]:
    assert decision.status
    [condition] = decision.status.conditions
    return condition.status, condition.reason, condition.message


def recorded(decision: Decision) -> list[str]:
    return [one.type for one in decision.status.journal] if decision.status else []


@pytest.mark.parametrize(
    ("namespace", "spec", "reason", "about"),
    [
        ("shop", {}, "InForce", "plans of the namespace shop."),
        (HOME, {}, "InForce", f"plans of the namespace {HOME}."),
        (HOME, {"namespaceSelector": {}}, "InForce", "the namespaces that namespaceSelector selects."),
        (
            "shop",
            {"namespaceSelector": {}},
            "NamespaceSelectorRefused",
            f"only in the namespace {HOME}:",
        ),
    ],
)
def test_a_policy_says_which_plans_it_is_about(
    namespace: str, spec: dict[str, Any], reason: str, about: str
) -> None:
    decision = look(policy(namespace=namespace, **MANAGER, **spec))
    status, said, message = ready(decision)
    assert (status, said) == ("True" if reason == "InForce" else "False", reason)
    assert about in message
    tell = "Normal" if reason == "InForce" else "Warning"
    assert [(one.type, one.reason, one.message) for one in decision.notices] == [(tell, reason, message)]
    assert recorded(decision) == ["created", "ready" if reason == "InForce" else "degraded"]
    assert decision.after is None


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"reasonRequired": True, "reasonPattern": "[A-"}, "spec.reasonPattern: "),
        ({"freeze": [{"firstDay": "2026-02-30", "lastDay": "2026-03-01"}]}, "spec.freeze[0].firstDay: there"),
        ({"freeze": [{"firstDay": "2026-02-01", "lastDay": "2026-02-29"}]}, "spec.freeze[0].lastDay: there"),
        ({"limits": {"maxDuration": f"{10**12}h"}}, "spec.limits.maxDuration: "),
        ({"limits": {"minNotice": f"{10**12}h"}}, "spec.limits.minNotice: "),
        (MANAGER | {"unless": [{"durationAtMost": "4"}]}, "spec.unless[0].durationAtMost: '4' is not a"),
        (
            MANAGER | {"escalateAfter": {"after": f"{10**11}h", "roles": ["director"]}},
            "spec.escalateAfter.after: it ends after the year 9999. Write a shorter duration",
        ),
    ],
)
def test_a_mistake_that_no_schema_finds_is_named_and_nothing_passes_the_policy(
    spec: dict[str, Any], where: str
) -> None:
    status, reason, message = ready(look(policy(namespace="shop", **spec)))
    assert (status, reason) == ("False", "InvalidSpec")
    assert message.startswith(f"No exception passes this policy until it is corrected. {where}")


def test_the_same_again_is_no_news() -> None:
    found = policy(namespace="shop", **MANAGER)
    first = look(found)
    again = look(after(found, first), NOW + TimeDelta(hours=1))
    assert again.status == first.status
    assert again.notices == ()


def test_a_change_is_recorded_with_who_made_it_and_what_came_of_it() -> None:
    found = policy(namespace="shop", **MANAGER)
    changed = after(found, look(found), reasonRequired=True, reasonPattern="[A-")
    decision = look(changed, NOW + TimeDelta(hours=1))
    assert recorded(decision) == ["created", "ready", "changed", "degraded"]
    assert decision.status
    change, trouble = decision.status.journal[2:]
    assert change.data == {"generation": changed.metadata.generation, "user": "olga"}
    assert "reasonPattern" in trouble.message
    assert [one.type for one in decision.notices] == ["Warning"]
    mended = look(after(changed, decision, **MANAGER), NOW + TimeDelta(hours=2))
    assert recorded(mended)[-2:] == ["changed", "ready"]


def test_nothing_is_said_about_a_policy_that_is_going() -> None:
    found = policy(namespace="shop", **MANAGER)
    metadata = msgspec.structs.replace(found.metadata, deletion_timestamp=NOW.to_stdlib())
    assert look(msgspec.structs.replace(found, metadata=metadata)) == Decision()


@pytest.mark.parametrize("other", ["Bob@Company.com", "carol@company.com"])
def test_who_is_named_twice_in_any_case_of_letters_is_a_mistake(other: str) -> None:
    _, _, message = ready(look(policy(require={"emails": ["bob@company.com", other]})))
    assert ("spec.require.emails: it is there twice" in message) == other.startswith("Bob")
