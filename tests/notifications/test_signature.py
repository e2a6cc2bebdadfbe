"""A receiver in another language checks what we sign, with the library of Standard Webhooks."""

import base64
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whenever import Instant

from hibernator.notifications.config import WebhookConfig
from hibernator.notifications.occasions import Occasion, Parcel
from hibernator.notifications.outbound import Outbound
from hibernator.notifications.sinks import SinkClients, deliver
from support.notifying import LOOPBACK, http_sink
from support.pages import ROOT, blocks
from support.peers import peers_folder

SECRET = f"whsec_{base64.b64encode(b'k' * 32).decode()}"
ONE = Occasion(
    id="1",
    event="Failure",
    type="hibernateplan.sleep.failed",
    kind="HibernatePlan",
    namespace="team-a",
    name="shop",
    uid="u",
    time="2026-03-02T20:00:00Z",
    message="ünïcode",
)
_DRIVER = """
import { readFileSync } from "node:fs";
const asked = JSON.parse(readFileSync(0, "utf8"));
const answers = asked.map(({ secret, body, headers }) => {
  try { return received(secret, body, headers).id; } catch (error) { return "refused"; }
});
console.log(JSON.stringify(answers));
"""


def ask(folder: Path, *requests: Mapping[str, Any]) -> list[str]:
    [block] = [one for one in blocks(ROOT / "docs/guides/notifications.md") if one.language == "js"]
    (folder / "node_modules").symlink_to(peers_folder() / "node_modules")
    (folder / "receiver.mjs").write_text(block.text + _DRIVER, encoding="utf-8")
    done = subprocess.run(
        ["node", str(folder / "receiver.mjs")],
        input=json.dumps(requests),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(done.stdout)
    return found


async def test_the_receiver_of_the_guide_takes_what_we_sign_and_nothing_else(tmp_path: Path) -> None:
    now = Instant.now()
    other = f"whsec_{base64.b64encode(b'x' * 32).decode()}"
    async with http_sink() as sink, Outbound(LOOPBACK) as out:
        config = WebhookConfig(url=sink.url, secret=SECRET)
        await deliver(SinkClients(out), config, Parcel("msg_1", (ONE,)), "words", now)
        await deliver(SinkClients(out), config, Parcel("msg_2", (ONE,)), "words", now.subtract(hours=1))
        both = WebhookConfig(url=sink.url, secret=f"{other} {SECRET}")
        await deliver(SinkClients(out), both, Parcel("msg_3", (ONE,)), "words", now)
    body, old, last = (one.decode() for one in sink.bodies)
    good = {"secret": SECRET, "body": body, "headers": sink.headers[0]}
    replaced = {"body": last, "headers": sink.headers[2]}
    answers = ask(
        tmp_path,
        good,
        good | {"body": body.replace("team-a", "team-b")},
        good | {"secret": other},
        good | {"headers": {**sink.headers[0], "webhook-id": "msg_9"}},
        {"secret": SECRET, "body": old, "headers": sink.headers[1]},
        replaced | {"secret": SECRET},
        replaced | {"secret": other},
    )
    assert answers == ["msg_1", "refused", "refused", "refused", "refused", "msg_3", "msg_3"]
