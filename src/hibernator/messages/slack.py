"""The channel for Slack: a direct message for each person, edited in place as long as the request lives.

The id of a message is where it is: `D024BE91L/1700000000.000100`. Before it is there, it is the mark that
Slack keeps with the message (`metadata`), so that a process that died in between finds its own message again.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog
from whenever import Instant

from hibernator.api.approvaldelivery import ApprovalDelivery, Topic
from hibernator.decisions.person import mailbox
from hibernator.kube.clock import Clock
from hibernator.messages.channel import AwayError, Letter, RefusedError, is_kept, mark_of
from hibernator.messages.slack_api import SlackApi, SlackError
from hibernator.messages.slack_blocks import Mode, Sheet, asked_anew, gone, sheet
from hibernator.messages.slack_pictures import Pictures

log = structlog.get_logger(__name__)

EVENT: Final = "hibernator_request"
_KNOWN_FOR: Final = 24 * 3600.0  # seconds for which an address stands for the same user
_APART: Final = 1.0  # seconds between two messages in a conversation
_AT_ONCE: Final = 4
_TRIES: Final = 3  # with the picture, a second apart
_EDITABLE: Final = 30 * 24 * 3600.0
_MOST_PAGES: Final = 5
_A_PAGE: Final = 100
_ALOUD: Final = frozenset({"reminder-half", "reminder-hour", "outcome", "cancelled"})
_LOOK_UPS: Final = ("users.lookupByEmail", "conversations.open")
_POSTS: Final = ("chat.postMessage",)
_EDITS: Final = ("chat.update",)
_NO_THREAD: Final = frozenset({"cannot_reply_to_message", "message_not_found", "thread_not_found"})
_FIXED: Final = frozenset({"cant_update_message", "edit_window_closed"})
_LOST: Final = _FIXED | {"channel_not_found", "message_not_found", "thread_not_found"}


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where a message is."""

    channel: str
    ts: str

    @property
    def id(self) -> str:
        return f"{self.channel}/{self.ts}"


def place_of(message_id: str) -> MessagePlace | None:
    """Where a message with this id is; None while it was not posted."""
    channel, _, ts = message_id.partition("/")
    return MessagePlace(channel, ts) if ts.replace(".", "", 1).isdecimal() else None


def trouble_with(user: dict[str, Any], team: str) -> str:
    """Why a user of Slack is not a person who is asked; empty where nothing speaks against it."""
    if user.get("deleted"):
        return "the account in Slack is deactivated"
    if user.get("is_bot") or user.get("is_workflow_bot") or user.get("id") == "USLACKBOT":
        return "the account in Slack is a bot"
    if user.get("is_restricted") or user.get("is_ultra_restricted") or user.get("is_stranger"):
        return "the account in Slack is a guest"
    if team and team not in teams_of(user):
        return "the account belongs to another workspace of Slack"
    return ""


def teams_of(user: dict[str, Any]) -> frozenset[str]:
    """The workspaces of a user, and the organisation that they are in."""
    enterprise = user.get("enterprise_user") or {}
    others = map(str, enterprise.get("teams") or ())  # in an organisation people belong to several
    return frozenset({str(user.get("team_id", "")), str(enterprise.get("enterprise_id", "")), *others} - {""})


class UnreadyError(Exception):
    """Slack has a file, and does not show it yet."""


