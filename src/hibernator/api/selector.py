"""Label selectors, by the rules of Kubernetes."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from hibernator.api.meta import Model, says


class LabelCondition(Model):
    key: Annotated[str, says("The label.", minLength=1, maxLength=317)]
    operator: Annotated[
        Literal["In", "NotIn", "Exists", "DoesNotExist"], says("How the label is compared with `values`.")
    ]
    values: Annotated[
        tuple[Annotated[str, says("A value.", maxLength=63)], ...],
        says("With `In` and `NotIn`: the values.", maxItems=100, x_kubernetes_list_type="atomic"),
    ] = ()


class Selector(Model):
    """Objects by their labels; an empty selector selects all."""

    match_labels: Annotated[
        Mapping[str, Annotated[str, says("The value.", maxLength=63)]],
        says("Labels that must all be there, with these values.", maxProperties=16),
    ] = msgspec.field(default_factory=dict)
    match_expressions: Annotated[
        tuple[LabelCondition, ...],
        says("Conditions on labels that must all be met.", maxItems=16, x_kubernetes_list_type="atomic"),
    ] = ()


def selects(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether an object with these labels is selected."""
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        _holds(one, labels) for one in selector.match_expressions
    )


def _holds(wanted: LabelCondition, labels: Mapping[str, str]) -> bool:
    value = labels.get(wanted.key)
    match wanted.operator:
        case "In":
            return value is not None and value in wanted.values
        case "NotIn":
            return value is None or value not in wanted.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
