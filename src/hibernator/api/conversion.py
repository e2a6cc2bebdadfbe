"""Between the two versions of TimeWindowScaler, without a loss either way.

v1alpha1 is stored. What it cannot say travels in one annotation (`betaparts`) beside the nearest v1alpha1
that is safe:

- a share becomes the number that it would be of one replica, rounded up: above zero unless it is `0%`;
- a measured number becomes its `max`: too many replicas cost money, too few an outage.

An annotation that cannot be read is left alone and changes nothing; `annotation_problem` says what is wrong
with it. One that a user has written into a v1beta1 object counts as if written into the v1alpha1 one.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.betaparts import NOTHING, BetaParts, merged, projected
from hibernator.api.problem import Problem
from hibernator.api.timewindowscaler import TimeWindowScaler

ANNOTATION: Final = "kyklos.io/v1beta1"

Document = Mapping[str, Any]  # an object or a part of one, as JSON

_LONGEST_ANNOTATION: Final = 200_000  # the API server allows 262,144 bytes for all annotations together
_decoder: Final = msgspec.json.Decoder(BetaParts)


class ConversionError(Exception):
    """An object cannot be written in the other version; the message is what its author reads."""


def converted(document: Document, api_version: str) -> Document:
    """Write an object in another version of its kind. Nothing is changed in place."""
    match _version(document.get("apiVersion")), _version(api_version):
        case "v1alpha1", "v1beta1":
            body = _to_v1beta1(document)
        case "v1beta1", "v1alpha1":
            body = _to_v1alpha1(document)
        case source, target if source == target:
            return document
        case _:
            raise ConversionError(
                f"{document.get('kind')} cannot be converted from {document.get('apiVersion')} to "
                f"{api_version}: the known versions are v1alpha1 and v1beta1"
            )
    return {**body, "apiVersion": api_version}


def effective_spec(scaler: TimeWindowScaler) -> v1beta1.TimeWindowScalerSpec:
    """All that a stored scaler says, annotation included; no webhook is needed for it."""
    spec = merged(msgspec.to_builtins(scaler.spec), _read(scaler.metadata.annotations) or NOTHING)
    return msgspec.convert(spec, v1beta1.TimeWindowScalerSpec)


def annotation_problem(scaler: TimeWindowScaler) -> Problem | None:
    """What is wrong with the annotation of a stored scaler; None when it can be read or is not there."""
    text = scaler.metadata.annotations.get(ANNOTATION)
    try:
        if text is not None:
            _decoder.decode(text)
    except ValueError as error:
        return Problem(
            f"metadata.annotations[{ANNOTATION}]",
            text,
            f"cannot be read ({error}), so that the shares, measured numbers and zones in it are unknown",
            "Write the scaler again as kyklos.io/v1beta1, or remove the annotation.",
        )
    return None


def settled_annotation(scaler: TimeWindowScaler) -> str | None:
    """What the annotation has to say after edits through v1alpha1; None when there is to be none.

    Until someone writes it, a number that is set back to what it was brings back the share behind it.
    """
    annotations = scaler.metadata.annotations
    parts = _read(annotations)
    if parts is None:
        return annotations.get(ANNOTATION)
    _, parts = projected(merged(msgspec.to_builtins(scaler.spec), parts))
    return _text(parts) if parts != NOTHING else None


def _version(api_version: object) -> str:
    return str(api_version).rpartition("/")[2]


def _to_v1beta1(document: Document) -> Document:
    annotations = _annotations(document)
    parts = _read(annotations)
    if parts is None:
        return document
    rest = {key: value for key, value in annotations.items() if key != ANNOTATION}
    return {**_annotated(document, rest), "spec": merged(document.get("spec"), parts)}


def _to_v1alpha1(document: Document) -> Document:
    spec, parts = projected(document.get("spec"))
    if parts == NOTHING:
        # An annotation that is there all the same was not made from this spec: it is not ours to remove.
        return document
    text = _text(parts)
    if (size := len(text.encode())) > _LONGEST_ANNOTATION:
        raise ConversionError(
            f"spec.windows holds {size} bytes of queries and zones, but {_LONGEST_ANNOTATION} are the most "
            "that can be stored. Shorten the queries, for example with recording rules in Prometheus."
        )
    return {**_annotated(document, {**_annotations(document), ANNOTATION: text}), "spec": spec}


def _annotations(document: Document) -> Document:
    metadata = document.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return annotations if isinstance(annotations, Mapping) else {}


def _annotated(document: Document, annotations: Document) -> Document:
    metadata = {key: value for key, value in document.get("metadata", {}).items() if key != "annotations"}
    return {**document, "metadata": metadata | ({"annotations": annotations} if annotations else {})}


def _read(annotations: Document) -> BetaParts | None:
    """What a readable annotation holds; None when there is none."""
    text = annotations.get(ANNOTATION)
    try:
        return _decoder.decode(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _text(parts: BetaParts) -> str:
    return msgspec.json.encode(parts).decode()
