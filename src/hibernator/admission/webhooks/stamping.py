"""Notes down who asks and who decides, where they left it to us.

Only what is missing is filled in. A name that is there already, or was, is the business of the policies,
which refuse any but the right one: so it is the same whether this webhook answers or not.
"""

from collections.abc import Mapping
from typing import Any, Final

from hibernator.admission.review import AdmissionRequest, Allowed, Verdict
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.decisions.scheduleexception_request import REQUESTED_BY

PATH: Final = "/stamp"

_DECISIONS: Final = frozenset({"Approved", "Rejected"})
_POINTER: Final = "/metadata/annotations/" + REQUESTED_BY.replace("~", "~0").replace("/", "~1")


async def stamp(request: AdmissionRequest) -> Verdict:
    document, user = request.new(dict[str, Any]), request.user_info.username
    match request.resource.resource, request.sub_resource, request.operation:
        case EXCEPTIONS.plural, "", "CREATE":
            return Allowed(patch=_requested(document, user))
        case EXCEPTIONS.plural, "", "UPDATE" if _is_turned(document, request.old(dict[str, Any])):
            return Allowed(patch=_requested(document, user))
        case APPROVAL_REQUESTS.plural, "status", "UPDATE":
            return Allowed(patch=_decided(document, request.old(dict[str, Any]), user))
        case _:
            return Allowed()


def _is_turned(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether somebody makes a request for approval of what was none, and was nobody's."""
    needed, was_needed = (bool(one["spec"].get("approvalRequired")) for one in (new, old))
    return needed and not was_needed and REQUESTED_BY not in (old["metadata"].get("annotations") or {})


def _requested(document: Mapping[str, Any], user: str) -> list[dict[str, Any]]:
    annotations = document.get("metadata", {}).get("annotations")
    if annotations is None:
        return [{"op": "add", "path": "/metadata/annotations", "value": {REQUESTED_BY: user}}]
    return [] if REQUESTED_BY in annotations else [{"op": "add", "path": _POINTER, "value": user}]


def _decided(new: Mapping[str, Any], old: Mapping[str, Any], user: str) -> list[dict[str, Any]]:
    nameless = not new.get("status", {}).get("decidedBy")
    if nameless and _decisions(new) - _decisions(old):
        return [{"op": "add", "path": "/status/decidedBy", "value": user}]
    return []


def _decisions(document: Mapping[str, Any]) -> set[str]:
    conditions = document.get("status", {}).get("conditions") or ()
    return {condition.get("type", "") for condition in conditions} & _DECISIONS
