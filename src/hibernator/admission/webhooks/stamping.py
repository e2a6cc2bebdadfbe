"""Stamps who changes, who requests and who decides, and restores stamps that a manifest left out.

Of who asks and who decides only what is missing is filled in. Whatever is there already, or was, is the
business of the policies, which refuse any but the right one: so it is the same whether this webhook answers
or not. Who changes is always written here, because manifests that were taken from a cluster carry it along.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hibernator.admission.review import AdmissionRequest, Allowed, UserInfo, Verdict
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.approvals.people import addresses, own_groups
from hibernator.decisions.hibernateplan_case import RETRY
from hibernator.decisions.journal import CHANGED_BY, RETRIED_BY, note
from hibernator.decisions.planrequest import CARRIED_OUT
from hibernator.decisions.scheduleexception import FINALIZER, PLAN_LABEL
from hibernator.decisions.scheduleexception_request import (
    REQUESTED_BY,
    REQUESTER_CLAIMS,
    REQUESTER_GROUPS,
    requester_notes,
)

PATH: Final = "/stamp"

_DECISIONS: Final = frozenset({"Approved", "Rejected"})
_ASKED: Final = (REQUESTED_BY, REQUESTER_CLAIMS, REQUESTER_GROUPS)
_ENTRIES: Final = {"approvals": "approvedBy", "rejections": "rejectedBy"}

Document = Mapping[str, Any]
Patch = dict[str, Any]


async def stamp(request: AdmissionRequest) -> Verdict:
    new, user = request.new(dict[str, Any]), request.user_info
    old = {} if request.operation == "CREATE" else request.old(dict[str, Any])
    match request.resource.resource, request.sub_resource:
        case EXCEPTIONS.plural, "":
            noted = _changed(new, old, user) | _asked(new, old, user)
            return Allowed(patch=[*_noted(new, noted), *_put_back(new, old)])
        case _, "":
            return Allowed(patch=[*_noted(new, _changed(new, old, user))])
        case EXCEPTIONS.plural, "status":
            return Allowed(patch=[*_said(new, old, user)])
        case APPROVAL_REQUESTS.plural, "status":
            return Allowed(patch=[*_decided(new, old, user)])
        case _:
            return Allowed()


def _changed(new: Document, old: Document, user: UserInfo) -> dict[str, str]:
    """Who makes this generation, and who asks for a retry; where no one does, it stays as it was.

    So does what the operator has noted of the requests that it carried out.
    """
    written, was = _part(new, "annotations"), _part(old, "annotations")
    kept = {key: was.get(key, "") for key in (CHANGED_BY, RETRIED_BY, CARRIED_OUT)}
    if new.get("spec") != old.get("spec"):
        # The API server raises it only after we have answered.
        generation = old.get("metadata", {}).get("generation", 0) + 1
        kept[CHANGED_BY] = note(generation, user.username)
    asked = written.get(RETRY)
    if asked and asked != was.get(RETRY):
        kept[RETRIED_BY] = note(asked, user.username)
    return kept


def _asked(new: Document, old: Document, user: UserInfo) -> dict[str, str]:
    """Who asks, with what was stamped before and is missing now: `kubectl replace` leaves it all out."""
    written, was = _part(new, "annotations"), _part(old, "annotations")
    kept = {key: was[key] for key in _ASKED if was.get(key) and not written.get(key)}
    if not was.get(REQUESTED_BY) and _is_asked_for(new, old):
        notes = requester_notes(user.username, addresses(user.extra), own_groups(user.groups))
        is_theirs = written.get(REQUESTED_BY) in {None, "", user.username}
        kept |= {key: said for key, said in notes.items() if is_theirs and not written.get(key)}
    return kept


def _noted(new: Document, notes: Mapping[str, str]) -> Iterator[Patch]:
    """All annotations with these, of which an empty one shall not be there."""
    written = _part(new, "annotations")
    whole = {key: said for key, said in {**written, **notes}.items() if said or key not in notes}
    if whole != written:
        yield {"op": "add", "path": "/metadata/annotations", "value": whole}


def _put_back(new: Document, old: Document) -> Iterator[Patch]:
    labels, label = _part(new, "labels"), _part(old, "labels").get(PLAN_LABEL)
    if label and not labels.get(PLAN_LABEL):
        yield {"op": "add", "path": "/metadata/labels", "value": {**labels, PLAN_LABEL: label}}
    metadata, known = new.get("metadata", {}), old.get("metadata", {})
    finalizers = metadata.get("finalizers") or []
    is_held = FINALIZER in (known.get("finalizers") or []) and not metadata.get("deletionTimestamp")
    if is_held and FINALIZER not in finalizers:
        yield {"op": "add", "path": "/metadata/finalizers", "value": [*finalizers, FINALIZER]}


def _part(document: Document, name: str) -> dict[str, str]:
    return document.get("metadata", {}).get(name) or {}


def _is_asked_for(new: Document, old: Document) -> bool:
    """Whether this is a new wish, or makes a request for approval of what was none, and was no one's."""
    needed, was_needed = (bool(one.get("spec", {}).get("approvalRequired")) for one in (new, old))
    return not old or (needed and not was_needed)


def _said(new: Document, old: Document, user: UserInfo) -> Iterator[Patch]:
    """What the cluster knows of who decides: their role may go by their groups, their name by an address."""
    known = {"groups": list(own_groups(user.groups)), "extra": addresses(user.extra)}
    for part, by in _ENTRIES.items():
        before = old.get("status", {}).get(part) or ()
        for number, entry in enumerate(new.get("status", {}).get(part) or ()):
            if entry in before or entry.get(by) != user.username:
                continue
            for key, value in known.items():
                if value and not entry.get(key):
                    yield {"op": "add", "path": f"/status/{part}/{number}/{key}", "value": value}


def _decided(new: Document, old: Document, user: UserInfo) -> Iterator[Patch]:
    """The same for a remediation, where the condition has no room for it."""
    status = new.get("status", {})
    is_theirs = status.get("decidedBy") in {None, "", user.username}
    if not is_theirs or not _decisions(new) - _decisions(old):
        return
    known = {
        "decidedBy": user.username,
        "deciderGroups": list(own_groups(user.groups)),
        "deciderExtra": addresses(user.extra),
    }
    for key, value in known.items():
        if value and not status.get(key):
            yield {"op": "add", "path": f"/status/{key}", "value": value}


def _decisions(document: Document) -> set[str]:
    conditions = document.get("status", {}).get("conditions") or ()
    return {condition.get("type", "") for condition in conditions} & _DECISIONS
