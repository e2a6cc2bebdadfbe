"""Who a request concerns: those who are asked, and the one who asked. It is shown to no one else. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

from whenever import Instant

from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.approvals.people import Directory, asker
from hibernator.decisions.approval import Seat
from hibernator.decisions.person import Person, same_human, voices
from hibernator.decisions.remediationapprovalrequest_votes import places
from hibernator.decisions.scheduleexception_request import needs_approval, seat_of, seats_of
from hibernator.web.cases import Case

_UNKNOWN: Final = Person("")


def seats(case: Case) -> tuple[Seat, ...]:
    """The people and roles that are asked; none where Kubernetes says who they are."""
    if isinstance(case, RemediationApprovalRequest):
        return places(case.spec.approvers) if case.spec.approvers else ()
    return seats_of(case)


def is_asked(case: Case, person: Person, directory: Directory, now: Instant) -> bool:
    """Whether they are asked for themselves, or as the deputy of a person who is."""
    asked = seats(case)
    if isinstance(case, RemediationApprovalRequest):
        asked = (*asked, *map(seat_of, case.status.required_approvals))
    if any(seat.fits(person) for seat in asked):
        return True
    if not person.deputy_for:
        return False  # each page asks this about all requests: without finding out who asked
    by = asker(case, directory) if isinstance(case, ScheduleException) else _UNKNOWN
    return any(seat.fits(voice) for voice in voices(person, now, by) for seat in asked)


def takes_part(case: Case, person: Person, directory: Directory, now: Instant) -> bool:
    if is_asked(case, person, directory, now):
        return True
    return isinstance(case, ScheduleException) and same_human(person, asker(case, directory))


def waiting(cases: Iterable[Case], person: Person, directory: Directory, now: Instant) -> Iterator[Case]:
    """What a person is asked and has not answered, as long as it is open."""
    return (
        one
        for one in cases
        if _is_open(one) and not _answered(one, person) and is_asked(one, person, directory, now)
    )


def _is_open(case: Case) -> bool:
    if case.metadata.deletion_timestamp:
        return False
    if isinstance(case, RemediationApprovalRequest):
        return not case.status.decision
    return needs_approval(case) and not case.spec.cancelled and case.status.state == "Pending"


def _answered(case: Case, person: Person) -> bool:
    if isinstance(case, RemediationApprovalRequest):
        earlier = (yes.approved_by for yes in case.status.approvals)
        return bool(case.status.decided_by) or person.user in earlier
    said = (
        *(yes.approved_by for yes in case.status.approvals),
        *(no.rejected_by for no in case.status.rejections),
    )
    return person.user in said
