"""What became of a connector between two statuses, for its journal and from there for the audit trail."""

from collections.abc import Collection, Iterator, Sequence

from whenever import Instant

from hibernator.api.cloudprovider import CloudProvider
from hibernator.api.journal import Transition
from hibernator.api.k8scluster import K8SCluster
from hibernator.api.meta import Condition
from hibernator.decisions.conditions import find
from hibernator.decisions.connectors import READY
from hibernator.decisions.journal import News, noted, spec_news


def journaled(
    found: CloudProvider | K8SCluster,
    conditions: Sequence[Condition],
    recorded: Collection[int],
    now: Instant,
) -> tuple[Transition, ...]:
    """The journal that goes with the new conditions."""
    before = found.status
    news = (
        *spec_news(before.observed_generation, found.metadata),
        *_tried(before.conditions, conditions),
    )
    return noted(before.journal, news, recorded, now)


def _tried(before: Sequence[Condition], after: Sequence[Condition]) -> Iterator[News]:
    """Another reason is another trouble; other words for the same one are not."""
    old, new = find(before, READY), find(after, READY)
    if new is None or (old and (old.status, old.reason) == (new.status, new.reason)):
        return
    works = new.status == "True"
    yield News("ready" if works else "degraded", "" if works else new.message, {"reason": new.reason})
