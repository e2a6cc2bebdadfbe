"""People decide about what they have seen, and about nothing that took its place."""

from collections.abc import Callable
from typing import Any

import pytest

from hibernator.cli import deciding, exception_outcome
from support.people import ALICE, BOB, People


@pytest.fixture(autouse=True)
def _nobody_answers(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    """No operator runs here: what counts is what was written."""
    monkeypatch.setattr(exception_outcome, "LONGEST_SECONDS", 0.0)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """People sit at a terminal and answer; what they were asked is in the list."""

    def sit(*, answer: bool, then: Callable[[], object] = lambda: None) -> list[str]:
        asked: list[str] = []

        def confirm(question: str) -> bool:
            asked.append(question)
            then()
            return answer

        monkeypatch.setattr(deciding, "on_terminal", lambda: True)
        monkeypatch.setattr("typer.confirm", confirm)
        return asked

    return sit


def seen(people: People, name: str = "event") -> str:
    """The hash as `view` prints it."""
    [line] = [line for line in people.ask(BOB, "view", name).splitlines() if line.startswith("  seen ")]
    return line.split()[1]


def approvals(people: People) -> list[dict[str, Any]]:
    return list(people.exception_status("event").get("approvals", []))


def exchange(people: People) -> None:
    """The requester puts something longer under the same name."""
    people.cluster.kubectl("delete", "schedex", "event", "-n", people.namespace)
    people.wish("event", "--approver", BOB, "--window", "00:00-23:59 SAT")


def test_a_script_must_say_what_it_has_seen(people: People) -> None:
    people.wish("event", "--approver", BOB)
    for words in (("approve", "event"), ("reject", "event", "no")):
        done = people.ran(BOB, *words)
        assert done.code == 2
        assert (
            f"Pass --seen HASH with the hash that `hibernator exception view event -n {people.namespace} "
            in done.err
        )
    assert approvals(people) == []


def test_what_was_seen_is_approved(people: People) -> None:
    people.wish("event", "--approver", BOB)
    people.ask(BOB, "approve", "event", "--seen", seen(people))
    [given] = approvals(people)
    uid = people.get("scheduleexceptions", "event")["metadata"]["uid"]
    assert (given["approvedBy"], given["uid"]) == (BOB, uid)


@pytest.mark.parametrize("words", [("approve", "event"), ("reject", "event", "no")])
def test_what_took_the_place_of_what_was_seen_is_not_decided(people: People, words: tuple[str, ...]) -> None:
    people.wish("event", "--approver", BOB)
    before = seen(people)
    exchange(people)
    done = people.ran(BOB, *words, "--seen", before)
    path = people.folder / f"{BOB}.yaml"
    assert (done.code, done.err.splitlines()) == (
        7,
        [
            "error: event is no longer what was shown. Nothing was decided.",
            f"Look at it again: `hibernator exception view event -n {people.namespace} --kubeconfig {path}`.",
        ],
    )
    assert approvals(people) == []


def test_a_draft_that_was_changed_since_is_another(people: People) -> None:
    people.wish("event", "--approver", BOB, "--draft")
    before = seen(people)
    people.cluster.kubectl(
        *("patch", "schedex", "event", "-n", people.namespace, f"--as={ALICE}", "--as-group=system:masters"),
        *("--type=merge", "-p", '{"spec": {"draft": false, "reason": "another"}}'),
    )
    assert people.ran(BOB, "approve", "event", "--seen", before).code == 7


def test_on_a_terminal_it_is_shown_and_asked(people: People, terminal: Callable[..., list[str]]) -> None:
    people.wish("event", "--approver", BOB, "--reason", "a visit")
    asked = terminal(answer=False)
    done = people.ran(BOB, "approve", "event")
    assert (done.code, asked) == (1, ["Approve event?"])
    assert "reason        a visit" in done.out
    assert "Nothing was decided about event." in done.err
    assert approvals(people) == []
    terminal(answer=True)
    people.ask(BOB, "approve", "event")
    assert len(approvals(people)) == 1


def test_what_is_exchanged_while_someone_reads_is_not_decided(
    people: People, terminal: Callable[..., list[str]]
) -> None:
    people.wish("event", "--approver", BOB)
    terminal(answer=True, then=lambda: exchange(people))
    done = people.ran(BOB, "approve", "event")
    assert (done.code, "event is no longer what was shown" in done.err) == (7, True)
    assert approvals(people) == []


def test_yes_decides_without_a_question(people: People, terminal: Callable[..., list[str]]) -> None:
    people.wish("event", "--approver", BOB)
    asked = terminal(answer=False)
    people.ask(BOB, "approve", "event", "--yes")
    assert (asked, len(approvals(people))) == ([], 1)
