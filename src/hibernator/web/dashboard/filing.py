"""Exceptions that people file on a page: in their own name, and only where Kubernetes lets them file one."""

from typing import Any, Final

import structlog

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.approvals.people import own_groups
from hibernator.decisions.scheduleexception_request import VERIFIED_EMAIL, requester_notes
from hibernator.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, Invalid
from hibernator.web.identity import Identity
from hibernator.web.refusals import Page, RefusedError
from hibernator.web.site import Site

SEEN_WITHIN: Final = 4.0  # seconds for which to wait until our own watch has it

_log: Final = structlog.get_logger(__name__)


class NotFiledError(Exception):
    """The API server did not take it; the message is its sentence, for the person who asked."""


async def plan_of(site: Site, who: Identity, text: str) -> HibernatePlan:
    """The plan that is meant by `namespace/name`; as if there were none where it is not to be seen."""
    namespace, _, name = text.strip().partition("/")
    plan = site.cases.plans.get(namespace, name)
    if plan is None or not await site.seeing.sees(who, PLANS, namespace, name):
        raise RefusedError("not_found", _NO_PLAN, status=404)
    return plan


async def may_file(site: Site, who: Identity, namespace: str) -> bool:
    return await site.seeing.may(who, "create", EXCEPTIONS, namespace)


async def check(site: Site, who: Identity, namespace: str) -> None:
    """Raise RefusedError where a person may not file exceptions."""
    if not await may_file(site, who, namespace):
        words = f"Kubernetes does not let {who.username} create ScheduleExceptions in {namespace}."
        fix = "Ask an administrator for the role hibernator-requester in that namespace."
        page = Page("You may not ask for exceptions here", f"{words} Nothing was changed.", fix, again="/")
        raise RefusedError("rbac", page)


def notes(who: Identity) -> dict[str, str]:
    """Who asks, as the log-in vouched for them."""
    return requester_notes(who.username, {VERIFIED_EMAIL: who.email}, own_groups(who.groups))


async def file(site: Site, who: Identity, document: dict[str, Any], namespace: str) -> ScheduleException:
    """Create it, and wait until our pages know it; NotFiledError with what stands in the way."""
    await check(site, who, namespace)
    try:
        made = await site.client.create(EXCEPTIONS, document, namespace)
    except AlreadyExists as error:
        name = document["metadata"]["name"]
        raise NotFiledError(
            f"There is an exception {name} in {namespace} already: write another name."
        ) from error
    except (Invalid, Forbidden, Conflict) as error:
        raise NotFiledError(sentence(error)) from error
    _log.info("exception filed", namespace=namespace, name=made.metadata.name, user=who.username)
    await site.cases.until(made.metadata.uid, lambda _found: True, SEEN_WITHIN)
    return made


def sentence(error: ApiError) -> str:
    """What the API server said, without the names of our webhooks before it."""
    words = error.message.rpartition("denied the request: ")[2]
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


_NO_PLAN: Final = Page(
    "There is no such plan",
    "It does not exist, or you may not see it.",
    "Ask an administrator for the role hibernator-requester in its namespace.",
    again="/",
)
