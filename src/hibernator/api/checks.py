"""Everything that can be said about an object of ours without a cluster and without knowing about time.

What the CRDs check by schema and by CEL is checked here again in Python, for files that are not applied yet
and with better words; and besides what CEL cannot say, for which admission calls these same functions. Time
itself (zones, windows, validity) is `schedule`'s business.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain, islice
from typing import Any, get_args

from hibernator.api.cloudprovider import CloudType
from hibernator.api.kind import Kind
from hibernator.api.kinds import all_kinds
from hibernator.api.meta import OBJECT_NAME, SHORT_NAME
from hibernator.api.plan_checks import Document, block, check_plan, entries, text, texts
from hibernator.api.policy_checks import check_policy, check_threshold
from hibernator.api.problem import Problem
from hibernator.api.schema import Schema, schema_of_object
from hibernator.api.structural import MOST_PROBLEMS, check, guess

_CLOUDS = get_args(CloudType)
# Before it moved, the group of plans and exceptions.
_OLD_GROUP = "hibernator.ardikasaputro.io"
_STRINGS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
# What the API server writes itself is let through unread: people save what `kubectl get -o yaml` prints.
_METADATA: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": OBJECT_NAME, "maxLength": 253},
        "generateName": {"type": "string", "maxLength": 253},
        "namespace": {"type": "string", "pattern": SHORT_NAME, "maxLength": 63},
        "labels": _STRINGS,
        "annotations": _STRINGS,
        "finalizers": {"type": "array", "items": {"type": "string"}},
        **{
            name: {}
            for name in (
                "ownerReferences",
                "uid",
                "resourceVersion",
                "generation",
                "creationTimestamp",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
                "managedFields",
                "selfLink",
            )
        },
    },
}


def check_document(document: Document) -> list[Problem]:
    """The mistakes in a document, up to `MOST_PROBLEMS`; nothing for kinds that are not ours."""
    kind, problem = _identified(document)
    problems = [problem] if problem else []
    if kind is not None:
        rules = (found for rule in _CHECKS.get(kind.kind, ()) for found in rule(document))
        found = chain(_metadata(document), check(_schema(kind), document), rules)
        problems += islice(found, MOST_PROBLEMS)
    return problems


def _identified(document: Document) -> tuple[Kind[Any] | None, Problem | None]:
    """Find out what kind of ours a document is, or means to be."""
    api_version, name = text(document, "apiVersion"), text(document, "kind")
    ours = {(kind.api_version, kind.kind): kind for kind in all_kinds()}
    if (api_version, name) in ours:
        return ours[api_version, name], None
    group = api_version.partition("/")[0]
    groups = {kind.group for kind in ours.values()} | {_OLD_GROUP}
    if group and not guess(group, groups):
        return None, None
    namesakes = [kind for kind in ours.values() if kind.kind == name]
    if namesakes:
        wrong = f"{name} is not in {api_version}" if api_version else "it is missing"
        fix = f"Write {namesakes[0].api_version}."
        return namesakes[0], Problem("apiVersion", api_version or None, wrong, fix)
    if group not in groups:
        return None, None
    names = sorted({kind.kind for kind in ours.values() if group in {kind.group, _OLD_GROUP}})
    meant = guess(name, names)
    fix = f"Did you mean {meant}?" if meant else f"Write one of {', '.join(names)}."
    wrong = f"{api_version} has no kind {name}" if name else "it is missing"
    return None, Problem("kind", name or None, wrong, fix)


@cache
def _schema(kind: Kind[Any]) -> Schema:
    schema = schema_of_object(kind.type)
    return schema | {"properties": schema["properties"] | {"metadata": _METADATA}}


def _metadata(document: Document) -> Iterator[Problem]:
    metadata = block(document, "metadata")
    if not metadata.get("name") and not metadata.get("generateName"):
        yield Problem("metadata.name", None, "it is missing", "Add a name.")


def _own_namespace(*path: str) -> Callable[[Document], Iterator[Problem]]:
    """Make a check that a reference stays in the object's namespace, when both are written down."""

    def stays(document: Document) -> Iterator[Problem]:
        own, other = text(document, "metadata", "namespace"), text(document, *path)
        if own and other and own != other:
            yield Problem(
                ".".join(path),
                other,
                f"it is another namespace than the object's own, {own}",
                f"Remove it, or write {own}.",
            )

    return stays


