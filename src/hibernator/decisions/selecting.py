"""Whether an object has the labels that a selector asks for."""

from collections.abc import Mapping

from hibernator.api.selector import LabelCondition, Selector


def selects(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether labels fit a selector, by the rules of Kubernetes; an empty selector fits all."""
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
