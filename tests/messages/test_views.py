"""Who should have got what, at every moment of a request's life."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given, strategies as st
from msgspec.structs import replace as replace_of
from whenever import Instant

from decisions.exception_seen import changed, said
from hibernator.api.approvaldelivery import ApprovalDelivery
from hibernator.approvals.deputies import Deputy
from hibernator.approvals.people import Directory, read_roles
from hibernator.decisions.person import mailbox
from hibernator.messages.conversation import Conversation, of_exception, of_remediation
from hibernator.messages.views import Message, view
from messages.scenes import ALICE, AT, BOB, CAROL, DIRECTORY, DORA, pending, remediation, sent, stored

DAVE = "dave@company.com"
HALF = Instant.from_utc(2026, 2, 13, 10)  # of thirty days
LAST_HOUR = Instant.from_utc(2026, 2, 28, 9)


def topics(
    about: Conversation, now: Instant = AT, held: Mapping[str, ApprovalDelivery] | None = None
) -> list[tuple[str, str]]:
    """What is sent; what was asked stays after that, for channels that edit."""
    found = view(about, held or {}, now).messages
    return sorted(
        (mailbox(one.recipient), one.topic) for one in found if about.is_open or one.topic != "asked"
    )


def everybody_asked(at: Instant = AT) -> dict[str, ApprovalDelivery]:
    return {one: sent(one, ("asked", at)) for one in (BOB, CAROL, DORA)}


def test_on_pending_everybody_asked_gets_one_and_nobody_else() -> None:
    """Members of a role by their addresses; of a group or a name in its list nobody knows any."""
    about = of_exception(pending(), DIRECTORY)
    assert topics(about) == [(BOB, "asked"), (CAROL, "asked"), (DORA, "asked")]
    assert view(about, {}, AT).next_look == HALF
    roles = {one.recipient: one.roles for one in view(about, {}, AT).messages}
    assert roles == {"Bob@Company.com": (), CAROL: ("manager",), DORA: ("manager",)}


def test_a_person_who_is_asked_twice_gets_one_message() -> None:
    about = of_exception(pending(approverEmails=[BOB, "Carol@company.com"]), DIRECTORY)
    assert [one for one, _ in topics(about)] == [BOB, CAROL, DORA]


def test_reminders_come_at_half_time_and_an_hour_before_the_end() -> None:
    about, held = of_exception(pending(), DIRECTORY), everybody_asked()
    assert "reminder-half" not in {topic for _, topic in topics(about, HALF.subtract(seconds=1), held)}
    assert (BOB, "reminder-half") in topics(about, HALF, held)
    assert view(about, held, HALF).next_look == LAST_HOUR
    late = topics(about, LAST_HOUR, held)
    assert (BOB, "reminder-hour") in late
    assert (BOB, "reminder-half") not in late  # one mail at a time, where half time was slept through


def test_nobody_is_reminded_of_what_they_have_just_been_asked_or_have_decided() -> None:
    about = of_exception(pending(), DIRECTORY)
    assert topics(about, HALF, everybody_asked(HALF)) == topics(about, AT)
    assert topics(about, HALF, {BOB: sent(BOB, ("asked", None))}) == topics(about, AT)
    decided = of_exception(stored(said(pending(), "approve", "bob")), DIRECTORY)
    reminded = [one for one, topic in topics(decided, HALF, everybody_asked()) if topic == "reminder-half"]
    assert reminded == [CAROL, DORA]


def test_a_question_that_was_only_shown_anew_since_does_not_put_off_the_reminder() -> None:
    edited = sent(BOB, ("asked", HALF))
    records = tuple(replace_of(one, first_sent_at=AT.to_stdlib()) for one in edited.status.messages)
    held = {BOB: replace_of(edited, status=replace_of(edited.status, messages=records))}
    assert (BOB, "reminder-half") in topics(of_exception(pending(), DIRECTORY), HALF, held)


def test_a_member_whose_role_was_filled_by_another_is_left_alone() -> None:
    found = stored(said(pending(), "approve", "carol"))
    about = of_exception(found, DIRECTORY)
    assert topics(about) == [(BOB, "asked"), (CAROL, "confirmation")]
    assert (DORA, "reminder-half") not in topics(about, HALF, everybody_asked())


def test_a_short_request_has_one_reminder() -> None:
    about = of_remediation(remediation(requiredBy="2026-01-29T11:30:00Z"), None, DIRECTORY)
    held = {BOB: sent(BOB, ("asked", AT))}
    assert topics(about, AT.add(minutes=44), held) == [(BOB, "asked")]
    assert topics(about, AT.add(minutes=46), held) == [(BOB, "asked"), (BOB, "reminder-half")]


def test_one_hears_of_ones_own_decision_and_everybody_of_the_end() -> None:
    found = said(said(pending(), "approve", "bob"), "approve", "carol")
    about = of_exception(stored(found), DIRECTORY)
    assert about.end == "active"
    ends = [(one, "outcome") for one in (ALICE, BOB, CAROL, DORA)]
    assert topics(about) == sorted([(BOB, "confirmation"), (CAROL, "confirmation"), *ends])


def test_what_was_asked_stays_after_the_end_and_can_no_longer_be_decided() -> None:
    found = stored(said(pending(), "approve", "carol"))
    open_ = {one.recipient: one.is_open for one in _asked(of_exception(found, DIRECTORY))}
    assert open_ == {"Bob@Company.com": True, CAROL: False, DORA: False}
    over = of_exception(stored(said(found, "approve", "bob")), DIRECTORY)
    assert [one.is_open for one in _asked(over)] == [False] * 3


def _asked(about: Conversation) -> list[Message]:
    return [one for one in view(about, everybody_asked(), AT).messages if one.topic == "asked"]


def test_a_rejection_and_a_cancellation_are_ends() -> None:
    no = of_exception(stored(said(pending(), "reject", "bob", reason="no")), DIRECTORY)
    assert (no.end, no.is_open) == ("rejected", False)
    off = of_exception(stored(changed(pending(), cancelled=True)), DIRECTORY)
    assert off.end == "cancelled"
    assert topics(off) == [(one, "cancelled") for one in (ALICE, BOB, CAROL, DORA)]
    late = of_exception(stored(pending(), now=Instant.from_utc(2026, 2, 28, 11)), DIRECTORY)
    assert late.end == "expired"


def test_an_old_end_is_no_news_to_those_who_never_heard_of_the_request() -> None:
    """Whoever installs the web process gets no mail about last year."""
    about = of_exception(stored(said(pending(), "reject", "bob")), DIRECTORY)
    later = AT.add(hours=25)
    ended = [one for one, topic in topics(about, later, {CAROL: sent(CAROL)}) if topic == "outcome"]
    assert ended == [CAROL]


def test_what_needs_no_approval_or_is_a_draft_or_has_mistakes_asks_nobody() -> None:
    specs: tuple[dict[str, Any], ...] = ({"approvalRequired": False}, {"draft": True}, {"windows": []})
    for spec in specs:
        assert topics(of_exception(pending(**spec), DIRECTORY)) == []


def test_the_second_level_of_a_remediation_is_asked_when_it_is_escalated() -> None:
    assert topics(of_remediation(remediation(), None, DIRECTORY)) == [(BOB, "asked")]
    asked = of_remediation(remediation({"escalatedAt": "2026-01-29T16:00:00Z"}), None, DIRECTORY)
    assert [one for one, _ in topics(asked)] == [BOB, CAROL, DORA]
    half = {one.address: one.since for one in asked.asked}
    assert half[CAROL] == Instant.from_utc(2026, 1, 29, 16)


def test_a_decided_remediation_tells_everybody_asked() -> None:
    status = {"decision": "Rejected", "decidedBy": "bob", "decidedAt": "2026-01-29T12:00:00Z"}
    about = of_remediation(remediation(status), None, DIRECTORY)
    assert topics(about, AT.add(hours=2)) == [(BOB, "confirmation"), (BOB, "outcome")]


@given(
    st.lists(st.sampled_from(["bob", "carol", "dora", "erin"]), unique=True),
    st.integers(0, 40 * 24),
    st.sets(st.sampled_from([BOB, CAROL, DORA, ALICE])),
)
def test_nobody_gets_a_message_twice_or_without_being_part_of_it(
    voters: list[str], hours: int, known: set[str]
) -> None:
    found = pending()
    for user in voters:
        found = said(found, "approve", user)
    now = AT.add(hours=hours)
    about = of_exception(stored(stored(found), now=now), DIRECTORY)
    shown = topics(about, now, {one: sent(one, ("asked", AT)) for one in known})
    assert len(shown) == len({*shown})
    assert {one for one, _ in shown} <= {ALICE, BOB, CAROL, DORA, "erin@company.com"}
    assert not {topic for one, topic in shown if one == ALICE} - {"outcome", "cancelled"}


def with_deputies(*deputies: Deputy) -> Directory:
    return replace(DIRECTORY, deputies=deputies)


def test_a_deputy_is_asked_while_the_other_is_away_and_hears_for_whom() -> None:
    since, until = AT.add(hours=1), AT.add(hours=5)
    directory = with_deputies(Deputy(BOB, DAVE, since, until))
    about = of_exception(pending(), directory)
    assert DAVE not in dict(topics(about))
    assert view(about, {}, AT).next_look == since
    message = next(one for one in view(about, {}, since).messages if one.recipient == DAVE)
    assert (message.deputy_for, message.is_open) == ((BOB,), True)
    assert view(about, {}, since).next_look == until
    held = {DAVE: sent(DAVE, ("asked", since))}
    assert not next(one for one in view(about, held, until).messages if one.recipient == DAVE).is_open
    assert DAVE not in dict(topics(about, until))


def test_the_requester_is_not_asked_as_a_deputy() -> None:
    directory = with_deputies(Deputy(BOB, ALICE, AT, AT.add(hours=5)))
    assert ALICE not in dict(topics(of_exception(pending(), directory)))


def test_a_deputy_of_an_approver_of_a_remediation_is_asked_too() -> None:
    directory = with_deputies(Deputy(BOB, DAVE, AT, AT.add(hours=5)))
    assert topics(of_remediation(remediation(), None, directory)) == [(BOB, "asked"), (DAVE, "asked")]


def test_what_is_no_address_in_a_role_keeps_no_one_else_from_being_asked() -> None:
    roles = read_roles({"manager": f"@oncall, leads@, {CAROL}, a@b@c, {'x' * 250}@company.com"})
    about = of_exception(pending(), replace(DIRECTORY, roles=roles))
    assert [one.address for one in about.asked] == ["Bob@Company.com", CAROL]


def test_the_message_of_who_decided_changes_before_all_others() -> None:
    decided = of_exception(stored(said(pending(), "approve", "carol")), DIRECTORY)
    assert [one.recipient for one in view(decided, everybody_asked(), AT).messages][:3] == [
        CAROL,
        "Bob@Company.com",
        DORA,
    ]
