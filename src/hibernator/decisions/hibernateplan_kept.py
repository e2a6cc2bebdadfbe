"""What people may read of restore data: which items sleep, and what they wake to, in words.

Restore documents hold whatever an executor needs, for a patch any field of an object. So nothing of them is
passed on as it is: of what is known, such as a number of replicas, words are made, and of all else only that
it is there.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeGuard

import msgspec

from hibernator.api.hibernateplan import Target
from hibernator.api.meta import Model, says
from hibernator.decisions.hibernateplan_restore import ITEMS_KEY, TARGET_KEY, Entry
from hibernator.decisions.patched import PATCHED
from hibernator.decisions.sleepmark import ASLEEP_AT, POLICY

PATH: Final = "/restore/v1/{namespace}/{name}"  # at the operator
PART: Final = "restoredata"  # of a plan, for rules of access; the API server itself has no such part
MOST_ITEMS: Final = 100  # of a target; people read no more, and `hibernator plan restore-data` has them all
_LONGEST: Final = 300  # characters of a name
_UNKNOWN: Final = "as it was"
_QUANTITY: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?[A-Za-z]{0,2}")
_BY_KIND: Final = {"CronJob": "not suspended", "Job": "not suspended", "DaemonSet": "running on its nodes"}

State = Literal["Asleep", "WakingUp", "Awake", "LeftAlone"]
Document = Mapping[str, Any]


class KeptItem(Model, omit_defaults=False):
    """One thing of a target."""

    name: Annotated[str, says("Its name, or its id at a cloud.")]
    kind: Annotated[str, says("Its kind, where it is an object of a cluster.")] = ""
    namespace: Annotated[str, says("Its namespace, where it is an object of a cluster.")] = ""
    state: Annotated[
        State,
        says(
            "`Asleep`; `WakingUp`: woken, and not at rest yet; `Awake`: stays awake for now; `LeftAlone`: "
            "the plan does nothing to it."
        ),
    ] = "Asleep"
    wakes_to: Annotated[str, says("What it wakes to, in words, such as `3 replicas`.")] = ""
    awake_until: Annotated[datetime | None, says("Until when it stays awake, at least.")] = None
    cycle: Annotated[int, says("The cycle in which this was saved.")] = 0


class KeptTarget(Model, omit_defaults=False):
    """What is kept of a target."""

    name: str
    type: Annotated[str, says("What it was of when it went to sleep.")]
    asleep: Annotated[int, says("How many items are asleep, or on their way out of it.")] = 0
    total: Annotated[int, says("How many items are kept in all.")] = 0
    since: Annotated[datetime | None, says("Since when there is something to keep.")] = None
    items: Annotated[tuple[KeptItem, ...], says(f"The first {MOST_ITEMS}, those asleep before others.")] = ()


class KeptPlan(Model, omit_defaults=False):
    """What the restore data of a plan says."""

    targets: tuple[KeptTarget, ...] = ()


class _Part(Model):
    """A ConfigMap of restore data."""

    target: Target
    entries: dict[str, Entry]
    created: datetime | None


def kept_plan(found: Iterable[tuple[Mapping[str, str], datetime | None]]) -> KeptPlan:
    """From the data of each ConfigMap and when it was made; ValueError for what cannot be read."""
    by_target: dict[str, list[_Part]] = {}
    for data, created in found:
        part = _Part(
            target=msgspec.json.decode(data.get(TARGET_KEY, ""), type=Target),
            entries=msgspec.json.decode(data.get(ITEMS_KEY, "{}"), type=dict[str, Entry]),
            created=created,
        )
        by_target.setdefault(part.target.name, []).append(part)
    return KeptPlan(targets=tuple(_target(name, parts) for name, parts in sorted(by_target.items())))


def _target(name: str, parts: list[_Part]) -> KeptTarget:
    entries = {key: entry for part in parts for key, entry in part.entries.items()}
    shown = sorted(entries.items(), key=lambda one: (one[1].was is None, one[0]))[:MOST_ITEMS]
    return KeptTarget(
        name=name,
        type=parts[0].target.type,
        asleep=sum(entry.was is not None for entry in entries.values()),
        total=len(entries),
        since=min((part.created for part in parts if part.created), default=None),
        items=tuple(_item(key, entry) for key, entry in shown),
    )


def _item(key: str, entry: Entry) -> KeptItem:
    kind, namespace, name = _parts(key[:_LONGEST])
    return KeptItem(
        kind=kind,
        namespace=namespace,
        name=name,
        state=_state(entry),
        wakes_to="" if entry.was is None else wakes_to(kind, entry.was),
        awake_until=entry.awake_until,
        cycle=entry.cycle,
    )


def _parts(key: str) -> tuple[str, str, str]:
    """`Deployment/team-a/web`, `NodePool/general`, or a name by itself."""
    match key.split("/", 2):
        case [kind, namespace, name]:
            return kind, namespace, name
        case [kind, name]:
            return kind, "", name
        case _:
            return "", "", key


def _state(entry: Entry) -> State:
    if entry.was is None:
        return "Awake" if entry.awake_until else "LeftAlone"
    return "WakingUp" if entry.woken else "Asleep"


def wakes_to(kind: str, was: Document) -> str:
    """What a restore document brings back, in words that come from numbers and known states only."""
    for words in _KNOWN:
        if found := words(kind, was):
            return found
    return _UNKNOWN


def _patched(_kind: str, was: Document) -> str:
    fields = was.get(PATCHED)
    return f"{_many(len(fields), 'field')} as before" if isinstance(fields, list | tuple) else ""


def _by_keda(_kind: str, was: Document) -> str:
    if not was.get("scaledObject"):
        return ""
    paused = str(was.get("pausedReplicas") or "")
    number = _many(int(paused), "replica") if paused.isdecimal() and len(paused) < 10 else ""  # noqa: PLR2004  an int32
    return f"{number}, as KEDA was paused at" if number else "as many replicas as KEDA wants"


def _replicas(_kind: str, was: Document) -> str:
    if "replicas" not in was:
        return ""
    number, left = was["replicas"], was.get(ASLEEP_AT)
    words = _many(number, "replica") if _is_number(number) else "its usual replicas"
    return f"{words} ({left} while asleep)" if _is_number(left) else words


def _nodes(_kind: str, was: Document) -> str:
    """A group of machines at AWS."""
    least, most, wanted = was.get("min"), was.get("max"), was.get("desired")
    if _is_number(least) and _is_number(most) and _is_number(wanted):
        return f"{_many(wanted, 'machine')} ({least} to {most})"
    return ""


def _pool(_kind: str, was: Document) -> str:
    """A node pool of GKE: the number is that of each zone."""
    number, scaling = was.get("nodeCount"), was.get("autoscaling")
    if not _is_number(number):
        return ""
    scales = isinstance(scaling, Mapping) and scaling.get("enabled") is True
    return f"{_many(number, 'node')} in each zone" + (", autoscaled" if scales else "")


def _machine(_kind: str, was: Document) -> str:
    """A virtual machine or a database at a cloud."""
    return "running" if was.get("state") == "running" or "resourceId" in was or POLICY in was else ""


def _limits(kind: str, was: Document) -> str:
    """A NodePool of Karpenter."""
    if kind != "NodePool" or "limits" not in was:
        return ""
    limits = was["limits"] if isinstance(was["limits"], Mapping) else {}
    found = [
        f"{name} {limits[name]}" for name in ("cpu", "memory") if _QUANTITY.fullmatch(str(limits.get(name)))
    ]
    return f"limits of {', '.join(found)}" if found else "no limits of cpu or memory"


def _by_kind(kind: str, was: Document) -> str:
    return _BY_KIND.get(kind, "") if "uid" in was else ""


_KNOWN: Final[tuple[Callable[[str, Document], str], ...]] = (
    _patched,
    _by_keda,
    _replicas,
    _nodes,
    _pool,
    _machine,
    _limits,
    _by_kind,
)


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _many(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
