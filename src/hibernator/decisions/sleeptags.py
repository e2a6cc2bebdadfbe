"""The mark of a sleeper at a cloud: as tags of AWS, and as labels of Google Cloud.

Neither holds a JSON document. A tag has at most 256 characters, and only letters, digits, spaces and
`+ - = . _ : / @`; a label has 63, and only lower-case letters, digits, `-` and `_`. So the mark is spread
over several of them, and of what the thing was it has only what the thing does not show while it sleeps.

Snapshots, templates and clones take tags along. So the mark says of which thing it is, and on any other it
says nothing.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from hibernator.api.kind import DOMAIN
from hibernator.decisions.sleepmark import LABEL, MARK, Mark

TAG: Final = LABEL  # with the uid of the plan: what to ask AWS for
WAS: Final = f"{DOMAIN}/was"
TAGS: Final = (TAG, MARK, WAS)

LABELS: Final = "hibernator-asleep"  # with the uid of the plan; the others begin with the same
POLICY: Final = "activationPolicy"

_OF: Final = "of"
_PLACE, _PLAN, _TARGET, _CYCLE, _ID, _POLICY = (
    f"{LABELS}-{part}" for part in ("in", "by", "target", "cycle", _OF, "was")
)


def to_tags(mark: Mark) -> dict[str, str]:
    """The tags of a thing at AWS. `item` is what only this thing is called, and `was` has only numbers."""
    was = [f"{key}={value}" for key, value in sorted((mark.was or {}).items())]
    return {
        TAG: mark.uid,
        MARK: f"{mark.plan}/{mark.target}/{mark.cycle}",
        WAS: " ".join([f"{_OF}={_digest(mark.item)}", *was]),
    }


def from_tags(tags: Mapping[str, str], item: str) -> Mark | None:
    """The mark, unless there is none, it cannot be read, or it is of another thing."""
    try:
        namespace, plan, target, cycle = tags[MARK].split("/")
        was = dict(pair.split("=") for pair in tags[WAS].split())
        if was.pop(_OF) != _digest(item):
            return None
        return Mark(
            plan=f"{namespace}/{plan}",
            uid=tags[TAG],
            cycle=int(cycle),
            target=target,
            item=item,
            was={key: int(value) for key, value in was.items()},
        )
    except (KeyError, ValueError):
        return None


def to_labels(mark: Mark) -> dict[str, str]:
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
    }


def from_labels(labels: Mapping[str, str], item: str) -> Mark | None:
    """The mark, unless there is none, it cannot be read, or it is of another thing."""
    try:
        if labels[_ID] != _digest(item):
            return None
        return Mark(
            plan=f"{labels[_PLACE]}/{labels[_PLAN].replace('_', '.')}",
            uid=labels[LABELS],
            cycle=int(labels[_CYCLE]),
            target=labels[_TARGET],
            item=item,
            was={POLICY: labels[_POLICY].upper()},
        )
    except (KeyError, ValueError):
        return None


def _digest(item: str) -> str:
    return sha256(item.encode()).hexdigest()[:16]
