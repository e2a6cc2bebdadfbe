"""One AWS account in one region: calls that read, calls that change something, and what their failures mean.

A call is sent once. Reading is tried again a few times; what changes something never is, because only a look
tells whether it happened, and looking is what executors do anyway. A change asks the fence of the leadership
first and may not take longer than that allows, so that a replica which lost its lease changes nothing.
"""

import asyncio
import copy
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import aiohttp
from aiobotocore.config import AioConfig
from aiobotocore.credentials import AioDeferredRefreshableCredentials
from aiobotocore.session import AioSession
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
)
from botocore.parsers import ResponseParserError

from hibernator import __version__
from hibernator.executors.protocol import Job, Permanent, Retryable, Throttled
from hibernator.kube.backoff import backoff
from hibernator.kube.transport import Fence

Document = Mapping[str, Any]
T = TypeVar("T")

_CONFIG: Final = AioConfig(
    connect_timeout=5,
    read_timeout=20,
    retries={"total_max_attempts": 1, "mode": "standard"},
    user_agent_extra=f"hibernator/{__version__}",
)
_DEADLINE: Final = 30.0  # seconds for a call, and after which none is tried again
_LIST_DEADLINE: Final = 120.0
_TRIES: Final = 3
_PAUSE: Final = 5.0  # seconds, after AWS asked to slow down
_LONGEST_MESSAGE: Final = 500
_SERVER_ERRORS: Final = 500
_TOO_MANY: Final = 429
_THROTTLED: Final = {
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
    "RequestLimitExceeded",
    "EC2ThrottledException",
    "SlowDown",
}
# The thing is in the middle of something, or there is no room right now.
_LATER: Final = {
    "IncorrectInstanceState",
    "InsufficientInstanceCapacity",
    "InvalidDBClusterStateFault",
    "InvalidDBInstanceState",
    "InvalidDBInstanceStateFault",
    "ResourceContention",
    "ResourceInUseException",
    "ScalingActivityInProgress",
    "ServerException",
    "ServiceUnavailableException",
    "ExpiredToken",
    "ExpiredTokenException",
    "RequestExpired",
}
_NOT_LET_IN: Final = {
    "AuthFailure",
    "IncompleteSignature",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidIdentityToken",
    "MissingAuthenticationToken",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}


class AwsRefusedError(Permanent):
    """AWS said no, and will again. `code` is its own word for why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Keys:
    """Static keys; never shown, not even in a traceback."""

    id: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


class AwsAccount:
    """Share one between everything that works in the account; close it in the end."""

    def __init__(
        self, session: AioSession, region: str, *, endpoint: str | None = None, fence: Fence | None = None
    ) -> None:
        self.region = region
        self.endpoint = endpoint
        self._session = session
        self._fence = fence
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = asyncio.Lock()
        self._stack = AsyncExitStack()

    def at(self, region: str) -> "AwsAccount":
        """The same account, elsewhere."""
        there = copy.copy(self)
        there.region = region
        return there

    async def close(self) -> None:
        await self._stack.aclose()

    async def read(self, service: str, operation: str, **parameters: Any) -> Document:
        call = await self._call(service, operation, parameters)
        return await _again(lambda: _send(call, _DEADLINE))

    async def pages(self, service: str, operation: str, part: str, **parameters: Any) -> list[Document]:
        """A part of all the pages of an answer."""
        client = await self._client(service)

        async def gather() -> list[Document]:
            pages = client.get_paginator(operation).paginate(**parameters)
            return [one async for page in pages for one in page.get(part) or ()]

        return await _again(lambda: _send(gather, _LIST_DEADLINE))

    async def write(self, service: str, operation: str, **parameters: Any) -> Document:
        call = await self._call(service, operation, parameters)
        seconds = min(_DEADLINE, self._fence()) if self._fence else _DEADLINE
        return await _send(call, seconds)

    async def credentials(self) -> Any:
        """The keys of this moment, for those who sign something by themselves."""
        with _typed():
            found = await self._session.get_credentials()
            if found is None:
                raise NoCredentialsError
            return await found.get_frozen_credentials()

    async def _call(
        self, service: str, operation: str, parameters: dict[str, Any]
    ) -> Callable[[], Awaitable[Document]]:
        return partial(getattr(await self._client(service), operation), **parameters)

    async def _client(self, service: str) -> Any:
        key = service, self.region
        async with self._lock:
            if key not in self._clients:
                with _typed():
                    making = _make(self._session, service, self.region, self.endpoint)
                    self._clients[key] = await self._stack.enter_async_context(making)
            return self._clients[key]


class AwsAccounts(Protocol):
    """Where executors find the account of a target."""

    async def aws(self, job: Job) -> AwsAccount:
        """The account that the target's connector names; the errors of `protocol` when there is none."""


