"""What a scaler leaves on what it scales, in the write that does it: who, a counter, and why.

The target is written before the status. Should the process die in between, the mark is what the next one
tells the scaling from, however much has happened since. Without it no one could say afterwards whether the
operator or a person had set the number.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec

from hibernator.api.meta import Model
from hibernator.decisions.scaling import KEDA_PAUSED_REPLICAS, Autoscaler, Horizontal, Patch, annotated

ANNOTATION: Final = "kyklos.io/scaled"


# Anyone who may write the target may write this, and it goes into the status and into the audit trail.
Replicas = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class ScalingMark(Model):
    scaler: Annotated[str, msgspec.Meta(max_length=64)]  # its uid: the next scaler takes no word from it
    number: Annotated[int, msgspec.Meta(ge=1, le=2**53)]  # counts its scalings
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    old: Replicas = msgspec.field(name="from")
    new: Replicas = msgspec.field(name="to")
    wanted: Replicas  # what the schedule asks for, of which an autoscaler may give less
    window: Annotated[str, msgspec.Meta(max_length=256)]
    drift: bool = False  # whether someone else had changed the number


def marked(patches: tuple[Patch, ...], mark: ScalingMark) -> tuple[Patch, ...]:
    """The writes with the mark on the last that can bear one: a scale subresource cannot."""
    able = [place for place, patch in enumerate(patches) if not patch.place.subresource]
    text = msgspec.json.encode(mark).decode()
    return tuple(
        annotated(patch, ANNOTATION, text) if able and place == able[-1] else patch
        for place, patch in enumerate(patches)
    )


def read_mark(annotations: Mapping[str, str]) -> ScalingMark | None:
    """The mark, unless there is none or someone has spoiled it."""
    if not (text := annotations.get(ANNOTATION)):
        return None
    try:
        return msgspec.json.decode(text, type=ScalingMark)
    except msgspec.MsgspecError:
        return None


def newest(marks: Iterable[ScalingMark | None], scaler: str, recorded: int) -> ScalingMark | None:
    """The last mark of this scaler that its status does not record yet."""
    mine = [mark for mark in marks if mark and mark.scaler == scaler and mark.number > recorded]
    return max(mine, key=lambda mark: mark.number, default=None)


def as_data(mark: ScalingMark) -> dict[str, Any]:
    return {"from": mark.old, "to": mark.new, "window": mark.window, "scaling": mark.number}


BEFORE: Final = "kyklos.io/before"


class Before(Model):
    scaler: str  # the name of the one who set it last
    was: int | None = None  # minReplicas, or the number that KEDA was paused at, if it was
    set_to: int = 0


def read_before(annotations: Mapping[str, str]) -> Before | None:
    """What was recorded, unless there is nothing or someone has spoiled it."""
    if not (text := annotations.get(BEFORE)):
        return None
    try:
        return msgspec.json.decode(text, type=Before)
    except msgspec.MsgspecError:
        return None


def noting_before(
    patches: tuple[Patch, ...], autoscaler: Autoscaler | None, before: Before | None, scaler: str
) -> tuple[Patch, ...]:
    """The writes, with a note of what was there on the one that sets the autoscaler."""
    return tuple(
        annotated(patch, BEFORE, _note(patch, autoscaler, before, scaler))
        if autoscaler and patch.place == autoscaler.place
        else patch
        for patch in patches
    )


def put_back(autoscaler: Autoscaler, before: Before) -> Patch:
    """The write after which the autoscaler is as it was, unless someone else has set it since."""
    cleared = annotated(Patch(place=autoscaler.place, body={}), BEFORE, None)
    cleared = annotated(cleared, ANNOTATION, None)
    if _set_to(autoscaler) != before.set_to:
        return cleared
    if isinstance(autoscaler, Horizontal):
        least = min(before.was or 1, autoscaler.maximum)
        return Patch(place=autoscaler.place, body={**cleared.body, "spec": {"minReplicas": least}})
    return annotated(cleared, KEDA_PAUSED_REPLICAS, None if before.was is None else str(before.was))


def _note(patch: Patch, autoscaler: Autoscaler, before: Before | None, scaler: str) -> str:
    if isinstance(autoscaler, Horizontal):
        value = patch.body["spec"]["minReplicas"]
    else:
        value = int(patch.body["metadata"]["annotations"][KEDA_PAUSED_REPLICAS])
    was = before.was if before else _set_to(autoscaler)
    return msgspec.json.encode(Before(scaler=scaler, was=was, set_to=value)).decode()


def _set_to(autoscaler: Autoscaler) -> int | None:
    return autoscaler.minimum if isinstance(autoscaler, Horizontal) else autoscaler.paused_at
