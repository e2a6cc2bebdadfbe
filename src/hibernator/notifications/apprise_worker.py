"""The inside of the process that sends through Apprise, which can do far more than a sink may.

Apprise reads files that an address names, starts programs, opens connections of any kind and follows
redirects. An audit hook of Python refuses all of that, whatever plug-in tries it: it cannot be removed again,
and it sees each address at the moment of the connection, after DNS.
"""

import logging
import mimetypes
import os
import sys
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from apprise import Apprise, AppriseAsset, NotifyFormat, NotifyType, OverflowMode
from apprise.manager_plugins import NotificationManager
from requests.adapters import HTTPAdapter

from hibernator.kube.child_worker import run
from hibernator.messages.channel import AwayError, RefusedError
from hibernator.notifications.outbound import (
    REDIRECT,
    Answer,
    Networks,
    asked_wait,
    is_allowed,
    is_inside,
    taken,
)

_SECONDS: Final = 15.0
_MOST_ANSWER: Final = 64 * 1024
_READABLE: Final = tuple(
    str(Path(found).resolve()) + os.sep for found in {sys.prefix, sys.base_prefix, *zoneinfo.TZPATH}
)
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NEVER: Final = frozenset(
    {
        *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty"),
        *("pty.spawn", "ctypes.dlopen", "socket.bind", "socket.sendto", "socket.sendmsg", "sqlite3.connect"),
        *("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
        *("os.chmod", "os.chown", "os.kill", "os.putenv", "tempfile.mkstemp", "tempfile.mkdtemp"),
    }
)


class DeniedError(PermissionError):
    """It is nothing that a sink may do."""


@dataclass(slots=True)
class State:
    """Of the question that is being answered."""

    networks: Networks = ()
    scheme: str = ""  # of the request under way; empty while there is none
    denied: str = ""  # the first thing that was refused
    answer: Answer | None = None  # the last one

    def deny(self, why: str) -> DeniedError:
        self.denied = self.denied or why
        return DeniedError(why)


_STATE: Final = State()


def guard(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook."""
    if event == "socket.connect":
        _check_connection(arguments[1])
    elif event == "open":
        _check_file(arguments[0], arguments[2])
    elif event in _NEVER:
        raise _STATE.deny("it would do more than send a message")


def _check_connection(address: Any) -> None:
    if not _STATE.scheme:
        raise _STATE.deny("it connects by other means than https")
    try:
        host = str(address[0])
        is_open = is_allowed(host, _STATE.networks)
    except (ValueError, TypeError, IndexError):  # a name, or a file: what is not looked at is not let through
        raise _STATE.deny("it connects to what is no address") from None
    if not is_open:
        raise _STATE.deny(
            f"the address {host} is inside of the cluster or its network, where sinks must not be: an "
            "administrator can allow networks with notificationNetworks"
        )
    if _STATE.scheme == "http" and not is_inside(host, _STATE.networks):
        raise _STATE.deny("plain http is accepted only in notificationNetworks")


def _check_file(path: Any, flags: Any) -> None:
    """Python's own files and those of its packages, for imports that come late; nothing else."""
    if isinstance(path, int):
        return  # a socket's own descriptor
    written = isinstance(flags, int) and flags & _WRITES
    if written or not os.path.realpath(os.fsdecode(path)).startswith(_READABLE):
        raise _STATE.deny("it reads or writes files")


_send = HTTPAdapter.send


def _checked_send(self: HTTPAdapter, request: Any, *_: object, timeout: Any = None, **__: object) -> Any:
    """Whatever a plug-in or its address asks for: certificates are checked, and answers are short."""
    scheme = urlsplit(request.url).scheme
    if scheme != "https" and not (scheme == "http" and _STATE.networks):
        raise requests.exceptions.InvalidSchema(
            str(_STATE.deny("plain http is accepted only in notificationNetworks"))
        )
    _STATE.scheme = scheme
    try:
        response = _send(self, request, stream=True, timeout=timeout or _SECONDS, verify=True, proxies={})
        body = response.raw.read(_MOST_ANSWER + 1, decode_content=True)
    finally:
        _STATE.scheme = ""
    if len(body) > _MOST_ANSWER:
        raise requests.exceptions.ContentDecodingError(str(_STATE.deny("its answer is too long")))
    response._content = body  # noqa: SLF001 — as requests itself keeps what it has read
    response._content_consumed = True  # noqa: SLF001
    _STATE.answer = Answer("the service", response.status_code, body, asked_wait(response.headers))
    return response


@cache
def _shut() -> None:
    """From the first question on; before, the process itself opens what it needs."""
    sys.addaudithook(guard)


def answer(asked: Mapping[str, Any]) -> dict[str, Any]:
    """`sent`, `refused` for good, or `away` for now, with why."""
    _shut()
    _STATE.networks = tuple(map(ip_network, asked["networks"]))
    _STATE.scheme, _STATE.denied, _STATE.answer = "", "", None
    try:
        return _outcome(*_notify(asked), asked["type"])
    except RefusedError as error:
        return {"result": "refused", "why": str(error)}
    except AwayError as error:
        return {"result": "away", "why": str(error), "after": error.after}
    except Exception as error:  # noqa: BLE001 — a hundred plug-ins raise what they like
        return {"result": "away", "why": _STATE.denied or f"unexpected {type(error).__name__} in Apprise"}


def _notify(asked: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether the plug-in says that it was sent, and what it logs."""
    asset = AppriseAsset(
        storage_mode="memory", service_timeout=_SECONDS, async_mode=False, timezone="UTC", language="en"
    )
    server = Apprise.instantiate(asked["url"], asset=asset)
    if server is None:
        raise AwayError(_STATE.denied or "the address in the Secret is none that Apprise understands")
    server.overflow_mode = OverflowMode.TRUNCATE
    found = Apprise(asset=asset)
    found.add(server)
    result = found.notify(
        body=asked["body"],
        title=asked["title"],
        notify_type=NotifyType(asked["type"]),
        body_format=NotifyFormat.TEXT,
        log_level=logging.WARNING,
    )
    return bool(result), " ".join(entry.message for entry in result.logs())


def _outcome(is_sent: bool, logged: str, type_: str) -> dict[str, Any]:  # noqa: FBT001
    """A plug-in may try what is refused and do without; some take a redirect, or nothing, for a success."""
    found = _STATE.answer
    if is_sent and found is None and not _STATE.denied:
        raise RefusedError(f"Apprise sent nothing: this service takes no messages of the type {type_}")
    if is_sent and found and found.status not in REDIRECT:
        return {"result": "sent"}
    if _STATE.denied:
        raise AwayError(_STATE.denied)
    if found:
        taken(found)
    raise AwayError(f"Apprise could not send it: {logged or 'without a reason'}")


def main() -> None:
    plugins: Any = NotificationManager
    plugins().load_modules()
    mimetypes.init()
    logging.getLogger("apprise").propagate = False
    HTTPAdapter.send = _checked_send  # type: ignore[method-assign]
    requests.Session.get_redirect_target = lambda *_: None  # type: ignore[method-assign]
    run(answer)


if __name__ == "__main__":
    main()
