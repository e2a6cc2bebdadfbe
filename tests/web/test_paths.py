"""A log-in leads back to a path of ours, whatever is written into the link."""

from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from hypothesis import example, given, strategies as st

from hibernator.web.paths import login, own_path

OURS = "https://hibernator.company.com"


@pytest.mark.parametrize(
    "text",
    [
        "https://evil.com",
        "//evil.com",
        "/\\evil.com",
        "\\\\evil.com",
        "/\t/evil.com",
        "/\n/evil.com",
        "javascript:alert(1)",
        "evil.com",
        "",
        " /approve",
        "/a\r\nSet-Cookie: a=b",
        "/ä",
        "/" + "a" * 2000,
    ],
)
def test_what_is_no_path_of_ours_leads_to_the_first_page(text: str) -> None:
    assert own_path(text) == "/"


@pytest.mark.parametrize(
    "text", ["/", "/approve/1?role=a&token=b", "/a%2F/b", "/a?next=https://x.com/", "/a//b"]
)
def test_a_path_of_ours_is_kept(text: str) -> None:
    assert own_path(text) == text


@given(st.text(st.sampled_from("/\\ :.@?#%\t\nabc"), max_size=12))
@example("/%2F/evil.com")
@example("/.//evil.com")
@example("/..//evil.com")
def test_nothing_leads_to_another_site(text: str) -> None:
    found = urlsplit(urljoin(f"{OURS}/oidc/callback", own_path(text).replace("\\", "/")))
    assert f"{found.scheme}://{found.netloc}" == OURS


@given(st.from_regex(r"/[a-z?&=%#+]{0,20}", fullmatch=True))
def test_the_log_in_leads_back_to_exactly_that_path(path: str) -> None:
    assert parse_qs(urlsplit(login(path)).query)["next"] == [path]
