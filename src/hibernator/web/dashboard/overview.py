"""The first page: what sleeps now, what changes next, what waits for people, what failed, what was saved."""

from collections.abc import Sequence
from datetime import datetime
from heapq import nsmallest
from typing import Annotated, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from hibernator.api.meta import says
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.scheduleexception_request import needs_approval
from hibernator.messages.facts import local
from hibernator.web.cases import Case
from hibernator.web.dashboard.board import Board
from hibernator.web.dashboard.remediations import RemediationRow, remediation_row
from hibernator.web.dashboard.saved import SavedNow
from hibernator.web.dashboard.sums import Sum, Sums
from hibernator.web.dashboard.viewer import Viewer
from hibernator.web.dashboard.views import (
    ExceptionRow,
    PlanRow,
    SavedView,
    View,
    exception_row,
)
from hibernator.web.paths import HOME

_WAITING: Final = 8
_MOVING: Final = frozenset({"Hibernating", "WakingUp"})


class Overview(View):
    """Everything that the viewer may see, in numbers, with what needs attention."""

    plans: Annotated[int, says("How many plans there are.")]
    asleep: Annotated[int, says("How many of them sleep.")]
    awake: int
    moving: Annotated[int, says("How many fall asleep or wake up right now.")]
    suspended: int
    failed: Annotated[tuple[PlanRow, ...], says("The plans of which something failed.")] = ()
    failures: Annotated[int, says("How many they are in all.")] = 0
    next: Annotated[tuple[PlanRow, ...], says("The plans that change next.")] = ()
    waits_for_me: Annotated[int, says("How many requests wait for the viewer.")] = 0
    waits: Annotated[int, says("How many requests wait for people.")] = 0
    waiting: Annotated[tuple[ExceptionRow, ...], says("The exceptions that wait for people.")] = ()
    remediations: Annotated[tuple[RemediationRow, ...], says("The remediations that wait for people.")] = ()
    scalers: int = 0
    saved: Annotated[SavedView, says("What these plans have saved since there are any.")] = SavedView()
    saved_now: Annotated[
        SavedNow | None, says("What was saved today and this month, by the audit trail; absent without one.")
    ] = None


class Overviews:
    def __init__(self, board: Board) -> None:
        self._board = board
        self._sums = Sums(board.site, board.lanes)

    def routes(self) -> list[BaseRoute]:
        shown = self._board.route(HOME, self._show)

        async def home(request: Request) -> Response:
            if self._board.site.who(request) is None:
                return self._board.site.pages.show(request, "home.html")
            answer: Response = await shown.endpoint(request)
            return answer

        return [Route(HOME, home, methods=["GET"])]

    async def view(self, who: Viewer) -> Overview:
        return await self._view(who, await self._sums.of(who), who.waiting())

    async def _view(self, who: Viewer, sums: Sum, mine: Sequence[Case]) -> Overview:
        undecided = [one for one in await who.approvals() if not one.status.decision]
        exceptions = await who.exceptions()
        pending = [one for one in exceptions if one.status.state == "Pending" and needs_approval(one)]
        urgent = nsmallest(_WAITING, pending, key=lambda one: (_deadline(one), one.metadata.name))
        due = nsmallest(_WAITING, undecided, key=lambda one: (one.spec.required_by, one.metadata.name))
        return Overview(
            plans=sums.plans,
            asleep=sums.phases["Hibernated"],
            awake=sums.phases["Active"],
            moving=sum(sums.phases[phase] for phase in _MOVING),
            suspended=sums.phases["Suspended"],
            failed=sums.failed,
            failures=sums.failures,
            next=sums.next,
            waits_for_me=len(mine),
            waits=len(pending) + len(undecided),
            waiting=tuple(exception_row(one) for one in urgent),
            remediations=tuple(map(remediation_row, due)),
            scalers=len(await who.scalers()),
            saved=sums.saved,
            saved_now=await who.saved(),
        )

    async def _show(self, request: Request, who: Viewer) -> Response:
        mine, sums = who.waiting(), await self._sums.of(who)
        return self._board.show(
            request,
            who,
            "overview.html",
            here="overview",
            topics="plans exceptions remediations scalers",
            waiting=len(mine),
            view=await self._view(who, sums, mine),
            lanes=sums.lanes,
            start=sums.start,
            whole=sums.shares,
            cards=await who.cards(mine[:_WAITING]),
            more=max(0, len(mine) - _WAITING),
            local=local,
        )


def _deadline(one: ScheduleException) -> datetime:
    return one.status.approval_deadline or one.spec.valid_until
