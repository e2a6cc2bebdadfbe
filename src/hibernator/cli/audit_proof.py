"""What `hibernator audit verify` compares the trail with, and what it says about the outcome."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from whenever import Instant, TimeDelta

from hibernator.audit.chain import Link
from hibernator.audit.checkpoints import TYPE, Checkpoint, Keys, by_id, is_signed, public_key, read
from hibernator.audit.verification import Promise, Verification, promised
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.output import printable
from hibernator.kube.clustertime import now as cluster_time

_LATE: Final = TimeDelta(hours=1)  # a running operator signs every ten minutes


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the trail is to be compared with."""

    promises: tuple[Promise, ...]
    keys: Keys


def asked(known: str | None, keys: Sequence[Path], checkpoints: Path | None) -> Evidence:
    """Read the options; what cannot be read ends the command."""
    trusted = by_id(public_key_in(file) for file in keys)
    if checkpoints and not trusted:
        raise CliError(
            f"--checkpoints {checkpoints}: without a key, nothing proves who signed them.",
            hint="Give the public key with --key.",
            code=Exit.USAGE,
        )
    links = [Promise(link, "an earlier check") for link in [_link(known)] if link]
    exported = [promised(one) for one in _exported(checkpoints, trusted)] if checkpoints else []
    return Evidence((*links, *exported), trusted)


def public_key_in(file: Path) -> Ed25519PublicKey:
    try:
        return public_key(file.read_bytes())
    except OSError as error:
        raise CliError(f"--key {file} cannot be read: {error.strerror}.", code=Exit.USAGE) from error
    except ValueError as error:
        raise CliError(
            f"--key {file}: {error}.",
            hint="Give what `hibernator audit keygen` printed.",
            code=Exit.USAGE,
        ) from error


def show(verdict: Verification, asked: Evidence, now: Instant | None) -> None:
    """Say what was found, and end with the code for it."""
    first, last = verdict.start.sequence + 1, verdict.end.sequence
    fits = f"Events {first} to {last} fit." if last >= first else ""
    if verdict.misfit:
        entry = verdict.misfit
        raise CliError(
            f"Event {entry.sequence} does not fit: {verdict.problem}.",
            hint=printable(f"It is {entry.id}, {entry.type}, of {entry.time}. {fits}".rstrip()),
        )
    if verdict.problem:
        raise CliError(f"The trail is not whole: {verdict.problem}.", hint=fits)
    if asked.keys and verdict.signed is None and last:
        keys = ", ".join(asked.keys)
        raise CliError(f"The trail is not whole: no checkpoint in it is signed by {keys}.", hint=fits)
    if doubts := [*_doubts(verdict, asked, now or cluster_time(None))]:
        raise CliError(
            f"What is kept of the trail fits, but this is not proven: {' '.join(doubts)}",
            hint=f"{fits} Its end is {verdict.end}",
            code=Exit.UNPROVEN,
        )
    count = last - verdict.start.sequence
    typer.echo(f"The trail is whole: {count:,} events" + (f", {first} to {last}." if count else "."))
    if verdict.signed:
        typer.echo(f"It is signed up to event {verdict.signed.sequence}.")
    typer.echo(f"Its end is {verdict.end}")


def _doubts(verdict: Verification, asked: Evidence, now: Instant) -> Iterator[str]:
    begins = verdict.start.sequence + 1
    # A removal that the operator signed proves its own earlier checkpoints, and no other ones.
    unseen = [one for one in verdict.uncompared if not (one.signed and verdict.is_start_signed)]
    if unseen:
        what, by = unseen[0].link.sequence, unseen[0].by
        yield f"event {what} was not compared with {by}, because what is kept begins with event {begins}."
    if not asked.keys:
        return
    if verdict.start.sequence and not verdict.is_start_signed:
        yield f"the removal of the events before {begins} is not signed."
    since = verdict.unsigned_since
    if verdict.signed and since and since < now - _LATE:
        yield (
            f"the events behind {verdict.signed.sequence} are not signed, though the first of them is of "
            f"{since.format_iso(unit='second')}."
        )


def _link(text: str | None) -> Link | None:
    if text is None:
        return None
    if not (found := re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text.strip())):
        raise CliError(
            f"--known {text}: this is not the end of a trail.",
            hint="Give what an earlier `hibernator audit verify` printed as its end: NUMBER:HASH",
            code=Exit.USAGE,
        )
    return Link(int(found[1]), found[2])


def _exported(file: Path, keys: Keys) -> Iterator[Checkpoint]:
    """The checkpoints in a file of exported events, each signed by one of the keys."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"--checkpoints {file} cannot be read: {error}.", code=Exit.USAGE) from error
    for number, line in enumerate(lines, 1):
        checkpoint = _of_line(line)
        if checkpoint is None:
            raise CliError(
                f"--checkpoints {file}: line {number} is not an exported checkpoint.",
                hint="Export them with `hibernator audit export --type audit.checkpoint`.",
                code=Exit.USAGE,
            )
        if not is_signed(checkpoint, keys):
            raise CliError(f"--checkpoints {file}: line {number} is not signed by {', '.join(keys)}.")
        yield checkpoint


def _of_line(line: str) -> Checkpoint | None:
    try:
        event = json.loads(line)
        return read(json.dumps(event["data"]).encode()) if event["type"] == TYPE else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
