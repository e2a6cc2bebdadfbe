"""XML from outside, parsed such that nothing in it can mean two things.

Most attacks on SAML live in what XML allows and no identity provider sends: a DOCTYPE with entities, comments
that split a text in two, other encodings, two elements with one id. All of it is refused before anything is
looked at, so that no later check has to know about it.
"""

import re
from typing import Any, Final

from lxml import etree

SAML: Final = "urn:oasis:names:tc:SAML:2.0:assertion"
SAMLP: Final = "urn:oasis:names:tc:SAML:2.0:protocol"
METADATA: Final = "urn:oasis:names:tc:SAML:2.0:metadata"
DS: Final = "http://www.w3.org/2000/09/xmldsig#"
NAMESPACES: Final = {"saml": SAML, "samlp": SAMLP, "md": METADATA, "ds": DS}

_PREFIX: Final = re.compile(rb"xmlns:([^\s=]+)")
_MOST_PREFIXES: Final = 50  # the canonical form costs their square: seconds, for as many as fit in

Element = Any  # lxml has no types of its own


class MalformedError(Exception):
    """A document that is not what an identity provider sends; the message says what is wrong with it."""


def parse(document: bytes) -> Element:
    """The root of a document in UTF-8 without DOCTYPE, entities, comments, CDATA or instructions."""
    if b"\0" in document:
        raise MalformedError("it is not XML in UTF-8")
    body = document.lstrip()
    if body.startswith(b"<?xml"):
        body = body.partition(b"?>")[2]
    if b"<!" in body or b"<?" in body:
        raise MalformedError("it has a DOCTYPE, a comment, CDATA or a processing instruction")
    if len(set(_PREFIX.findall(body))) > _MOST_PREFIXES:
        raise MalformedError(f"it declares more than {_MOST_PREFIXES} namespaces")
    return _parsed(document.strip(), remove_comments=False)


def parse_trusted(document: bytes) -> Element:
    """The root of a file that an administrator wrote: comments are left out, a DOCTYPE is still refused."""
    return _parsed(document.strip(), remove_comments=True)


def _parsed(document: bytes, *, remove_comments: bool) -> Element:
    parser = etree.XMLParser(
        encoding="utf-8",  # whatever the document says of itself
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=remove_comments,
        remove_pis=remove_comments,
    )
    try:
        root = etree.fromstring(document, parser)
    except etree.XMLSyntaxError as error:
        raise MalformedError(f"it is not well-formed XML: {error.msg}") from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise MalformedError("it has a DOCTYPE")
    _ids_are_unique(root)
    return root


def _ids_are_unique(root: Element) -> None:
    """Two elements with one id are how a signature comes to vouch for something else."""
    seen: set[str] = set()
    for value in root.xpath("//@*[translate(local-name(), 'ID', 'id') = 'id']"):
        if value in seen:
            raise MalformedError("two elements have the same id")
        seen.add(value)


def one(parent: Element, path: str) -> Element:
    """The only child of that name."""
    found = parent.findall(path, NAMESPACES)
    if len(found) != 1:
        raise MalformedError(f"{_local(parent)} has {len(found)} elements {path.rpartition(':')[2]}, not one")
    return found[0]


def text(element: Element) -> str:
    """The text of an element that has nothing but text."""
    if len(element):
        raise MalformedError(f"{_local(element)} has elements where a text is expected")
    return str(element.text or "").strip()


def _local(element: Element) -> str:
    return str(etree.QName(element).localname)
