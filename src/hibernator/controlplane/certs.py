"""Certificates for one short-lived control plane: an authority, one for the server, one for each client."""

import ipaddress
import os
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hibernator.certificates import certificate, key_usage
from hibernator.controlplane.layout import Layout

CA = "ca"
SERVER = "apiserver"
SERVICE_ACCOUNTS = "service-accounts"
ADMIN = "admin"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KWOK = "kwok"

# The user name and the groups that each client is known by to RBAC.
CLIENTS = {
    ADMIN: ("hibernator-admin", ("system:masters",)),
    CONTROLLER_MANAGER: ("system:kube-controller-manager", ()),
    SCHEDULER: ("system:kube-scheduler", ()),
    KWOK: ("kwok", ("system:masters",)),  # it stands for every kubelet at once
}

_SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_SERVER_ADDRESSES = ("127.0.0.1", "10.96.0.1")
_LIFETIME = timedelta(days=365)
_CLOCK_SKEW = timedelta(hours=1)


def write_all(layout: Layout) -> None:
    """Make every certificate that a control plane needs; keys are readable by their owner only."""
    layout.key(CA).parent.mkdir(mode=0o700, exist_ok=True)
    authority_key = _new_key(layout, CA)
    authority_name = _name("hibernator-controlplane")
    authority = (
        _builder(authority_name, authority_name, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    _write(layout, CA, authority)

    def issue(name: str, subject: x509.Name, *extensions: x509.ExtensionType) -> None:
        builder = _builder(subject, authority_name, _new_key(layout, name).public_key())
        builder = builder.add_extension(key_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        _write(layout, name, builder.sign(authority_key, hashes.SHA256()))

    names = [x509.DNSName(name) for name in _SERVER_NAMES]
    addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in _SERVER_ADDRESSES]
    issue(
        SERVER,
        _name("kube-apiserver"),
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
        x509.SubjectAlternativeName([*names, *addresses]),
    )
    for client, (user, groups) in CLIENTS.items():
        issue(client, _name(user, groups), x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]))
    _new_key(layout, SERVICE_ACCOUNTS)


def _name(common: str, organisations: tuple[str, ...] = ()) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organisations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return certificate(subject, issuer, public_key, now - _CLOCK_SKEW, now + _LIFETIME)


def _new_key(layout: Layout, name: str) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    fd = os.open(layout.key(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(pem)
    return key


def _write(layout: Layout, name: str, signed: x509.Certificate) -> None:
    layout.cert(name).write_bytes(signed.public_bytes(serialization.Encoding.PEM))
