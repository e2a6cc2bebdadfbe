"""People who decide in Slack: an operator, a web process, and a Slack on loopback."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from hibernator.web.slack import PATH
from support.approving import ALICE, BOB, CAROL, MALLORY, Approving, approving
from support.cluster import ClusterInTest
from support.slack import APP_TOKEN, BOT_TOKEN, SECRET, TEAM, LoopbackSlack, loopback_slack

ROOM = "C024BE91L"
APPROVE, REJECT = "hibernator_approve", "hibernator_reject"


@dataclass
class SlackDesk:
    approving: Approving
    slack: LoopbackSlack
    session: aiohttp.ClientSession
    folder: Path

    async def until(self, condition: Any) -> Any:
        await self.approving.operator.until(condition)
        return condition()

    async def question(self, name: str, who: str = BOB, words: str = "Pending") -> dict[str, Any]:
        """The message that asks somebody, once it is there."""
        await self.approving.operator.settle()

        def found() -> dict[str, Any] | None:
            if who not in {user["profile"].get("email") for user in self.slack.users.values()}:
                return None
            for one in self.slack.questions(who):
                if f"*Exception*\n{name}" in str(one["blocks"]).replace("\\n", "\n") and words in one["text"]:
                    return one
            return None

        shown: dict[str, Any] = await self.until(found)
        return shown

    def recorded(self, name: str, who: str = BOB) -> bool:
        """Whether the web process knows that its question is there."""
        messages = self.approving.deliveries(name).get(who, {}).get("status", {}).get("messages", [])
        return any(
            (one["channel"], one["topic"]) == ("slack", "asked") and "sentAt" in one for one in messages
        )

    def post_of(self, name: str) -> dict[str, Any] | None:
        """What the channel shows of a request; it takes a post a second, also of other requests."""
        for one in self.slack.channel(ROOM):
            if f"*Exception*\n{name}" in str(one["blocks"]).replace("\\n", "\n"):
                return one
        return None

    async def post(self, payload: dict[str, Any], **headers: str) -> int:
        body, signed = self.slack.signed(payload)
        return await self.send(body, signed | headers)

    async def send(self, body: bytes, headers: dict[str, str]) -> int:
        url = f"{self.approving.webs.at()}{PATH}"
        async with self.session.post(url, data=body, headers=headers) as response:
            return response.status

    async def answer(self, since: int) -> str:
        """What the one who clicked is answered."""
        return str(
            (
                await self.until(
                    lambda: [one for one in self.slack.answers[since:] if not one.get("replace_original")]
                )
            )[0]["text"]
        )

    async def press(self, who: str, message: dict[str, Any], action: str = APPROVE, **more: Any) -> str:
        since = len(self.slack.answers)
        assert await self.post(self.slack.click(who, message, action, **more)) == 200
        return await self.answer(since)


@asynccontextmanager
async def slack_desk_of(crds: ClusterInTest, folder: Path) -> AsyncIterator[SlackDesk]:
    """All of it; the files of the tokens are `bot`, `signing` and `app`."""
    for name, content in (("bot", BOT_TOKEN), ("signing", SECRET), ("app", APP_TOKEN)):
        (folder / name).write_text(content)
    async with loopback_slack(pace=1.0) as slack, aiohttp.ClientSession() as session:
        for one in (ALICE, BOB, CAROL, MALLORY):
            slack.person(one)
        slack.channel(ROOM)
        chosen: dict[str, Any] = {
            "slack_bot_token_file": str(folder / "bot"),
            "slack_signing_secret_file": str(folder / "signing"),
            "slack_app_token_file": str(folder / "app"),
            "slack_api_url": f"{slack.url}/api/",
            "slack_mode": "buttons",
            "slack_team_id": TEAM,
            "slack_channel": ROOM,
        }
        namespace = crds.create_namespace()
        async with approving(crds, namespace, "https://id.company.com", folder, **chosen) as found:
            yield SlackDesk(found, slack, session, folder)
