"""What the offline check says, in the words that a person reads."""

from typing import Any

import pytest

from hibernator.api.problem import Problem
from hibernator.api.schema import INSTANT, Schema
from hibernator.api.structural import check, guess
from hibernator.api.windows import STRICT_TIME

TEXT: Schema = {"type": "string", "description": "A word."}
WINDOW: Schema = {
    "type": "object",
    "required": ["start", "zone"],
    "properties": {
        "start": {"type": "string", "pattern": STRICT_TIME, "maxLength": 5},
        "zone": {"type": "string", "description": "The zone.", "minLength": 1},
        "replicas": {"type": "integer", "minimum": 0, "maximum": 9},
        "paused": {"type": "boolean"},
        "share": {"type": "number", "maximum": 1},
        "at": {"type": "string", "format": "date-time", "pattern": INSTANT},
        "day": {"type": "string", "enum": ["Mon", "Tue", "Wed"]},
        "days": {
            "type": "array",
            "items": TEXT,
            "minItems": 1,
            "maxItems": 2,
            "x-kubernetes-list-type": "set",
        },
        "labels": {"type": "object", "additionalProperties": TEXT},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "count": {"x-kubernetes-int-or-string": True, "minimum": 0, "pattern": "^[0-9]+%$"},
        "nothing": {"type": "object"},
        "small": {"type": "integer", "format": "int32"},
    },
}
GOOD: dict[str, Any] = {"start": "08:00", "zone": "UTC"}


def told(**fields: Any) -> list[Problem]:
    return list(check(WINDOW, GOOD | fields, "spec"))


