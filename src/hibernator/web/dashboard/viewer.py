"""Who looks at a page, and all that they may see of each kind: by Kubernetes, or because it concerns them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from starlette.requests import HTTPConnection
from whenever import Instant

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.people import KnownBy
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.api.timewindowscaler import SCALERS, TimeWindowScaler
from hibernator.approvals.people import Directory
from hibernator.decisions.hibernateplan_kept import KeptPlan
from hibernator.decisions.person import Person
from hibernator.kube.cache import Cache
from hibernator.messages.facts import Facts
from hibernator.web.cases import Case
from hibernator.web.dashboard.saved import SavedNow
from hibernator.web.refusals import Page, RefusedError
from hibernator.web.sessions import Session
from hibernator.web.site import Site
from hibernator.web.taking_part import takes_part, waiting

MOST_WAITING: Final = 50  # shown at once

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True)
class Viewer:
    site: Site
    session: Session
    person: Person
    directory: Directory

    async def plans(self) -> list[HibernatePlan]:
        return await self._listed(PLANS, self.site.cases.plans)

    async def scalers(self) -> list[TimeWindowScaler]:
        return await self._listed(SCALERS, self.site.cases.scalers)

    async def exceptions(self) -> list[ScheduleException]:
        return await self._with_own(EXCEPTIONS, self.site.cases.exceptions)

    async def approvals(self) -> list[RemediationApprovalRequest]:
        return await self._with_own(APPROVAL_REQUESTS, self.site.cases.approvals)

    async def plan(self, namespace: str, name: str) -> HibernatePlan:
        return await self._one(PLANS, self.site.cases.plans, namespace, name)

    async def scaler(self, namespace: str, name: str) -> TimeWindowScaler:
        return await self._one(SCALERS, self.site.cases.scalers, namespace, name)

    async def lists_anything(self) -> bool:
        """Whether Kubernetes lets the viewer list some kind of ours, where there are such objects."""
        cases = self.site.cases
        kinds: tuple[tuple[Kind[Any], Cache[Any]], ...] = (
            (PLANS, cases.plans),
            (SCALERS, cases.scalers),
            (EXCEPTIONS, cases.exceptions),
            (APPROVAL_REQUESTS, cases.approvals),
        )
        for kind, cache in kinds:
            if await self._namespaces(kind, cache):
                return True
        return False

    async def exceptions_of(self, plan: HibernatePlan) -> list[ScheduleException]:
        """The exceptions of a plan: all of them, or only those that concern the viewer."""
        found = self.site.cases.of_plan(plan.metadata.namespace, plan.metadata.name)
        if await self.site.seeing.namespaces(self.session.identity, EXCEPTIONS, [plan.metadata.namespace]):
            return list(found)
        return [one for one in found if self._takes_part(one)]

    async def kept(self, plan: HibernatePlan) -> KeptPlan | None:
        """What the restore data of a plan says that the viewer may see; None without a way to the operator.

        AwayError where the operator does not say.
        """
        return await self.site.restore_data.of(plan) if self.site.restore_data else None

    async def saved(self) -> SavedNow | None:
        """What was saved in the namespaces whose plans the viewer may list; None where no one has counted."""
        savings = self.site.savings
        if savings is None or (among := await savings.namespaces()) is None:
            return None
        return savings.of(await self.site.seeing.namespaces(self.session.identity, PLANS, among))

    def waiting(self) -> list[Case]:
        """What waits for the viewer, the most urgent first."""
        cases, now = self.site.cases, self.site.clock.now()
        found: tuple[Case, ...] = (*cases.exceptions.values(), *cases.approvals.values())
        return sorted(waiting(found, self.person, self.directory, now), key=_urgency)

    async def cards(self, cases: Iterable[Case]) -> list[Facts]:
        return [await self.site.cases.facts(one) for one in list(cases)[:MOST_WAITING]]

    async def _listed(self, kind: Kind[Any], cache: Cache[T]) -> list[T]:
        seen = await self._namespaces(kind, cache)
        return [one for one in cache.values() if one.metadata.namespace in seen]

    async def _with_own(self, kind: Kind[Any], cache: Cache[Any]) -> list[Any]:
        seen = await self._namespaces(kind, cache)
        return [one for one in cache.values() if one.metadata.namespace in seen or self._takes_part(one)]

    def _takes_part(self, case: Case) -> bool:
        return takes_part(case, self.person, self.directory, self.site.clock.now())

    async def _namespaces(self, kind: Kind[Any], cache: Cache[Any]) -> Collection[str]:
        among = {one.metadata.namespace for one in cache.values()}
        return await self.site.seeing.namespaces(self.session.identity, kind, among)

    async def _one(self, kind: Kind[Any], cache: Cache[T], namespace: str, name: str) -> T:
        """The object; RefusedError as if it did not exist where the viewer may not see it."""
        found = cache.get(namespace, name)
        if found is None or not await self.site.seeing.sees(self.session.identity, kind, namespace, name):
            raise not_here()
        return found


def viewer(site: Site, session: Session, request: HTTPConnection) -> Viewer:
    directory = site.cases.people.directory()
    who = session.identity
    person = directory.known(who.username, known_by(request, session), who.groups)
    return Viewer(site, session, person, directory)


def known_by(request: HTTPConnection, session: Session) -> KnownBy:
    """How a person is known who asks for a page, for the record of what they decide."""
    who = session.identity
    return KnownBy(
        issuer=who.issuer,
        subject=who.subject,
        email=who.email,
        session=session.id,
        address=request.state.address,
        user_agent=request.headers.get("user-agent", "")[:256],
    )


def not_here() -> RefusedError:
    """The same whether there is no such thing or it is not to be seen."""
    page = Page(
        "There is nothing here",
        "It does not exist, or you may not see it.",
        "Ask an administrator for the role hibernator-auditor in its namespace.",
        again="/",
        label="Overview",
    )
    return RefusedError("not_found", page, status=404)


def _urgency(case: Case) -> tuple[Instant, str]:
    """By the deadline; what has none comes last."""
    if isinstance(case, RemediationApprovalRequest):
        return Instant(case.spec.required_by), case.metadata.uid
    deadline = case.status.approval_deadline
    return Instant(deadline) if deadline else Instant.MAX, case.metadata.uid
