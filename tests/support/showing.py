"""A team's plans, scalers, exceptions and remediations to look at, and people who may see more or less."""

import os
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from whenever import Instant, ZonedDateTime

from support.account import web_kubeconfig
from support.approving import ALICE, BOB, CAROL, Approving
from support.chromium import SHOTS
from support.exception_scenes import EVERY_DAY, WEEKDAYS, exception, hours
from support.plan_scenes import noop, plan, workloads
from support.rights import may, until
from support.scaler_scenes import scaler, workload

EVE = "eve@company.com"  # no test gives her any right
# Tries to run a script from every text that people write; not in the pictures of the guides.
ATTACK = (
    ""
    if os.environ.get(SHOTS)
    else "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
)
LONG = "preview-of-a-branch-with-a-name-as-long-as-machines-make-them-x"
_SHOP = {"cart": 2, "checkout": 3, "storefront": 6}  # Deployments, and their replicas
_KINDS = (
    "hibernateplans.hibernator.ardikabs.com,scheduleexceptions.hibernator.ardikabs.com,"
    "timewindowscalers.kyklos.io,remediationapprovalrequests.remediation.kubernaut.ai"
)


@dataclass
class Showing:
    desk: Approving
    names: dict[str, str] = field(default_factory=dict)  # of the requests, by what they are

    @property
    def account(self) -> Path:
        """The kubeconfig of the web process."""
        return web_kubeconfig(self.desk.scene.cluster.kubeconfig)

    @property
    def namespace(self) -> str:
        return self.desk.scene.namespace

    async def settled(self) -> None:
        """Wait until the pages show all that there is."""
        for name in self.names.values():
            await self.desk.shown(name)
        plans = self.desk.webs.replicas[0].site.cases.plans
        await self.desk.operator.until(lambda: len(plans) and all(one.status.phase for one in plans.values()))


async def showing(desk: Approving) -> Showing:
    """Alice may see everything in the namespace, Bob is asked, Eve is neither."""
    found = Showing(desk)
    scene, namespace = desk.scene, desk.scene.namespace
    grant = ("create", "role", "sees", "--verb=get,list,watch", f"--resource={_KINDS}", "-n", namespace)
    scene.cluster.kubectl(*grant)
    scene.cluster.kubectl("create", "rolebinding", "sees", "--role=sees", f"--user={ALICE}", "-n", namespace)
    now = Instant.now().to_tz("Europe/Berlin")
    around = {"start": _hour(now, -1), "end": _hour(now, 7)}
    berlin = {"timezone": "Europe/Berlin", "offHours": hours("20:00", "06:00", WEEKDAYS)}
    asleep = {"timezone": "Europe/Berlin", "offHours": [around | {"daysOfWeek": EVERY_DAY}]}
    away = now.to_tz("Asia/Jakarta")  # where it is awake now, whenever this runs
    jakarta = {"timezone": away.tz_id, "offHours": hours(_hour(away, 3), _hour(away, 11), EVERY_DAY)}
    shop = workloads("shop", namespace, workloadSelector={"matchLabels": {"team": "shop"}})
    scene.create(
        *(_of_the_shop(name, replicas) for name, replicas in _SHOP.items()),
        _labelled(plan(shop, noop("search", items=4), name="shop-nights", schedule=asleep)),
        _labelled(plan(noop("orders", items=3), name="orders", schedule=berlin)),
        plan(noop("reports", items=2), name="reports", schedule=jakarta),
        plan(
            noop("billing", items=2, failureMode="sleep", failureMessage=f"The cloud said no. {ATTACK}"),
            name="billing",
            schedule=asleep,
            behavior={"retries": 0},
        ),
        plan(
            noop("lab", items=1),
            name="lab",
            schedule=berlin,
            suspend=True,
            suspendReason=f"Load test. {ATTACK}",
        ),
        workload(name="front", replicas=1),
        scaler("front-hours", targetRef={"kind": "Deployment", "name": "front"}, timezone="Europe/Berlin"),
    )
    soon, later = now.add(hours=2).to_instant(), now.add(hours=30).to_instant()
    asked = exception(
        "release-shop",
        "shop-nights",
        by=ALICE,
        type="suspend",
        validFrom=soon.format_iso(unit="second"),
        validUntil=later.format_iso(unit="second"),
        windows=hours("00:00", "06:00", EVERY_DAY),
        reason=f"Version 4.2 goes out tonight. {ATTACK}",
        approvalRequired=True,
        approverEmails=[BOB, CAROL],
    )
    active = exception(
        "release-reports",
        "reports",
        by=ALICE,
        type="extend",
        validFrom=now.to_instant().format_iso(unit="second"),
        validUntil=now.add(days=5).to_instant().format_iso(unit="second"),
        windows=hours(_hour(away, 1), _hour(away, 2), EVERY_DAY),
        reason="The office is closed at noon.",
    )
    scene.create(asked, active)
    if ATTACK:  # and something that is as long as names may be
        scene.create(plan(noop("x"), name=LONG, schedule=berlin))
        scene.create(exception(LONG, LONG, by=ALICE, type="extend", **_week(now.to_instant())))
    found.names = {"asked": "release-shop", "active": "release-reports", "remedy": desk.remediate(BOB)}
    await found.settled()
    until(lambda: may(scene.cluster, namespace, ALICE, "list", "hibernateplans"))
    return found


def _hour(now: ZonedDateTime, later: int) -> str:
    return f"{now.to_stdlib() + timedelta(hours=later):%H}:00"


def _week(now: Instant) -> dict[str, Any]:
    until = now.add(hours=7 * 24)
    return {
        "validFrom": now.format_iso(unit="second"),
        "validUntil": until.format_iso(unit="second"),
        "windows": hours("12:00", "14:00", EVERY_DAY),
    }


def _of_the_shop(name: str, replicas: int) -> dict[str, Any]:
    return _labelled(workload(name=name, replicas=replicas))


def _labelled(document: dict[str, Any]) -> dict[str, Any]:
    document["metadata"]["labels"] = {"team": "shop"}
    return document
