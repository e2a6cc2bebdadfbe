"""A SAML identity provider for tests: it signs by hand, so that what it signs can be broken by hand.

Nothing here is shared with what verifies: signatures are made of lxml's canonical form and `cryptography`.
"""

import base64
import copy
import hashlib
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from lxml import etree
from whenever import Instant, TimeDelta

SAML: Final = "urn:oasis:names:tc:SAML:2.0:assertion"
SAMLP: Final = "urn:oasis:names:tc:SAML:2.0:protocol"
DS: Final = "http://www.w3.org/2000/09/xmldsig#"
EXCLUSIVE: Final = "http://www.w3.org/2001/10/xml-exc-c14n#"
ENVELOPED: Final = f"{DS}enveloped-signature"
BEARER: Final = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
SUCCESS: Final = "urn:oasis:names:tc:SAML:2.0:status:Success"
NAMESPACES: Final = {"saml": SAML, "samlp": SAMLP, "ds": DS}

BASE_URL: Final = "https://hibernator.example"
ACS: Final = f"{BASE_URL}/saml/acs"
SP: Final = "https://hibernator.example/saml/metadata"
IDP: Final = "https://idp.example/metadata"
SSO: Final = "https://idp.example/sso"
REQUEST: Final = "_request-1"
NOW: Final = Instant("2026-11-16T12:00:00Z")
_A_MINUTE_AGO: Final = TimeDelta(minutes=-1)
_SOON: Final = TimeDelta(minutes=5)

SHA256: Final = ("http://www.w3.org/2001/04/xmlenc#sha256", "sha256")
SHA512: Final = ("http://www.w3.org/2001/04/xmlenc#sha512", "sha512")
SHA1: Final = (f"{DS}sha1", "sha1")
RSA_SHA256: Final = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
RSA_SHA512: Final = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512"
RSA_SHA1: Final = f"{DS}rsa-sha1"
ECDSA_SHA256: Final = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256"
_HASHES: Final[dict[str, hashes.HashAlgorithm]] = {
    RSA_SHA256: hashes.SHA256(),
    RSA_SHA512: hashes.SHA512(),
    RSA_SHA1: hashes.SHA1(),  # noqa: S303  the point is that it is refused
    ECDSA_SHA256: hashes.SHA256(),
}
_TEMPLATE: Final = """\
<samlp:Response xmlns:samlp="{samlp}" xmlns:saml="{saml}" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ID="{response_id}" Version="2.0"
 IssueInstant="{issued}" {destination} {in_response_to}><saml:Issuer>{response_issuer}</saml:Issuer>\
<samlp:Status><samlp:StatusCode Value="{status}"/></samlp:Status>\
<saml:Assertion ID="{assertion_id}" Version="2.0" IssueInstant="{issued}"><saml:Issuer>{issuer}</saml:Issuer>\
<saml:Subject><saml:NameID Format="{name_format}">{name_id}</saml:NameID>{confirmation}</saml:Subject>\
{conditions}<saml:AuthnStatement AuthnInstant="{authenticated}" SessionIndex="_s1"><saml:AuthnContext>\
<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport\
</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>\
<saml:AttributeStatement>{attributes}</saml:AttributeStatement></saml:Assertion></samlp:Response>"""


def stamp(at: Instant) -> str:
    return at.format_iso(unit="millisecond")


