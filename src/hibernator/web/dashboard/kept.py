"""What restore data says of a plan, asked of the operator: this process may read no ConfigMaps.

A page that is left open asks with every change of its plan, and many may look at the same one: answers are
shared for seconds, and so are failures, because a page must not wait for an operator that is away.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

import msgspec

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.decisions.hibernateplan_kept import PATH, KeptPlan
from hibernator.kube.clock import Clock
from hibernator.kube.reading import ReadApiError
from hibernator.kube.remote import Remote

_KEPT: Final = 5.0  # seconds
_PATIENCE: Final = 3.0  # seconds that a page waits
_MOST: Final = 200  # plans that are remembered at once


@dataclass(slots=True)
class _Known:
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    version: str = ""  # of the plan that was asked about
    until: float = 0.0
    answer: KeptPlan | ReadApiError = field(default_factory=KeptPlan)


class RestoreData:
    """Shared by all who look at one replica."""

    def __init__(self, operator: Remote, clock: Clock) -> None:
        self._operator, self._clock = operator, clock
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def of(self, plan: HibernatePlan) -> KeptPlan:
        """AwayError where the operator does not say."""
        known = self._known.setdefault(plan.metadata.uid, _Known())
        self._known.move_to_end(plan.metadata.uid)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        async with known.turn:
            version = plan.metadata.resource_version
            if known.version != version or self._clock.monotonic() >= known.until:
                known.answer = await self._asked(plan)
                known.version, known.until = version, self._clock.monotonic() + _KEPT
        if isinstance(known.answer, ReadApiError):
            raise ReadApiError(str(known.answer))
        return known.answer

    async def _asked(self, plan: HibernatePlan) -> KeptPlan | ReadApiError:
        path = PATH.format(namespace=plan.metadata.namespace, name=plan.metadata.name)
        try:
            async with asyncio.timeout(_PATIENCE):
                return msgspec.json.decode(await self._operator.get(path, {}), type=KeptPlan)
        except TimeoutError:
            return ReadApiError("The operator does not answer in time.")
        except ReadApiError as error:
            return error
        except (msgspec.DecodeError, RecursionError) as error:
            return ReadApiError(f"The answer of the operator cannot be read: {error}.")
