"""What an identity provider answered, and whether it may be believed. Pure: no clock, no network.

Everything that is believed comes out of the assertion as it was signed. Most providers do not sign the
message around it: it can only make an answer worse, never better.
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from whenever import Instant, TimeDelta

from hibernator.web.saml.provider import IdentityProvider
from hibernator.web.saml.signature import SignatureError, verified
from hibernator.web.saml.xml import NAMESPACES, SAML, SAMLP, Element, MalformedError, one, parse, text

SKEW: Final = TimeDelta(seconds=60)
OLDEST: Final = TimeDelta(hours=1)  # of an assertion, whatever it says of its own validity
LONGEST: Final = 256 * 1024  # characters of the form's field

_SUCCESS: Final = "urn:oasis:names:tc:SAML:2.0:status:Success"
_STATUS: Final = "urn:oasis:names:tc:SAML:2.0:status:"
_BEARER: Final = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
_CONDITIONS: Final = frozenset(
    f"{{{SAML}}}{name}" for name in ("AudienceRestriction", "OneTimeUse", "ProxyRestriction")
)
_LONGEST_NAME: Final = 256


class NotBelievedError(Exception):
    """An answer that logs no one in: a reason for metrics, and a sentence for the log."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Expected:
    """What we know without the answer."""

    provider: IdentityProvider
    entity_id: str
    consumer: str  # the address that answers are posted to
    request_id: str  # of our request; empty where an answer without a request is allowed
    now: Instant


@dataclass(frozen=True, slots=True)
class Assertion:
    """What was signed about a person."""

    id: str
    issuer: str
    name_id: str
    name_format: str
    attributes: tuple[tuple[str, tuple[str, ...]], ...]
    authenticated_at: Instant
    ends_at: Instant  # from when on it would be refused for its age: no need to remember it for longer


def read(posted: str, expected: Expected) -> Assertion:
    """The claims of an answer; raises `NotBelievedError` at the first thing that is not as it must be."""
    try:
        message = _message(posted)
        for check in _MESSAGE:
            check(message, expected)
        assertion = _signed_assertion(message, expected)
        for check in _ASSERTION:
            check(assertion, expected)
        return _claims(assertion)
    except MalformedError as error:
        raise NotBelievedError("malformed", f"the SAML response is refused: {error}") from None
    except SignatureError as error:
        raise NotBelievedError("signature", f"the SAML response is refused: {error}") from None


