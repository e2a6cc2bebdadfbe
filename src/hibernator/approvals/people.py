"""Who someone is: from the name that Kubernetes authenticated to an e-mail address and to roles.

Names, addresses and roles are distinguished here and nowhere else, so that no channel can have an opinion
of its own about who may approve what.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, Self

import msgspec
import structlog
import yaml

from hibernator.api.core import CONFIG_MAPS
from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object
from hibernator.api.people import DOORS, KnownBy
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequestStatus
from hibernator.api.scheduleexception import Approval, Rejection, ScheduleException
from hibernator.approvals.deputies import DEPUTIES, DeputiesError, Deputy, read_deputies
from hibernator.decisions.person import Absence, Person, mailbox
from hibernator.decisions.scheduleexception_request import (
    VERIFIED_EMAIL,
    requester,
    requester_claims,
    requester_groups,
    voters,
)
from hibernator.kube.client import Client

if TYPE_CHECKING:  # commands do without the cache
    from hibernator.api.core import ConfigMap
    from hibernator.kube.cache import Cache, Caches

_log = structlog.get_logger()

MOST_GROUPS: Final = 64
LONGEST_GROUP: Final = 256
LONGEST_CLAIM: Final = 254
_WORD: Final = re.compile(r"[^\s,\[\]\"']+")
_SPACE: Final = re.compile(r"[\t\n\f\r ]")  # what CEL takes for one
_WAYS: Final = "`as-is`, `domain:company.com`, `extra:KEY` or `configmap:NAME`"


@dataclass(frozen=True, slots=True)
class Naming:
    """How a user name becomes an e-mail address."""

    way: Literal["as-is", "domain", "extra", "configmap"] = "as-is"
    value: str = ""


def read_naming(text: str) -> Naming:
    """Read the setting: `as-is`, `domain:company.com`, `extra:KEY` or `configmap:NAME`."""
    way, _, value = text.partition(":")
    match way:
        case "as-is" if not value:
            return Naming()
        case "domain" if value and "@" not in value:
            return Naming("domain", value)
        case "extra" if value:
            return Naming("extra", value)
        case "configmap" if value:
            return Naming("configmap", value)
        case _:
            raise ValueError(f"{text!r} is no way from user names to e-mail addresses; write {_WAYS}")


@dataclass(frozen=True, slots=True)
class Directory:
    """What the operator knows about people at this moment."""

    naming: Naming = field(default_factory=Naming)
    emails: Mapping[str, str] = field(default_factory=dict)  # by user; only asked when naming says so
    roles: Mapping[str, frozenset[str]] = field(default_factory=dict)  # the members of each role
    deputies: tuple[Deputy, ...] = ()

    @property
    def absences(self) -> tuple[Absence, ...]:
        """Who is away when, and who decides in their place."""
        return tuple(map(self._absence, self.deputies))

    def named(self, name: str) -> Person:
        """Who is meant by an address or a user name in the operator's configuration."""
        return self._someone(name, name if "@" in name else self.email(name, {}), (), {})

    def person(self, user: str, groups: Iterable[str] = (), extra: Mapping[str, str] | None = None) -> Person:
        """Someone, with what else the API server has authenticated, where it was there to say so."""
        # Anyone who writes an entry by hand may name more groups.
        return self._person(user, self.email(user, extra or {}), own_groups(groups), extra or {})

    def _person(self, user: str, email: str, known: tuple[str, ...], extra: Mapping[str, str]) -> Person:
        person, names = self._someone(user, email, known, extra), {user, mailbox(email)}
        mine = (one for one in self.deputies if one.deputy in names)
        return replace(person, deputy_for=tuple(map(self._absence, mine)))

    def _absence(self, one: Deputy) -> Absence:
        return Absence(self.named(one.away), one.deputy, one.since, one.until)

    def _someone(self, user: str, email: str, known: tuple[str, ...], extra: Mapping[str, str]) -> Person:
        names = {user, mailbox(email), *known} if email else {user, *known}
        roles = {role for role, members in self.roles.items() if names & members}
        roles |= {group for group in known if group not in self.roles}  # a group is a role, if no one else is
        return Person(user, email, frozenset(roles), known, tuple(extra.items()))

    def known(self, user: str, known_by: KnownBy, groups: Iterable[str] = ()) -> Person:
        """A person who logged in at the web process: the address is the one that the issuer vouches for."""
        return self._person(user, known_by.email, own_groups(groups), {})

    def asking(self, user: str, groups: Iterable[str], claims: Mapping[str, str]) -> Person:
        """Who asked for something, by what was stamped of their log-in."""
        email = claims.get(VERIFIED_EMAIL) or self.email(user, claims)
        return self._person(user, email, own_groups(groups), claims)

    def entered(self, user: str, entry: Approval | Rejection) -> Person:
        """Who wrote an entry: the policies let only the web process write `knownBy`."""
        if entry.known_by and entry.channel in DOORS:
            return self.known(user, entry.known_by, entry.groups)
        return self.person(user, entry.groups, entry.extra)

    def email(self, user: str, extra: Mapping[str, str]) -> str:
        """The address of a user; empty where there is none."""
        match self.naming.way:
            case "extra":
                return next(iter(extra.get(self.naming.value, "").split()), "")
            case "configmap":
                return self.emails.get(user, "")
            case "domain" if user and "@" not in user and ":" not in user:
                return f"{user}@{self.naming.value}"
            case _:
                return user if "@" in user else ""


def own_groups(groups: Iterable[str]) -> tuple[str, ...]:
    """The groups that a role may go by. Those of Kubernetes itself are everyone's; some fit into no entry."""
    return tuple(
        group
        for group in groups
        if not group.startswith("system:") and len(group) <= LONGEST_GROUP and group.isprintable()
    )[:MOST_GROUPS]


