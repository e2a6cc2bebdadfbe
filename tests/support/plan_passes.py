"""A process of the operator, pass by pass, for tests that stand between two of them."""

from hibernator.kube.controller import Controller, Key
from hibernator.kube.errors import ApiError
from support.clock import ManualClock
from support.settled import up_to_date

_PASSES = 40
_AT_REST = 60.0  # seconds: what is wanted sooner is a step of the same work


async def rest(controller: Controller, key: Key, *, passes: int = _PASSES) -> bool:
    """Look at the plan until there is nothing left to do at this moment; False if that never comes.

    A pass that fails is followed by another, as by the queue.
    """
    for _ in range(passes):
        try:
            result = await controller._reconcile(key)
        except ApiError:
            continue
        if result.after and result.after >= _AT_REST:
            return True
    return False


async def rest_at(controller: Controller, key: Key, clock: ManualClock, moment: str) -> None:
    """As `rest`, at another time, with everything seen that happened until then."""
    await clock.advance_to(moment)
    await caught_up(controller)
    assert await rest(controller, key), "the plan never comes to rest"


async def caught_up(controller: Controller) -> None:
    """Return when the watches have seen everything."""
    for source in controller.sources:
        while not await up_to_date(source.cache):
            continue  # the look itself waits for the API server
