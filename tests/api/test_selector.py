"""Which labels a selector selects, as everywhere in Kubernetes."""

import msgspec
import pytest

from hibernator.api.selector import Selector, selects


@pytest.mark.parametrize(
    ("labels", "operator", "values", "selected"),
    [
        ({"tier": "a"}, "In", ["a", "b"], True),
        ({"tier": "c"}, "In", ["a", "b"], False),
        ({}, "In", ["a"], False),
        ({"tier": "c"}, "NotIn", ["a", "b"], True),
        ({"tier": "a"}, "NotIn", ["a", "b"], False),
        ({}, "NotIn", ["a"], True),
        ({"tier": ""}, "Exists", [], True),
        ({}, "Exists", [], False),
        ({}, "DoesNotExist", [], True),
        ({"tier": ""}, "DoesNotExist", [], False),
    ],
)
def test_a_condition_selects_as_in_kubernetes(
    labels: dict[str, str], operator: str, values: list[str], *, selected: bool
) -> None:
    condition = {"key": "tier", "operator": operator, "values": values}
    selector = msgspec.convert({"matchExpressions": [condition]}, Selector)
    assert selects(selector, labels | {"other": "x"}) is selected


def test_all_that_a_selector_says_must_be_met() -> None:
    exists = {"key": "tier", "operator": "Exists"}
    selector = msgspec.convert({"matchLabels": {"team": "a"}, "matchExpressions": [exists]}, Selector)
    assert selects(selector, {"team": "a", "tier": "x"})
    assert not selects(selector, {"team": "a"})
    assert not selects(selector, {"team": "b", "tier": "x"})
    assert selects(Selector(), {})
