"""docs/images/demo.svg: the demo's screen shortly after eight, drawn by the code that draws the screen."""

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.cli.demo_screen import Setting, draw
from hibernator.demo.scene import Scene
from hibernator.demo.view import Happening, View, Workload, opening

WIDTH, HEIGHT = 96, 26
SCENE: Final = Scene.after(Instant("2026-02-25T12:00:00Z"))
SETTING: Final = Setting(
    SCENE.opens,
    Path("/tmp/hibernator-demo-k3v8x2qa/env"),  # noqa: S108  only shown
    "http://localhost:41873",
    speed=600.0,
    seconds=180.0,
)

_WEB_FONTS: Final = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)  # a picture fetches nothing
_STATUS: Final[dict[str, dict[str, Any]]] = {
    "HibernatePlan": {
        "phase": "Hibernating",
        "currentOperation": "Sleep",
        "targets": [
            {"name": "front", "state": "Completed"},
            {"name": "services", "state": "Running"},
            {"name": "database", "state": "Pending"},
        ],
    },
    "TimeWindowScaler": {"effectiveReplicas": 2},
    "ScheduleException": {
        "state": "Pending",
        "approvalState": "Pending",
        "approvalProgress": "1/2",
        "requiredApprovals": [
            {"email": "ann@shop.example", "status": "approved"},
            {"email": "bob@shop.example", "status": "pending"},
        ],
    },
}
_HAPPENED: Final = (
    (15, "release-night", "carol@shop.example asks for it: The release needs all of it."),
    (16, "release-night", "Waits for the approval of ann@shop.example, bob@shop.example."),
    (36, "checkout-oom", "The confidence of 0.72 is below 0.80. Somebody must approve it."),
    (60, "chat", 'Scaled Deployment "chat" from 4 to 2. 2 replicas: the window 18:00-22:00 Mon-Fri.'),
    (80, "release-night", "ann@shop.example agrees: Good luck!"),
    (180, "nights", "Going to sleep (cycle 1)."),
    (182, "nights", "front is asleep (2 workloads)."),
)


def view() -> View:
    """Monday, shortly after eight in the evening: the shop is going to sleep."""
    written = {each["kind"]: each for each in (*SCENE.documents, *SCENE.acts)}
    seen = {kind: written[kind] | {"status": status} for kind, status in _STATUS.items()}
    return replace(
        opening(SCENE),
        now=SCENE.opens.add(hours=3, minutes=4),
        workloads=(
            Workload("shop-web", "site", 0, 0, 4),
            Workload("shop-web", "search", 0, 0, 2),
            Workload("shop-core", "checkout", 0, 1, 3),
            Workload("shop-core", "stock", 0, 0, 2),
            Workload("shop-core", "orders", 1, 1, 1),
            Workload("shop-help", "chat", 2, 2, 4),
        ),
        plan=msgspec.convert(seen["HibernatePlan"], HibernatePlan),
        scaler=msgspec.convert(seen["TimeWindowScaler"], TimeWindowScaler),
        exceptions=(msgspec.convert(seen["ScheduleException"], ScheduleException),),
        requests=(_request(),),
        happenings=tuple(
            Happening(SCENE.opens.add(minutes=minutes), about, said) for minutes, about, said in _HAPPENED
        ),
    )


def _request() -> RemediationApprovalRequest:
    spec = {
        "aiAnalysisRef": {"name": "checkout-oom"},
        "approvalContext": {"confidence": 0.72, "recommendedPlaybook": "pod-oom-recovery"},
        "requiredBy": SCENE.opens.add(hours=12, minutes=36).format_iso(),
    }
    metadata = {"name": "checkout-oom-3f2a9c01de", "namespace": "shop-core"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, RemediationApprovalRequest)


def text() -> str:
    console = Console(
        record=True,
        width=WIDTH,
        height=HEIGHT,
        file=StringIO(),
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        _environ={},
    )
    for line in draw(view(), SETTING, WIDTH, HEIGHT):
        console.print(line)
    return _WEB_FONTS.sub("", console.export_svg(title="hibernator demo")) + "\n"
