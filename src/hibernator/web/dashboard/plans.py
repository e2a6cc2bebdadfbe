"""The plans: a list that can be searched, and the page of each."""

from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import Any, Final

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.decisions.hibernateplan_kept import KeptPlan
from hibernator.kube.reading import ReadApiError
from hibernator.web.dashboard.actions import offers, restore_command, typed
from hibernator.web.dashboard.audit import events_of
from hibernator.web.dashboard.board import Board
from hibernator.web.dashboard.lanes import pieces, resource_of
from hibernator.web.dashboard.sums import lane_start
from hibernator.web.dashboard.viewer import Viewer
from hibernator.web.dashboard.views import (
    KEPT_STATES,
    MOST_ROWS,
    PHASES,
    PlanList,
    PlanView,
    is_failed,
    next_change,
    plan_row,
    plan_view,
    state_words,
)
from hibernator.web.known import LIVE
from hibernator.web.refusals import Page, RefusedError

PATH: Final = "/plans"

_SORTS: Final[dict[str, Callable[[HibernatePlan], Any]]] = {
    "name": lambda plan: (plan.metadata.name, plan.metadata.namespace),
    "namespace": lambda plan: (plan.metadata.namespace, plan.metadata.name),
    "state": lambda plan: (state_words(plan), plan.metadata.namespace, plan.metadata.name),
    "next": lambda plan: (_next(plan), plan.metadata.namespace, plan.metadata.name),
}


class Plans:
    def __init__(self, board: Board) -> None:
        self._board = board

    def routes(self) -> list[BaseRoute]:
        return [
            self._board.route(PATH, self._list),
            self._board.route(f"{PATH}/{{namespace}}/{{name}}", self._one),
        ]

    async def listed(self, who: Viewer, query: QueryParams) -> tuple[PlanList, list[HibernatePlan]]:
        """The plans that a question asks for, of those that the viewer may see; and the plans of the page."""
        found = [plan for plan in await who.plans() if fits(plan, query)]
        found.sort(key=_SORTS.get(query.get("sort", ""), _SORTS["namespace"]))
        shown, number, pages = page_of(found, query)
        rows = tuple(plan_row(plan) for plan in shown)
        return PlanList(items=rows, total=len(found), page=number, pages=pages), shown

    async def viewed(self, who: Viewer, plan: HibernatePlan) -> PlanView:
        now = self._board.site.clock.now()
        exceptions = await who.exceptions_of(plan)
        return plan_view(plan, exceptions, self._board.lanes.day(plan, exceptions, now), now)

    async def restore_data(self, request: Request, who: Viewer) -> KeptPlan:
        """What of a plan sleeps; RefusedError without a way to the operator, AwayError where it is silent."""
        found = await who.kept(await who.plan(**request.path_params))
        if found is None:
            words = "This web process has no way to the operator, which reads restore data."
            page = Page("There is no restore data here", words, "Set trailUrl.", again="/", label="Overview")
            raise RefusedError("no_operator", page, status=404)
        return found

    async def _list(self, request: Request, who: Viewer) -> Response:
        listed, plans = await self.listed(who, request.query_params)
        namespaces = sorted({plan.metadata.namespace for plan in await who.plans()})
        start = lane_start(self._board.site.clock.now())
        cases = self._board.site.cases
        lanes = {
            plan.metadata.uid: pieces(
                self._board.lanes.day(
                    plan, cases.of_plan(plan.metadata.namespace, plan.metadata.name), start
                ),
                start,
            )
            for plan in plans
        }
        return self._board.show(
            request,
            who,
            "plans.html",
            here="plans",
            topics="plans exceptions",
            listed=listed,
            lanes=lanes,
            start=start,
            namespaces=namespaces,
            phases=PHASES,
        )

    async def _one(self, request: Request, who: Viewer) -> Response:
        plan = await who.plan(request.path_params["namespace"], request.path_params["name"])
        exceptions = await who.exceptions_of(plan)
        now = self._board.site.clock.now()
        picture = await self._board.picture(plan, resource_of(plan, exceptions), *exceptions)
        lanes, start = self._board.lanes, lane_start(now)
        view = plan_view(plan, exceptions, lanes.day(plan, exceptions, now), now)
        kept, away = await _kept(who, plan)
        response = self._board.show(
            request,
            who,
            "plan.html",
            here="plans",
            topics="plans exceptions requests",
            view=view,
            picture=picture,
            lane=pieces(lanes.day(plan, exceptions, start), start),
            start=start,
            events=await events_of(who, PLANS, plan.metadata.namespace, plan.metadata.name),
            has_trail=self._board.site.trail is not None,
            kept=kept,
            kept_words=KEPT_STATES,
            away=away,
            restore_command=restore_command(plan),
            offers=await offers(self._board.site, who.session.identity, plan),
            typed=typed(self._board.site, request),
        )
        written = self._board.site.typed
        if written.find(request) and LIVE not in request.headers:  # shown once, where the person sees it
            written.forget(response)
        return response


async def _kept(who: Viewer, plan: HibernatePlan) -> tuple[KeptPlan | None, str]:
    """What restore data says, or why that is not known."""
    try:
        return await who.kept(plan), ""
    except ReadApiError as error:
        return None, str(error)


def page_of(found: Sequence[Any], query: QueryParams) -> tuple[list[Any], int, int]:
    """The rows of a page, its number, and how many pages there are."""
    pages = max(1, ceil(len(found) / MOST_ROWS))
    asked = query.get("page", "")
    number = min(pages, max(1, int(asked))) if asked.isdecimal() and len(asked) < 9 else 1  # noqa: PLR2004  digits
    return list(found[(number - 1) * MOST_ROWS : number * MOST_ROWS]), number, pages


def has_words(texts: Iterable[str], words: str) -> bool:
    """Whether each of these words is in one of the texts, whatever the case of the letters."""
    whole = "\n".join(texts).lower()
    return all(word in whole for word in words.lower().split())


def fits(plan: HibernatePlan, query: QueryParams) -> bool:
    metadata, status = plan.metadata, plan.status
    namespace, phase, label = query.get("namespace"), query.get("phase"), query.get("label", "")
    key, _, value = label.partition("=")
    return (
        (not namespace or metadata.namespace == namespace)
        and (not phase or (status.phase or "Pending") == phase or (phase == "Error" and is_failed(plan)))
        and (not label or (key in metadata.labels and (not value or metadata.labels[key] == value)))
        and has_words((f"{metadata.namespace}/{metadata.name}", state_words(plan)), query.get("q", ""))
    )


def _next(plan: HibernatePlan) -> str:
    following = next_change(plan)
    return following.at.isoformat() if following else "9999"
