"""The page of one request: what is asked, and the two buttons. GET changes nothing; POST decides, once.

Who decides comes from the log-in, what is decided from the form: the uid and the hash of what the page showed
go back with it, so that no one approves what they have not seen.
"""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import structlog
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from hibernator.api.hibernateplan import PLANS
from hibernator.api.people import KnownBy
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.approvals import decision, remediation
from hibernator.approvals.decision import Matter, NotAcceptedError
from hibernator.decisions.approval import Refusal, Verdict, Vote
from hibernator.decisions.person import Person
from hibernator.messages.facts import local
from hibernator.messages.links import Checked, Validity, check
from hibernator.messages.renewal import ask_again
from hibernator.pictures.pairs import legend, pairs
from hibernator.web import deciding, linked, outcome
from hibernator.web.cases import Case
from hibernator.web.dashboard.audit import PATH as AUDIT
from hibernator.web.dashboard.board import address
from hibernator.web.dashboard.changes import written
from hibernator.web.dashboard.viewer import known_by, viewer
from hibernator.web.outcome import Note
from hibernator.web.paths import HOME, login
from hibernator.web.refusals import Page, RefusedError
from hibernator.web.sessions import Session
from hibernator.web.site import Site
from hibernator.web.taking_part import seats, takes_part

PATH: Final = "/approve/{uid}"
LINK: Final = "/link"
LONGEST_REASON: Final = 1_024  # characters, as the API takes them
_ANSWER_WITHIN: Final = 4.0  # seconds to wait for the operator
_VERDICTS: Final[dict[str, Verdict]] = {"approve": "approve", "reject": "reject"}

_log: Final = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reader:
    """Who looks at a request, and whether they could decide it."""

    session: Session
    person: Person
    known_by: KnownBy
    refusal: Refusal | None  # why a decision of theirs would not count


