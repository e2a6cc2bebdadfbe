"""What `hibernator uninstall` finds, and how it goes about it: with the operator's help, or without."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.api.timewindowscaler import SCALERS, TimeWindowScaler
from hibernator.cli import strays
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.leader import leader_namespace, until
from hibernator.cli.offline.out import counted
from hibernator.decisions import hibernateplan_case
from hibernator.executors import sleepers
from hibernator.executors.sleepers import Sleeper
from hibernator.kube.client import Client
from hibernator.kube.errors import NotFound
from hibernator.operator.detaching import detach, is_asleep, without
from hibernator.operator.manifests import policies
from hibernator.operator.roles import Home

T = TypeVar("T", bound=Object)

_HERE: Final = frozenset({"workloadscaler", "patches", "karpenter", "noop"})
_NAMED: Final = 10  # objects in a step
_ADMISSION: Final = "admissionregistration.k8s.io"
# Bindings first: a policy without one decides nothing, a binding without its policy is a warning.
_POLICIES: Final = tuple(
    Kind(Object, _ADMISSION, "v1", kind, plural, namespaced=False)
    for kind, plural in (
        ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
        ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    )
)


@dataclass(frozen=True, slots=True)
class Seen:
    home: str  # the namespace in which a replica leads; empty where none does
    plans: tuple[HibernatePlan, ...]
    scalers: tuple[TimeWindowScaler, ...]
    sleepers: tuple[Sleeper, ...]

    @property
    def leads(self) -> bool:
        return bool(self.home)


async def look(client: Client) -> Seen:
    found = sleepers.find(client, await sleepers.everywhere(client))
    return Seen(
        await leader_namespace(client),
        tuple(await _all(client, PLANS)),
        tuple(await _all(client, SCALERS)),
        tuple([one async for one in found]),
    )


def steps(seen: Seen) -> Iterator[str]:
    """What is to be done, in order."""
    plans, scalers = counted(len(seen.plans), "plan"), counted(len(seen.scalers), "scaler")
    if seen.leads:
        yield f"delete {plans}, and wait until the operator has woken all that sleeps{_names(seen.plans)}"
        yield f"delete {scalers}, and wait until the operator has put autoscalers back{_names(seen.scalers)}"
        yield from _at_zero(seen.scalers)
        yield f"ask you to remove the operator in namespace {seen.home}, and to run this again"
        return
    yield f"wake {counted(len(seen.sleepers), 'workload')} with the mark of a plan, with your own rights"
    yield f"delete {plans}, {scalers} and all exceptions{_names((*seen.plans, *seen.scalers))}"
    yield from _at_zero(seen.scalers)
    yield "remove the webhooks, the conversion webhook and the finalizers"
    yield "remove the admission policies"


def _at_zero(scalers: Sequence[TimeWindowScaler]) -> Iterator[str]:
    """What stays at zero because nothing scales it any more, and how to start it as it was at first."""
    for one in scalers:
        if one.status.effective_replicas == 0 and not one.spec.pause:
            target, number = one.spec.target_ref, one.status.baseline_replicas or 1
            name = f"{target.kind.lower()} {target.name} -n {one.metadata.namespace}"
            start = f"`kubectl scale {name} --replicas={number}` starts it"
            yield f"leave at 0 replicas what a scaler has there: {start}"


def _names(objects: Sequence[Object]) -> str:
    """`: shop/nights, shop/weekends`, and how many more where that is a long list."""
    names = [f"{one.metadata.namespace}/{one.metadata.name}" for one in objects]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f": {', '.join(names[:_NAMED])}{more}" if names else ""


async def remove(client: Client, seen: Seen, longest: float, say: Callable[[str], None]) -> None:
    if seen.leads:
        for kind, every in ((PLANS, seen.plans), (SCALERS, seen.scalers)):
            await _delete(client, kind, every)
            await _gone(client, kind, longest)
            say(f"Gone: {counted(len(every), kind.kind)}.")
        return
    _refuse_what_sleeps_elsewhere(seen.plans)
    await _wake(client, seen.sleepers, say)
    for plan in seen.plans:
        await without(client, PLANS, plan, hibernateplan_case.FINALIZER)
    for sentence in await detach(client):
        say(sentence)
    await _delete_all(client, PLANS)
    await _delete_all(client, SCALERS)
    await _delete_all(client, EXCEPTIONS)
    await _delete_policies(client)
    say("The policies are removed.")


def what_stays(seen: Seen) -> str:
    if seen.leads:
        return (
            "No plan keeps anything asleep any more. Remove the operator now, as you installed it: "
            f"`helm uninstall hibernator -n {seen.home}`, or `kubectl delete deployment hibernator "
            f"-n {seen.home}`. Then run this again."
        )
    return (
        "These stay, because they may matter to you: the CRDs (`hibernator crds | kubectl delete -f -`), and "
        "in the operator's namespace its Secrets and the volume of the trail (`kubectl get secrets,pvc`)."
    )


def _refuse_what_sleeps_elsewhere(plans: Sequence[HibernatePlan]) -> None:
    """Nothing but an operator can wake what is at a cloud or in another cluster."""
    for plan in plans:
        away = [each.name for each in plan.spec.targets if each.type not in _HERE or each.connector_ref]
        if away and is_asleep(plan):
            name = f"{plan.metadata.namespace}/{plan.metadata.name}"
            raise CliError(
                f"HibernatePlan {name} has things asleep outside of this cluster ({', '.join(away)}), which "
                "only an operator can wake. Nothing was changed.",
                hint="Start the operator, and run this again while it runs.",
            )


async def _wake(client: Client, found: Sequence[Sleeper], say: Callable[[str], None]) -> None:
    failed = [words for one in found if (words := await strays.wake(client, one))]
    if failed:
        raise CliError("\n".join(failed), hint="Put this right, and run it again.")
    if found:
        say(f"Awake: {counted(len(found), 'workload')}.")


async def _all(client: Client, kind: Kind[T]) -> list[T]:
    try:
        return await client.list(kind)
    except NotFound:  # the CRD is gone, and with it all objects
        return []


async def _delete_all(client: Client, kind: Kind[T]) -> None:
    every = await _all(client, kind)
    await _delete(client, kind, every)


async def _delete(client: Client, kind: Kind[Any], every: Sequence[Object]) -> None:
    for one in every:
        try:
            await client.delete(kind, one.metadata.name, one.metadata.namespace, uid=one.metadata.uid)
        except NotFound:
            continue


async def _gone(client: Client, kind: Kind[Any], longest: float) -> None:
    left: list[Any] = []

    async def none_left() -> bool:
        nonlocal left
        left = await _all(client, kind)
        return not left

    if not await until(none_left, longest):
        names = ", ".join(f"{one.metadata.namespace}/{one.metadata.name}" for one in left)
        words = f"these {kind.plural} are still there, because the operator is not done with them: {names}."
        raise CliError(words, hint="See `hibernator plan describe`, and run this again.", code=Exit.WAITING)


async def _delete_policies(client: Client) -> None:
    shipped = list(policies(Home("hibernator-system", "hibernator")))
    for kind in _POLICIES:
        for name in (one["metadata"]["name"] for one in shipped if one["kind"] == kind.kind):
            try:
                await client.delete(kind, name)
            except NotFound:
                continue