def _measured(document: Document) -> Iterator[Problem]:
    """Check what only v1beta1 of a scaler has; in v1alpha1 it is unknown, which was reported already."""
    if not text(document, "apiVersion").endswith("/v1beta1"):
        return
    for index, window in entries(document, "spec", "windows"):
        path = f"spec.windows[{index}]"
        given = [name for name in ("replicas", "external") if window.get(name) is not None]
        if len(given) != 1:
            found = "replicas and external are both set" if given else "it has no number of replicas"
            yield Problem(path, window, found, "Write exactly one of replicas and external.")
        least, most = (block(window, "external").get(name) for name in ("min", "max"))
        if isinstance(least, int) and isinstance(most, int) and least > most:
            yield Problem(
                f"{path}.external.min", least, f"it is greater than max, {most}", f"Write {most} or less."
            )


def _approvers(document: Document) -> Iterator[Problem]:
    spec = block(document, "spec")
    if not all(isinstance(spec.get(name, []), list) for name in ("approverEmails", "approvalRequiredRoles")):
        return  # how many there are is unknown, and the schema says why
    emails = texts(spec, "approverEmails")
    number = len(emails) + len(texts(spec, "approvalRequiredRoles"))
    if spec.get("approvalRequired") is True and number == 0:
        yield Problem(
            "spec.approvalRequired",
            True,
            "no approver is named",
            "Set approverEmails or approvalRequiredRoles.",
        )
    yield from check_threshold(spec.get("approvalThreshold"), number, "spec.approvalThreshold")
    seen: dict[str, str] = {}
    for index, email in enumerate(emails):
        first = seen.setdefault(email.lower(), email)
        if first != email:
            yield Problem(
                f"spec.approverEmails[{index}]", email, f"it is the same person as {first}", "Remove it."
            )


def _cloud(document: Document) -> Iterator[Problem]:
    spec = block(document, "spec")
    kind = text(spec, "type")
    for name in _CLOUDS:
        if kind == name and not isinstance(spec.get(name), dict):
            yield Problem(f"spec.{name}", None, f"it is missing, and type is {kind}", f"Add {name}.")
        elif kind in set(_CLOUDS) - {name} and spec.get(name) is not None:
            yield Problem(f"spec.{name}", spec[name], f"type is {kind}", f"Remove it, or write type: {name}.")
        auth = block(spec, name, "auth")
        if isinstance(spec.get(name), dict) and "auth" in spec[name]:
            yield from _exactly_one(auth, ("serviceAccount", "static"), f"spec.{name}.auth")


def _cluster(document: Document) -> Iterator[Problem]:
    spec = block(document, "spec")
    return _exactly_one(spec, ("inCluster", "kubeconfigRef", "eks", "gke"), "spec")


def _exactly_one(holder: Document, ways: tuple[str, ...], path: str) -> Iterator[Problem]:
    chosen = [way for way in ways if holder.get(way) not in (None, False)]
    if len(chosen) != 1:
        found = f"{' and '.join(chosen)} are set" if chosen else "none of them is set"
        yield Problem(path, chosen, found, f"Set exactly one of {', '.join(ways)}.")


def _decisions(document: Document) -> Iterator[Problem]:
    decisions = [
        (f"status.conditions[{index}]", condition)
        for index, condition in entries(document, "status", "conditions")
        if text(condition, "type") in {"Approved", "Rejected"}
    ]
    for path, condition in decisions:
        if condition.get("status") != "True":
            yield Problem(
                f"{path}.status",
                condition.get("status"),
                "a decision can only be made, not unmade",
                'Write "True".',
            )
    if len({text(condition, "type") for _, condition in decisions}) > 1:
        yield Problem(
            "status.conditions", None, "Approved and Rejected exclude each other", "Keep one of them."
        )


def _quiet_hours(document: Document) -> Iterator[Problem]:
    quiet = block(document, "spec", "quietHours")
    start, end = text(quiet, "start"), text(quiet, "end")
    if start and start.zfill(5) == end.zfill(5):
        yield Problem("spec.quietHours", start, "start must not equal end", "Write another end.")


def _until(document: Document) -> Iterator[Problem]:
    spec = block(document, "spec")
    if spec.get("until") is not None and spec.get("action") != "Suspend":
        found = "it goes with action Suspend only"
        yield Problem("spec.until", spec["until"], found, "Remove it.")


_CHECKS: Mapping[str, tuple[Callable[[Document], Iterator[Problem]], ...]] = {
    "HibernatePlan": (check_plan,),
    "ScheduleException": (_own_namespace("spec", "planRef", "namespace"), _approvers),
    "TimeWindowScaler": (_own_namespace("spec", "targetRef", "namespace"), _measured),
    "ExceptionPolicy": (check_policy,),
    "PlanRequest": (_until,),
    "CloudProvider": (_cloud,),
    "K8SCluster": (_cluster,),
    "HibernateNotification": (_quiet_hours,),
    "RemediationApprovalRequest": (_decisions,),
}
