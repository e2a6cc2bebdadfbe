"""What happens around clicks in Slack that do not go as they should: late, from elsewhere, or made up."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from hibernator.kube.metrics import Metrics
from hibernator.messages.slack_api import ACCEPTED
from hibernator.web.app import METRICS
from hibernator.web.settings import Settings
from hibernator.web.slack_socket import Socket
from support.approving import BOB, CAROL
from support.clock import ManualClock
from support.slack import APP_TOKEN, loopback_slack
from support.slack_desk import APPROVE, REJECT, SlackDesk


async def test_a_click_is_acknowledged_before_anything_else_is_done_about_it(slack_desk: SlackDesk) -> None:
    name, slack = slack_desk.approving.ask(BOB, CAROL), slack_desk.slack
    messages = {who: await slack_desk.question(name, who) for who in (BOB, CAROL)}
    gate, since = asyncio.Event(), len(slack.answers)
    slack.held["users.info"] = gate  # nothing can be decided until Slack says who clicked
    try:
        assert await slack_desk.post(slack.click(BOB, messages[BOB], APPROVE)) == 200
        await slack.connected.wait()
        envelope = await slack.deliver(slack.click(CAROL, messages[CAROL], APPROVE))
        await slack_desk.until(lambda: {"envelope_id": envelope} in slack.acks)
        assert "approvals" not in slack_desk.approving.status(name)
        assert slack.answers[since:] == []
    finally:
        gate.set()
        del slack.held["users.info"]
    await slack_desk.until(lambda: slack_desk.approving.status(name)["state"] == "Active")


async def test_who_is_too_slow_for_slack_is_answered_all_the_same(slack_desk: SlackDesk) -> None:
    name, slack = slack_desk.approving.ask(BOB), slack_desk.slack
    message = await slack_desk.question(name)
    late = slack.click(BOB, message, REJECT)
    slack.expire()  # the trigger of the dialog, and the address for answers
    since = len(slack.answers)
    assert await slack_desk.post(late) == 200
    assert "could not be opened in time. Press Reject again" in await slack_desk.answer(since)

    views = len(slack.views)
    assert await slack_desk.post(slack.click(BOB, message, REJECT)) == 200
    [view] = await slack_desk.until(lambda: slack.views[views:])
    slack.expire()  # half an hour with the dialog open
    since = len(slack.answers)
    assert await slack_desk.post(slack.submit(BOB, view, "not in the freeze")) == 200
    assert "rejection is recorded" in await slack_desk.answer(since)
    assert slack.answers[-1]["user"] == slack.user_of(BOB)


async def test_a_click_counts_only_from_the_workspace_or_organisation_that_is_configured(
    slack_desk: SlackDesk,
) -> None:
    name, slack = slack_desk.approving.ask(BOB), slack_desk.slack
    message = await slack_desk.question(name)
    everywhere = {"team": None, "enterprise": {"id": "E0OTHER"}, "is_enterprise_install": True}
    for elsewhere in (
        {"team": {"id": "T0OTHER"}, "enterprise": {"id": "E0OTHER"}},
        {"team": None, "enterprise": {"id": "E0OTHER"}},
        {"team": None, "enterprise": None},
        {"team": {"id": ""}},
        everywhere | {"user": {"id": slack.user_of(BOB), "team_id": "T0OTHER"}},
        everywhere | {"user": {"id": slack.user_of(BOB)}},
    ):
        assert "another workspace" in await slack_desk.press(BOB, message, APPROVE, **elsewhere)
    stranger = {"user": {"id": "U0STRANGER", "team_id": "T0HIBER"}}  # of a channel shared with a partner
    since = len(slack.answers)
    assert await slack_desk.post(slack.click(BOB, message, APPROVE, **stranger)) == 200
    assert "Slack does not say who you are" in await slack_desk.answer(since)
    assert "approvals" not in slack_desk.approving.status(name)
    # Installed for a whole organisation, the app hears of no workspace but that of the user.
    assert "recorded" in await slack_desk.press(BOB, message, APPROVE, **everywhere)


async def test_a_click_on_what_was_deleted_and_asked_anew_decides_neither(slack_desk: SlackDesk) -> None:
    name, slack = slack_desk.approving.ask(BOB), slack_desk.slack
    message = await slack_desk.question(name)
    before, old = slack_desk.approving.found(name), slack.click(BOB, message, APPROVE)
    await slack_desk.approving.replace(name)
    await slack_desk.approving.shown(name)
    after = slack_desk.approving.found(name)
    assert before["spec"] == after["spec"]
    since = len(slack.answers)
    assert await slack_desk.post(old) == 200
    assert "The request was deleted" in await slack_desk.answer(since)

    # Nor does the hash of the old one with the uid of the new one, or a button that says less.
    fresh = await slack_desk.until(
        lambda: next(
            (one for one in slack.questions(BOB) if after["metadata"]["uid"] in str(one["blocks"])), None
        )
    )
    uid = after["metadata"]["uid"]
    for value in (f'{{"uid":"{uid}","spec_hash":""}}', f'{{"uid":"{uid}"}}', "", "null", "[" * 900):
        told = await slack_desk.press(BOB, fresh, actions=[{"action_id": APPROVE, "value": value}])
        assert "Nothing was changed by you" in told
    assert "approvals" not in slack_desk.approving.status(name)


async def test_a_payload_that_makes_no_sense_is_no_trouble_for_the_next(slack_desk: SlackDesk) -> None:
    odd: list[Any] = [
        {},
        [],
        "text",
        {"type": "block_actions"},
        {"type": "block_actions", "actions": []},
        {"type": "block_actions", "actions": [{"action_id": APPROVE, "value": 7}], "user": "U1"},
        {"type": "block_actions", "actions": [None], "container": "x"},
        {"type": "view_submission", "view": {"callback_id": REJECT, "state": [], "private_metadata": "{"}},
        {"type": "view_submission", "view": {"state": [1]}},
        {"type": "view_submission", "view": "x"},
        {"type": "block_actions", "actions": 7},
        {"type": "block_actions", "team": "T", "user": [], "actions": [{"action_id": APPROVE}]},
        {"type": "shortcut", "callback_id": REJECT},
    ]
    for payload in odd:
        assert await slack_desk.post(payload) in {200, 400}
    name = slack_desk.approving.ask(BOB)
    assert "recorded" in await slack_desk.press(BOB, await slack_desk.question(name))


async def test_a_revoked_token_of_socket_mode_is_said_once_and_a_new_one_connects(tmp_path: Path) -> None:
    clock, metrics = ManualClock(), Metrics(METRICS)
    (tmp_path / "app").write_text(APP_TOKEN)
    async with loopback_slack() as slack:
        slack.app_token = "xapp-new"
        chosen = Settings(slack_app_token_file=str(tmp_path / "app"), slack_api_url=f"{slack.url}/api/")
        site = SimpleNamespace(settings=chosen, clock=clock, metrics=metrics)
        running = asyncio.create_task(Socket(cast("Any", site), cast("Any", None)).run())
        try:
            for _ in range(3):
                await _until(lambda: clock._timers)
                await clock.advance(30)
            assert b'hibernator_slack_accepted{token="app"} 0.0' in metrics.text()
            (tmp_path / "app").write_text("xapp-new")
            await clock.advance(30)
            await slack.connected.wait()
            await _until(lambda: metrics.value(ACCEPTED, "app") == 1)
        finally:
            running.cancel()
            await asyncio.wait([running])


async def _until(fact: Any) -> None:
    async with asyncio.timeout(60):
        while not fact():  # noqa: ASYNC110 — the SDK tells nobody when it has tried
            await asyncio.sleep(0.01)


def test_where_there_is_no_slack_no_metric_says_that_it_refuses_anything() -> None:
    assert b"hibernator_slack_accepted{" not in Metrics(METRICS).text()
    assert b"hibernator_slack_accepted 0" not in Metrics(METRICS).text()
