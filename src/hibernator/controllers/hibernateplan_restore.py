"""Restore data in the API server: ConfigMaps that no one loses by accident.

They have no owner, because a deletion in the foreground takes what is owned first, and the plan's sleepers
are woken from these. They have a finalizer, because a `kubectl delete configmaps --all` must not cost the
morning. An entry moves from one part to another only after it is written there, so that no write can lose it
between the two; where two parts have it, the later one counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.api.meta import ObjectMeta
from hibernator.decisions.hibernateplan_restore import (
    FINALIZER,
    LABEL,
    PLAN_LABEL,
    TARGET_LABEL,
    Entry,
    Kept,
    name_of,
    part,
    parts,
    portions,
    read,
)
from hibernator.executors.protocol import Permanent
from hibernator.kube.client import Client
from hibernator.kube.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound


@dataclass(slots=True)
class _Part:
    found: ConfigMap
    keys: frozenset[str]


@dataclass(slots=True)
class Stored:
    """What the API server holds of one target."""

    kept: Kept
    parts: dict[int, _Part] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The ConfigMaps of a target, of which at least one cannot be read. They stay as they are."""

    why: str
    parts: tuple[ObjectMeta, ...]


class RestoreData:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def load(self, namespace: str, plan: str) -> tuple[dict[str, Stored], dict[str, Unreadable]]:
        """Everything that is kept for a plan, from the API server itself, and what of it cannot be read."""
        selector = f"{LABEL}=true,{PLAN_LABEL}={plan}"
        by_target: dict[str, list[ConfigMap]] = {}
        for found in await self._client.list(CONFIG_MAPS, namespace, label_selector=selector):
            by_target.setdefault(found.metadata.labels.get(TARGET_LABEL, ""), []).append(found)
        stored, unreadable = {}, {}
        for target, maps in by_target.items():
            try:
                stored[target] = _stored(maps)
            except ValueError as error:
                unreadable[target] = Unreadable(str(error), tuple(one.metadata for one in maps))
        return stored, unreadable

    async def save(self, namespace: str, plan: str, kept: Kept, before: Stored | None) -> Stored:
        """Make it durable. Entries stay in their part while it has room for them; others go to new parts."""
        now = Stored(kept, dict(before.parts) if before else {})
        homes = {key: number for number, one in sorted(now.parts.items()) for key in one.keys}
        fresh = _only(kept.entries, kept.entries.keys() - homes.keys())
        datas: dict[int, dict[str, str]] = {}
        for number in now.parts:
            mine = _only(kept.entries, (key for key in kept.entries if homes.get(key) == number))
            stays, *grown = portions(mine)
            fresh |= {key: entry for portion in grown for key, entry in portion.items()}
            datas[number] = part(kept.target, stays)
        following = max(now.parts, default=-1) + 1
        if fresh or not now.parts:
            for number, data in enumerate(parts(Kept(target=kept.target, entries=fresh)), following):
                now.parts[number] = await self._create(namespace, plan, kept.target.name, number, data)
        for number, data in datas.items():
            if data != now.parts[number].found.data:
                now.parts[number] = await self._rewrite(now.parts[number], data)
        return now

    async def drop(self, stored: Stored) -> None:
        """Everything is awake: nothing needs to be kept."""
        for one in stored.parts.values():
            metadata = one.found.metadata
            try:
                with _refusals():
                    await self._client.delete(
                        CONFIG_MAPS,
                        metadata.name,
                        metadata.namespace,
                        uid=metadata.uid,
                        resource_version=metadata.resource_version,
                    )
            except NotFound:
                continue
            await self._let_go(one)

    async def leave(self, stored: Stored) -> None:
        """Keep the data for people, but hold up no deletion any more."""
        for one in stored.parts.values():
            await self._let_go(one)

    async def _let_go(self, one: _Part) -> None:
        metadata = one.found.metadata
        body = {"metadata": {"finalizers": [one for one in metadata.finalizers if one != FINALIZER]}}
        with suppress(NotFound), _refusals():
            await self._client.patch(
                CONFIG_MAPS, metadata.name, metadata.namespace, body, resource_version=None, uid=metadata.uid
            )

    async def _rewrite(self, before: _Part, data: Mapping[str, str]) -> _Part:
        metadata = before.found.metadata
        with _refusals():
            return _part(
                await self._client.patch(
                    CONFIG_MAPS,
                    metadata.name,
                    metadata.namespace,
                    {"data": data},
                    resource_version=metadata.resource_version,
                )
            )

    async def _create(
        self, namespace: str, plan: str, target: str, number: int, data: Mapping[str, str]
    ) -> _Part:
        body: dict[str, Any] = {
            "metadata": {
                "name": name_of(plan, target, number),
                "namespace": namespace,
                "labels": {LABEL: "true", PLAN_LABEL: plan, TARGET_LABEL: target},
                "finalizers": [FINALIZER],
            },
            "data": data,
        }
        try:
            with _refusals():
                return _part(await self._client.create(CONFIG_MAPS, body))
        except AlreadyExists as error:
            await self._complain_if_taken(body["metadata"]["name"], namespace)
            raise Conflict("the restore data has a part that was not known of") from error

    async def _complain_if_taken(self, name: str, namespace: str) -> None:
        with suppress(NotFound):
            found = await self._client.get(CONFIG_MAPS, name, namespace)
            if found.metadata.labels.get(LABEL) != "true":
                raise Permanent(
                    f"The ConfigMap {name} is not Hibernator's, but has the name that restore data needs. "
                    "Nothing sleeps without it. Delete that ConfigMap, then run `hibernator plan retry`."
                )


@contextmanager
def _refusals() -> Iterator[None]:
    """What a quota or a policy of others refuses is the trouble of one target, and is said by it."""
    try:
        yield
    except (Forbidden, Invalid) as error:
        raise Permanent(f"Its restore data cannot be written: {error.message}") from error


def _stored(maps: Iterable[ConfigMap]) -> Stored:
    by_number = {_number(found): _part(found) for found in maps}
    kept = read(by_number[number].found.data for number in sorted(by_number))
    if kept is None:
        raise ValueError("there is nothing in it")
    return Stored(kept, by_number)


def _part(found: ConfigMap) -> _Part:
    kept = read([found.data])
    return _Part(found, frozenset(kept.entries if kept else ()))


def _number(found: ConfigMap) -> int:
    number = found.metadata.name.rpartition(".")[2]
    if not number.isdecimal():
        raise ValueError(f"{found.metadata.name} does not end in the number of a part")
    return int(number)


def _only(entries: Mapping[str, Entry], keys: Iterable[str]) -> dict[str, Entry]:
    return {key: entries[key] for key in keys}
