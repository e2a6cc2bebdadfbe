"""A free port, for a server that must know its port before it starts.

Ports that the kernel hands out by itself (`bind` to 0, or an outgoing connection) come from the ephemeral
range. A port from that range which is free now may belong to someone's connection a moment later; one from
below it belongs to no one who did not ask for it by number.
"""

import random
import socket
from pathlib import Path
from typing import Final

from hibernator.controlplane.errors import ControlPlaneError

_LOWEST: Final = 20_000
_EPHEMERAL: Final = 32_768  # where Linux begins, unless it is configured otherwise
_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_ATTEMPTS: Final = 100


def free_port() -> int:
    """A port of the loopback interface that is free now, and is not handed out to anyone else by chance."""
    below = _first_ephemeral()
    for _ in range(_ATTEMPTS):
        port = random.randrange(min(_LOWEST, below // 2), below)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ControlPlaneError(f"No free port was found below {below} in {_ATTEMPTS} attempts.")


def _first_ephemeral() -> int:
    try:
        return max(int(_RANGE.read_text(encoding="ascii").split()[0]), 2_048)
    except (OSError, ValueError, IndexError):
        return _EPHEMERAL
