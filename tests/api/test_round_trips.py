"""What is decoded and encoded stays what it was, and what an older CRD let in can still be read."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from api.from_schema import fitting
from api.objects import approvals, plan, scaler
from api.walk import KINDS, SCHEMAS
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.kind import Kind
from hibernator.api.kinds import all_kinds
from hibernator.api.parameters import PARAMETERS
from hibernator.api.scheduleexception import ScheduleException
from hibernator.api.structural import check
from hibernator.api.timewindowscaler import TimeWindowScaler

every_kind = pytest.mark.parametrize(
    "kind", [*all_kinds()], ids=lambda kind: f"{kind.api_version}/{kind.kind}"
)


@every_kind
@settings(max_examples=40)  # each has a hundred fields
@given(data=st.data())
def test_a_document_that_fits_survives_the_way_in_and_out(kind: Kind[Any], data: st.DataObject) -> None:
    schema = KINDS[f"{kind.api_version}/{kind.kind}"]
    document = data.draw(fitting(schema))
    assert list(check(schema, document)) == []
    once = msgspec.json.decode(msgspec.json.encode(document), type=kind.type)
    wire = msgspec.json.encode(once)
    assert msgspec.json.decode(wire, type=kind.type) == once
    assert list(check(schema, msgspec.json.decode(wire))) == []
    assert msgspec.json.encode(msgspec.json.decode(wire, type=kind.type)) == wire


@pytest.mark.parametrize("name", PARAMETERS)
@settings(max_examples=40)
@given(data=st.data())
def test_parameters_that_fit_can_be_read(name: str, data: st.DataObject) -> None:
    document = data.draw(fitting(SCHEMAS[f"parameters of {name}"]))
    once = msgspec.convert(document, PARAMETERS[name])
    assert msgspec.convert(msgspec.to_builtins(once), PARAMETERS[name]) == once


def test_nothing_that_was_written_is_lost_when_a_status_is_written_back() -> None:
    status = {"currentWindow": "OffHours", "effectiveReplicas": 0, "targetObservedReplicas": 0}
    read = msgspec.convert(scaler() | {"status": status}, TimeWindowScaler)
    assert msgspec.to_builtins(read.status) == status


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        (
            plan(
                schedule={"timezone": "Nowhere", "offHours": [{"start": "noon", "end": "", "daysOfWeek": []}]}
            ),
            HibernatePlan,
        ),
        (approvals(leadTime="soon", windows=[], approverEmails=["nobody"]), ScheduleException),
        (scaler(defaultReplicas=-3, timezone="", windows=[]), TimeWindowScaler),
    ],
)
def test_what_slipped_past_an_older_crd_can_still_be_read(document: Any, kind: Any) -> None:
    assert msgspec.convert(document, kind).metadata.name == document["metadata"]["name"]


def test_fields_of_a_newer_version_are_skipped() -> None:
    read = msgspec.convert(plan(novelty={"a": [1]}), HibernatePlan)
    assert "novelty" not in msgspec.to_builtins(read)["spec"]
