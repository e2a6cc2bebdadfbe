"""What follows from the mark of a thing at a cloud, for all executors of clouds.

AWS takes the mark and the sleep in two calls, so the order makes a crash harmless: mark, then sleep; wake,
then take the mark off. A mark alone does not say that the thing sleeps, and each call looks at both.

Accounts are shared by clusters, in which plans may have the same name. So what sleeps for a plan is looked
for by the plan's uid. The name is enough where the plan covers the thing anyway: a plan that was created
again goes on with what its predecessor has put to sleep.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import structlog

from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.decisions.sleepmark import TAGS, SleepMark
from hibernator.executors.protocol import (
    ExecutorError,
    Item,
    Job,
    Marked,
    Permanent,
    Retryable,
    Saved,
    Throttled,
)

#: Seconds for which a change that was sent may still be carried out: AWS refuses a signature that is older
#: than five minutes. Google documents no such bound; there the same time is our choice.
LINGERS: Final = 300.0

log = structlog.get_logger(__name__)


def mark_for(job: Job, item: Saved, thing: str, was: Mapping[str, Any], cluster: str) -> SleepMark:
    """The mark that the item shall bear; `thing` is what only this one is called."""
    return msgspec.structs.replace(job.mark(item), item=thing, was=dict(was), cluster=cluster)


def borne(tags: Collection[str]) -> list[str]:
    """The tags of a mark, as far as they are there."""
    return [tag for tag in TAGS if tag in tags]


def of_cluster(found: Iterable[Marked], cluster: str) -> tuple[Marked, ...]:
    """Those that plans of one cluster have put to sleep; without an id of it that is not known."""
    return tuple(one for one in found if cluster and one.mark.cluster == cluster)


def of_plan(found: Iterable[Marked], job: Job) -> tuple[Item, ...]:
    """Those that this very plan has put to sleep for this target."""
    return tuple(one.item for one in found if is_of(one.mark, job))


def is_of_another(mark: SleepMark | None, job: Job) -> bool:
    """Whether it sleeps for another plan, which is the one to wake it."""
    return mark is not None and mark.plan != job.owner


def is_of(mark: SleepMark | None, job: Job) -> bool:
    """Whether this very plan has put it to sleep for this target."""
    return mark is not None and (mark.uid, mark.target) == (job.uid, job.target.name)


def check_may_wake(mark: SleepMark | None, job: Job, item: Saved) -> None:
    """Raise what is to be said of a sleeper that is neither covered by the plan nor marked by it."""
    if not item.covered and not (mark and mark.uid == job.uid):
        raise item.foreign


def sleeper(
    key: str, mark: SleepMark | None, job: Job, was: Mapping[str, Any] | None, saving: Saving, note: str
) -> Item:
    """What `discover` says of a thing that sleeps, and was as its mark says."""
    if mark is None:
        return Item(key=key, note=note)
    if is_of_another(mark, job) or was is None:
        return Item(key=key, note=f"put to sleep by {mark.plan}")
    return Item(key=key, restore=was, saving=saving, asleep=True)


@contextmanager
def marking(key: str, *, again: bool = False) -> Iterator[None]:
    """Let a refusal to write or to remove a mark pass: the restore data is enough to wake the thing.

    With `again` other failures pass, too, because the thing is looked at once more after `LINGERS`: a
    database may take no tags while it starts.
    """
    try:
        yield
    except Permanent as error:
        warn_unmarked(key, error)
    except (Retryable, Throttled) as error:
        if not again:
            raise
        log.info("mark is not removed yet", item=key, why=str(error))


def warn_unmarked(key: str, error: ExecutorError) -> None:
    log.warning("mark could not be written; restore data is the only copy", item=key, why=str(error))