@pytest.mark.parametrize(
    ("fields", "path", "message", "fix"),
    [
        ({"zone": 5}, "spec.zone", "it must be text, not a number", 'Put it in quotes: "5".'),
        (
            {"zone": True},  # which `zone: NO` and `zone: y` are, without quotes
            "spec.zone",
            "it must be text, not true or false",
            "Put what you wrote in quotes: YAML reads y, yes, on, n, no and off as true or false, too.",
        ),
        ({"zone": ["UTC"]}, "spec.zone", "it must be text, not a list", "Write text."),
        ({"zone": ""}, "spec.zone", "it is empty", "Write something here. The zone."),
        ({"zone": None}, "spec.zone", "it is missing", "Add it. The zone."),
        ({"replicas": "3"}, "spec.replicas", "it must be a whole number, not text", "Remove the quotes: 3."),
        (
            {"replicas": "many"},
            "spec.replicas",
            "it must be a whole number, not text",
            "Write a whole number.",
        ),
        (
            {"replicas": True},
            "spec.replicas",
            "it must be a whole number, not true or false",
            "Write a whole number.",
        ),
        (
            {"replicas": 1.5},
            "spec.replicas",
            "it must be a whole number, not a fraction",
            "Write a whole number.",
        ),
        ({"replicas": -1}, "spec.replicas", "-1 is too small", "Write 0 or more."),
        ({"replicas": 10}, "spec.replicas", "10 is too large", "Write 9 or less."),
        ({"small": 2**31}, "spec.small", "2147483648 is too large", "Write 2147483647 or less."),
        ({"share": "half"}, "spec.share", "it must be a number, not text", "Write a number."),
        ({"share": 1.5}, "spec.share", "1.5 is too large", "Write 1 or less."),
        ({"paused": "true"}, "spec.paused", "it must be true or false, not text", "Remove the quotes: true."),
        (
            {"start": "8:00"},
            "spec.start",
            '"8:00" does not have the right form',
            "Write the time as HH:MM with two digits each, for example 08:00.",
        ),
        (
            {"start": "08:00\n"},
            "spec.start",
            '"08:00\\n" does not have the right form',
            "Write the time as HH:MM with two digits each, for example 08:00.",
        ),
        (
            {"at": "2026-02-30T00:00:00Z"},
            "spec.at",
            'there is no such moment as "2026-02-30T00:00:00Z"',
            "Write an instant with its zone, for example 2026-11-15T08:00:00Z.",
        ),
        (
            {"at": "today"},
            "spec.at",
            '"today" does not have the right form',
            "Write an instant with its zone, for example 2026-11-15T08:00:00Z.",
        ),
        (
            {"day": "mon"},
            "spec.day",
            '"mon" is not known here',
            "Did you mean Mon? Write one of Mon, Tue, Wed.",
        ),
        ({"day": "Sun"}, "spec.day", '"Sun" is not known here', "Write one of Mon, Tue, Wed."),
        (
            {"days": "Mon"},
            "spec.days",
            "it must be a list, not text",
            "Write it as a list, each entry after a dash.",
        ),
        ({"days": []}, "spec.days", "the list is empty", "Add at least one entry."),
        ({"days": ["a", "b", "c"]}, "spec.days", "the list has 3 entries", "Keep it to at most 2 entries."),
        ({"days": ["a", "a"]}, "spec.days[1]", 'it repeats "a" of spec.days[0]', "Remove it."),
        ({"days": ["a", None]}, "spec.days[1]", "it must be text, not empty", "Write text."),
        ({"labels": {"a": 1}}, "spec.labels.a", "it must be text, not a number", 'Put it in quotes: "1".'),
        (
            {"count": "half"},
            "spec.count",
            '"half" does not have the right form',
            "Write it as in the reference.",
        ),
        ({"count": -1}, "spec.count", "-1 is too small", "Write 0 or more."),
        (
            {"count": 1.5},
            "spec.count",
            "it must be a whole number or text, not a fraction",
            "Write a number.",
        ),
        ({"time_zone": "UTC"}, "spec.time_zone", "there is no such field", "Remove it."),
        ({"replic": 3, "replicas": 3}, "spec.replic", "there is no such field", "Did you mean replicas?"),
        ({"small_number": 3}, "spec.small_number", "there is no such field", "Did you mean small?"),
        ({"day": "Mon", "dayz": []}, "spec.dayz", "there is no such field", "Did you mean days?"),
        ({"replica": 3}, "spec.replica", "there is no such field", "Did you mean replicas?"),
        ({"Start": "08:00"}, "spec.Start", "there is no such field", "Did you mean start?"),
        (
            {"nothing": {"a": 1}},
            "spec.nothing.a",
            "there is no such field",
            "Remove it. Nothing is written here.",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place_and_its_fix(
    fields: dict[str, Any], path: str, message: str, fix: str
) -> None:
    (problem,) = told(**fields)
    assert (problem.path, problem.message) == (path, message)
    assert problem.fix.startswith(fix)


@pytest.mark.parametrize(
    "fields",
    [
        {"replicas": 3.0},
        {"count": 3},
        {"count": "50%"},
        {"free": {"a": {"b": [1]}}},
        {"any": 5},
        {"any": {"a": 1}},
        {"replicas": None},
        {"at": "2026-02-28T00:00:00.5+05:45"},
        {"share": 1},
        {"nothing": {}},
    ],
)
def test_what_fits_is_let_through(fields: dict[str, Any]) -> None:
    assert told(**fields) == []


def test_all_mistakes_are_told_at_once() -> None:
    found = check(WINDOW, {"start": "25:00", "replicas": "3", "days": ["a", "a", 5], "colour": "red"})
    assert [problem.path for problem in found] == [
        "zone",
        "start",
        "replicas",
        "days",
        "days[2]",
        "days[1]",
        "colour",
    ]


def test_entries_of_a_map_are_told_apart_by_their_keys() -> None:
    targets: Schema = {
        "type": "array",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    written = [{"name": "a", "x": 1}, {"name": "b"}, {"x": 2}, {"x": 2}, {"name": "a", "x": 2}]
    assert [
        (problem.path, problem.message, problem.fix) for problem in check(targets, written, "targets")
    ] == [
        (
            "targets[4]",
            'it repeats name "a" of targets[0]',
            "Give it another name, or remove it.",
        )
    ]


def test_an_unknown_field_beside_known_ones_lists_them_when_nothing_is_alike() -> None:
    (problem,) = check({"type": "object", "properties": {"a": TEXT, "b": TEXT}}, {"colour": 1})
    assert problem.fix == "Remove it. The fields here are a, b."


@pytest.mark.parametrize(
    ("word", "meant"),
    [("time_zone", "timezone"), ("Timezon", "timezone"), ("off-hours", "offHours"), ("zzz", None)],
)
def test_what_was_meant_is_found_whatever_the_case_and_the_dashes(word: str, meant: str | None) -> None:
    assert guess(word, ["timezone", "offHours"]) == meant
