"""What Slack shows: every fact of a request, nothing that people wrote as markup, within Slack's limits."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import given, settings, strategies as st

from decisions.exception_seen import PLAN, said
from hibernator.messages.channel import Letter
from hibernator.messages.facts import ApproverLine, Facts, Row, facts_of_exception, facts_of_remediation
from hibernator.messages.slack_blocks import APPROVE, REJECT, VIEW, Mode, modal, read_value, sheet
from messages.scenes import BOB, pending, remediation, stored
from support.slack_blocks import LONGEST_MESSAGE, check_blocks, check_view, length

LINK = "https://hibernator.company.com/approve/uid-on-site-event"
FACTS = facts_of_exception(pending(reason="The release needs the night."), PLAN)


def letter(facts: Facts = FACTS, **more: Any) -> Letter:
    given_: dict[str, Any] = {"recipient": BOB, "topic": "asked", "facts": facts, "link": LINK, "asked": True}
    return Letter(**given_ | more)


def shown(about: Letter, mode: Mode = "buttons") -> str:
    found = sheet(about, mode)
    assert check_blocks(list(found.blocks)) == []
    assert length(found.blocks) <= LONGEST_MESSAGE
    return json.dumps(found.blocks, ensure_ascii=False)


def actions(about: Letter, mode: Mode = "buttons") -> list[str]:
    blocks = sheet(about, mode).blocks
    return [one["action_id"] for block in blocks if block["type"] == "actions" for one in block["elements"]]


def test_a_question_shows_everything_that_is_asked() -> None:
    text = shown(letter())
    for words in (
        "📋 New Schedule Exception Pending Approval",
        "*Plan*",
        "*Exception*\\non-site-event",
        "*Requested by*\\nalice",
        "*Type*",
        "<!date^",
        "On the plan's clock",
        "The release needs the night.",
        "Asleep ",
        "□ ",
        "*Decide by*",
        "before",
    ):
        assert words in text, (words, text)
    assert actions(letter()) == [APPROVE, REJECT, VIEW]


def test_an_approval_asks_for_confirmation_and_a_button_names_exactly_what_was_shown() -> None:
    [row] = [block for block in sheet(letter(), "buttons").blocks if block["type"] == "actions"]
    approve, reject, view = row["elements"]
    assert approve["confirm"]["confirm"]["text"] == "Approve"
    asked = read_value(approve["value"])
    assert asked
    assert (asked.uid, asked.spec_hash) == (FACTS.uid, FACTS.spec_hash)
    assert (reject["value"], view["url"]) == (approve["value"], LINK)
    for odd in (None, "", "{", '{"uid": 3, "spec_hash": ""}', "[]"):
        assert read_value(odd) is None


def test_a_reason_is_shown_whole() -> None:
    reason = " ".join(["because"] * 127)  # as long as the API takes it
    assert reason in shown(letter(facts_of_exception(pending(reason=reason), PLAN)))


def test_however_much_people_write_all_of_it_together_is_no_longer_than_slack_takes() -> None:
    much = "&" * 3000  # five characters each
    voices = tuple(
        ApproverLine(f"approver-{number}@{much}", "approved", much, None, much) for number in range(60)
    )
    rows = tuple(Row(f"row {number}", much) for number in range(7))
    exception = replace(FACTS, requester=much, reason=much, message=much, name=much, voices=voices)
    request = replace(
        facts_of_remediation(remediation(), None), reason=much, message=much, rows=rows, voices=voices
    )
    for facts in (exception, request):
        assert shown(letter(facts))
        assert "and 5" in shown(letter(facts, is_open=False, end="rejected"))  # of sixty who are asked


def test_who_trusts_slack_less_sees_no_buttons_that_decide() -> None:
    assert actions(letter(), "links") == [VIEW]
    assert actions(letter(), "notify") == []


def test_where_a_policy_does_not_count_slack_there_are_links_instead_of_buttons() -> None:
    assert actions(letter(replace(FACTS, channels=("kubectl", "link")))) == [VIEW]
    assert "LOG IN AND DECIDE" in shown(letter(replace(FACTS, channels=("link",))))
    assert actions(letter(replace(FACTS, channels=("link", "slack")))) == [APPROVE, REJECT, VIEW]
    assert actions(letter(replace(FACTS, channels=("link",))), "notify") == []


def test_after_the_end_it_says_what_became_of_it_and_has_no_buttons() -> None:
    found = stored(said(pending(), "reject", "bob", reason="not in the freeze"))
    over = letter(facts_of_exception(found, PLAN), end="rejected", is_open=False)
    text = shown(over)
    assert "❌ Exception rejected" in text
    assert "not in the freeze" in text
    assert "✗ " in text
    assert actions(over) == [VIEW]
    assert sheet(over, "buttons").hash != sheet(letter(), "buttons").hash


def test_everybody_is_told_the_end_in_the_same_words() -> None:
    for end, words in (
        ("active", "✅ Exception approved and active: More sleep for "),
        ("rejected", "❌ Exception rejected: "),
        ("expired", "⌛ Exception expired, not approved in time: "),
    ):
        for asked in (True, False):
            about = letter(topic="outcome", end=end, asked=asked)
            assert sheet(about, "links").text.startswith(words)


def test_a_remediation_has_its_own_text() -> None:
    facts = facts_of_remediation(remediation(), None)
    text = shown(letter(facts))
    for words in ("📋 New Remediation Pending Approval", "*Confidence*\\n70%", "*Playbook*\\nrestart"):
        assert words in text
    assert "Without approval by then, it does not run." in text


def test_a_vote_of_another_changes_the_hash_and_time_alone_does_not() -> None:
    before, again = (sheet(letter(), "buttons").hash for _ in range(2))
    voted = facts_of_exception(
        stored(said(pending(reason="The release needs the night."), "approve", "bob")), PLAN
    )
    after = sheet(letter(voted), "buttons")
    assert before == again != after.hash
    assert "✓ " in json.dumps(after.blocks, ensure_ascii=False)


def mrkdwn(found: Any) -> Iterator[str]:
    """The texts in which Slack looks for markup, without the blocks that show them as they are."""
    if isinstance(found, dict):
        if found.get("type") == "mrkdwn":
            assert found["verbatim"] is True
            yield found["text"]
        found = list(found.values())
    if isinstance(found, list | tuple):
        for one in found:
            yield from mrkdwn(one)


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=4000), st.integers(0, 60))
def test_nothing_that_people_write_becomes_markup_or_breaks_a_limit(text: str, voices: int) -> None:
    evil = f"<!channel> <https://evil.example|log in> & ``` {text}"
    many = tuple(ApproverLine(f"{number} {evil}", "approved", evil, None, evil) for number in range(voices))
    rows = tuple(Row(row.title, evil) for row in FACTS.rows)
    facts = replace(
        FACTS, reason=evil, requester=evil, message=evil, name=evil, title=evil, rows=rows, voices=many
    )
    for about in (
        letter(facts),
        letter(facts, is_open=False, end="rejected"),
        letter(facts, topic="outcome", end="rejected"),
        letter(facts, topic="outcome", end="active", asked=False),
        letter(facts, topic="reminder-half"),
    ):
        assert shown(about)
        for said_ in mrkdwn(sheet(about, "buttons").blocks):
            assert "<!channel>" not in said_
            assert "<https://evil" not in said_
            assert "`" not in said_.removeprefix("```").removesuffix("```")
    assert check_view(modal(facts, "{}")) == []
