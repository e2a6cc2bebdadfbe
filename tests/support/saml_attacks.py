"""Responses that must log nobody in, each broken by hand.

XSW1 to XSW8 are the signature-wrapping variants of Somorovsky et al., "On Breaking SAML: Be Whoever You Want
to Be" (USENIX Security 2012), in the numbering that testers use.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from lxml import etree
from whenever import TimeDelta

from support.saml import (
    ACS,
    DS,
    RSA_SHA1,
    SAML,
    SAMLP,
    SHA1,
    Claims,
    Signing,
    assertion,
    forged,
    posted,
    provider,
)

Attack = Callable[[Claims], str]


def _unsigned(claims: Claims) -> str:
    return posted(provider().response(claims, how=None))


def _tampered(claims: Claims) -> str:
    root = provider().response(claims)
    next(root.iter(f"{{{SAML}}}NameID")).text = "ceo@corp.example"
    return posted(root)


def _tampered_attribute(claims: Claims) -> str:
    root = provider().response(claims)
    next(root.iter(f"{{{SAML}}}AttributeValue")).text = "ceo@corp.example"
    return posted(root)


def _signature_removed(claims: Claims) -> str:
    root = provider().response(claims)
    found = assertion(root)
    found.remove(found.find(f"{{{DS}}}Signature"))
    return posted(root)


def _signature_value_changed(claims: Claims) -> str:
    root = provider().response(claims)
    value = next(root.iter(f"{{{DS}}}SignatureValue"))
    value.text = "AAAA" + (value.text or "")[4:]
    return posted(root)


def _message_signed_only(claims: Claims) -> str:
    return posted(provider().response(claims, how=None, message=Signing()))


def _bad_message_signature(claims: Claims) -> str:
    root = provider().response(claims, message=Signing())
    root.set("IssueInstant", "2020-01-01T00:00:00Z")
    return posted(root)


def _duplicate_ids(claims: Claims) -> str:
    root = provider().response(claims)
    evil = forged(assertion(root))
    evil.set("ID", claims.assertion_id)
    root.insert(2, evil)
    return posted(root)


def _duplicate_id_elsewhere(claims: Claims) -> str:
    root = provider().response(claims)
    next(root.iter(f"{{{SAMLP}}}Status")).set("Id", claims.assertion_id)
    return posted(root)


def _two_assertions(claims: Claims) -> str:
    root = provider().response(claims)
    second = provider().response(replace(claims, assertion_id="_assertion-2", response_id="_response-2"))
    root.append(assertion(second))
    return posted(root)


def _two_signatures(claims: Claims) -> str:
    root = provider().response(claims)
    found = assertion(root)
    found.append(copy.deepcopy(found.find(f"{{{DS}}}Signature")))
    return posted(root)


def _two_references(claims: Claims) -> str:
    root = provider().response(claims)
    info = next(root.iter(f"{{{DS}}}SignedInfo"))
    info.append(copy.deepcopy(info.find(f"{{{DS}}}Reference")))
    return posted(root)


def _comment_in_name(claims: Claims) -> str:
    """Signed for `ceo@corp.example.evil.example`, with a comment that cuts the text in two."""
    root = provider().response(replace(claims, name_id="ceo@corp.example.evil.example"))
    document = etree.tostring(root).replace(b"corp.example.evil", b"corp.example<!--x-->.evil")
    return posted(document)


def _instruction_in_name(claims: Claims) -> str:
    root = provider().response(replace(claims, name_id="ceo@corp.example.evil.example"))
    return posted(etree.tostring(root).replace(b"corp.example.evil", b"corp.example<?x y?>.evil"))


def _doctype(claims: Claims) -> str:
    document = etree.tostring(provider().response(claims))
    return posted(b"<!DOCTYPE samlp:Response>" + document)


def _entity_bomb(claims: Claims) -> str:
    lines = [b'<!ENTITY a0 "ha">'] + [
        b'<!ENTITY a%d "%s">' % (level, b"&a%d;" % (level - 1) * 10) for level in range(1, 12)
    ]
    document = etree.tostring(provider().response(claims)).replace(b"Maria Ito", b"&a11;")
    return posted(b"<!DOCTYPE r [" + b"".join(lines) + b"]>" + document)


def _external_entity(claims: Claims) -> str:
    document = etree.tostring(provider().response(claims)).replace(b"Maria Ito", b"&x;")
    return posted(b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]>' + document)


def _doctype_in_utf16(claims: Claims) -> str:
    document = etree.tostring(provider().response(claims), encoding="unicode")
    return posted(f'<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE r>{document}'.encode("utf-16"))


def _encrypted(claims: Claims) -> str:
    root = etree.fromstring(claims.xml())
    found = assertion(root)
    found.tag = f"{{{SAML}}}EncryptedAssertion"
    for child in list(found):
        found.remove(child)
    return posted(root)


def _encrypted_besides(claims: Claims) -> str:
    root = provider().response(claims)
    etree.SubElement(root, f"{{{SAML}}}EncryptedAssertion")
    return posted(root)


def _other_key(claims: Claims) -> str:
    return posted(provider("another").response(claims))


def _huge(claims: Claims) -> str:
    many = (("groups", tuple(f"group-{number:06}" for number in range(6_000))),)
    return posted(provider().response(replace(claims, attributes=claims.attributes + many)))


def _namespaces(claims: Claims) -> str:
    """Canonical form takes the square of these: seconds of CPU for a few hundred kilobytes."""
    many = b" ".join(b'xmlns:n%d="urn:%d"' % (number, number) for number in range(6_000))
    document = etree.tostring(provider().response(claims))
    return posted(document.replace(b"<saml:Assertion ", b"<saml:Assertion %s " % many, 1))


def _reference_elsewhere(claims: Claims) -> str:
    return posted(provider().response(claims, how=Signing(reference="")))


def _in_extensions(claims: Claims) -> str:
    root = provider().response(claims)
    extensions = etree.Element(f"{{{SAMLP}}}Extensions")
    extensions.append(assertion(root))
    root.insert(1, extensions)
    return posted(root)


def _xsw1(claims: Claims) -> str:
    """The signed response inside the signature of a forged one."""
    root = provider().response(claims, how=None, message=Signing())
    evil, original = _forged_message(root)
    evil.find(f"{{{DS}}}Signature").append(original)
    return posted(evil)


def _xsw2(claims: Claims) -> str:
    """The signed response beside the signature of a forged one."""
    root = provider().response(claims, how=None, message=Signing())
    evil, original = _forged_message(root)
    evil.insert(1, original)
    return posted(evil)


def _forged_message(root: Any) -> tuple[Any, Any]:
    """A forged response that carries the signature of the original, and the original without it."""
    evil, original = forged(root), copy.deepcopy(root)
    assertion(evil).set("ID", "_forged-assertion")
    signature = original.find(f"{{{DS}}}Signature")
    original.remove(signature)
    evil.insert(1, signature)
    return evil, original


def _xsw3(claims: Claims) -> str:
    """A forged assertion before the signed one."""
    root = provider().response(claims)
    root.insert(2, forged(assertion(root)))
    return posted(root)


def _xsw4(claims: Claims) -> str:
    """The signed assertion inside a forged one."""
    root = provider().response(claims)
    evil = forged(assertion(root))
    evil.append(assertion(root))
    root.append(evil)
    return posted(root)


def _xsw5(claims: Claims) -> str:
    """A forged assertion with the signature of another, which follows at the end."""
    root, evil, original = _moved_signature(claims)
    root.insert(2, evil)
    root.append(original)
    return posted(root)


def _xsw6(claims: Claims) -> str:
    """A forged assertion with a signature in which the signed assertion is."""
    root, evil, original = _moved_signature(claims)
    evil.find(f"{{{DS}}}Signature").append(original)
    root.append(evil)
    return posted(root)


def _xsw7(claims: Claims) -> str:
    """A forged assertion in the extensions."""
    root = provider().response(claims)
    extensions = etree.Element(f"{{{SAMLP}}}Extensions")
    extensions.append(forged(assertion(root)))
    root.insert(1, extensions)
    return posted(root)


def _xsw8(claims: Claims) -> str:
    """The signed assertion in an Object of the signature of a forged one."""
    root, evil, original = _moved_signature(claims)
    etree.SubElement(evil.find(f"{{{DS}}}Signature"), f"{{{DS}}}Object").append(original)
    root.append(evil)
    return posted(root)


def _moved_signature(claims: Claims) -> tuple[Any, Any, Any]:
    root = provider().response(claims)
    original = assertion(root)
    root.remove(original)
    evil, signature = forged(original), original.find(f"{{{DS}}}Signature")
    original.remove(signature)
    evil.insert(1, signature)
    return root, evil, original


def _claiming(**changes: Any) -> Attack:
    """Signed by the right key, but with something in it that is not for us, or not now."""
    return lambda claims: posted(provider().response(replace(claims, **changes)))


def _signing(how: Signing) -> Attack:
    return lambda claims: posted(provider().response(claims, how=how))


# What is sent, and the reason for which it must be refused.
ATTACKS: Final[Mapping[str, tuple[Attack, str]]] = {
    "unsigned": (_unsigned, "unsigned"),
    "signature removed": (_signature_removed, "unsigned"),
    "only the response is signed": (_message_signed_only, "unsigned"),
    "tampered NameID": (_tampered, "signature"),
    "tampered attribute": (_tampered_attribute, "signature"),
    "tampered signature value": (_signature_value_changed, "signature"),
    "tampered response around a good assertion": (_bad_message_signature, "signature"),
    "another key": (_other_key, "signature"),
    "SHA-1 signature": (_signing(Signing(method=RSA_SHA1)), "signature"),
    "SHA-1 digest": (_signing(Signing(digest=SHA1)), "signature"),
    "inclusive canonical form": (
        _signing(Signing(canonical="http://www.w3.org/TR/2001/REC-xml-c14n-20010315")),
        "malformed",
    ),
    "signature of the whole document": (_reference_elsewhere, "malformed"),
    "two signatures": (_two_signatures, "malformed"),
    "two references": (_two_references, "malformed"),
    "duplicate ids": (_duplicate_ids, "malformed"),
    "duplicate id on another element": (_duplicate_id_elsewhere, "malformed"),
    "two signed assertions": (_two_assertions, "assertions"),
    "assertion in Extensions": (_in_extensions, "assertions"),
    "XSW1": (_xsw1, "assertions"),
    "XSW2": (_xsw2, "assertions"),
    "XSW3": (_xsw3, "assertions"),
    "XSW4": (_xsw4, "assertions"),
    "XSW5": (_xsw5, "assertions"),
    "XSW6": (_xsw6, "assertions"),
    "XSW7": (_xsw7, "assertions"),
    "XSW8": (_xsw8, "assertions"),
    "comment in NameID": (_comment_in_name, "malformed"),
    "processing instruction in NameID": (_instruction_in_name, "malformed"),
    "DOCTYPE": (_doctype, "malformed"),
    "DOCTYPE in UTF-16": (_doctype_in_utf16, "malformed"),
    "entity bomb": (_entity_bomb, "malformed"),
    "external entity": (_external_entity, "malformed"),
    "too large": (_huge, "malformed"),
    "thousands of namespaces": (_namespaces, "malformed"),
    "encrypted": (_encrypted, "encrypted"),
    "encrypted beside plain": (_encrypted_besides, "encrypted"),
    "wrong audience": (_claiming(audience="https://other.example"), "audience"),
    "no audience": (_claiming(audience=None), "audience"),
    "audience that begins with ours": (
        _claiming(audience="https://hibernator.example/saml/metadata2"),
        "audience",
    ),
    "wrong recipient": (_claiming(recipient="https://other.example/saml/acs"), "recipient"),
    "recipient that contains ours": (_claiming(recipient=f"https://other.example/?{ACS}"), "recipient"),
    "no recipient": (_claiming(recipient=None), "recipient"),
    "not a bearer": (_claiming(method="urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"), "recipient"),
    "wrong destination": (_claiming(destination="https://other.example/saml/acs"), "destination"),
    "destination that begins with ours": (_claiming(destination=f"{ACS}.other.example"), "destination"),
    "no destination": (_claiming(destination=None), "destination"),
    "expired": (_claiming(not_after=TimeDelta(seconds=-60)), "expired"),
    "expired subject": (_claiming(subject_not_after=TimeDelta(seconds=-60)), "expired"),
    "no end": (_claiming(subject_not_after=None), "malformed"),
    "not yet valid": (_claiming(not_before=TimeDelta(seconds=61)), "not_yet_valid"),
    "logged in in the future": (_claiming(authenticated=TimeDelta(seconds=61)), "not_yet_valid"),
    "wrong InResponseTo": (
        _claiming(in_response_to="_request-2", subject_in_response_to="_request-2"),
        "in_response_to",
    ),
    "wrong InResponseTo in the assertion": (_claiming(subject_in_response_to="_request-2"), "in_response_to"),
    "unsolicited": (_claiming(in_response_to=None, subject_in_response_to=None), "in_response_to"),
    "unsolicited assertion in an answer": (_claiming(subject_in_response_to=None), "in_response_to"),
    "status not Success": (_claiming(status="urn:oasis:names:tc:SAML:2.0:status:Responder"), "status"),
    "empty NameID": (_claiming(name_id=" "), "name_id"),
    "element in NameID": (_claiming(name_id="ceo@corp.example<saml:Audience/>.evil"), "malformed"),
    "wrong Issuer": (_claiming(issuer="https://other.example"), "issuer"),
    "wrong Issuer of the response": (_claiming(response_issuer="https://other.example"), "issuer"),
}
