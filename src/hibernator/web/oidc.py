"""Log-in by OpenID Connect: the code flow with PKCE, `state` and `nonce`, over four requests.

The browser is sent to the provider with the hash of a secret, and comes back with a code, which is worth
something only together with that secret. State, nonce and secret are in the browser's sealed cookie.
"""

import hashlib
from base64 import urlsafe_b64encode
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from hibernator.web import claims
from hibernator.web.attempts import Attempt
from hibernator.web.identity import Identity
from hibernator.web.paths import own_path
from hibernator.web.provider import Provider
from hibernator.web.refusals import LoginRefusedError, ProviderAwayError, unknown_attempt
from hibernator.web.sessions import LONGEST
from hibernator.web.settings import Settings, domains, required_claims, secret
from hibernator.web.site import Site

CALLBACK: Final = "/oidc/callback"
_LONGEST_ANSWER: Final = 4_096  # characters of a code
_ERRORS: Final = frozenset(
    {
        "access_denied",
        "consent_required",
        "interaction_required",
        "invalid_request",
        "invalid_scope",
        "login_required",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unsupported_response_type",
    }
)


def rules(settings: Settings) -> claims.Rules:
    return claims.Rules(
        username_claim=settings.oidc_username_claim,
        username_prefix=settings.oidc_username_prefix,
        groups_claim=settings.oidc_groups_claim,
        groups_prefix=settings.oidc_groups_prefix,
        required=required_claims(settings),
        domains=domains(settings),
        verified_only=settings.oidc_require_verified_email,
    )


class Oidc:
    """The way in through the provider of the settings."""

    path = "/login/oidc"
    title = "Single sign-on"

    def __init__(self, site: Site, provider: Provider) -> None:
        self._site = site
        self._settings = site.settings
        self._provider = provider
        self._rules = rules(site.settings)
        self._redirect = site.settings.base_url + CALLBACK

    def routes(self) -> list[BaseRoute]:
        return [Route(self.path, self._begin), Route(CALLBACK, self._finish)]

    async def _begin(self, request: Request) -> Response:
        self._site.limit_logins(request)
        next_ = own_path(request.query_params.get("next", ""))
        attempt = self._site.attempts.begin("oidc", next_, self._max_age(request))
        try:
            address = await self._address(attempt)
        except ProviderAwayError as error:
            return self._site.provider_away(request, "oidc", error, next_)
        response = RedirectResponse(address, 303)
        self._site.attempts.remember(request, response, attempt)
        return response

    async def _finish(self, request: Request) -> Response:
        self._site.limit_logins(request)
        attempt = self._site.attempts.find(request, "oidc", request.query_params.get("state", ""))
        if attempt is None:
            return self._site.login_refused(request, "oidc", unknown_attempt(self._site.settings.base_url))
        try:
            return self._site.logged_in(request, attempt, await self._identity(request, attempt))
        except ProviderAwayError as error:
            return self._site.provider_away(request, "oidc", error, attempt.next)
        except LoginRefusedError as error:
            return self._site.login_refused(request, "oidc", error, attempt)

    async def _address(self, attempt: Attempt) -> str:
        described = await self._provider.description()
        digest = hashlib.sha256(attempt.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._settings.oidc_client_id,
            "redirect_uri": self._redirect,
            "scope": self._settings.oidc_scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        if attempt.max_age is not None:
            query["max_age"] = str(attempt.max_age)
        joint = "&" if "?" in described.authorization_endpoint else "?"
        return described.authorization_endpoint + joint + urlencode(query)

    async def _identity(self, request: Request, attempt: Attempt) -> Identity:
        """Who came back, as the provider vouches for them."""
        answer, provider = request.query_params, self._provider
        described = await provider.description()
        wants_issuer = described.authorization_response_iss_parameter_supported
        if answer.get("iss", None if wants_issuer else provider.issuer) != provider.issuer:
            raise LoginRefusedError("issuer", "Another provider answered than was asked.", "Log in again.")
        code = answer.get("code", "")
        if not 0 < len(code) <= _LONGEST_ANSWER:
            error = answer.get("error", "")
            known = error if error in _ERRORS else "no reason"
            raise LoginRefusedError("denied", f"The provider did not log you in ({known}).", "Log in again.")
        settings = self._settings
        tokens = await provider.exchange(
            code,
            attempt.verifier,
            self._redirect,
            settings.oidc_client_id,
            self._secret(),
        )
        found = await provider.claims(tokens.id_token)
        expected = claims.Expected(
            issuer=provider.issuer,
            client_id=settings.oidc_client_id,
            nonce=attempt.nonce,
            max_age=attempt.max_age,
        )
        claims.check(found, expected, self._site.wall_clock.now())
        if claims.lacks(found, self._rules):
            more = await provider.userinfo(tokens.access_token)
            if more and more.get("sub") != found["sub"]:
                raise LoginRefusedError(
                    "subject", "The answers of the provider name two people.", "Log in again."
                )
            found = claims.joined(found, more)
        return claims.identity(found, self._rules, provider.issuer)

    def _secret(self) -> str:
        """As the file has it now: it may have been changed since the last log-in."""
        file = self._settings.oidc_client_secret_file
        try:
            return secret(file) if file else ""
        except (OSError, UnicodeDecodeError) as error:
            raise ProviderAwayError(f"oidcClientSecretFile {file} cannot be read: {error}") from error

    def _max_age(self, request: Request) -> int | None:
        """How recently the person must have proved who they are. Asked for it, the provider says when."""
        minutes = self._settings.fresh_login_minutes
        if not minutes:
            return None
        return minutes * 60 if request.query_params.get("fresh") else round(LONGEST.total("seconds"))
