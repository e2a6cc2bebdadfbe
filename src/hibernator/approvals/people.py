"""Who somebody is: from the name that Kubernetes authenticated to an e-mail address and to roles.

Names, addresses and roles are told apart here and nowhere else, so that no channel can have an opinion of its
own about who may approve what.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import msgspec
import yaml

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.approval import Person, mailbox
from hibernator.decisions.scheduleexception_request import requester, requester_claims, voters
from hibernator.kube.client import Client

if TYPE_CHECKING:  # commands do without the cache
    from hibernator.api.core import ConfigMap
    from hibernator.kube.cache import Cache

MOST_GROUPS: Final = 64
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

    def person(self, user: str, groups: Iterable[str] = (), extra: Mapping[str, str] | None = None) -> Person:
        """Somebody, with what else the API server has authenticated, where it was there to say so."""
        known = own_groups(groups)  # whoever writes an entry by hand may name more
        email = self.email(user, extra or {})
        names = {user, mailbox(email), *known} if email else {user, *known}
        roles = {role for role, members in self.roles.items() if names & members}
        roles |= {group for group in known if group not in self.roles}  # a group is a role, if nobody else is
        return Person(user, email, frozenset(roles), known, tuple((extra or {}).items()))

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
    """The groups that a role may go by: those of Kubernetes itself are everybody's."""
    return tuple(group for group in groups if not group.startswith("system:"))[:MOST_GROUPS]


def addresses(extra: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The addresses among what came with a log-in; several under one key with spaces between them."""
    found = {key: " ".join(filter(_is_address, values)) for key, values in extra.items()}
    return {key: value for key, value in found.items() if value}


def _is_address(value: str) -> bool:
    """As the policies see it (`admission.policies.MINE`): what they count must be noted down, and no more."""
    return "@" in value and len(value) <= LONGEST_CLAIM and not _SPACE.search(value)


def everybody(exception: ScheduleException, directory: Directory) -> dict[str, Person]:
    """Who asked and all who decided, by user, with what the API server has authenticated about them."""
    asked, claims = requester(exception), requester_claims(exception)
    people = {asked: directory.person(asked, extra=claims)}
    for user, entry in voters(exception).items():
        more = claims if user == asked else {}
        people[user] = directory.person(user, entry.groups, {**more, **entry.extra})
    return people


def read_roles(data: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Roles from a ConfigMap: under each role its members, by address, user name or group."""
    return {role: frozenset(_members(text)) for role, text in data.items()}


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
    except yaml.YAMLError:
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


class People:
    """The directory as the operator's ConfigMaps have it at each moment."""

    def __init__(
        self, naming: Naming, roles: "Cache[ConfigMap]", emails: "Cache[ConfigMap] | None" = None
    ) -> None:
        self._naming = naming
        self._roles = roles
        self._emails = emails
        self._read: tuple[object, Directory] | None = None

    def directory(self) -> Directory:
        roles = tuple(self._roles.values())
        emails = () if self._emails is None else tuple(self._emails.values())
        made_of = tuple((one.metadata.uid, one.metadata.resource_version) for one in (*roles, *emails))
        if self._read is None or self._read[0] != made_of:
            found = Directory(
                self._naming,
                emails={user: email for one in emails for user, email in read_emails(one.data).items()},
                roles={role: members for one in roles for role, members in read_roles(one.data).items()},
            )
            self._read = made_of, found
        return self._read[1]
