"""Conversion between cron lines and off-hours, with everything around a plan kept as it is."""

import json
from pathlib import Path

import pytest
import yaml

from cli.offline import samples
from hibernator.cli.offline.loading.documents import load
from support.command import Ran, hibernator


def converted(*documents: samples.Value, to: str) -> list[samples.Value]:
    ran = _run(*documents, to=to)
    assert ran.code == 0, ran.err
    return list(yaml.safe_load_all(ran.out))


def _run(*documents: samples.Value, to: str) -> Ran:
    return hibernator("convert", "-f", "-", "--to", to, stdin=samples.text(*documents))


def test_cron_lines_become_off_hours_in_the_group_of_today() -> None:
    old = samples.old_plan("30 20 * * 1-5", "0 6 * * 2-6")
    old["metadata"]["labels"] = {"team": "a"}
    [new] = converted(old, to="off-hours")
    assert new["apiVersion"] == "hibernator.ardikabs.com/v1alpha1"
    assert new["metadata"] == {"name": "dev", "labels": {"team": "a"}}
    assert new["spec"]["targets"] == old["spec"]["targets"]
    assert new["spec"]["schedule"] == {
        "offHours": [{"start": "20:30", "end": "06:00", "daysOfWeek": ["MON", "TUE", "WED", "THU", "FRI"]}],
        "timezone": "Asia/Jakarta",
    }


def test_what_was_converted_is_valid() -> None:
    out = _run(samples.old_plan(), to="off-hours").out
    assert hibernator("validate", "-f", "-", stdin=out).code == 0


def test_an_exception_of_the_old_group_moves_along() -> None:
    old = samples.exception() | {"apiVersion": "hibernator.ardikasaputro.io/v1alpha1"}
    [new] = converted(old, to="off-hours")
    assert new == samples.exception()


def test_off_hours_become_cron_lines_and_back() -> None:
    [old] = converted(samples.plan(), to="cron")
    assert old["apiVersion"] == "hibernator.ardikasaputro.io/v1alpha1"
    assert old["spec"]["schedule"] == {
        "hibernate": "0 20 * * 1,2,3,4,5",
        "wakeUp": "0 6 * * 2,3,4,5,6",
        "timezone": "Europe/Berlin",
    }
    [moved] = converted(samples.plan() | {"apiVersion": old["apiVersion"]}, to="cron")
    assert moved == old
    [again] = converted(old, to="off-hours")
    assert again["spec"]["schedule"]["offHours"] == [samples.window()]


def test_a_plan_that_needs_several_pairs_becomes_several_plans() -> None:
    windows = [
        samples.window(daysOfWeek=["MON"]),
        samples.window(start="10:00", end="11:00", daysOfWeek=["WED"]),
    ]
    ran = _run(samples.plan(offHours=windows), to="cron")
    plans = list(yaml.safe_load_all(ran.out))
    assert [plan["metadata"]["name"] for plan in plans] == ["dev-1", "dev-2"]
    assert "It takes 2 pairs of cron lines, so that it became as many plans." in ran.err


def test_what_cron_cannot_say_is_refused_with_the_reason() -> None:
    ran = _run(samples.plan(holidays={"mode": "sleep-all-day", "country": "DE"}), to="cron")
    assert (ran.code, ran.out) == (1, "")
    assert "spec.schedule: cron knows no holidays, and this schedule does (sleep-all-day)." in ran.err


def test_a_cron_line_without_equivalent_is_refused_with_the_reason() -> None:
    ran = _run(samples.old_plan("0 20 1 * *"), to="off-hours")
    assert (ran.code, ran.out) == (1, "")
    assert "(document 1, line 7): spec.schedule.hibernate: " in ran.err


def test_a_wrong_cron_line_is_told_by_its_own_field() -> None:
    ran = _run(samples.old_plan(wake_up="0 6"), to="off-hours")
    assert "spec.schedule.wakeUp: the cron line '0 6' has no equivalent window: it has 2 fields" in ran.err


def test_a_missing_cron_line_is_told() -> None:
    old = samples.old_plan()
    del old["spec"]["schedule"]["wakeUp"]
    ran = _run(old, to="off-hours")
    assert "spec.schedule.wakeUp: it is missing. Write a cron line, for example" in ran.err


def test_everything_else_keeps_its_comments_and_its_layout(tmp_path: Path) -> None:
    other = "# about this map\nkind: ConfigMap   # a comment\ndata: {b: 1,\n  a: 2}\n"
    file = tmp_path / "all.yaml"
    file.write_text(
        f"{other}---\n# lost\n{samples.text(samples.old_plan())}---\n{other}...\n", encoding="utf-8"
    )
    ran = hibernator("convert", "-f", file, "--to", "off-hours")
    first, middle, last = ran.out.split("---\n")
    assert (first, last) == (other, other)
    assert yaml.safe_load(middle)["kind"] == "HibernatePlan"
    assert "note: HibernatePlan default/dev was converted to off-hours. Its comments are lost." in ran.err


def test_lists_and_json_come_out_as_documents(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    items = [samples.old_plan(), samples.config_map({"2026-12-25": "y"})]
    file.write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")
    ran = hibernator("convert", "-f", file, "--to", "off-hours")
    copy = tmp_path / "copy.yaml"
    copy.write_text(ran.out, encoding="utf-8")
    plan, config_map = load([str(copy)]).documents
    assert plan.part("spec", "schedule", "offHours")
    assert config_map.value == items[1]  # "y" is still text


def test_nothing_to_convert_is_told() -> None:
    assert _run(samples.plan(), to="off-hours").err == "note: nothing needed converting.\n"


@pytest.mark.parametrize("to", ["off-hours", "cron"])
def test_mistakes_end_the_conversion(to: str) -> None:
    ran = hibernator("convert", "-f", "-", "--to", to, stdin="a: [")
    assert (ran.code, ran.out) == (1, "")
    assert "this is not valid YAML" in ran.err


@pytest.mark.parametrize("to", ["off-hours", "cron"])
def test_what_a_cluster_added_to_a_plan_is_not_written_again(to: str) -> None:
    found = samples.old_plan() if to == "off-hours" else samples.plan()
    found["metadata"] |= {"uid": "x", "resourceVersion": "7", "generation": 2, "labels": {"team": "a"}}
    [new] = converted(found | {"status": {"phase": "Active"}}, to=to)
    assert "status" not in new
    assert new["metadata"] == {"name": "dev", "labels": {"team": "a"}}
