"""Signed checkpoints: what the chain was at a moment, under a key that the database's owner does not have.

Anyone who can write to the database can compute the whole chain again, but not the signatures in it. A
checkpoint is an event like any other, about an event before it. Pure; `sealing` decides when one is due.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from whenever import Instant

from hibernator.api.meta import Model
from hibernator.audit.chain import Link
from hibernator.audit.event import AuditEvent, Resource, as_text, canonical, event

TYPE: Final = "audit.checkpoint"
TRAIL: Final = Resource(kind="AuditTrail", name="audit")

_PURPOSE: Final = b"hibernator audit checkpoint 1\n"  # so that a signature means nothing anywhere else


class Checkpoint(Model):
    """The data of the event."""

    sequence: int
    hash: str
    time: str
    key_id: str
    opens: bool = False  # what came before this place was removed by the retention
    signature: str = ""

    @property
    def link(self) -> Link:
        return Link(self.sequence, self.hash)

    def statement(self) -> bytes:
        """What is signed: JSON with sorted keys and no spaces, without the signature."""
        content = {
            "hash": self.hash,
            "keyId": self.key_id,
            "opens": self.opens,
            "sequence": self.sequence,
            "time": self.time,
        }
        return _PURPOSE + bytes(canonical(content))

    def event(self) -> AuditEvent:
        identity = (str(self.link), str(self.opens))
        data = msgspec.to_builtins(self) | {"opens": self.opens}  # also where it is the default
        return event(TYPE, TRAIL, at=Instant.parse_iso(self.time), identity=identity, data=data)


Keys = Mapping[str, Ed25519PublicKey]  # by their ids


class Signer:
    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.keys: Keys = by_id([key.public_key()])
        (self.key_id,) = self.keys

    def sign(self, link: Link, at: Instant, *, opens: bool = False) -> Checkpoint:
        bare = Checkpoint(
            sequence=link.sequence,
            hash=link.hash,
            time=as_text(at.round("microsecond", mode="floor")),
            key_id=self.key_id,
            opens=opens,
        )
        signature = base64.b64encode(self._key.sign(bare.statement())).decode()
        return msgspec.structs.replace(bare, signature=signature)


def by_id(keys: Iterable[Ed25519PublicKey]) -> Keys:
    return {key_id(key): key for key in keys}


def key_id(key: Ed25519PublicKey) -> str:
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def is_signed(checkpoint: Checkpoint, keys: Keys) -> bool:
    """Whether one of these keys has signed exactly this."""
    key = keys.get(checkpoint.key_id)
    if key is None:
        return False
    try:
        key.verify(base64.b64decode(checkpoint.signature, validate=True), checkpoint.statement())
    except (InvalidSignature, ValueError):
        return False
    return True


def read(data: bytes) -> Checkpoint | None:
    """The checkpoint in the data of an event; None when it is none."""
    try:
        return msgspec.json.decode(data, type=Checkpoint)
    except (msgspec.DecodeError, RecursionError):
        return None


def new_key() -> tuple[bytes, bytes]:
    """A private key and its public one, both as PEM."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private, public


def signer(pem: bytes) -> Signer:
    """Sign with this private key; ValueError when it is none."""
    try:
        match serialization.load_pem_private_key(pem, None):
            case Ed25519PrivateKey() as key:
                return Signer(key)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        pass
    raise ValueError("it holds no private key of the type Ed25519 as PEM")


def public_key(pem: bytes) -> Ed25519PublicKey:
    """A public key from PEM; ValueError when it is none."""
    try:
        match serialization.load_pem_public_key(pem):
            case Ed25519PublicKey() as key:
                return key
    except (ValueError, UnsupportedAlgorithm):
        pass
    raise ValueError("it holds no public key of the type Ed25519 as PEM")