def addresses(extra: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The addresses among what came with a log-in; several under one key with spaces between them."""
    found = {key: " ".join(filter(_is_address, values)) for key, values in extra.items()}
    return {key: value for key, value in found.items() if value}


def _is_address(value: str) -> bool:
    """As the policies see it (`admission.policies.MINE`): what they count must be stamped, and no more."""
    return "@" in value and len(value) <= LONGEST_CLAIM and not _SPACE.search(value)


def everybody(exception: ScheduleException, directory: Directory) -> dict[str, Person]:
    """Who asked and all who decided, by user, with what the API server has authenticated about them."""
    asked = asker(exception, directory)
    people = {asked.user: asked}
    for user, entry in voters(exception).items():
        person = directory.entered(user, entry)
        more = asked.extra if user == asked.user else ()
        people[user] = replace(person, extra=(*more, *person.extra))
    return people


def asker(exception: ScheduleException, directory: Directory) -> Person:
    """Who asked for an exception, by their own hand or through the web process."""
    claims, groups = requester_claims(exception), requester_groups(exception)
    return directory.asking(requester(exception), groups, claims)


def decider(status: RemediationApprovalRequestStatus, directory: Directory) -> Person:
    """Who decided a remediation, by what can be trusted in the status, as `Directory.entered` does."""
    if status.decider_known_by and status.decided_via in DOORS:
        return directory.known(status.decided_by, status.decider_known_by, status.decider_groups)
    return directory.person(status.decided_by, status.decider_groups, status.decider_extra)


def approvers(status: RemediationApprovalRequestStatus, directory: Directory) -> dict[str, Person]:
    """Those whose approval of a remediation was counted, by user."""
    return {yes.approved_by: directory.entered(yes.approved_by, yes) for yes in status.approvals}


def read_roles(data: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Roles from a ConfigMap: under each role its members, by address, user name or group."""
    return {role: frozenset(_members(text)) for role, text in data.items() if role != DEPUTIES}


def read_emails(data: Mapping[str, str]) -> dict[str, str]:
    """Addresses from a ConfigMap: lines of a user and their address, whatever key they stand under.

    User names cannot be keys, because those allow too few characters, and two names must never become one.
    """
    lines = (line.split() for text in data.values() for line in text.splitlines())
    return {words[0]: words[1] for words in lines if len(words) == 2 and "@" in words[1]}  # noqa: PLR2004  a user and an address


def _members(text: str) -> set[str]:
    words = {*(_items(text) or (word for word in _WORD.findall(text) if word != "-"))}
    return words | {mailbox(word) for word in words if "@" in word}


def _items(text: str) -> list[str]:
    """The items of a YAML list, for the name of a group may have spaces; none where it is no such list."""
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):  # a day that there is not is a ValueError
        return []
    is_list = isinstance(found, list) and all(isinstance(item, str) for item in found)
    return found if is_list else []


class _UserInfo(Model):
    username: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


class _Status(Model):
    user_info: _UserInfo = _UserInfo()


class SelfSubjectReview(Object):
    status: _Status = _Status()


_REVIEWS: Final = Kind(
    SelfSubjectReview,
    "authentication.k8s.io",
    "v1",
    "SelfSubjectReview",
    "selfsubjectreviews",
    namespaced=False,
)


async def whoami(client: Client) -> str:
    """The user name under which the API server knows the one who asks."""
    return (await client.create(_REVIEWS, {})).status.user_info.username


async def who_am_i(client: Client, directory: Directory) -> Person:
    """The same, with what else is known of them that a role or an address may go by."""
    found = (await client.create(_REVIEWS, {})).status.user_info
    return directory.person(found.username, own_groups(found.groups), addresses(found.extra))


def _deputies_of(roles: "ConfigMap") -> tuple[Deputy, ...]:
    """The deputies beside the roles. No one is one as long as the list has a mistake."""
    try:
        return read_deputies(roles.data.get(DEPUTIES, ""))
    except DeputiesError as error:
        _log.warning("deputies ignored", config_map=roles.metadata.name, error=str(error))
        return ()


class People:
    """The directory as the operator's ConfigMaps have it at each moment."""

    def __init__(
        self, naming: Naming, roles: "Cache[ConfigMap]", emails: "Cache[ConfigMap] | None" = None
    ) -> None:
        self._naming = naming
        self._roles = roles
        self._emails = emails
        self.maps = (roles,) if emails is None else (roles, emails)
        self._read: tuple[object, Directory] | None = None

    @classmethod
    def of(cls, caches: "Caches", naming: Naming, roles: str, home: str) -> Self:
        """From the ConfigMap `roles`, and that of `naming` if there is one, in the namespace `home`."""
        role_maps = caches.of(CONFIG_MAPS, home, field_selector=f"metadata.name={roles}")
        if naming.way != "configmap":
            return cls(naming, role_maps)
        return cls(
            naming,
            role_maps,
            caches.of(CONFIG_MAPS, home, field_selector=f"metadata.name={naming.value}"),
        )

    def directory(self) -> Directory:
        roles = tuple(self._roles.values())
        emails = () if self._emails is None else tuple(self._emails.values())
        made_of = tuple((one.metadata.uid, one.metadata.resource_version) for one in (*roles, *emails))
        if self._read is None or self._read[0] != made_of:
            found = Directory(
                self._naming,
                emails={user: email for one in emails for user, email in read_emails(one.data).items()},
                roles={role: members for one in roles for role, members in read_roles(one.data).items()},
                deputies=tuple(deputy for one in roles for deputy in _deputies_of(one)),
            )
            self._read = made_of, found
        return self._read[1]
