"""Making an authority with the one serving certificate that it signs."""

import ipaddress
from collections.abc import Iterable

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from whenever import Instant

from hibernator.certificates import certificate, key_usage

_AUTHORITY = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hibernator webhook authority")])
_SERVER = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hibernator webhooks")])


def issue(names: Iterable[str], begin: Instant, end: Instant) -> tuple[bytes, bytes, bytes]:
    """An authority, a certificate that it signed, and the key of that, all as PEM.

    The authority's own key is not given away: nobody shall ever sign another certificate with it.
    """
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    since, until = begin.to_stdlib(), end.to_stdlib()
    authority = (
        certificate(_AUTHORITY, _AUTHORITY, authority_key.public_key(), since, until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    serving = (
        certificate(_SERVER, _AUTHORITY, key.public_key(), since, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(list(map(_general_name, sorted(names)))), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return authority.public_bytes(pem), serving.public_bytes(pem), _key_pem(key)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
