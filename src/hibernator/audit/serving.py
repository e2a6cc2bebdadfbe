"""The operator's side of the trail's read API: `GET /trail/v1/{events,latest,head}`, and nothing else."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request

from hibernator.audit.api import EVENTS, HEAD, LATEST, Position, encode, read_question
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.reading import TrailReader
from hibernator.kube.client import Caller, Client
from hibernator.kube.reading import ReadApiError, ReadRoute


def trail_routes(reader: TrailReader) -> tuple[ReadRoute, ...]:
    """The three questions about a trail."""

    async def events(request: Request) -> Any:
        asked = read_question(request.query_params)
        return await reader.page(asked.wanted, after=asked.after, limit=asked.limit)

    async def latest(request: Request) -> Any:
        asked = read_question(request.query_params)
        return await reader.latest(asked.wanted, asked.limit)

    async def head(_request: Request) -> Any:
        return Position(*await reader.head())

    return _route(EVENTS, events), _route(LATEST, latest), _route(HEAD, head)


def _route(path: str, answer: Callable[[Request], Awaitable[Any]]) -> ReadRoute:
    async def encoded(request: Request) -> bytes:
        try:
            return encode(await answer(request))
        except AuditUnavailable as error:
            raise ReadApiError(str(error)) from error

    return ReadRoute(
        path, encoded, _may, lambda request: f"the verb get for the nonResourceURL {request.url.path}"
    )


async def _may(client: Client, who: Caller, request: Request) -> bool:
    return await client.may_reach(who, "get", request.url.path)
