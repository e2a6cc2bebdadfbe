"""The page of a request: what it shows, to whom, and what its two buttons do."""

import asyncio
import json
from urllib.parse import urlencode

import pytest

from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.approvals import decision
from hibernator.approvals.decision import NotAcceptedError
from hibernator.approvals.people import Directory
from hibernator.kube.metrics import API_REQUESTS
from hibernator.web import deciding
from support.account import known_by
from support.approving import ALICE, BOB, CAROL, MALLORY, Approving

RACER = "racer@company.com"  # who presses so often that they have to wait afterwards


async def test_somebody_who_is_asked_sees_everything_and_approves(desk: Approving) -> None:
    name = desk.ask(BOB, reason="<script>alert(1)</script>")
    path = await desk.shown(name)
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, path)
        assert page.status == 200, page.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
        assert "<script>alert" not in page.text
        for words in (
            "Keep",
            "awake instead of asleep",
            "alice@company.com asks",
            "Europe/Berlin",
            "0 of 1 approval",
        ):
            assert words in page.text, page.text
        assert desk.status(name)["state"] == "Pending"  # GET changes nothing

        done = await desk.send(browser, page, "approve", "fine by me")
        assert done.status == 200
        assert "Approved and active" in done.text
    status = desk.status(name)
    assert status["state"] == "Active"
    entry = status["approvals"][0]
    assert (entry["channel"], entry["reason"], entry["knownBy"]["email"]) == ("link", "fine by me", BOB)
    assert entry["knownBy"]["session"]


async def test_of_two_who_are_asked_the_first_is_told_who_is_missing(desk: Approving) -> None:
    name = desk.ask(BOB, CAROL)
    path = await desk.shown(name)
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, path)
        done = await desk.send(browser, page, "approve")
        assert "Your approval counts" in done.text
        assert "1 of 2 approvals. Still asked: carol@company.com." in done.text
        assert 'value="approve"' not in done.text
        again = await desk.send(browser, page, "approve")  # the same form once more
        assert again.status == 409
        assert "has approved it already" in again.text
    assert len(desk.status(name)["approvals"]) == 1


async def test_a_rejection_needs_a_reason_and_ends_it(desk: Approving) -> None:
    name = desk.ask(BOB, CAROL)
    path = await desk.shown(name)
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, path)
        missing = await desk.send(browser, page, "reject", "  ")
        assert missing.status == 422
        assert "Write why you reject it" in missing.text
        long = await desk.send(browser, page, "reject", "x" * 1025)
        assert (long.status, "at most 1024" in long.text) == (422, True)
        assert "rejections" not in desk.status(name)
        done = await desk.send(browser, page, "reject", "not in the freeze")
        assert "The schedule stays as it is" in done.text
    assert desk.status(name)["state"] == "Rejected"


async def test_nobody_else_sees_a_request_or_decides_it(desk: Approving) -> None:
    name = desk.ask(BOB)
    path = await desk.shown(name)
    async with desk.webs.browser() as browser, desk.webs.browser() as other:
        page = await desk.open(browser, BOB, path)
        refused = await desk.open(other, MALLORY, path)
        assert (refused.status, "This link is for another person" in refused.text) == (403, True)
        assert "Release night" not in refused.text
        home = await other.get("/")
        form = {
            "form_token": home.field("form_token"),
            "spec_hash": page.field("spec_hash"),
            "verdict": "approve",
        }
        sent = await other.post(path, form)
        assert sent.status == 403
    assert "approvals" not in desk.status(name)


async def test_the_requester_sees_it_and_cannot_approve_it(desk: Approving) -> None:
    name = desk.ask(ALICE, BOB)
    path = await desk.shown(name)
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, ALICE, path)
        assert page.status == 200
        assert "requested it and cannot approve it" in page.text
        assert 'value="approve"' not in page.text