@dataclass(frozen=True, kw_only=True)
class Claims:
    """What a response says, each part of which an attack may change."""

    now: Instant = NOW
    response_id: str = "_response-1"
    assertion_id: str = "_assertion-1"
    issuer: str = IDP
    response_issuer: str = IDP
    status: str = SUCCESS
    name_id: str = "maria@corp.example"
    name_format: str = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
    audience: str | None = SP
    recipient: str | None = ACS
    destination: str | None = ACS
    in_response_to: str | None = REQUEST
    subject_in_response_to: str | None = REQUEST
    method: str = BEARER
    not_before: TimeDelta = _A_MINUTE_AGO
    not_after: TimeDelta | None = _SOON
    subject_not_after: TimeDelta | None = _SOON
    authenticated: TimeDelta = _A_MINUTE_AGO
    attributes: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("email", ("maria@corp.example",)),
        ("displayName", ("Maria Ito",)),
        ("groups", ("platform", "managers")),
    )

    def xml(self) -> str:
        return _TEMPLATE.format(
            samlp=SAMLP,
            saml=SAML,
            response_id=self.response_id,
            assertion_id=self.assertion_id,
            issued=stamp(self.now),
            destination=_attribute("Destination", self.destination),
            in_response_to=_attribute("InResponseTo", self.in_response_to),
            response_issuer=self.response_issuer,
            status=self.status,
            issuer=self.issuer,
            name_id=self.name_id,
            name_format=self.name_format,
            confirmation=self._confirmation(),
            conditions=self._conditions(),
            authenticated=stamp(self.now + self.authenticated),
            attributes="".join(_values(name, values) for name, values in self.attributes),
        )

    def _confirmation(self) -> str:
        ends = self._ends(self.subject_not_after)
        return (
            f'<saml:SubjectConfirmation Method="{self.method}"><saml:SubjectConfirmationData '
            f"{_attribute('InResponseTo', self.subject_in_response_to)} "
            f"{_attribute('Recipient', self.recipient)} {_attribute('NotOnOrAfter', ends)}/>"
            "</saml:SubjectConfirmation>"
        )

    def _ends(self, after: TimeDelta | None) -> str | None:
        return None if after is None else stamp(self.now + after)

    def _conditions(self) -> str:
        ends = self._ends(self.not_after)
        audience = self.audience and (
            f"<saml:AudienceRestriction><saml:Audience>{self.audience}</saml:Audience></saml:AudienceRestriction>"
        )
        starts = stamp(self.now + self.not_before)
        return (
            f'<saml:Conditions NotBefore="{starts}" {_attribute("NotOnOrAfter", ends)}>'
            f"{audience or ''}</saml:Conditions>"
        )


def _attribute(name: str, value: str | None) -> str:
    return "" if value is None else f'{name}="{value}"'


def _values(name: str, values: tuple[str, ...]) -> str:
    inner = "".join(
        f'<saml:AttributeValue xsi:type="xs:string">{value}</saml:AttributeValue>' for value in values
    )
    return f'<saml:Attribute Name="{name}">{inner}</saml:Attribute>'


@dataclass(frozen=True)
class Signing:
    method: str = RSA_SHA256
    digest: tuple[str, str] = SHA256
    prefixes: tuple[str, ...] = ()  # Okta lists `xs` among the inclusive namespaces
    canonical: str = EXCLUSIVE
    reference: str | None = None  # what is named as signed, if not the element itself


