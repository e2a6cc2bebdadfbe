"""Whatever stands in a file: an answer in words, in reasonable time, and never a traceback."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from cli.offline import samples
from support.command import hibernator

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("validate",),
    ("simulate", "--from", "2026-03-23"),
    ("simulate", "--from", "2026-03-23", "-o", "json"),
    ("simulate", "--from", "2026-03-23", "-o", "svg"),
    ("simulate", "--from", "2026-03-23", "-o", "ics"),
    ("explain", "--at", "2026-03-28T20:00:00Z"),
    ("convert", "--to", "off-hours"),
    ("convert", "--to", "cron"),
)
GOOD = [
    samples.plan(holidays={"mode": "sleep-all-day", "sourceRef": {"name": "holidays"}, "country": "DE"}),
    samples.exception(leadTime="1h"),
    samples.pending("later"),
    samples.scaler(holidays={"mode": "treat-as-open", "sourceRef": {"name": "holidays"}}),
    samples.config_map({"2026-03-25": "a day", "more.ics": "BEGIN:VCALENDAR\nEND:VCALENDAR"}),
    samples.old_plan(),
]
WORDS = (
    "",
    "x",
    "20:00",
    "25:00",
    "MON",
    "Mon",
    "UTC",
    "extend",
    "50%",
    "2026-01-01T00:00:00Z",
    "9999-12-31",
)
LEAVES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 1.5, 2**31, 2**70, 1e300])
    | st.sampled_from(WORDS)
    | st.text(st.characters(codec="utf-8"), max_size=5)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def spoiled(draw: st.DrawFn) -> Any:
    """A good document in which a few things were replaced, removed or added."""
    document: Any = copy.deepcopy(draw(st.sampled_from(GOOD)))
    for _ in range(draw(st.integers(1, 3))):
        holder: Any = document
        for _ in range(draw(st.integers(1, 6))):
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if not isinstance(holder[key], dict | list):
                break
            holder = holder[key]
        if isinstance(holder, dict) and holder:
            key = draw(st.sampled_from([*holder, "another"]))
            if key in holder and draw(st.booleans()):
                del holder[key]
            else:
                holder[key] = draw(TREES)
        elif isinstance(holder, list):
            holder.append(draw(TREES))
    return document


@given(st.lists(spoiled() | st.sampled_from(GOOD), min_size=1, max_size=4), st.sampled_from(COMMANDS))
@settings(max_examples=300)
def test_spoiled_documents_end_in_words(documents: list[Any], command: tuple[str, ...]) -> None:
    name, *options = command
    ran = hibernator(name, "-f", "-", *options, stdin=yaml.safe_dump_all(documents, allow_unicode=True))
    assert ran.code in {0, 1}
    assert ran.out or ran.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("document", "bare"),
    [
        (samples.scaler(pause=None, gracePeriodSeconds=None, holidays=None), samples.scaler()),
        (samples.scaler(holidays={"mode": None}), samples.scaler(holidays={})),
        (samples.plan(holidays={"mode": None}), samples.plan(holidays={})),
        (samples.exception(leadTime=None), samples.exception()),
    ],
)
def test_a_field_without_a_value_is_one_that_is_not_there_as_the_api_server_has_it(
    document: Any, bare: Any, command: tuple[str, ...]
) -> None:
    name, *options = command
    said = [
        hibernator(name, "-f", "-", *options, stdin=samples.text(samples.plan("other"), each))
        for each in (document, bare)
    ]
    assert said[0].code == said[1].code == 0
    if name != "convert":
        assert said[0].out == said[1].out


@given(TREES, st.sampled_from(COMMANDS))
def test_anything_that_is_yaml_ends_in_words(tree: Any, command: tuple[str, ...]) -> None:
    name, *options = command
    ran = hibernator(name, "-f", "-", *options, stdin=yaml.safe_dump(tree, allow_unicode=True))
    assert ran.code in {0, 1}


@given(st.binary(max_size=200), st.sampled_from(["validate", "simulate", "explain"]))
def test_anything_at_all_ends_in_words(content: bytes, command: str) -> None:
    assert hibernator(command, "-f", "-", stdin=content).code in {0, 1}


def test_five_thousand_documents_are_read_checked_and_shown(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    each = samples.text(samples.plan("NAME"))
    file.write_text(
        "---\n".join(each.replace("NAME", f"plan-{number}") for number in range(5000)), encoding="utf-8"
    )
    checked = hibernator("validate", "-f", file)
    assert (checked.code, checked.out) == (0, "No mistakes in 5,000 documents: 5000 HibernatePlan.\n")
    shown = hibernator("simulate", "-f", file, "--from", "2026-03-02", "--to", "2026-03-03")
    assert shown.out.count("Europe/Berlin") == 5000


def test_five_thousand_broken_documents_give_five_thousand_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text("a: [\n---\n" * 5000, encoding="utf-8")
    ran = hibernator("validate", "-f", file)
    assert ran.out.endswith("5,000 mistakes.\n")


@pytest.mark.parametrize(
    "option", [("--from", "soon"), ("--to", "2026-03-01T24:61:00"), ("--from", "2026-02-30")]
)
def test_a_moment_that_is_none_ends_in_words(option: tuple[str, str]) -> None:
    ran = hibernator("simulate", "-f", "-", *option, stdin=samples.text(samples.plan()))
    assert ran.code == 2
    assert ran.err.startswith(f"error: {' '.join(option)}: ")
    assert "Write it as 07:00, tomorrow 07:00, 4h, 2026-11-20 or 2026-11-20T07:00:00Z." in ran.err


def test_a_range_that_ends_before_it_begins_ends_in_words() -> None:
    ran = hibernator(
        "simulate",
        "-f",
        "-",
        "--from",
        "2026-03-02",
        "--to",
        "2026-03-01",
        stdin=samples.text(samples.plan()),
    )
    assert (ran.code, ran.err) == (
        2,
        (
            "error: The range is empty: it would begin on Mon 2026-03-02 00:00 Europe/Berlin and end on "
            "Sun 2026-03-01 00:00 Europe/Berlin.\nGive a --to that is later than --from.\n"
        ),
    )