async def test_what_was_exchanged_after_it_was_shown_is_not_approved(desk: Approving) -> None:
    name = desk.ask(BOB)
    path = await desk.shown(name)
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, path)
        stale = await desk.send(browser, page, "approve", spec_hash="sha256:0000")
        assert stale.status == 409
        assert "no longer what was shown" in stale.text
        desk.forget(name)
        gone = await desk.send(browser, page, "approve")
        assert gone.status in {404, 409}, gone.text


async def test_what_was_deleted_is_not_decided_where_a_cache_still_has_it(desk: Approving) -> None:
    name = desk.ask(BOB)
    await desk.shown(name)
    site = desk.webs.replicas[0].site
    old = site.cases.exceptions.get(desk.scene.namespace, name)
    assert old
    desk.forget(name)
    await desk.operator.settle()
    known, matter = known_by(BOB), decision.matter_of(old)
    who = Directory().known(BOB, known)
    with pytest.raises(NotAcceptedError, match=f"{name} was deleted: there is nothing left to decide"):
        await deciding.write(site, old, matter, who, known, "approve", "link")


async def test_what_was_deleted_and_asked_anew_under_the_same_name_is_not_approved(desk: Approving) -> None:
    """Neither by the form, nor by the link, nor from a cache that has the one before."""
    name = desk.ask(BOB)
    path = await desk.shown(name)
    token = await desk.link(name, BOB)
    site = desk.webs.replicas[0].site
    before = desk.found(name)
    old = site.cases.exceptions.get(desk.scene.namespace, name)
    assert old
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, f"{path}?token={token}")
        await desk.replace(name)
        who = Directory().known(BOB, known_by(BOB))
        with pytest.raises(NotAcceptedError, match="no longer what was shown"):
            await decision.decide(
                site.client, decision.matter_of(old), who, "approve", "link", now=site.clock.now(), seen=old
            )
        fresh = await desk.shown(name)
        assert fresh != path
        for answer in (await desk.send(browser, page, "approve"), await browser.get(f"{path}?token={token}")):
            assert answer.status == 404
        form = {one: page.field(one) for one in ("form_token", "spec_hash", "token")} | {"verdict": "approve"}
        assert (await browser.post(fresh, form)).status == 403  # the link belongs to the one before
    assert before["spec"] == desk.found(name)["spec"]
    assert "approvals" not in desk.status(name)


async def test_a_decision_is_one_write_on_top_of_what_the_cache_has_and_survives_an_old_cache(
    desk: Approving,
) -> None:
    name = desk.ask(BOB, CAROL)
    path = await desk.shown(name)
    replica = desk.webs.replicas[0]
    site, uid = replica.site, path.removeprefix("/approve/")
    old = site.cases.exceptions.get(desk.scene.namespace, name)
    assert old

    def looks() -> float:
        return replica.metrics.value(API_REQUESTS, "get", EXCEPTIONS.resource, "200")

    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, path)
        before = looks()
        assert (await desk.send(browser, page, "approve")).status == 200
        assert looks() == before
    matter, now = decision.matter_of(old), site.clock.now()
    who = {one: Directory().known(one, known_by(one)) for one in (BOB, CAROL)}
    with pytest.raises(NotAcceptedError, match="has approved it already"):  # the old one knows nothing of it
        await decision.decide(site.client, matter, who[BOB], "approve", "link", now=now, seen=old)
    await decision.decide(site.client, matter, who[CAROL], "approve", "link", now=now, seen=old)
    assert looks() > before
    assert [one["approvedBy"] for one in desk.status(name)["approvals"]] == [BOB, CAROL]
    assert matter.uid == uid


async def test_of_fifty_who_press_at_once_one_decision_is_written(desk: Approving) -> None:
    name = desk.ask(RACER, CAROL)
    path = await desk.shown(name)
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, RACER, path)
        async with asyncio.TaskGroup() as group:
            sent = [group.create_task(desk.send(browser, page, "approve")) for _ in range(50)]
        codes = sorted(one.result().status for one in sent)
    assert codes.count(200) == 1, codes
    assert set(codes) <= {200, 409, 429}
    assert [one["approvedBy"] for one in desk.status(name)["approvals"]] == [RACER]


