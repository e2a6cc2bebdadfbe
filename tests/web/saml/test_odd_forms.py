"""Attacks that no candidate library was compared by: odd forms of what is signed, and of what signs."""

import base64
import hmac
import socket
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from lxml import etree

from hibernator.web.saml.claims import email_of
from hibernator.web.saml.provider import read_metadata
from hibernator.web.saml.response import Expected, NotBelievedError, read
from support.saml import (
    ACS,
    DS,
    ENVELOPED,
    EXCLUSIVE,
    NOW,
    REQUEST,
    SAML,
    SP,
    Claims,
    Signing,
    assertion,
    posted,
    provider,
)

EXPECTED = Expected(read_metadata(provider().metadata().encode()), SP, ACS, REQUEST, NOW)
HMAC = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"
XSLT = (
    '<xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform" version="1.0"><xsl:template match="/">'
    "<xsl:copy-of select=\"document('file:///etc/hostname')\"/></xsl:template></xsl:stylesheet>"
)


def signed(claims: Claims | None = None) -> Any:
    return provider().response(claims or Claims())


def changed(old: str, new: str, claims: Claims | None = None) -> str:
    """Signed, and changed afterwards."""
    document = etree.tostring(signed(claims)).decode()
    assert old in document
    return posted(document.replace(old, new).encode())


def resigned(old: str, new: str) -> str:
    """Changed before the provider signs it: what a careless provider may say of someone."""
    root = etree.fromstring(Claims().xml().replace(old, new))
    provider().sign(assertion(root))
    return posted(root)


def transform(algorithm: str, inner: str = "") -> str:
    steps = f'<ds:Transform Algorithm="{ENVELOPED}"/>'
    return changed(steps, f'{steps}<ds:Transform Algorithm="{algorithm}">{inner}</ds:Transform>')


def by_shared_secret() -> str:
    """HMAC with the public key as the secret."""
    root = signed()
    info, value = next(root.iter(f"{{{DS}}}SignedInfo")), next(root.iter(f"{{{DS}}}SignatureValue"))
    info.find(f"{{{DS}}}SignatureMethod").set("Algorithm", HMAC)
    pem = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    secret = provider().certificate.public_key().public_bytes(*pem)
    canonical = etree.tostring(info, method="c14n", exclusive=True)
    value.text = base64.b64encode(hmac.digest(secret, canonical, "sha256")).decode()
    return posted(root)


def by_the_key_that_it_brings() -> str:
    root = provider("mallory").response(Claims(name_id="ceo@corp.example"))
    return posted(root)


def of_another_in_a_signed_response() -> str:
    root = etree.fromstring(Claims(name_id="ceo@corp.example").xml())
    provider("mallory").sign(assertion(root))
    provider().sign(root)
    return posted(root)


def signature_of_another_namespace() -> str:
    root = signed()
    for one in root.iter(f"{{{DS}}}Signature"):
        one.tag = "{urn:mine}Signature"
    return posted(root)


def wrapped_in_an_envelope() -> str:
    text = etree.tostring(signed()).decode()
    return posted(f'<soap:Envelope xmlns:soap="urn:s"><soap:Body>{text}</soap:Body></soap:Envelope>'.encode())


