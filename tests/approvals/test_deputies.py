"""Who is whose deputy, from the list beside the roles."""

import pytest
from whenever import Instant

from hibernator.approvals.deputies import DEPUTIES, DeputiesError, read_deputies
from hibernator.approvals.people import Directory, read_naming, read_roles

LIST = """
- {away: Carol@company.com, deputy: dave@company.com, from: 2026-12-21, until: 2027-01-03}
- {away: erin, deputy: dave, from: 2026-12-21T08:00:00+01:00, until: 2026-12-22T08:00:00+01:00}
"""


def test_days_are_whole_days_and_moments_have_an_offset() -> None:
    carol, erin = read_deputies(LIST)
    assert (carol.away, carol.deputy) == ("carol@company.com", "dave@company.com")
    assert (carol.since, carol.until) == (Instant.from_utc(2026, 12, 21), Instant.from_utc(2027, 1, 4))
    assert (erin.since, erin.until) == (Instant.from_utc(2026, 12, 21, 7), Instant.from_utc(2026, 12, 22, 7))
    assert read_deputies("") == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("carol: dave", "must be a list"),
        ("[{away: carol}]", "must have away, deputy, from and until"),
        ("[{away: a, deputy: b, from: 2026-02-30, until: 2026-03-01}]", "is no YAML"),
        ("[{away: a, deputy: b, from: tomorrow, until: 2026-03-01}]", "from must be a day"),
        ("[{away: a, deputy: b, from: 2026-01-01T00:00:00, until: 2026-03-01}]", "needs an offset"),
        ("[{away: a, deputy: b, from: 2026-03-02, until: 2026-03-01}]", "until must be after from"),
        ("[{away: a@b.c, deputy: A@b.c, from: 2026-03-01, until: 2026-03-01}]", "name another person"),
        ("[{away: 7, deputy: b, from: 2026-03-01, until: 2026-03-01}]", "must be an address or a user name"),
        (
            "[{away: a, deputy: b, from: 9999-12-31, until: 9999-12-31}]",
            "from must be a day from 2000 to 2199",
        ),
        ("[{away: a, deputy: b, from: 2199-12-31, until: 2200-01-01}]", "until must be a day from 2000"),
        ("[{away: a, deputy: b, from: 1999-12-31, until: 2000-01-01}]", "from must be a day from 2000"),
        ("[", "is no YAML"),
    ],
)
def test_a_mistake_is_said_with_the_field_and_the_fix(text: str, sentence: str) -> None:
    with pytest.raises(DeputiesError, match=sentence) as error:
        read_deputies(text)
    assert DEPUTIES in str(error.value)


def test_there_may_be_five_hundred_deputies_until_the_end_of_2199() -> None:
    entry = "- {away: a, deputy: b, from: 2000-01-01, until: 2199-12-31}\n"
    found = read_deputies(entry * 500)
    assert (len(found), found[0].until) == (500, Instant.from_utc(2200, 1, 1))
    with pytest.raises(DeputiesError, match="at most 500 entries"):
        read_deputies(entry * 501)


def test_a_deputy_has_the_address_and_the_listed_roles_of_the_one_who_is_away() -> None:
    data = {"manager": "carol@company.com", "owner": "erin", DEPUTIES: LIST}
    directory = Directory(
        read_naming("domain:company.com"), roles=read_roles(data), deputies=read_deputies(LIST)
    )
    carol, erin = directory.person("dave").deputy_for
    assert (carol.away.email, carol.away.roles) == ("carol@company.com", frozenset({"manager"}))
    assert (erin.away.email, erin.away.roles) == ("erin@company.com", frozenset({"owner"}))
    assert not directory.person("bob", groups=["dave"]).deputy_for
    assert not erin.away.deputy_for


def test_the_list_of_deputies_is_no_role() -> None:
    assert read_roles({"manager": "carol", DEPUTIES: LIST}) == {"manager": frozenset({"carol"})}
