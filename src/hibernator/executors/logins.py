"""Which cloud a CloudProvider belongs to. A new cloud is a folder with a `login` module, and a line here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import aiohttp

from hibernator.executors.accounts import Account, Login, usable
from hibernator.executors.aws import login as aws
from hibernator.executors.gcp import login as gcp
from hibernator.kube.transport import Fence


class Cloud(Protocol):
    """What the `login` module of a cloud's folder has."""

    async def open_account(
        self, login: Login, http: aiohttp.ClientSession, fence: Fence | None, /
    ) -> Account: ...

    async def check(self, account: Account, login: Login, /) -> str:
        """Who we are there, or what we are shown; raises what a target would fail with."""


CLOUDS: Final[Mapping[str, Cloud]] = {"aws": aws, "gcp": gcp}


@dataclass(frozen=True, slots=True)
class AccountOpener:
    """How accounts are opened."""

    session: aiohttp.ClientSession
    fence: Fence | None = None

    async def open(self, login: Login) -> Account:
        if block := login.spec.block:
            usable(block.endpoint_url)
        return await CLOUDS[login.spec.type].open_account(login, self.session, self.fence)
