"""What plans that are gone have left at clouds, as it is told."""

import msgspec
from hypothesis import given, strategies as st

from hibernator.api.meta import Stray
from hibernator.api.schema import schema_of
from hibernator.api.structural import check
from hibernator.controllers.strays_left import CloudStray
from hibernator.decisions.sleepmark import SleepMark
from hibernator.executors.protocol import Item

text = st.text(max_size=700)


@given(text, text, text, st.integers())
def test_whatever_a_mark_says_fits_into_the_status_of_a_connector(
    item: str, plan: str, target: str, cycle: int
) -> None:
    """Whoever may write tags writes anything; an API server that refuses the status would tell nothing."""
    mark = SleepMark(plan=plan, target=target, cycle=cycle)
    shown = CloudStray(("CloudProvider", "team", "dev"), "ec2", Item(key=item), mark, asleep=True).shown
    assert list(check(schema_of(Stray), msgspec.to_builtins(shown))) == []
