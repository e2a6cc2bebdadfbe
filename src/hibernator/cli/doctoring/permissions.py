"""Whether the operator may do all that it will try, asked of the cluster and not read from RBAC objects."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from hibernator.api.hibernateplan import PLANS
from hibernator.api.patching import group_of
from hibernator.cli.doctoring.findings import Finding, Findings, InstalledOperator, Level, apply
from hibernator.cli.doctoring.reach import whoami
from hibernator.executors.patches import VERBS
from hibernator.kube.together import together
from hibernator.operator.roles import OPERATOR, OPERATOR_CLUSTER, OPERATOR_HOME, Home, Right

_API: Final = "/apis/authorization.k8s.io/v1"
_AT_ONCE: Final = 8
_FOR_PATCHES: Final = (
    "Bind a role for {} to it, as the guide on patches shows: a target of type patches needs it."
)


async def permissions(installation: InstalledOperator) -> Findings:
    # Every user may ask what they may do themselves. The operator may ask no more than that.
    itself = await whoami(installation) == installation.home.user
    turns = asyncio.Semaphore(_AT_ONCE)
    patches = await _patches(installation)
    patched = {right.resource for right, _ in patches} - {right.resource for right in OPERATOR}
    rights = [*_rights(installation.home), *patches]
    questions = [question for right, place in rights for question in _questions(right, place)]

    async def ask(attributes: dict[str, str]) -> tuple[bool | None, str]:
        async with turns:
            kind = "SelfSubjectAccessReview" if itself else "SubjectAccessReview"
            subject = {} if itself else _subject(installation.home)
            review = {"apiVersion": "authorization.k8s.io/v1", "kind": kind}
            spec = {"spec": subject | {"resourceAttributes": attributes}}
            found = await installation.asker.post(f"{_API}/{kind.lower()}s", review | spec)
        if not found.ok:
            return None, found.message
        return bool(found.body["status"]["allowed"]), _words(attributes)

    answers = await together(map(ask, questions))
    user = installation.home.user
    refused = [
        (words, asked["resource"])
        for (allowed, words), asked in zip(answers, questions, strict=True)
        if allowed is False
    ]
    unknown = [words for allowed, words in answers if allowed is None]
    if unknown:
        yield Finding(
            "permissions",
            Level.SKIP,
            f"you may not ask what {user} may do: {unknown[0]}",
            "Run the doctor as an administrator.",
        )
    for words, resource in refused:
        fix = _FOR_PATCHES.format(resource) if resource in patched else apply(installation.home)
        yield Finding("permissions", Level.FAIL, f"{user} may not {words}", fix)
    if not unknown and not refused:
        yield Finding("permissions", Level.OK, f"{user} may do all {len(answers)} things that it needs")


def _rights(home: Home) -> Iterator[tuple[Right, str]]:
    yield from ((right, "") for right in (*OPERATOR, *OPERATOR_CLUSTER))
    yield from ((right, home.namespace) for right in OPERATOR_HOME)


async def _patches(installation: InstalledOperator) -> list[tuple[Right, str]]:
    """What the targets of type `patches` need, whose kinds the operator's own roles do not have."""
    found = await installation.asker.get(PLANS.path())
    rights: dict[tuple[Right, str], None] = {}
    for plan in found.body.get("items", ()) if found.ok else ():
        for target in plan["spec"]["targets"]:
            if target["type"] == "patches":
                wanted = target.get("parameters", {})
                group = group_of(str(wanted.get("apiVersion", "")))
                right = Right(group, str(wanted.get("resource", "")), VERBS)
                chosen = wanted.get("namespace", {})
                for place in (*chosen.get("literals", ()), *([""] if chosen.get("selector") else [])):
                    rights[right, place] = None
    return list(rights)


def _questions(right: Right, namespace: str) -> Iterator[dict[str, str]]:
    resource, _, part = right.resource.partition("/")
    for verb in right.verbs:
        for name in right.names or ("",):
            asked = {"group": right.group, "resource": resource, "subresource": part, "verb": verb}
            yield {
                key: value for key, value in (asked | {"namespace": namespace, "name": name}).items() if value
            }


def _subject(home: Home) -> dict[str, Any]:
    groups = [
        "system:serviceaccounts",
        f"system:serviceaccounts:{home.namespace}",
        "system:authenticated",
    ]
    return {"user": home.user, "groups": groups}


def _words(attributes: dict[str, str]) -> str:
    resource = attributes["resource"] + (f".{attributes['group']}" if "group" in attributes else "")
    part = f"/{attributes['subresource']}" if "subresource" in attributes else ""
    name = f" {attributes['name']}" if "name" in attributes else ""
    place = f" in {attributes['namespace']}" if "namespace" in attributes else ""
    return f"{attributes['verb']} {resource}{part}{name}{place}"
