"""Seals what a browser keeps for us, so that it can neither read nor change it.

The keys come from a file with one on each line: the first seals, all open. A new key is put on top, the old
one is taken out once nothing sealed with it matters any more, and without it everybody is logged out. The
file is looked at again while the process runs, as a mounted Secret changes. It changes at each node at
another moment, and any replica may get what another one sealed: so the key before a new one goes on to seal
until all replicas have the new one.
"""

import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from hibernator.kube.clock import steady

_SHORTEST: Final = 32  # characters of a key
_NONCE: Final = 12
_LOOK_EVERY: Final = 5.0  # seconds
_SPREAD: Final = 180.0  # seconds within which a Secret that changed is mounted everywhere

_log: Final = structlog.get_logger(__name__)


class Keyring:
    """The keys of the file; for each purpose another one is derived, so that nothing passes for another."""

    def __init__(self, file: Path, *, monotonic: Callable[[], float] = steady) -> None:
        self._file = file
        self._monotonic = monotonic
        self._looked = monotonic()
        self._known = _version(file)
        self._keys = read_keys(file)
        self._new_until = monotonic() + _SPREAD  # it may have been put on top just before we started
        self._derived: dict[str, list[bytes]] = {}

    def seal(self, purpose: str, plain: bytes) -> str:
        nonce = os.urandom(_NONCE)  # random ones are safe for 2³² cookies of a key
        sealed = nonce + AESGCM(self._first(purpose)).encrypt(nonce, plain, None)
        return urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def open(self, purpose: str, text: str) -> bytes | None:
        """What was sealed; None where it was not sealed by us for this purpose."""
        try:
            sealed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            return None
        for key in self._for(purpose):
            try:
                return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
            except (InvalidTag, ValueError):
                continue
        return None

    def mark(self, purpose: str, text: str) -> str:
        """A mark that only we can make for this text."""
        return _mark(self._first(purpose), text)

    def is_mark(self, purpose: str, text: str, mark: str) -> bool:
        given = mark.encode("utf-8", "replace")
        return any(hmac.compare_digest(_mark(key, text).encode(), given) for key in self._for(purpose))

    def _first(self, purpose: str) -> bytes:
        """The key that seals: the first one, or while that is new the one that was first before it."""
        keys = self._for(purpose)
        is_new = len(keys) > 1 and self._monotonic() < self._new_until
        return keys[1] if is_new else keys[0]

    def _for(self, purpose: str) -> list[bytes]:
        self._look()
        if purpose not in self._derived:
            info = f"hibernator web {purpose}".encode()
            self._derived[purpose] = [HKDF(SHA256(), 32, None, info).derive(key) for key in self._keys]
        return self._derived[purpose]

    def _look(self) -> None:
        """Read the file again if it changed; what cannot be used leaves the keys as they are."""
        if self._monotonic() - self._looked < _LOOK_EVERY:
            return
        self._looked = self._monotonic()
        try:
            version = _version(self._file)
            if version != self._known:
                keys = read_keys(self._file)
                if keys[0] != self._keys[0]:
                    self._new_until = self._looked + _SPREAD
                self._keys, self._derived, self._known = keys, {}, version
                _log.info("session keys reloaded", keys=len(keys))
        except (OSError, ValueError) as error:
            _log.warning("session keys cannot be reloaded", file=str(self._file), why=str(error))


def read_keys(file: Path) -> list[bytes]:
    """The keys of a file; ValueError says what is wrong with it."""
    data = file.read_bytes()
    # Bytes that are no text are one key: line ends among them mean nothing.
    lines = [line.strip() for line in data.splitlines()] if data.isascii() else [data]
    keys = [line for line in lines if line and not line.startswith(b"#")]
    if not keys:
        raise ValueError("it holds no key; write one on each line, made by `openssl rand -base64 32`")
    if any(len(key) < _SHORTEST for key in keys):
        raise ValueError(
            f"a key is shorter than {_SHORTEST} characters; make it by `openssl rand -base64 32`"
        )
    return keys


def _version(file: Path) -> tuple[int, int, int]:
    found = file.stat()
    return found.st_mtime_ns, found.st_ino, found.st_size


def _mark(key: bytes, text: str) -> str:
    return urlsafe_b64encode(hmac.digest(key, text.encode(), "sha256")).rstrip(b"=").decode()
