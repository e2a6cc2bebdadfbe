"""Every block of code in every page is run by something: here is said by what, and nothing is left over.

A test that takes the blocks of a page takes all of them, by number, so that one more is noticed there.
"""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Final, get_args

import pytest

from hibernator.api.scheduleexception import ExceptionState
from support.command import hibernator
from support.pages import PAGES, ROOT, Block, blocks

EVERY: Final = [block for page in PAGES for block in blocks(page)]

# Wherever it stands, a block in this language is run by this test.
BY_LANGUAGE: Final = {
    "console": "tests/docs/test_pages.py::test_what_a_page_shows_is_what_happens",
    "mermaid": "tests/docs/test_architecture.py::test_the_picture_has_every_room_of_a_running_operator",
}
_PLUGINS: Final = "tests/executors/test_plugins.py::test_the_"
_JOURNEY: Final = "tests/cli/exceptions/test_journey.py::test_an_emergency_exception_from_need_to_expiry"
_SHELL: Final = "tests/docs/test_shell.py::test_"
_AUDIT: Final = "tests/docs/test_shell_audit.py::test_"
_INSTALL: Final = "tests/docs/test_shell_install.py::test_"
BY_PAGE: Final = {
    ("docs/guides/write-an-executor.md", "toml"): (
        f"{_PLUGINS}executor_of_the_guide_sleeps_and_wakes_beside_a_broken_one",
    ),
    ("docs/guides/write-an-executor.md", "python"): (
        f"{_PLUGINS}executor_of_the_guide_sleeps_and_wakes_beside_a_broken_one",
    ),
    ("docs/guides/write-an-executor.md", "yaml"): (
        f"{_PLUGINS}executor_of_the_guide_sleeps_and_wakes_beside_a_broken_one",
    ),
    ("CONTRIBUTING.md", "sh"): ("tests/docs/test_every_block.py::test_make_knows_what_it_is_told_to_make",),
    ("README.md", "sh"): (
        "tests/docs/test_every_block.py::test_make_knows_what_it_is_told_to_make",
        "tests/docs/test_first_minutes.py::test_what_the_readme_says_puts_a_deployment_to_sleep_and_wakes_it",
    ),
    ("docs/guides/notifications.md", "js"): (
        "tests/notifications/test_signature.py::test_the_receiver_of_the_guide_takes_what_we_sign_and_nothing_else",
    ),
    ("docs/guides/approvals.md", "sh"): (f"{_SHELL}grace_agrees_and_heidi_does_not",),
    ("docs/guides/audit.md", "sh"): (
        f"{_AUDIT}the_trail_is_read_followed_exported_and_checked",
        f"{_AUDIT}an_administrator_asks_in_the_pod",
        f"{_AUDIT}an_auditor_reads_postgresql_with_a_role_that_can_do_nothing_else",
    ),
    ("docs/guides/audit.md", "sql"): (
        f"{_AUDIT}an_auditor_reads_postgresql_with_a_role_that_can_do_nothing_else",
    ),
    ("docs/guides/audit.md", "python"): (
        f"{_AUDIT}the_trail_is_read_followed_exported_and_checked",
        f"{_AUDIT}a_controller_records_as_the_page_says",
    ),
    ("docs/guides/cloud-resources.md", "sh"): (
        f"{_SHELL}the_operator_may_read_secrets_where_its_role_for_them_is_bound",
    ),
    ("docs/guides/cookbook.md", "yaml"): (
        "tests/docs/test_cookbook.py::test_a_recipe_has_no_mistakes",
        "tests/docs/test_cookbook.py::test_the_api_server_takes_every_recipe",
    ),
    ("docs/guides/emergency-exception.md", "sh"): (_JOURNEY, f"{_SHELL}bob_refuses_the_emergency"),
    ("docs/guides/emergency-exception.md", "text"): (
        _JOURNEY,
        "tests/docs/test_every_block.py::test_the_course_of_an_exception_has_every_state",
    ),
    ("docs/guides/gitops.md", "yaml"): (
        "tests/docs/test_gitops.py::test_argo_cd_is_told_to_leave_alone_what_could_be_in_git",
        "tests/docs/test_gitops.py::test_flux_is_told_to_leave_alone_what_could_be_in_git",
        "tests/docs/test_gitops.py::test_the_tools_know_every_field_of_the_page",
    ),
    ("docs/guides/install.md", "sh"): (
        f"{_INSTALL}a_release_is_installed_looked_at_upgraded_and_removed",
        f"{_INSTALL}the_kustomize_base_is_applied_and_applied_again",
        f"{_INSTALL}what_kustomize_has_installed_moves_to_helm_and_stays_what_it_is",
    ),
    ("docs/guides/install.md", "yaml"): (
        f"{_INSTALL}the_overlay_changes_the_image",
        "tests/packaging/test_chart_web.py::test_the_overlay_of_the_web_process_has_its_settings_and_a_way_in",
    ),
    ("docs/guides/migrating.md", "sh"): (
        f"{_SHELL}old_files_are_converted_and_looked_at",
        f"{_SHELL}what_lives_in_a_cluster_is_converted_and_applied",
    ),
    ("docs/guides/office-hours.md", "sh"): (
        "tests/docs/test_guides_on_a_cluster.py::test_a_deployment_follows_the_office_hours_of_the_guide",
    ),
    ("docs/guides/remediation-approvals.md", "sh"): (f"{_SHELL}bob_decides_about_remediations",),
    ("docs/guides/remediation-approvals.md", "rego"): (
        f"{_SHELL}bob_decides_about_remediations",
        "tests/docs/test_policy.py::test_the_guide_shows_the_example",
    ),
    ("docs/guides/webhooks.md", "sh"): (f"{_SHELL}a_key_that_leaked_is_replaced_by_deleting_its_secret",),
    ("docs/guides/savings.md", "sh"): (f"{_AUDIT}savings_are_counted_by_plan_month_and_namespace",),
    ("docs/guides/savings.md", "yaml"): (f"{_AUDIT}savings_are_counted_by_plan_month_and_namespace",),
    ("docs/guides/saml.md", "yaml"): (
        "tests/docs/test_approving_pages.py::test_the_settings_for_saml_are_settings",
    ),
    ("docs/guides/slack.md", "yaml"): (
        "tests/docs/test_slack.py::test_the_manifest_has_what_the_process_needs",
        "tests/packaging/test_chart_web.py::test_the_values_for_slack_are_settings_and_their_files_are_mounted",
    ),
    ("docs/guides/single-sign-on.md", "yaml"): (
        "tests/docs/test_single_sign_on.py::test_the_settings_of_a_provider_let_in_whom_it_says_to_be_of_the_company",
    ),
    ("docs/guides/webhooks.md", "yaml"): (f"{_SHELL}the_setting_for_certificates_is_one",),
    ("docs/reference/commands.md", ""): (
        "tests/docs/test_every_block.py::test_every_command_of_the_reference_is_one",
    ),
    ("docs/runbooks.md", "sh"): (
        "tests/cli/test_strays.py::test_the_runbook_wakes_everything_when_nothing_else_is_left",
    ),
    ("docs/troubleshooting.md", "sh"): (
        "tests/docs/test_troubleshooting.py::test_the_commands_tell_what_the_page_says_that_they_tell",
    ),
    ("docs/security.md", "sh"): (f"{_SHELL}the_operator_may_scale_a_kind_of_your_own_once_it_is_bound",),
}
# What no test can run, and why.
NOBODY: Final = {
    "podman build": "needs an engine for containers and a registry; tests/packaging/test_container.py takes "
    "the same steps in a virtual environment",
}


