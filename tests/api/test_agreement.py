"""Whether the check without a cluster and the API server agree about documents that nobody thought of."""

from urllib.parse import urlencode

import pytest
from hypothesis import given, settings

from api.corpus import GOOD
from api.from_schema import almost
from api.objects import Json
from api.test_refusals import problems
from hibernator.api.kinds import all_kinds
from hibernator.api.problem import Problem
from hibernator.controlplane.access import RequestError
from support.cluster import ClusterInTest

STRICTLY = urlencode({"dryRun": "All", "fieldValidation": "Strict"})
# What the API server cannot say, or leaves to the controller: see test_checks and `schedule`.
ONLY_OFFLINE = ("parameters", "timezone", "country", "in a circle")


def refusal(cluster: ClusterInTest, document: Json) -> str:
    kind = next(kind for kind in all_kinds() if kind.kind == document["kind"])
    try:
        cluster.request("POST", f"{kind.path('default')}?{STRICTLY}", document)
    except RequestError as error:
        return str(error)
    return ""


def only_offline(problem: Problem) -> bool:
    return any(word in f"{problem.path} {problem.message}" for word in ONLY_OFFLINE)


@pytest.mark.parametrize("kind", sorted({case.document["kind"] for case in GOOD}))
def test_both_judges_agree_about(kind: str, crds: ClusterInTest) -> None:
    documents = [
        case.document for case in GOOD if case.document["kind"] == kind and case.document.get("spec")
    ]

    @given(document=almost(documents))
    @settings(max_examples=60)
    def agreed(document: Json) -> None:
        said = refusal(crds, document)
        found = problems(document)
        assert found or not said, "only the API server refuses it"
        assert said or all(map(only_offline, found)), "only the offline check refuses it"

    agreed()
