"""Finds and reads the texts behind `-f`: files, directories and standard input."""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hibernator.cli.exits import CliError, Exit

MAX_BYTES = 64 * 1024 * 1024
SUFFIXES = (".yaml", ".yml", ".json")
STDIN = "-"


@dataclass(frozen=True, slots=True)
class Text:
    """What stands in a file, under the name by which the user knows it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class NoText:
    """A file that could not be read, why, and what to do about it."""

    name: str
    message: str
    fix: str


def read_texts(names: Sequence[str]) -> Iterator[Text | NoText]:
    """Each text once, however often its file is named, in the order of the names and of the alphabet."""
    if names.count(STDIN) > 1:
        raise CliError("Standard input can be read only once.", hint="Give `-f -` once.", code=Exit.USAGE)
    seen: set[str] = set()
    for name in names:
        for file in _files(name):
            if isinstance(file, NoText):
                yield file
                continue
            real = file if file == STDIN else os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                yield _read(file)


def _files(name: str) -> Iterator[str | NoText]:
    if name == STDIN:
        yield name
    elif Path(name).is_dir():
        yield from _in_directory(name)
    else:
        yield name


def _in_directory(name: str) -> Iterator[str | NoText]:
    found = False
    unreadable: list[NoText] = []
    for folder, folders, files in os.walk(name, onerror=lambda error: unreadable.append(_why_not(error))):
        # Hidden folders hold version control and, in mounted ConfigMaps, every file a second time.
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for file in sorted(files):
            path = Path(folder, file)
            if path.suffix.lower() in SUFFIXES and not file.startswith(".") and _is_regular(path):
                found = True
                yield str(path)
    yield from unreadable
    if not found and not unreadable:
        yield NoText(
            name,
            "there is no .yaml, .yml or .json file in this directory",
            "Name another directory or a file.",
        )


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return True  # reading it will say what is wrong


def _read(name: str) -> Text | NoText:
    shown = "stdin" if name == STDIN else name
    try:
        content = _read_bytes(name)
    except (OSError, ValueError) as error:
        return _why_not(error, shown)
    if len(content) > MAX_BYTES:
        return NoText(
            shown, f"it is larger than {MAX_BYTES // 1024**2} MiB", "Split it into several smaller files."
        )
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return NoText(shown, "it is written in UTF-16", "Save it as UTF-8.")
    try:
        return Text(shown, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return NoText(shown, f"it is not UTF-8 text (line {line} has other bytes)", "Save it as UTF-8.")


def _read_bytes(name: str) -> bytes:
    if name == STDIN:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    with Path(name).open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _why_not(error: OSError | ValueError, name: str = "") -> NoText:
    shown = name or str(getattr(error, "filename", None) or "?")
    if isinstance(error, FileNotFoundError):
        return NoText(shown, "there is no such file or directory", "Check the name after -f.")
    if isinstance(error, PermissionError):
        return NoText(shown, "you may not read it", "Ask for read permission on it.")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return NoText(shown, f"it cannot be read ({reason})", "Name a file that can be read.")
