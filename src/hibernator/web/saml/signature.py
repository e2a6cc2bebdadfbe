"""Signatures. What this returns is what was signed, read again from the signed bytes, and nothing else.

The verifier is given the signed element as a document of its own: it cannot look anywhere else, and nothing
that was wrapped around the element exists for it. The key is the one of the identity provider's metadata;
the key that the signature names is ignored.
"""

from collections.abc import Sequence
from typing import Final

from cryptography.x509 import Certificate
from lxml import etree
from signxml.algorithms import DigestAlgorithm, SignatureMethod
from signxml.exceptions import SignXMLException
from signxml.verifier import SignatureConfiguration, XMLVerifier

from hibernator.web.saml.xml import DS, NAMESPACES, Element, MalformedError, one

_EXCLUSIVE: Final = "http://www.w3.org/2001/10/xml-exc-c14n#"
_CANONICAL: Final = frozenset({_EXCLUSIVE, f"{_EXCLUSIVE}WithComments"})
_ENVELOPED: Final = f"{DS}enveloped-signature"
_DIGESTS: Final = frozenset({DigestAlgorithm.SHA256, DigestAlgorithm.SHA384, DigestAlgorithm.SHA512})
_METHODS: Final = frozenset(
    {
        SignatureMethod.RSA_SHA256,
        SignatureMethod.RSA_SHA384,
        SignatureMethod.RSA_SHA512,
        SignatureMethod.SHA256_RSA_MGF1,
        SignatureMethod.SHA384_RSA_MGF1,
        SignatureMethod.SHA512_RSA_MGF1,
        SignatureMethod.ECDSA_SHA256,
        SignatureMethod.ECDSA_SHA384,
        SignatureMethod.ECDSA_SHA512,
    }
)


class SignatureError(Exception):
    """A signature that does not hold; the message says why."""


def verified(element: Element, certificates: Sequence[Certificate]) -> Element:
    """An element as one of these certificates' keys signed it."""
    _shape(element)
    document = etree.tostring(element, with_tail=False)
    why = "no certificate"
    for certificate in certificates:
        try:
            return _verified(document, certificate)
        except (SignXMLException, etree.LxmlError, ValueError) as error:
            why = str(error)
    raise SignatureError(f"the signature is not one of the identity provider's: {why}")


def _verified(document: bytes, certificate: Certificate) -> Element:
    config = SignatureConfiguration(
        location="./",
        signature_methods=_METHODS,
        digest_algorithms=_DIGESTS,
        # The metadata vouches for the key, for as long as an administrator leaves it there. What the
        # certificate around it says of dates means nothing in SAML, and many that are in use have run out.
        verification_time=certificate.not_valid_before_utc,
    )
    found = XMLVerifier().verify(document, x509_cert=certificate, id_attribute="ID", expect_config=config)
    if isinstance(found, list) or found.signed_xml is None:
        raise SignatureError("the signature covers something else than one element")
    return found.signed_xml


def _shape(element: Element) -> None:
    """The only form of a signature that SAML allows: enveloped, of this very element, in exclusive form."""
    signed = one(one(element, "ds:Signature"), "ds:SignedInfo")
    reference = one(signed, "ds:Reference")
    if not element.get("ID") or reference.get("URI") != f"#{element.get('ID')}":
        raise MalformedError("a signature names something else than the element that it is in")
    transforms = [step.get("Algorithm") for step in one(reference, "ds:Transforms")]
    canonical = one(signed, "ds:CanonicalizationMethod").get("Algorithm")
    if (
        transforms[:1] != [_ENVELOPED]
        or len(transforms) != len((_ENVELOPED, _EXCLUSIVE))
        or not {transforms[1], canonical} <= _CANONICAL
    ):
        raise MalformedError("a signature has other transforms than SAML's enveloped exclusive form")
    if element.getroottree().getroot().findall(".//ds:Object", NAMESPACES):
        raise MalformedError("a signature carries an Object")
