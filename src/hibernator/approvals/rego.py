"""Asks a Rego policy, in a process of its own, and never waits for ever.

It lives beside people and channels and not among the decisions, although an answer follows from policy and
input alone: there is a process to start and to end. What an answer means is decided in `decisions.rego`.
"""

from collections.abc import Mapping
from typing import Any, Final, Self

from hibernator.decisions.rego import QUERY, SUFFIX, Answer, Broken, read_answer
from hibernator.kube.child import Child, CrashedError, TooLongError, TooSlowError

_PATIENCE: Final = 5  # seconds of computing for an answer that takes a fraction of a millisecond
_CRASHED: Final = "The Rego engine ended over it, perhaps because it needs too much memory."
_WORKER: Final = "hibernator.approvals.rego_worker"


def modules_of(data: Mapping[str, str]) -> dict[str, str]:
    """The modules in a ConfigMap."""
    return {key: text for key, text in data.items() if key.endswith(SUFFIX)}


class Rego:
    """`async with Rego() as rego: await rego.ask(data, input)`; its process starts when it is first asked."""

    def __init__(self, patience: int = _PATIENCE) -> None:
        self._child = Child(_WORKER, seconds=patience)

    async def __aenter__(self) -> Self:
        await self._child.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._child.__aexit__(*error)

    async def ask(self, data: Mapping[str, str], given: Any) -> Answer | Broken:
        """What the policy in a ConfigMap says about an input."""
        reply = await self._query(data, {"input": given})
        if isinstance(reply, Broken):
            return reply
        if "answer" not in reply:
            return Broken(f"{QUERY} says nothing about this analysis. Give it a `default`.")
        return read_answer(reply["answer"])

    async def check(self, data: Mapping[str, str]) -> Broken | None:
        """Why the policy in a ConfigMap cannot be used for anything; None when it can."""
        reply = await self._query(data, {})
        return reply if isinstance(reply, Broken) else None

    async def _query(self, data: Mapping[str, str], more: Mapping[str, Any]) -> dict[str, Any] | Broken:
        modules = modules_of(data)
        if not modules:
            return Broken(f"The ConfigMap has no key that ends in {SUFFIX}.")
        try:
            reply = await self._child.ask({"modules": modules, "query": QUERY, **more})
        except TooSlowError as error:
            return Broken(f"The policy has {error}.")
        except TooLongError:
            return Broken(f"{QUERY} is far too long, or no JSON.")
        except CrashedError:
            return Broken(_CRASHED)
        return Broken(f"The policy is broken: {reply['error']}.") if "error" in reply else reply
