"""Who sees what: Kubernetes answers, for the name and the groups that a log-in maps to.

A review for all namespaces comes first: a person who may list everywhere needs one. For the others, each
namespace that has such objects is asked about. Answers are kept for a few seconds, so that a right that was
taken away is gone soon after.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Collection
from typing import Any, Final

from hibernator.api.kind import Kind
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.web.identity import Identity

KEPT: Final = 10.0  # seconds
EVERYWHERE: Final = ""
_AT_ONCE: Final = 16  # reviews of one question
_MOST: Final = 50_000  # answers that are remembered at once

_Question = tuple[str, tuple[str, ...], str, str, str, str]  # who, verb, resource, namespace, name


class Visibility:
    def __init__(self, client: Client, clock: Clock, only: str = "") -> None:
        self._client = client
        self._clock = clock
        self._only = only  # the one namespace that the process looks at
        self._answers: OrderedDict[_Question, tuple[float, bool]] = OrderedDict()

    async def may(
        self, who: Identity, verb: str, kind: Kind[Any], namespace: str = EVERYWHERE, name: str = ""
    ) -> bool:
        question = (who.username, who.groups, verb, kind.resource, namespace, name)
        now = self._clock.monotonic()
        if (found := self._answers.get(question)) and now < found[0] + KEPT:
            return found[1]
        allowed = await self._client.may(
            user=who.username,
            groups=(*who.groups, "system:authenticated"),
            extra={},
            verb=verb,
            resource=kind.plural,
            group=kind.group,
            namespace=namespace,
            name=name,
        )
        self._answers[question] = now, allowed
        self._answers.move_to_end(question)
        if len(self._answers) > _MOST:
            self._answers.popitem(last=False)
        return allowed

    async def namespaces(
        self, who: Identity, kind: Kind[Any], among: Collection[str], verb: str = "list"
    ) -> frozenset[str]:
        """Those of these namespaces in which a person may do so."""
        if not self._only and await self.may(who, verb, kind):
            return frozenset(among)
        slots = asyncio.Semaphore(_AT_ONCE)

        async def ask(namespace: str) -> bool:
            async with slots:
                return await self.may(who, verb, kind, namespace)

        async with asyncio.TaskGroup() as group:
            asked = {one: group.create_task(ask(one)) for one in among}
        return frozenset(one for one, task in asked.items() if task.result())

    async def sees(self, who: Identity, kind: Kind[Any], namespace: str, name: str) -> bool:
        """Whether a person may see one object: as one of a list, or this one by its name."""
        if not self._only and await self.may(who, "list", kind):
            return True
        return await self.may(who, "list", kind, namespace) or await self.may(
            who, "get", kind, namespace, name
        )
