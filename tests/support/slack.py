"""A Slack on loopback, as strict as the original about what it is asked and by whom.

It has one workspace with people, the conversations of the app with them, and the app's scopes. It checks the
transport and the arguments of each method, Block Kit's limits, rates, and the age of trigger ids by its own
clock. Clicks go out signed, over HTTP or over Socket Mode.
"""

import asyncio
import hashlib
import hmac
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from aiohttp import WSMsgType, web

from support.slack_blocks import LONGEST_MESSAGE, check_blocks, check_view, length
from support.slack_files import Files, ProblemError
from support.slack_methods import HISTORY, IN_ADDRESS, NEEDED, READS, SCOPES

TEAM, APP, BOT_TOKEN, APP_TOKEN = "T0HIBER", "A0HIBER", "xoxb-test", "xapp-test"
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TRIGGER_SECONDS = 3.0
ANSWER_SECONDS, MOST_ANSWERS = 1800.0, 5  # of a response_url


@dataclass
class LoopbackSlack:
    now: Callable[[], float] = time.time
    rooms: set[str] = field(default_factory=set)  # channels that the app is a member of
    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by conversation
    scopes: set[str] = field(default_factory=lambda: {*SCOPES.values(), *HISTORY.values()} - {""})
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    views: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)  # to response_urls
    troubles: list[dict[str, Any]] = field(default_factory=list)  # what the next calls end with
    limits: dict[str, tuple[int, float]] = field(default_factory=dict)  # calls in so many seconds
    pace: float = 0.0  # seconds between two messages in a conversation
    refused: list[str] = field(default_factory=list)  # the methods that were called too often
    after_call: Callable[[str], None] | None = None
    held: dict[str, asyncio.Event] = field(default_factory=dict)  # methods whose answers wait for these
    url: str = ""
    token: str = BOT_TOKEN
    app_token: str = APP_TOKEN

    def __post_init__(self) -> None:
        self.files = Files(self)
        self._numbers = itertools.count(1)
        self._stamps: dict[str, list[float]] = {}
        self._posted: dict[str, float] = {}  # when the last message came, by conversation
        self._triggers: dict[str, float] = {}
        self._responses: dict[str, list[float]] = {}  # when each was made and used
        self._sockets: list[web.WebSocketResponse] = []
        self.acks: list[dict[str, Any]] = []
        self.connected = asyncio.Event()

    def person(self, email: str, **more: Any) -> str:
        user = f"U{len(self.users) + 1:04}"
        self.users[user] = {
            "id": user,
            "team_id": TEAM,
            "deleted": False,
            "is_bot": False,
            "is_restricted": False,
            "is_ultra_restricted": False,
            "is_email_confirmed": True,
            "real_name": email.partition("@")[0].title(),
            "profile": {"email": email},
        } | more
        return user

    def user_of(self, email: str) -> str:
        return next(user for user, found in self.users.items() if found["profile"].get("email") == email)

    def conversation(self, email: str) -> list[dict[str, Any]]:
        """What is in the app's conversation with a person, the oldest first."""
        return self.messages.get(f"D{self.user_of(email)[1:]}", [])

    def channel(self, room: str, *, is_member: bool = True) -> list[dict[str, Any]]:
        """A channel that many read; what is in it, the oldest first."""
        (self.rooms.add if is_member else self.rooms.discard)(room)
        return self.messages.setdefault(room, [])

    def questions(self, email: str) -> list[dict[str, Any]]:
        return [one for one in self.conversation(email) if "thread_ts" not in one]

    # --- the Web API

    async def _method(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        try:
            args = await self._args(request, method)
            self.calls.append((method, args))
            answer = {"ok": True} | getattr(self, "_" + method.replace(".", "_").lower())(args)
        except ProblemError as problem:
            answer = problem.answer
        if self.after_call:
            self.after_call(method)
        if method in self.held:
            await self.held[method].wait()
        if answer.get("error") == "ratelimited":
            self.refused.append(method)
            headers = {"Retry-After": str(answer.pop("after"))}
            return web.json_response(answer, status=429, headers=headers)
        return web.json_response(answer)

    async def _args(self, request: web.Request, method: str) -> dict[str, Any]:
        self._admit(request, method)
        if method in READS | IN_ADDRESS:
            if request.content_type == "application/json":
                raise ProblemError("invalid_arguments")
            args: dict[str, Any] = dict(request.query)
        elif request.content_type == "application/json":
            args = await request.json()
        elif method == "apps.connections.open":
            args = {}
        else:
            raise ProblemError("invalid_post_type")
        if missing := NEEDED[method] - args.keys():
            raise ProblemError("invalid_arguments", missing=sorted(missing))
        return args

    def _admit(self, request: web.Request, method: str) -> None:
        if method not in SCOPES:
            raise ProblemError("unknown_method")
        if (request.method == "GET") != (method in READS):
            raise ProblemError("invalid_http_method")
        expected = self.app_token if method == "apps.connections.open" else self.token
        given = request.headers.get("Authorization", "")
        if not given:
            raise ProblemError("not_authed")
        if given != f"Bearer {expected}":
            raise ProblemError("invalid_auth")
        if self.troubles:
            trouble = self.troubles.pop(0)
            raise ProblemError(**trouble)
        self._rate(method)
        self._scope(SCOPES[method])

    def _scope(self, scope: str) -> None:
        if scope and scope not in self.scopes:
            raise ProblemError("missing_scope", needed=scope, provided=",".join(sorted(self.scopes)))

    def _rate(self, method: str) -> None:
        if method not in self.limits:
            return
        most, seconds = self.limits[method]
        now = self.now()
        stamps = [at for at in self._stamps.get(method, []) if at > now - seconds]
        if len(stamps) >= most:
            raise ProblemError("ratelimited", after=max(1, round((stamps or [now])[0] + seconds - now)))
        self._stamps[method] = [*stamps, now]

    def _users_lookupbyemail(self, args: dict[str, Any]) -> dict[str, Any]:
        for user in self.users.values():
            if user["profile"].get("email", "").lower() == args["email"].lower():
                return {"user": user}
        raise ProblemError("users_not_found")

    def _users_info(self, args: dict[str, Any]) -> dict[str, Any]:
        if args["user"] not in self.users:
            raise ProblemError("user_not_found")
        return {"user": self.users[args["user"]]}

    def _conversations_open(self, args: dict[str, Any]) -> dict[str, Any]:
        user = self.users.get(args["users"])
        if user is None:
            raise ProblemError("user_not_found")
        if user["deleted"]:
            raise ProblemError("user_disabled")
        channel = f"D{user['id'][1:]}"
        self.messages.setdefault(channel, [])
        return {"channel": {"id": channel}}

    def _conversations_history(self, args: dict[str, Any]) -> dict[str, Any]:
        def is_top(one: dict[str, Any]) -> bool:
            return "thread_ts" not in one or bool(one.get("reply_broadcast"))

        return self._page(args, [one for one in reversed(self._history(args)) if is_top(one)])

    def _history(self, args: dict[str, Any]) -> list[dict[str, Any]]:
        """What may be read depends on the kind of the conversation."""
        self._scope(HISTORY[args["channel"][0]])
        return self._in(args)

    def _conversations_replies(self, args: dict[str, Any]) -> dict[str, Any]:
        found = [one for one in self._history(args) if args["ts"] in {one["ts"], one.get("thread_ts")}]
        if not found:
            raise ProblemError("thread_not_found")
        return self._page(args, found)

    def _in(self, args: dict[str, Any]) -> list[dict[str, Any]]:
        if args["channel"] not in self.messages:
            raise ProblemError("channel_not_found")
        if args["channel"][0] != "D" and args["channel"] not in self.rooms:
            raise ProblemError("not_in_channel" if args["channel"][0] == "C" else "channel_not_found")
        return self.messages[args["channel"]]

    def _page(self, args: dict[str, Any], found: list[dict[str, Any]]) -> dict[str, Any]:
        found = [one for one in found if float(one["ts"]) > float(args.get("oldest", 0))]
        start, size = int(args.get("cursor", 0)), min(int(args.get("limit", 100)), 999)
        page = found[start : start + size]
        if args.get("include_all_metadata") != "true":
            page = [{key: value for key, value in one.items() if key != "metadata"} for one in page]
        more = str(start + size) if start + size < len(found) else ""
        return {"messages": page, "has_more": bool(more), "response_metadata": {"next_cursor": more}}

    def _chat_postmessage(self, args: dict[str, Any]) -> dict[str, Any]:
        room = self._in(args)
        self._check(args)
        last = self._posted.get(args["channel"], 0.0)
        if self.now() - last < self.pace - 0.05:
            raise ProblemError("ratelimited", after=1)
        self._posted[args["channel"]] = self.now()
        ts = f"{self.now():.0f}.{next(self._numbers):06}"
        if "thread_ts" in args and args["thread_ts"] not in {one["ts"] for one in room}:
            raise ProblemError("thread_not_found")
        kept = ("text", "blocks", "metadata", "thread_ts", "reply_broadcast")
        room.append({key: args[key] for key in kept if key in args} | {"ts": ts})
        return {"channel": args["channel"], "ts": ts}

    def _chat_update(self, args: dict[str, Any]) -> dict[str, Any]:
        self._check(args, longest=4000)
        for one in self._in(args):
            if one["ts"] == args["ts"]:
                one.update({key: args[key] for key in ("text", "blocks", "metadata") if key in args})
                one["edits"] = one.get("edits", 0) + 1
                return {"channel": args["channel"], "ts": args["ts"]}
        raise ProblemError("message_not_found")

    def _chat_delete(self, args: dict[str, Any]) -> dict[str, Any]:
        self._in(args)[:] = [one for one in self._in(args) if one["ts"] != args["ts"]]
        return {"channel": args["channel"], "ts": args["ts"]}

    def _chat_postephemeral(self, args: dict[str, Any]) -> dict[str, Any]:
        self._in(args)
        if args["channel"] != f"D{args['user'][1:]}":
            raise ProblemError("user_not_in_channel")
        self.answers.append({"text": args["text"], "user": args["user"]})
        return {"message_ts": f"{self.now():.0f}.{next(self._numbers):06}"}

    def _check(self, args: dict[str, Any], *, longest: int = 40_000) -> None:
        if length(args.get("blocks", [])) > LONGEST_MESSAGE:
            raise ProblemError("msg_blocks_too_long")
        if problems := [*check_blocks(args.get("blocks", [])), *self.files.problems(args.get("blocks", []))]:
            raise ProblemError("invalid_blocks", errors=problems)
        if not args["text"]:
            raise ProblemError("no_text")
        if len(args["text"]) > longest:
            raise ProblemError("msg_too_long")
        metadata = args.get("metadata")
        if metadata is not None and not (
            set(metadata) == {"event_type", "event_payload"} and metadata["event_type"].isidentifier()
        ):
            raise ProblemError("invalid_metadata_format")

    def _files_getuploadurlexternal(self, args: dict[str, Any]) -> dict[str, Any]:
        return self.files.place(args)

    def _files_completeuploadexternal(self, args: dict[str, Any]) -> dict[str, Any]:
        return self.files.complete(args)

    def _views_open(self, args: dict[str, Any]) -> dict[str, Any]:
        made = self._triggers.pop(args["trigger_id"], None)  # each opens one view
        if made is None:
            raise ProblemError("exchanged_trigger_id")
        if self.now() - made > TRIGGER_SECONDS:
            raise ProblemError("expired_trigger_id")
        if problems := check_view(args["view"]):
            raise ProblemError("invalid_arguments", errors=problems)
        self.views.append(args["view"])
        return {"view": {"id": f"V{len(self.views)}"}}

    def _apps_connections_open(self, _args: dict[str, Any]) -> dict[str, Any]:
        return {"url": f"{self.url.replace('http', 'ws')}/socket"}

    # --- what people do

    def click(self, email: str, message: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
        """The payload of somebody who presses a button of a message."""
        user = self.user_of(email)
        [button] = [
            one
            for block in message["blocks"]
            if block["type"] == "actions"
            for one in block["elements"]
            if one["action_id"] == action
        ]
        trigger, response = f"trigger-{next(self._numbers)}", str(next(self._numbers))
        self._triggers[trigger] = self.now()
        self._responses[response] = [self.now()]
        channel = next(room for room, found in self.messages.items() if message in found)
        return {
            "type": "block_actions",
            "api_app_id": APP,
            "team": {"id": TEAM, "domain": "company"},
            "enterprise": None,
            "user": {"id": user, "team_id": TEAM},
            "channel": {"id": channel},
            "container": {"type": "message", "channel_id": channel, "message_ts": message["ts"]},
            "message": {"ts": message["ts"]},
            "trigger_id": trigger,
            "response_url": f"{self.url}/response/{response}",
            "actions": [{"action_id": action, "type": "button", "value": button.get("value", "")}],
        } | more

    def submit(self, email: str, view: dict[str, Any], reason: str) -> dict[str, Any]:
        """The payload of somebody who sends a dialog."""
        [block] = [one for one in view["blocks"] if one["type"] == "input"]
        value = {block["element"]["action_id"]: {"type": "plain_text_input", "value": reason}}
        return {
            "type": "view_submission",
            "api_app_id": APP,
            "team": {"id": TEAM, "domain": "company"},
            "enterprise": None,
            "user": {"id": self.user_of(email), "team_id": TEAM},
            "view": {
                "callback_id": view["callback_id"],
                "private_metadata": view["private_metadata"],
                "state": {"values": {block["block_id"]: value}},
            },
        }

    def signed(self, payload: dict[str, Any], at: float | None = None) -> tuple[bytes, dict[str, str]]:
        """The body and the headers with which Slack delivers a payload."""
        body = f"payload={quote(json.dumps(payload))}".encode()
        stamp = str(int(self.now() if at is None else at))
        digest = hmac.new(SECRET.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
        return body, {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={digest.hexdigest()}",
        }

    async def deliver(self, payload: dict[str, Any], times: int = 1) -> str:
        """Deliver a payload over Socket Mode to one of the connections; again where an answer was lost."""
        envelope = f"envelope-{next(self._numbers)}"
        document = {
            "envelope_id": envelope,
            "type": "interactive",
            "accepts_response_payload": True,
            "payload": payload,
        }
        for _ in range(times):
            await self._sockets[-1].send_json(document)
        return envelope

    async def ask_to_reconnect(self) -> None:
        self.connected.clear()
        await self._sockets[-1].send_json({"type": "disconnect", "reason": "refresh_requested"})

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self._sockets.append(socket)
        await socket.send_json({"type": "hello", "num_connections": len(self._sockets)})
        self.connected.set()
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                self.acks.append(json.loads(message.data))
        self._sockets.remove(socket)
        return socket

    async def _response(self, request: web.Request) -> web.Response:
        found = await request.json()
        if problems := check_blocks(found.get("blocks", [])):
            return web.json_response({"ok": False, "errors": problems}, status=400)
        used = self._responses.get(request.match_info["number"], [0.0])
        if self.now() - used[0] > ANSWER_SECONDS or len(used) > MOST_ANSWERS:
            return web.json_response({"ok": False, "error": "expired_url"}, status=404)
        used.append(self.now())
        self.answers.append(found)
        return web.Response(text="ok")

    def expire(self) -> None:
        """Let so much time pass that no dialog can be opened and no address takes an answer any more."""
        self._triggers = dict.fromkeys(self._triggers, 0.0)
        self._responses = {number: [0.0] for number in self._responses}

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._method)
        app.router.add_post("/upload/{file}", self.files.take)
        app.router.add_get("/socket", self._socket)
        app.router.add_post("/response/{number}", self._response)
        return app


@asynccontextmanager
async def loopback_slack(**more: Any) -> AsyncIterator[LoopbackSlack]:
    slack = LoopbackSlack(**more)
    runner = web.AppRunner(slack.app(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    slack.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield slack
    finally:
        await runner.cleanup()
