"""A number from a Prometheus server, or one sentence about why there is none.

The address comes from what users write, so the request is kept harmless: no redirects are followed, no
credentials are sent, and neither the time nor the size of an answer is theirs to choose.
"""

import asyncio
from typing import Final

import aiohttp
import msgspec

_SECONDS: Final = 5.0
_BYTES: Final = 64 * 1024
_OK: Final = 200


class ReadingError(Exception):
    """There is no usable number; the message says why."""


class _Sample(msgspec.Struct):
    value: tuple[float, str]


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""


async def read(session: aiohttp.ClientSession, address: str, query: str) -> float:
    """Ask for the present value of a query that has exactly one."""
    url = f"{address.rstrip('/')}/api/v1/query"
    try:
        async with (
            asyncio.timeout(_SECONDS),
            session.get(url, params={"query": query}, allow_redirects=False) as response,
        ):
            body = await response.content.read(_BYTES)
            status = response.status
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise ReadingError(f"{address} does not answer: {str(error) or type(error).__name__}") from error
    return _number(body, status, address)


def _number(body: bytes, status: int, address: str) -> float:
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except msgspec.MsgspecError as error:
        raise ReadingError(f"{address} answers {status}, and not as Prometheus does") from error
    if answer.status != "success" or answer.data is None or status != _OK:
        raise ReadingError(f"{address} refuses the query: {answer.error or status}")
    try:
        if answer.data.result_type == "scalar":
            return float(msgspec.json.decode(answer.data.result, type=tuple[float, str])[1])
        samples = msgspec.json.decode(answer.data.result, type=list[_Sample])
    except (msgspec.MsgspecError, ValueError) as error:
        raise ReadingError(f"the query gives a {answer.data.result_type}, not one number") from error
    if len(samples) != 1:
        raise ReadingError(
            f"the query gives {len(samples)} values; write one that gives exactly one, as sum(…)"
        )
    return float(samples[0].value[1])
