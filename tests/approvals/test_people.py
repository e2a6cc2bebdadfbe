"""From a user name to a person with an address and roles."""

import msgspec
import pytest
from msgspec.structs import replace

from decisions.exception_seen import BOTH, after, exception, said
from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.api.scheduleexception import ScheduleException
from hibernator.approvals.people import (
    LONGEST_GROUP,
    MOST_GROUPS,
    Directory,
    Naming,
    People,
    addresses,
    asker,
    everybody,
    own_groups,
    read_emails,
    read_naming,
    read_roles,
)
from hibernator.decisions.person import same_human
from hibernator.decisions.scheduleexception_request import VERIFIED_EMAIL, requester_notes
from hibernator.kube.store import Store


@pytest.mark.parametrize(
    ("naming", "user", "email"),
    [
        ("as-is", "bob@company.com", "bob@company.com"),
        ("as-is", "bob", ""),
        ("domain:company.com", "bob", "bob@company.com"),
        ("domain:company.com", "bob@elsewhere.org", "bob@elsewhere.org"),
        ("domain:company.com", "system:serviceaccount:ci:bot", ""),
        ("domain:company.com", "", ""),
        ("configmap:people", "oidc:b0b", "bob@company.com"),
        ("configmap:people", "carol@company.com", ""),
    ],
)
def test_a_user_has_the_address_that_the_setting_gives_them(naming: str, user: str, email: str) -> None:
    emails = read_emails({"people": "oidc:b0b  bob@company.com\n\nnobody\n# two words\n"})
    directory = Directory(read_naming(naming), emails=emails)
    assert directory.person(user).email == email


def test_an_address_may_come_with_the_log_in() -> None:
    directory = Directory(read_naming("extra:example.com/email"))
    assert directory.person("u-17", (), {"example.com/email": "bob@company.com"}).email == "bob@company.com"
    assert directory.person("u-17", (), {"example.com/mail": "bob@company.com"}).email == ""
    assert directory.person("bob@company.com").email == ""


@pytest.mark.parametrize("text", ["", "as-is:x", "domain", "domain:", "domain:a@b", "configmap", "ldap:x"])
def test_a_wrong_way_is_told_with_the_right_ones(text: str) -> None:
    with pytest.raises(ValueError, match="write `as-is`, `domain:"):
        read_naming(text)


@pytest.mark.parametrize(
    "members",
    [
        "Bob@Company.com, carol",
        "[bob@company.com, carol]",
        "- bob@company.com\n- carol\n",
        '["bob@company.com"]',
    ],
)
def test_members_of_a_role_may_be_listed_in_any_way(members: str) -> None:
    directory = Directory(Naming("domain", "company.com"), roles=read_roles({"manager": members, "cto": ""}))
    assert directory.person("bob").roles == {"manager"}


def test_a_member_may_be_named_by_group() -> None:
    directory = Directory(roles=read_roles({"manager": "leads, carol"}))
    assert "manager" in directory.person("bob", ("leads", "developers")).roles
    assert "manager" not in directory.person("bob", ("developers",)).roles


@pytest.mark.parametrize("members", ['["Domain Admins", carol]', "- Domain Admins\n- carol\n"])
def test_a_group_with_a_space_in_its_name_can_be_listed(members: str) -> None:
    directory = Directory(roles=read_roles({"manager": members}))
    assert "manager" in directory.person("bob", ("Domain Admins",)).roles
    assert "manager" not in directory.person("bob", ("Domain",)).roles
    assert "manager" in directory.person("carol").roles


@pytest.mark.parametrize("members", ["- carol: x", "[carol", "carol, @all", "- 7", "", "{}"])
def test_what_is_no_list_is_read_word_by_word(members: str) -> None:
    assert ("manager" in Directory(roles=read_roles({"manager": members})).person("carol").roles) == (
        members in {"[carol", "carol, @all"}
    )


@pytest.mark.parametrize("odd", ["- 2026-13-45", "- !!int carol", "- 0x_", "[" * 3000, "- " * 3000])
def test_a_role_that_no_yaml_can_be_made_of_takes_no_other_role_along(odd: str) -> None:
    directory = Directory(roles=read_roles({"manager": "carol", "odd": f"{odd}\n- carol"}))
    assert "manager" in directory.person("carol").roles


def test_a_role_that_no_one_else_is_said_to_hold_is_the_group_of_its_name() -> None:
    directory = Directory(roles=read_roles({"manager": "carol"}))
    assert directory.person("bob", ("security", "manager")).roles == {"security"}


def test_a_member_may_be_named_by_user_name() -> None:
    directory = Directory(roles=read_roles({"manager": "carol"}))
    assert directory.person("carol").roles == {"manager"}
    assert directory.person("carola").roles == frozenset()


def test_of_what_came_with_a_log_in_the_addresses_are_kept() -> None:
    extra = {
        "mail": ["a=b+c@company.com", "other@company.com"],
        "example.com/team": ["shop"],
        "none": [],
        "endless": ["x" * 250 + "@company.com"],
        "odd": ["two words@company.com", "line\nmail=x@company.com"],
    }
    assert addresses(extra) == {"mail": "a=b+c@company.com other@company.com"}
    assert [len(addresses({"x": [one + "@b.c"]})) for one in ("x" * 250, "x" * 251)] == [1, 0]
    assert own_groups(["system:authenticated", "leads"]) == ("leads",)
    assert len(own_groups(map(str, range(65)))) == 64


