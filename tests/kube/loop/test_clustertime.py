"""Commands go by the demo's clock while they talk to the demo, and by the real one everywhere else."""

from pathlib import Path

import pytest
from whenever import Instant

from hibernator.kube.clustertime import Pace, now, publish

FAR = Instant("2126-03-02T16:00:00Z")


def test_a_fast_clock_is_as_far_ahead_as_it_is_fast() -> None:
    pace = Pace(start="2026-03-02T16:00:00Z", began="2026-02-25T12:00:00Z", speed=600)
    assert pace.at(Instant("2026-02-25T12:01:00Z")) == Instant("2026-03-03T02:00:00Z")


def test_the_time_of_a_cluster_is_read_beside_its_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path / "kubeconfig", FAR, speed=1)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    assert now(None) >= FAR
    assert now(str(tmp_path / "kubeconfig")) >= FAR
    assert now(str(tmp_path / "elsewhere" / "kubeconfig")) < FAR


@pytest.mark.parametrize("written", ["", "{}", '{"start": "soon", "began": "now", "speed": 1}'])
def test_what_is_no_clock_is_not_gone_by(tmp_path: Path, written: str) -> None:
    (tmp_path / "demo-clock.json").write_text(written, "utf-8")
    assert now(str(tmp_path / "kubeconfig")) < FAR


def test_without_a_kubeconfig_now_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert now(None) <= Instant.now()
