"""What becomes of a click in Slack: who clicked, whether it is theirs to decide, and what they are answered.

Slack says which user clicked; who that is, is asked afresh each time, because addresses and accounts change.
From there on it is the same machine as for every other door.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import aiohttp
import msgspec
import structlog

from hibernator.api.approvaldelivery import DELIVERIES, ApprovalDelivery
from hibernator.api.people import KnownBy
from hibernator.approvals.decision import Matter, NotAcceptedError, write
from hibernator.decisions.approval import Verdict
from hibernator.decisions.person import Person, mailbox
from hibernator.kube.errors import ApiError
from hibernator.kube.patch import encode, merge_patch
from hibernator.messages.channel import AwayError
from hibernator.messages.records import is_under_way, outdated
from hibernator.messages.slack import place_of, trouble_with
from hibernator.messages.slack_api import SlackApi, SlackError
from hibernator.messages.slack_blocks import (
    APPROVE,
    LONGEST_REASON,
    REASON,
    REJECT,
    ButtonValue,
    escaped,
    modal,
    read_value,
)
from hibernator.messages.wording import plain
from hibernator.web import deciding
from hibernator.web.cases import Case
from hibernator.web.checks import is_loopback
from hibernator.web.claims import check_domain
from hibernator.web.identity import Identity
from hibernator.web.metrics import CLICKS
from hibernator.web.refusals import RefusedError
from hibernator.web.settings import domains
from hibernator.web.site import Site
from hibernator.web.taking_part import seats, takes_part

_HOOKS: Final = "hooks.slack.com"
_TAKEN: Final = 200
_TRIGGER: Final = 2.0  # seconds for which a dialog can still be opened
_PATIENCE: Final = 30.0  # seconds for which a click waits where Slack asks to wait
_RECORDED_WITHIN: Final = 10.0  # seconds; longer than a message waits for its record
_STILL_TRUE: Final = frozenset({"OwnRequest", "NotAsked"})  # refusals after which a message needs no change
_DONE: Final[dict[Verdict, str]] = {"approve": "approval", "reject": "rejection"}

_log: Final = structlog.get_logger(__name__)


class Origin(msgspec.Struct, frozen=True):
    """Where a person clicked, and on what; it travels through the dialog, which shows it to no one."""

    asked: ButtonValue
    response_url: str = ""
    message_id: str = ""


class DeniedError(Exception):
    """A click that decides nothing; the message is for who clicked."""

    def __init__(self, reply: str, *, is_old: bool = False) -> None:
        super().__init__(reply)
        self.is_old = is_old  # whether the message with the button shows what is no longer so


@dataclass(frozen=True, slots=True)
class Clicker:
    identity: Identity
    person: Person
    known_by: KnownBy


class Clicks:
    def __init__(self, site: Site, api: SlackApi, session: aiohttp.ClientSession) -> None:
        self._site = site
        self._api = api
        self._session = session

    async def handle(self, payload: dict[str, Any]) -> None:
        """Decide, or say why not; every trouble ends as an answer to the one who clicked."""
        origin = _origin(payload)
        if origin is None:
            return  # a link was opened, or it is not about us
        try:
            reply = await self._answer(payload, origin)
            result = "done"
        except DeniedError as error:
            reply, result = f"{error} Nothing was changed by you.", "refused"
            if error.is_old:
                await self._renew(origin)
        except (AwayError, SlackError, ApiError) as error:
            _log.warning("click not decided", error=str(error), uid=origin.asked.uid)
            reply, result = (
                "It does not work at the moment. Nothing was changed. Try again in a minute.",
                "error",
            )
        self._site.metrics.count(CLICKS, result)
        if reply:
            await self._reply(origin, _user_id(payload), escaped(reply))

    async def _answer(self, payload: dict[str, Any], origin: Origin) -> str:
        if self._site.settings.slack_mode != "buttons":
            raise DeniedError("Decisions in Slack are switched off. Decide on the web page.", is_old=True)
        case = self._site.cases.find(origin.asked.uid)
        if case is None or case.metadata.deletion_timestamp:
            raise DeniedError("The request was deleted.", is_old=True)
        if payload.get("type") == "block_actions":
            if payload["actions"][0]["action_id"] == REJECT:
                self._check_open(origin, case)
                await self._ask_why(payload, origin, case)
                return ""
            return await self._decide(payload, origin, case, "approve")
        return await self._decide(payload, origin, case, "reject", reason_in(payload))

    def _check_open(self, origin: Origin, case: Case) -> None:
        """Ask for no reason that would not count."""
        if refusal := deciding.over(self._site, case, _matter(origin, case)):
            raise DeniedError(refusal.message, is_old=True)

    async def _ask_why(self, payload: dict[str, Any], origin: Origin, case: Case) -> None:
        state = msgspec.json.encode(origin).decode()
        view = modal(await self._site.cases.facts(case), state)
        try:
            given = {"trigger_id": payload.get("trigger_id", ""), "view": view}
            await self._api.call("views.open", given, patience=_TRIGGER)
        except SlackError as error:
            _log.info("dialog not opened", code=error.code)
            raise DeniedError("The dialog could not be opened in time. Press Reject again.") from error

    async def _decide(
        self, payload: dict[str, Any], origin: Origin, case: Case, verdict: Verdict, reason: str = ""
    ) -> str:
        who = await self._clicker(payload)
        if wait := self._site.limits.person.wait(mailbox(who.identity.email)):
            raise DeniedError(f"That was often in a short time. Try again in {max(1, round(wait))} seconds.")
        await self._check_part(who, case)
        matter = _matter(origin, case)
        try:
            await deciding.write(self._site, case, matter, who.person, who.known_by, verdict, "slack", reason)
        except NotAcceptedError as error:
            is_old = error.refusal.reason not in _STILL_TRUE
            raise DeniedError(error.refusal.message, is_old=is_old) from error
        _log.info("decided", channel="slack", uid=matter.uid, verdict=verdict, user=who.identity.subject)
        return f"Your {_DONE[verdict]} is recorded. The message above changes as soon as it is counted."

    async def _check_part(self, who: Clicker, case: Case) -> None:
        settings = self._site.settings
        names_nobody = not seats(case)
        directory = self._site.cases.people.directory()
        if not names_nobody and not takes_part(case, who.person, directory, self._site.clock.now()):
            raise DeniedError(f"{who.identity.email} is not among those who are asked.")
        how = "rbac" if names_nobody else settings.web_authorization
        if how == "rbac" and settings.oidc_username_claim != "email":
            raise DeniedError("Slack does not know your name in Kubernetes. Decide on the web page.")
        try:
            await deciding.authorize(self._site, who.identity, case, how)
        except RefusedError as error:
            raise DeniedError(error.page.words) from error

    async def _clicker(self, payload: dict[str, Any]) -> Clicker:
        """Who clicked, as Slack knows them at this moment."""
        settings, team = self._site.settings, self._site.settings.slack_team_id
        user_id = _user_id(payload)
        if team not in _teams(payload):
            raise DeniedError("The click came from another workspace of Slack.")
        try:
            user = (await self._api.call("users.info", {"user": user_id}, patience=_PATIENCE))["user"]
        except SlackError as error:
            raise DeniedError("Slack does not say who you are.") from error
        if trouble := trouble_with(user, team):
            raise DeniedError(f"You cannot decide here: {trouble}.")
        email = str((user.get("profile") or {}).get("email", ""))
        if "@" not in email or user.get("is_email_confirmed") is False:
            raise DeniedError("Slack has no confirmed e-mail address of yours.")
        try:
            check_domain(email, domains(settings))
        except RefusedError as error:
            raise DeniedError(error.page.words) from error
        known_by = KnownBy(issuer=f"https://slack.com/{team}", subject=user_id, email=email)
        prefix = settings.oidc_username_prefix if settings.oidc_username_claim == "email" else ""
        name = str(user.get("real_name", "")) or email
        identity = Identity(
            known_by.issuer, user_id, email, name, f"{prefix}{email}", (), self._site.clock.now()
        )
        person = self._site.cases.people.directory().known(identity.username, known_by)
        return Clicker(identity, person, known_by)

    async def _renew(self, origin: Origin) -> None:
        """Let the message show what is so now: by its record, or on the spot where it has none any more."""
        uid = origin.asked.uid
        delivery: ApprovalDelivery | Literal[False] | None
        delivery = await self._site.cases.seen(uid, lambda: self._recorded(origin), _RECORDED_WITHIN)
        if delivery is None:
            return  # it is still being recorded: what it should show is sent after that
        if delivery:
            metadata = delivery.metadata

            def change(found: ApprovalDelivery) -> dict[str, Any]:
                return merge_patch(encode(found.status), encode(outdated(found.status, origin.message_id)))

            matter = Matter(metadata.name, metadata.namespace, metadata.uid)
            try:
                await write(self._site.client, DELIVERIES, matter, change)
            except ApiError as error:
                _log.warning("message not renewed", error=str(error))
            return
        text = "This message is out of date. The request was decided, changed or deleted, or is asked below."
        await self._respond(origin, {"replace_original": True, "text": text, "blocks": []})

    def _recorded(self, origin: Origin) -> ApprovalDelivery | Literal[False] | None:
        """The record of this message; False where there is none, None where that is not known yet.

        Slack shows a message a moment before it is recorded: a click that comes in between must not wipe it.
        """
        deliveries = self._site.cases.sent_about(origin.asked.uid)
        for delivery in deliveries:
            if any(one.id == origin.message_id for one in delivery.status.messages):
                return delivery
        return None if any(is_under_way(one, "slack") for one in deliveries) else False

    async def _reply(self, origin: Origin, user_id: str, text: str) -> None:
        """Answer for their eyes only; also who thought so long in the dialog that its address has expired."""
        place = place_of(origin.message_id)
        if await self._respond(origin, {"response_type": "ephemeral", "text": text}) or place is None:
            return
        try:
            words = {"channel": place.channel, "user": user_id, "text": text}
            await self._api.call("chat.postEphemeral", words, patience=_PATIENCE)
        except (AwayError, SlackError) as error:
            _log.warning("answer to a click not delivered", error=str(error))

    async def _respond(self, origin: Origin, answer: dict[str, Any]) -> bool:
        """Whether Slack took it; it takes five answers to a click, within half an hour."""
        if not self._is_of_slack(origin.response_url):
            return False
        try:
            async with self._session.post(
                origin.response_url,
                json={"replace_original": False} | answer,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=10),
            ) as response:
                await response.read()
                return response.status == _TAKEN
        except (aiohttp.ClientError, TimeoutError) as error:
            _log.warning("answer to a click not delivered", error=type(error).__name__)
            return False

    def _is_of_slack(self, url: str) -> bool:
        """Answers go to Slack only, wherever a payload says."""
        found, api = urlsplit(url), urlsplit(self._site.settings.slack_api_url)
        if found.scheme == "https" and found.hostname == _HOOKS:
            return True
        return is_loopback(api.hostname) and (found.scheme, found.netloc) == (api.scheme, api.netloc)


def reason_in(payload: dict[str, Any]) -> str:
    """What a person wrote into the dialog."""
    found = _at(payload, "view", "state", "values", REASON, REASON, "value")
    return found.strip()[:LONGEST_REASON] if isinstance(found, str) else ""


def is_reasonless(payload: dict[str, Any]) -> bool:
    """Whether a dialog comes back empty; Slack needs the answer at once, to show it in the dialog."""
    return payload.get("type") == "view_submission" and not plain(reason_in(payload))


def _origin(payload: dict[str, Any]) -> Origin | None:
    """Where and on what a person clicked; None for everything that decides nothing."""
    match payload.get("type"):
        case "block_actions":
            actions = payload.get("actions")
            action = actions[0] if isinstance(actions, list) and actions else None
            if _at(action, "action_id") not in {APPROVE, REJECT}:
                return None
            asked = read_value(_at(action, "value")) or ButtonValue("", "")
            channel, ts = (_at(payload, "container", key) or "" for key in ("channel_id", "message_ts"))
            message_id = f"{channel}/{ts}"
            return Origin(asked, str(payload.get("response_url", "")), message_id)
        case "view_submission":
            if _at(payload, "view", "callback_id") != REJECT:
                return None
            try:
                return msgspec.json.decode(str(_at(payload, "view", "private_metadata") or ""), type=Origin)
            except msgspec.DecodeError:
                return None
        case _:
            return None


def _user_id(payload: dict[str, Any]) -> str:
    return str(_at(payload, "user", "id") or "")


def _at(found: Any, *way: str) -> Any:
    """What is at this place of a payload; None where there is no such place."""
    for key in way:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _matter(origin: Origin, case: Case) -> Matter:
    metadata = case.metadata
    return Matter(metadata.name, metadata.namespace, metadata.uid, origin.asked.spec_hash)


def _teams(payload: dict[str, Any]) -> set[str]:
    """The workspace that a payload comes from, and its organisation.

    Where the app is installed for a whole organisation, payloads name no workspace. Then it is that of the
    user, which `users.info` has to confirm as for everybody else.
    """
    ways = [("team", "id"), ("enterprise", "id")]
    if payload.get("is_enterprise_install") is True and not payload.get("team"):
        ways.append(("user", "team_id"))
    return {str(_at(payload, *way) or "") for way in ways} - {""}