def tags_of(thing: Document, part: str = "Tags") -> dict[str, str]:
    """The tags of a thing, as most of AWS's services list them."""
    return {tag["Key"]: tag.get("Value", "") for tag in thing.get(part) or ()}


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def sign_in(keys: Keys | None, role: str | None, region: str, endpoint: str | None) -> AioSession:
    """With keys, or as whoever AWS takes this process for; then in a role, if there is one to take on."""
    session = AioSession()
    if keys:
        session.set_credentials(keys.id, keys.secret, keys.token)
    if role is None:
        return session
    acting = AioSession()
    acting._credentials = AioDeferredRefreshableCredentials(  # noqa: SLF001 — it has no other way in for them
        partial(_assume, session, role, region, endpoint), method="assume-role"
    )
    return acting


async def _assume(session: AioSession, role: str, region: str, endpoint: str | None) -> dict[str, str]:
    async with _make(session, "sts", region, endpoint) as sts:
        answer = await sts.assume_role(RoleArn=role, RoleSessionName="hibernator")
    given = answer["Credentials"]
    return {
        "access_key": given["AccessKeyId"],
        "secret_key": given["SecretAccessKey"],
        "token": given["SessionToken"],
        "expiry_time": given["Expiration"].isoformat(),
    }


def _make(session: AioSession, service: str, region: str, endpoint: str | None) -> Any:
    return session.create_client(service, region_name=region, endpoint_url=endpoint, config=_CONFIG)


async def _again(attempt: Callable[[], Awaitable[T]]) -> T:
    """Reading harms nobody: a lost answer is asked for once more."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + _DEADLINE
    for failures in range(1, _TRIES):
        try:
            return await attempt()
        except Retryable:
            if loop.time() >= give_up:
                raise
            await asyncio.sleep(backoff(failures))
    return await attempt()


async def _send(call: Callable[[], Awaitable[T]], seconds: float) -> T:
    with _typed():
        async with asyncio.timeout(seconds):
            return await call()


@contextmanager
def _typed() -> Iterator[None]:
    """Errors of AWS as what follows from them."""
    try:
        yield
    except ClientError as error:
        raise _meaning(error) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise AwsRefusedError(
            "MissingAuthenticationToken",
            "AWS gives this process no identity: annotate the operator's service account with the role that "
            "it shall have, or use keys from a Secret.",
        ) from error
    except ParamValidationError as error:
        raise Permanent(f"AWS would not understand it: {error}") from error
    except ResponseParserError as error:
        # Its words have the whole answer in them, and whose that is, is up to who wrote the endpointURL.
        raise Retryable("What answers is not AWS: look at endpointURL.") from error
    except (BotoCoreError, aiohttp.ClientError, OSError, TimeoutError) as error:
        raise Retryable(f"AWS did not answer: {str(error) or type(error).__name__}") from error


def _meaning(error: ClientError) -> Exception:
    said = error.response.get("Error", {})
    code, message = str(said.get("Code", "")), " ".join(str(said.get("Message", "")).split())
    if code.isdecimal():  # not an error of AWS, but whatever something in between has answered
        message = ""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    told = f"{error.operation_name}: {message[:_LONGEST_MESSAGE] or code}"
    if code in _THROTTLED or status == _TOO_MANY:
        return Throttled(f"AWS gets too many requests ({error.operation_name}).", retry_after=_PAUSE)
    if code in _LATER or status >= _SERVER_ERRORS:
        return Retryable(f"AWS did not do it now. {told}")
    if code in _NOT_LET_IN:
        # Not in AWS's words: these repeat what was signed.
        return AwsRefusedError(code, f"AWS does not accept the keys ({code}): give it valid ones.")
    return AwsRefusedError(code, f"AWS refused it. {told}")