def _message(posted: str) -> Element:
    if len(posted) > LONGEST:
        raise MalformedError(f"it has {len(posted)} characters, more than {LONGEST}")
    try:
        document = base64.b64decode("".join(posted.split()), validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError("it is not base64") from None
    root = parse(document)
    if root.tag != f"{{{SAMLP}}}Response" or root.get("Version") != "2.0":
        raise MalformedError("it is not a SAML 2.0 Response")
    return root


def _signed_assertion(message: Element, expected: Expected) -> Element:
    """The one assertion, where assertions belong, as its own signature vouches for it."""
    if message.findall(".//saml:EncryptedAssertion", NAMESPACES):
        raise NotBelievedError(
            "encrypted",
            "the SAML response is refused: its assertion is encrypted, for which there is no key here: "
            "switch encryption off at the identity provider; TLS protects it on its way",
        )
    everywhere = message.findall(".//saml:Assertion", NAMESPACES)
    if len(everywhere) != 1 or everywhere[0].getparent() is not message:
        raise NotBelievedError(
            "assertions",
            f"the SAML response is refused: it has {len(everywhere)} assertions, where exactly one is "
            "expected, directly in the Response",
        )
    assertion = everywhere[0]
    signatures = message.findall(".//ds:Signature", NAMESPACES)
    if not assertion.findall("ds:Signature", NAMESPACES):
        raise NotBelievedError(
            "unsigned",
            "the SAML response is refused: its assertion is not signed: switch signed assertions on at the "
            "identity provider; a signed response alone is not enough",
        )
    if not all(signature.getparent() in (message, assertion) for signature in signatures):
        raise MalformedError("a signature is in an odd place")
    certificates = expected.provider.certificates
    if message.findall("ds:Signature", NAMESPACES):
        verified(message, certificates)
    believed = verified(assertion, certificates)
    if believed.tag != f"{{{SAML}}}Assertion" or believed.get("Version") != "2.0":
        raise MalformedError("something else than a SAML 2.0 assertion is signed")
    return believed


def _status(message: Element, _expected: Expected) -> None:
    code = one(one(message, "samlp:Status"), "samlp:StatusCode")
    if code.get("Value") == _SUCCESS:
        return
    codes = [code.get("Value", ""), *(inner.get("Value", "") for inner in code)]
    said = " ".join(name.removeprefix(_STATUS) for name in codes if name.startswith(_STATUS))
    raise NotBelievedError(
        "status", f"the identity provider did not log the person in: {said or 'no reason'}"
    )


def _destination(message: Element, expected: Expected) -> None:
    _equal("destination", "Destination", message.get("Destination"), expected.consumer)


def _answers_our_request(message: Element, expected: Expected) -> None:
    _equal("in_response_to", "InResponseTo", message.get("InResponseTo"), expected.request_id or None)


def _message_issuer(message: Element, expected: Expected) -> None:
    for issuer in message.findall("saml:Issuer", NAMESPACES):
        _equal("issuer", "Issuer", text(issuer), expected.provider.entity_id)


def _issuer(assertion: Element, expected: Expected) -> None:
    _equal("issuer", "Issuer", text(one(assertion, "saml:Issuer")), expected.provider.entity_id)


def _age(assertion: Element, expected: Expected) -> None:
    issued = _instant(assertion, "IssueInstant")
    if issued > expected.now + SKEW:
        raise NotBelievedError("not_yet_valid", f"the SAML assertion was issued in the future, at {issued}")
    if issued <= expected.now - OLDEST - SKEW:
        raise NotBelievedError("expired", f"the SAML assertion is too old: it was issued at {issued}")


def _conditions(assertion: Element, expected: Expected) -> None:
    conditions = one(assertion, "saml:Conditions")
    _within(conditions, expected.now)
    if unknown := next((part.tag for part in conditions if part.tag not in _CONDITIONS), None):
        raise MalformedError(f"it has a condition that is not known here: {unknown}")
    restrictions = conditions.findall("saml:AudienceRestriction", NAMESPACES)
    audiences = [{text(one) for one in each.findall("saml:Audience", NAMESPACES)} for each in restrictions]
    if not audiences or not all(expected.entity_id in among for among in audiences):
        named = ", ".join(sorted(set().union(*audiences))) or "no audience"
        raise NotBelievedError(
            "audience",
            f"the SAML assertion is for {named}, not for {expected.entity_id}: set this entity id as the "
            "audience at the identity provider",
        )


def _subject(assertion: Element, expected: Expected) -> None:
    """One of the ways to confirm the subject must hold: a bearer, here, now, as the answer to our request."""
    subject = one(assertion, "saml:Subject")
    name = text(one(subject, "saml:NameID"))
    if not name or len(name) > _LONGEST_NAME:
        raise NotBelievedError("name_id", "the SAML assertion has no user: its NameID is empty or too long")
    refusals = [
        _unconfirmed(way, expected) for way in subject.findall("saml:SubjectConfirmation", NAMESPACES)
    ]
    if None not in refusals:
        raise next(
            (refusal for refusal in refusals if refusal),
            NotBelievedError("recipient", "the SAML assertion has no SubjectConfirmation"),
        )


def _unconfirmed(way: Element, expected: Expected) -> NotBelievedError | None:
    try:
        _equal("recipient", "SubjectConfirmation Method", way.get("Method"), _BEARER)
        data = one(way, "saml:SubjectConfirmationData")
        _equal("recipient", "Recipient", data.get("Recipient"), expected.consumer)
        _equal("in_response_to", "InResponseTo", data.get("InResponseTo"), expected.request_id or None)
        _instant(data, "NotOnOrAfter")  # must be there
        _within(data, expected.now)
    except NotBelievedError as refusal:
        return refusal
    return None


def _authenticated(assertion: Element, expected: Expected) -> None:
    statement = one(assertion, "saml:AuthnStatement")
    at = _instant(statement, "AuthnInstant")
    if at > expected.now + SKEW:
        raise NotBelievedError("not_yet_valid", f"the SAML assertion has a log-in in the future, at {at}")
    ends = statement.get("SessionNotOnOrAfter")
    if ends and _instant(statement, "SessionNotOnOrAfter") <= expected.now - SKEW:
        raise NotBelievedError("expired", f"the log-in at the identity provider ended at {ends}")


_MESSAGE: Final[tuple[Callable[[Element, Expected], None], ...]] = (
    _status,
    _destination,
    _answers_our_request,
    _message_issuer,
)
_ASSERTION: Final[tuple[Callable[[Element, Expected], None], ...]] = (
    _issuer,
    _age,
    _conditions,
    _subject,
    _authenticated,
)


def _claims(assertion: Element) -> Assertion:
    name = one(one(assertion, "saml:Subject"), "saml:NameID")
    return Assertion(
        id=assertion.get("ID"),
        issuer=text(one(assertion, "saml:Issuer")),
        name_id=text(name),
        name_format=name.get("Format", ""),
        attributes=tuple(_attributes(assertion)),
        authenticated_at=_instant(one(assertion, "saml:AuthnStatement"), "AuthnInstant"),
        ends_at=_instant(assertion, "IssueInstant") + OLDEST + SKEW,
    )


def _attributes(assertion: Element) -> Iterator[tuple[str, tuple[str, ...]]]:
    for attribute in assertion.findall("saml:AttributeStatement/saml:Attribute", NAMESPACES):
        values = (
            text(value)
            for value in attribute.findall("saml:AttributeValue", NAMESPACES)
            if not len(value)  # a structure, which none of what we look for has
        )
        yield attribute.get("Name", ""), tuple(value for value in values if value)


def _within(element: Element, now: Instant) -> None:
    """The skew is on our side: a provider may say 9999 for ever, and there is no minute after that."""
    starts, ends = element.get("NotBefore"), element.get("NotOnOrAfter")
    if starts and _instant(element, "NotBefore") > now + SKEW:
        raise NotBelievedError(
            "not_yet_valid", f"the SAML assertion is not valid before {starts}; it is {now}"
        )
    if ends and _instant(element, "NotOnOrAfter") <= now - SKEW:
        raise NotBelievedError("expired", f"the SAML assertion was valid until {ends}; it is {now}")


def _instant(element: Element, name: str) -> Instant:
    try:
        return Instant(element.get(name, ""))
    except ValueError:
        raise MalformedError(f"{name} is no time in UTC: {element.get(name, '')!r}") from None


def _equal(reason: str, name: str, found: str | None, wanted: str | None) -> None:
    if found != wanted:
        raise NotBelievedError(
            reason, f"the SAML response is refused: its {name} is {found!r}, expected {wanted!r}"
        )