SUBJECT = '<saml:NameID Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress">'
ODD: dict[str, tuple[Callable[[], str], str]] = {
    "XSLT": (lambda: transform("http://www.w3.org/TR/1999/REC-xslt-19991116", XSLT), "malformed"),
    "XPath": (
        lambda: transform("http://www.w3.org/TR/1999/REC-xpath-19991116", "<ds:XPath>self::x</ds:XPath>"),
        "malformed",
    ),
    "base64": (lambda: transform(f"{DS}base64"), "malformed"),
    "inclusive form of SignedInfo": (
        lambda: changed(
            f'CanonicalizationMethod Algorithm="{EXCLUSIVE}"',
            'CanonicalizationMethod Algorithm="http://www.w3.org/2006/12/xml-c14n11"',
        ),
        "malformed",
    ),
    "comments that count, and one": (
        lambda: posted(
            etree.tostring(
                provider().response(Claims(), Signing(canonical=f"{EXCLUSIVE}WithComments"))
            ).replace(b"Maria Ito", b"Maria<!-- --> Ito")
        ),
        "malformed",
    ),
    "XPointer": (
        lambda: changed('URI="#_assertion-1"', "URI=\"#xpointer(id('_assertion-1'))\""),
        "malformed",
    ),
    "a file": (lambda: changed('URI="#_assertion-1"', 'URI="file:///etc/hostname"'), "malformed"),
    "shared secret": (by_shared_secret, "signature"),
    "the key that it brings": (by_the_key_that_it_brings, "signature"),
    "another's assertion in a signed response": (of_another_in_a_signed_response, "signature"),
    "a signature of another namespace": (signature_of_another_namespace, "unsigned"),
    "an envelope": (wrapped_in_an_envelope, "malformed"),
    "another prefix for another namespace": (
        lambda: changed(f'xmlns:saml="{SAML}"', 'xmlns:saml="urn:oasis:names:tc:SAML:1.0:assertion"'),
        "assertions",
    ),
    "an id of XML": (
        lambda: changed("<samlp:Status>", '<samlp:Status xml:id="_assertion-1">'),
        "malformed",
    ),
    "an attribute's namespace that changes": (
        lambda: changed("<saml:AuthnContext>", '<saml:AuthnContext xmlns:saml="urn:x">'),
        "signature",
    ),
    "two NameIDs": (
        lambda: resigned(SUBJECT, f"{SUBJECT}ceo@corp.example</saml:NameID>{SUBJECT}"),
        "malformed",
    ),
    "two subjects": (
        lambda: resigned(
            "<saml:Subject>",
            f"<saml:Subject>{SUBJECT}ceo@corp.example</saml:NameID></saml:Subject><saml:Subject>",
        ),
        "malformed",
    ),
    "an encrypted NameID": (
        lambda: resigned("NameID", "EncryptedID"),
        "malformed",
    ),
    "two log-ins": (
        lambda: resigned(
            "<saml:AttributeStatement>",
            '<saml:AuthnStatement AuthnInstant="2026-11-16T12:00:00Z"/><saml:AttributeStatement>',
        ),
        "malformed",
    ),
    "a session that is over": (
        lambda: resigned('SessionIndex="_s1"', 'SessionNotOnOrAfter="2026-11-16T11:59:00Z"'),
        "expired",
    ),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_form_logs_nobody_in(odd: str) -> None:
    make, reason = ODD[odd]
    with pytest.raises(NotBelievedError) as refused:
        read(make(), EXPECTED)
    assert refused.value.reason == reason, str(refused.value)


def test_a_session_that_goes_on_for_another_second_lets_in() -> None:
    sent = resigned('SessionIndex="_s1"', 'SessionNotOnOrAfter="2026-11-16T11:59:01Z"')
    assert read(sent, EXPECTED).name_id == "maria@corp.example"


def test_where_the_key_is_said_to_be_is_not_looked_at() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(0)
        where = f"http://127.0.0.1:{door.getsockname()[1]}/key"
        root = signed()
        info = next(root.iter(f"{{{DS}}}KeyInfo"))
        info[:] = [etree.fromstring(f'<ds:RetrievalMethod xmlns:ds="{DS}" URI="{where}"/>')]
        assert read(posted(root), EXPECTED).name_id == "maria@corp.example"
        with pytest.raises(BlockingIOError):
            door.accept()


def test_a_provider_without_prefixes_is_understood() -> None:
    """As Entra ID writes: the namespace of the assertion is its default one."""
    text = Claims().xml().replace("<saml:Assertion ", f'<saml:Assertion xmlns="{SAML}" ')
    head, _, body = text.partition("<saml:Assertion ")
    root = etree.fromstring(head + "<Assertion " + body.replace("<saml:", "<").replace("</saml:", "</"))
    provider().sign(assertion(root))
    assert read(posted(root), EXPECTED).name_id == "maria@corp.example"


def test_of_two_addresses_that_a_provider_signs_none_counts() -> None:
    both = (("email", ("maria@corp.example",)), ("Email", ("ceo@corp.example",)))
    found = read(posted(signed(Claims(attributes=both))), EXPECTED)
    with pytest.raises(NotBelievedError, match="2 e-mail addresses"):
        email_of(found)
