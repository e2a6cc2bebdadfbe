"""Nothing sleeps: for drills, and for trying out an order, a failure or a pause."""

from typing import ClassVar

from hibernator.api.parameters import NoopParameters
from hibernator.api.planstatus import Rest
from hibernator.executors.protocol import (
    PATIENCE,
    Executor,
    Item,
    Job,
    Permanent,
    Retryable,
    Saved,
    parameters,
)


class Noop(Executor):
    usual_patience: ClassVar[float] = PATIENCE

    async def discover(self, job: Job) -> tuple[Item, ...]:
        return tuple(
            Item(key=f"noop-{number}", restore={"number": number}) for number in range(_parameters(job).items)
        )

    async def sleep(self, job: Job, item: Saved) -> None:
        _maybe_fail(job, item, "sleep")

    async def wake(self, job: Job, item: Saved) -> None:
        _maybe_fail(job, item, "wake")

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        del item, rest
        return (job.now - job.began).total("seconds") >= _parameters(job).delay_seconds

    def patience(self, job: Job) -> float | None:
        """A delay is waited for in any case: to take long is all that such an item can do."""
        delay = _parameters(job).delay_seconds
        return super().patience(job) or (PATIENCE + delay if delay else None)


def _parameters(job: Job) -> NoopParameters:
    found = parameters(job.target)
    if not isinstance(found, NoopParameters):
        raise Permanent(f"The target {job.target.name} is not of type noop.")
    return found


def _maybe_fail(job: Job, item: Saved, direction: str) -> None:
    wanted = _parameters(job)
    if wanted.failure_mode not in {direction, "both"}:
        return
    if wanted.failures is None or job.attempt <= wanted.failures:
        raise Retryable(wanted.failure_message or f"{item.key} was asked to fail to {direction}.")