async def test_a_form_of_another_site_or_another_session_decides_nothing(desk: Approving) -> None:
    name = desk.ask(BOB)
    path = await desk.shown(name)
    async with desk.webs.browser() as browser, desk.webs.browser() as other:
        page = await desk.open(browser, BOB, path)
        await desk.open(other, BOB, path)
        foreign = {"form_token": page.field("form_token"), "verdict": "approve"}
        for headers in (
            {"sec_fetch_site": "cross-site"},
            {"sec_fetch_site": "same-site"},
            {"origin": "https://evil.example"},
        ):
            assert (await browser.post(path, foreign, **headers)).status == 403
        kept = await desk.send(
            other, page, "reject", "typed for a long time"
        )  # the form of the other session
        assert kept.status == 409
        assert "Nothing was decided yet" in kept.text
        assert ">typed for a long time</textarea>" in kept.text
        without = await desk.send(browser, page, "approve", form_token="")
        assert without.status == 409
    assert "approvals" not in desk.status(name)


async def test_no_other_method_and_no_other_kind_of_body_decides(desk: Approving) -> None:
    """What scanners of mails, scripts and pages of others may send."""
    name = desk.ask(BOB)
    path = await desk.shown(name)
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, path)
        form = {one: page.field(one) for one in ("form_token", "spec_hash")} | {"verdict": "approve"}
        body = urlencode(form).encode()
        for method in ("HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE"):
            answer = await browser.request(method, f"{path}?{urlencode(form)}")
            assert answer.status == (200 if method == "HEAD" else 405), method
        assert (await browser.get(f"{path}?{urlencode(form)}")).status == 200
        overridden = await browser.request("PUT", path, headers={"x-http-method-override": "POST"}, body=body)
        assert overridden.status == 405
        for kind, sent in (
            ("application/json", json.dumps(form).encode()),
            ("text/plain", body),
            ("", body),
            ("multipart/form-data", body),
            ("application/x-www-form-urlencoded", b"\xff%00&=" * 10),
        ):
            assert (await browser.post(path, sent, content_type=kind)).status in {400, 409}, kind
    assert "approvals" not in desk.status(name)


async def test_who_was_logged_out_meanwhile_logs_in_and_finds_what_was_typed(desk: Approving) -> None:
    name = desk.ask(BOB)
    path = await desk.shown(name)
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, path)
        browser.cookies.clear()
        over = await desk.send(browser, page, "reject", "typed & kept")
        assert over.status == 401
        assert "Nothing was decided" in over.text
        link = over.text.partition('class="button" href="')[2].partition('"')[0].replace("&amp;", "&")
        back = await browser.follow(await browser.get(await desk.webs.at_provider(browser, BOB, link)))
        assert ">typed &amp; kept</textarea>" in back.text
        done = await desk.send(browser, back, "reject", "typed & kept")
        assert done.status == 200
    assert desk.status(name)["rejections"][0]["reason"] == "typed & kept"


async def test_a_link_of_a_stranger_puts_no_words_into_a_persons_mouth(desk: Approving) -> None:
    name, other = desk.ask(BOB), desk.ask(BOB)
    path, elsewhere = await desk.shown(name), await desk.shown(other)
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, f"{path}?reason=of+a+stranger")
        assert page.status == 200
        assert "of a stranger" not in page.text
        kept = browser.cookies.copy()
        browser.cookies.clear()
        assert (await desk.send(browser, page, "reject", "of my own")).status == 401
        for host, jar in kept.items():
            browser.cookies[host] = browser.cookies.get(host, {}) | jar
        assert "of my own" not in (await browser.get(elsewhere)).text  # it was typed into the other page
        assert ">of my own</textarea>" in (await browser.get(path)).text
        assert "of my own" not in (await browser.get(path)).text  # once
        foreign = {"reason": "of a stranger", "verdict": "reject"}
        browser.cookies.clear()
        assert (await browser.post(path, foreign, origin="https://evil.example")).status == 403
        assert "typed" not in str(browser.cookies)


