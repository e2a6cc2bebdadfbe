"""The conversion webhook on the real API server: one object, seen and edited in both versions."""

import asyncio
from typing import Any

import msgspec
import pytest

from admission.replicas import Scalers, scaler
from admission.scalers import measured, window
from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.conversion import ANNOTATION, effective_spec
from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.kube.client import Client
from hibernator.kube.errors import ApiError, Invalid
from support.cluster import ClusterInTest

pytestmark = pytest.mark.usefixtures("operator")

SHARE = window(replicas="50%", timezone="Asia/Tokyo")
MEASURED = window("18:00", "22:00", external=measured())


async def test_what_is_written_in_v1beta1_is_stored_as_v1alpha1_and_read_in_both(
    client: Client, scalers: Scalers, namespace: str
) -> None:
    written = scaler(
        "db", SHARE, MEASURED, targetRef={"kind": "StatefulSet", "name": "db"}, defaultReplicas="10%"
    )
    await client.create(scalers.beta, written, namespace)

    stored = await client.get(scalers.alpha, "db", namespace)
    assert stored.spec.target_ref.kind == "StatefulSet"
    assert stored.spec.default_replicas == 1
    assert [(shown.start, shown.replicas) for shown in stored.spec.windows] == [("09:00", 1), ("18:00", 8)]
    assert effective_spec(stored) == msgspec.convert(written["spec"], v1beta1.TimeWindowScalerSpec)

    seen = await client.get(scalers.beta, "db", namespace)
    assert seen.spec == effective_spec(stored)
    assert ANNOTATION not in seen.metadata.annotations
    assert (seen.metadata.uid, seen.metadata.generation) == (stored.metadata.uid, 1)


@pytest.mark.parametrize(
    "target",
    [
        {"kind": "StatefulSet", "name": "db", "apiVersion": "apps/v1"},
        {"kind": "Rollout", "name": "db", "apiVersion": "argoproj.io/v1alpha1"},
    ],
)
async def test_other_kinds_written_in_v1beta1_can_be_worked_with_in_v1alpha1(
    client: Client, scalers: Scalers, namespace: str, target: dict[str, str]
) -> None:
    """The schema of v1alpha1 knows Deployments only; the API server lets stand what does not change."""
    written = scaler("db", SHARE, targetRef=target)
    await client.create(scalers.beta, written, namespace)

    async def patch(**body: Any) -> TimeWindowScaler:
        subresource = "status" if "status" in body else ""
        return await client.patch(
            scalers.alpha, "db", namespace, body, resource_version=None, subresource=subresource
        )

    await patch(status={"effectiveReplicas": 2, "baselineReplicas": 4})
    await patch(metadata={"labels": {"team": "shop"}, "finalizers": ["kyklos.io/test"]})
    await patch(spec={"pause": True})
    with pytest.raises(Invalid, match=r'Unsupported value: "DaemonSet": supported values: "Deployment"'):
        await patch(spec={"targetRef": {"kind": "DaemonSet"}})

    seen = await client.get(scalers.beta, "db", namespace)
    assert seen.spec.pause
    assert seen.spec.target_ref == msgspec.convert(target, v1beta1.TargetReference)
    assert seen.spec.windows[0].replicas == "50%"
    assert (seen.status.effective_replicas, seen.status.baseline_replicas) == (2, 4)
    assert seen.metadata.labels == {"team": "shop"}
    await patch(metadata={"finalizers": None})


async def test_windows_edited_through_v1alpha1_keep_what_only_v1beta1_shows(
    client: Client, scalers: Scalers, namespace: str
) -> None:
    await client.create(scalers.beta, scaler("db", SHARE, MEASURED), namespace)
    edited = [
        window("06:00", "07:00", replicas=2),  # new
        window("18:00", "23:00", replicas=8),  # measured, now in the first place and an hour longer
        window(replicas=3),  # no share any more, but still in Tokyo
    ]
    await client.patch(scalers.alpha, "db", namespace, {"spec": {"windows": edited}}, resource_version=None)
    seen = await client.get(scalers.beta, "db", namespace)
    assert list(seen.spec.windows) == [
        msgspec.convert(expected, v1beta1.ScalerWindow)
        for expected in (edited[0], MEASURED | {"end": "23:00"}, SHARE | {"replicas": 3})
    ]


