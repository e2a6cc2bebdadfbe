"""Who logged in. OIDC and SAML end here, and pages begin here: neither knows of the other."""

from dataclasses import dataclass

from whenever import Instant


@dataclass(frozen=True, slots=True)
class Identity:
    """A person who logged in, as their identity provider vouched for them."""

    issuer: str  # of OIDC, or the entity id of a SAML identity provider
    subject: str  # `sub`, or the NameID
    email: str  # as the provider verified it; `decisions.person.mailbox` makes it comparable
    name: str  # to show
    username: str  # as kube-apiserver would map it (`--oidc-username-claim`, `--oidc-username-prefix`)
    groups: tuple[str, ...]  # likewise
    authenticated_at: Instant  # when they proved it at the provider
