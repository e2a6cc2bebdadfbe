"""A number from a Prometheus server, or one sentence about why there is none.

The address comes from what users write, so the request is kept harmless: no redirects are followed, no
credentials are sent, neither the time nor the size of an answer is theirs to choose, and of what is answered
only a number or a status code is passed on: the status of a scaler is no window into other people's services.
"""

import asyncio
from typing import Final

import aiohttp
import msgspec

_SECONDS: Final = 5.0
_BYTES: Final = 64 * 1024
_OK: Final = 200
_UNREADABLE: Final = (ValueError, RecursionError)  # msgspec's errors are ValueErrors


class ReadingError(Exception):
    """There is no usable number; the message says why."""


class _Sample(msgspec.Struct):
    value: tuple[float, str]


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Answer(msgspec.Struct):
    status: str
    data: _Data


async def read(session: aiohttp.ClientSession, address: str, query: str) -> float:
    """Ask for the present value of a query that has exactly one."""
    url = f"{address.rstrip('/')}/api/v1/query"
    try:
        async with (
            asyncio.timeout(_SECONDS),
            session.get(
                url,
                params={"query": query},
                headers={"Accept-Encoding": "identity"},
                auto_decompress=False,
                allow_redirects=False,
            ) as response,
        ):
            status, body = response.status, await _beginning(response.content)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise ReadingError(
            f"{address} does not answer within {_SECONDS:g} seconds. "
            "Check the address, and that the operator can reach it"
        ) from error
    return _number(body, status, address)


async def _beginning(content: aiohttp.StreamReader) -> bytes:
    """The answer, but never more than makes sense."""
    body = b""
    while len(body) < _BYTES and (more := await content.read(_BYTES - len(body))):
        body += more
    return body


def _number(body: bytes, status: int, address: str) -> float:
    if status != _OK:
        raise ReadingError(
            f"{address} answers with status {status} instead of a number. Try the query in Prometheus itself"
        )
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except _UNREADABLE as error:
        raise ReadingError(f"{address} answers, but not as Prometheus does. Correct the address") from error
    try:
        if answer.data.result_type == "scalar":
            return float(msgspec.json.decode(answer.data.result, type=tuple[float, str])[1])
        samples = msgspec.json.decode(answer.data.result, type=list[_Sample])
        if len(samples) == 1:
            return float(samples[0].value[1])
    except _UNREADABLE as error:
        raise ReadingError("the query does not give a number. Write one that does, as sum(…)") from error
    raise ReadingError(f"the query gives {len(samples)} values. Write one that gives exactly one, as sum(…)")
