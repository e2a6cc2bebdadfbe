"""The certificates under which the webhooks are served, and when each is replaced by the next.

An authority signs one serving certificate and its key is then forgotten, so that no one can sign another. A
new pair is made long before the old one ends and first only *announced*: its authority goes into the bundle
that API servers trust. It is served a day later, when every API server has received it, and the
old authority stays in the bundle until it ends. So at no moment does anyone meet a certificate that they do
not trust yet, whichever replica answers.

Everything here is computed from the arguments; `secret` keeps it in the cluster. API servers go by the real
time, so that must be the time that is handed in.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from whenever import Instant, TimeDelta

from hibernator.certificates import certificate, key_usage

_AUTHORITY = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hibernator webhook authority")])
_SERVER = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hibernator webhooks")])


def issue(names: Iterable[str], begin: Instant, end: Instant) -> tuple[bytes, bytes, bytes]:
    """An authority, a certificate that it signed, and the key of that, all as PEM.

    The authority's own key is dropped, so that no other certificate can be signed with it.
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


LIFETIME: Final = TimeDelta(hours=90 * 24)
RENEWAL: Final = TimeDelta(hours=30 * 24)  # before the end
ANNOUNCEMENT: Final = TimeDelta(hours=24)
CLOCK_SKEW: Final = TimeDelta(hours=1)

# The keys of the Secret; the first three are what cert-manager writes, too.
BUNDLE: Final = "ca.crt"
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
NEXT_CERTIFICATE: Final = "next.crt"
NEXT_KEY: Final = "next.key"


@dataclass(frozen=True, slots=True)
class Pair:
    """A serving certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    @property
    def parsed(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.certificate)

    @property
    def begins(self) -> Instant:
        return Instant(self.parsed.not_valid_before_utc)

    @property
    def ends(self) -> Instant:
        return Instant(self.parsed.not_valid_after_utc)

    @property
    def names(self) -> frozenset[str]:
        extension = self.parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        addresses = extension.get_values_for_type(x509.IPAddress)
        return frozenset([*extension.get_values_for_type(x509.DNSName), *map(str, addresses)])


@dataclass(frozen=True, slots=True)
class Keyring:
    """What is served, what will be, and whom to trust meanwhile."""

    current: Pair
    authorities: tuple[bytes, ...]  # PEM
    upcoming: Pair | None = None

    @property
    def bundle(self) -> bytes:
        return b"".join(self.authorities)


def first(names: Iterable[str], now: Instant) -> Keyring:
    """A keyring to begin with."""
    authority, pair = _issue(names, now)
    return Keyring(pair, (authority,))


def step(ring: Keyring, names: frozenset[str], now: Instant) -> Keyring:
    """The keyring as it has to be now: the same one when nothing is to be done.

    One call goes one step, and each must reach the API servers before the next is taken.
    """
    ring = replace(ring, authorities=tuple(pem for pem in ring.authorities if _end(pem) > now))
    current, upcoming = ring.current, ring.upcoming
    ended = current.ends <= now
    if upcoming and _fits(upcoming, names, now) and (ended or now >= _served_from(upcoming)):
        return replace(ring, current=upcoming, upcoming=None)
    if not _fits(current, names, now):
        # No one can reach us by the old certificate: there is nothing to hand over.
        authority, pair = _issue(names, now)
        return Keyring(pair, (*ring.authorities, authority))
    if upcoming is None and now >= current.ends - RENEWAL:
        authority, pair = _issue(names, now)
        return replace(ring, authorities=(*ring.authorities, authority), upcoming=pair)
    return ring


def next_step(ring: Keyring) -> Instant:
    """When `step` will have something to do again."""
    due = _served_from(ring.upcoming) if ring.upcoming else ring.current.ends - RENEWAL
    return min([due, *map(_end, ring.authorities)])


def to_data(ring: Keyring) -> dict[str, bytes]:
    """Write the keyring as the data of a Secret."""
    data = {BUNDLE: ring.bundle, CERTIFICATE: ring.current.certificate, KEY: ring.current.key}
    if ring.upcoming:
        data |= {NEXT_CERTIFICATE: ring.upcoming.certificate, NEXT_KEY: ring.upcoming.key}
    return data


def from_data(data: Mapping[str, bytes]) -> Keyring:
    """Read the data of a Secret; ValueError says what is wrong with it."""
    try:
        authorities = tuple(map(_pem, x509.load_pem_x509_certificates(data[BUNDLE])))
        current = _checked(Pair(data[CERTIFICATE], data[KEY]), authorities)
        upcoming = None
        if NEXT_CERTIFICATE in data:
            upcoming = _checked(Pair(data[NEXT_CERTIFICATE], data[NEXT_KEY]), authorities)
    except KeyError as error:
        raise ValueError(f"{error.args[0]} is missing") from error
    except (x509.ExtensionNotFound, UnsupportedAlgorithm, TypeError) as error:
        raise ValueError(str(error)) from error
    return Keyring(current, authorities, upcoming)


def _checked(pair: Pair, authorities: Iterable[bytes]) -> Pair:
    """The pair, if it fits together and one of these authorities vouches for it."""
    key = serialization.load_pem_private_key(pair.key, None)
    if key.public_key() != pair.parsed.public_key():
        raise ValueError("the key does not belong to the certificate")
    for authority in authorities:
        try:
            pair.parsed.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
        except (ValueError, TypeError, InvalidSignature):
            continue
        pair.names  # noqa: B018 - raises when there are none
        return pair
    raise ValueError(f"no authority in {BUNDLE} has signed the certificate")


def _fits(pair: Pair, names: frozenset[str], now: Instant) -> bool:
    return now < pair.ends and names <= pair.names


def _served_from(pair: Pair) -> Instant:
    return pair.begins + CLOCK_SKEW + ANNOUNCEMENT


def _end(authority: bytes) -> Instant:
    return Instant(x509.load_pem_x509_certificate(authority).not_valid_after_utc)


def _issue(names: Iterable[str], now: Instant) -> tuple[bytes, Pair]:
    authority, certificate, key = issue(names, now - CLOCK_SKEW, now + LIFETIME)
    return authority, Pair(certificate, key)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
