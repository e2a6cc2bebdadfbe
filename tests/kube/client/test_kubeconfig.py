"""Files are found, merged and resolved as kubectl does it, and mistakes in them are told in a sentence."""

from pathlib import Path

import pytest

from hibernator.kube.errors import BadCredentials
from hibernator.kube.kubeconfig import load, loads, paths

ONE = """
current-context: dev
clusters:
- name: dev
  cluster: {server: "https://dev:6443", certificate-authority: pki/ca.crt}
users:
- name: ann
  user: {token: first, client-certificate: /abs/ann.crt, client-key: ann.key}
"""
TWO = """
current-context: prod
clusters:
- name: prod
  cluster: {server: "https://prod:6443"}
- name: dev
  cluster: {server: "https://other:6443", tls-server-name: never}
users:
- name: ann
  user: {token: second}
- name: plugin
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, interactiveMode: Never}}
contexts:
- name: dev
  context: {cluster: dev, user: ann, namespace: team-a}
- name: prod
  context: {cluster: prod, user: plugin}
- name: nobody
  context: {cluster: dev}
- name: lost
  context: {cluster: dev, user: bob}
- name: nowhere
  context: {cluster: moon, user: ann}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, ...]:
    (tmp_path / "two").mkdir()
    first, second = tmp_path / "one.yaml", tmp_path / "two" / "two.yaml"
    first.write_text(ONE)
    second.write_text(TWO)
    return first, tmp_path / "missing.yaml", second


def test_the_first_file_to_name_something_wins_it_whole(files: tuple[Path, ...]) -> None:
    place = load(files)
    assert (place.context, place.namespace) == ("dev", "team-a")
    assert place.cluster.server == "https://dev:6443"
    assert place.cluster.tls_server_name == ""  # only the second file has one, for a cluster that it lost
    assert place.user.token == "first"


def test_paths_are_relative_to_the_file_that_names_them(files: tuple[Path, ...], tmp_path: Path) -> None:
    dev, prod = load(files), load(files, "prod")
    assert dev.cluster.certificate_authority == str(tmp_path / "pki" / "ca.crt")
    assert dev.user.client_certificate == "/abs/ann.crt"
    assert dev.user.client_key == str(tmp_path / "ann.key")
    assert prod.user.exec is not None
    assert prod.user.exec.command == str(tmp_path / "two" / "bin" / "login")


def test_a_context_can_be_named_and_has_the_namespace_default_unless_it_says_otherwise(
    files: tuple[Path, ...],
) -> None:
    assert load(files, "prod").namespace == "default"


def test_a_context_needs_no_user(files: tuple[Path, ...]) -> None:
    assert load(files, "nobody").user.token == ""


@pytest.mark.parametrize(
    ("context", "told"),
    [
        ("stage", r"context 'stage' is not in .*; there are: dev, lost, nobody, nowhere, prod"),
        ("lost", r"context 'lost' names user 'bob', who is not in "),
        ("nowhere", r"context 'nowhere' names cluster 'moon', which has no server in "),
    ],
)
def test_what_is_missing_is_told_by_name(files: tuple[Path, ...], context: str, told: str) -> None:
    with pytest.raises(BadCredentials, match=told):
        load(files, context)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no current-context in"),
        ("- a\n- b", "is not a kubeconfig: it has no clusters, users and contexts"),
        ("a: [", "is not a kubeconfig: while parsing"),
        (
            "users: [{name: u, user: {token: 5}}]",
            r"Expected `str`, got `int` - at `\$.users\[0\].user.token`",
        ),
        ("users: [{name: u}, {name: u}]", "more than one user named 'u'; remove all but one"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(BadCredentials, match=told):
        load([file])


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadCredentials, match=r"cannot be read: .*Is a directory"):
        load([tmp_path])


def test_a_named_file_goes_before_the_environment_and_that_before_home(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setenv("KUBECONFIG", "/a:/b::")
    assert paths("~/c") == (Path("/home/ann/c"),)
    assert paths() == (Path("/a"), Path("/b"))
    monkeypatch.delenv("KUBECONFIG")
    assert paths() == (Path("/home/ann/.kube/config"),)


WHOLE = """
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://c", certificate-authority-data: Y2E=}}]
users: [{name: u, user: {token: very-secret}}]
"""


def test_a_kubeconfig_that_is_no_file_is_read_like_one() -> None:
    place = loads(WHOLE, "the Secret")
    assert (place.cluster.server, place.user.token) == ("https://c", "very-secret")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("token: very-secret", "tokenFile: /etc/token", "the Secret has tokenFile, which names a program or"),
        (
            "token: very-secret",
            "client-certificate: a, client-key: b",
            "has client-certificate and client-key",
        ),
        ("token: very-secret", "exec: {apiVersion: v1, command: sh}", "has exec"),
        ("token: very-secret", "auth-provider: {name: gcp}", "has auth-provider"),
        ("certificate-authority-data: Y2E=", "certificate-authority: /ca", "has certificate-authority"),
        ("current-context: x", "", "no current-context in the Secret"),
    ],
)
def test_what_someone_else_wrote_names_no_programs_and_no_files(old: str, new: str, told: str) -> None:
    with pytest.raises(BadCredentials, match=told):
        loads(WHOLE.replace(old, new), "the Secret")


@pytest.mark.parametrize(
    "text", ["a: [very-secret", "very-secret: {\n", "@very-secret", "token: 'very-secret"]
)
def test_what_is_no_kubeconfig_is_not_repeated(text: str) -> None:
    with pytest.raises(BadCredentials, match="the Secret is not a kubeconfig") as caught:
        loads(text, "the Secret")
    assert "very-secret" not in str(caught.value)
