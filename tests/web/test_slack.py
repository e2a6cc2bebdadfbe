"""Clicks in Slack, from the button to the decision, on the real control plane and against a strict Slack."""

import asyncio
from typing import Any

from hibernator.web.slack import PATH
from support.approving import ALICE, BOB, CAROL, MALLORY
from support.slack import TEAM
from support.slack_desk import APPROVE, REJECT, ROOM, SlackDesk


async def test_an_approval_in_slack_is_counted_and_the_message_says_so(slack_desk: SlackDesk) -> None:
    name = slack_desk.approving.ask(BOB)
    message = await slack_desk.question(name)
    assert "approval is recorded" in await slack_desk.press(BOB, message)
    await slack_desk.approving.operator.settle()
    status = slack_desk.approving.status(name)
    assert (status["state"], status["approvals"][0]["channel"]) == ("Active", "slack")
    known_by = status["approvals"][0]["knownBy"]
    assert known_by == {
        "issuer": f"https://slack.com/{TEAM}",
        "subject": slack_desk.slack.user_of(BOB),
        "email": BOB,
    }
    over = await slack_desk.question(name, words="approved and active")
    assert over["ts"] == message["ts"]
    post = await slack_desk.until(lambda: slack_desk.post_of(name))
    assert "hibernator_" not in str(post["blocks"])  # no buttons

    def story() -> list[str]:
        return [one["text"] for one in slack_desk.slack.channel(ROOM) if one.get("thread_ts") == post["ts"]]

    await slack_desk.until(lambda: len(story()) == 2)
    assert story()[0] == f"✓ {BOB} approved it."
    await slack_desk.until(lambda: post["text"] == over["text"])


async def test_a_rejection_asks_why_in_a_dialog_and_ends_it(slack_desk: SlackDesk) -> None:
    name = slack_desk.approving.ask(BOB, CAROL)
    message = await slack_desk.question(name)
    before = len(slack_desk.slack.views)
    assert await slack_desk.post(slack_desk.slack.click(BOB, message, REJECT)) == 200
    view = (await slack_desk.until(lambda: slack_desk.slack.views[before:]))[0]
    empty = slack_desk.slack.submit(BOB, view, "  ")
    body, headers = slack_desk.slack.signed(empty)
    async with slack_desk.session.post(
        f"{slack_desk.approving.webs.at()}{PATH}", data=body, headers=headers
    ) as response:
        assert "errors" in await response.json()
    since = len(slack_desk.slack.answers)
    assert await slack_desk.post(slack_desk.slack.submit(BOB, view, "not in the freeze")) == 200
    assert "rejection is recorded" in await slack_desk.answer(since)
    await slack_desk.approving.operator.settle()
    status = slack_desk.approving.status(name)
    assert (status["state"], status["rejections"][0]["reason"]) == ("Rejected", "not in the freeze")
    other = await slack_desk.question(name, CAROL, "rejected")
    assert "not in the freeze" in str(other["blocks"])
    late = slack_desk.slack.click(CAROL, message | {"ts": message["ts"]}, "hibernator_view")
    assert await slack_desk.post(late) == 200  # a link was opened; that decides nothing


async def test_requests_that_are_not_from_slack_or_not_fresh_are_refused(slack_desk: SlackDesk) -> None:
    name = slack_desk.approving.ask(BOB)
    click = slack_desk.slack.click(BOB, await slack_desk.question(name), APPROVE)
    body, headers = slack_desk.slack.signed(click)
    stamp, signature = headers["X-Slack-Request-Timestamp"], headers["X-Slack-Signature"]
    calls = len(slack_desk.slack.calls)
    old = slack_desk.slack.signed(click, slack_desk.slack.now() - 301)
    early = slack_desk.slack.signed(click, slack_desk.slack.now() + 302)
    for wrong_body, wrong in (
        (body, headers | {"X-Slack-Signature": "v0=" + "0" * 64}),
        (body, headers | {"X-Slack-Signature": signature[3:]}),
        (body, headers | {"X-Slack-Request-Timestamp": str(int(stamp) - 1)}),
        (body, headers | {"X-Slack-Request-Timestamp": "now"}),
        (body, {"Content-Type": headers["Content-Type"]}),
        (body + b"&x=1", headers),
        (b"payload=\xff", headers),
        (body, headers | {"X-Slack-Signature": "v0=é"}),
        (body, headers | {"X-Slack-Request-Timestamp": "9" * 5000}),
        old,
        early,
    ):
        assert await slack_desk.send(wrong_body, wrong) == 401
    assert not any(method == "users.info" for method, _ in slack_desk.slack.calls[calls:])
    only_form = {"Content-Type": headers["Content-Type"]}
    assert await slack_desk.send(body + b"&ssl_check=1", only_form) == 401
    assert await slack_desk.send(b"ssl_check=1&token=x", only_form) == 200  # Slack looks at our certificate
    since = len(slack_desk.slack.answers)
    assert await slack_desk.send(body, headers) == 200
    assert await slack_desk.send(body, headers) == 401  # the same once more
    assert "recorded" in await slack_desk.answer(since)
    for again in (headers, slack_desk.slack.signed(click, slack_desk.slack.now() + 5)[1]):
        assert await slack_desk.send(body, again | {"X-Slack-Retry-Num": "1"}) == 200
    assert len(slack_desk.slack.answers) == since + 1  # taken before: it is neither decided nor answered
    assert len(slack_desk.approving.status(name)["approvals"]) == 1


