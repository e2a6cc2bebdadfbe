"""The body of an answer from a server that a user named, up to a limit.

Who names the server chooses what it answers: an answer without end, or a few megabytes that unpack to
gigabytes, would take all memory.
"""

import aiohttp


class TooLargeError(aiohttp.ClientError):
    """The answer is longer than the limit."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the answer has more than {most // 2**20} MiB")


async def read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The whole body; raises `TooLargeError` where it is longer, without having read all of it."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        if (size := size + len(chunk)) > most:
            response.close()
            raise TooLargeError(most)
        chunks.append(chunk)
    return b"".join(chunks)
