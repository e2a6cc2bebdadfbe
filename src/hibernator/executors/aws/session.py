"""AWS's own library: how one signs in, how a client is made, and what its errors mean.

It takes a tenth of a second and several megabytes to import. So only who opens an account imports this module
(`logins`); everything else knows AWS as `aws.AwsSession`.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Final

import aiohttp
from aiobotocore.config import AioConfig
from aiobotocore.credentials import AioDeferredRefreshableCredentials
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import AioSession
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
)
from botocore.parsers import ResponseParserError

from hibernator import __version__
from hibernator.executors.aws.account import AwsRefusedError, Keys
from hibernator.executors.protocol import Permanent, Retryable, Throttled
from hibernator.kube import bounded

_LARGEST: Final = 16 * 2**20  # bytes of an answer


class _Bounded(AIOHTTPSession):  # type: ignore[misc]  # the library has no types
    """Reads an answer only up to a limit: who wrote the endpointURL chooses what answers."""

    async def send(self, request: Any) -> Any:
        request.stream_output = True  # leaves the body to us
        answer = await super().send(request)
        answer._content = await bounded.read(answer.raw, _LARGEST)  # noqa: SLF001  where `content` keeps it
        return answer


_CONFIG: Final = AioConfig(
    http_session_cls=_Bounded,
    connect_timeout=5,
    read_timeout=20,
    retries={"total_max_attempts": 1, "mode": "standard"},
    user_agent_extra=f"hibernator/{__version__}",
)
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


class Session:
    """One identity at AWS."""

    def __init__(self, session: AioSession) -> None:
        self._session = session

    def client(self, service: str, region: str, endpoint: str | None) -> Any:
        return self._session.create_client(service, region_name=region, endpoint_url=endpoint, config=_CONFIG)

    async def signed(
        self, region: str, url: str, query: Mapping[str, str], headers: Mapping[str, str], seconds: int
    ) -> str:
        found = await self._session.get_credentials()
        if found is None:
            raise NoCredentialsError
        request = AWSRequest(method="GET", url=url, params=query, headers=headers)
        credentials = await found.get_frozen_credentials()
        SigV4QueryAuth(credentials, "sts", region, expires=seconds).add_auth(request)
        return str(request.prepare().url)

    def errors(self) -> AbstractContextManager[None]:
        return _typed()


def sign_in(keys: Keys | None, role: str | None, region: str, endpoint: str | None) -> Session:
    """With keys, or with the identity that AWS gives this process; then in a role, if one is named."""
    session = AioSession()
    if keys:
        session.set_credentials(keys.id, keys.secret, keys.token)
    if role is None:
        return Session(session)
    acting = AioSession()
    acting._credentials = AioDeferredRefreshableCredentials(  # noqa: SLF001 — it has no other way in for them
        partial(_assume, Session(session), role, region, endpoint), method="assume-role"
    )
    return Session(acting)


async def _assume(session: Session, role: str, region: str, endpoint: str | None) -> dict[str, str]:
    async with session.client("sts", region, endpoint) as sts:
        answer = await sts.assume_role(RoleArn=role, RoleSessionName="hibernator")
    given = answer["Credentials"]
    return {
        "access_key": given["AccessKeyId"],
        "secret_key": given["SecretAccessKey"],
        "token": given["SessionToken"],
        "expiry_time": given["Expiration"].isoformat(),
    }


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
    detail = f"{error.operation_name}: {message[:_LONGEST_MESSAGE] or code}"
    if code in _THROTTLED or status == _TOO_MANY:
        return Throttled(f"AWS gets too many requests ({error.operation_name}).", retry_after=_PAUSE)
    if code in _LATER or status >= _SERVER_ERRORS:
        return Retryable(f"AWS did not do it now. {detail}")
    if code in _NOT_LET_IN:
        # Not in AWS's words: these repeat what was signed.
        return AwsRefusedError(code, f"AWS does not accept the keys ({code}): give it valid ones.")
    return AwsRefusedError(code, f"AWS refused it. {detail}")