class Slack:
    """The channel."""

    name: Final = "slack"
    room: str = ""
    edits: Final = True

    def __init__(self, api: SlackApi, clock: Clock, *, mode: Mode, team: str = "") -> None:
        self._api = api
        self._clock = clock
        self._mode = mode
        self._team = team
        self._pictures = Pictures(api, clock)
        self._users: dict[str, tuple[str, float]] = {}  # by mailbox, and until when
        self._conversations: dict[str, tuple[str, float]] = {}  # by mailbox, and until when
        self._sending: set[str] = set()  # the mailboxes to which a message is on its way
        self._next: dict[str, float] = {}  # when the conversation with a mailbox takes the next one

    @property
    def at_once(self) -> int:
        """Of a thousand, none waits for each answer to all before; those that Slack would refuse do."""
        return 1 if self._api.is_limited_lately else _AT_ONCE

    def id_of(self, delivery: ApprovalDelivery, topic: Topic) -> str:
        return mark_of(delivery.spec.request.uid, topic, delivery.spec.recipient)

    def hash_of(self, letter: Letter) -> str:
        """What is over is not drawn again because its plan changes later."""
        facts = letter.facts.without_plan() if is_kept(letter) else letter.facts
        return sheet(replace(letter, facts=facts), self._mode).hash

    def renews_at(self, message_id: str) -> Instant | None:
        place = place_of(message_id)
        return Instant.from_timestamp(int(float(place.ts))).add(seconds=_EDITABLE) if place else None

    def turn(self, recipient: str, about: str = "", *, is_edit: bool = False) -> float:
        now = self._clock.monotonic()
        box = mailbox(recipient)
        until = _APART if box in self._sending else self._next.get(box, 0.0) - now
        methods = _EDITS if is_edit else _POSTS if self._known(recipient) else (*_LOOK_UPS, *_POSTS)
        wait = max(0.0, until, self._api.wait_for(*methods, who=mark_of(about, "", recipient)))
        if not wait:
            self._sending.add(box)
        return wait

    def over(self, recipient: str) -> None:
        now, box = self._clock.monotonic(), mailbox(recipient)
        self._sending.discard(box)
        self._next = {one: at for one, at in self._next.items() if at > now} | {box: now + _APART}

    def _known(self, recipient: str) -> str:
        """The conversation with a person, where it was found a short time ago."""
        known, until = self._conversations.get(mailbox(recipient), ("", 0.0))
        return known if self._clock.monotonic() < until else ""

    async def send(self, letter: Letter, message_id: str, *, again: bool = False) -> str:
        try:
            return await self._send(letter, message_id, again=again)
        except AwayError as error:
            if error.reason and not self._api.try_with(mark_of(letter.facts.uid, "", letter.recipient)):
                raise AwayError(str(error), everyone=True, after=error.after) from error
            raise

    async def _send(self, letter: Letter, message_id: str, *, again: bool) -> str:
        place = place_of(message_id)
        mark = mark_of(letter.facts.uid, letter.topic, letter.recipient)
        if place and (is_kept(letter) or self._is_young(place)) and await self._edit(place, letter, mark):
            return place.id
        channel = await self._conversation(letter.recipient)
        thread = place_of(letter.first) if letter.topic != "asked" else None
        if place or again:  # the one that replaces it may be there, of a process that died
            found = await self._find(channel, thread, mark, place.ts if place else "")
            if found and await self._edit(found, letter, mark):
                return found.id
        if is_kept(letter):
            return message_id
        posted = await self._post(letter, channel, thread, mark)
        if place and not self._is_young(place):
            await self._retire(place, letter)
        return posted.id

    async def close(self, delivery: ApprovalDelivery, message_id: str) -> None:
        spec = delivery.spec
        mark, place = mark_of(spec.request.uid, "asked", spec.recipient), place_of(message_id)
        if place is None:  # it may be there, of a process that died before it recorded where
            place = await self._find(await self._conversation(spec.recipient), None, mark, "")
        if place:
            shown = gone(spec.request.kind, delivery.metadata.namespace, spec.request.name)
            await self._change(place, shown, mark)

    async def _retire(self, place: MessagePlace, letter: Letter) -> None:
        """Leave no second question behind one that was asked again, where it can still be changed."""
        with suppress(RefusedError, AwayError):
            await self._change(place, asked_anew(letter), f"{place.ts}.old")

    def _is_young(self, place: MessagePlace) -> bool:
        renewal = self.renews_at(place.id)
        return renewal is None or self._clock.now() < renewal

    async def _conversation(self, recipient: str) -> str:
        if known := self._known(recipient):
            return known
        box = mailbox(recipient)
        try:
            opened = await self._api.call("conversations.open", {"users": await self._user(recipient)})
        except SlackError as error:
            self._users.pop(box, None)
            raise self._trouble(recipient, error) from error
        channel: str = opened["channel"]["id"]
        self._conversations[box] = channel, self._clock.monotonic() + _KNOWN_FOR
        return channel

    async def _user(self, recipient: str) -> str:
        """The id of a person; it is not asked for again where Slack only takes no more conversations now."""
        box = mailbox(recipient)
        user_id, until = self._users.get(box, ("", 0.0))
        if self._clock.monotonic() < until:
            return user_id
        user = (await self._api.call("users.lookupByEmail", {"email": box}))["user"]
        if trouble := trouble_with(user, self._team):
            raise RefusedError(f"{recipient}: {trouble}")
        self._users[box] = str(user["id"]), self._clock.monotonic() + _KNOWN_FOR
        return str(user["id"])

    async def _edit(self, place: MessagePlace, letter: Letter, mark: str) -> bool:
        """Change what is there; False where there is nothing any more that can be changed."""
        async for shown in self._versions(letter):
            try:
                return await self._change(place, shown, mark)
            except UnreadyError:
                continue
        raise RefusedError("Slack does not change the message: invalid_blocks")

    async def _versions(self, letter: Letter) -> AsyncIterator[Sheet]:
        """The letter with its picture, as soon as Slack has it ready; the last one is without."""
        picture = await self._pictures.id_of(letter.facts) if letter.topic == "asked" else ""
        for _ in range(_TRIES if picture else 0):
            yield sheet(letter, self._mode, picture)
            await self._clock.sleep(_APART)  # Slack looks at a file after it says that it has it
        yield sheet(letter, self._mode)

    async def _change(self, place: MessagePlace, shown: Sheet, mark: str) -> bool:
        try:
            await self._api.call(
                "chat.update", _body(shown, mark) | {"channel": place.channel, "ts": place.ts}
            )
        except SlackError as error:
            if error.code in _FIXED:
                await self._remove(place)
            if error.code in _LOST:
                return False
            if error.code == "invalid_blocks" and shown.has_picture:
                raise UnreadyError from error
            raise RefusedError(f"Slack does not change the message: {error.code}") from error
        return True

    async def _remove(self, place: MessagePlace) -> None:
        """Leave no question behind that shows what is no longer so, if Slack lets it go."""
        with suppress(SlackError):
            await self._api.call("chat.delete", {"channel": place.channel, "ts": place.ts})

    async def _find(
        self, channel: str, thread: MessagePlace | None, mark: str, after: str
    ) -> MessagePlace | None:
        """The message with this mark that was posted after another."""
        oldest = after or f"{max(0.0, self._clock.now().timestamp() - _EDITABLE):.6f}"
        args = {
            "channel": channel,
            "include_all_metadata": "true",
            "limit": _A_PAGE,
            "oldest": oldest,
        }
        method = "conversations.history"
        if thread and thread.channel == channel:
            method, args = "conversations.replies", args | {"ts": thread.ts}
        cursor = ""
        for _ in range(_MOST_PAGES):
            try:
                page = await self._api.call(method, args | {"cursor": cursor or None}, optional=True)
            except SlackError as error:
                if error.code not in _LOST:
                    log.warning(
                        "own messages cannot be read; one may be posted twice",
                        channel=channel,
                        code=error.code,
                    )
                return await self._find(channel, None, mark, after) if thread else None
            for one in page["messages"]:
                metadata = one.get("metadata") or {}
                payload = metadata.get("event_payload") or {}
                if metadata.get("event_type") == EVENT and payload.get("id") == mark and one["ts"] != after:
                    return MessagePlace(channel, one["ts"])
            cursor = (page.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                break
        return None

    async def _post(
        self, letter: Letter, channel: str, thread: MessagePlace | None, mark: str
    ) -> MessagePlace:
        async for shown in self._versions(letter):
            try:
                return await self._put(letter, channel, thread, _body(shown, mark))
            except SlackError as error:
                if error.code == "invalid_blocks" and shown.has_picture:
                    continue
                for known in (self._users, self._conversations):
                    known.pop(mailbox(letter.recipient), None)
                raise self._trouble(letter.recipient, error) from error
        raise RefusedError(f"{letter.recipient}: Slack takes no message")

    async def _put(
        self, letter: Letter, channel: str, thread: MessagePlace | None, body: dict[str, Any]
    ) -> MessagePlace:
        body |= {"channel": channel, "unfurl_links": False, "unfurl_media": False}
        if thread and thread.channel == channel:
            body |= {"thread_ts": thread.ts}
            if letter.topic in _ALOUD and not letter.is_post:
                body |= {"reply_broadcast": True}
        try:
            posted = await self._api.call("chat.postMessage", body)
        except SlackError as error:
            if thread is None or error.code not in _NO_THREAD:
                raise
            alone = {key: value for key, value in body.items() if key not in {"thread_ts", "reply_broadcast"}}
            posted = await self._api.call("chat.postMessage", alone)  # the question was deleted
        return MessagePlace(str(posted["channel"]), str(posted["ts"]))

    def _trouble(self, where: str, error: SlackError) -> Exception:
        """What an error about a conversation means for the message."""
        return RefusedError(f"{where}: {_MEANINGS.get(error.code, f'Slack says {error.code}')}")


def _body(shown: Sheet, mark: str) -> dict[str, Any]:
    return {
        "text": shown.text,
        "blocks": list(shown.blocks),
        "metadata": {"event_type": EVENT, "event_payload": {"id": mark}},
    }


_MEANINGS: Final = {
    "users_not_found": "no user of Slack has this address",
    "user_not_found": "no user of Slack has this address",
    "user_not_visible": "the app may not see this account in Slack",
    "user_disabled": "the account in Slack is deactivated",
    "cannot_dm_bot": "the account in Slack is a bot",
    "channel_not_found": "the conversation in Slack is gone",
    "is_archived": "the conversation in Slack is archived",
}
