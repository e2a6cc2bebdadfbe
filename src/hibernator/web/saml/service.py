"""Log-in by SAML as the rest of the web process sees it: where to send people, and who came back."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from whenever import Instant

from hibernator.web.saml.provider import IdentityProvider, read_metadata
from hibernator.web.saml.request import Start, own_metadata, start
from hibernator.web.saml.response import Assertion, Expected, NotBelievedError, read
from hibernator.web.saml.xml import MalformedError

CONSUMER: Final = "/saml/acs"
_AT_ONCE: Final = 4  # answers that are verified at the same time; XML costs CPU


@dataclass(frozen=True, slots=True)
class ServiceProvider:
    """Ourselves in the eyes of one identity provider."""

    provider: IdentityProvider
    entity_id: str
    base_url: str
    unsolicited: bool = False  # whether people may start at the provider's portal
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    @classmethod
    def load(
        cls, path: Path, entity_id: str, base_url: str, *, unsolicited: bool = False
    ) -> "ServiceProvider":
        """Raises `ValueError` with one sentence that names the file."""
        try:
            provider = read_metadata(path.read_bytes())
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from None
        except MalformedError as error:
            raise ValueError(f"{path} is not the metadata of a SAML identity provider: {error}") from None
        return cls(provider, entity_id, base_url, unsolicited)

    @property
    def consumer(self) -> str:
        return f"{self.base_url.rstrip('/')}{CONSUMER}"

    def metadata(self) -> bytes:
        return own_metadata(self.entity_id, self.consumer)

    def start(self, request_id: str, relay_state: str, now: Instant, *, fresh: bool = False) -> Start:
        """Where a browser goes to log in; the provider sends `relay_state` back with its answer."""
        return start(
            self.provider,
            self.entity_id,
            self.consumer,
            request_id,
            relay_state=relay_state,
            now=now,
            fresh=fresh,
        )

    async def finish(self, posted: str, request_id: str, now: Instant) -> Assertion:
        """What the provider vouches for; `request_id` is empty where this browser asked for nothing."""
        if not request_id and not self.unsolicited:
            raise NotBelievedError(
                "unsolicited",
                "the SAML response is refused: this browser did not ask for it, or asked too long ago: "
                "log in again",
            )
        expected = Expected(self.provider, self.entity_id, self.consumer, request_id, now)
        async with self._turns:
            return await asyncio.to_thread(read, posted, expected)
