"""The scene: when it opens, and that what is in it is without mistakes."""

from pathlib import Path

from hypothesis import given, strategies as st
from whenever import Instant, Weekday

from hibernator.demo.scene import ZONE, Scene
from hibernator.demo.stage import kind_of
from support.command import hibernator

MOMENTS = st.integers(0, 4_000_000_000).map(Instant.from_timestamp)


@given(MOMENTS)
def test_it_opens_on_the_afternoon_of_a_monday_that_is_still_to_come(today: Instant) -> None:
    opens = Scene.after(today).opens
    local = opens.to_tz(ZONE)
    assert local.date().day_of_week() is Weekday.MONDAY
    assert (local.hour, local.minute) == (17, 0)
    assert today < opens <= today.add(hours=8 * 24)


def test_it_has_six_workloads_in_three_namespaces() -> None:
    workloads = [
        each
        for each in Scene.after(Instant("2026-02-25T12:00:00Z")).documents
        if each["kind"] in {"Deployment", "StatefulSet"}
    ]
    assert len(workloads) == 6
    assert len({each["metadata"]["namespace"] for each in workloads}) == 3


def test_what_is_in_it_is_without_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "scene.yaml"
    file.write_text(Scene.after(Instant("2026-02-25T12:00:00Z")).text, encoding="utf-8")
    assert hibernator("validate", "-f", file).code == 0


def test_every_kind_in_it_is_known_by_its_path() -> None:
    scene = Scene.after(Instant("2026-02-25T12:00:00Z"))
    paths = {document["kind"]: kind_of(document).path("x") for document in (*scene.documents, *scene.acts)}
    assert paths["Namespace"] == "/api/v1/namespaces"
    assert paths["StatefulSet"] == "/apis/apps/v1/namespaces/x/statefulsets"
    assert paths["AIAnalysis"] == "/apis/aianalysis.kubernaut.ai/v1alpha1/namespaces/x/aianalyses"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {},
    }
    assert kind_of(policy).plural == "validatingadmissionpolicies"
