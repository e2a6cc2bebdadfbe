"""Log-in by SAML: the browser takes our request to the provider, whose form brings the answer.

The request is an address, or a form of ours where the provider takes no other.
"""

from typing import Final
from urllib.parse import urlsplit

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from hibernator.approvals.people import own_groups
from hibernator.web.attempts import Attempt
from hibernator.web.claims import check_domain
from hibernator.web.identity import Identity
from hibernator.web.paths import HOME, own_path
from hibernator.web.refusals import LoginRefusedError, unknown_attempt
from hibernator.web.safety import POLICY
from hibernator.web.saml.claims import email_of, groups_of, name_of
from hibernator.web.saml.replay import use_once
from hibernator.web.saml.request import Start
from hibernator.web.saml.response import LONGEST, SKEW, Assertion, NotBelievedError
from hibernator.web.saml.service import CONSUMER, ServiceProvider
from hibernator.web.settings import domains
from hibernator.web.site import Site

METADATA: Final = "/saml/metadata"
_MOST_BODY: Final = 2 * LONGEST  # a form may write each sign of base64 as three
_RETRY: Final = "Log in again. If it happens once more, ask the administrator of your company's log-in."

_log: Final = structlog.get_logger(__name__)


class Saml:
    path = "/login/saml"
    title = "Single sign-on (SAML)"

    def __init__(self, site: Site, service: ServiceProvider) -> None:
        self._site = site
        self._service = service

    def routes(self) -> list[BaseRoute]:
        return [
            Route(self.path, self._begin),
            Route(METADATA, self._metadata),
            Route(CONSUMER, self._finish, methods=["POST"], max_body_size=_MOST_BODY),
        ]

    async def _metadata(self, _request: Request) -> Response:
        return Response(self._service.metadata(), media_type="application/samlmetadata+xml")

    async def _begin(self, request: Request) -> Response:
        self._site.limit_logins(request)
        fresh = bool(request.query_params.get("fresh"))
        minutes = self._site.settings.fresh_login_minutes
        attempt = self._site.attempts.begin(
            "saml",
            own_path(request.query_params.get("next", "")),
            minutes * 60 if fresh and minutes else None,
        )
        now = self._site.wall_clock.now()
        start = self._service.start(attempt.nonce, attempt.state, now, fresh=fresh)
        response = self._form(request, start) if start.fields else RedirectResponse(start.address, 303)
        self._site.attempts.remember(request, response, attempt)
        return response

    def _form(self, request: Request, start: Start) -> Response:
        """A page whose form goes to the provider, which may send the browser on to other hosts."""
        response = self._site.pages.show(request, "send.html", address=start.address, fields=start.fields)
        to = f"form-action {urlsplit(start.address).scheme}:"
        response.headers["Content-Security-Policy"] = POLICY.replace("form-action 'self'", to)
        return response

    async def _finish(self, request: Request) -> Response:
        self._site.limit_logins(request)
        async with request.form(max_files=0, max_fields=20) as sent:
            fields = {name: value for name, value in sent.items() if isinstance(value, str)}
        attempt = self._site.attempts.find(request, "saml", fields.get("RelayState", ""))
        if attempt is None and not self._service.unsolicited:
            return self._site.login_refused(request, "saml", unknown_attempt(self._site.settings.base_url))
        try:
            identity = await self._identity(fields.get("SAMLResponse", ""), attempt)
        except NotBelievedError as error:
            _log.warning("saml response refused", reason=error.reason, why=str(error))
            words = f"The answer of your company's log-in is not accepted ({error.reason.replace('_', ' ')})."
            return self._site.login_refused(
                request, "saml", LoginRefusedError(error.reason, words, _RETRY), attempt
            )
        except LoginRefusedError as error:
            return self._site.login_refused(request, "saml", error, attempt)
        attempt = attempt or self._site.attempts.begin("saml", HOME)
        try:
            return self._site.logged_in(request, attempt, identity)
        except LoginRefusedError as error:
            return self._site.login_refused(request, "saml", error, attempt)

    async def _identity(self, posted: str, attempt: Attempt | None) -> Identity:
        """Who came back, as the provider vouches for them, once."""
        site, settings = self._site, self._site.settings
        assertion = await self._service.finish(
            posted, attempt.nonce if attempt else "", site.wall_clock.now()
        )
        email = email_of(assertion)
        check_domain(email, domains(settings))
        self._check_age(assertion, attempt)
        await use_once(site.client, settings.namespace, assertion, site.wall_clock.now())
        prefix = "" if settings.oidc_username_prefix == "-" else settings.oidc_username_prefix
        groups = groups_of(assertion, settings.oidc_groups_claim)
        return Identity(
            issuer=assertion.issuer,
            subject=assertion.name_id,
            email=email,
            name=name_of(assertion),
            username=f"{prefix}{email}",
            groups=own_groups(f"{settings.oidc_groups_prefix}{group}" for group in groups),
            authenticated_at=assertion.authenticated_at,
        )

    def _check_age(self, assertion: Assertion, attempt: Attempt | None) -> None:
        if attempt is None or attempt.max_age is None:
            return
        if self._site.wall_clock.now() - assertion.authenticated_at > SKEW.add(seconds=attempt.max_age):
            words = "A recent log-in is required, and your company's log-in did not ask you again."
            raise LoginRefusedError("auth_time", words, "Log out there and log in again.")
