"""Whom a request concerns: those who are asked, their deputies, and the one who asked. Pure."""

from dataclasses import replace

from hibernator.approvals.deputies import Deputy
from hibernator.web.taking_part import is_asked, takes_part, waiting
from messages.scenes import ALICE, AT, BOB, DIRECTORY, pending, remediation

DAVE = "dave@company.com"
AWAY = replace(DIRECTORY, deputies=(Deputy(BOB, DAVE, AT, AT.add(hours=1)),))


def test_a_deputy_takes_part_only_while_the_other_is_away() -> None:
    dave = AWAY.person(DAVE)
    for case in (pending(), remediation()):
        assert [is_asked(case, dave, AWAY, at) for at in (AT.subtract(seconds=1), AT)] == [False, True]
        assert not takes_part(case, dave, AWAY, AT.add(hours=1))
        assert [*waiting([case], dave, AWAY, AT)] == [case]
        assert not is_asked(case, DIRECTORY.person(DAVE), DIRECTORY, AT)


def test_the_requester_is_not_asked_as_a_deputy() -> None:
    directory = replace(DIRECTORY, deputies=(Deputy(BOB, ALICE, AT, AT.add(hours=1)),))
    alice = directory.person(ALICE)
    assert not is_asked(pending(), alice, directory, AT)
    assert takes_part(pending(), alice, directory, AT)
