"""Where `simulate` and `explain` take what they show: from files, or from a cluster where none are given.

A cluster's plans and scalers, with what belongs to them, come as documents like those in files.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import msgspec
from whenever import Instant

from hibernator.api.core import CONFIG_MAPS
from hibernator.api.hibernateplan import PLANS
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.api.structural import guess
from hibernator.api.timewindowscaler import SCALERS
from hibernator.cli.cluster import Session, talk
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.missing import not_found
from hibernator.cli.offline.loading.documents import Document, Position
from hibernator.cli.offline.scene import Scene
from hibernator.cli.offline.setting import read_scene, scene_of
from hibernator.cli.options import ClusterOptions
from hibernator.kube.clustertime import now
from hibernator.kube.errors import Forbidden, NotFound
from hibernator.pictures.resource import Resource


@dataclass(frozen=True, slots=True)
class Source:
    files: Sequence[str]
    names: Sequence[str]
    place: ClusterOptions
    everywhere: bool = False

    def now(self) -> Instant:
        return Instant.now() if self.files else now(self.place.kubeconfig)

    def scene(self, years: range) -> Scene:
        """What was named, or everything."""
        if self.files:
            scene = read_scene(self.files, years)
            return replace(scene, resources=_chosen(scene, self.names))
        from hibernator.cli.offline.source import documents

        scene = scene_of(documents(self.names, self.place, everywhere=self.everywhere), years)
        if not scene.resources:
            where = "this cluster" if self.everywhere else "this namespace"
            raise CliError(
                f"There is no HibernatePlan and no TimeWindowScaler in {where}.",
                hint="Name another namespace with -n, all of them with -A, or files with -f.",
            )
        return scene


def _chosen(scene: Scene, names: Sequence[str]) -> tuple[Resource, ...]:
    """What was named, by its name or by namespace and name; everything, if nothing was."""
    if not names:
        return scene.resources
    found = {name: _named(scene, name) for name in names}
    return tuple(each for each in scene.resources if any(each in those for those in found.values()))


def _named(scene: Scene, name: str) -> list[Resource]:
    found = [each for each in scene.resources if name in {each.name, f"{each.namespace}/{each.name}"}]
    if found:
        return found
    names = sorted({each.name for each in scene.resources})
    plan = next((each for each in scene.resources if name in {one.name for one in each.exceptions}), None)
    if plan:
        raise CliError(
            f"{name} is an exception.", hint=f"Explain its plan: hibernator explain {plan.name} -f FILE"
        )
    meant = guess(name, names)
    raise CliError(
        f"There is no {name} in these files.",
        hint=f"Did you mean {meant}?" if meant else f"There are {', '.join(names)}.",
    )


_KINDS: Final[Mapping[str, Kind[Any]]] = {
    "plan": PLANS,
    "plans": PLANS,
    "hplan": PLANS,
    "hibernateplan": PLANS,
    "hibernateplans": PLANS,
    "scaler": SCALERS,
    "scalers": SCALERS,
    "tws": SCALERS,
    "timewindowscaler": SCALERS,
    "timewindowscalers": SCALERS,
}


class Wanted(NamedTuple):
    """One thing that was named: `plan/nights`, or `nights` for whatever has that name."""

    kinds: tuple[Kind[Any], ...]
    name: str


def wanted(word: str) -> Wanted:
    kind, slash, name = word.rpartition("/")
    if not slash:
        return Wanted((PLANS, SCALERS), word)
    if kind.lower() not in _KINDS or not name:
        hint = "Write plan/NAME or scaler/NAME, or give the files with -f."
        raise CliError(f"{word} is neither a plan nor a scaler.", hint=hint, code=Exit.USAGE)
    return Wanted((_KINDS[kind.lower()],), name)


def documents(words: Sequence[str], place: ClusterOptions, *, everywhere: bool) -> list[Document]:
    """What was named, or everything, with the exceptions and the holidays that belong to it."""
    chosen = [wanted(word) for word in words]

    async def ask(session: Session) -> list[Document]:
        namespace = "" if everywhere else session.namespace
        found: list[tuple[Kind[Any], Object]] = []
        found += [(PLANS, one) for one in await session.client.list(PLANS, namespace)]
        found += [(SCALERS, one) for one in await session.client.list(SCALERS, namespace)]
        for one in chosen:
            if not any(_is(one, *each) for each in found):
                raise await not_found(session.client, one.kinds[0], [one.name], namespace)
        kept = [each for each in found if not chosen or any(_is(one, *each) for one in chosen)]
        more = [each async for each in _belonging(session, kept, namespace)]
        return [_document(kind, one) for kind, one in (*kept, *more)]

    return talk(ask, place, role="hibernator-auditor", everywhere=everywhere)


def _is(one: Wanted, kind: Kind[Any], found: Object) -> bool:
    return kind in one.kinds and found.metadata.name == one.name


async def _belonging(
    session: Session, kept: Sequence[tuple[Kind[Any], Object]], namespace: str
) -> AsyncIterator[tuple[Kind[Any], Object]]:
    plans = {(one.metadata.namespace, one.metadata.name) for kind, one in kept if kind is PLANS}
    if plans:
        for one in await session.client.list(EXCEPTIONS, namespace):
            if (one.metadata.namespace, one.spec.plan_ref.name) in plans:
                yield EXCEPTIONS, one
    for where, name in sorted(set(_holiday_maps(one for _, one in kept))):
        try:
            source = await session.client.get(CONFIG_MAPS, name, where)
        except (NotFound, Forbidden):
            continue  # the picture says that it is missing
        yield CONFIG_MAPS, source


def _holiday_maps(found: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for one in found:
        block = getattr(one.spec, "holidays", None) or getattr(
            getattr(one.spec, "schedule", None), "holidays", None
        )
        if block and block.source_ref:
            yield one.metadata.namespace, block.source_ref.name


def _document(kind: Kind[Any], one: Object) -> Document:
    value = msgspec.json.decode(msgspec.json.encode(one))
    value |= {"apiVersion": kind.api_version, "kind": kind.kind}
    return Document(value, Position(f"{kind.kind} {one.metadata.namespace}/{one.metadata.name}"), {})
