"""`hibernator savings` after nights of a real plan, while it is asleep, and when it is gone."""

import asyncio
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from whenever import Instant

from hibernator.audit.database import Database
from hibernator.audit.event import AuditEvent, event
from hibernator.audit.store import ChainStore
from hibernator.controllers.metrics import CORE_HOURS, GIB_HOURS
from hibernator.kube.clustertime import publish
from support.cluster import ClusterInTest
from support.command import Ran, hibernator
from support.operators import Running
from support.plan_scenes import EVENING, MORNING, PlanScene, plan, workloads
from support.scaler_scenes import workload
from support.trail import plan as plan_of


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    return PlanScene(crds, namespace)


def hungry(asked: str = "requests") -> dict[str, Any]:
    """Eight cores and 16 GiB."""
    made = workload(replicas=2)
    container = made["spec"]["template"]["spec"]["containers"][0]
    spec = {"containers": [{**container, "resources": {asked: {"cpu": "4", "memory": "8Gi"}}}]}
    made["spec"]["template"] = {**made["spec"]["template"], "spec": spec}
    return made


def show(database: str, now: str, *arguments: str, everywhere: bool = True) -> Ran:
    options = ("-A",) if everywhere else ()
    return hibernator("savings", *options, "--database", database, *arguments, now=Instant(now))


async def shown(run: Running, now: str, *arguments: str) -> Any:
    await run.operator.trail.flush()
    ran = await asyncio.to_thread(show, run.database, now, "-o", "json", *arguments)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


