"""The messages of the web process as a process of its own, which Slack kills in the middle of a call."""

import json
import os
import signal
from pathlib import Path
from typing import Any

from support.clock import ManualClock
from support.mortal import Fate
from support.posts import posting
from support.slack import LoopbackSlack

_SOON = 10.0  # seconds in which all is sent that waits only for another message in the same conversation


async def keep(_fate: Fate, arguments: list[str]) -> None:
    """Send and change all that is due from a moment on; then end."""
    kubeconfig, namespace, folder, at, slack = arguments
    (Path(folder) / "pid").write_text(str(os.getpid()))
    clock = ManualClock(at)
    given = Path(kubeconfig), namespace, Path(folder), clock
    async with posting(*given, is_first=False, **json.loads(slack)) as post:
        clock.settles_with(post.settle)
        await clock.advance(_SOON)


class Killer:
    """Kills who calls Slack, when the call is done and not answered: once for each call of a life."""

    def __init__(self, slack: LoopbackSlack, pid: Path) -> None:
        self._slack = slack
        self._pid = pid
        self._killed = ""
        self.killed_after: list[tuple[str, str]] = []
        slack.after_call = self._called

    def _called(self, method: str) -> None:
        call = method, _what(self._slack.calls[-1][1])
        pid = self._pid.read_text()
        if call not in self.killed_after and pid != self._killed:  # one of two calls
            self.killed_after.append(call)
            self._killed = pid
            os.kill(int(pid), signal.SIGKILL)


def _what(args: dict[str, Any]) -> str:
    """What a call is about, the same for each process that makes it."""
    if "metadata" not in args:
        return str([args.get(key) for key in ("email", "users", "channel", "ts")])
    blocks = [one for one in args["blocks"] if one["type"] != "image"]  # whose file has another id each time
    return str([args["metadata"]["event_payload"]["id"], args["text"], blocks])
