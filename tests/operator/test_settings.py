"""Settings: three ways to say the same, and mistakes told where they were made."""

from pathlib import Path

import pytest

from hibernator.audit.database import DEFAULT_URL
from hibernator.operator.settings import Settings, SettingsError, fields, flag, settings, variable


def test_without_any_source_the_defaults_hold() -> None:
    assert settings({}, {}) == Settings()


def test_the_operator_and_the_audit_commands_mean_the_same_database() -> None:
    assert Settings().database == DEFAULT_URL


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "hibernator.yaml"
    file.write_text("workers: 2\nlogLevel: debug\nnamespace: from-file\n")
    found = settings({"workers": 4}, {"HIBERNATOR_WORKERS": "3", "HIBERNATOR_LOG_LEVEL": "error"}, file)
    assert (found.workers, found.log_level, found.namespace) == (4, "error", "from-file")


def test_text_from_the_environment_is_read_as_what_it_means() -> None:
    found = settings({}, {"HIBERNATOR_LEADER_ELECT": "false", "HIBERNATOR_SCALER_MINIMUM": "0"})
    assert (found.leader_elect, found.scaler_minimum) == (False, 0.0)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"HIBERNATOR_WORKERS": "many"}, "HIBERNATOR_WORKERS is 'many': expected `int`"),
        ({"HIBERNATOR_WORKERS": "0"}, "HIBERNATOR_WORKERS is '0': expected `int` >= 1"),
        ({"HIBERNATOR_LOG_LEVEL": "loud"}, "HIBERNATOR_LOG_LEVEL is 'loud': invalid enum value 'loud'"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(environment: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as told:
        settings({}, environment)
    assert str(told.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker: 3", "worker is no setting. Did you mean workers?"),
        ("workers: '3'", "workers is '3': expected `int`, got `str`"),
        ("- workers", "holds a list; write settings as `name: value` lines."),
        ("a: [", "is not YAML"),
    ],
)
def test_a_mistake_in_the_file_names_the_file(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "hibernator.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError) as told:
        settings({}, {}, file)
    assert str(file) in str(told.value)
    assert message in str(told.value)


def test_a_file_that_is_not_there_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.yaml cannot be read: No such file"):
        settings({}, {}, tmp_path / "nowhere.yaml")


def test_a_jitter_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(SettingsError, match="must not be greater"):
        settings({"scaler_jitter_from": 30.0}, {})


def test_every_setting_has_a_description_a_flag_and_a_variable() -> None:
    described = {field.name: words for field, words, _ in fields()}
    assert all(words.endswith(".") for words in described.values())
    assert (flag("log_level"), variable("log_level")) == ("--log-level", "HIBERNATOR_LOG_LEVEL")
