"""Links: 256 random bits for each person who is asked, of which only a hash is kept.

A link says for whom it was made and nothing about who opens it: that comes from the log-in. It holds for
thirty days, for the request as it was when it was made, and goes with the request.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote, urlencode

from whenever import Instant

from hibernator.api.approvaldelivery import ApprovalDelivery, LinkToken
from hibernator.decisions.conditions import whole_second
from hibernator.decisions.person import mailbox

DAYS: Final = 30
MOST: Final = 20  # links of one person that are remembered
_LONGEST: Final = 128

Validity = Literal["valid", "expired", "stale", "unknown"]


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether a token is valid, and for whom it was made."""

    validity: Validity
    delivery: ApprovalDelivery | None = None

    @property
    def recipient(self) -> str:
        return self.delivery.spec.recipient if self.delivery else ""

    def is_of(self, email: str) -> bool:
        """Whether it was made for the person with this address."""
        return bool(self.recipient) and mailbox(self.recipient) == mailbox(email)


def new_token() -> str:
    return secrets.token_urlsafe(32)


def hash_of(token: str) -> str:
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def remembered(before: tuple[LinkToken, ...], token: str, now: Instant) -> tuple[LinkToken, ...]:
    """The links of a person with one more, without those that hold no longer than this moment."""
    kept = [one for one in before if Instant(one.expires_at) > now]
    fresh = LinkToken(
        hash=hash_of(token),
        created_at=whole_second(now),
        expires_at=whole_second(now.add(hours=24 * DAYS)),
    )
    return (*kept, fresh)[-MOST:]


def check(token: str, deliveries: Iterable[ApprovalDelivery], spec_hash: str, now: Instant) -> Checked:
    """Find for whom a token was made, among the deliveries of the request that is shown."""
    if not token or len(token) > _LONGEST:
        return Checked("unknown")
    wanted = hash_of(token)
    for delivery in deliveries:
        for one in delivery.status.tokens:
            if hmac.compare_digest(one.hash, wanted):
                return Checked(_validity(delivery, one, spec_hash, now), delivery)
    return Checked("unknown")


def _validity(delivery: ApprovalDelivery, one: LinkToken, spec_hash: str, now: Instant) -> Validity:
    if now >= Instant(one.expires_at):
        return "expired"
    return "valid" if delivery.spec.spec_hash == spec_hash else "stale"


def url_of(base_url: str, uid: str) -> str:
    """Where everybody who is asked can decide; for the status, which anyone may read."""
    return f"{base_url.rstrip('/')}/approve/{quote(uid, safe='')}"


def link(base_url: str, uid: str, token: str, role: str = "") -> str:
    """The link of one person."""
    words = {"role": role, "token": token} if role else {"token": token}
    return f"{url_of(base_url, uid)}?{urlencode(words)}"
