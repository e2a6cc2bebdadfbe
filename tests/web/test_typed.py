"""What is typed before a log-in that is over is there again after it, whatever was typed."""

import random
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response

from hibernator.web.requests import LONGEST_REASON
from hibernator.web.sealing import Keyring
from hibernator.web.typed import COOKIE, Typed
from support.clock import ManualClock

PATH = "/approve/00000000-0000-0000-0000-000000000000"
COOKIE_HOLDS = 4_096  # bytes, in every browser
SAID = {
    "lines and quotes": 'He said "no"\nand "why"?\n\t\\o/ ',
    "another script": "本番環境のリリースを監視するため、今夜は停止しないでください。",
    "control characters": "\x00\x01\x02",
    "pictures": "🚀🔥🛑 ",
}


@pytest.fixture
def typed(tmp_path: Path) -> Typed:
    (tmp_path / "keys").write_text("k" * 32)
    return Typed(Keyring(tmp_path / "keys"), ManualClock())


def kept(typed: Typed, text: str) -> str:
    """What comes back of it."""
    response = Response()
    typed.keep(response, PATH, text)
    cookie = response.headers["set-cookie"]
    assert len(cookie) < COOKIE_HOLDS
    pair = cookie.partition(";")[0].encode()
    assert pair.startswith(COOKIE.encode())
    return typed.find(Request({"type": "http", "path": PATH, "headers": [(b"cookie", pair)]}))


@pytest.mark.parametrize("said", SAID)
def test_the_longest_reason_is_there_again_after_the_log_in(typed: Typed, said: str) -> None:
    text = (SAID[said] * LONGEST_REASON)[:LONGEST_REASON]
    assert kept(typed, text) == text


def test_what_no_cookie_holds_comes_back_as_far_as_it_fits(typed: Typed) -> None:
    dice = random.Random(7)
    text = "".join(chr(dice.randrange(0x4E00, 0x9FFF)) for _ in range(4 * LONGEST_REASON))
    back = kept(typed, text)
    assert text.startswith(back)
    assert len(back) > LONGEST_REASON
