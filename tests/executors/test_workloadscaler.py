"""Workloads asleep and awake on the real API server, item by item."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from whenever import Instant

from hibernator.api.hibernateplan import Behavior, Target
from hibernator.api.parameters import LabelSelector
from hibernator.api.selector import LabelCondition
from hibernator.decisions.sleepmark import LABEL, MARK
from hibernator.executors.protocol import Item, Job, Permanent, Retryable, Saved
from hibernator.executors.reach import Reach
from hibernator.executors.workloads.kinds import quantity
from hibernator.executors.workloads.scaler import WorkloadScaler, selector_text
from hibernator.kube import credentials
from hibernator.kube.client import Client
from support.cluster import ClusterInTest
from support.faultproxy import FaultProxy
from support.faults import Answer
from support.foreign_kinds import install
from support.own_cluster import OwnCluster
from support.plan_scenes import WOKEN_BY, PlanScene
from support.scaler_scenes import hpa, workload

NOW = Instant("2026-03-02T20:00:00Z")


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    install(crds)
    return PlanScene(crds, namespace)


@pytest.fixture
async def executor(scene: PlanScene) -> AsyncIterator[WorkloadScaler]:
    async with Client(credentials.find(str(scene.cluster.kubeconfig))) as client:
        yield WorkloadScaler(OwnCluster(client), Reach("hibernator-system"))


def job(scene: PlanScene, *kinds: str, plan: str = "nights", **parameters: Any) -> Job:
    wanted = {
        "namespace": {"literals": [scene.namespace]},
        "includedGroups": list(kinds or ("Deployment",)),
    } | parameters
    return Job(
        namespace=scene.namespace,
        plan=plan,
        uid="",
        cycle=1,
        target=Target(name="all", type="workloadscaler", parameters=wanted),
        attempt=1,
        began=NOW,
        now=NOW,
    )


def saved(item: Item) -> Saved:
    assert item.restore is not None
    assert WorkloadScaler.identity in item.restore
    return Saved(key=item.key, restore=item.restore)


def custom(api_version: str, kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


async def test_a_keda_scaled_object_is_paused_at_zero_and_its_workload_left_to_it(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    scene.apply(
        workload(replicas=2),
        custom("keda.sh/v1alpha1", "ScaledObject", "web", scaleTargetRef={"name": "web"}),
    )
    before = scene.get("scaledobjects", "web")["metadata"]["annotations"]
    (item,) = await executor.discover(job(scene))
    await executor.sleep(job(scene), saved(item))
    asleep = scene.get("scaledobjects", "web")["metadata"]["annotations"]
    assert asleep["autoscaling.keda.sh/paused-replicas"] == "0"
    assert scene.replicas() == 2
    (seen,) = await executor.discover(job(scene))
    assert seen.asleep
    assert seen.restore == item.restore
    await executor.wake(job(scene), saved(item))
    awake = scene.get("scaledobjects", "web")["metadata"]["annotations"]
    assert awake == before | {WOKEN_BY: "/1"}


async def test_a_kind_with_a_scale_subresource_sleeps_by_its_own_path(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    scene.apply(custom("argoproj.io/v1alpha1", "Rollout", "canary", replicas=4))
    work = job(scene, "rollouts.argoproj.io")
    (item,) = await executor.discover(work)
    assert item.key == f"rollouts.argoproj.io/{scene.namespace}/canary"
    await executor.sleep(work, saved(item))
    assert scene.replicas("canary", "rollouts") == 0
    await executor.wake(work, saved(item))
    assert scene.replicas("canary", "rollouts") == 4


async def test_an_autoscaler_is_left_to_its_own_rule_for_zero(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    scene.apply(workload(replicas=3), hpa(minimum=2))
    before = scene.get("hpa", "web")["spec"]
    (item,) = await executor.discover(job(scene))
    await executor.sleep(job(scene), saved(item))
    assert scene.replicas() == 0
    assert scene.get("hpa", "web")["spec"] == before
    await executor.wake(job(scene), saved(item))
    assert scene.replicas() == 3


async def test_what_a_backup_has_brought_back_asleep_wakes_also_after_a_conflict(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    """It has another uid than what was saved, and the mark of the same sleep."""
    scene.apply(workload(replicas=3))
    (item,) = await executor.discover(job(scene))
    await executor.sleep(job(scene), saved(item))
    found = scene.get("deployment", "web")
    scene.delete("deployment", "web")
    metadata = {key: found["metadata"][key] for key in ("name", "labels", "annotations")}
    scene.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": found["spec"]})
    (marked,) = await executor.asleep(job(scene))
    scene.cluster.kubectl("annotate", "deployment/web", "seen=later", "-n", scene.namespace)
    await executor.wake(job(scene), replace(saved(marked), seen=marked.seen))
    assert scene.replicas() == 3


async def test_a_404_of_something_before_the_api_server_does_not_say_that_a_workload_is_gone(
    scene: PlanScene, proxy: FaultProxy
) -> None:
    """As of an ingress without a backend: restore data was dropped, and the workload slept on."""
    scene.apply(workload(replicas=3))
    async with Client(credentials.find(str(proxy.kubeconfig))) as client:
        behind = WorkloadScaler(OwnCluster(client), Reach("hibernator-system"))
        (item,) = await behind.discover(job(scene))
        await behind.sleep(job(scene), saved(item))
        proxy.next(method="GET", path="/deployments/web", action=Answer(404, body=b"404 page not found"))
        with pytest.raises(Retryable, match="not by an API server"):
            await behind.wake(job(scene), saved(item))
        await behind.wake(job(scene), saved(item))
        assert scene.replicas() == 3


async def test_what_was_woken_is_not_woken_again_whatever_became_of_it(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    scene.apply(workload(replicas=3))
    (item,) = await executor.discover(job(scene))
    await executor.sleep(job(scene), saved(item))
    await executor.sleep(job(scene), saved(item))
    await executor.wake(job(scene), saved(item))
    scene.cluster.kubectl("scale", "deployment/web", "--replicas=7", "-n", scene.namespace)
    await executor.wake(job(scene), saved(item))
    assert scene.replicas() == 7


async def test_what_someone_scaled_in_the_night_is_brought_back_to_what_it_was(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    scene.apply(workload(replicas=3))
    (item,) = await executor.discover(job(scene))
    await executor.sleep(job(scene), saved(item))
    scene.cluster.kubectl("scale", "deployment/web", "--replicas=1", "-n", scene.namespace)
    await executor.wake(job(scene), saved(item))
    assert scene.replicas() == 3


async def test_what_sleeps_for_another_plan_is_left_to_that_one(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    scene.apply(workload(replicas=3))
    (item,) = await executor.discover(job(scene))
    await executor.sleep(job(scene), saved(item))
    (seen,) = await executor.discover(job(scene, plan="other"))
    assert (seen.restore, seen.note) == (None, f"put to sleep by {scene.namespace}/nights")
    await executor.wake(job(scene, plan="other"), saved(item))
    assert scene.replicas() == 0


async def test_a_mark_that_cannot_be_used_counts_as_none(scene: PlanScene, executor: WorkloadScaler) -> None:
    scene.apply(workload(replicas=3))
    (item,) = await executor.discover(job(scene))
    await executor.sleep(job(scene), saved(item))
    for was in ({"replicas": "many"}, {"replicas": -1}, {"replicas": True}, {"limits": 3}, "nothing"):
        text = json.dumps({"plan": f"{scene.namespace}/nights", "target": "all", "was": was})
        scene.cluster.kubectl(
            "annotate", "deployment/web", "-n", scene.namespace, "--overwrite", f"{MARK}={text}"
        )
        assert await executor.asleep(job(scene)) == ()
        (seen,) = await executor.discover(job(scene))
        assert (seen.restore, seen.note) == (None, "was asleep already")
    await executor.wake(job(scene), saved(item))
    assert scene.replicas() == 3


async def test_restore_data_that_names_nothing_is_refused_in_words(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    with pytest.raises(Permanent, match="is no item"):
        await executor.wake(job(scene), Saved(key="Deployment/web", restore={}))
    wrong = Saved(key=f"Deployment/{scene.namespace}/web", restore={"replicas": "3"})
    with pytest.raises(Permanent, match="cannot be used"):
        await executor.wake(job(scene), wrong)
    with pytest.raises(Permanent, match="never touched"):
        await executor.wake(job(scene), Saved(key="Deployment/kube-system/coredns", restore={}))


async def test_a_scaled_object_whose_mark_names_something_of_others_leads_nowhere(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    scene.apply(
        workload(replicas=2),
        custom("keda.sh/v1alpha1", "ScaledObject", "web", scaleTargetRef={"name": "web"}),
    )
    text = json.dumps(
        {
            "plan": f"{scene.namespace}/nights",
            "target": "all",
            "item": "Deployment/default/victim",
            "was": {"replicas": 99},
        }
    )
    place = ("scaledobject/web", "-n", scene.namespace)
    scene.cluster.kubectl("annotate", *place, f"{MARK}={text}")
    scene.cluster.kubectl("label", *place, f"{LABEL}=x")
    (item,) = await executor.asleep(job(scene))
    assert item.key == f"Deployment/{scene.namespace}/web"


async def test_a_kind_that_names_no_number_wakes_without_one(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    scene.apply(custom("argoproj.io/v1alpha1", "Rollout", "canary"))
    work = job(scene, "rollouts.argoproj.io")
    (item,) = await executor.discover(work)
    await executor.sleep(work, saved(item))
    assert scene.replicas("canary", "rollouts") == 0
    await executor.wake(work, saved(item))
    assert "replicas" not in scene.get("rollouts", "canary")["spec"]


async def test_what_is_gone_or_another_of_the_same_name_is_left_so(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    scene.apply(workload(replicas=3))
    (item,) = await executor.discover(job(scene))
    await executor.sleep(job(scene), saved(item))
    scene.delete("deployment", "web")
    await executor.wake(job(scene), saved(item))
    assert await executor.settled(job(scene), saved(item), "Awake")
    scene.apply(workload(replicas=0))
    await executor.wake(job(scene), saved(item))
    assert scene.replicas() == 0


async def test_only_what_is_chosen_and_not_excluded_sleeps(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    left_out, chosen = workload(name="left-out"), workload(name="chosen")
    left_out["metadata"]["annotations"] = {"hibernator.ardikabs.com/exclude": "true"}
    for one in (left_out, chosen):
        one["metadata"]["labels"] = {"tier": "web"}
    scene.apply(left_out, chosen, workload(name="other"))
    items = await executor.discover(job(scene, workloadSelector={"matchLabels": {"tier": "web"}}))
    assert [item.key for item in items] == [f"Deployment/{scene.namespace}/chosen"]


async def test_the_saving_is_what_the_containers_ask_for(scene: PlanScene, executor: WorkloadScaler) -> None:
    hungry = workload(replicas=4)
    resources = {"requests": {"cpu": "250m", "memory": "512Mi"}}
    container = {"name": "web", "image": "registry.example/web:1", "resources": resources}
    hungry["spec"]["template"] = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    scene.apply(hungry)
    (item,) = await executor.discover(job(scene))
    assert (item.saving.cpu_cores, item.saving.memory_gib) == (1.0, 2.0)


@pytest.mark.parametrize("name", ["Deployment", "deployments", "deploy", "apps/Deployment"])
async def test_a_kind_may_be_named_as_kubectl_names_it(
    scene: PlanScene, executor: WorkloadScaler, name: str
) -> None:
    scene.apply(workload(replicas=1))
    (item,) = await executor.discover(job(scene, name))
    assert item.key == f"Deployment/{scene.namespace}/web"


async def test_kube_system_the_operators_own_namespace_and_unknown_kinds_are_refused_in_words(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    for namespace in ("kube-system", "hibernator-system"):
        with pytest.raises(Permanent, match="may be touched"):
            await executor.discover(job(scene, namespace={"literals": [namespace]}))
    with pytest.raises(Permanent, match=r"rollout\.example is not a kind that this cluster can scale"):
        await executor.discover(job(scene, "rollout.example"))


async def test_odd_workloads_of_some_keep_those_of_others_neither_awake_nor_asleep(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    hungry = workload(name="hungry")
    hungry["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1e400"}}
    paused = custom("keda.sh/v1alpha1", "ScaledObject", "paused", scaleTargetRef={"name": "paused"})
    paused["metadata"]["annotations"] = {"autoscaling.keda.sh/paused-replicas": "9" * 5000}
    shapeless = custom(
        "argoproj.io/v1alpha1", "Rollout", "shapeless", template={"spec": {"containers": ["?"]}}
    )
    scene.apply(workload(replicas=2), hungry, workload(name="paused"), paused, shapeless)
    work = job(scene, "Deployment", "rollouts.argoproj.io")
    found = {item.key.rpartition("/")[2]: item for item in await executor.discover(work)}
    assert found.keys() == {"web", "hungry", "paused", "shapeless"}
    assert found["hungry"].saving.cpu_cores == 2 * 2.0**63
    assert found["shapeless"].restore is None
    assert "cannot be read" in found["shapeless"].note
    for name in ("web", "hungry", "paused"):
        await executor.sleep(work, saved(found[name]))
    assert scene.replicas() == scene.replicas("hungry") == 0
    mark = scene.get("deployments", "web")["metadata"]["annotations"][MARK]
    forged = {
        "labels": {LABEL: "x"},
        "annotations": {MARK: mark.replace("Deployment", "rollouts.argoproj.io")},
    }
    scene.cluster.kubectl(
        *("patch", "rollouts", "shapeless", "-n", scene.namespace, "--type=merge", "-p"),
        json.dumps({"metadata": forged}),
    )
    asleep = {item.key.rpartition("/")[2]: item for item in await executor.asleep(work)}
    assert {"web", "hungry", "paused"} <= asleep.keys()
    await executor.wake(work, saved(asleep["web"]))
    assert scene.replicas() == 2


def test_selectors_are_written_as_the_api_server_reads_them() -> None:
    wanted = LabelSelector(
        match_labels={"b": "2", "a": "1"},
        match_expressions=(
            LabelCondition(key="tier", operator="NotIn", values=("x", "y")),
            LabelCondition(key="on", operator="Exists"),
            LabelCondition(key="off", operator="DoesNotExist"),
        ),
    )
    assert selector_text(wanted) == "a=1,b=2,tier notin (x,y),on,!off"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("500m", 0.5), ("2", 2.0), ("1.5", 1.5), ("1Gi", 2**30), ("1k", 1000.0), ("1e3", 1000.0)],
        *[
            ("?", 0.0),
            ("1e400", 2.0**63),
            ("1e-400", 0.0),
            ("9" * 5000, 2.0**63),
            ("1e" + "9" * 5000, 2.0**63),
        ],
    ],
    ids=lambda value: str(value)[:9],
)
def test_quantities_are_read_as_kubernetes_writes_them(text: str, number: float) -> None:
    assert quantity(text) == pytest.approx(number)


async def test_a_share_runs_on_saves_the_difference_and_wakes_as_it_was(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    resources = {"requests": {"cpu": "1"}}
    container = {"name": "web", "image": "registry.example/web:1", "resources": resources}
    big = workload(name="big", replicas=15)
    big["spec"]["template"] = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    scene.apply(big, workload(name="small", replicas=1), workload(replicas=9), hpa())
    work = job(scene, sleepReplicas="10%")
    big_one, small, web = await executor.discover(work)
    assert (web.restore, small.restore) == (None, None)
    assert "a HorizontalPodAutoscaler scales it" in web.note
    assert small.note == "all of its replicas would run on: 1"
    assert big_one.saving.cpu_cores == 13.0
    await executor.sleep(work, saved(big_one))
    assert scene.replicas("big") == 2
    (marked,) = await executor.asleep(work)
    (seen,) = [item for item in await executor.discover(work) if item.key == big_one.key]
    assert (seen.asleep, seen.restore, seen.saving) == (True, big_one.restore, big_one.saving)
    assert marked.restore == big_one.restore
    place = ("deployment/big", "-n", scene.namespace)
    scene.cluster.kubectl("annotate", *place, f"{MARK}-")
    await executor.wake(work, saved(big_one))
    assert scene.replicas("big") == 15, "the restore data alone is enough"
    await executor.sleep(replace(work, cycle=2), saved(big_one))
    scene.cluster.kubectl("scale", *place, "--replicas=4")
    (seen,) = [item for item in await executor.discover(replace(work, cycle=2)) if item.key == big_one.key]
    assert (seen.asleep, seen.woken) == (False, True)


async def test_a_new_workload_is_found_with_the_moment_at_which_it_may_sleep(
    scene: PlanScene, executor: WorkloadScaler
) -> None:
    scene.create(workload(replicas=3))
    created = Instant(scene.one("Deployment", "web")["metadata"]["creationTimestamp"])
    young = replace(job(scene), behavior=Behavior(grace_for_new="30m"), now=created.add(minutes=29))
    (item,) = await executor.discover(young)
    old_enough = created.add(minutes=30)
    assert (item.restore, item.awake_until) == (None, old_enough)
    assert item.note == f"until {old_enough.format_iso(unit='second')}, because it is new"
    (item,) = await executor.discover(replace(young, now=old_enough))
    assert (item.awake_until, item.restore is None) == (None, False)
