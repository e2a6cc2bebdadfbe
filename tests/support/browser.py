"""A browser without a screen: keeps cookies as browsers do, follows redirects when told to, sends forms."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from types import TracebackType
from typing import Self
from urllib.parse import urlencode, urljoin, urlsplit

import aiohttp
from yarl import URL


@dataclass(frozen=True)
class Answer:
    url: str  # as the browser knows it
    status: int
    headers: dict[str, str]
    set_cookies: tuple[str, ...]
    text: str

    @property
    def location(self) -> str:
        return urljoin(self.url, self.headers["location"])

    def field(self, name: str) -> str:
        """The value of a hidden field."""
        found = re.search(rf'name="{name}" value="([^"]*)"', self.text)
        assert found, self.text
        return found[1]


@dataclass
class Browser:
    """`base_url` is reached at `replica`: another replica may answer each request."""

    base_url: str
    replica: str
    cookies: dict[str, dict[str, str]] = field(default_factory=dict)  # by host
    headers: dict[str, str] = field(default_factory=dict)
    _session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._session
        await self._session.close()

    async def get(self, url: str, **headers: str) -> Answer:
        return await self.request("GET", url, headers=headers)

    async def post(self, url: str, form: dict[str, str] | bytes, **headers: str) -> Answer:
        """Send a form of a page of the same site, as browsers mark it."""
        body = form if isinstance(form, bytes) else urlencode(form).encode()
        sent = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
        return await self.request("POST", url, body=body, headers=sent | headers)

    async def request(
        self, method: str, url: str, *, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Answer:
        assert self._session
        url = urljoin(self.base_url + "/", url)
        parts = urlsplit(url)
        jar = self.cookies.setdefault(parts.netloc, {})
        sent = self.headers | {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        if jar:
            sent.setdefault("cookie", "; ".join(f"{name}={value}" for name, value in jar.items()))
        ours = url.startswith(self.base_url + "/")
        where = self.replica + url.removeprefix(self.base_url) if ours else url
        if ours:
            sent["host"] = parts.netloc
        async with self._session.request(
            method, URL(where, encoded=True), data=body or None, headers=sent, allow_redirects=False
        ) as answer:
            text = await answer.text(errors="replace")
            cookies = tuple(answer.headers.getall("set-cookie", ()))
            found = {name.lower(): value for name, value in answer.headers.items()}
        for line in cookies:
            self._keep(jar, line)
        return Answer(url, answer.status, found, cookies, text)

    @asynccontextmanager
    async def connect(self, path: str, origin: str | None) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """A WebSocket, as a page of this origin opens it; WSServerHandshakeError where it is refused."""
        assert self._session
        host = urlsplit(self.base_url).netloc
        jar = self.cookies.get(host, {})
        headers = {"host": host, "cookie": "; ".join(f"{name}={value}" for name, value in jar.items())}
        if origin is not None:
            headers["origin"] = origin
        async with self._session.ws_connect(self.replica + path, headers=headers) as socket:
            yield socket

    async def follow(self, answer: Answer) -> Answer:
        """Follow redirects to the end."""
        while answer.status in {302, 303}:
            answer = await self.get(answer.location)
        return answer

    async def follow_until(self, answer: Answer, prefix: str) -> str:
        """Follow redirects up to one that leads here, and say where exactly."""
        while not answer.location.startswith(prefix):
            answer = await self.get(answer.location)
        return answer.location

    def _keep(self, jar: dict[str, str], line: str) -> None:
        for name, morsel in SimpleCookie(line).items():
            if morsel["max-age"] == "0" or "1970" in morsel["expires"]:
                jar.pop(name, None)
            else:
                jar[name] = morsel.value
