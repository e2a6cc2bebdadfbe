"""The identity provider, as its metadata describes it."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cryptography.x509 import Certificate, load_der_x509_certificate

from hibernator.web.saml.xml import NAMESPACES, Element, MalformedError, parse_trusted, text

_REDIRECT: Final = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
_POST: Final = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
_HTTPS: Final = "https://"


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """Who vouches for people, where they log in, and the keys that sign for it."""

    entity_id: str
    sign_on: str
    certificates: tuple[Certificate, ...]
    by_form: bool = False  # whether our request goes there as a form, and not as an address


def read_metadata(document: bytes) -> IdentityProvider:
    """Raises `MalformedError` with a sentence for the one who configured it."""
    root = parse_trusted(document)
    found = root.findall(".//md:IDPSSODescriptor", NAMESPACES) if len(root) else []
    if len(found) != 1:
        raise MalformedError(f"it describes {len(found)} identity providers (IDPSSODescriptor), not one")
    descriptor = found[0]
    entity_id = descriptor.getparent().get("entityID", "")
    if not entity_id:
        raise MalformedError("its EntityDescriptor has no entityID")
    if descriptor.get("WantAuthnRequestsSigned") in {"true", "1"}:
        raise MalformedError(
            "the identity provider wants signed requests (WantAuthnRequestsSigned), which are not supported: "
            "switch that off there"
        )
    certificates = tuple(_certificates(descriptor))
    if not certificates:
        raise MalformedError("it has no signing certificate (KeyDescriptor, X509Certificate)")
    location, by_form = _sign_on(descriptor)
    return IdentityProvider(entity_id, location, certificates, by_form)


def _sign_on(descriptor: Element) -> tuple[str, bool]:
    """Where our request goes, and whether as a form: an address is one page less where both are offered."""
    services = descriptor.findall("md:SingleSignOnService", NAMESPACES)
    offered = {one.get("Binding"): one.get("Location", "") for one in reversed(services)}
    binding = _REDIRECT if offered.get(_REDIRECT) else _POST
    location = offered.get(binding, "")
    if not location:
        raise MalformedError(
            "it offers no SingleSignOnService with the HTTP-Redirect or HTTP-POST binding: switch one on"
        )
    if not location.startswith(_HTTPS) and not location.startswith(
        ("http://127.0.0.1:", "http://localhost:")
    ):
        raise MalformedError(f"its SingleSignOnService is at {location}, not at an https:// address")
    return location, binding == _POST


def _certificates(descriptor: Element) -> Iterator[Certificate]:
    for key in descriptor.findall("md:KeyDescriptor", NAMESPACES):
        if key.get("use", "signing") != "signing":
            continue
        for found in key.findall("ds:KeyInfo/ds:X509Data/ds:X509Certificate", NAMESPACES):
            try:
                yield load_der_x509_certificate(base64.b64decode(text(found)))
            except ValueError as error:
                raise MalformedError(f"one of its certificates cannot be read: {error}") from None