async def test_who_is_not_logged_in_is_sent_to_the_log_in_and_back(desk: Approving) -> None:
    name = desk.ask(BOB)
    path = await desk.shown(name)
    async with desk.webs.browser() as browser:
        first = await browser.get(f"{path}?token=secret")
        assert first.status == 303
        assert "next=/approve/" in first.location


async def test_the_first_page_lists_what_waits_for_a_person(desk: Approving) -> None:
    mine, theirs = desk.ask("dora@company.com"), desk.ask(BOB)
    remedy = desk.remediate("dora@company.com")
    paths = [await desk.shown(name) for name in (mine, theirs, remedy)]
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, "dora@company.com", "/")
        assert [path in page.text for path in paths] == [True, False, True]
        decided = await desk.send(browser, await browser.get(paths[0]), "approve")
        assert decided.status == 200
        assert paths[0] not in (await browser.get("/")).text


async def test_a_remediation_is_decided_by_the_same_page(desk: Approving) -> None:
    name = desk.remediate(BOB)
    path = await desk.shown(name)
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, path)
        for words in ("Run raise-memory", "72%", "OOMKilled", "less than 80% sure"):
            assert words in page.text
        done = await desk.send(browser, page, "approve")
        assert "The remediation may run now" in done.text
        again = await desk.send(browser, page, "reject", "no")
        assert again.status == 409
    status = desk.status(name)
    assert (status["decision"], status["decidedBy"], status["decidedVia"]) == ("Approved", BOB, "link")


async def test_a_remediation_that_names_nobody_wants_a_right_in_kubernetes(desk: Approving) -> None:
    path = await desk.shown(desk.remediate())
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, path)
        assert (page.status, "Kubernetes does not let" in page.text) == (403, True)


async def test_a_request_that_is_not_there_is_said_so(desk: Approving) -> None:
    async with desk.webs.browser() as browser:
        page = await desk.open(browser, BOB, "/approve/00000000-0000-0000-0000-000000000000")
        assert (page.status, "This request is not here" in page.text) == (404, True)


async def test_a_link_counts_only_for_whom_it_was_made_and_an_expired_one_can_be_renewed(
    desk: Approving,
) -> None:
    name = desk.ask(BOB, CAROL)
    path = await desk.shown(name)
    token = await desk.link(name, BOB)
    old = await desk.link(name, CAROL, expires="2020-01-01T00:00:00Z")
    async with desk.webs.browser() as bob, desk.webs.browser() as carol:
        page = await desk.open(bob, BOB, f"{path}?token={token}")
        assert (page.status, page.field("token")) == (200, token)
        wrong = await desk.open(carol, CAROL, f"{path}?token={token}")
        assert (wrong.status, "made for another address" in wrong.text) == (403, True)
        own = await carol.get(path)
        refused = await desk.send(carol, own, "approve", token=token)  # decides nothing, though she is asked
        assert refused.status == 403
        assert "approvals" not in desk.status(name)

        expired = await carol.get(f"{path}?token={old}")
        assert (expired.status, "Send a new link" in expired.text) == (410, True)
        assert (await desk.send(carol, own, "approve", token=old)).status == 410
        form = {"form_token": expired.field("form_token"), "token": old}
        assert "A new link is on its way" in (await carol.post(f"{path}/link", form)).text
        assert (await bob.get(f"{path}?token=garbage")).status == 403
        assert (await desk.send(bob, page, "approve")).status == 200
    assert [one["approvedBy"] for one in desk.status(name)["approvals"]] == [BOB]
