"""The JSON API: the views of the pages, with the same questions and the same authorisation, and its OpenAPI.

A browser's session is what lets one in; there is no other way to ask yet.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from hibernator import __version__
from hibernator.api.meta import Model
from hibernator.audit.database import AuditUnavailable
from hibernator.decisions.hibernateplan_kept import KeptPlan
from hibernator.kube.reading import ReadApiError
from hibernator.web.dashboard.audit import Audits, ChainView, EventList
from hibernator.web.dashboard.board import Board
from hibernator.web.dashboard.exceptions import ExceptionList, Exceptions
from hibernator.web.dashboard.overview import Overview, Overviews
from hibernator.web.dashboard.plans import Plans
from hibernator.web.dashboard.remediations import RemediationList, Remediations
from hibernator.web.dashboard.scalers import ScalerList, Scalers, ScalerView
from hibernator.web.dashboard.viewer import Viewer, viewer
from hibernator.web.dashboard.views import PlanList, PlanView, View
from hibernator.web.refusals import RefusedError

ROOT: Final = "/api/v1"
_REFUSALS: Final = ("400", "401", "404", "429", "503")
_FILTERS: Final = {"q": "Words that must be found.", "namespace": "Only of this namespace."}
_PAGE: Final = {"page": "Which page, from 1 on."}
_AUDIT: Final = {
    "kind": "Only of this kind.",
    "namespace": "Only of this namespace.",
    "name": "Only of objects of this name.",
    "actor": "Only by this person: user name or e-mail address.",
    "type": "Only of this type, or of all that begin so: `hibernateplan.*`.",
    "since": "Not before this moment.",
    "until": "Only before this moment.",
}


class Problem(View):
    """Why there is no answer."""

    error: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One thing to ask for."""

    path: str
    summary: str
    answer: type[Model]
    handler: Callable[[Request, Viewer], Awaitable[Model]]
    query: dict[str, str]


class Api:
    def __init__(self, board: Board) -> None:
        self._board = board
        self._calls = tuple(_calls(board))

    def routes(self) -> list[BaseRoute]:
        return [
            Route(f"{ROOT}/openapi.json", self._document, methods=["GET"]),
            *(Route(f"{ROOT}{call.path}", self._answering(call), methods=["GET"]) for call in self._calls),
        ]

    def _answering(self, call: Call) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            session = self._board.site.who(request)
            if session is None:
                return _json(Problem(error="You are not logged in.", fix="Log in at /login."), 401)
            try:
                return _json(await call.handler(request, viewer(self._board.site, session, request)))
            except RefusedError as error:
                return _json(Problem(error=error.page.words, fix=error.page.fix), error.status)
            except (AuditUnavailable, ReadApiError) as error:
                return _json(Problem(error=str(error)), 503)

        return endpoint

    async def _document(self, _request: Request) -> Response:
        return Response(msgspec.json.encode(document(self._calls)), media_type="application/json")


def document(calls: tuple[Call, ...]) -> dict[str, Any]:
    """The API as OpenAPI 3.1, made from the types of the answers."""
    types = [*{call.answer: None for call in calls}, Problem]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    answers = dict(zip(types, schemas, strict=True))
    problem = {"description": "Why not.", "content": {"application/json": {"schema": answers[Problem]}}}
    paths = {}
    for call in calls:
        named = [part.strip("{}") for part in call.path.split("/") if part.startswith("{")]
        text = {"type": "string"}
        paths[f"{ROOT}{call.path}"] = {
            "get": {
                "summary": call.summary,
                "parameters": [
                    *({"name": name, "in": "path", "required": True, "schema": text} for name in named),
                    *(
                        {"name": name, "in": "query", "description": words, "schema": text}
                        for name, words in call.query.items()
                    ),
                ],
                "responses": {
                    "200": {
                        "description": call.summary,
                        "content": {"application/json": {"schema": answers[call.answer]}},
                    },
                    **dict.fromkeys(_REFUSALS, problem),
                },
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hibernator", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }


def _calls(board: Board) -> list[Call]:
    plans, scalers, exceptions = Plans(board), Scalers(board), Exceptions(board)
    remediations, audits, overviews = Remediations(board), Audits(board), Overviews(board)

    async def overview(_request: Request, who: Viewer) -> View:
        return await overviews.view(who)

    async def plan_list(request: Request, who: Viewer) -> View:
        return (await plans.listed(who, request.query_params))[0]

    async def plan(request: Request, who: Viewer) -> View:
        return await plans.viewed(who, await who.plan(**request.path_params))

    async def scaler_list(request: Request, who: Viewer) -> View:
        return await scalers.listed(who, request.query_params)

    async def scaler(request: Request, who: Viewer) -> View:
        return scalers.viewed(await who.scaler(**request.path_params))

    async def exception_list(request: Request, who: Viewer) -> View:
        return await exceptions.listed(who, request.query_params)

    async def remediation_list(request: Request, who: Viewer) -> View:
        return await remediations.listed(who, request.query_params)

    async def events(request: Request, who: Viewer) -> View:
        return await audits.listed(who, request.query_params)

    async def chain(_request: Request, who: Viewer) -> View:
        return await audits.chain(who)

    of_plans = {
        "phase": "Only in this phase; `Error` finds all plans of which something failed.",
        "label": "Only with this label: `team` or `team=shop`.",
    }
    of_state = {"state": "Only in this state."}
    of_day = of_state | {"on": "Only what holds on this day of UTC, as 2026-03-01."}
    sort = {"sort": "`namespace`, `name`, `state` or `next`."}
    return [
        Call("/overview", "Everything in numbers, and what needs attention.", Overview, overview, {}),
        Call("/plans", "The plans.", PlanList, plan_list, _FILTERS | of_plans | sort | _PAGE),
        Call("/plans/{namespace}/{name}", "One plan.", PlanView, plan, {}),
        Call(
            "/plans/{namespace}/{name}/restore-data",
            "What of a plan is asleep, and what it wakes to.",
            KeptPlan,
            plans.restore_data,
            {},
        ),
        Call("/scalers", "The scalers.", ScalerList, scaler_list, _FILTERS | _PAGE),
        Call("/scalers/{namespace}/{name}", "One scaler.", ScalerView, scaler, {}),
        Call("/exceptions", "The exceptions.", ExceptionList, exception_list, _FILTERS | of_day | _PAGE),
        Call(
            "/remediations",
            "The remediations that ask people.",
            RemediationList,
            remediation_list,
            {"q": _FILTERS["q"]} | of_state | _PAGE,
        ),
        Call("/audit/events", "The audit trail, the newest first.", EventList, events, _AUDIT),
        Call("/audit/chain", "Where the chain ends, and whether it is whole.", ChainView, chain, {}),
    ]


def _json(view: Model, status: int = 200) -> Response:
    return Response(msgspec.json.encode(view), status, media_type="application/json")
