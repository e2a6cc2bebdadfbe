r"""Regular expressions that strangers write, matched in a time that is bounded by their length.

Python's own engine tries one way after the other, and a few characters keep it busy for years. Here all ways
are followed at once, as RE2 does it: one step for each character of the text. The language is small on
purpose: characters, `.`, classes such as `[A-Z]`, `\d`, `\w` and `\s`, the repetitions `?`, `*`, `+`, `{2}`
and `{2,4}`, and `|` between alternatives, of which each may begin with `^` and end with `$`. There are no
groups.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

MOST_STEPS: Final = 256
LONGEST_TEXT: Final = 1024
_REPEAT: Final = re.compile(r"\{([0-9]{1,3})(?:(,)([0-9]{0,3}))?\}", re.ASCII)
_CLASSES: Final[dict[str, Callable[[str], bool]]] = {
    "d": lambda char: "0" <= char <= "9",
    "w": lambda char: char.isascii() and (char.isalnum() or char == "_"),
    "s": lambda char: char in " \t\n\f\r\v",
}
_SPECIAL: Final = frozenset("()*+?{^$")


class PatternError(ValueError):
    """What is wrong with a pattern, as a part of a sentence."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One character to read; `may_skip` without it, `may_stay` after it."""

    fits: Callable[[str], bool]
    may_skip: bool = False
    may_stay: bool = False


@dataclass(frozen=True, slots=True)
class _Way:
    """One alternative. A set of places in it is a number: bit 3 is the place before the fourth character."""

    fits: tuple[tuple[Callable[[str], bool], int], ...]  # what a character may be, and in front of it
    skips: int  # the places from which one may go on without a character
    stays: int
    end: int
    from_start: bool
    to_end: bool

    @classmethod
    def of(cls, steps: Sequence[_Step], *, from_start: bool, to_end: bool) -> Self:
        masks = dict[Callable[[str], bool], int]()
        for index, step in enumerate(steps):
            masks[step.fits] = masks.get(step.fits, 0) | 1 << index
        skips = sum(1 << index for index, step in enumerate(steps) if step.may_skip)
        stays = sum(1 << index for index, step in enumerate(steps) if step.may_stay)
        return cls(tuple(masks.items()), skips, stays, 1 << len(steps), from_start, to_end)

    def fitting(self, char: str) -> int:
        return sum(mask for fits, mask in self.fits if fits(char))

    def reached(self, places: int) -> int:
        """These places, and all that come after them without a character."""
        open_, distance = self.skips << 1, 1
        while distance <= MOST_STEPS:
            places |= open_ & (places << distance)
            open_ &= open_ << distance
            distance *= 2
        return places


@lru_cache(maxsize=256)
def found_in(pattern: str, text: str) -> bool:
    """Whether the pattern occurs anywhere in the text; `PatternError` where it is none."""
    return any(_occurs(way, text[:LONGEST_TEXT]) for way in _read(pattern))


@lru_cache(maxsize=256)
def _read(pattern: str) -> tuple[_Way, ...]:
    ways, steps, at = [], list[_Step](), 0
    from_start = to_end = False
    while at < len(pattern):
        char, is_last = pattern[at], pattern[at + 1 : at + 2] in {"", "|"}
        if char == "|":
            ways.append(_Way.of(steps, from_start=from_start, to_end=to_end))
            steps, at, from_start, to_end = [], at + 1, False, False
        elif char == "^" and not steps and not from_start:
            at, from_start = at + 1, True
        elif char == "$" and is_last:
            at, to_end = at + 1, True
        else:
            fits, at = _one(pattern, at)
            least, most, at = _repetition(pattern, at)
            steps += _repeated(fits, least, most)
        if len(steps) > MOST_STEPS:
            raise PatternError(f"it repeats more than {MOST_STEPS} characters")
    return (*ways, _Way.of(steps, from_start=from_start, to_end=to_end))


def _one(pattern: str, at: int) -> tuple[Callable[[str], bool], int]:
    """What one character may be, and where the pattern goes on."""
    char = pattern[at]
    if char in _SPECIAL:
        why = "groups are not supported" if char in "()" else "there is nothing to repeat"
        if char in "^$":
            why = f"it stands only at the {'beginning' if char == '^' else 'end'}"
        raise PatternError(f"{char!r} at character {at + 1}: {why}")
    if char == "[":
        return _class(pattern, at)
    if char == "\\":
        return _escaped(pattern, at)
    if char == ".":
        return (lambda one: one != "\n"), at + 1
    return (lambda one: one == char), at + 1


def _escaped(pattern: str, at: int) -> tuple[Callable[[str], bool], int]:
    if at + 1 == len(pattern):
        raise PatternError("it ends with a backslash")
    char = pattern[at + 1]
    if char in _CLASSES:
        return _CLASSES[char], at + 2
    if char.isalnum():
        raise PatternError(f"\\{char} is not supported; write \\d, \\w or \\s, or the character itself")
    return (lambda one: one == char), at + 2


def _class(pattern: str, at: int) -> tuple[Callable[[str], bool], int]:
    start, at = at, at + 1
    negated = pattern[at : at + 1] == "^"
    at += negated
    parts: list[Callable[[str], bool]] = []
    while at < len(pattern) and (pattern[at] != "]" or not parts):
        low = pattern[at]
        if low == "\\":
            fits, at = _escaped(pattern, at)
            parts.append(fits)
        elif pattern[at + 1 : at + 2] == "-" and pattern[at + 2 : at + 3] not in {"", "]"}:
            parts.append(_between(low, pattern[at + 2]))
            at += 3
        else:
            parts.append(_between(low, low))
            at += 1
    if at >= len(pattern):
        raise PatternError(f"the class that begins at character {start + 1} has no end")
    return (lambda one: any(fits(one) for fits in parts) != negated), at + 1


def _between(low: str, high: str) -> Callable[[str], bool]:
    if low > high:
        raise PatternError(f"the range {low}-{high} is the wrong way round")
    return lambda one: low <= one <= high


def _repetition(pattern: str, at: int) -> tuple[int, int | None, int]:
    """How often at least, how often at most, and where the pattern goes on."""
    match pattern[at : at + 1]:
        case "?":
            return 0, 1, at + 1
        case "*":
            return 0, None, at + 1
        case "+":
            return 1, None, at + 1
        case "{":
            found = _REPEAT.match(pattern, at)
            if found is None:
                raise PatternError(
                    f"the repetition at character {at + 1} must be written as {{2}} or {{2,4}}"
                )
            least = int(found[1])
            most = (int(found[3]) if found[3] else None) if found[2] else least
            if most is not None and most < max(least, 1):
                raise PatternError(f"the repetition at character {at + 1} allows nothing")
            return least, most, found.end()
        case _:
            return 1, 1, at


def _repeated(fits: Callable[[str], bool], least: int, most: int | None) -> Iterator[_Step]:
    """The steps of `x{least,most}`; without a `most`, the last of them may be repeated for ever."""
    for _ in range(max(least - (most is None), 0)):
        yield _Step(fits)
    if most is None:
        yield _Step(fits, may_skip=least == 0, may_stay=True)
        return
    for _ in range(most - least):
        yield _Step(fits, may_skip=True)


def _occurs(way: _Way, text: str) -> bool:
    first = way.reached(1)
    at, fitting = first, dict[str, int]()
    for char in text:
        if at & way.end and not way.to_end:
            return True
        if char not in fitting:
            fitting[char] = way.fitting(char)
        found = at & fitting[char]
        at = way.reached(found << 1 | found & way.stays)
        if not way.from_start:
            at |= first
    return bool(at & way.end)
