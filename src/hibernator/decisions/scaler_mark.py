"""What a scaler leaves on what it scales, in the write that does it: who, the how-manieth time, and why.

The target is written before the status. Should the process die in between, the mark is what the next one
tells the scaling from, however much has happened since. Without it nobody could say afterwards whether the
operator or a person had set the number.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec

from hibernator.api.meta import Model
from hibernator.decisions.scaling import Patch, annotated

ANNOTATION: Final = "kyklos.io/scaled"


# Whoever may write the target may write this, and it goes into the status and into the audit trail.
Replicas = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class Mark(Model):
    scaler: Annotated[str, msgspec.Meta(max_length=64)]  # its uid: the next scaler takes no word from it
    number: Annotated[int, msgspec.Meta(ge=1, le=2**53)]  # counts its scalings
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    old: Replicas = msgspec.field(name="from")
    new: Replicas = msgspec.field(name="to")
    wanted: Replicas  # what the schedule asks for, of which an autoscaler may give less
    window: Annotated[str, msgspec.Meta(max_length=256)]
    drift: bool = False  # whether somebody else had changed the number


def marked(patches: tuple[Patch, ...], mark: Mark) -> tuple[Patch, ...]:
    """The writes with the mark on the last that can bear one: a scale subresource cannot."""
    able = [place for place, patch in enumerate(patches) if not patch.place.subresource]
    text = msgspec.json.encode(mark).decode()
    return tuple(
        annotated(patch, ANNOTATION, text) if able and place == able[-1] else patch
        for place, patch in enumerate(patches)
    )


def read_mark(annotations: Mapping[str, str]) -> Mark | None:
    """The mark, unless there is none or somebody has spoiled it."""
    if not (text := annotations.get(ANNOTATION)):
        return None
    try:
        return msgspec.json.decode(text, type=Mark)
    except msgspec.MsgspecError:
        return None


def newest(marks: Iterable[Mark | None], scaler: str, told: int) -> Mark | None:
    """The last mark of this scaler that its status does not tell of yet."""
    mine = [mark for mark in marks if mark and mark.scaler == scaler and mark.number > told]
    return max(mine, key=lambda mark: mark.number, default=None)


def as_data(mark: Mark) -> dict[str, Any]:
    return {"from": mark.old, "to": mark.new, "window": mark.window, "scaling": mark.number}
