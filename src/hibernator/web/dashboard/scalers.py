"""The scalers: a list that can be searched, and the page of each."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Final

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from whenever import Instant

from hibernator.api.conversion import effective_spec
from hibernator.api.meta import says
from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.decisions.conditions import find
from hibernator.web.dashboard.board import Board
from hibernator.web.dashboard.lanes import resource_of_scaler
from hibernator.web.dashboard.plans import has_words, page_of
from hibernator.web.dashboard.viewer import Viewer
from hibernator.web.dashboard.views import ConditionView, Page, View, condition_views

PATH: Final = "/scalers"


class ScalerRow(View):
    """A TimeWindowScaler in a list."""

    namespace: str
    name: str
    uid: str
    target: Annotated[str, says("What is scaled, as `Deployment/web`.")]
    timezone: str
    wanted: Annotated[int | None, says("How many replicas are wanted now.")] = None
    observed: Annotated[int | None, says("How many replicas the target had when last looked at.")] = None
    window: Annotated[str, says("The current window.")] = ""
    next_at: Annotated[datetime | None, says("When the wanted number may change next.")] = None
    grace_until: Annotated[datetime | None, says("Until when scaling down is put off.")] = None
    paused: bool = False
    failed: Annotated[bool, says("Whether something is degraded.")] = False
    message: str = ""


class ScalerList(Page):
    items: tuple[ScalerRow, ...] = ()


class WindowView(View):
    days: tuple[str, ...]
    start: str
    end: str
    replicas: Annotated[str, says("How many run in it, as it is written.")]


class ScalerView(View):
    """A TimeWindowScaler with all that is known of it."""

    scaler: ScalerRow
    why: Annotated[str, says("Why so many are wanted now, in words.")] = ""
    windows: tuple[WindowView, ...] = ()
    otherwise: Annotated[str, says("How many run when no window matches.")] = ""
    scalings: Annotated[int, says("How often the target was scaled.")] = 0
    last_scaled_at: datetime | None = None
    conditions: tuple[ConditionView, ...] = ()


class Scalers:
    def __init__(self, board: Board) -> None:
        self._board = board

    def routes(self) -> list[BaseRoute]:
        return [
            self._board.route(PATH, self._list),
            self._board.route(f"{PATH}/{{namespace}}/{{name}}", self._one),
        ]

    async def listed(self, who: Viewer, query: QueryParams) -> ScalerList:
        found = [scaler for scaler in await who.scalers() if _fits(scaler, query)]
        found.sort(key=lambda one: (one.metadata.namespace, one.metadata.name))
        shown, number, pages = page_of(found, query)
        return ScalerList(
            items=tuple(scaler_row(one) for one in shown), total=len(found), page=number, pages=pages
        )

    def viewed(self, scaler: TimeWindowScaler) -> ScalerView:
        return scaler_view(scaler, self._board.site.clock.now())

    async def _list(self, request: Request, who: Viewer) -> Response:
        listed = await self.listed(who, request.query_params)
        namespaces = sorted({one.metadata.namespace for one in await who.scalers()})
        return self._board.show(
            request,
            who,
            "scalers.html",
            here="scalers",
            topics="scalers",
            listed=listed,
            namespaces=namespaces,
        )

    async def _one(self, request: Request, who: Viewer) -> Response:
        scaler = await who.scaler(request.path_params["namespace"], request.path_params["name"])
        picture = await self._board.picture(scaler, resource_of_scaler(scaler))
        return self._board.show(
            request,
            who,
            "scaler.html",
            here="scalers",
            topics="scalers",
            view=self.viewed(scaler),
            picture=picture,
        )


def scaler_row(scaler: TimeWindowScaler) -> ScalerRow:
    status, spec, metadata = scaler.status, scaler.spec, scaler.metadata
    ready, degraded = find(status.conditions, "Ready"), find(status.conditions, "Degraded")
    condition = degraded if degraded and degraded.status == "True" else ready
    return ScalerRow(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        target=f"{spec.target_ref.kind}/{spec.target_ref.name}",
        timezone=spec.timezone,
        wanted=status.effective_replicas,
        observed=status.target_observed_replicas,
        window=status.current_window,
        next_at=status.next_boundary,
        grace_until=status.grace_period_expiry,
        paused=spec.pause,
        failed=bool(degraded and degraded.status == "True"),
        message=condition.message if condition else "",
    )


def scaler_view(scaler: TimeWindowScaler, now: Instant) -> ScalerView:
    spec, status = effective_spec(scaler), scaler.status
    resource = resource_of_scaler(scaler)
    return ScalerView(
        scaler=scaler_row(scaler),
        why=resource.timeline.at(now).message if resource else "",
        windows=tuple(_windows(scaler)),
        otherwise=str(spec.default_replicas),
        scalings=status.scalings or 0,
        last_scaled_at=status.last_scale_time,
        conditions=condition_views(status.conditions),
    )


def _windows(scaler: TimeWindowScaler) -> Iterator[WindowView]:
    for one in effective_spec(scaler).windows:
        measured = f"{one.external.min} to {one.external.max}, measured" if one.external else ""
        yield WindowView(
            days=tuple(one.days), start=one.start, end=one.end, replicas=measured or str(one.replicas)
        )


def _fits(scaler: TimeWindowScaler, query: QueryParams) -> bool:
    metadata, namespace = scaler.metadata, query.get("namespace")
    texts = (f"{metadata.namespace}/{metadata.name}", scaler.spec.target_ref.name)
    return (not namespace or metadata.namespace == namespace) and has_words(texts, query.get("q", ""))
