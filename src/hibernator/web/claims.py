"""What an ID token must say, and who it says that a person is. Pure: the signature was checked before.

Names and groups become those of Kubernetes exactly as kube-apiserver's `--oidc-*` flags make them, so that a
role means the same people at both doors.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from joserfc.errors import ClaimError, ExpiredTokenError
from joserfc.jwt import JWTClaimsRegistry
from whenever import Instant

from hibernator.approvals.people import LONGEST_CLAIM, own_groups
from hibernator.decisions.person import mailbox
from hibernator.web.identity import Identity
from hibernator.web.refusals import LoginRefusedError

SKEW: Final = 60  # seconds
_OLDEST: Final = 86_400  # seconds since a token was made, whatever it says of its own end
_ADDRESS: Final = re.compile(r"[^\s@<>,;\"]+@[^\s@<>,;\"]+")
_RETRY: Final = "Log in again. If it happens once more, ask the administrator of your company's log-in."
_ADMIN: Final = "Ask the administrator of your company's log-in."

Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the answer to one log-in must say."""

    issuer: str
    client_id: str
    nonce: str
    max_age: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Who may come in, and under which name."""

    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    required: tuple[tuple[str, str], ...] = ()
    domains: frozenset[str] = frozenset()
    verified_only: bool = True


def check(claims: Claims, expected: Expected, now: Instant) -> None:
    """Whether a token is the provider's, for us, for this log-in, and for this moment."""
    registry = JWTClaimsRegistry(
        now=now.timestamp(),
        leeway=SKEW,
        iss={"essential": True, "value": expected.issuer},
        sub={"essential": True},
        aud={"essential": True, "value": expected.client_id},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": expected.nonce},
    )
    try:
        registry.validate(dict(claims))
    except ExpiredTokenError as error:
        raise LoginRefusedError("expired", "The provider's answer has expired.", _RETRY) from error
    except ClaimError as error:
        reason = _REASONS.get(error.claim, "claim")
        raise LoginRefusedError(reason, f"The provider's answer is not valid ({reason}).", _RETRY) from error
    for claim, value in (("iss", expected.issuer), ("nonce", expected.nonce)):
        if claims[claim] != value:  # the registry takes a list that holds it, too
            reason = _REASONS[claim]
            raise LoginRefusedError(reason, f"The provider's answer is not valid ({reason}).", _RETRY)
    if now.timestamp() - claims["iat"] > _OLDEST:
        raise LoginRefusedError("expired", "The provider's answer has expired.", _RETRY)
    _check_party(claims, expected.client_id)
    _check_age(claims, expected.max_age, now)


_REASONS: Final = {"iss": "issuer", "aud": "audience", "nonce": "nonce", "sub": "subject", "exp": "expired"}


def _check_party(claims: Claims, client_id: str) -> None:
    """A token for several must name the one that it was made for."""
    audience, party = claims["aud"], claims.get("azp")
    alone = isinstance(audience, str) or len(audience) == 1
    if (party is None and not alone) or (party is not None and party != client_id):
        raise LoginRefusedError("audience", "The provider's answer is not valid (audience).", _RETRY)


def _check_age(claims: Claims, max_age: int | None, now: Instant) -> None:
    if max_age is None:
        return
    at = claims.get("auth_time")
    if isinstance(at, bool) or not isinstance(at, int | float):
        words = "A recent log-in is required, and the provider does not say when you logged in."
        raise LoginRefusedError("auth_time", words, _ADMIN)
    if not -SKEW <= now.timestamp() - at <= max_age + SKEW:
        words = "A recent log-in is required, and the provider did not ask you to log in again."
        raise LoginRefusedError("auth_time", words, "Log out at your provider and log in again.")


def lacks(claims: Claims, rules: Rules) -> bool:
    """Whether the ID token leaves out what the provider may say elsewhere."""
    wanted = {"email", rules.username_claim, rules.groups_claim, *(claim for claim, _ in rules.required)}
    wanted |= {"email_verified"} if rules.verified_only else set()
    return not (wanted - {""} <= claims.keys())


