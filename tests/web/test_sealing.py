"""What a browser keeps for us can neither be read nor changed, and keys change without a restart."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hibernator.web.sealing import Keyring, read_keys

OLD, NEW = "o" * 32, "n" * 44


class Seconds:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def keyring(folder: Path, *keys: str) -> tuple[Keyring, Seconds]:
    (folder / "keys").write_text("\n".join(keys))
    seconds = Seconds()
    return Keyring(folder / "keys", monotonic=seconds), seconds


def test_what_is_sealed_says_nothing_and_opens_again(tmp_path: Path) -> None:
    keys, _ = keyring(tmp_path, OLD)
    sealed = keys.seal("session", b"alice@company.com")
    assert "alice" not in sealed
    assert sealed != keys.seal("session", b"alice@company.com")
    assert keys.open("session", sealed) == b"alice@company.com"


def test_what_was_changed_or_made_for_another_purpose_does_not_open(tmp_path: Path) -> None:
    keys, _ = keyring(tmp_path, OLD)
    sealed = keys.seal("session", b"alice")
    for place in range(len(sealed)):
        changed = sealed[:place] + ("A" if sealed[place] != "A" else "B") + sealed[place + 1 :]
        opened = keys.open("session", changed)
        # The last character carries bits that base64 ignores.
        assert opened is None or (opened == b"alice" and place == len(sealed) - 1)
    assert keys.open("log-in", sealed) is None


@given(st.text(max_size=200))
def test_what_is_made_up_does_not_open(text: str) -> None:
    keys = Keyring.__new__(Keyring)
    keys._derived = {"session": [b"k" * 32]}
    keys._monotonic, keys._looked = (lambda: 0.0), 0.0
    assert keys.open("session", text) is None


def test_a_new_key_seals_and_the_old_one_opens_until_it_is_taken_out(tmp_path: Path) -> None:
    keys, seconds = keyring(tmp_path, OLD)
    before = keys.seal("session", b"alice")
    (tmp_path / "keys").write_text(f"{NEW}\n{OLD}\n")
    seconds.now = 6
    assert keys.open("session", before) == b"alice"
    seconds.now = 200
    after = keys.seal("session", b"alice")
    (tmp_path / "keys").write_text(f"# from today on\n{NEW}\n")
    seconds.now = 206
    assert keys.open("session", before) is None  # everybody from before is logged out
    assert keys.open("session", after) == b"alice"


def test_a_file_that_cannot_be_used_leaves_the_keys_as_they_are(tmp_path: Path) -> None:
    keys, seconds = keyring(tmp_path, OLD)
    sealed = keys.seal("session", b"alice")
    for broken in ("", "short"):
        (tmp_path / "keys").write_text(broken)
        seconds.now += 6
        assert keys.open("session", sealed) == b"alice"
    (tmp_path / "keys").unlink()
    seconds.now += 6
    assert keys.open("session", sealed) == b"alice"


def test_replicas_with_the_same_file_open_what_the_other_sealed(tmp_path: Path) -> None:
    one, _ = keyring(tmp_path, OLD)
    other, _ = keyring(tmp_path, OLD)
    assert other.open("session", one.seal("session", b"alice")) == b"alice"
    assert other.is_mark("form", "a", one.mark("form", "a"))


def test_while_a_new_key_reaches_one_replica_after_the_other_each_opens_what_the_others_seal(
    tmp_path: Path,
) -> None:
    """Each node gets a changed Secret at a time of its own, up to two minutes apart."""
    for folder in ("early", "late", "fresh"):
        (tmp_path / folder).mkdir()
    early, seconds = keyring(tmp_path / "early", OLD)
    late, _ = keyring(tmp_path / "late", OLD)
    (tmp_path / "early" / "keys").write_text(f"{NEW}\n{OLD}\n")
    seconds.now = 6
    fresh, _ = keyring(tmp_path / "fresh", f"{NEW}\n{OLD}\n")  # started just then
    for one in (early, fresh):
        assert late.open("session", one.seal("session", b"alice")) == b"alice"
        assert late.is_mark("form", "a", one.mark("form", "a"))
        assert one.open("session", late.seal("session", b"alice")) == b"alice"
    seconds.now = 6 + 180
    assert late.open("session", early.seal("session", b"alice")) is None  # by the new one from now on


def test_a_mark_belongs_to_its_text(tmp_path: Path) -> None:
    keys, _ = keyring(tmp_path, OLD)
    mark = keys.mark("form", "session-1")
    assert keys.is_mark("form", "session-1", mark)
    assert not keys.is_mark("form", "session-2", mark)
    assert not keys.is_mark("other", "session-1", mark)
    assert not keys.is_mark("form", "session-1", "\udcff")


@pytest.mark.parametrize(
    ("text", "words"), [("", "no key"), ("# nothing", "no key"), ("x" * 31, "shorter than 32 characters")]
)
def test_a_file_without_good_keys_is_refused_with_what_to_do(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "keys").write_text(text)
    with pytest.raises(ValueError, match=f"{words}.*openssl rand -base64 32"):
        read_keys(tmp_path / "keys")


def test_bytes_that_are_no_text_are_one_key(tmp_path: Path) -> None:
    data = bytes(range(120, 160)) + b"\n" + bytes(range(200, 210))
    (tmp_path / "keys").write_bytes(data)
    assert read_keys(tmp_path / "keys") == [data]
