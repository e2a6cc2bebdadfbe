"""What is named, and what is not there: lists by name and label, guesses, other namespaces, impersonation."""

import json
import re

import msgspec
import pytest
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.cli.exits import Exit
from hibernator.cli.plan_words import columns, describe_lines
from support.cluster import ClusterInTest
from support.command import Ran, hibernator
from support.plan_scenes import PlanScene, noop, plan


def labelled(name: str, **labels: str) -> dict[str, object]:
    made = plan(noop("drill"), name=name)
    return made | {"metadata": {"name": name, "labels": labels}}


@pytest.fixture(scope="module")
def scene(crds: ClusterInTest) -> PlanScene:
    scene = PlanScene(crds, crds.create_namespace())
    scene.create(
        labelled("nights", team="shop"), labelled("weekends", team="shop"), labelled("holidays", team="hr")
    )
    return scene


@pytest.fixture(scope="module")
def other(crds: ClusterInTest) -> PlanScene:
    scene = PlanScene(crds, crds.create_namespace())
    scene.create(labelled("elsewhere"))
    return scene


def ran(scene: PlanScene, *words: str) -> Ran:
    return hibernator(*words, f"--kubeconfig={scene.cluster.kubeconfig}", "-n", scene.namespace)


def names(done: Ran) -> list[str]:
    assert done.code == 0, done.err
    return [line.rpartition("/")[2] for line in done.out.splitlines()]


def test_a_list_is_of_those_that_are_named_or_labelled(scene: PlanScene) -> None:
    assert names(ran(scene, "plan", "list", "-o", "name")) == ["holidays", "nights", "weekends"]
    assert names(ran(scene, "plan", "list", "weekends", "nights", "-o", "name")) == ["nights", "weekends"]
    assert names(ran(scene, "plan", "list", "-l", "team=hr", "-o", "name")) == ["holidays"]
    assert names(ran(scene, "plan", "list", "nights", "-l", "team!=hr", "-o", "name")) == ["nights"]


def test_an_empty_list_says_of_what_and_where(scene: PlanScene) -> None:
    empty = f"No ScheduleException is in namespace {scene.namespace}; -A searches all namespaces.\n"
    assert ran(scene, "exception", "list").err == empty
    assert ran(scene, "plan", "list", "-l", "team=none").err == (
        f"No HibernatePlan that fits is in namespace {scene.namespace}; -A searches all namespaces.\n"
    )
    assert ran(scene, "scaler", "list", "-o", "name").err == ""


def test_a_selector_that_makes_no_sense_is_named_with_how_it_is_written(scene: PlanScene) -> None:
    done = ran(scene, "plan", "list", "-l", "a=b=c")
    assert done.code == Exit.USAGE
    assert done.err.startswith("error: --selector is 'a=b=c': ")
    assert "Write it as for kubectl, such as team=shop" in done.err


@pytest.mark.parametrize(
    ("suspended", "following"),
    [({}, ""), ({"suspendUntil": "2026-03-02T12:00:00Z"}, "Resumed in 1h"), (None, "Asleep in 9h")],
)
def test_a_suspended_plan_has_no_next_sleep(suspended: dict[str, str] | None, following: str) -> None:
    made = plan(noop("drill"))
    if suspended is not None:
        made["spec"] = {**made["spec"], "suspend": True, **suspended}
    status = {
        "phase": "Active" if suspended is None else "Suspended",
        "nextTransition": {"at": "2026-03-02T20:00:00Z", "to": "Asleep"},
    }
    shown = msgspec.convert({**made, "status": status}, HibernatePlan)
    _, column, *_ = columns(lambda: Instant("2026-03-02T11:00:00Z"))
    assert column.value(shown) == following
    described = [line for line in describe_lines(shown, Instant("2026-03-02T11:00:00Z")) if "next" in line]
    assert [line.split()[1] for line in described] == following.split()[:1]


def test_an_exception_that_is_valid_later_is_described_with_its_beginning() -> None:
    later = {
        "name": "month-end",
        "type": "suspend",
        "state": "Active",
        "validFrom": "2026-03-30T20:00:00Z",
        "validUntil": "2026-04-01T20:00:00Z",
    }
    shown = msgspec.convert({**plan(noop("drill")), "status": {"activeExceptions": [later]}}, HibernatePlan)
    described = "\n".join(describe_lines(shown, Instant("2026-03-02T11:00:00Z")))
    assert "Active, from Mon 2026-03-30 20:00 UTC (in 28d9h) until Wed 2026-04-01 20:00 UTC" in described


