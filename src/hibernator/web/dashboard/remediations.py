"""The remediations that ask people, those that wait first, by their deadline."""

from datetime import datetime
from typing import Annotated, Final

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from hibernator.api.meta import says
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.decisions.person import in_place_of
from hibernator.web.dashboard.board import Board
from hibernator.web.dashboard.plans import has_words, page_of
from hibernator.web.dashboard.viewer import Viewer
from hibernator.web.dashboard.views import Page, View

PATH: Final = "/remediations"
STATES: Final = ("Pending", "Approved", "Rejected", "Expired")


class RemediationRow(View):
    """A RemediationApprovalRequest in a list."""

    namespace: str
    name: str
    uid: str
    playbook: Annotated[str, says("What would be run.")]
    confidence: Annotated[float, says("How sure the analysis is, from 0 to 1.")]
    state: Annotated[str, says("`Pending`, or what was decided.")]
    deadline: datetime
    page: Annotated[str, says("The path of its page.")]
    reason: str = ""
    decided_by: str = ""
    decided_at: datetime | None = None
    escalated_at: Annotated[datetime | None, says("When the second level was asked.")] = None
    remediation: Annotated[str, says("The RemediationRequest that it is about.")] = ""


class RemediationList(Page):
    items: tuple[RemediationRow, ...] = ()


class Remediations:
    def __init__(self, board: Board) -> None:
        self._board = board

    def routes(self) -> list[BaseRoute]:
        return [self._board.route(PATH, self._list)]

    async def listed(self, who: Viewer, query: QueryParams) -> RemediationList:
        found = [remediation_row(one) for one in await who.approvals()]
        found = [row for row in found if _fits(row, query)]
        found.sort(key=_urgency)
        shown, number, pages = page_of(found, query)
        return RemediationList(items=tuple(shown), total=len(found), page=number, pages=pages)

    async def _list(self, request: Request, who: Viewer) -> Response:
        listed = await self.listed(who, request.query_params)
        return self._board.show(
            request,
            who,
            "remediations.html",
            here="remediations",
            topics="remediations",
            listed=listed,
            states=STATES,
        )


def remediation_row(one: RemediationApprovalRequest) -> RemediationRow:
    spec, status, metadata = one.spec, one.status, one.metadata
    return RemediationRow(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        playbook=spec.approval_context.recommended_playbook or "",
        confidence=spec.approval_context.confidence,
        state=status.decision or "Pending",
        deadline=spec.required_by,
        page=f"/approve/{metadata.uid}",
        reason=spec.approval_context.reason,
        decided_by=in_place_of(status.decided_by, status.decided_for),
        decided_at=status.decided_at,
        escalated_at=status.escalated_at,
        remediation=spec.remediation_request_ref.name if spec.remediation_request_ref else "",
    )


def _urgency(row: RemediationRow) -> tuple[bool, float, str]:
    """What waits comes first, the nearest deadline on top; what is decided, the latest on top."""
    waits = row.state == "Pending"
    at = row.deadline.timestamp()
    return not waits, at if waits else -at, row.name


def _fits(row: RemediationRow, query: QueryParams) -> bool:
    texts = (f"{row.namespace}/{row.name}", row.playbook, row.reason, row.remediation)
    state = query.get("state")
    return (not state or row.state == state) and has_words(texts, query.get("q", ""))
