"""The form of a new exception: what is typed is shown before it is asked for.

`Preview` sends the form and shows it again with what would come of it; the script of the page does the same
while one types. Nothing that was typed is lost: not by a mistake, and not by a log-in that is over.
"""

import asyncio
from typing import Final

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from hibernator.api.core import NAMESPACES
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.approvals.policies import is_for_all
from hibernator.decisions.person import mailbox
from hibernator.messages.figuring import BY_PLAN
from hibernator.pictures.pairs import Pairs, legend, pairs
from hibernator.schedule.errors import FORMS
from hibernator.web.dashboard import filing
from hibernator.web.dashboard.actions import LONGEST_REASON, ROOM
from hibernator.web.dashboard.drafting import (
    TYPES,
    Fields,
    Governed,
    Preview,
    from_kept,
    preview,
    suggested_name,
)
from hibernator.web.dashboard.viewer import viewer
from hibernator.web.identity import Identity
from hibernator.web.paths import login
from hibernator.web.safety import too_many
from hibernator.web.sessions import Session
from hibernator.web.site import Site

PATH: Final = "/exceptions/new"
_FIRST: Final = Fields(until="4h")
_OTHER_SESSION: Final = "You have logged in again meanwhile. Nothing was filed yet: look at it, and send it."


class NewException:
    def __init__(self, site: Site) -> None:
        self._site = site

    def routes(self) -> list[BaseRoute]:
        return [
            Route(PATH, self._show, methods=["GET"]),
            Route(PATH, self._sent, methods=["POST"]),
        ]

    async def _show(self, request: Request) -> Response:
        session = self._site.who(request)
        if session is None:
            return self._site.to_login(request)
        kept = from_kept(self._site.typed.find(request))
        asked = request.query_params.get("plan", "")
        if kept and asked in {"", kept.plan}:
            response = await self._page(request, session, kept)
            self._site.typed.forget(response)
            return response
        if not asked:
            return await self._choice(request, session.identity)
        plan = await filing.plan_of(self._site, session.identity, asked)
        await filing.check(self._site, session.identity, plan.metadata.namespace)
        name = suggested_name(plan, self._site.clock.now())
        first = Fields(plan=asked, name=name, until=_FIRST.until)
        return await self._page(request, session, first)

    async def _choice(self, request: Request, who: Identity) -> Response:
        """The plans that a person may see, and for which they may ask."""
        plans = list(self._site.cases.plans.values())
        namespaces = {plan.metadata.namespace for plan in plans}
        allowed = await self._site.seeing.namespaces(who, EXCEPTIONS, namespaces, "create")
        seen: frozenset[str] = frozenset()
        for verb in ("list", "get"):
            seen |= await self._site.seeing.namespaces(who, PLANS, allowed, verb)
        names = sorted(
            f"{plan.metadata.namespace}/{plan.metadata.name}"
            for plan in plans
            if plan.metadata.namespace in seen
        )
        return self._site.pages.show(
            request, "dashboard/new_exception_plan.html", here="exceptions", action=PATH, plans=names
        )

    async def _sent(self, request: Request) -> Response:
        async with request.form(max_files=0, max_fields=20) as sent:
            form = {name: value for name, value in sent.items() if isinstance(value, str)}
        fields, session = Fields.of(form), self._site.who(request)
        if session is None:
            return self._log_in_first(request, fields)
        do = form.get("do", "preview")
        limits = self._site.limits
        limit = limits.preview if do == "preview" else limits.person
        if wait := limit.wait(mailbox(session.identity.email)):
            raise too_many(wait)
        if not self._site.sessions.is_form_token(session, form.get("form_token", "")):
            return await self._page(request, session, fields, problem=_OTHER_SESSION, status=409)
        if do not in {"submit", "draft"}:
            return await self._page(request, session, fields)
        return await self._file(request, session, fields, draft=do == "draft")

    async def _file(self, request: Request, session: Session, fields: Fields, *, draft: bool) -> Response:
        who = session.identity
        plan = await filing.plan_of(self._site, who, fields.plan)
        found = await self._preview(fields, plan, who, draft=draft)
        if found.document is None:
            return await self._page(request, session, fields, status=422)
        namespace = plan.metadata.namespace
        try:
            made = await filing.file(self._site, who, dict(found.document), namespace)
        except filing.NotFiledError as error:
            return await self._page(request, session, fields, problem=str(error), status=409)
        if made.spec.approval_required:
            return RedirectResponse(f"/approve/{made.metadata.uid}", 303)
        return RedirectResponse(f"/plans/{namespace}/{plan.metadata.name}", 303)

    async def _preview(
        self, fields: Fields, plan: HibernatePlan, who: Identity, *, draft: bool = False
    ) -> Preview:
        """Off the event loop: people can ask for windows that take long to draw."""
        key = f"{plan.metadata.namespace}/{plan.metadata.name}"
        others = self._site.cases.exceptions.find(BY_PLAN, key)
        now, governed = self._site.clock.now(), await self._governed(plan.metadata.namespace)
        return await asyncio.to_thread(
            preview, fields, plan, others, filing.notes(who), now, draft=draft, governed=governed
        )

    async def _governed(self, namespace: str) -> Governed:
        cases = self._site.cases
        policies, labels = cases.policies.of(namespace), {}
        if any(map(is_for_all, policies)):
            labels = dict((await self._site.client.get(NAMESPACES, namespace)).metadata.labels)
        return Governed(policies, cases.people.directory(), labels, cases.policies.home)

    async def _page(
        self, request: Request, session: Session, fields: Fields, *, problem: str = "", status: int = 200
    ) -> Response:
        plan = await filing.plan_of(self._site, session.identity, fields.plan)
        await filing.check(self._site, session.identity, plan.metadata.namespace)
        found = await self._preview(fields, plan, session.identity)
        drawn = Pairs("", 0)
        colours: tuple[tuple[str, str], ...] = ()
        if found.facts and found.facts.comparison and found.facts.changes:
            about = f"The plan before and after: {'; '.join(found.facts.change_words())}"
            drawn = await asyncio.to_thread(pairs, found.facts.comparison, about)
            colours = legend(found.facts.comparison)
        return self._site.pages.show(
            request,
            "dashboard/new_exception.html",
            status=status,
            here="exceptions",
            waiting_count=len(viewer(self._site, session, request).waiting()),
            fields=fields,
            plan=plan,
            preview=found,
            problem=problem,
            picture=Markup(drawn.svg),  # noqa: S704  drawn by us, with all texts escaped
            more=drawn.more,
            legend=colours,
            types=TYPES,
            forms=FORMS,
            longest=LONGEST_REASON,
            action=PATH,
        )

    def _log_in_first(self, request: Request, fields: Fields) -> Response:
        """Nothing is filed; what was typed waits in the person's own browser."""
        again = login(f"{PATH}?plan={fields.plan}")
        response = self._site.pages.show(
            request, "dashboard/new_exception_again.html", status=401, again=again, reason=fields.reason
        )
        self._site.typed.keep(response, PATH, fields.kept(ROOM))
        return response
