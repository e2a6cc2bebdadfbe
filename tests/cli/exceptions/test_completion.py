"""What kubectl is told when somebody presses Tab."""

import sys
from typing import Any

import pytest

from hibernator.cli import names
from hibernator.cli.completion import main
from support.cluster import ClusterInTest
from support.exception_scenes import EVERY_DAY, ExceptionScene, exception, hours


def proposed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-hibernator", *words])
    for variable in ("_HIBERNATOR_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
        monkeypatch.setenv(variable, "")  # so that what the command sets is gone after the test
    main()
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["exc"], ["exception"]),
        (["exception", "re"], ["reject"]),
        (["exception", "list", "--pe"], ["--pending"]),
        (["exception", "list", "--state", "Exp"], ["Expired"]),
        (["exception", "view", "--kubeconfig=/nowhere", "x"], []),
    ],
)
def test_the_next_word_is_proposed(
    words: list[str],
    expected: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert proposed(monkeypatch, capsys, *words) == [*expected, ":4"]


def test_names_come_from_the_cluster(
    crds: ClusterInTest,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec: dict[str, Any] = {"type": "extend", "windows": hours("12:00", "13:00", EVERY_DAY)}
    valid: dict[str, Any] = {"validFrom": "2026-03-02T00:00:00Z", "validUntil": "2026-03-03T00:00:00Z"}
    scene = ExceptionScene(crds, namespace)
    scene.apply(*(exception(name, **spec, **valid) for name in ("event", "evening", "other")))
    monkeypatch.setattr(names, "_PATIENCE_SECONDS", 60.0)  # however slow this machine is
    given = [f"--kubeconfig={crds.kubeconfig}", "-n", namespace]
    words = ["exception", "approve", *given, "ev"]
    assert proposed(monkeypatch, capsys, *words) == ["evening", "event", ":4"]
