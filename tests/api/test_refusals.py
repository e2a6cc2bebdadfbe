"""One table of good and bad documents, and both judges of it."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from api.corpus import BAD, GOOD
from api.corpus.cases import Bad, Good
from api.objects import Json, scaler
from hibernator.api.checks import check_document
from hibernator.api.hibernateplan import Schedule
from hibernator.api.kinds import all_kinds
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import ScheduleExceptionSpec
from hibernator.api.timewindowscaler import TimeWindowScalerSpec
from hibernator.controlplane.cluster import KubectlError
from hibernator.schedule.problems import check_exception, check_scaler, check_schedule
from support.cluster import ClusterInTest

STRICTLY = urlencode({"dryRun": "All", "fieldValidation": "Strict"})  # and without keeping anything


def problems(document: Json) -> list[Problem]:
    """What is wrong with a document, what is about time included."""
    return [*check_document(document), *_about_time(document)]


def _about_time(document: Json) -> Iterator[Problem]:
    spec = document.get("spec", {})
    try:
        match document["kind"]:
            case "HibernatePlan":
                yield from check_schedule(_read(spec.get("schedule"), Schedule))
            case "ScheduleException":
                yield from check_exception(_read(spec, ScheduleExceptionSpec))
            case "TimeWindowScaler":
                yield from check_scaler(_read(spec, TimeWindowScalerSpec))
    except msgspec.ValidationError:
        return  # so wrong that the structural check has told it


def _read(value: Any, kind: Any) -> Any:
    return msgspec.convert(value, kind)


def tried(cluster: ClusterInTest, document: Json) -> None:
    """Create a document without keeping it; KubectlError is what a user reads."""
    cluster.kubectl(
        "create", "--dry-run=server", "--namespace=default", "-f", "-", input=json.dumps(document)
    )


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.sentence)
def test_the_api_server_accepts_and_fills_in_what_the_types_do(case: Good, crds: ClusterInTest) -> None:
    kind = next(kind for kind in all_kinds() if kind.kind == case.document["kind"])
    stored = crds.request("POST", f"{kind.path('default')}?{STRICTLY}", case.document)
    assert msgspec.convert(stored, kind.type).spec == msgspec.convert(case.document, kind.type).spec


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.sentence)
def test_the_offline_check_accepts(case: Good) -> None:
    assert problems(case.document) == []


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.sentence)
def test_the_api_server_refuses(case: Bad, crds: ClusterInTest) -> None:
    with pytest.raises(KubectlError) as refusal:
        tried(crds, case.document)
    assert case.kubectl in str(refusal.value)


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.sentence)
def test_the_offline_check_refuses(case: Bad) -> None:
    found = problems(case.document)
    assert case.path in {problem.path for problem in found}
    assert all(problem.message and problem.fix for problem in found)


def test_a_zone_that_does_not_exist_is_stored_for_the_controller_to_report(crds: ClusterInTest) -> None:
    tried(crds, scaler(timezone="Mars/Olympus_Mons"))


def test_a_repeated_sentence_would_hide_a_case() -> None:
    sentences = [case.sentence for case in (*GOOD, *BAD)]
    assert len(set(sentences)) == len(sentences)
