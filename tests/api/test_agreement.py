"""Whether the check without a cluster and the API server agree about documents that nobody thought of.

And whether all that the API server lets in can be read back: one object that cannot would break every list
that it is in.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from api.corpus import GOOD
from api.from_schema import almost, fitting
from api.objects import Json
from api.test_refusals import STRICTLY, problems
from api.walk import KINDS
from hibernator.api.kinds import DEFINITIONS, Definition
from hibernator.api.problem import Problem
from hibernator.controlplane.access import RequestError
from support.cluster import ClusterInTest

# What the API server cannot say, or leaves to the controller: see test_checks and `schedule`.
ONLY_OFFLINE = ("parameters", "timezone", "country", "in a circle")

every_definition = pytest.mark.parametrize(
    "definition", DEFINITIONS, ids=lambda definition: definition.kind.kind
)


def only_offline(problem: Problem) -> bool:
    return any(word in f"{problem.path} {problem.message}" for word in ONLY_OFFLINE)


def goods(definition: Definition) -> list[Json]:
    documents = [case.document for case in GOOD]
    return [found for found in documents if found["kind"] == definition.kind.kind and found.get("spec")]


@every_definition
def test_both_judges_agree_about(definition: Definition, crds: ClusterInTest) -> None:
    kind = definition.kind

    @settings(max_examples=60)
    @given(document=almost(goods(definition), "spec"))
    def agreed(document: Json) -> None:
        found = problems(document)
        try:
            stored = crds.request("POST", f"{kind.path('default')}?{STRICTLY}", document)
        except RequestError:
            assert found, "only the API server refuses it"
        else:
            assert all(map(only_offline, found)), "only the offline check refuses it"
            msgspec.convert(stored, kind.type)

    agreed()


@every_definition
def test_every_status_that_is_let_in_can_be_read_back(
    definition: Definition, crds: ClusterInTest, namespace: str
) -> None:
    kind = definition.kind
    stored = crds.request("POST", kind.path(namespace), goods(definition)[0])
    path = kind.path(namespace, stored["metadata"]["name"], "status")
    status = fitting(KINDS[f"{kind.api_version}/{kind.kind}"]["properties"]["status"])

    read: list[Any] = []

    @settings(max_examples=60)
    @given(data=st.data())
    def readable(data: st.DataObject) -> None:
        document = stored | {"status": data.draw(status)}
        written = data.draw(almost([document], "status")) if document["status"] else document
        try:
            kept = crds.request("PUT", f"{path}?{STRICTLY}", written)
        except RequestError:
            return
        read.append(msgspec.convert(kept, kind.type))

    readable()
    assert read, "nothing was let in, so nothing was shown"
