"""What every page of the dashboard does: find out who looks, show the frame, and answer a script plainly."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from whenever import Instant

from hibernator.api.meta import Object
from hibernator.kube.worked import Worked
from hibernator.messages.facts import local
from hibernator.pictures.resource import Resource
from hibernator.web.dashboard.changes import written
from hibernator.web.dashboard.lanes import Lanes, weeks
from hibernator.web.dashboard.viewer import Viewer, viewer
from hibernator.web.known import LIVE
from hibernator.web.site import Site

_ROUGHLY: Final = 6  # hours from which on no one counts minutes

Handler = Callable[[Request, Viewer], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Board:
    """What the pages share."""

    site: Site
    lanes: Lanes = field(default_factory=Lanes)
    weeks: Worked[str] = field(default_factory=Worked)

    async def picture(self, found: Object, resource: Resource | None, *made_of: Object) -> Markup:
        """Four weeks of a plan with its exceptions, or of a scaler; nothing without a resource."""
        if resource is None:
            return Markup()
        now, metadata = self.site.clock.now(), found.metadata
        today = str(now.to_tz(resource.zone.name).date())
        drawn = await self.weeks.of(
            metadata.namespace, metadata.uid, (today, found, *made_of), partial(weeks, resource, now)
        )
        return Markup(drawn)  # noqa: S704  drawn by us, with all texts escaped

    def route(self, path: str, handler: Handler) -> Route:
        """A page for those who are logged in; all others are sent to the log-in and back."""

        async def endpoint(request: Request) -> Response:
            session = self.site.who(request)
            if session is None:
                return Response(status_code=401) if LIVE in request.headers else self.site.to_login(request)
            return await handler(request, viewer(self.site, session, request))

        return Route(path, endpoint, methods=["GET"])

    def show(
        self,
        request: Request,
        who: Viewer,
        name: str,
        *,
        here: str,
        topics: str = "",
        waiting: int | None = None,
        **facts: Any,
    ) -> Response:
        """A page, with how much waits for who looks at it. `topics` are those of its live changes."""
        query, changes = dict(request.query_params), self.site.changes
        return self.site.pages.show(
            request,
            f"dashboard/{name}",
            here=here,
            topics=topics,
            version=written(changes.version(changes.topics(topics))),
            waiting_count=len(who.waiting()) if waiting is None else waiting,
            now=self.site.clock.now(),
            moment=moment,
            distance=distance,
            query=query,
            linked=lambda **change: address(request.url.path, query, change),
            **facts,
        )


def moment(at: datetime | Instant, zone: str = "UTC") -> str:
    return local(at if isinstance(at, Instant) else Instant(at), zone)


def distance(at: datetime | Instant, now: Instant) -> str:
    """How far away a moment is, as people say it: `in 2 h 5 min`, `3 days ago`."""
    seconds = ((at if isinstance(at, Instant) else Instant(at)) - now).total("seconds")
    minutes = int(abs(seconds) // 60)
    days, hours = minutes // 1440, minutes // 60
    if not minutes:
        return "now"
    if days > 1:
        words = f"{days} days"
    elif hours:
        words = f"{hours} h" + (f" {minutes % 60} min" if minutes % 60 and hours < _ROUGHLY else "")
    else:
        words = f"{minutes} min"
    return f"in {words}" if seconds > 0 else f"{words} ago"


def address(path: str, query: Mapping[str, str], change: Mapping[str, Any]) -> str:
    """The same page with another question."""
    found = {name: str(value) for name, value in {**query, **change}.items() if value not in {"", None}}
    return f"{path}?{urlencode(found)}" if found else path
