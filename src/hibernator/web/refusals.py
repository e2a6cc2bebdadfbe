"""Why a person was not let in, or a request not answered: for a person in words, for metrics in one."""

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Page:
    """What a page without anything else on it says."""

    title: str
    words: str
    fix: str = ""
    again: str = ""  # a path of ours that tries once more
    label: str = "Try again"  # of the button that leads there


class RefusedError(Exception):
    """A request that ends in such a page."""

    def __init__(self, reason: str, page: Page, *, status: int = 403, wait: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason  # constant, for logs and metrics: it never holds what was sent
        self.page = page
        self.status = status
        self.wait = wait  # seconds until another try makes sense; 0 where no one knows


class LoginRefusedError(RefusedError):
    """A log-in that did not succeed."""

    def __init__(self, reason: str, words: str, fix: str = "", *, status: int = 403) -> None:
        super().__init__(reason, Page("You are not logged in", words, fix), status=status)


def unknown_attempt(base_url: str) -> LoginRefusedError:
    """What is said to who comes back from a provider to which this browser was not sent.

    A browser keeps the log-in for the host at which it began, and some keep none without TLS.
    """
    words = "This log-in did not begin in this browser, is over, or began more than ten minutes ago."
    url = urlsplit(base_url)
    plain = " Without TLS, Safari keeps no log-in: take another browser." if url.scheme == "http" else ""
    return LoginRefusedError("state", words, f"Log in again, at {url.netloc}.{plain}", status=400)


class ProviderAwayError(Exception):
    """The identity provider did not answer, or with something that cannot be used; says what and why."""
