"""`hibernator exception` as people type it, each under their own name, on the real API server."""

import asyncio
import json

import pytest

from hibernator.audit.database import Database
from hibernator.cli import exception_outcome
from hibernator.cli.exits import Exit
from hibernator.decisions.scheduleexception_new import ExceptionInput, read
from support.command import hibernator
from support.operators import running
from support.people import ALICE, BOB, CAROL, People


async def test_an_exception_goes_from_the_wish_to_its_end(people: People) -> None:
    # In threads, because each command brings an event loop of its own.
    call = asyncio.to_thread
    async with running(people.cluster.kubeconfig, people.namespace) as run:
        told = await call(people.wish, "event", "--approver", BOB, "--approver", CAROL, "--reason", "visit")
        assert told.startswith("event is requested, and waits for approval: extend dev-plan from ")
        assert "See it with `hibernator exception view event" in told
        await run.settle()
        head, row = (await call(people.ask, BOB, "list", "--pending", "--mine")).splitlines()
        assert head.split() == [
            "NAME",
            "PLAN",
            "TYPE",
            "STATE",
            "APPROVALS",
            "ENDS",
            "REQUESTED",
            "BY",
            "AGE",
        ]
        assert row.split()[:5] == ["event", "dev-plan", "extend", "Pending", "0/2"]
        assert ALICE in row
        assert await call(people.ask, "dave@company.com", "list", "--mine") == ""
        assert (
            await call(people.ask, BOB, "approve", "--yes", "event", "--comment", "fine")
            == f"{BOB} approved event\nPending: Waits for the approval of {CAROL}.\n"
        )
        again = await call(people.ran, BOB, "reject", "--yes", "event", "changed my mind")
        assert (again.code, f"{BOB} has approved it already" in again.err) == (1, True)
        await call(people.ask, CAROL, "approve", "--yes", "event")
        await run.settle()
        shown = await call(people.ask, ALICE, "view", "event")
        assert "state         Active" in shown
        assert f"approved by {BOB} through cli: fine" in shown
        assert "What changes (UTC): 6 hours asleep gained" in shown
        assert "Mon 2026-03-02 12:00 until Mon 2026-03-02 13:00: asleep instead of awake" in shown
        late = await call(people.ran, CAROL, "reject", "--yes", "event", "too late")
        assert f"It was approved already, by {CAROL} at " in late.err
        done = await call(people.ask, ALICE, "cancel", "event")
        assert done == "requested: event cancelled\nevent is cancelled\n"
        assert people.state("event") == "Cancelled"
        assert await call(people.ask, ALICE, "cancel", "event") == "event was already cancelled\n"
        await run.settle()
        listed = json.loads(await call(people.ask, ALICE, "list", "--state", "Cancelled", "-o", "json"))
        assert [one["metadata"]["name"] for one in listed["items"]] == ["event"]


async def test_a_draft_is_submitted_and_rejected(people: People) -> None:
    call = asyncio.to_thread
    async with running(people.cluster.kubeconfig, people.namespace) as run:
        await call(
            people.wish, "event", "--approver", BOB, "--role", "manager", "--threshold", "1", "--draft"
        )
        await run.settle()
        early = await call(people.ran, BOB, "approve", "--yes", "event")
        assert "event is a draft and was not submitted yet" in early.err
        done = await call(people.ask, ALICE, "submit", "event")
        assert done == "requested: event submitted\nevent is submitted\n"
        await run.settle()
        assert "event" in await call(people.ask, ALICE, "list", "--role", "manager", "-o", "name")
        await call(people.ask, BOB, "reject", "--yes", "event", "not during the freeze")
        await run.settle()
        assert people.state("event") == "Rejected"
        shown = " ".join((await call(people.ask, ALICE, "view", "event")).split())
        assert "through cli: not during the freeze" in shown


def test_someone_without_permission_is_told_which_role_to_ask_for(people: People) -> None:
    people.wish("event", "--approver", BOB)
    done = people.ran(BOB, "approve", "--yes", "event", groups=())
    assert done.code == 4
    assert "Ask an administrator for the ClusterRole hibernator-approver in the namespace" in done.err
    done = people.ran(BOB, "view", "event", groups=())
    assert (
        f"Ask an administrator for the ClusterRole hibernator-auditor in the namespace {people.namespace}"
        in (done.err)
    )
    done = people.ran(BOB, "list", "-A", groups=())
    assert "Ask an administrator for the ClusterRole hibernator-auditor in all namespaces." in done.err


