"""kube-green's SleepInfos become plans that sleep when kube-green does, or are refused with the reason."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from cli.offline import samples
from cli.offline.test_convert import converted
from hibernator.cli.offline.drafts import Draft
from hibernator.cli.offline.loading.documents import Document, Position
from hibernator.cli.offline.sleepinfo import convert
from support.command import Ran, hibernator

_WEEK = 7 * 24 * 60


def sleep_info(**changes: Any) -> samples.Value:
    spec = {"weekdays": "1-5", "sleepAt": "20:00", "wakeUpAt": "08:00", "timeZone": "Europe/Rome"} | changes
    return {
        "apiVersion": "kube-green.com/v1alpha1",
        "kind": "SleepInfo",
        "metadata": {"name": "working-hours", "namespace": "stage"},
        "spec": {name: value for name, value in spec.items() if value is not None},
    }


def deployment(name: str = "gateway") -> samples.Value:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "stage"}}


def refused(*documents: samples.Value) -> str:
    ran: Ran = hibernator("convert", "-f", "-", "--to", "off-hours", stdin=samples.text(*documents))
    assert (ran.code, ran.out) == (1, "")
    return ran.err


def test_a_sleep_info_becomes_the_plan_of_its_name_and_sleeps_over_the_weekend_too() -> None:
    [plan] = converted(sleep_info(suspendCronJobs=True), to="off-hours")
    assert plan["metadata"] == {"name": "working-hours", "namespace": "stage"}
    [target] = plan["spec"]["targets"]
    assert target["parameters"] == {
        "namespace": {"literals": ["stage"]},
        "includedGroups": ["Deployment", "StatefulSet", "CronJob"],
    }
    assert plan["spec"]["schedule"] == {
        "timezone": "Europe/Rome",
        "offHours": [
            {"start": "20:00", "end": "08:00", "daysOfWeek": ["MON", "TUE", "WED", "THU"]},
            {"start": "20:00", "end": "23:59", "daysOfWeek": ["FRI"]},
            {"start": "00:00", "end": "23:59", "daysOfWeek": ["SAT", "SUN"]},
            {"start": "00:00", "end": "08:00", "daysOfWeek": ["MON"]},
        ],
    }


def test_without_a_zone_it_is_that_of_greenwich() -> None:
    [plan] = converted(sleep_info(timeZone=None), to="off-hours")
    assert plan["spec"]["schedule"]["timezone"] == "UTC"


def test_kinds_that_are_switched_off_stay_awake() -> None:
    info = sleep_info(suspendDeployments=False, suspendStatefulSets=True)
    [plan] = converted(info, to="off-hours")
    assert plan["spec"]["targets"][0]["parameters"]["includedGroups"] == ["StatefulSet"]


def test_labels_become_a_selector() -> None:
    info = sleep_info(
        includeRef=[{"matchLabels": {"team": "a"}}],
        excludeRef=[{"matchLabels": {"keep": "up", "tier": "db"}}],
    )
    [plan] = converted(info, to="off-hours")
    assert plan["spec"]["targets"][0]["parameters"]["workloadSelector"] == {
        "matchLabels": {"team": "a"},
        "matchExpressions": [
            {"key": "keep", "operator": "NotIn", "values": ["up"]},
            {"key": "tier", "operator": "NotIn", "values": ["db"]},
        ],
    }


_PATCH = "- op: add\n  path: /spec/replicas\n  value: 0\n"
_BY_NAME = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "gateway"}


def test_a_workload_that_is_excluded_by_name_is_annotated() -> None:
    workload, _ = converted(sleep_info(excludeRef=[_BY_NAME]), deployment(), to="off-hours")
    assert workload["metadata"]["annotations"] == {"hibernator.ardikabs.com/exclude": "true"}


def test_what_a_cluster_wrote_into_the_metadata_is_left_behind() -> None:
    info = sleep_info() | {"status": {"operation": "SLEEP"}}
    info["metadata"] |= {
        "uid": "1",
        "resourceVersion": "7",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        "labels": {"team": "a"},
    }
    [plan] = converted(info, to="off-hours")
    assert plan["metadata"] == {"name": "working-hours", "namespace": "stage", "labels": {"team": "a"}}
    assert "status" not in plan


@pytest.mark.parametrize(
    ("changes", "where", "why"),
    [
        ({"wakeUpAt": None}, "spec.wakeUpAt", "it is missing. Write when to wake up"),
        ({"weekdays": None}, "spec.weekdays", "it is missing"),
        ({"timeZone": "Europe/Rom"}, "spec.timeZone", "Did you mean Europe/Rome?"),
        ({"sleepAt": "20:00:00"}, "spec.sleepAt", "is not understood"),
        ({"wakeUpAt": "20:00"}, "spec.sleepAt", "both fire on Mon 20:00"),
        ({"weekdays": "8"}, "spec.sleepAt", "'8' is out of range"),
        ({"patches": [{"patch": _PATCH}]}, "spec.patches[0]", "it does not say which kind is patched"),
        ({"patches": [{"target": {"kind": "X"}}]}, "spec.patches[0].patch", "it is no list of operations"),
        (
            {"patches": [{"target": {"group": "apps", "kind": "Deployment"}, "patch": _PATCH}]},
            "spec.patches[0]",
            "Deployments sleep already, because suspendDeployments is on",
        ),
        (
            {"patches": [{"target": {"kind": "Secret"}, "patch": _PATCH}]},
            "",
            "secrets are not patched",
        ),
        ({"naptime": "1h"}, "spec.naptime", "no such field"),
        ({"suspendCronJobs": "yes"}, "spec.suspendCronJobs", "not of the right type"),
        ({"includeRef": [_BY_NAME]}, "spec.includeRef[0]", "by label, not by name"),
        ({"excludeRef": [_BY_NAME]}, "spec.excludeRef[0]", "it is not among the files. Add its file with -f"),
        ({"excludeRef": ["gateway"]}, "spec.excludeRef[0]", "this is not a reference"),
        ({"suspendDeployments": False, "suspendStatefulSets": False}, "spec", "nothing of it sleeps"),
    ],
)
def test_what_has_no_equivalent_is_refused_with_its_field(
    changes: dict[str, Any], where: str, why: str
) -> None:
    told = refused(sleep_info(**changes))
    assert f"{where}: " in told
    assert why in told


def test_patches_become_targets_with_the_same_selector() -> None:
    patches = [
        {"target": {"group": "apps", "kind": "StatefulSet"}, "patch": _PATCH},
        {"target": {"group": "example.com", "kind": "Proxy"}, "patch": _PATCH},
    ]
    info = sleep_info(
        suspendDeployments=False,
        suspendStatefulSets=False,
        patches=patches,
        includeRef=[{"matchLabels": {"app": "x"}}],
    )
    [plan] = converted(info, to="off-hours")
    shared = {
        "namespace": {"literals": ["stage"]},
        "selector": {"matchLabels": {"app": "x"}},
        "patch": _PATCH,
    }
    assert plan["spec"]["targets"] == [
        {
            "name": "patch-1",
            "type": "patches",
            "parameters": shared | {"apiVersion": "apps/v1", "resource": "statefulsets"},
        },
        {
            "name": "patch-2",
            "type": "patches",
            "parameters": shared | {"apiVersion": "example.com/v1", "resource": "proxies"},
        },
    ]
    told = hibernator("convert", "-f", "-", "--to", "off-hours", stdin=samples.text(info)).err
    assert "v1 and proxies are a guess. Compare them with `kubectl api-resources" in told
    assert "The operator needs a role to get, list, watch and patch proxies.example.com." in told


def test_a_sleep_info_without_a_namespace_is_refused() -> None:
    info = sleep_info()
    del info["metadata"]["namespace"]
    assert "metadata.namespace: it is missing" in refused(info)


# Minute by minute


def kube_green(days: set[int], sleep_at: int, wake_at: int) -> list[bool]:
    """What two cron lines do to a namespace over two weeks that begin on a Monday; the second one."""
    asleep, seen = False, []
    for minute in range(2 * _WEEK):
        if minute // 1440 % 7 in days and minute % 1440 in {sleep_at, wake_at}:
            asleep = minute % 1440 == sleep_at
        seen.append(asleep)
    return seen[_WEEK:]


def slept(windows: list[dict[str, Any]]) -> list[bool]:
    names = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
    minutes = [False] * _WEEK
    for window in windows:
        start, end = (int(window[edge][:2]) * 60 + int(window[edge][3:]) for edge in ("start", "end"))
        end = 1440 if window["end"] == "23:59" else end
        for day in window["daysOfWeek"]:
            begin = names.index(day) * 1440 + start
            for minute in range(begin, begin + ((end - start) % 1440 or 1440)):
                minutes[minute % _WEEK] = True
    return minutes


_clock = st.integers(0, 1439).filter(lambda minute: minute != 1439)


@settings(max_examples=50)
@given(st.sets(st.integers(0, 6), min_size=1), _clock, _clock)
def test_a_plan_sleeps_at_the_minutes_at_which_kube_green_does(
    days: set[int], sleep_at: int, wake_at: int
) -> None:
    info = sleep_info(
        weekdays=",".join(str((day + 1) % 7) for day in days),
        sleepAt=f"{sleep_at // 60}:{sleep_at % 60:02}",
        wakeUpAt=f"{wake_at // 60:02}:{wake_at % 60}",
    )
    draft = Draft(Document(info, Position("stdin"), {}))
    convert([draft])
    if sleep_at == wake_at:
        assert "both fire" in draft.problems[0].message
        return
    assert draft.problems == []
    [plan] = draft.made
    assert slept(plan["spec"]["schedule"]["offHours"]) == kube_green(days, sleep_at, wake_at)


def test_a_misspelled_field_is_named_with_what_was_meant() -> None:
    told = refused(sleep_info(timeZone=None, timezone="Europe/Rome"))
    assert "spec.timezone: " in told
    assert "Did you mean timeZone?" in told