async def test_a_night_is_counted_while_it_lasts_when_it_is_over_and_when_the_plan_is_gone(
    scene: PlanScene,
) -> None:
    scene.create(hungry(), plan(workloads("all", scene.namespace)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        in_between = await shown(run, "2026-03-02T22:30:00Z")
        assert in_between["items"] == [
            {
                "namespace": scene.namespace,
                "plan": "nights",
                "month": "2026-03",
                "coreHours": 20.0,
                "gibHours": 40.0,
                "nodeHours": 0.0,
                "cloudHours": 0.0,
                "worth": round(20 * 0.031611 + 40 * 0.004237, 3),
            }
        ]
        await run.advance_to("2026-03-02T22:30:00Z")
        assert run.metric(CORE_HOURS, scene.namespace, "nights") == 20.0
        await run.advance_to(MORNING)
        assert run.metric(CORE_HOURS, scene.namespace, "nights") == 80.0
        assert run.metric(GIB_HOURS, scene.namespace, "nights") == 160.0
        over = await shown(run, "2026-03-03T12:00:00Z")
        assert over["total"]["coreHours"] == 80.0
        await asyncio.to_thread(scene.delete, "hibernateplans", "nights")
        await run.settle()
        assert 'plan="nights"' not in run.operator.metrics.text().decode()
        gone = await shown(run, "2026-03-03T12:00:00Z", "--by", "month")
        assert gone["items"][0]["month"] == "2026-03"
        assert gone["total"] == over["total"]
        only = await shown(run, "2026-03-03T12:00:00Z", "--since", "2026-03-03T00:00:00Z")
        assert only["total"]["coreHours"] == 48.0


@pytest.mark.parametrize("asked", ["requests", "limits"])
async def test_a_dry_run_says_what_an_hour_would_save_and_counts_nothing(
    scene: PlanScene, asked: str
) -> None:
    scene.create(hungry(asked=asked), plan(workloads("all", scene.namespace), dryRun=True))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        (target,) = scene.plan_status()["targets"]
        assert target["saving"] == {"cpuCores": 8.0, "memoryGiB": 16.0}
        assert "saves 8 CPU cores and 16 GiB" in target["message"]
        assert (await shown(run, "2026-03-02T22:00:00Z"))["items"] == []


def told(type_: str, at: str, number: int, name: str = "nightly", **data: Any) -> AuditEvent:
    about = plan_of(name)
    return event(
        f"hibernateplan.{type_}",
        about,
        at=Instant(at),
        identity=(number,),
        correlation_id=f"{about.uid}/{data.get('cycle', 0)}",
        data=data,
    )


SAVES: dict[str, Any] = {
    "type": "workloadscaler",
    "items": 1,
    "cpuMillicores": 1000,
    "memoryMiB": 1024,
    "timezone": "Europe/Berlin",
}


@pytest.fixture
def trail(tmp_path: Path) -> str:
    """Two plans: one asleep since January, the other for an evening; and a sleep without numbers."""
    events = [
        told("target.slept", "2025-12-01T00:00:00Z", 1, cycle=1, target="a", **SAVES),
        told("wake.started", "2025-12-02T00:00:00Z", 2, cycle=1),
        told("target.slept", "2026-01-01T00:00:00Z", 3, cycle=2, target="a", **SAVES),
        told("target.slept", "2026-01-01T00:00:01Z", 4, cycle=2, target="b", **SAVES),
        told("target.slept", "2026-03-02T20:00:00Z", 1, "late", cycle=1, target="old"),
        told(
            "target.slept",
            "2026-03-02T20:00:00Z",
            2,
            "late",
            cycle=1,
            target="db",
            type="rds",
            items=2,
            cpuMillicores=8000,
            memoryMiB=32768,
            nodes=2,
        ),
        told("wake.started", "2026-03-02T22:00:00Z", 3, "late", cycle=1),
    ]
    return filled(tmp_path, events)


def filled(folder: Path, events: list[AuditEvent]) -> str:
    url = f"sqlite:///{folder}/audit.db"

    async def fill() -> None:
        async with Database(url) as database:
            store = ChainStore(database, now=lambda: events[-1].time)
            await store.prepare()
            await store.append(await store.claim("test"), events)

    asyncio.run(fill())
    return url


@pytest.mark.parametrize(
    ("now", "hours"),
    [
        ("2026-02-10T08:00:00Z", 16 + 8 / 2),
        ("2026-02-12T00:00:00Z", 24 / 2),  # it was woken before the window began
    ],
)
def test_what_others_woke_in_the_night_is_not_counted_as_saved(
    tmp_path: Path, now: str, hours: float
) -> None:
    awake = SAVES | {"awake": 1, "items": 1, "cpuMillicores": 500}
    events = [
        told("target.slept", "2026-02-01T00:00:00Z", 1, cycle=1, target="a", **SAVES),
        told("target.wokenbyothers", "2026-02-10T00:00:00Z", 2, cycle=1, target="a", **awake),
    ]
    ran = show(filled(tmp_path, events), now, "--since", "24h", "-o", "json")
    (item,) = json.loads(ran.out)["items"]
    assert item["coreHours"] == hours


def test_workloads_without_requests_are_named_with_the_reason_for_their_zero(tmp_path: Path) -> None:
    unsized = SAVES | {"cpuMillicores": 0, "memoryMiB": 0}
    events = [told("target.slept", "2026-02-01T00:00:00Z", 1, cycle=1, target="a", **unsized)]
    ran = show(filled(tmp_path, events), "2026-02-02T00:00:00Z", "--since", "24h")
    why = "note: Workloads of shop/nightly count as 0: their containers have no requests and no limits."
    assert why in ran.err.splitlines()


def test_a_sleep_of_months_counts_in_a_window_that_begins_in_the_middle_of_it(trail: str) -> None:
    ran = show(trail, "2026-03-03T00:00:00Z", "--since", "24h", "-o", "json")
    items = {item["plan"]: item for item in json.loads(ran.out)["items"]}
    assert items["nightly"]["coreHours"] == 48.0
    assert items["late"]["cloudHours"] == 4.0
    assert "1 sleep does not say what was saved" in ran.err


def test_now_is_the_time_of_the_cluster(trail: str, tmp_path: Path) -> None:
    publish(tmp_path / "kubeconfig", Instant("2026-03-03T12:00:00Z"), 0.0)
    demo = {"KUBECONFIG": str(tmp_path / "kubeconfig")}
    at_noon = show(trail, "2026-03-03T12:00:00Z")
    assert "2026-03" in at_noon.out
    assert hibernator("savings", "-A", "--database", trail, env=demo) == at_noon
    recent = hibernator("audit", "list", "--database", trail, "--since", "1d", env=demo)
    assert "2026-03-0" in recent.out


def test_the_table_says_what_it_is_worth_by_the_prices_of_the_file(trail: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(yaml.safe_dump({"cpu": 1, "memory": 0, "currency": "EUR", "hourly": {"rds": 0.5}}))
    ran = show(trail, "2026-03-03T00:00:00Z", "--since", "24h", "--prices", str(file))
    assert ran.out.splitlines() == [
        "NAMESPACE   PLAN      MONTH     CORE HOURS   GIB HOURS   NODE HOURS   CLOUD HOURS     EUR",
        "shop        late      2026-03         16.0        64.0          0.0           4.0    2.00",
        "shop        nightly   2026-03         48.0        48.0          0.0           0.0   48.00",
        "total                                 64.0       112.0          0.0           4.0   50.00",
    ]


def test_machines_are_counted_by_their_price_and_which_price_that_was_is_said(tmp_path: Path) -> None:
    data: dict[str, Any] = {"type": "ec2", "items": 3, "cpuMillicores": 6000, "memoryMiB": 0, "nodes": 3}
    machines = "eu-central-1/m5.large=2 eu-central-1/x9.large=1"
    events = [
        told("target.slept", "2026-03-02T20:00:00Z", 1, cycle=1, target="vms", machines=machines, **data),
        told("wake.started", "2026-03-02T22:00:00Z", 2, cycle=1),
    ]
    url = filled(tmp_path, events)
    ran = show(url, "2026-03-03T00:00:00Z", "--since", "24h", "-o", "json")
    found = json.loads(ran.out)
    assert found["prices"]["machines"] == {"eu-central-1/m5.large": 0.115}
    by_cores = 2 * 2 * 0.031611  # a third of six cores, for two hours
    assert found["total"]["worth"] == pytest.approx(2 * 2 * 0.115 + by_cores, abs=0.001)
    assert "Machines by their own price, in USD an hour (AWS's list price" in ran.err
    assert "eu-central-1/m5.large at 0.115." in ran.err
    assert "of cores and memory: eu-central-1/x9.large." in ran.err
    file = tmp_path / "prices.csv"
    file.write_text(
        "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version\n"
        ",,eu-central-1,node,,m5.large,0.5,\n,,,node,,x9.large,1,\n"
    )
    table = show(url, "2026-03-03T00:00:00Z", "--since", "24h", "--prices", str(file)).out
    assert table.splitlines()[-1].endswith(" 4.00")


def test_by_namespace_and_month_as_csv_and_yaml(trail: str) -> None:
    text = show(trail, "2026-02-02T00:00:00Z", "--since", "2026-01-30", "--by", "namespace", "-o", "csv").out
    first, second = csv.DictReader(io.StringIO(text))
    assert (first["month"], second["month"]) == ("2026-01", "2026-02")
    # From midnight in UTC to the end of the month in Berlin, for two targets.
    assert (float(first["coreHours"]), float(second["coreHours"])) == (2 * 47.0, 2 * 25.0)
    as_yaml = show(trail, "2026-02-02T00:00:00Z", "--by", "month", "-o", "yaml").out
    assert yaml.safe_load(as_yaml)["currency"] == "USD"


def test_a_time_without_sleep_and_a_trail_that_begins_later_are_pointed_out(trail: str) -> None:
    ran = show(trail, "2025-12-10T00:00:00Z", "--since", "5d")
    assert "The trail has no sleep in this time." in ran.err
    assert "The trail begins on 2025-12-01T00:00:00Z" in show(trail, "2025-12-10T00:00:00Z").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--prices", "nowhere.yaml"), "--prices nowhere.yaml: No such file or directory.\n"),
        (("--since", "2026-03-04"), "must be before --until"),
        (("--since", "yesterdy"), "--since"),
    ],
)
def test_a_mistake_in_an_option_is_named(trail: str, arguments: tuple[str, ...], said: str) -> None:
    ran = show(trail, "2026-03-03T00:00:00Z", *arguments)
    assert ran.code == 2
    assert said in ran.err


@pytest.mark.parametrize(
    ("written", "said"),
    [(b"[", "this is not valid YAML in line 1."), (b"\xff", "it is not written in UTF-8.")],
)
def test_prices_that_cannot_be_read_are_named_with_the_place(
    trail: str, tmp_path: Path, written: bytes, said: str
) -> None:
    file = tmp_path / "prices.yaml"
    file.write_bytes(written)
    ran = show(trail, "2026-03-03T00:00:00Z", "--prices", str(file))
    assert (ran.code, ran.err.splitlines()) == (
        2,
        [f"error: --prices {file}: {said}", "Give a file in YAML or JSON."],
    )