async def test_who_is_not_asked_or_not_known_is_answered_and_decides_nothing(slack_desk: SlackDesk) -> None:
    name = slack_desk.approving.ask(BOB, ALICE, by=ALICE)
    message = await slack_desk.question(name)
    own = await slack_desk.question(name, ALICE)
    assert "not among those who are asked" in await slack_desk.press(MALLORY, message)
    assert "Nothing was changed by you" in await slack_desk.press(ALICE, own)  # the requester's own click
    other: dict[str, Any] = {
        "team": {"id": "T0OTHER"},
        "user": {"id": slack_desk.slack.user_of(BOB), "team_id": "T0OTHER"},
    }
    assert "another workspace" in await slack_desk.press(BOB, message, **other)
    user = slack_desk.slack.users[slack_desk.slack.user_of(BOB)]
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        ({"deleted": True}, "deactivated"),
        ({"is_restricted": True}, "guest"),
        ({"is_bot": True}, "bot"),
        ({"is_email_confirmed": False}, "no confirmed e-mail address"),
        ({"team_id": "T0OTHER"}, "another workspace"),
        ({"profile": {"email": "robert@company.com"}}, "not among those who are asked"),  # it has changed
    )
    click = slack_desk.slack.click(BOB, message, APPROVE)
    for number, (change, words) in enumerate(changes):
        before = dict(user)
        user.update(change)
        since = len(slack_desk.slack.answers)
        assert await slack_desk.post(click | {"trigger_id": str(number)}) == 200
        told = await slack_desk.answer(since)
        user.update(before)
        assert words in told
    changed = [{"action_id": APPROVE, "value": '{"uid":"none","spec_hash":"sha256:0"}'}]
    assert "deleted" in await slack_desk.press(BOB, message, actions=changed)
    assert "approvals" not in slack_desk.approving.status(name)


async def test_a_click_on_what_was_shown_before_is_answered_and_the_message_renewed(
    slack_desk: SlackDesk,
) -> None:
    name = slack_desk.approving.ask(BOB)
    message = await slack_desk.question(name)
    await slack_desk.until(lambda: slack_desk.recorded(name))
    value = message["blocks"][-2]["elements"][0]["value"]
    click = slack_desk.slack.click(BOB, message, APPROVE)
    stale = [{"action_id": APPROVE, "value": value.replace('"spec_hash":"', '"spec_hash":"x')}]
    edits, views = message.get("edits", 0), len(slack_desk.slack.views)
    assert "no longer what was shown" in await slack_desk.press(BOB, message, actions=stale)
    await slack_desk.until(lambda: message.get("edits", 0) > edits)
    why = [stale[0] | {"action_id": REJECT}]  # no one writes a reason in vain
    assert "no longer what was shown" in await slack_desk.press(BOB, message, REJECT, actions=why)
    assert len(slack_desk.slack.views) == views
    assert "approvals" not in slack_desk.approving.status(name)
    moved = click["container"] | {
        "message_ts": "1.000001"
    }  # a message from before, of which there is no record
    await slack_desk.press(BOB, message, actions=stale, container=moved)
    replaced = [one for one in slack_desk.slack.answers if one.get("replace_original")]
    assert "out of date" in replaced[-1]["text"]


