"""Templates of users, rendered in a process of their own within bounds of time, memory and size."""

import asyncio
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final, Self
from weakref import WeakValueDictionary

import msgspec

from hibernator.api.hibernatenotification import TemplateReference
from hibernator.kube.child import Child, ChildError, CrashedError, TooLongError
from hibernator.notifications.occasions import Parcel

DEFAULT_KEY: Final = TemplateReference(name="").key
WORKER: Final = "hibernator.notifications.template_worker"
_SECONDS: Final = 2  # of computing, for what takes a millisecond
_LEFT_ALONE: Final = 600.0  # seconds
_STOPPED: Final[Mapping[type[ChildError], str]] = {
    TooLongError: "the template makes far too long a message",
    CrashedError: "the template needs too much memory",
}


class TemplateError(Exception):
    """Why a template cannot be used."""


class Templates:
    """`async with Templates() as found: await found.render(…)`; its process starts when first asked."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._child = Child(WORKER, seconds=_SECONDS)
        self._monotonic = monotonic
        self._costly: dict[bytes, tuple[float, str]] = {}  # by hash, what was stopped: until when, and why
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        await self._child.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._child.__aexit__(*error)

    async def render(self, template: str, parcel: Parcel, markup: str) -> str:
        """One at a time; one that had to be stopped is left alone for a while, so that no other waits.

        A namespace waits for one template of each other, however many slow ones those have.
        """
        async with self._turns.setdefault(parcel.first.namespace, asyncio.Lock()):
            return await self._rendered(template, parcel, markup)

    async def _rendered(self, template: str, parcel: Parcel, markup: str) -> str:
        key = sha256(f"{parcel.first.namespace}\n{template}".encode("utf-8", "replace")).digest()
        until, why = self._costly.get(key, (0.0, ""))
        if self._monotonic() < until:
            raise TemplateError(why)
        question = {"template": template, "input": context(parcel), "markup": markup}
        try:
            reply = await self._child.ask(question)
        except ChildError as error:
            why = _STOPPED.get(type(error), f"the template is too slow: {error}")
            self._remember(key, why)
            raise TemplateError(why) from None
        if "error" in reply:
            raise TemplateError(f"the template is broken: {reply['error']}")
        return str(reply["text"])

    def _remember(self, key: bytes, why: str) -> None:
        now = self._monotonic()
        kept = {one: left for one, left in self._costly.items() if now < left[0]}
        self._costly = {**kept, key: (now + _LEFT_ALONE, why)}


def template_in(data: Mapping[str, str], key: str) -> str:
    """The template in a ConfigMap."""
    if key in data and not key.endswith(".gotpl"):
        return data[key]
    if any(one.endswith(".gotpl") for one in (key, *data)):
        raise TemplateError(f"it is a Go template: write it in Jinja2, under the key {DEFAULT_KEY}")
    raise TemplateError(f"the ConfigMap has no key {key!r}")


def context(parcel: Parcel) -> dict[str, Any]:
    """All that a template can see: the first occasion by its fields, and all of them as `events`."""
    found = msgspec.to_builtins(parcel.occasions)
    return {**found[0], "events": list(found), "count": len(found), "messageId": parcel.id}
