"""People decide about the remediation that they have seen, and about none that took its place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hibernator.cli import deciding, exception_outcome
from support.cluster import ClusterInTest
from support.command import Ran, hibernator
from support.remediation_scenes import BOB, REQUESTS, RemediationScene


class Desk(RemediationScene):
    """Where Bob sits, with requests that no operator has made."""

    kubeconfig: Path

    def ran(self, *arguments: str) -> Ran:
        return hibernator("remediation", *arguments, f"--kubeconfig={self.kubeconfig}", "-n", self.namespace)

    def asks(self, name: str, confidence: float = 0.7) -> None:
        spec = {
            "aiAnalysisRef": {"name": "oom"},
            "approvalContext": {"confidence": confidence},
            "requiredBy": "2199-01-01T00:00:00Z",
        }
        api_version = "remediation.kubernaut.ai/v1alpha1"
        kind = {"apiVersion": api_version, "kind": "RemediationApprovalRequest"}
        self.apply(kind | {"metadata": {"name": name}, "spec": spec})

    def exchange(self, name: str) -> None:
        """Somebody puts another request under the same name."""
        self.kubectl("delete", REQUESTS, name)
        self.asks(name, 0.61)

    def seen(self, name: str) -> str:
        """The hash as `view` prints it."""
        [line] = [line for line in self.ran("view", name).out.splitlines() if line.startswith("  seen ")]
        return line.split()[1]

    def said(self, name: str) -> list[str]:
        status: dict[str, Any] = self.get(REQUESTS, name).get("status", {})
        return [one["type"] for one in status.get("conditions", [])]


@pytest.fixture
def desk(crds: ClusterInTest, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(exception_outcome, "LONGEST_SECONDS", 0.0)  # no operator answers here
    desk = Desk(crds, namespace)
    desk.police()
    document = yaml.safe_load(crds.kubeconfig.read_text())
    document["users"][0]["user"] |= {"as": BOB}
    desk.kubeconfig = tmp_path / "bob.yaml"
    desk.kubeconfig.write_text(yaml.safe_dump(document))
    return desk


def test_a_script_decides_about_what_it_has_seen_and_nothing_else(desk: Desk) -> None:
    for name in ("fine", "poor", "other"):
        desk.asks(name)
    for words in (("approve", "fine"), ("reject", "fine", "no")):
        done = desk.ran(*words)
        assert done.code == 2
        assert "Pass --seen HASH with the hash that `hibernator remediation view fine" in done.err
    assert desk.ran("approve", "fine", "--seen", desk.seen("fine")).code == 0
    assert desk.ran("reject", "poor", "no", "--seen", desk.seen("poor")).code == 0
    assert (desk.said("fine"), desk.said("poor")) == (["Approved"], ["Rejected"])
    before = desk.seen("other")
    desk.exchange("other")
    for words in (("approve", "other"), ("reject", "other", "no")):
        done = desk.ran(*words, "--seen", before)
        said, look = done.err.splitlines()
        assert (done.code, said) == (7, "error: other is no longer what was shown. Nothing was decided.")
        assert look.startswith("Look at it again: `hibernator remediation view other")
    assert desk.said("other") == []


def test_on_a_terminal_it_is_shown_and_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def sit(*, answer: bool, then: Callable[[], object] = lambda: None) -> None:
        def confirm(question: str) -> bool:
            asked.append(question)
            then()
            return answer

        monkeypatch.setattr(deciding, "on_terminal", lambda: True)
        monkeypatch.setattr("typer.confirm", confirm)

    desk.asks("fine")
    sit(answer=False)
    done = desk.ran("approve", "fine")
    assert (done.code, asked) == (1, ["Approve fine?"])
    assert f"{desk.namespace}/fine asks about AIAnalysis oom" in done.out
    assert "Nothing was decided about fine." in done.err
    sit(answer=True, then=lambda: desk.exchange("fine"))
    done = desk.ran("approve", "fine")
    assert (done.code, "fine is no longer what was shown" in done.err) == (7, True)
    assert desk.said("fine") == []
    sit(answer=True)
    assert desk.ran("approve", "fine").code == 0
    assert desk.said("fine") == ["Approved"]