def test_one_that_was_asked_for_by_name_is_printed_by_itself(people: People) -> None:
    people.wish("event", "--approver", BOB)
    shown = json.loads(people.ask(BOB, "view", "event", "-o", "json"))
    assert (shown["kind"], shown["spec"]["approverEmails"]) == ("ScheduleException", [BOB])
    assert people.ask(BOB, "view", "event", "-o", "yaml").startswith("apiVersion: hibernator.ardikabs.com/v1")
    name = people.ask(BOB, "view", "event", "-o", "name")
    assert name == "scheduleexceptions.hibernator.ardikabs.com/event\n"


def test_days_of_a_window_may_be_written_as_a_range() -> None:
    wanted = ExceptionInput(
        name="x", plan="p", type="extend", for_="4h", windows=("21:00-02:00 Mon-Wed,SAT",)
    )
    assert read(wanted).windows == [
        {"start": "21:00", "end": "02:00", "daysOfWeek": ["MON", "TUE", "WED", "SAT"]}
    ]


def test_a_window_that_cannot_be_read_is_told_with_how_to_write_one() -> None:
    done = hibernator(
        *("exception", "create", "x", "--plan", "p", "--type", "extend", "--until", "2026-03-01"),
        *("--window", "at night"),
    )
    assert (done.code, "at night: this is no window" in done.err) == (2, True)
    assert '"21:00-02:00 SAT,SUN"' in done.err


async def test_an_approval_that_cannot_be_put_on_record_says_so_and_overrides_nothing_yet(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exception_outcome, "LONGEST_SECONDS", 0.5)  # it is not on record until the lock goes
    call = asyncio.to_thread
    async with running(people.cluster.kubeconfig, people.namespace) as run:
        await call(people.wish, "event", "--approver", BOB)
        await run.settle()
        async with Database(run.database) as held, held.begin() as connection:
            await connection.exec_driver_sql("CREATE TABLE hold (x)")  # a write lock that is not let go
            await call(people.ask, BOB, "approve", "--yes", "event")
            await run.until(lambda: "cannot be used now" in people.exception_status("event")["message"])
            shown = " ".join((await call(people.ask, BOB, "view", "event")).split())
            assert "nothing goes ahead without its record" in shown
            assert (people.state("event"), people.entries()) == ("Approved", [])
        await run.advance(60)
        await run.until(lambda: people.state("event") == "Active")


def test_what_the_api_server_would_refuse_is_refused_with_what_to_write(people: People) -> None:
    wish = ("--plan", "dev-plan", "--type", "suspend", "--until", "4h", "--approver", "bob")
    done = people.ran(ALICE, "create", "late", *wish)
    assert (done.code, done.err.splitlines()) == (
        Exit.USAGE,
        [
            'error: spec.approverEmails[0]: "bob" does not have the right form.',
            "Write an e-mail address, for example ada@example.com.",
        ],
    )
    long = people.ran(ALICE, "create", "late", *wish[:4], "--for", "91d")
    assert (long.code, "the exception lasts longer than 90 days." in long.err) == (Exit.USAGE, True)


def test_what_has_no_effect_is_noted_and_a_name_that_is_taken_is_a_conflict(people: People) -> None:
    wish = ("--plan", "dev-plan", "--type", "extend", "--from", "2199-03-02", "--until", "2199-03-03")
    odd = ("--window", "06:00-11:00 SUN", "--lead-time", "1h")  # 2 March 2199 is a Saturday
    done = people.ran(ALICE, "create", "late", *wish, *odd)
    assert done.code == Exit.OK
    lead, never = done.err.splitlines()
    assert lead.startswith("note: spec.leadTime: it has no effect with type extend.")
    assert never.startswith("note: spec.windows[0]: 06:00-11:00 Sun never falls between validFrom")
    again = people.ran(ALICE, "create", "late", *wish)
    assert again.code == Exit.CONFLICT
    assert again.err.splitlines() == [
        'error: scheduleexceptions.hibernator.ardikabs.com "late" already exists.',
        "Choose another name.",
    ]
