"""kube-downscaler's annotations become plans and scalers, or are refused with the reason."""

from typing import Any

import pytest

from cli.offline import samples
from cli.offline.test_convert import converted
from cli.offline.test_convert_sleepinfo import refused
from support.command import hibernator

_HOURS = "Mon-Fri 07:30-20:30 Europe/Berlin"
_LABEL = "hibernator.ardikabs.com/hours"


def namespace(**annotations: str) -> samples.Value:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": _metadata("shop", annotations)}


def workload(
    name: str = "web", kind: str = "Deployment", spec: Any = None, **annotations: str
) -> samples.Value:
    group = "batch" if kind in {"CronJob", "Job"} else "apps"
    metadata = _metadata(name, annotations) | {"namespace": "shop"}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": spec or {}}


def _metadata(name: str, annotations: dict[str, str]) -> samples.Value:
    written = {f"downscaler/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {"name": name, "annotations": written}


def of_kind(kind: str, documents: list[samples.Value]) -> list[samples.Value]:
    return [document for document in documents if document["kind"] == kind]


def parameters(plan: samples.Value) -> Any:
    return plan["spec"]["targets"][0]["parameters"]


def test_the_hours_of_a_namespace_become_its_plan() -> None:
    space, plan = converted(namespace(uptime=_HOURS), to="off-hours")
    assert "annotations" not in space["metadata"]
    assert plan["metadata"] == {"name": "downscaler", "namespace": "shop"}
    assert plan["spec"]["schedule"]["timezone"] == "Europe/Berlin"
    assert parameters(plan) == {"namespace": {"literals": ["shop"]}, "includedGroups": ["Deployment"]}


def test_what_was_converted_is_valid() -> None:
    ran = hibernator(
        "convert",
        "-f",
        "-",
        "--to",
        "off-hours",
        stdin=samples.text(
            namespace(uptime=_HOURS),
            workload(downtime_replicas="1", spec={"replicas": 3}),
            workload("db", uptime=_HOURS),
        ),
    )
    assert hibernator("validate", "-f", "-", stdin=ran.out).code == 0


def test_workloads_with_the_same_hours_share_a_plan_that_finds_them_by_label() -> None:
    documents = converted(
        workload("web", uptime=_HOURS),
        workload("db", "StatefulSet", downtime="Sat-Sun 00:00-24:00 UTC"),
        workload("report", "CronJob", uptime=_HOURS),
        to="off-hours",
    )
    first, second = of_kind("HibernatePlan", documents)
    assert parameters(first) == {
        "namespace": {"literals": ["shop"]},
        "includedGroups": ["Deployment", "CronJob"],
        "workloadSelector": {"matchLabels": {_LABEL: "downscaler-1"}},
    }
    assert parameters(second)["includedGroups"] == ["StatefulSet"]
    labels = {each["metadata"]["name"]: each["metadata"].get("labels") for each in documents}
    assert (labels["web"], labels["db"]) == ({_LABEL: "downscaler-1"}, {_LABEL: "downscaler-2"})
    assert labels["report"] == labels["web"]


def test_the_plan_of_a_namespace_leaves_out_what_has_hours_of_its_own() -> None:
    documents = converted(
        namespace(uptime=_HOURS), workload(uptime="Mon-Fri 06:00-22:00 UTC"), to="off-hours"
    )
    whole, _ = of_kind("HibernatePlan", documents)
    assert parameters(whole)["workloadSelector"] == {
        "matchExpressions": [{"key": _LABEL, "operator": "DoesNotExist"}]
    }


def test_a_deployment_that_does_not_go_to_zero_gets_a_scaler_with_the_hours_of_its_namespace() -> None:
    documents = converted(
        namespace(uptime=_HOURS), workload(downtime_replicas="1", spec={"replicas": 4}), to="off-hours"
    )
    [scaler] = of_kind("TimeWindowScaler", documents)
    assert scaler["spec"]["windows"] == [
        {"days": ["Mon", "Tue", "Wed", "Thu", "Fri"], "start": "07:30", "end": "20:30", "replicas": 4}
    ]
    assert scaler["spec"]["defaultReplicas"] == 1


def test_an_excluded_workload_is_annotated_for_us() -> None:
    [found] = converted(workload(exclude="true"), to="off-hours")
    assert found["metadata"]["annotations"] == {"hibernator.ardikabs.com/exclude": "true"}


def test_a_workload_that_is_always_up_is_excluded() -> None:
    _, found, _ = converted(namespace(uptime=_HOURS), workload(uptime="always"), to="off-hours")
    assert found["metadata"]["annotations"] == {"hibernator.ardikabs.com/exclude": "true"}


def test_an_excluded_namespace_gets_no_plan() -> None:
    documents = converted(namespace(exclude="true", uptime=_HOURS), workload(uptime=_HOURS), to="off-hours")
    assert [each["kind"] for each in documents] == ["Namespace", "Deployment"]


@pytest.mark.parametrize(
    ("annotations", "spec"),
    [
        ({"force_uptime": "true"}, {"suspend": True, "suspendReason": "downscaler/force-uptime was true"}),
        (
            {"exclude_until": "2026-12-24 18:00"},
            {
                "suspend": True,
                "suspendUntil": "2026-12-24T18:00:00Z",
                "suspendReason": "downscaler/exclude-until",
            },
        ),
    ],
)
def test_what_keeps_a_namespace_up_suspends_its_plan(annotations: dict[str, str], spec: Any) -> None:
    _, plan = converted(namespace(uptime=_HOURS, **annotations), to="off-hours")
    assert {key: value for key, value in plan["spec"].items() if key.startswith("suspend")} == spec


def test_a_forced_uptime_of_a_workload_takes_from_its_sleep_and_is_told() -> None:
    ran = hibernator(
        "convert",
        "-f",
        "-",
        "--to",
        "off-hours",
        stdin=samples.text(
            workload(downtime="Sat-Sun 00:00-24:00 UTC", force_uptime="Sun-Sun 00:00-24:00 UTC")
        ),
    )
    assert "daysOfWeek: [SAT]" in ran.out
    assert "only GoKubeDownscaler forces single workloads" in ran.err


def test_annotations_that_say_nothing_go_with_a_note() -> None:
    ran = hibernator("convert", "-f", "-", "--to", "off-hours", stdin=samples.text(workload(exclude="false")))
    assert "downscaler/" not in ran.out
    assert "note: Deployment shop/web lost annotations of kube-downscaler that said nothing." in ran.err


@pytest.mark.parametrize(
    ("found", "where", "why"),
    [
        (workload(uptime="Mon-Fri 20:00-06:00 UTC"), "downscaler/uptime", "goes over midnight"),
        (workload(downtime_replicas="30%"), "downscaler/downtime-replicas", "not a number of replicas"),
        (workload(exclude="Mon-Fri 01:00-02:00 UTC"), "downscaler/exclude", "for good by this"),
        (workload(exclude_until="soon"), "downscaler/exclude-until", "not a moment"),
        (workload(original_replicas="3"), "downscaler/original-replicas", "it is asleep at this moment"),
        (workload(grace_period="5m"), "downscaler/grace-period", "a plan has one for all of its workloads"),
        (workload(nap="5m"), "downscaler/nap", "not an annotation that we know of"),
        (workload(downtime_replicas="1"), "metadata.annotations", "not known here"),
        (workload(downscale_period=_HOURS), "metadata.annotations", "put to sleep and never woken"),
        (workload(uptime="Mon-Mon 23:59-24:00 UTC"), "metadata.annotations", "wakes up on Mon 23:59"),
        (
            workload(uptime=_HOURS, downtime_replicas="1", kind="StatefulSet"),
            "downscaler/downtime-replicas",
            "only Deployments",
        ),
        (workload(uptime=_HOURS, downtime_replicas="1"), "spec.replicas", "it is missing"),
        (
            workload(downtime="always", downtime_replicas="1", spec={"replicas": 2}),
            "downscaler/downtime-replicas",
            "it is never up",
        ),
        (
            workload(uptime=_HOURS, downtime_replicas="1", exclude_until="2026-12-24", spec={"replicas": 2}),
            "downscaler/exclude-until",
            "paused, but not until",
        ),
        (
            workload(kind="HorizontalPodAutoscaler", uptime=_HOURS),
            "metadata.annotations",
            "to what it scales",
        ),
        (namespace(uptime=_HOURS, downtime_replicas="2"), "downscaler/downtime-replicas", "goes to zero"),
        (
            workload(spec={"template": {"metadata": {"annotations": {"downscaler/force-uptime": "true"}}}}),
            "spec.template.metadata.annotations.downscaler/force-uptime",
            "a Pod cannot change the hours of others",
        ),
    ],
)
def test_what_has_no_equivalent_is_refused_with_its_field(found: samples.Value, where: str, why: str) -> None:
    told = refused(found)
    assert f"{where}: " in told
    assert why in told


def test_where_the_two_programs_differ_between_a_workload_and_its_namespace_it_is_refused() -> None:
    told = refused(namespace(downtime="Sat-Sun 00:00-24:00 UTC"), workload(uptime=_HOURS))
    assert "its Namespace has downscaler/downtime besides" in told
    assert "Write downscaler/downtime on the workload too" in told
    told = refused(
        namespace(uptime=_HOURS, force_downtime="true"),
        workload(force_uptime="Sat-Sat 10:00-12:00 Europe/Berlin"),
    )
    assert "its Namespace has downscaler/force-downtime besides" in told
    told = refused(namespace(exclude="true"), workload(exclude="false"))
    assert "its Namespace is excluded" in told


def test_a_workload_without_a_namespace_is_refused_because_a_plan_names_it() -> None:
    found = workload(uptime=_HOURS)
    del found["metadata"]["namespace"]
    assert "metadata.namespace: it is missing, and a plan names the namespaces" in refused(found)


def test_a_mistake_of_a_namespace_is_told_once_and_not_for_each_of_its_workloads() -> None:
    told = refused(namespace(uptime="Mon-Fri 07:30-20:30"), workload(downtime_replicas="1"))
    assert "1 mistake, " in told


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("uptme", "Did you mean downscaler/uptime?"),
        ("downtime_replica", "Did you mean downscaler/downtime-replicas?"),
        ("timezone", "Write it behind them, for example downscaler/uptime: Mon-Fri"),
        ("nap", "Remove it if nothing depends on it."),
    ],
)
def test_a_misspelled_annotation_is_named_with_what_was_meant(wrong: str, hint: str) -> None:
    assert hint in refused(namespace(**{wrong: "Europe/Berlin"}))


def test_a_namespace_whose_workloads_are_not_there_is_pointed_out() -> None:
    alone = hibernator(
        "convert", "-f", "-", "--to", "off-hours", stdin=samples.text(namespace(uptime=_HOURS))
    )
    assert "No workload of shop is among the files" in alone.err
    assert "kubectl get deployments -n shop -o yaml" in alone.err


def test_what_cannot_be_read_is_refused_even_with_keep_going() -> None:
    text = samples.text(namespace(uptime=_HOURS)) + "---\n}"
    ran = hibernator("convert", "-f", "-", "--to", "off-hours", "--keep-going", stdin=text)
    assert (ran.code, ran.out) == (1, "")
