"""Keys that sign checkpoints: how they are made, what is refused as one, and what a signature covers."""

from pathlib import Path

import msgspec
import pytest

from hibernator.audit.chain import Link
from hibernator.audit.checkpoints import is_signed, new_key, public_key, signer
from support.command import hibernator
from support.trail import NOON

PRIVATE, PUBLIC = new_key()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sequence", 4),
        ("hash", "1" * 64),
        ("time", "2027-01-01T00:00:00Z"),
        ("opens", True),
        ("signature", "="),
    ],
)
def test_a_signature_is_over_all_that_a_checkpoint_says(field: str, value: object) -> None:
    signs = signer(PRIVATE)
    made = signs.sign(Link(3, "0" * 64), NOON)
    assert is_signed(made, signs.keys)
    assert not is_signed(msgspec.structs.replace(made, **{field: value}), signs.keys)


@pytest.mark.parametrize("pem", [b"", b"nonsense", PUBLIC])
def test_what_is_no_private_key_is_told(pem: bytes) -> None:
    with pytest.raises(ValueError, match="no private key of the type Ed25519"):
        signer(pem)


@pytest.mark.parametrize("pem", [b"", b"nonsense", PRIVATE])
def test_what_is_no_public_key_is_told(pem: bytes) -> None:
    with pytest.raises(ValueError, match="no public key of the type Ed25519"):
        public_key(pem)


def test_a_new_key_is_readable_by_its_owner_only_and_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "audit.key"
    done = hibernator("audit", "keygen", file)
    assert (done.code, file.stat().st_mode & 0o777) == (0, 0o600)
    (made,) = signer(file.read_bytes()).keys.values()
    assert made == public_key(done.out.encode())
    again = hibernator("audit", "keygen", file)
    assert (again.code, "File exists" in again.err) == (2, True)
