"""What people ask of a plan itself: suspend, resume, retry. The web process may not write plans.

It files a PlanRequest in the name of a person whom Kubernetes lets patch the plan, and the operator carries
it out. That is success only when it has: a page that says so has seen it.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Final

import structlog
from whenever import Instant

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.meta import says
from hibernator.api.planrequest import PLAN_REQUESTS, Action, PlanRequest
from hibernator.decisions.journal import created_at
from hibernator.decisions.planrequest import requester, was_carried_out
from hibernator.kube.errors import Conflict, Forbidden, Invalid
from hibernator.web.dashboard import filing
from hibernator.web.dashboard.views import View
from hibernator.web.identity import Identity
from hibernator.web.refusals import Page, RefusedError
from hibernator.web.site import Site

_MOST: Final = 5  # requests that a page shows

_log: Final = structlog.get_logger(__name__)


class RequestView(View):
    """What a person asked of a plan on its page."""

    at: Annotated[datetime, says("When it was asked for.")]
    said: Annotated[str, says("Who asked for what.")]
    state: Annotated[str, says("`Requested`, `Done` or `Refused`.")]
    message: Annotated[str, says("What became of it.")]


async def may(site: Site, who: Identity, plan: HibernatePlan) -> bool:
    """Whether a person could change the plan with a command of their own."""
    return await site.seeing.may(who, "patch", PLANS, plan.metadata.namespace, plan.metadata.name)


async def ask(site: Site, who: Identity, plan: HibernatePlan, document: dict[str, Any]) -> None:
    """File it, and wait for the answer, for so long; NotFiledError where the operator refuses it."""
    if not await may(site, who, plan):
        where = plan.metadata.namespace
        words = f"Kubernetes does not let {who.username} change plans in {where}. Nothing was changed."
        fix = "Ask an administrator for the role hibernator-planner in that namespace."
        raise RefusedError("rbac", Page("You may not change this plan", words, fix, again="/"))
    try:
        made = await site.client.create(PLAN_REQUESTS, document, plan.metadata.namespace)
    except (Invalid, Forbidden, Conflict) as error:
        raise filing.NotFiledError(filing.sentence(error)) from error
    named, uid = made.metadata, made.metadata.uid
    _log.info("plan request filed", namespace=named.namespace, name=named.name, user=who.username)

    def answered() -> PlanRequest | None:
        """Until this process has seen the answer and, where it was done, the plan with the change."""
        found = site.cases.plan_requests.get(named.namespace, named.name)
        now = site.cases.plans.get(named.namespace, plan.metadata.name)
        if found is None or found.status.state is None:
            return None
        return found if found.status.state == "Refused" or (now and was_carried_out(now, uid)) else None

    answer = await site.cases.seen(uid, answered, filing.SEEN_WITHIN)
    if answer and answer.status.state == "Refused":
        raise filing.NotFiledError(answer.status.message)


def document(
    plan: HibernatePlan, action: Action, until: Instant | None, reason: str, notes: dict[str, str]
) -> dict[str, Any]:
    """The object to create; it goes with the plan."""
    metadata = plan.metadata
    owner = {
        "apiVersion": PLANS.api_version,
        "kind": PLANS.kind,
        "name": metadata.name,
        "uid": metadata.uid,
    }
    spec = {
        "plan": {"name": metadata.name, "uid": metadata.uid},
        "action": action,
        "until": until.format_iso(unit="second") if until else "",
        "reason": reason,
    }
    return {
        "metadata": {
            "generateName": f"{metadata.name}-{action.lower()}-",
            "namespace": metadata.namespace,
            "annotations": notes,
            "ownerReferences": [owner],
        },
        "spec": {key: value for key, value in spec.items() if value},
    }


def shown(requests: Iterable[PlanRequest]) -> tuple[RequestView, ...]:
    """The first of them, for the page of their plan."""
    return tuple(
        RequestView(
            at=created_at(one.metadata).to_stdlib(),
            said=f"{one.spec.action}, asked for by {requester(one)}",
            state=one.status.state or "Requested",
            message=one.status.message or "The operator has not carried it out yet.",
        )
        for one, _ in zip(requests, range(_MOST), strict=False)
    )