async def test_an_edit_in_v1beta1_is_seen_in_v1alpha1_and_leaves_nothing_behind(
    client: Client, scalers: Scalers, namespace: str
) -> None:
    await client.create(scalers.beta, scaler("db", SHARE), namespace)
    plain = {"spec": {"windows": [window(replicas=3)]}}
    await client.patch(scalers.beta, "db", namespace, plain, resource_version=None)
    stored = await client.get(scalers.alpha, "db", namespace)
    assert stored.spec.windows[0].replicas == 3
    assert ANNOTATION not in stored.metadata.annotations


async def test_a_broken_annotation_breaks_nothing_but_what_it_held(
    client: Client, scalers: Scalers, namespace: str
) -> None:
    await client.create(scalers.beta, scaler("db", SHARE), namespace)
    broken = {"metadata": {"annotations": {ANNOTATION: "{"}}}
    await client.patch(scalers.alpha, "db", namespace, broken, resource_version=None)
    seen = await client.get(scalers.beta, "db", namespace)
    assert seen.spec.windows[0].replicas == 1
    assert seen.metadata.annotations[ANNOTATION] == "{"
    assert [item.metadata.name for item in await client.list(scalers.beta, namespace)] == ["db"]


async def test_server_side_apply_works_in_either_version_on_one_object(
    client: Client, scalers: Scalers, namespace: str
) -> None:
    document = scaler("db", SHARE)
    document["metadata"]["namespace"] = namespace
    await client.apply(scalers.beta, document, field_manager="ann")
    paused = {"metadata": {"name": "db", "namespace": namespace}, "spec": {"pause": True}}
    await client.apply(scalers.alpha, paused, field_manager="bob")
    document["spec"]["windows"].append(MEASURED)
    seen = await client.apply(scalers.beta, document, field_manager="ann")
    assert seen.spec.pause
    assert [shown.replicas for shown in seen.spec.windows] == ["50%", None]
    stored = await client.get(scalers.alpha, "db", namespace)
    assert [shown.replicas for shown in stored.spec.windows] == [1, 8]


@pytest.mark.parametrize("apply", [False, True])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"windows": [window(replicas=1, external=measured())]},
            "Write exactly one of replicas and external",
        ),
        ({"windows": [window()]}, "Write exactly one of replicas and external"),
        ({"windows": [window(replicas="half")]}, "should match"),
        ({"windows": [window(replicas="1001%")]}, "should match"),
        ({"windows": [window(replicas=-1)]}, "should be greater than or equal to 0"),
        ({"windows": [window("09:00", "09:00", replicas="5%")]}, "start must not equal end"),
        ({"windows": [window(external=measured(least=5, most=4))]}, "min must not be greater than max"),
        ({"windows": [window(replicas=1, timezone="")]}, "at least 1 chars long"),
        ({"defaultReplicas": "1%1"}, "should match"),
        ({"targetRef": {"kind": "deployment", "name": "db"}}, "should match"),
    ],
)
async def test_what_is_wrong_in_v1beta1_is_told_by_its_schema(
    client: Client, scalers: Scalers, namespace: str, fields: dict[str, Any], message: str, *, apply: bool
) -> None:
    document = scaler("db", **{"windows": [SHARE], **fields})
    document["metadata"]["namespace"] = namespace
    if apply:
        write = client.apply(scalers.beta, document, field_manager="ann")
    else:
        write = client.create(scalers.beta, document, namespace)
    with pytest.raises(Invalid, match=message):
        await write


async def test_queries_that_are_too_long_together_are_refused_in_words(
    client: Client, scalers: Scalers, namespace: str
) -> None:
    windows = [window(external=measured(query="\N{HOT BEVERAGE}" * 1024)) for _ in range(64)]
    with pytest.raises(ApiError, match=r"spec\.windows holds \d+ bytes of queries and zones"):
        await client.create(scalers.beta, scaler("db", *windows), namespace)


async def test_kubectl_shows_both_versions(
    cluster: ClusterInTest, scalers: Scalers, namespace: str, client: Client
) -> None:
    await client.create(scalers.beta, scaler("db", SHARE), namespace)
    resource = f"timewindowscalers.{scalers.group}"
    for version in ("v1alpha1", "v1beta1"):
        name = f"timewindowscalers.{version}.{scalers.group}/db"
        shown = await asyncio.to_thread(cluster.kubectl, "get", name, "-n", namespace, "-o", "yaml")
        assert f"apiVersion: {scalers.group}/{version}" in shown.stdout
    table = await asyncio.to_thread(cluster.kubectl, "get", resource, "-n", namespace)
    assert table.stdout.split()[:2] == ["NAME", "TARGET"]
