"""`hibernator plan wake --only`: wake single workloads of a plan that goes on to sleep.

The command writes an annotation on the workload, with the rights of the user, and the operator does the rest:
it wakes the workload, and puts it to sleep again when the time is over. Success is reported when it is seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from whenever import Instant

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.kind import partial
from hibernator.api.structural import guess
from hibernator.cli.cluster import Session
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.leader import about_the_leader, until as so
from hibernator.cli.missing import not_found
from hibernator.cli.plan_request import suspended
from hibernator.cli.why_details import kind_named, named
from hibernator.decisions.hibernateplan_case import is_suspended
from hibernator.decisions.hibernateplan_status import standing
from hibernator.decisions.staying import FORCE_AWAKE
from hibernator.executors import sleepers
from hibernator.executors.sleepers import Sleeper
from hibernator.executors.workloads.kinds import WorkloadKind
from hibernator.kube.errors import NotFound
from hibernator.schedule.periods import Period
from hibernator.schedule.spoken import shown_with_distance, span
from hibernator.schedule.ticks import SECOND


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A workload as the user names it."""

    word: str
    resource: WorkloadKind
    name: str


async def wake_only(
    session: Session, plan_name: str, words: Sequence[str], period: Period, *, now: Instant, longest: float
) -> None:
    """Annotate the workloads, and report what becomes of them within `longest` seconds."""
    plan = await session.client.get(PLANS, plan_name, session.namespace)
    if is_suspended(plan, now):
        raise suspended(plan_name, session)
    zone = plan.spec.schedule.timezone
    _, until = period(zone, now)
    if standing(plan.status, ()) == "Awake":
        raise await _awake_already(session, plan, words, until)
    found = {word: await _sleeper(session, plan, word) for word in dict.fromkeys(words)}
    when = shown_with_distance(until, zone, now)
    for word, sleeper in found.items():
        await _annotate(session, sleeper, until)
        typer.echo(f"requested: {word} of {plan_name} awake until {when}")
    if longest:
        await _answer(session, plan, found, longest)
        typer.echo(f"{', '.join(found)} {'is' if len(found) == 1 else 'are'} awake until {when}")


async def _awake_already(
    session: Session, plan: HibernatePlan, words: Sequence[str], until: Instant
) -> CliError:
    """How to keep them awake none the less, once it is known that they are there."""
    commands = []
    for word in dict.fromkeys(words):
        where = await _place(session, plan, word)
        commands.append(
            f"`kubectl annotate {word} {FORCE_AWAKE}={until.format_iso(unit='second')}"
            f" -n {where}{session.cluster}`"
        )
    return CliError(
        f"{plan.metadata.name} is awake already, and so is what it covers.",
        hint=f"To keep it awake tonight: {' and '.join(commands)}.",
    )


async def _place(session: Session, plan: HibernatePlan, word: str) -> str:
    """The namespace in which the workload is; raises `CliError` where it is in none."""
    kind, name = named(word)
    resource = await kind_named(session.client, kind)
    for namespace in dict.fromkeys((session.namespace, *sorted(_namespaces(plan)))):
        for one in await session.client.list(resource.api, namespace, field_selector=f"metadata.name={name}"):
            return one.metadata.namespace
    raise await not_found(session.client, resource.api, [name], session.namespace)


async def _sleeper(session: Session, plan: HibernatePlan, word: str) -> Sleeper:
    """What bears the mark of the plan for that workload: the workload itself, or what scales it."""
    kind, name = named(word)
    wanted = _Wanted(word, await kind_named(session.client, kind), name)
    everywhere = [
        one for one in await _sleepers(session, plan, wanted.resource) if one.mark.uid == plan.metadata.uid
    ]
    mine = [one for one in everywhere if one.key.rpartition("/")[2] == name]
    here = [one for one in mine if one.namespace == session.namespace]
    match here or mine:
        case [one]:
            return one
        case []:
            raise await _absent(session, plan, wanted, everywhere)
        case _:
            where = " and ".join(one.namespace for one in mine)
            said = f"kubectl annotate {word} {FORCE_AWAKE}=… -n {mine[0].namespace}{session.cluster}"
            hint = f"Annotate the one that you mean: `{said}`."
            raise CliError(
                f"{plan.metadata.name} has put {word} to sleep in {where}.", hint=hint, code=Exit.USAGE
            )


async def _sleepers(session: Session, plan: HibernatePlan, resource: WorkloadKind) -> list[Sleeper]:
    wheres = (sleepers.of_workload_kind(resource), sleepers.SCALED_OBJECTS_WHERE)
    found: list[Sleeper] = []
    for namespace in sorted(_namespaces(plan)):
        found += [one async for one in sleepers.find(session.client, wheres, namespace)]
    return [one for one in found if one.key.startswith(f"{resource.label}/")]


def _namespaces(plan: HibernatePlan) -> set[str]:
    """Where its workloads are, as far as it names them; otherwise anywhere."""
    chosen: list[Mapping[str, Any]] = [
        target.parameters.get("namespace") or {}
        for target in plan.spec.targets
        if target.type == "workloadscaler" and not target.connector_ref
    ]
    if any(one.get("selector") for one in chosen):
        return {""}
    return {name for one in chosen for name in one.get("literals") or ()}


async def _absent(
    session: Session, plan: HibernatePlan, wanted: _Wanted, sleeping: Sequence[Sleeper]
) -> CliError:
    """Why there is no such sleeper of the plan: it is not there, is awake, or belongs to another."""
    names = sorted(one.key.rpartition("/")[2] for one in sleeping)
    meant = guess(wanted.name, names)
    try:
        await session.client.get(wanted.resource.api, wanted.name, session.namespace)
    except NotFound:
        if meant:
            hint = f"Did you mean {wanted.word.partition('/')[0]}/{meant}?"
            return CliError(f"{plan.metadata.name} has put no {wanted.word} to sleep.", hint=hint)
        return await not_found(session.client, wanted.resource.api, [wanted.name], session.namespace)
    return CliError(
        f"{wanted.word} does not sleep for {plan.metadata.name}: it is awake, slept before or not covered.",
        hint=f"See `hibernator why {wanted.word}{session.options}`.",
    )


async def _annotate(session: Session, sleeper: Sleeper, until: Instant) -> None:
    body = {"metadata": {"annotations": {FORCE_AWAKE: until.format_iso(unit="second")}}}
    await session.client.patch(
        partial(sleeper.where.kind),
        sleeper.name,
        sleeper.namespace,
        body,
        resource_version=sleeper.waking.place.resource_version,
    )


async def _answer(
    session: Session, plan: HibernatePlan, found: Mapping[str, Sleeper], longest: float
) -> None:
    left = dict(found)

    async def are_awake() -> bool:
        for word, sleeper in tuple(left.items()):
            now = await sleepers.read(session.client, sleeper)
            if now is None or not now.asleep:
                del left[word]
        return not left

    if await so(are_awake, longest):
        return
    name = plan.metadata.name
    plan = await session.client.get(PLANS, name, session.namespace)
    words = f"{', '.join(left)} has not been woken within {span(int(longest * SECOND))}."
    if plan.status.current_operation:
        hint = f"The operator is at work: see `hibernator plan describe {name}{session.options}`."
        raise CliError(words, hint=hint, code=Exit.WAITING)
    raise CliError(words, hint=await about_the_leader(session), code=Exit.UNAVAILABLE)
