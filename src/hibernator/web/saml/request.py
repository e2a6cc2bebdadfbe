"""What we send: a request to log a person in, and the metadata for the provider's administrator."""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode, urlsplit

from lxml import etree
from whenever import Instant

from hibernator.web.saml.provider import IdentityProvider
from hibernator.web.saml.xml import METADATA, SAML, SAMLP

_POST: Final = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
_EMAIL: Final = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
_UNSPECIFIED: Final = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"


@dataclass(frozen=True, slots=True)
class Start:
    """Where to send a browser, and the fields of the form that it sends there; none for a mere redirect."""

    address: str
    fields: Mapping[str, str]


def start(
    provider: IdentityProvider,
    entity_id: str,
    consumer: str,
    request_id: str,
    *,
    relay_state: str,
    now: Instant,
    fresh: bool,
) -> Start:
    """How a log-in begins. `fresh`: the provider must ask for the password (or its like) again."""
    request = _request(provider, entity_id, consumer, request_id, now=now, fresh=fresh)
    if provider.by_form:
        return Start(provider.sign_on, {"SAMLRequest": _text(request), "RelayState": relay_state})
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = packer.compress(request) + packer.flush()
    query = urlencode({"SAMLRequest": _text(packed), "RelayState": relay_state})
    return Start(f"{provider.sign_on}{'&' if urlsplit(provider.sign_on).query else '?'}{query}", {})


def _text(document: bytes) -> str:
    return base64.b64encode(document).decode()


def _request(
    provider: IdentityProvider, entity_id: str, consumer: str, request_id: str, *, now: Instant, fresh: bool
) -> bytes:
    request = etree.Element(
        f"{{{SAMLP}}}AuthnRequest",
        {
            "ID": request_id,
            "Version": "2.0",
            "IssueInstant": now.format_iso(unit="second"),
            "Destination": provider.sign_on,
            "ProtocolBinding": _POST,
            "AssertionConsumerServiceURL": consumer,
        }
        | ({"ForceAuthn": "true"} if fresh else {}),
        nsmap={"samlp": SAMLP, "saml": SAML},
    )
    etree.SubElement(request, f"{{{SAML}}}Issuer").text = entity_id
    etree.SubElement(request, f"{{{SAMLP}}}NameIDPolicy", {"Format": _UNSPECIFIED, "AllowCreate": "true"})
    return etree.tostring(request)  # type: ignore[no-any-return]


def own_metadata(entity_id: str, consumer: str) -> bytes:
    """The document to give to the identity provider."""
    root = etree.Element(f"{{{METADATA}}}EntityDescriptor", {"entityID": entity_id}, nsmap={"md": METADATA})
    descriptor = etree.SubElement(
        root,
        f"{{{METADATA}}}SPSSODescriptor",
        {
            "AuthnRequestsSigned": "false",
            "WantAssertionsSigned": "true",
            "protocolSupportEnumeration": SAMLP,
        },
    )
    etree.SubElement(descriptor, f"{{{METADATA}}}NameIDFormat").text = _EMAIL
    etree.SubElement(
        descriptor,
        f"{{{METADATA}}}AssertionConsumerService",
        {"Binding": _POST, "Location": consumer, "index": "0", "isDefault": "true"},
    )
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)  # type: ignore[no-any-return]
