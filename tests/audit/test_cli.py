"""`hibernator audit` as people type it."""

import asyncio
import csv
import io
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from sqlalchemy import delete, update
from whenever import TimeDelta

from hibernator.audit.database import Database
from hibernator.audit.event import Actor, Resource, event
from hibernator.audit.schema import EVENTS
from hibernator.audit.store import ChainStore
from support.command import Ran, hibernator
from support.trail import NOON, sleeps, slept


@pytest.fixture
async def trail(url: str, database: Database) -> str:
    """Two sleeps, and an approval by Bob an hour later."""
    store = ChainStore(database, now=lambda: NOON)
    given = event(
        "scheduleexception.approval.given",
        Resource(kind="ScheduleException", namespace="shop", name="party", uid="e"),
        at=NOON + TimeDelta(hours=1),
        actor=Actor(type="user", id="bob", email="bob@example.com"),
        channel="slack",
        data={"role": "manager"},
    )
    await store.append(await store.claim("a"), [*sleeps(1, 2), given])
    return url


async def audit(*arguments: object, env: dict[str, str] | None = None) -> Ran:
    """In a thread, because a command brings an event loop of its own."""
    return await asyncio.to_thread(hibernator, "audit", *arguments, now=NOON + TimeDelta(hours=2), env=env)


async def test_a_list_is_a_table_with_the_oldest_first(trail: str) -> None:
    done = await audit("list", "--database", trail)
    assert done.code == 0
    rows = [re.split(r" {2,}", line) for line in done.out.splitlines()]
    assert rows == [
        ["NUMBER", "TIME", "TYPE", "OBJECT", "ACTOR", "VIA", "ERROR"],
        [
            "1",
            "2026-03-02T12:00:00Z",
            "hibernateplan.sleep.started",
            "HibernatePlan shop/nightly",
            "hibernator",
            "operator",
        ],
        [
            "2",
            "2026-03-02T12:00:00Z",
            "hibernateplan.sleep.started",
            "HibernatePlan shop/nightly",
            "hibernator",
            "operator",
        ],
        [
            "3",
            "2026-03-02T13:00:00Z",
            "scheduleexception.approval.given",
            "ScheduleException shop/party",
            "bob@example.com",
            "slack",
        ],
    ]
    words = ("VIA", "operator", "operator", "slack")
    starts = {line.index(word) for line, word in zip(done.out.splitlines(), words, strict=True)}
    assert len(starts) == 1, "columns are straight"


async def test_the_address_may_stand_in_the_environment(trail: str) -> None:
    done = await audit("list", "--limit", "1", env={"HIBERNATOR_DATABASE": trail})
    assert done.out.splitlines()[1].startswith("3 ")


async def test_filters_work_together(trail: str) -> None:
    arguments = ("--kind", "scheduleexception", "-n", "shop", "--name", "party", "--actor", "bob@example.com")
    when = ("--type", "scheduleexception.*", "--since", "90m", "--until", "2026-03-03")
    done = await audit("list", *arguments, *when, "-o", "ndjson", "--database", trail)
    [line] = done.out.splitlines()
    assert json.loads(line)["data"] == {"role": "manager"}


async def test_nothing_found_is_said_beside_the_output(trail: str) -> None:
    done = await audit("list", "--name", "nobody", "--database", trail)
    assert (done.code, done.out, done.err) == (0, "", "Nothing found.\n")


async def test_a_type_that_is_never_recorded_is_noted_with_what_was_meant(trail: str) -> None:
    done = await audit("list", "--database", trail, "--type", "scheduleexception.aproved")
    assert (done.code, done.err.splitlines()) == (
        0,
        [
            (
                "note: --type scheduleexception.aproved: this version records no such event. "
                "Did you mean scheduleexception.approved?"
            ),
            "Nothing found.",
        ],
    )
    assert (await audit("list", "--database", trail, "--type", "hibernateplan.*")).err == ""
    assert "docs/reference" in (await audit("list", "--database", trail, "--type", "noon*")).err


async def test_an_export_has_everything_in_each_form(trail: str) -> None:
    lines = (await audit("export", "--database", trail)).out.splitlines()
    assert [json.loads(line)["sequence"] for line in lines] == [1, 2, 3]
    assert json.loads((await audit("export", "-o", "json", "--database", trail)).out) == [
        json.loads(line) for line in lines
    ]
    rows = list(csv.DictReader(io.StringIO((await audit("export", "-o", "csv", "--database", trail)).out)))
    assert [row["actor_email"] for row in rows] == ["", "", "bob@example.com"]


async def test_an_export_goes_on_where_the_last_one_stopped(trail: str) -> None:
    done = await audit("export", "--after", "2", "--database", trail)
    assert [json.loads(line)["sequence"] for line in done.out.splitlines()] == [3]


async def test_a_name_from_outside_cannot_move_the_cursor(database: Database, url: str) -> None:
    store = ChainStore(database, now=lambda: NOON)
    await store.append(await store.claim("a"), [slept(1, name="\x1b[2Jnightly")])
    assert "\x1b" not in (await audit("list", "--database", url)).out


