"""What holds for every request: whose page sent it, from where, and how often."""

import pytest
from starlette.datastructures import Headers

from hibernator.web.forwarded import sender, shared_by
from hibernator.web.limits import Limit, Rate
from hibernator.web.safety import headers, is_ours
from hibernator.web.settings import Settings, proxies

OURS = "https://hibernator.company.com"
PROXIES = proxies(Settings(trusted_proxies="10.0.0.0/8,fd00::/8"))


@pytest.mark.parametrize(
    ("sent", "ours"),
    [
        ({"origin": OURS}, True),
        ({"origin": OURS, "sec-fetch-site": "same-origin"}, True),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, True),  # of a page without a referrer
        ({"sec-fetch-site": "same-origin"}, True),
        ({}, True),  # no browser; the token in the form decides
        ({"origin": "null"}, False),
        ({"origin": "https://evil.com"}, False),
        ({"origin": f"{OURS}.evil.com"}, False),
        ({"origin": "http://hibernator.company.com"}, False),
        ({"origin": "https://evil.com", "sec-fetch-site": "same-origin"}, False),
        ({"origin": OURS, "sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "none"}, False),
    ],
)
def test_only_a_page_of_ours_may_change_something(sent: dict[str, str], ours: bool) -> None:  # noqa: FBT001
    assert is_ours(Headers(sent), OURS) is ours


@pytest.mark.parametrize(
    ("peer", "header", "expected"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "203.0.113.9", "192.0.2.1"),  # no proxy of ours
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.2.3.4, 203.0.113.9", "203.0.113.9"),  # the first one was made up
        ("10.0.0.1", "203.0.113.9, 10.1.1.1", "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9,evil", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.2", "10.0.0.2"),
        ("::ffff:10.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("fd00::1", "203.0.113.9", "203.0.113.9"),
        ("", "203.0.113.9", ""),
        ("10.0.0.1", "1.2.3.4, 203.0.113.9:51234", "203.0.113.9"),  # Azure's gateway, for one
        ("10.0.0.1", "[2001:db8::1]:443", "2001:db8::1"),
        ("10.0.0.1", "203.0.113.9:evil", "10.0.0.1"),
        ("10.0.0.1", "[evil]:1", "10.0.0.1"),
    ],
)
def test_an_address_is_believed_only_from_our_proxies(peer: str, header: str, expected: str) -> None:
    assert sender(peer, header, PROXIES) == expected


def test_a_network_of_ipv6_is_one_who_asks() -> None:
    assert shared_by("2001:db8::1") == shared_by("2001:db8::ffff")
    assert shared_by("2001:db8::1") != shared_by("2001:db8:0:1::1")
    assert shared_by("::ffff:192.0.2.1") == "192.0.2.1"


def test_who_asks_too_often_waits_and_others_do_not() -> None:
    now = [0.0]
    limit = Limit(Rate(burst=3, a_second=0.5), lambda: now[0])
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0, 2]
    assert limit.wait("b") == 0
    now[0] = 1.9
    assert limit.wait("a") == pytest.approx(0.1)
    now[0] = 2.0
    assert limit.wait("a") == 0
    now[0] = 1_000.0
    assert [limit.wait("a") for _ in range(4)][:3] == [0, 0, 0]


def test_a_million_addresses_take_no_memory() -> None:
    limit = Limit(Rate(burst=1, a_second=1), lambda: 0.0)
    for each in range(10_050):
        limit.wait(str(each))
    assert len(limit._left) == 10_000


def test_browsers_keep_to_tls_only_where_there_is_some() -> None:
    assert headers(OURS)["Strict-Transport-Security"] == "max-age=31536000"
    assert "Strict-Transport-Security" not in headers("http://127.0.0.1:8081")