def joined(token: Claims, userinfo: Claims) -> Claims:
    """What ID token and userinfo say together. An address, and whether it is verified, comes from one."""
    address = {"email", "email_verified"}
    both = address <= token.keys() or "email" not in userinfo
    found = {**userinfo, **token}
    source = token if both else userinfo
    return {name: value for name, value in found.items() if name not in address} | {
        name: source[name] for name in address & source.keys()
    }


def identity(claims: Claims, rules: Rules, issuer: str) -> Identity:
    """Who a person is, if they may come in at all."""
    email = _email(claims, rules)
    for claim, value in rules.required:
        if not _has(claims.get(claim), value):
            words = f"You are logged in at the provider, but {claim} is not {value}."
            raise LoginRefusedError("claim", words, _ADMIN)
    name = claims.get("name")
    return Identity(
        issuer=issuer,
        subject=str(claims["sub"]),
        email=email,
        name=name if isinstance(name, str) and name.strip() else email,
        username=_username(claims, rules, issuer),
        groups=own_groups(_groups(claims, rules)),
        authenticated_at=_authenticated_at(claims),
    )


def check_domain(email: str, domains: frozenset[str]) -> None:
    """Whether people of this address may come in; at every way to log in."""
    domain = mailbox(email).rpartition("@")[2]
    if domains and domain not in domains:
        words = f"Addresses of {domain} may not log in here."
        raise LoginRefusedError("domain", words, "Log in with your company's address.")


def _email(claims: Claims, rules: Rules) -> str:
    email = claims.get("email")
    if not (isinstance(email, str) and is_address(email)):
        words = "The provider does not say which e-mail address you have."
        raise LoginRefusedError("no_email", words, _ADMIN)
    if rules.verified_only and claims.get("email_verified") is not True:
        words = "The provider has not verified your e-mail address."
        raise LoginRefusedError("unverified_email", words, _ADMIN)
    check_domain(email, rules.domains)
    return email


def is_address(text: str) -> bool:
    """One address, with nothing in it that cannot be seen."""
    return len(text) <= LONGEST_CLAIM and bool(_ADDRESS.fullmatch(text)) and text.isprintable()


def _username(claims: Claims, rules: Rules, issuer: str) -> str:
    """As kube-apiserver: without a prefix the issuer and # stand before all claims but `email`."""
    found = claims.get(rules.username_claim)
    if not isinstance(found, str) or not found:
        words = f"The provider does not say {rules.username_claim}, which is the user name here."
        raise LoginRefusedError("claim", words, _ADMIN)
    prefix = rules.username_prefix
    if not prefix and rules.username_claim != "email":
        prefix = f"{issuer}#"
    username = found if prefix == "-" else prefix + found
    if username.startswith("system:") or not username.isprintable():
        words = f"The {rules.username_claim} that the provider says cannot be the name of a person here."
        raise LoginRefusedError("claim", words, _ADMIN)
    return username


def _groups(claims: Claims, rules: Rules) -> tuple[str, ...]:
    found = claims.get(rules.groups_claim) if rules.groups_claim else None
    if isinstance(found, str):
        found = [found]
    if not isinstance(found, list):
        return ()
    return tuple(rules.groups_prefix + group for group in found if isinstance(group, str))


def _authenticated_at(claims: Claims) -> Instant:
    """When they proved it. Without `auth_time`, which a recent log-in insists on, when they came back."""
    made, at = int(claims["iat"]), claims.get("auth_time")
    if isinstance(at, int | float) and not isinstance(at, bool) and 0 <= at <= made + SKEW:
        return Instant.from_timestamp(int(at))
    return Instant.from_timestamp(made)


def _has(found: Any, value: str) -> bool:
    return value in found if isinstance(found, list) else found == value
