"""What an autoscaler was set to before a scaler came, kept on the autoscaler itself.

A number that is set on the target is for whoever scales it next. A minimum or a pause is not: left behind, it
would rule over an autoscaler that nobody but its owner is to rule any more. So the write that sets it notes
down what was there, and when no scaler has the target any more, that is put back.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from hibernator.api.meta import Model
from hibernator.decisions.scaler_mark import ANNOTATION as MARK
from hibernator.decisions.scaling import KEDA_PAUSED_REPLICAS, Autoscaler, Horizontal, Patch, annotated

ANNOTATION: Final = "kyklos.io/before"


class Before(Model):
    scaler: str  # the name of the one who set it last
    was: int | None = None  # minReplicas, or the number that KEDA was paused at, if it was
    set_to: int = 0


def read_before(annotations: Mapping[str, str]) -> Before | None:
    """What was noted down, unless there is nothing or somebody has spoiled it."""
    if not (text := annotations.get(ANNOTATION)):
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
        annotated(patch, ANNOTATION, _note(patch, autoscaler, before, scaler))
        if autoscaler and patch.place == autoscaler.place
        else patch
        for patch in patches
    )


def put_back(autoscaler: Autoscaler, before: Before) -> Patch:
    """The write after which the autoscaler is as it was, unless somebody else has set it since."""
    cleared = annotated(Patch(place=autoscaler.place, body={}), ANNOTATION, None)
    cleared = annotated(cleared, MARK, None)
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
