"""What every page works with, put together once for each replica."""

from dataclasses import dataclass, replace
from typing import Final, Protocol

import structlog
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from hibernator.audit.reading import TrailReader
from hibernator.decisions.person import mailbox
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.metrics import Metrics
from hibernator.web.attempts import Attempt, Attempts, Way
from hibernator.web.cases import Cases
from hibernator.web.dashboard.changes import Changes
from hibernator.web.dashboard.kept import RestoreData
from hibernator.web.dashboard.saved import Savings
from hibernator.web.dashboard.seeing import Visibility
from hibernator.web.ended import Ended
from hibernator.web.forwarded import shared_by
from hibernator.web.identity import Identity
from hibernator.web.limits import Limits
from hibernator.web.metrics import LOGINS
from hibernator.web.pages import Pages
from hibernator.web.paths import HOME, login
from hibernator.web.refusals import LoginRefusedError, Page, ProviderAwayError, RefusedError
from hibernator.web.safety import too_many
from hibernator.web.sessions import Session, Sessions, TooLongError
from hibernator.web.settings import Settings
from hibernator.web.typed import Typed


class Login(Protocol):
    """One way to log in."""

    path: str  # where it begins
    title: str  # what people call it

    def routes(self) -> list[BaseRoute]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    settings: Settings
    clock: Clock
    wall_clock: Clock  # for log-ins and peers; another one only where the days of `clock` pass in minutes
    metrics: Metrics
    client: Client
    cases: Cases
    sessions: Sessions
    ended: Ended
    attempts: Attempts
    pages: Pages
    typed: Typed
    limits: Limits
    seeing: Visibility
    changes: Changes
    trail: TrailReader | None = None  # None where the settings name no way to it
    savings: Savings | None = None  # likewise
    restore_data: RestoreData | None = None  # None where the settings name no operator

    def who(self, request: HTTPConnection) -> Session | None:
        """Who asks; None where no one is logged in."""
        session: Session | None = getattr(request.state, "session", None)
        return session

    def to_login(self, request: Request, *, fresh: bool = False) -> Response:
        """Send a person to the log-in, and back to this page. Only for GET: forms must not lead elsewhere."""
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(login(request.url.path + query, fresh=fresh), 303)

    def needs_fresh(self, session: Session) -> bool:
        """Whether a decision needs a more recent log-in than this one."""
        return not self.sessions.is_fresh(session, self.settings.fresh_login_minutes)

    async def form(self, request: Request, session: Session) -> dict[str, str]:
        """The fields of a form that this session's own page sent; RefusedError for any other."""
        if wait := self.limits.person.wait(mailbox(session.identity.email)):
            raise too_many(wait)
        async with request.form(max_files=0, max_fields=20) as sent:
            fields = {name: value for name, value in sent.items() if isinstance(value, str)}
        if not self.sessions.is_form_token(session, fields.get("form_token", "")):
            raise RefusedError("form", _OTHER_FORM)
        return fields

    def limit_logins(self, request: Request) -> None:
        """Let no address try all the time."""
        if wait := self.limits.login.wait(shared_by(request.state.address)):
            raise too_many(wait)

    def logged_in(self, request: Request, attempt: Attempt, identity: Identity) -> Response:
        """End a log-in: a new session, and on to where the person wanted to go."""
        session = self.sessions.begin(identity)
        response = RedirectResponse(attempt.next, 303)
        try:
            self.sessions.remember(response, session)
        except TooLongError as error:
            words = "You are in more groups than a browser can keep."
            fix = "Ask the administrator of the log-in to send only the groups that are used as roles here."
            raise LoginRefusedError("groups", words, fix) from error
        self.attempts.forget(response, attempt)
        self.metrics.count(LOGINS, attempt.way, "done")
        _log.info("logged in", way=attempt.way, subject=identity.subject, address=request.state.address)
        return response

    def login_refused(
        self, request: Request, way: Way, error: LoginRefusedError, attempt: Attempt | None = None
    ) -> Response:
        """Say why a person is not logged in, and offer to try again."""
        self.metrics.count(LOGINS, way, error.reason)
        _log.warning("log-in refused", way=way, reason=error.reason, address=request.state.address)
        again = login(attempt.next if attempt else HOME)
        refusal = RefusedError(error.reason, replace(error.page, again=again), status=error.status)
        response = self.pages.refused(request, refusal)
        if attempt:
            self.attempts.forget(response, attempt)
        return response

    def provider_away(self, request: Request, way: Way, error: ProviderAwayError, next_: str) -> Response:
        """Say that no one can log in at the moment."""
        self.metrics.count(LOGINS, way, "provider")
        _log.warning("identity provider away", way=way, why=str(error))
        words = "The log-in of your company does not answer. Nothing was changed."
        page = Page("You cannot log in right now", words, "Try again in a minute.", again=login(next_))
        return self.pages.refused(request, RefusedError("provider", page, status=503))


_log: Final = structlog.get_logger(__name__)
_OTHER_FORM = Page(
    "This form is too old",
    "It was made for another log-in. Nothing was changed.",
    "Open the page again and decide there.",
    again="/",
)