async def test_a_click_before_a_message_is_recorded_does_not_wipe_it(slack_desk: SlackDesk) -> None:
    answered = slack_desk.slack.held["chat.postMessage"] = asyncio.Event()
    name = slack_desk.approving.ask(BOB)
    message = await slack_desk.question(name)
    uid, site = (
        slack_desk.approving.found(name)["metadata"]["uid"],
        slack_desk.approving.webs.replicas[0].site,
    )
    value = message["blocks"][-2]["elements"][0]["value"]
    stale = [{"action_id": APPROVE, "value": value.replace('"spec_hash":"', '"spec_hash":"x')}]
    since, edits = len(slack_desk.slack.answers), message.get("edits", 0)
    click = slack_desk.slack.click(BOB, message, APPROVE, actions=stale)
    assert await slack_desk.post(click) == 200
    await slack_desk.until(lambda: slack_desk.slack.answers[since:] or site.cases.is_awaited(uid))
    del slack_desk.slack.held["chat.postMessage"]
    answered.set()
    assert "no longer what was shown" in await slack_desk.answer(since)
    await slack_desk.until(lambda: message.get("edits", 0) > edits)
    assert not [one for one in slack_desk.slack.answers[since:] if one.get("replace_original")]


async def test_a_request_that_is_deleted_takes_its_buttons_along(slack_desk: SlackDesk) -> None:
    name = slack_desk.approving.ask(BOB)
    message = await slack_desk.question(name)
    click = slack_desk.slack.click(BOB, message, APPROVE)
    await slack_desk.until(lambda: slack_desk.post_of(name))
    uid = slack_desk.approving.found(name)["metadata"]["uid"]
    slack_desk.approving.forget(name)
    await slack_desk.until(lambda: "deleted" in message["text"])
    assert f"{name} was deleted. There is nothing left to decide." in str(message["blocks"])
    assert "hibernator_" not in str(message["blocks"])
    await slack_desk.until(lambda: message["text"] in {one["text"] for one in slack_desk.slack.channel(ROOM)})
    site = slack_desk.approving.webs.replicas[0].site
    await slack_desk.until(lambda: not site.cases.sent_about(uid))
    since = len(slack_desk.slack.answers)
    assert await slack_desk.post(click) == 200
    assert "The request was deleted." in await slack_desk.answer(since)


async def test_who_is_not_in_slack_is_named_in_an_event_on_the_request(slack_desk: SlackDesk) -> None:
    guest = "guest@company.com"
    slack_desk.slack.person(guest, is_restricted=True)
    name = slack_desk.approving.ask("unknown@company.com", guest, BOB)
    await slack_desk.question(name)  # the others are asked all the same

    def told() -> bool:
        events = slack_desk.approving.events(name)
        return all(
            any(f"The message to {who} (asked) was not sent: {who}: {why}" in one for one in events)
            for who, why in (
                ("unknown@company.com", "no user of Slack has this address"),
                (guest, "the account in Slack is a guest"),
            )
        )

    await slack_desk.until(told)
    [record] = slack_desk.approving.deliveries(name)[guest]["status"]["messages"]
    assert (record["channel"], "sentAt" in record, "nextAttemptAt" in record) == ("slack", False, False)


async def test_of_fifty_clicks_of_two_people_each_counts_once(slack_desk: SlackDesk) -> None:
    name = slack_desk.approving.ask(BOB, CAROL)
    messages = {who: await slack_desk.question(name, who) for who in (BOB, CAROL)}
    clicks = [slack_desk.slack.click(who, messages[who], APPROVE) for _ in range(25) for who in (BOB, CAROL)]
    since = len(slack_desk.slack.answers)
    async with asyncio.TaskGroup() as group:
        for click in clicks:
            group.create_task(slack_desk.post(click))

    def told() -> list[dict[str, Any]]:
        return [one for one in slack_desk.slack.answers[since:] if not one.get("replace_original")]

    await slack_desk.until(lambda: len(told()) == 50)
    assert sum("is recorded" in one["text"] for one in told()) == 2
    await slack_desk.approving.operator.settle()
    status = slack_desk.approving.status(name)
    assert sorted(one["knownBy"]["email"] for one in status["approvals"]) == [BOB, CAROL]
    assert status["state"] == "Active"


async def test_socket_mode_does_the_same_and_connects_again(slack_desk: SlackDesk) -> None:
    name = slack_desk.approving.ask(BOB)
    message = await slack_desk.question(name)
    await slack_desk.slack.connected.wait()
    await slack_desk.slack.ask_to_reconnect()
    await slack_desk.slack.connected.wait()
    since = len(slack_desk.slack.answers)
    envelope = await slack_desk.slack.deliver(slack_desk.slack.click(BOB, message, APPROVE), times=3)
    assert "recorded" in await slack_desk.answer(since)
    await slack_desk.until(lambda: slack_desk.slack.acks.count({"envelope_id": envelope}) == 3)
    assert len(slack_desk.slack.answers) == since + 1
    assert slack_desk.approving.status(name)["approvals"][0]["channel"] == "slack"