def runners(block: Block) -> tuple[str, ...]:
    """The tests that run it, or that its kind of block is left to a file that a command reads."""
    if block.language in BY_LANGUAGE:
        return (BY_LANGUAGE[block.language],)
    if (block.page, block.language) in BY_PAGE:
        return BY_PAGE[block.page, block.language]
    if block.language == "yaml" and block.name:
        return (BY_LANGUAGE["console"],) if is_read(block) else ()
    return (f"{_SHELL}the_api_server_takes_what_a_page_shows",) if block.language == "yaml" else ()


def is_read(file: Block) -> bool:
    """Whether a command of the page names the file."""
    shown = [other.text for other in blocks(file.page, "console", "sh")]
    return any(file.name in text or f"{Path(file.name).parent}/" in text for text in shown)


@pytest.mark.parametrize("block", EVERY, ids=str)
def test_something_runs_every_block(block: Block) -> None:
    assert runners(block), f"{block} ({block.language}) is run by no test; say by which in {__file__}"


@pytest.mark.parametrize("name", sorted({name for block in EVERY for name in runners(block)}))
def test_what_is_said_to_run_a_block_is_there(name: str) -> None:
    file, _, test = name.partition("::")
    assert re.search(rf"^(async )?def {test}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)


def test_what_no_one_runs_is_still_in_a_page() -> None:
    for command in NOBODY:
        assert [block for block in EVERY if block.text.startswith(command)]


@pytest.mark.parametrize("key", sorted(BY_PAGE))
def test_no_page_is_named_that_has_no_such_block(key: tuple[str, str]) -> None:
    page, language = key
    assert blocks(page, language)


def test_make_knows_what_it_is_told_to_make() -> None:
    """All but this is in `make test`, which cannot run in itself; the demo has tests of its own."""
    [in_contributing] = blocks("CONTRIBUTING.md", "sh")
    two_commands, *_five_minutes = blocks("README.md", "sh")
    for line in (*in_contributing.text.splitlines(), *two_commands.text.splitlines()):
        command, _, _why = line.partition("#")
        done = subprocess.run(
            [*shlex.split(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout, f"{command} does nothing"


@pytest.mark.parametrize("block", blocks("docs/reference/commands.md"), ids=str)
def test_every_command_of_the_reference_is_one(block: Block) -> None:
    name, *words = (word for word in block.text.split() if re.fullmatch(r"[a-z-]+", word))
    assert name == "hibernator"
    helped = hibernator(*words, "--help")
    assert helped.code == 0
    assert f"Usage: {' '.join(block.text.split())} " in f"{' '.join(helped.out.split())} "


def test_the_course_of_an_exception_has_every_state() -> None:
    course = blocks("docs/guides/emergency-exception.md", "text")[-1]
    assert set(get_args(ExceptionState)) <= set(re.findall(r"\w+", course.text))