def test_a_list_shows_how_old_things_are(scene: PlanScene) -> None:
    head, row = ran(scene, "plan", "list", "nights").out.splitlines()
    assert head.split()[-1] == "AGE"
    assert re.fullmatch(r"\d+[ms]\w*", row.split()[-1])


def test_in_a_demo_things_are_as_old_as_the_api_server_says() -> None:
    created = {"name": "nights", "creationTimestamp": Instant.now().format_iso()}
    shown = msgspec.convert({**plan(noop("drill")), "metadata": created}, HibernatePlan)
    [column] = [one for one in columns(lambda: Instant("2199-03-02T11:00:00Z")) if one.title == "Age"]
    assert column.value(shown).endswith("s")


@pytest.mark.parametrize("command", [("list",), ("describe",), ("suspend",), ("wake",), ("logs",)])
def test_what_is_not_there_is_guessed(scene: PlanScene, command: tuple[str, ...]) -> None:
    done = ran(scene, "plan", *command, "nigths")
    assert done.code == Exit.FOUND
    assert done.err.splitlines() == [
        f"error: there is no HibernatePlan nigths in namespace {scene.namespace}.",
        "Did you mean nights?",
    ]


def test_what_is_in_another_namespace_is_found_there(scene: PlanScene, other: PlanScene) -> None:
    done = ran(scene, "plan", "describe", "elsewhere")
    assert f"elsewhere is in namespace {other.namespace}: add -n {other.namespace}." in done.err


def test_what_is_like_nothing_is_told_what_there_is(scene: PlanScene) -> None:
    assert "There are holidays, nights, weekends." in ran(scene, "plan", "describe", "x").err
    assert "There are no timewindowscalers there." in ran(scene, "scaler", "describe", "x").err


def test_someone_acts_as_someone_else(scene: PlanScene) -> None:
    refused = ran(scene, "plan", "list", "--as", "eve", "--as-group", "guests")
    assert refused.code == Exit.REFUSED
    assert 'User "eve" cannot list resource' in refused.err
    alone = ran(scene, "plan", "list", "--as-group", "guests")
    assert "--as-group needs --as" in alone.err
    assert names(ran(scene, "plan", "list", "-o", "name", "--as", "eve", "--as-group", "system:masters"))


def test_a_schedule_is_shown_and_explained_from_the_cluster(scene: PlanScene) -> None:
    told = ran(scene, "explain", "plan/nights", "--at", "2026-03-02T21:00:00Z")
    assert told.code == 0, told.err
    assert f"HibernatePlan {scene.namespace}/nights  UTC" in told.out
    assert "Asleep: " in told.out
    drawn = ran(scene, "simulate", "nights", "-o", "json", "--from", "2026-03-02", "--to", "2026-03-03")
    (resource,) = json.loads(drawn.out)["timelines"]
    assert resource["name"] == "nights"
    everything = json.loads(ran(scene, "simulate", "-o", "json").out)["timelines"]
    assert len(everything) == 3


def test_an_exception_is_part_of_the_picture_from_the_cluster(scene: PlanScene) -> None:
    create = ("exception", "create", "late", "--plan", "holidays", "--type", "suspend")
    made = ran(scene, *create, "--until", "2026-03-03 12:00")
    assert made.code == Exit.USAGE
    assert "and end at Tue 2026-03-03 12:00 UTC" in made.err
    period = ("--from", "2199-03-02 12:00", "--until", "2199-03-03 12:00")
    made = ran(scene, *create, *period)
    assert made.code == 0, made.err
    first = made.out.splitlines()[0]
    assert first.startswith("late is requested: suspend holidays from Sat 2199-03-02 12:00 UTC (in ")
    told = ran(scene, "explain", "plan/holidays", "--at", "2199-03-02T21:00:00Z")
    assert "late" in told.out


def test_what_is_explained_must_be_there(scene: PlanScene) -> None:
    assert "Did you mean nights?" in ran(scene, "explain", "plan/nigths").err
    wrong = ran(scene, "explain", "pod/nights")
    assert (wrong.code, "neither a plan nor a scaler" in wrong.err) == (Exit.USAGE, True)


def test_versions_are_told_of_both_sides(scene: PlanScene) -> None:
    place = f"--kubeconfig={scene.cluster.kubeconfig}"
    assert json.loads(hibernator("version", "-o", "json", place).out).keys() == {"hibernator", "kubernetes"}
    assert hibernator("version", "--client").out.startswith("hibernator ")
    away = hibernator("version", "--kubeconfig=/nowhere")
    assert (away.code, away.out.startswith("hibernator ")) == (Exit.UNAVAILABLE, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_every_shell_gets_its_script(shell: str) -> None:
    assert "_HIBERNATOR_COMPLETE" in hibernator("completion", shell).out
