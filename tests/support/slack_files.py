"""Files at the Slack on loopback: asked for, handed over, completed, looked at, and only then shown."""

import itertools
import json
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import web

PNG = b"\x89PNG\r\n\x1a\n"


class ProblemError(Exception):
    def __init__(self, error: str, **more: Any) -> None:
        super().__init__(error)
        self.answer = {"ok": False, "error": error, **more}


class Slack(Protocol):
    url: str

    def now(self) -> float: ...


@dataclass
class Files:
    slack: Slack
    processing: float = 0.0  # seconds until a file can be shown
    lengths: dict[str, int] = field(default_factory=dict)  # that were announced
    contents: dict[str, bytes] = field(default_factory=dict)
    ready_at: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)

    def place(self, args: dict[str, Any]) -> dict[str, Any]:
        if not args["length"].isdecimal() or args["length"] == "0" or not args["filename"]:
            raise ProblemError("invalid_arguments")
        file = f"F{next(self._numbers):08}"
        self.lengths[file] = int(args["length"])
        return {"upload_url": f"{self.slack.url}/upload/{file}", "file_id": file}

    async def take(self, request: web.Request) -> web.Response:
        file, content = request.match_info["file"], await request.read()
        if "Authorization" in request.headers or len(content) != self.lengths.get(file):
            return web.Response(status=400)
        self.contents[file] = content
        return web.Response(text=f"OK - {len(content)}")

    def complete(self, args: dict[str, Any]) -> dict[str, Any]:
        found = json.loads(args["files"])
        for one in found:
            if one.get("id") not in self.contents:
                raise ProblemError("file_not_found")
            self.ready_at[one["id"]] = self.slack.now() + self.processing
        return {"files": [{"id": one["id"], "title": one.get("title", "")} for one in found]}

    def problems(self, blocks: list[dict[str, Any]]) -> list[str]:
        return [
            f"invalid slack file [json-pointer:/blocks/{number}/slack_file]"
            for number, block in enumerate(blocks)
            if block["type"] == "image" and not self._is_shown(block.get("slack_file", {}).get("id", ""))
        ]

    def _is_shown(self, file: str) -> bool:
        ready = self.ready_at.get(file)
        return ready is not None and self.slack.now() >= ready and self.contents[file].startswith(PNG)
