"""Whether the operator may do all that it will try, asked of the cluster and not read from RBAC objects."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from hibernator.cli.doctoring.findings import Finding, Findings, Level, Patient, apply
from hibernator.cli.doctoring.reach import whoami
from hibernator.kube.together import together
from hibernator.operator.roles import OPERATOR, OPERATOR_CLUSTER, OPERATOR_HOME, Home, Right

_API: Final = "/apis/authorization.k8s.io/v1"
_AT_ONCE: Final = 8


async def permissions(patient: Patient) -> Findings:
    # Everybody may ask what they may do themselves, and the operator is one who may ask no more than that.
    itself = await whoami(patient) == patient.home.user
    turns = asyncio.Semaphore(_AT_ONCE)
    questions = [question for right, place in _rights(patient.home) for question in _questions(right, place)]

    async def ask(attributes: dict[str, str]) -> tuple[bool | None, str]:
        async with turns:
            kind = "SelfSubjectAccessReview" if itself else "SubjectAccessReview"
            subject = {} if itself else _subject(patient.home)
            review = {"apiVersion": "authorization.k8s.io/v1", "kind": kind}
            spec = {"spec": subject | {"resourceAttributes": attributes}}
            found = await patient.asker.post(f"{_API}/{kind.lower()}s", review | spec)
        if not found.ok:
            return None, found.message
        return bool(found.body["status"]["allowed"]), _words(attributes)

    answers = await together(map(ask, questions))
    user = patient.home.user
    refused = [words for allowed, words in answers if allowed is False]
    unknown = [words for allowed, words in answers if allowed is None]
    if unknown:
        yield Finding(
            "permissions",
            Level.SKIP,
            f"you may not ask what {user} may do: {unknown[0]}",
            "Run the doctor as an administrator.",
        )
    for words in refused:
        yield Finding("permissions", Level.FAIL, f"{user} may not {words}", apply(patient.home))
    if not unknown and not refused:
        yield Finding("permissions", Level.OK, f"{user} may do all {len(answers)} things that it needs")


def _rights(home: Home) -> Iterator[tuple[Right, str]]:
    yield from ((right, "") for right in (*OPERATOR, *OPERATOR_CLUSTER))
    yield from ((right, home.namespace) for right in OPERATOR_HOME)


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