def test_every_address_of_a_log_in_tells_two_of_the_same_person() -> None:
    """Also the second one under a key: somebody may have asked by one and approve by the other."""
    one = Directory().person("u-1", extra=addresses({"mail": ["a@company.com", "b@company.com"]}))
    other = Directory().person("u-2", extra=addresses({"mail": ["c@company.com", "B+x@company.com"]}))
    stranger = Directory().person("u-3", extra=addresses({"mail": ["c.d@company.com"]}))
    assert same_human(one, other)
    assert not same_human(one, stranger)


def test_the_first_address_under_the_key_of_the_setting_is_someones_own() -> None:
    extra = addresses({"mail": ["a@company.com", "b@company.com"]})
    assert Directory(Naming("extra", "mail")).person("u-1", extra=extra).email == "a@company.com"


def test_the_groups_of_kubernetes_itself_fill_no_role() -> None:
    directory = Directory(roles=read_roles({"everybody": "system:authenticated"}))
    person = directory.person("bob", ("system:authenticated", "system:masters", "leads"))
    assert person.roles == {"leads"}
    assert person.groups == ("leads",)


def test_the_longest_group_is_kept_and_no_more_groups_than_fit_into_an_entry() -> None:
    longest = "x" * LONGEST_GROUP
    assert own_groups((longest, f"{longest}x", "two\nlines")) == (longest,)
    assert len(own_groups(map(str, range(MOST_GROUPS + 1)))) == MOST_GROUPS


@pytest.mark.parametrize(
    ("claims", "groups"),
    [({}, ("system:masters", "pager duty")), ({VERIFIED_EMAIL: "dora@company.com"}, ())],
)
def test_who_asked_has_the_roles_of_their_groups_and_of_their_address(
    claims: dict[str, str], groups: tuple[str, ...]
) -> None:
    members = '["pager duty", dora@company.com]'
    directory = Directory(roles=read_roles({"on-call": members, "admin": '["system:masters"]'}))
    asked: ScheduleException = exception()
    notes = requester_notes("oidc:u-7", claims, groups)
    asked = replace(asked, metadata=replace(asked.metadata, annotations=notes))
    assert "on-call" in asker(asked, directory).roles
    assert "admin" not in asker(asked, directory).roles


def test_what_was_noted_down_of_who_asked_is_known_again() -> None:
    claims = {"mail": "a=b+c@company.com", "example.com/upn": "a@x.example"}
    document = {
        "metadata": {"name": "x", "annotations": requester_notes("u-1", claims)},
        "spec": {
            "planRef": {"name": "dev"},
            "type": "extend",
            "validFrom": "2026-03-02T00:00:00Z",
            "validUntil": "2026-03-03T00:00:00Z",
        },
    }
    directory = Directory(Naming("extra", "mail"))
    known = everybody(msgspec.convert(document, ScheduleException), directory)
    assert known == {"u-1": directory.person("u-1", extra=claims)}
    assert known["u-1"].email == "a=b+c@company.com"


def test_only_the_requester_keeps_the_claims_of_the_request_when_they_decide() -> None:
    asked: ScheduleException = after(exception(**BOTH))
    claims = {"mail": "alice@company.com"}
    asked = replace(asked, metadata=replace(asked.metadata, annotations=requester_notes("alice", claims)))
    decided = said(said(asked, "approve", "alice"), "approve", "bob")
    known = everybody(decided, Directory())
    assert dict(known["alice"].extra) == claims
    assert dict(known["bob"].extra) == {}


def test_the_directory_follows_the_config_maps_of_roles_and_addresses() -> None:
    roles, emails = _maps(), _maps()
    people = People(read_naming("configmap:people"), roles, emails)  # type: ignore[arg-type] # no watch
    assert people.maps == (roles, emails)
    assert people.directory().person("oidc:b0b").roles == frozenset()
    roles.wrote(_map("1", {"manager": "bob@company.com"}))
    emails.wrote(_map("2", {"people": "oidc:b0b bob@company.com"}))
    known = people.directory()
    assert known.person("oidc:b0b").roles == {"manager"}
    assert people.directory() is known  # what has not changed is not read again
    roles.wrote(_map("3", {"leads": "bob@company.com"}))
    assert people.directory().person("oidc:b0b").roles == {"leads"}


def test_without_a_config_map_of_addresses_the_roles_alone_are_read() -> None:
    roles = _maps()
    roles.wrote(_map("1", {"manager": "bob@company.com"}))
    people = People(read_naming("domain:company.com"), roles)  # type: ignore[arg-type] # no watch
    assert people.maps == (roles,)
    assert people.directory().person("bob").roles == {"manager"}


def _maps() -> Store[ConfigMap]:
    return Store(CONFIG_MAPS)


def _map(version: str, data: dict[str, str]) -> ConfigMap:
    metadata = {"name": "m", "namespace": "hibernator-system", "uid": "u-m", "resourceVersion": version}
    return msgspec.convert({"metadata": metadata, "data": data}, ConfigMap)
