"""A write to an API server, repeated until it is known to have happened or not to be needed.

A conflict, a lost answer and an error of the server have the same cure: read the object again, and decide
again what is left to do. Only when that failed several times in a row does it cost the target an attempt.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from hibernator.executors.protocol import Permanent, Retryable, Throttled
from hibernator.kube import errors
from hibernator.kube.backoff import backoff

T = TypeVar("T")
_TRIES: Final = 7  # a busy object gets a new version several times a second


async def insist(
    key: str,
    seen: T | None,
    read: Callable[[], Awaitable[T | None]],
    write: Callable[[T], Awaitable[object]],
) -> None:
    """Let `write` act on the thing as it was seen; if that no longer holds, or is not known, read it again.

    A thing that is not there needs no write.
    """
    last: errors.ApiError | None = None
    with typed():
        for failures in range(_TRIES):
            thing = seen if seen is not None else await read()
            if thing is None:
                return
            try:
                await write(thing)
            except (errors.Conflict, errors.NotFound) as error:
                last = error
            except errors.Unavailable as error:
                last = error
                await asyncio.sleep(max(error.retry_after or 0.0, backoff(failures)))
            else:
                return
            seen = None
        if isinstance(last, errors.Unavailable):
            raise last
    raise Retryable(f"{key} was changed by others each time it was about to be written.")


def sure_of(error: errors.NotFound) -> None:
    """Raise unless an API server has said that the object is not there.

    What stands before it, as an ingress without a backend, answers 404 to everything, and gives no reason.
    """
    if error.reason != "NotFound":
        raise errors.Unavailable(f"it was answered 404, and not by an API server: {error.message}") from error


@contextmanager
def typed() -> Iterator[None]:
    """Errors of the API server as what follows from them."""
    try:
        yield
    except errors.Throttled as error:
        raise Throttled(error.message, retry_after=error.retry_after) from error
    except (errors.Forbidden, errors.Invalid) as error:
        raise Permanent(f"The API server refused it: {error.message}") from error
    except (errors.ApiError, TimeoutError, OSError) as error:
        raise Retryable(f"The API server did not do it: {error}") from error
