"""Settings: three ways to say the same, and mistakes told where they were made."""

import socket
from pathlib import Path

import pytest
from starlette.applications import Starlette

from hibernator.audit.database import DEFAULT_URL
from hibernator.kube import credentials
from hibernator.kube.serving import CannotListenError, Server
from hibernator.operator.app import operator
from hibernator.operator.settings import SCHEMA, Settings, settings
from hibernator.settings import SettingsError, flag
from support.command import hibernator
from support.kubeconfigs import write_kubeconfig


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
        ({"HIBERNATOR_WORKERS": "many"}, "HIBERNATOR_WORKERS is 'many': write a whole number."),
        ({"HIBERNATOR_WORKERS": "0"}, "HIBERNATOR_WORKERS is '0': write a whole number of at least 1."),
        (
            {"HIBERNATOR_LOG_LEVEL": "loud"},
            "HIBERNATOR_LOG_LEVEL is 'loud': write debug, info, warning or error",
        ),
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
        ("workers: '3'", "workers is '3': write a whole number."),
        ("- workers", "holds a list; write settings as `name: value` lines."),
        ("a: [", "is not YAML: expected the node content, but found '<stream end>' in line 1."),
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


@pytest.mark.parametrize("written", ["abc", "8080", "0.0.0.0:", "0.0.0.0:http", ":99999", ":-1"])
@pytest.mark.parametrize("name", ["listen", "webhook_listen", "trail_listen"])
def test_an_address_without_a_port_that_there_is_is_refused(name: str, written: str) -> None:
    with pytest.raises(SettingsError, match="write host:port"):
        settings({name: written}, {})


def test_the_trail_is_served_only_beside_webhooks() -> None:
    with pytest.raises(SettingsError, match="trailListen is ':9444', and webhookListen is empty"):
        settings({"trail_listen": ":9444"}, {})


@pytest.mark.parametrize("written", [":8080", "[::1]:8080", "10.0.0.1:0"])
def test_an_address_may_leave_out_the_host_or_be_one_of_ipv6(written: str) -> None:
    assert settings({"listen": written}, {}).listen == written


def test_a_port_that_another_process_has_is_told_with_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            CannotListenError, match=f"127.0.0.1:{port} cannot be listened at: Address already"
        ):
            Server(Starlette(), host="127.0.0.1", port=port)


async def test_a_database_that_is_no_url_is_refused_before_anything_runs(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k", cluster={"server": "https://127.0.0.1:1"}, user={})
    chosen = settings({"database": "audit.db", "listen": "127.0.0.1:0"}, {})
    with pytest.raises(SettingsError, match="database cannot be used: The database is not given as a URL"):
        async with operator(chosen, credentials.find(str(kubeconfig))):
            pass


def test_a_jitter_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(SettingsError, match="must not be greater"):
        settings({"scaler_jitter_from": 30.0}, {})


def test_every_setting_has_a_description_a_flag_and_a_variable() -> None:
    described = {field.name: words for field, words, _ in SCHEMA.fields()}
    assert all(words.endswith(".") for words in described.values())
    assert (flag("log_level"), SCHEMA.variable("log_level")) == ("--log-level", "HIBERNATOR_LOG_LEVEL")


@pytest.mark.parametrize("name", ["Bad_NS", "-", "a.b", "x" * 64])
def test_what_no_namespace_can_be_called_is_refused_with_what_one_can(name: str) -> None:
    with pytest.raises(SettingsError, match=r"watchNamespace is '.*', which cannot be the name of a names"):
        settings({"watch_namespace": name}, {})


SECRET = "postgresql://hibernator:hunter2@db.example.com/audit?sslmode=verify-full"


def test_the_password_of_the_database_is_in_nothing_that_is_printed(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(SECRET)
    for given in ({"HIBERNATOR_DATABASE": SECRET}, {"HIBERNATOR_DATABASE_FILE": str(tmp_path / "url")}):
        shown = hibernator("config", env=given)
        assert "database: postgresql://hibernator:***@db.example.com/audit?sslmode=verify-full" in shown.out
        assert "The password is left out here." in shown.out
        assert "hunter2" not in shown.out + shown.err


def test_a_password_is_not_accepted_where_everybody_can_see_it() -> None:
    refused = hibernator("config", "--database", SECRET)
    assert refused.code == 2
    assert "--database holds a password" in refused.err
    assert "HIBERNATOR_DATABASE" in refused.err
    assert "hunter2" not in refused.out + refused.err


def test_the_address_in_a_file_wins(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"{SECRET}\n")
    found = settings({"database": "sqlite:////a.db"}, {"HIBERNATOR_DATABASE_FILE": str(tmp_path / "url")})
    assert found.database == SECRET


@pytest.mark.parametrize("text", ["database: [postgresql://u:hunter2@h/d]", "database: {u: hunter2}"])
def test_a_mistake_about_the_database_does_not_repeat_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(SettingsError, match="database is not usable: write text") as told:
        settings({}, {}, tmp_path / "config.yaml")
    assert "hunter2" not in str(told.value)