@dataclass(frozen=True)
class Provider:
    """A key, its certificate, and what they sign."""

    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    entity_id: str = IDP
    sso: str = field(default=SSO)

    def sign(self, element: Any, how: Signing = Signing()) -> Any:  # noqa: B008  frozen
        """Put an enveloped signature into an element, after its Issuer; returns the signature."""
        prefixes = list(how.prefixes) or None
        inclusive = (
            f'<ec:InclusiveNamespaces xmlns:ec="{EXCLUSIVE}" PrefixList="{" ".join(how.prefixes)}"/>'
            if prefixes
            else ""
        )
        payload = etree.tostring(
            etree.fromstring(etree.tostring(element, with_tail=False)),
            method="c14n",
            exclusive=how.canonical == EXCLUSIVE,
            with_comments=False,
            inclusive_ns_prefixes=prefixes,
        )
        digest = base64.b64encode(hashlib.new(how.digest[1], payload).digest()).decode()
        reference = how.reference if how.reference is not None else f"#{element.get('ID')}"
        signature = etree.fromstring(
            f'<ds:Signature xmlns:ds="{DS}"><ds:SignedInfo>'
            f'<ds:CanonicalizationMethod Algorithm="{EXCLUSIVE}"/>'
            f'<ds:SignatureMethod Algorithm="{how.method}"/><ds:Reference URI="{reference}"><ds:Transforms>'
            f'<ds:Transform Algorithm="{ENVELOPED}"/>'
            f'<ds:Transform Algorithm="{how.canonical}">{inclusive}</ds:Transform></ds:Transforms>'
            f'<ds:DigestMethod Algorithm="{how.digest[0]}"/><ds:DigestValue>{digest}</ds:DigestValue>'
            f"</ds:Reference></ds:SignedInfo><ds:SignatureValue/><ds:KeyInfo><ds:X509Data>"
            f"<ds:X509Certificate>{self.certificate_text}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
            "</ds:Signature>"
        )
        signed = etree.tostring(signature[0], method="c14n", exclusive=True)
        signature[1].text = base64.b64encode(self._sign(signed, how.method)).decode()
        element.insert(1, signature)
        return signature

    def _sign(self, data: bytes, method: str) -> bytes:
        chosen = _HASHES[method]
        if isinstance(self.key, rsa.RSAPrivateKey):
            return self.key.sign(data, padding.PKCS1v15(), chosen)
        r, s = utils.decode_dss_signature(self.key.sign(data, ec.ECDSA(chosen)))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    @property
    def certificate_text(self) -> str:
        return base64.b64encode(self.certificate.public_bytes(serialization.Encoding.DER)).decode()

    def metadata(self) -> str:
        return (
            f'<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" '
            f'entityID="{self.entity_id}">'
            f'<md:IDPSSODescriptor protocolSupportEnumeration="{SAMLP}"><md:KeyDescriptor use="signing">'
            f'<ds:KeyInfo xmlns:ds="{DS}"><ds:X509Data><ds:X509Certificate>{self.certificate_text}'
            "</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>"
            '<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" '
            f'Location="{self.sso}"/></md:IDPSSODescriptor></md:EntityDescriptor>'
        )

    def response(
        self,
        claims: Claims = Claims(),  # noqa: B008  frozen
        how: Signing | None = Signing(),  # noqa: B008  frozen
        message: Signing | None = None,
    ) -> Any:
        """A response whose assertion is signed as said, and itself too where `message` says how."""
        root = etree.fromstring(claims.xml())
        if how:
            self.sign(assertion(root), how)
        if message:
            self.sign(root, message)
        return root


def provider(name: str = "idp", *, curve: bool = False) -> Provider:
    return _provider(name, curve)


@cache
def _provider(name: str, curve: bool) -> Provider:  # noqa: FBT001  the cache tells arguments apart by their form
    key = ec.generate_private_key(ec.SECP256R1()) if curve else rsa.generate_private_key(65537, 2048)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(Instant("2020-01-01T00:00:00Z").to_stdlib())
        .not_valid_after(
            Instant("2021-01-01T00:00:00Z").to_stdlib()
        )  # metadata vouches for it, not its dates
        .sign(key, hashes.SHA256())
    )
    return Provider(key, certificate)


def assertion(root: Any) -> Any:
    return root.find(f"{{{SAML}}}Assertion")


def forged(element: Any, address: str = "ceo@corp.example") -> Any:
    """A copy of an assertion or response in somebody else's name, with an id of its own and no signature."""
    copied = copy.deepcopy(element)
    for node in copied.iter(f"{{{SAML}}}NameID", f"{{{SAML}}}AttributeValue"):
        if node.text and "@" in node.text:
            node.text = address
    copied.set("ID", "_forged")
    for signature in copied.findall(f"{{{DS}}}Signature"):
        copied.remove(signature)
    return copied


def posted(root: Any) -> str:
    """As a browser carries it."""
    text = root if isinstance(root, bytes) else etree.tostring(root)
    return base64.b64encode(text).decode()
