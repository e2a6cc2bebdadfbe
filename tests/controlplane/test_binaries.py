"""The finder takes the first place that has everything, and never mixes what does not belong together."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from hibernator.controlplane import caches
from hibernator.controlplane.binaries import find, find_or_build
from hibernator.controlplane.errors import ControlPlaneError
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import STAGES, needed
from support.controlplane import Workshop

WANTED = needed(nodes=False)


def fill(
    folder: Path, names: Iterable[str] = WANTED, kubernetes: str = "1.36.3", etcd: str = "3.6.16"
) -> Path:
    """Put binaries there that can do nothing but tell their version."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {
        "etcd": f"etcd Version: {etcd}",
        "kubectl": f"Client Version: v{kubernetes}",
        "kwok": "kwok version v0.8.0 go1.26.0 (linux/amd64)",
    }
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho '{told.get(name, f'Kubernetes v{kubernetes}')}'\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing is found."""
    return {
        "KUBEBUILDER_ASSETS": str(tmp_path / "assets"),
        "PATH": str(tmp_path / "path"),
        "HIBERNATOR_CACHE": str(tmp_path / "cache"),
    }


def test_nothing_is_found_where_nothing_is(places: dict[str, str]) -> None:
    assert find(WANTED, places).found is None


def test_the_cache_comes_after_path_and_path_after_the_explicit_folder(places: dict[str, str]) -> None:
    order = []
    for folder in (
        caches.versions_folder(places) / "bin",
        Path(places["PATH"]),
        Path(places["KUBEBUILDER_ASSETS"]),
    ):
        fill(folder)
        found = find(WANTED, places).found
        assert found is not None
        order.append((found.folder, folder))
    assert all(found == filled for found, filled in order)


def test_a_lone_kubectl_on_path_is_left_alone(places: dict[str, str]) -> None:
    fill(Path(places["PATH"]), ["kubectl"])
    built = fill(caches.versions_folder(places) / "bin")
    found = find(WANTED, places).found
    assert found is not None
    assert found.paths["kubectl"] == built / "kubectl"


def test_binaries_may_lie_in_several_folders_of_path(places: dict[str, str], tmp_path: Path) -> None:
    one, two = fill(tmp_path / "one", ["etcd"]), fill(tmp_path / "two", WANTED[1:])
    found = find(WANTED, {**places, "PATH": f"{one}:{two}"}).found
    assert found is not None
    assert found.paths["etcd"] == one / "etcd"
    assert found.paths["kubectl"] == two / "kubectl"
    assert found.folder is None


def test_an_explicit_folder_that_lacks_something_is_passed_over_with_a_word(places: dict[str, str]) -> None:
    assets = fill(Path(places["KUBEBUILDER_ASSETS"]), ["etcd", "kube-apiserver", "kubectl"])
    search = find(WANTED, places)
    assert search.found is None
    assert search.passed_over == (
        f"KUBEBUILDER_ASSETS={assets} is passed over: it has no kube-controller-manager.",
    )


@pytest.mark.parametrize(
    ("versions", "word"),
    [
        ({"kubernetes": "1.29.9"}, "1.29, and 1.30 is the oldest"),
        ({"etcd": "3.4.30"}, "3.4, and 3.5 is the oldest"),
        ({"kubernetes": "unknown"}, "does not report its version"),
    ],
)
def test_what_is_too_old_is_passed_over_with_a_word(
    places: dict[str, str], versions: dict[str, str], word: str
) -> None:
    fill(Path(places["PATH"]), **versions)
    search = find(WANTED, places)
    assert search.found is None
    assert word in search.passed_over[-1]


def test_the_oldest_supported_kubernetes_will_do(places: dict[str, str]) -> None:
    fill(Path(places["PATH"]), kubernetes="1.30.0")
    assert find(WANTED, places).found is not None


def test_a_kubectl_of_another_minor_version_is_not_mixed_in(places: dict[str, str]) -> None:
    fill(Path(places["PATH"]))
    fill(Path(places["PATH"]), ["kubectl"], kubernetes="1.32.4-dispatcher")
    search = find(WANTED, places)
    assert search.found is None
    assert "versions differ" in search.passed_over[-1]
    assert "kubectl 1.32" in search.passed_over[-1]


def test_a_binary_that_cannot_be_run_is_passed_over(places: dict[str, str]) -> None:
    folder = fill(Path(places["KUBEBUILDER_ASSETS"]))
    (folder / "etcd").write_bytes(b"\x7fELF for another machine")
    assert "etcd does not report its version" in find(WANTED, places).passed_over[0]


def test_what_no_place_has_is_built(workshop: Workshop) -> None:
    binaries = find_or_build(WANTED, PlainReporter(), workshop.environment)
    assert binaries.folder == workshop.bin
    assert sorted(workshop.built()) == sorted(WANTED)


def test_kwok_that_lies_without_its_stages_gets_them_from_its_module(workshop: Workshop) -> None:
    wanted = needed(nodes=True)
    assets = fill(workshop.folder / "assets", wanted)
    environment = {**workshop.environment, "KUBEBUILDER_ASSETS": str(assets)}
    binaries = find_or_build(wanted, PlainReporter(), environment)
    assert binaries.folder == assets
    assert binaries.stages == workshop.bin / STAGES
    assert workshop.built() == []


def test_stages_next_to_kwok_are_taken(workshop: Workshop) -> None:
    wanted = needed(nodes=True)
    assets = fill(workshop.folder / "assets", wanted)
    (assets / STAGES).touch()
    environment = {**workshop.environment, "KUBEBUILDER_ASSETS": str(assets)}
    assert find_or_build(wanted, PlainReporter(), environment).stages == assets / STAGES
    assert workshop.calls() == []


def test_stages_that_cannot_be_had_are_explained(workshop: Workshop) -> None:
    wanted = needed(nodes=True)
    assets = fill(workshop.folder / "assets", wanted)
    environment = {
        **workshop.environment,
        "KUBEBUILDER_ASSETS": str(assets),
        "FAKE_GO_NO_NETWORK": "no such host",
    }
    with pytest.raises(ControlPlaneError) as failed:
        find_or_build(wanted, PlainReporter(), environment)
    assert f"To make {assets / STAGES} by hand" in failed.value.hint
    assert "kustomize/stage/pod/fast of sigs.k8s.io/kwok v0.8.0" in failed.value.hint


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({"HIBERNATOR_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a/controlplane"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/hibernator/controlplane"),
        ({"XDG_CACHE_HOME": "relative"}, str(Path.home() / ".cache/hibernator/controlplane")),
        ({}, str(Path.home() / ".cache/hibernator/controlplane")),
    ],
)
def test_the_cache_lies_where_the_environment_says(environment: dict[str, str], root: str) -> None:
    assert str(caches.root(environment)) == root