class Requests:
    def __init__(self, site: Site) -> None:
        self._site = site

    def routes(self) -> list[BaseRoute]:
        return [
            Route(PATH, self._show, methods=["GET"]),
            Route(PATH, self._decide, methods=["POST"]),
            Route(f"{PATH}{LINK}", self._send_link, methods=["POST"]),
        ]

    async def _show(self, request: Request) -> Response:
        session = self._site.who(request)
        if session is None:
            return self._site.to_login(request)
        case = self._case(request)
        reader = await self._reader(request, session, case)
        token = request.query_params.get("token", "")
        if self._checked(request.url.path, case, reader, token) == "expired":
            return self._site.pages.show(
                request, "expired.html", status=410, action=request.url.path, token=token
            )
        typed = self._site.typed.find(request)
        response = await self._page(request, case, reader, typed=typed)
        if typed:
            self._site.typed.forget(response)
        return response

    async def _decide(self, request: Request) -> Response:
        session = self._site.who(request)
        case = self._case(request)
        if session is None or self._site.needs_fresh(session):
            return await self._log_in_first(request, session)
        try:
            fields = await self._site.form(request, session)
        except RefusedError as error:
            if error.reason != "form":
                raise
            return await self._other_session(request, session, case)
        reader = await self._reader(request, session, case)
        if self._checked(request.url.path, case, reader, fields.get("token", "")) == "expired":
            raise RefusedError("expired_link", _EXPIRED, status=410)
        verdict = _VERDICTS.get(fields.get("verdict", ""))
        reason = fields.get("reason", "").strip().replace("\r\n", "\n")
        if verdict is None:
            raise RefusedError("form", Page("Nothing was decided", "The form names no decision.", again="/"))
        if problem := _problem(verdict, reason):
            return await self._page(request, case, reader, typed=reason, problem=problem, status=422)
        await deciding.authorize(self._site, session.identity, case, self._site.settings.web_authorization)
        metadata = case.metadata
        matter = Matter(metadata.name, metadata.namespace, metadata.uid, fields.get("spec_hash", ""))
        try:
            written = await deciding.write(
                self._site, case, matter, reader.person, reader.known_by, verdict, "link", reason
            )
        except NotAcceptedError as error:
            note = Note("no", "Nothing was decided", error.refusal.message)
            return await self._page(request, case, reader, typed=reason, note=note, status=409)
        _log.info("decided", kind=type(case).__name__, uid=metadata.uid, verdict=verdict, session=session.id)
        answered = await self._answer(written, reader.person.user)
        return await self._page(request, answered, await self._reader(request, session, answered))

    async def _send_link(self, request: Request) -> Response:
        """Send a new link to the one whose link has expired."""
        session, case = self._site.who(request), self._case(request)
        if session is None:
            return await self._log_in_first(request, session)
        fields = await self._site.form(request, session)
        reader = await self._reader(request, session, case)
        path = request.url.path.removesuffix(LINK)
        found = self._link(case, fields.get("token", ""))
        linked.check_owner(found, reader.session.identity.email, path)
        now = self._site.clock.now()
        sent = found.delivery and await ask_again(self._site.client, found.delivery, now)
        page = linked.SENT if sent else linked.NOT_SENT
        return self._site.pages.show(request, "message.html", page=page)

    def _link(self, case: Case, token: str) -> Checked:
        sent = self._site.cases.sent_about(case.metadata.uid)
        return check(token, sent, deciding.matter_of(case).spec_hash, self._site.clock.now())

    def _checked(self, path: str, case: Case, reader: Reader, token: str) -> Validity:
        """Whether the token of a link holds; RefusedError where it was made for another person."""
        if not token:
            return "valid"  # the link of the status, which is everybody's who is asked
        found = self._link(case, token)
        linked.check_owner(found, reader.session.identity.email, path)
        return found.validity

    def _case(self, request: Request) -> Case:
        case = self._site.cases.find(request.path_params["uid"])
        if case is None or case.metadata.deletion_timestamp:
            raise RefusedError("gone", _GONE, status=404)
        return case

    async def _reader(self, request: Request, session: Session, case: Case) -> Reader:
        who, known = session.identity, known_by(request, session)
        person = self._site.cases.people.directory().known(who.username, known, who.groups)
        if not seats(case):
            # It names no approver: then Kubernetes says who they are, whatever the settings ask for.
            await deciding.authorize(self._site, session.identity, case, "rbac")
        elif not (self._takes_part(case, person) or await self._sees(session, case)):
            raise RefusedError("not_asked", _NOT_ASKED)
        return Reader(session, person, known, self._refusal(case, person))

    def _takes_part(self, case: Case, person: Person) -> bool:
        return takes_part(case, person, self._site.cases.people.directory(), self._site.clock.now())

    async def _sees(self, session: Session, case: Case) -> bool:
        """Whether Kubernetes lets a person see it whom it does not concern."""
        kind, found = deciding.kind_of(case), case.metadata
        return await self._site.seeing.sees(session.identity, kind, found.namespace, found.name)

    def _refusal(self, case: Case, person: Person) -> Refusal | None:
        """Why an approval would not count now."""
        now = self._site.clock.now()
        if isinstance(case, RemediationApprovalRequest):
            return remediation.why_not(case, remediation.matter_of(case), now) or (
                deciding.counting(self._site).of_remediation(
                    case, person, "approve", self._site.cases.analysis_of(case), "link"
                )
            )
        matter = decision.matter_of(case)
        vote = Vote(
            by=person, verdict="approve", at=now, uid=matter.uid, spec_hash=matter.spec_hash, channel="link"
        )
        return decision.why_not(case, vote) or deciding.counting(self._site).of_exception(case, vote)

    async def _answer(self, written: Case, user: str) -> Case:
        """What the operator makes of a decision; after a few seconds, the decision as it was written."""
        answered = await self._site.cases.until(
            written.metadata.uid, lambda found: outcome.is_heard(found, user), _ANSWER_WITHIN
        )
        return answered or written

    async def _page(
        self,
        request: Request,
        case: Case,
        reader: Reader,
        *,
        typed: str = "",
        problem: str = "",
        note: Note | None = None,
        status: int = 200,
    ) -> Response:
        facts = await self._site.cases.facts(case)
        now, user = self._site.clock.now(), reader.person.user
        if note is None:
            note = (
                outcome.of_remediation(case, user)
                if isinstance(case, RemediationApprovalRequest)
                else outcome.of_exception(case, facts, user, now)
            )
        picture, more = Markup(), 0
        colours: tuple[tuple[str, str], ...] = ()
        if facts.comparison and facts.changes:
            about = f"The plan before and after: {'; '.join(facts.change_words())}"
            drawn = await asyncio.to_thread(pairs, facts.comparison, about)
            picture, more = Markup(drawn.svg), drawn.more  # noqa: S704  drawn by us, with all texts escaped
            colours = legend(facts.comparison)
        # A page on which something is typed already must not be fetched again without it.
        topics = "" if typed or problem or status != HTTPStatus.OK else "exceptions plans remediations"
        changes = self._site.changes
        return self._site.pages.show(
            request,
            "request.html",
            status=status,
            facts=facts,
            note=note,
            refusal=reader.refusal,
            typed=typed[:LONGEST_REASON],
            token=request.query_params.get("token", ""),
            problem=problem,
            picture=picture,
            legend=colours,
            more=more,
            longest=LONGEST_REASON,
            action=request.url.path,
            local=local,
            topics=topics,
            version=written(changes.version(changes.topics(topics))),
            now=now,
            waiting_count=len(viewer(self._site, reader.session, request).waiting()),
            story=await self._story(reader.session, case),
            plan_page=await self._plan_page(reader.session, case),
        )

    async def _story(self, session: Session, case: Case) -> str:
        """Where the trail tells what happened to it; nowhere for who may not see that."""
        kind, found = deciding.kind_of(case), case.metadata
        if self._site.trail is None:
            return ""
        if not await self._site.seeing.namespaces(session.identity, kind, [found.namespace]):
            return ""
        return address(AUDIT, {}, {"kind": kind.kind, "namespace": found.namespace, "name": found.name})

    async def _plan_page(self, session: Session, case: Case) -> str:
        """Where the plan of an exception is shown; nowhere for who may not see it."""
        if isinstance(case, RemediationApprovalRequest):
            return ""
        namespace, name = case.metadata.namespace, case.spec.plan_ref.name
        is_there = self._site.cases.plans.get(namespace, name)
        seen = is_there and await self._site.seeing.sees(session.identity, PLANS, namespace, name)
        return f"/plans/{namespace}/{name}" if seen else ""

    async def _log_in_first(self, request: Request, session: Session | None) -> Response:
        """Nothing is decided; what was typed goes along and is there again after the log-in."""
        async with request.form(max_files=0, max_fields=20) as sent:
            reason = sent.get("reason", "")
        typed = reason.strip()[:LONGEST_REASON] if isinstance(reason, str) else ""
        again = login(request.url.path, fresh=session is not None)
        response = self._site.pages.show(request, "again.html", status=401, again=again, typed=typed)
        if typed:
            self._site.typed.keep(response, request.url.path, typed)
        return response

    async def _other_session(self, request: Request, session: Session, case: Case) -> Response:
        """The form is of an earlier log-in: show it again, with what was typed, and decide nothing."""
        sent = await request.form(max_files=0, max_fields=20)
        reason = sent.get("reason", "")
        typed = reason.strip() if isinstance(reason, str) else ""
        note = Note(
            "plain", "Nothing was decided yet", "You have logged in again meanwhile. Decide once more."
        )
        reader = await self._reader(request, session, case)
        return await self._page(request, case, reader, typed=typed, note=note, status=409)


def _problem(verdict: Verdict, reason: str) -> str:
    if len(reason) > LONGEST_REASON:
        return f"The reason has {len(reason)} characters, and at most {LONGEST_REASON} are kept. Write less."
    if verdict == "reject" and not reason:
        return "Write why you reject it: the requester is shown the reason."
    return ""


_EXPIRED: Final = Page(
    "This link has expired",
    "Nothing was decided.",
    "Open what waits for you and decide there.",
    again=HOME,
    label="What waits for you",
)
_GONE: Final = Page(
    "This request is not here",
    "It was deleted, or the link is not complete.",
    "Copy the whole link from the mail, or ask the requester.",
    again=HOME,
    label="What waits for you",
)
_NOT_ASKED: Final = Page(
    "This link is for another person",
    "You are logged in, but you are not among those who are asked. Nothing was changed.",
    "If the mail came to another address of yours, log out and log in with that one.",
    again=HOME,
    label="What waits for you",
)