async def test_a_whole_trail_verifies_and_its_end_can_be_known_later(trail: str) -> None:
    done = await audit("verify", "--database", trail)
    assert done.code == 0
    assert done.out.startswith("The trail is whole: 3 events, 1 to 3.\nIts end is 3:")
    end = done.out.split()[-1]
    assert (await audit("verify", "--known", end, "--database", trail)).code == 0
    done = await audit("verify", "--known", "3:" + "0" * 64, "--database", trail)
    assert done.code == 1
    assert "Event 3 does not fit: its hash is not that of an earlier check." in done.err


async def test_an_empty_trail_is_whole(url: str) -> None:
    assert (await audit("verify", "--database", url)).out.startswith("The trail is whole: 0 events.\n")


async def test_the_first_event_that_does_not_fit_is_named(trail: str, database: Database) -> None:
    async with database.begin() as connection:
        await connection.execute(update(EVENTS).where(EVENTS.c.sequence == 2).values(actor_id="nobody"))
    done = await audit("verify", "--database", trail)
    assert done.code == 1
    assert done.err == (
        "error: Event 2 does not fit: its content does not match its hash.\n"
        f"It is {slept(2).id}, hibernateplan.sleep.started, of 2026-03-02T12:00:00Z. Events 1 to 1 fit.\n"
    )


async def test_a_cut_end_is_told(trail: str, database: Database) -> None:
    async with database.begin() as connection:
        await connection.execute(delete(EVENTS).where(EVENTS.c.sequence == 3))
    done = await audit("verify", "--database", trail)
    assert (done.code, done.err) == (
        1,
        "error: The trail is not whole: event 3 is missing at the end.\nEvents 1 to 2 fit.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["list", "--database", "nonsense"], 2, "not given as a URL"),
        (["list", "--database", "mysql://host/db"], 2, "begins with 'mysql'; only sqlite and postgresql"),
        (["list", "--database", "sqlite://"], 2, "names no file"),
        (["list", "--database", "sqlite:////nowhere/audit.db"], 3, "no audit database at /nowhere/audit.db"),
        (["verify", "--database", "postgresql://u:secret@127.0.0.1:1/db"], 2, "--database holds a password"),
        (["verify", "--database", "postgresql://h/db?password=secret"], 2, "--database holds a password"),
        (
            ["verify", "--database-file", "/nowhere/url"],
            2,
            "The file /nowhere/url cannot be read: No such file",
        ),
        (["verify", "--known", "latest"], 2, "this is not the end of a trail"),
        (["list", "--since", "long ago"], 2, "--since long ago: this is not a time"),
        (["list", "--follow", "-o", "json"], 2, "has an end, and --follow has none"),
    ],
)
async def test_what_goes_wrong_is_one_sentence_and_a_code(arguments: list[str], code: int, said: str) -> None:
    done = await audit(*arguments)
    assert done.code == code
    assert said in done.err
    assert "secret" not in done.err


@pytest.mark.parametrize(
    ("address", "code", "said"),
    [
        ("postgresql://u:secret@127.0.0.1:1/db", 3, "postgresql://u:***@127.0.0.1:1/db cannot be used"),
        ("postgresql://u@127.0.0.1:1/db?password=secret&sslmode=disable", 3, "?password=***&sslmode=disable"),
        ("postgresql://u:se@/secret@127.0.0.1:1/db", 3, "postgresql://u:***@127.0.0.1:1/db cannot be used"),
        ("postgresql://u:secret@127.0.0.1:port/db", 2, "not given as a URL"),
        ("mysql://u:secret@127.0.0.1:1/db", 2, "begins with 'mysql'"),
    ],
)
@pytest.mark.parametrize("by", ["variable", "file"])
async def test_a_password_is_shown_nowhere(
    tmp_path: Path, by: str, address: str, code: int, said: str
) -> None:
    (tmp_path / "url").write_text(f"{address}\n")
    given = {"variable": {"HIBERNATOR_DATABASE": address}, "file": {}}[by]
    flags = {"variable": [], "file": ["--database-file", tmp_path / "url"]}[by]
    done = await asyncio.to_thread(hibernator, "audit", "verify", *flags, env=given)
    assert (done.code, said in done.err) == (code, True), done.err
    assert "secret" not in done.out + done.err


async def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    file = tmp_path / "audit.db"
    file.write_text("Dear diary, " * 100)
    done = await audit("verify", "--database", f"sqlite:///{file}")
    assert done.code == 3
    assert "file is not a database" in done.err


async def test_follow_prints_what_comes_in_until_it_is_interrupted(trail: str, database: Database) -> None:
    command = [sys.executable, "-m", "hibernator.cli.main", "audit", "list", "-l1", "-f", "-o", "ndjson"]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, env=os.environ | {"HIBERNATOR_DATABASE": trail}
    )
    assert process.stdout
    assert json.loads(await process.stdout.readline())["sequence"] == 3
    store = ChainStore(database, now=lambda: NOON)
    await store.append(await store.claim("a"), sleeps(3))
    assert json.loads(await process.stdout.readline())["sequence"] == 4
    process.send_signal(signal.SIGINT)
    assert await process.wait() == 130
