"""Notes down who asks and who decides, where they left it to us, and puts back what a manifest left out.

Only what is missing is filled in. Whatever is there already, or was, is the business of the policies, which
refuse any but the right one: so it is the same whether this webhook answers or not.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hibernator.admission.review import AdmissionRequest, Allowed, UserInfo, Verdict
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.approvals.people import addresses, own_groups
from hibernator.decisions.scheduleexception import FINALIZER, PLAN_LABEL
from hibernator.decisions.scheduleexception_request import REQUESTED_BY, REQUESTER_CLAIMS, requester_notes

PATH: Final = "/stamp"

_DECISIONS: Final = frozenset({"Approved", "Rejected"})
_STAMPED: Final = {"annotations": (REQUESTED_BY, REQUESTER_CLAIMS), "labels": (PLAN_LABEL,)}
_ENTRIES: Final = {"approvals": "approvedBy", "rejections": "rejectedBy"}

Document = Mapping[str, Any]
Patch = dict[str, Any]


async def stamp(request: AdmissionRequest) -> Verdict:
    new, user = request.new(dict[str, Any]), request.user_info
    old = {} if request.operation == "CREATE" else request.old(dict[str, Any])
    match request.resource.resource, request.sub_resource:
        case EXCEPTIONS.plural, "":
            return Allowed(patch=[*_asked(new, old, user)])
        case EXCEPTIONS.plural, "status":
            return Allowed(patch=[*_said(new, old, user)])
        case APPROVAL_REQUESTS.plural, "status":
            return Allowed(patch=[*_decided(new, old, user)])
        case _:
            return Allowed()


def _asked(new: Document, old: Document, user: UserInfo) -> Iterator[Patch]:
    """Who asks, with what was noted down before and is missing now: `kubectl replace` leaves it all out."""
    metadata, known = new.get("metadata", {}), old.get("metadata", {})
    for part, keys in _STAMPED.items():
        written, was = metadata.get(part) or {}, known.get(part) or {}
        kept = {key: was[key] for key in keys if was.get(key) and not written.get(key)}
        if part == "annotations" and not was.get(REQUESTED_BY) and _is_asked_for(new, old):
            notes = requester_notes(user.username, addresses(user.extra))
            is_theirs = written.get(REQUESTED_BY) in {None, "", user.username}
            kept |= {key: note for key, note in notes.items() if is_theirs and not written.get(key)}
        if kept:
            yield {"op": "add", "path": f"/metadata/{part}", "value": {**written, **kept}}
    finalizers = metadata.get("finalizers") or []
    is_held = FINALIZER in (known.get("finalizers") or []) and not metadata.get("deletionTimestamp")
    if is_held and FINALIZER not in finalizers:
        yield {"op": "add", "path": "/metadata/finalizers", "value": [*finalizers, FINALIZER]}


def _is_asked_for(new: Document, old: Document) -> bool:
    """Whether this is a new wish, or makes a request for approval of what was none, and was nobody's."""
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
