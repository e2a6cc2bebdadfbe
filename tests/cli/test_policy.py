"""`hibernator policy`, and what other commands say of policies among the files."""

from pathlib import Path

from support.cluster import ClusterInTest
from support.command import Ran, hibernator
from support.pages import blocks
from support.plan_scenes import PlanScene, noop, plan

GUIDE = {block.name: block.text for block in blocks("docs/guides/exception-policies.md", "yaml")}


def laid_out(folder: Path, **changed: str) -> Path:
    for name, text in GUIDE.items():
        (folder / name).write_text(text, "utf-8")
    for name, text in changed.items():
        (folder / f"{name}.yaml").write_text(text, "utf-8")
    return folder


def ran_table(folder: Path, text: str) -> Ran:
    return hibernator("policy", "test", laid_out(folder, table=text) / "table.yaml")


def test_a_case_that_fails_says_what_was_found_and_ends_with_one(tmp_path: Path) -> None:
    wrong = GUIDE["production_test.yaml"].replace("approvers: [manager]}", "approvers: [owner]}")
    ran = ran_table(tmp_path, wrong)
    assert "FAIL everybody else asks a manager: approvers are manager, not owner" in ran.out
    assert (ran.code, ran.out.splitlines()[-1]) == (1, "3 of 4 cases passed.")


def test_nothing_is_refused_where_the_sentence_is_empty(tmp_path: Path) -> None:
    table = GUIDE["production_test.yaml"].replace("[manager]}", '[manager], refused: ""}')
    assert ran_table(tmp_path, table).code == 0
    refused = table.replace("refused: spec.reason is empty", 'refused: ""')
    assert "FAIL a ticket is named: it is refused" in ran_table(tmp_path, refused).out


def test_a_table_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    unknown = ran_table(tmp_path, "case: []").err
    assert "table.yaml: there is no field case.\nA table of cases has now, policies and cases" in unknown
    assert "table.yaml: cases: write a list." in ran_table(tmp_path, "cases: 5").err
    nothing = "now: 2026-11-16T09:00:00Z\npolicies: [late.yaml]\ncases: []"
    assert "there is no ExceptionPolicy in late.yaml" in ran_table(tmp_path, nothing).err
    assert "cannot be read" in hibernator("policy", "test", tmp_path / "missing.yaml").err


def test_who_is_on_call_learns_that_no_one_has_to_agree(tmp_path: Path) -> None:
    folder = laid_out(tmp_path, late=GUIDE["late.yaml"].replace("T23:00", "T21:00"))
    files = ("-f", folder / "late.yaml", "-f", folder / "on-call.yaml")
    ran = hibernator("policy", "explain", *files, "--requester", "dora", "--role", "on-call")
    said = "no approval is needed, because it only wakes workloads, it lasts at most 4h, dora is in"
    assert said in ran.out


def test_policies_of_the_cluster_are_those_of_the_exceptions_own_namespace(
    crds: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    scene = PlanScene(crds, namespace)
    scene.create(plan(noop("drill")))
    policy = {"planSelector": {"matchLabels": {}}, "require": {"roles": ["manager"]}}
    kind = {"apiVersion": "hibernator.ardikabs.com/v1alpha1", "kind": "ExceptionPolicy"}
    scene.apply(kind | {"metadata": {"name": "all"}, "spec": policy})
    text = GUIDE["late.yaml"].replace("name: checkout", "name: nights")
    (tmp_path / "late.yaml").write_text(text.replace("spec:", f"  namespace: {namespace}\nspec:", 1), "utf-8")
    place = ("-n", "default", f"--kubeconfig={crds.kubeconfig}")
    ran = hibernator("policy", "explain", "-f", tmp_path / "late.yaml", *place)
    assert (ran.code, ran.out.splitlines()) == (
        0,
        [f"{namespace}/late-release", "  all: matches.", "    manager must agree."],
    )


def test_validate_says_who_will_have_to_agree(tmp_path: Path) -> None:
    folder = laid_out(tmp_path)
    ran = hibernator("validate", "-f", folder / "late.yaml", "-f", folder / "on-call.yaml")
    assert ran.code == 0
    assert "default/late-release: ExceptionPolicy on-call: Who is on call does not wait." in ran.err


def test_validate_finds_a_pattern_and_a_day_that_cannot_be(tmp_path: Path) -> None:
    pattern = GUIDE["on-call.yaml"].replace('"[A-Z]+-[0-9]+"', "'a{x}'")
    folder = laid_out(tmp_path, pattern=pattern, day=GUIDE["freeze.yaml"].replace("2027-01-03", "2027-02-30"))
    ran = hibernator("validate", "-f", folder / "pattern.yaml", "-f", folder / "day.yaml")
    assert "the repetition at character 2 must be written as {2} or {2,4}" in ran.out
    assert "spec.freeze[0].lastDay" in ran.out
    assert ran.code == 1


def test_validate_finds_a_person_who_is_named_twice(tmp_path: Path) -> None:
    """One person fills one place, so that two of these could never agree."""
    folder = laid_out(
        tmp_path, twice=GUIDE["four-eyes.yaml"].replace("dave@company.com", "Carol@company.com")
    )
    ran = hibernator("validate", "-f", folder / "twice.yaml")
    assert "spec.require.emails" in ran.out
    assert ran.code == 1


def test_what_a_policy_holds_is_not_drawn_as_if_it_were_in_force(tmp_path: Path) -> None:
    folder = laid_out(tmp_path)
    dates = ("--from", "2026-11-20", "--to", "2026-11-21", "-o", "json")
    alone = hibernator("simulate", "-f", folder / "late.yaml", *dates).out
    held = hibernator("simulate", "-f", folder / "late.yaml", "-f", folder / "on-call.yaml", *dates).out
    assert alone != held
