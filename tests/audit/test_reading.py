"""Finding events: every filter alone and together, page by page."""

import csv
import io
import json

import pytest
from whenever import TimeDelta

from hibernator.audit import formats
from hibernator.audit.chain import START, append
from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.event import Actor, Resource, event
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.store import ChainStore
from support.trail import NOON, sleeps

BOB = Actor(type="user", id="bob", email="Bob@Example.com")
EXCEPTION = Resource(kind="ScheduleException", namespace="shop", name="party", uid="e")


@pytest.fixture
async def reader(database: Database) -> Reader:
    """1 to 3 are sleeps of a plan, 4 is an approval by Bob an hour later, 5 is in an oddly named place."""
    store = ChainStore(database, now=lambda: NOON)
    later = NOON + TimeDelta(hours=1)
    odd = event("admission.denied", Resource(kind="HibernatePlan", namespace="b%r", name="x"), at=later)
    given = event("scheduleexception.approval.given", EXCEPTION, at=later, actor=BOB, channel="slack")
    await store.append(await store.claim("a"), [*sleeps(1, 2, 3), given, odd])
    return Reader(database)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(), [1, 2, 3, 4, 5]),
        (Filter(kind="hibernateplan"), [1, 2, 3, 5]),
        (Filter(kind="HibernatePlan", namespace="shop"), [1, 2, 3]),
        (Filter(namespace="b%r"), [5]),
        (Filter(namespace="b_r"), []),
        (Filter(name="party"), [4]),
        (Filter(actor="bob"), [4]),
        (Filter(actor="bob@example.COM"), [4]),
        (Filter(actor="hibernator"), [1, 2, 3, 5]),
        (Filter(type="scheduleexception.approval.given"), [4]),
        (Filter(type="scheduleexception.*"), [4]),
        (Filter(type="*"), [1, 2, 3, 4, 5]),
        (Filter(type="hibernateplan%*"), []),
        (Filter(since=NOON + TimeDelta(hours=1)), [4, 5]),
        (Filter(until=NOON + TimeDelta(hours=1)), [1, 2, 3]),
        (Filter(since=NOON, until=NOON), []),
        (Filter(kind="ScheduleException", actor="bob", type="*", since=NOON), [4]),
    ],
)
async def test_only_what_is_asked_for_is_found(reader: Reader, wanted: Filter, expected: list[int]) -> None:
    assert [entry.sequence for entry in await reader.page(wanted)] == expected


async def test_pages_follow_one_another_without_a_gap(reader: Reader) -> None:
    first = await reader.page(Filter(), limit=2)
    second = await reader.page(Filter(), after=first[-1].sequence, limit=2)
    assert [entry.sequence for entry in first + second] == [1, 2, 3, 4]


async def test_the_latest_come_oldest_first(reader: Reader) -> None:
    assert [entry.sequence for entry in await reader.latest(Filter(kind="HibernatePlan"), 2)] == [3, 5]


async def test_a_database_without_a_trail_is_told(empty_url: str) -> None:
    async with Database(empty_url) as database:
        with pytest.raises(AuditUnavailable, match="holds no audit trail"):
            await Reader(database).check()


async def test_a_reader_cannot_write(url: str) -> None:
    async with Database(url, read_only=True) as database:
        with pytest.raises(AuditUnavailable, match=r"read-?only"):
            await ChainStore(database, now=lambda: NOON).claim("a")


UNSEEN = "\x00\x07\x08\x0b\r\x1b[2J\x7f\x9b31m\u202e\u2066\u2028\u200f"


@pytest.mark.parametrize("form", [formats.Csv, formats.NdJson, formats.Json])
def test_no_format_holds_what_a_terminal_would_obey(form: type[formats.Format]) -> None:
    told = event("admission.denied", EXCEPTION, at=NOON, error=f"before{UNSEEN}after\twith a tab")
    text = form().page([append(START, told, NOON)])
    assert [letter for letter in text if not letter.isprintable() and letter not in "\n\t"] == []
    assert "before" in text
    assert "\\u001b[2J" in text


def test_json_says_the_same_whatever_is_escaped_in_it() -> None:
    told = event("admission.denied", EXCEPTION, at=NOON, error=UNSEEN)
    entry = append(START, told, NOON)
    assert json.loads(formats.NdJson().page([entry]))["error"] == entry.error


def test_a_cell_that_a_spreadsheet_would_run_is_only_text() -> None:
    for formula in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1"):
        told = event("admission.denied", EXCEPTION, at=NOON, error=formula)
        form = formats.Csv()
        rows = csv.DictReader(io.StringIO(form.begin() + form.page([append(START, told, NOON)]) + form.end()))
        assert [row["error"] for row in rows] == [f"'{formula}"]


def test_an_array_is_json_however_many_pages_there_are() -> None:
    entry = append(START, sleeps(1)[0], NOON)
    for pages in ([], [[entry]], [[entry], [], [entry, entry]]):
        form = formats.Json()
        text = form.begin() + "".join(form.page(page) for page in pages) + form.end()
        assert len(json.loads(text)) == sum(map(len, pages))
