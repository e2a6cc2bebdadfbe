"""People who decide at the web process: known by their log-in, and still the same people as with kubectl."""

from typing import Any

import msgspec
from hypothesis import given, strategies as st

from decisions.exception_seen import NOW, after, exception, said
from hibernator.api.people import DOORS, KnownBy
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequestStatus
from hibernator.api.scheduleexception import ScheduleException
from hibernator.approvals.counting import Counting
from hibernator.approvals.decision import matter_of, why_not
from hibernator.approvals.people import Directory, asker, decider, everybody, read_naming, read_roles
from hibernator.decisions.approval import Vote
from hibernator.decisions.person import Person, same_human
from hibernator.decisions.scheduleexception_request import VERIFIED_EMAIL, requester_notes

DIRECTORY = Directory(read_naming("domain:company.com"), roles=read_roles({"manager": "carol@company.com"}))
ASKED: dict[str, Any] = {
    "approvalRequired": True,
    "approverEmails": ["Bob@Company.com"],
    "approvalRequiredRoles": ["manager"],
}
DOOR = st.sampled_from(DOORS)
TAGS = st.sampled_from(["", "+phone", "+x+y"])


def known_by(email: str) -> KnownBy:
    return KnownBy(
        issuer="https://id.company.com",
        subject=f"sub-{email}",
        email=email,
        session="s-1",
        address="203.0.113.7",
        user_agent="Phone/1.0",
    )


def entry(email: str, channel: str = "link") -> dict[str, object]:
    return {"channel": channel, "knownBy": msgspec.to_builtins(known_by(email))}


def spellings(address: str) -> st.SearchStrategy[str]:
    """The same mailbox, as people and providers write it."""
    local, _, domain = address.partition("@")
    cases = st.lists(st.booleans(), min_size=len(local), max_size=len(local))
    written = cases.map(lambda up: "".join(c.upper() if u else c for c, u in zip(local, up, strict=True)))
    return st.tuples(written, st.sampled_from([domain, domain.upper(), domain.title()])).map("@".join)


def pending() -> ScheduleException:
    return after(exception(**ASKED))


def vote(found: ScheduleException, email: str, user: str = "", verdict: str = "approve") -> Vote:
    bound = matter_of(found)
    by = DIRECTORY.known(user or f"oidc:{email}", known_by(email))
    return Vote(
        by=by,
        verdict="approve" if verdict == "approve" else "reject",
        at=NOW,
        uid=bound.uid,
        spec_hash=bound.spec_hash,
        channel="link",
    )


@given(spellings("alice@company.com"), TAGS, DOOR)
def test_no_one_approves_at_a_door_what_they_asked_for_with_kubectl(
    email: str, tag: str, channel: str
) -> None:
    local, _, domain = email.partition("@")
    mine = f"{local}{tag}@{domain}"
    asked = after(exception(**ASKED | {"approverEmails": [mine]}), people={})
    found = said(asked, "approve", f"oidc:{mine}", **entry(mine, channel))
    stored = after(found, people=everybody(found, DIRECTORY))
    assert stored.status.state == "Pending"
    assert "OwnRequest" in stored.status.history[-1].reason
    refusal = Counting(directory=DIRECTORY, now=NOW).of_exception(asked, vote(asked, mine))
    assert refusal is not None
    assert refusal.reason == "OwnRequest"
    assert (
        Counting(directory=DIRECTORY, now=NOW, own_allowed=True).of_exception(asked, vote(asked, mine))
        is None
    )


@given(spellings("bob@company.com"), DOOR)
def test_one_person_counts_once_whatever_channels_they_use(email: str, channel: str) -> None:
    once = said(pending(), "approve", "bob")
    twice = said(once, "approve", f"oidc:{email}", **entry(email, channel))
    stored = after(twice, people=everybody(twice, DIRECTORY))
    assert stored.status.approval_progress == "1/2"
    assert [one.action for one in stored.status.history] == ["requested", "approved", "refused"]
    refusal = Counting(directory=DIRECTORY, now=NOW).of_exception(once, vote(once, email))
    assert refusal is not None
    assert refusal.reason == "AlreadyDecided"


@given(spellings("carol@company.com"), DOOR)
def test_a_member_of_a_role_is_known_by_their_address(email: str, channel: str) -> None:
    found = said(pending(), "approve", "u-1", **entry(email, channel))
    stored = after(found, people=everybody(found, DIRECTORY))
    assert stored.status.approval_progress == "1/2"
    assert stored.status.history[-1].role == "manager"


@given(st.sampled_from(["ops", "b0b", "bob+x", "bob.", "böb"]).map("{}@company.com".format))
def test_others_are_told_that_they_are_not_asked(email: str) -> None:
    found = pending()
    refusal = Counting(directory=DIRECTORY, now=NOW).of_exception(found, vote(found, email))
    assert refusal is not None
    assert refusal.reason == "NotAsked"
    assert why_not(found, vote(found, email)) is None  # what is not seen without knowing people


@given(st.sampled_from(["", "kubectl", "cli", "api", "mail"]))
def test_known_by_counts_for_nothing_beside_another_channel(channel: str) -> None:
    """The policies refuse it; what got past them must not make anybody of a name."""
    found = said(pending(), "approve", "mallory", **entry("bob@company.com", channel))
    assert everybody(found, DIRECTORY)["mallory"].email == "mallory@company.com"
    status = RemediationApprovalRequestStatus(
        decided_by="mallory", decided_via=channel, decider_known_by=known_by("bob@company.com")
    )
    assert decider(status, DIRECTORY).email == "mallory@company.com"


@given(DOOR)
def test_who_decides_a_remediation_at_a_door_is_known_by_their_log_in(channel: str) -> None:
    status = RemediationApprovalRequestStatus(
        decided_by="u-1", decided_via=channel, decider_known_by=known_by("Carol@company.com")
    )
    assert decider(status, DIRECTORY) == Person("u-1", "Carol@company.com", frozenset({"manager"}))


def test_who_asked_through_the_web_process_is_known_by_their_log_in() -> None:
    wish = msgspec.to_builtins(exception(**ASKED))
    wish["metadata"]["annotations"] = requester_notes("oidc:u-7", {VERIFIED_EMAIL: "bob@company.com"})
    found = msgspec.convert(wish, ScheduleException)
    person = asker(found, DIRECTORY)
    assert (person.user, person.email) == ("oidc:u-7", "bob@company.com")
    assert same_human(person, DIRECTORY.person("bob"))
    stored = after(said(found, "approve", "bob"), people=everybody(said(found, "approve", "bob"), DIRECTORY))
    assert "OwnRequest" in stored.status.history[-1].reason


def test_a_deadline_is_written_down_for_those_who_show_it() -> None:
    found = pending()
    assert found.status.approval_deadline is not None
    assert found.status.approval_deadline.isoformat() == "2026-02-28T10:00:00+00:00"  # thirty days
    assert after(exception()).status.approval_deadline is None
    short = after(exception(**ASKED, validUntil="2026-02-01T00:00:00Z"))
    assert short.status.approval_deadline == short.spec.valid_until
