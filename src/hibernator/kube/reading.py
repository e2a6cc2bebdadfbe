"""What the operator serves to the web process: answers to `GET`, for accounts that the API server lets read.

Who asks shows a token of the cluster. The API server says whose it is (TokenReview) and whether its rules
allow that account to read this (SubjectAccessReview), as for metrics endpoints. Every answer has a bounded
size and a deadline, and only so many are worked on at once: the operator has more important things to do.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from hibernator.kube.client import Caller, Client
from hibernator.kube.clock import steady as real_time
from hibernator.kube.errors import ApiError
from hibernator.kube.metrics import Metric, Metrics

REQUESTS = Metric(
    "hibernator_trail_requests_total",
    "counter",
    ("code",),
    "Requests of the web process to the operator, for the audit trail and restore data, by HTTP status. "
    "401 and 403 are callers without the right.",
)

DEADLINE: Final = 10.0  # seconds for one request, all in all
_AT_ONCE: Final = 4
_STRANGERS: Final = 2  # callers that are not known yet, about whom the API server is asked at once
_REMEMBERED: Final = 10.0  # seconds for which an answer of the API server about a caller holds
_MOST_CALLERS: Final = 256
_LONGEST_TOKEN: Final = 16_384

_Answers = OrderedDict[tuple[bytes, str], tuple[float, int]]  # until when an HTTP status holds
May = Callable[[Caller], Awaitable[bool]]

_log: Final = structlog.get_logger(__name__)


class ReadApiError(Exception):
    """What is asked for cannot be read at the moment; the message says why."""


@dataclass(frozen=True, slots=True)
class ReadRoute:
    """One thing that is served."""

    path: str  # as of a route
    answer: Callable[[Request], Awaitable[bytes]]  # as JSON; ValueError for what cannot be asked
    may: Callable[[Client, Caller, Request], Awaitable[bool]]
    needs: Callable[[Request], str]  # the right, in words


class Callers:
    """Who may come in, as the API server says; remembered for seconds, by a hash of the token.

    Anybody can show tokens. So those who were let in before neither wait behind strangers nor are forgotten
    because of them.
    """

    def __init__(self, client: Client, *, steady: Callable[[], float] = real_time) -> None:
        self.client: Final = client
        self._steady = steady
        self._let_in: _Answers = OrderedDict()
        self._turned_away: _Answers = OrderedDict()
        self._strangers = asyncio.Semaphore(_STRANGERS)

    async def refusal(self, authorization: str, path: str, may: May) -> int:
        """The HTTP status with which to turn a caller away; 0 for one who may come in."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or len(token) > _LONGEST_TOKEN or not token.isprintable():
            return 401
        key = hashlib.sha256(token.encode()).digest(), path
        now, guest = self._steady(), self._let_in.get(key)
        if (found := guest or self._turned_away.get(key)) and now < found[0]:
            return found[1]
        async with nullcontext() if guest else self._strangers:
            status = await self._ask(token, path, may)
        self._remember(key, (now + _REMEMBERED, status))
        return status

    def _remember(self, key: tuple[bytes, str], answer: tuple[float, int]) -> None:
        kept, other = self._let_in, self._turned_away
        if answer[1]:
            kept, other = other, kept
        other.pop(key, None)
        kept[key] = answer
        kept.move_to_end(key)
        while len(kept) > _MOST_CALLERS:
            kept.popitem(last=False)

    async def _ask(self, token: str, path: str, may: May) -> int:
        who = await self.client.caller(token)
        if who is None:
            return 401
        if await may(who):
            return 0
        _log.warning("account may not read this", user=who.username, path=path)
        return 403


class ReadApi:
    def __init__(
        self, routes: Iterable[ReadRoute], callers: Callers, metrics: Metrics, *, deadline: float = DEADLINE
    ) -> None:
        self._routes = tuple(routes)
        self._callers = callers
        self._metrics = metrics
        self._deadline = deadline
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def app(self) -> ASGIApp:
        routes = [Route(route.path, self._endpoint(route), methods=["GET"]) for route in self._routes]
        app = Starlette(routes=routes, max_body_size=0)
        app.router.redirect_slashes = False
        return app

    def _endpoint(self, route: ReadRoute) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            response = await self._answered(request, route)
            self._metrics.count(REQUESTS, str(response.status_code))
            response.headers["cache-control"] = "no-store"
            return response

        return endpoint

    async def _answered(self, request: Request, route: ReadRoute) -> Response:
        try:
            async with asyncio.timeout(self._deadline):
                if status := await self._refusal(request, route):
                    return _refused(status, route.needs(request))
                async with self._turns:
                    return Response(await route.answer(request), media_type="application/json")
        except ValueError as error:
            return PlainTextResponse(f"{error}.\n", 400)
        except TimeoutError:
            return PlainTextResponse(f"No answer within {self._deadline:g} s; ask for less.\n", 504)
        except ReadApiError as error:
            return PlainTextResponse(f"{error}\n", 503)
        except ApiError as error:
            _log.warning("caller could not be reviewed", error=str(error))
            return PlainTextResponse("The API server cannot say who you are; try again.\n", 503)

    async def _refusal(self, request: Request, route: ReadRoute) -> int:
        async def may(who: Caller) -> bool:
            return await route.may(self._callers.client, who, request)

        authorization = request.headers.get("authorization", "")
        return await self._callers.refusal(authorization, request.url.path, may)


def _refused(status: int, needs: str) -> Response:
    if status == HTTPStatus.UNAUTHORIZED:
        words = "Show a token of this cluster: Authorization: Bearer TOKEN.\n"
        return PlainTextResponse(words, 401, headers={"www-authenticate": "Bearer"})
    return PlainTextResponse(f"Your account may not read this: it needs {needs}.\n", 403)
