"""Sinks of type apprise: any service of the Apprise library by its address, sent from processes of their own.

Apprise is synchronous, and what its plug-ins do follows from an address that a user wrote. So it runs in
bounded children, where `apprise_worker` refuses all but https to where sinks may be.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import Any, Final, Self
from weakref import WeakValueDictionary

from hibernator.kube.child import Child, ChildError
from hibernator.messages.channel import AwayError, RefusedError
from hibernator.notifications.markup import MARKUPS
from hibernator.notifications.occasions import Parcel
from hibernator.notifications.outbound import Networks
from hibernator.notifications.wording import words

WORKER: Final = "hibernator.notifications.apprise_worker"
_MOST: Final = 2  # children; each takes some 60 MB
_SECONDS: Final = 5  # of computing, for what takes a tenth
_LONGEST: Final = 30.0  # seconds that the clock may say

# By name, so that the reason is plain: `apprise_worker` would refuse what they do.
_ON_THE_MACHINE: Final = "it shows messages on the machine, and here no one sits at it"
_NO_HTTPS: Final = "it is no service over https"
_REFUSED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("syslog", "dbus", "kde", "qt", "gio", "glib", "gnome", "macosx", "windows", "blink1"),
        _ON_THE_MACHINE,
    ),
    **dict.fromkeys(
        (
            "amqp",
            "amqps",
            "aprs",
            "deltachat",
            "deltachats",
            "growl",
            "irc",
            "ircs",
            "mqtt",
            "mqtts",
            "nostr",
        ),
        _NO_HTTPS,
    ),
    **dict.fromkeys(("rsyslog", "smpp", "smpps", "xmpp", "xmpps"), _NO_HTTPS),
    **dict.fromkeys(("fcm", "vapid"), "it needs files, and none are read"),
    **dict.fromkeys(("mailto", "mailtos"), "use a sink of type email"),
}


class Apprises:
    """`async with Apprises(networks) as found: await found.send(url, …)`; children start when first asked."""

    def __init__(self, networks: Networks = ()) -> None:
        self._networks = [str(network) for network in networks]
        self._stack = AsyncExitStack()
        self._idle: asyncio.LifoQueue[Child] = asyncio.LifoQueue()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        for _ in range(_MOST):
            child = Child(WORKER, seconds=_SECONDS, tries=1)  # a second try could be a second message
            self._idle.put_nowait(await self._stack.enter_async_context(child))
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def send(self, url: str, parcel: Parcel, text: str) -> None:
        """Raises RefusedError or AwayError, neither with the address."""
        schema = url.partition("://")[0].lower()
        if why := _REFUSED.get(schema):
            raise AwayError(f"{schema}:// is refused: {why}")
        if find_spec("apprise") is None:
            raise AwayError("Apprise is not installed here: install hibernator[apprise]")
        reply = await self._ask(parcel.first.namespace, _question(url, parcel, text, self._networks))
        match reply["result"]:
            case "refused":
                raise RefusedError(str(reply["why"]))
            case "away":
                raise AwayError(str(reply["why"]), after=reply.get("after"))

    async def _ask(self, namespace: str, question: Mapping[str, Any]) -> dict[str, Any]:
        """One at a time for each namespace: what one of them waits for keeps no other from a child."""
        async with self._turns.setdefault(namespace, asyncio.Lock()):
            child = await self._idle.get()
            try:
                async with asyncio.timeout(_LONGEST):
                    return await child.ask(question)
            except (TimeoutError, ChildError):
                raise AwayError("Apprise takes too long, or too much memory") from None
            finally:
                self._idle.put_nowait(child)


def _question(url: str, parcel: Parcel, text: str, networks: list[str]) -> dict[str, Any]:
    markup, title = MARKUPS["apprise"], words(parcel).title
    body = text.removeprefix(markup.bold(title)).strip() or text  # the built-in text begins with its title
    events = {one.event for one in parcel.occasions}
    type_ = "success" if events <= {"Success", "Recovery"} else "info"
    return {
        "url": url,
        "title": markup.escape(title),
        "body": body,
        "type": "failure" if events & {"Failure", "WakeLate"} else type_,
        "networks": networks,
    }
