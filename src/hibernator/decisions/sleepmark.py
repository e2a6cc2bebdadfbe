"""The mark of a sleeper: its own way back, and the trace that is left where the mark was.

The write that puts a thing to sleep also writes into the thing what it was, which plan put it to sleep, and
in which cycle. So one of two copies is enough to wake it: the mark, or the restore data in the ConfigMaps of
the plan. The write that wakes it takes the mark off and leaves a trace of the cycle. That is done where the
thing seems awake, too: every waking changes the version of the object, so that a write of the sleep which is
still on its way no longer fits its precondition and fails.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from hibernator.api.kind import DOMAIN
from hibernator.api.meta import Model
from hibernator.decisions.patched import fields_of, is_patched

LABEL: Final = f"{DOMAIN}/asleep"  # on every sleeper, with the uid of the plan: what to select by
MARK: Final = f"{DOMAIN}/asleep-by"
TRACE: Final = f"{DOMAIN}/woken-by"
ASLEEP_AT: Final = "asleepAt"  # in a restore document: how many replicas run on
_MOST: Final = 2**31  # replicas are an int32


class SleepMark(Model):
    """What a sleeper says about itself."""

    plan: str  # namespace/name
    uid: str = ""  # of the plan
    cycle: int = 0
    target: str = ""
    item: str = ""  # the key of the item, as the restore data has it
    was: dict[str, Any] | None = None  # the restore document; None in marks of earlier versions
    cluster: str = ""  # with the plan in it, where others may see the mark: the uid of its kube-system

    @property
    def trace(self) -> str:
        """What stands in its place after the waking."""
        return trace(self.uid, self.cycle)


def trace(uid: str, cycle: int) -> str:
    return f"{uid}/{cycle}"


def read_mark(annotations: Mapping[str, str]) -> SleepMark | None:
    """The mark, unless there is none or it cannot be read."""
    text = annotations.get(MARK)
    if not text:
        return None
    if not text.startswith("{"):  # earlier versions wrote the name of the plan and nothing else
        return SleepMark(plan=text)
    try:
        mark = msgspec.json.decode(text, type=SleepMark)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return mark if is_usable(mark.was or {}) else None


def is_usable(was: Mapping[str, Any]) -> bool:
    """Whether a restore document can be written back. People can edit marks as well as restore data."""
    if is_patched(was):
        try:
            return bool(fields_of(was))
        except (ValueError, TypeError):
            return False
    replicas, paused, limits = was.get("replicas"), was.get("pausedReplicas"), was.get("limits")
    return (
        (replicas is None or _is_size(replicas))
        and _is_size(was.get(ASLEEP_AT, 0))
        and (paused is None or isinstance(paused, str))
        and (limits is None or isinstance(limits, dict))
        and isinstance(was.get("scaledObject", ""), str)
    )


def asleep_at(was: Mapping[str, Any] | None) -> int:
    """How many replicas run of what sleeps, by its restore document: mostly none."""
    size: int = (was or {}).get(ASLEEP_AT, 0)
    return size


def _is_size(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < _MOST


def to_metadata(mark: SleepMark) -> dict[str, Any]:
    """What the write that puts to sleep says in the object's metadata."""
    text = msgspec.json.encode(mark, order="sorted").decode()
    return {"labels": {LABEL: mark.uid}, "annotations": {MARK: text, TRACE: None}}


def from_metadata(left: str) -> dict[str, Any]:
    """What the write that wakes says in the object's metadata; `left` is the trace."""
    return {"labels": {LABEL: None}, "annotations": {MARK: None, TRACE: left}}


TAG: Final = LABEL  # with the uid of the plan: what to ask AWS for
WAS: Final = f"{DOMAIN}/was"
CLUSTER: Final = f"{DOMAIN}/asleep-for"  # with the id of the plan's cluster
TAGS: Final = (TAG, MARK, WAS, CLUSTER)

LABELS: Final = "hibernator-asleep"  # with the uid of the plan; the others begin with the same
POLICY: Final = "activationPolicy"

_OF: Final = "of"
_PLACE, _PLAN, _TARGET, _CYCLE, _ID, _POLICY, _CLUSTER = (
    f"{LABELS}-{part}" for part in ("in", "by", "target", "cycle", _OF, "was", "for")
)


def to_tags(mark: SleepMark) -> dict[str, str]:
    """The tags of a thing at AWS. `item` is what only this thing is called, and `was` has only numbers."""
    was = [f"{key}={value}" for key, value in sorted((mark.was or {}).items())]
    return {
        TAG: mark.uid,
        MARK: f"{mark.plan}/{mark.target}/{mark.cycle}",
        WAS: " ".join([f"{_OF}={_digest(mark.item)}", *was]),
        **({CLUSTER: mark.cluster} if mark.cluster else {}),
    }


def from_tags(tags: Mapping[str, str], item: str) -> SleepMark | None:
    """The mark, unless there is none, it cannot be read, or it is of another thing."""
    try:
        namespace, plan, target, cycle = tags[MARK].split("/")
        was = dict(pair.split("=") for pair in tags[WAS].split())
        if was.pop(_OF) != _digest(item):
            return None
        return SleepMark(
            plan=f"{namespace}/{plan}",
            uid=tags[TAG],
            cycle=int(cycle),
            target=target,
            item=item,
            was={key: int(value) for key, value in was.items()},
            cluster=tags.get(CLUSTER, ""),
        )
    except (KeyError, ValueError):
        return None


def to_labels(mark: SleepMark) -> dict[str, str]:
    """The labels of a database of Cloud SQL. `was` has its activation policy."""
    namespace, _, plan = mark.plan.partition("/")
    return {
        LABELS: mark.uid,
        _PLACE: namespace,
        _PLAN: plan.replace(".", "_"),  # which no name in Kubernetes has
        _TARGET: mark.target,
        _CYCLE: str(mark.cycle),
        _ID: _digest(mark.item),
        _POLICY: str((mark.was or {})[POLICY]).lower(),
        **({_CLUSTER: mark.cluster} if mark.cluster else {}),
    }


def from_labels(labels: Mapping[str, str], item: str) -> SleepMark | None:
    """The mark, unless there is none, it cannot be read, or it is of another thing."""
    try:
        if labels[_ID] != _digest(item):
            return None
        return SleepMark(
            plan=f"{labels[_PLACE]}/{labels[_PLAN].replace('_', '.')}",
            uid=labels[LABELS],
            cycle=int(labels[_CYCLE]),
            target=labels[_TARGET],
            item=item,
            was={POLICY: labels[_POLICY].upper()},
            cluster=labels.get(_CLUSTER, ""),
        )
    except (KeyError, ValueError):
        return None


def _digest(item: str) -> str:
    return sha256(item.encode()).hexdigest()[:16]
