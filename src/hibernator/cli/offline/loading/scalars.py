"""What an unquoted word in a YAML file means, exactly as `kubectl` reads it.

PyYAML follows YAML 1.1 to the letter: to it an unquoted `20:00` is the number 1200 and `2026-12-25` a date.
kubectl leaves both alone as text. A file must mean here what it means in the cluster, so its rules are ours.
"""

import math
import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_WHOLE = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = (16, 8, 2, 10)
_LONGEST = 3 + 64  # a sign, a prefix and 64 binary digits
_SMALLEST, _BIGGEST = -(2**63), 2**64 - 1


def plain(text: str) -> Scalar:
    """The value of a word without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "")
    whole = _WHOLE.fullmatch(digits)
    if whole and (integer := _whole_number(whole)) is not None:
        return integer
    if _FLOAT.fullmatch(digits) and math.isfinite(number := float(digits)):
        return _shortest(number)
    return text


def _whole_number(match: re.Match[str]) -> int | None:
    sign, *by_base = match.groups()
    if len(match.group()) > _LONGEST:
        return None
    number = next(int(digits, base) for digits, base in zip(by_base, _BASES, strict=True) if digits)
    number = -number if sign == "-" else number
    return number if _SMALLEST <= number <= _BIGGEST else None


def _shortest(number: float) -> float | int:
    """On its way to the cluster everything becomes JSON, where 2.0 is written as 2."""
    if number.is_integer() and abs(number) <= _BIGGEST:
        return int(number)
    return number
