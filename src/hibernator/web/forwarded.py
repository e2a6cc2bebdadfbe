"""Where a request comes from. Proxies say so in a header, which anybody can write: only ours are believed."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

# Some load balancers of clouds write the port, too.
_WITH_PORT: Final = re.compile(r"(?:([\d.]+)|\[([^\]]+)\]):\d+")

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address


def sender(peer: str, forwarded_for: str, proxies: Sequence[Network]) -> str:
    """Who sent a request: the last address of the list that is none of our proxies."""
    found = peer
    for word in reversed(forwarded_for.split(",")):
        address = _without_port(word.strip())
        # What is no address was not written by a proxy of ours.
        if not _is_ours(found, proxies) or _parsed(address) is None:
            break
        found = address
    return found


def shared_by(address: str) -> str:
    """What one person has for themselves: an address of IPv4, a network of IPv6."""
    found = _parsed(address)
    if isinstance(found, IPv6Address):
        return str(IPv6Network((found, 64), strict=False))
    return str(found) if found else address


def _without_port(text: str) -> str:
    found = _WITH_PORT.fullmatch(text)
    return (found[1] or found[2]) if found else text


def _is_ours(address: str, proxies: Sequence[Network]) -> bool:
    found = _parsed(address)
    return found is not None and any(found in network for network in proxies)


def _parsed(text: str) -> Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found
