"""How people, their roles and their words appear in the API, wherever someone must agree to something."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, Literal

from hibernator.api.meta import Model, says

EMAIL = r"^[^@\s]+@[^@\s]+$"

# 254 is the longest address that mail can be sent to.
Email = Annotated[str, says("An e-mail address.", pattern=EMAIL, minLength=3, maxLength=254)]
Role = Annotated[
    str, says("A role, as the operator's configuration names it.", pattern=r"^\S+$", maxLength=128)
]
User = Annotated[str, says("A user, as Kubernetes authenticated them.", maxLength=512)]
Groups = Annotated[
    tuple[str, ...],
    says(
        "Groups of theirs, as Kubernetes authenticated them: members of a role may be listed by group.",
        maxItems=64,
        items={"type": "string", "maxLength": 256},
        x_kubernetes_list_type="atomic",
    ),
]
Claims = Annotated[
    Mapping[str, str],
    says(
        "What else Kubernetes authenticated about them, by its key in `extra`: e-mail addresses, with spaces "
        "between them.",
        maxProperties=8,
        additionalProperties={"type": "string", "maxLength": 2048},
    ),
]
Channel = Annotated[
    str, says("Through what it came, such as `kubectl`, `slack`, `link` or `dashboard`.", maxLength=64)
]
Words = Annotated[str, says("Why, in words.", maxLength=1024)]


# The channels of the web process, which finds out who a person is; through the others the API server does.
DOORS: Final = ("slack", "link", "dashboard")


class KnownBy(Model):
    """How the web process knew who decided. Only its account may write this."""

    issuer: Annotated[
        str, says("Who vouched for them: an OIDC issuer, or the entity id of a SAML provider.", maxLength=512)
    ]
    subject: Annotated[str, says("Under which name that issuer knows them.", maxLength=512)]
    email: Annotated[Email, says("Their address, as the issuer has verified it.")]
    session: Annotated[str, says("The session in which they decided.", maxLength=128)] = ""
    address: Annotated[str, says("The IP address from which they decided.", maxLength=64)] = ""
    user_agent: Annotated[str, says("What their browser says it is.", maxLength=256)] = ""


class ApproverLevel(Model):
    level: Annotated[Literal["L1", "L2"], says("`L1` is asked at once, `L2` from `escalateAt` on.")]
    emails: Annotated[
        tuple[Email, ...], says("People of this level.", maxItems=20, x_kubernetes_list_type="set")
    ] = ()
    roles: Annotated[
        tuple[Role, ...], says("Roles of this level.", maxItems=20, x_kubernetes_list_type="set")
    ] = ()


ApproverLevels = Annotated[
    tuple[ApproverLevel, ...],
    says(
        "The approvers, in two levels; every user who may approve when absent.",
        maxItems=2,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["level"],
    ),
]
EscalateAt = Annotated[datetime | None, says("From when on the second level is asked too.")]
