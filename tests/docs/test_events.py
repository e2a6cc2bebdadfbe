"""The reference of events names exactly the reasons that the code can give."""

import re
from pathlib import Path
from typing import get_args

import pytest

from hibernator.controllers import remediation
from hibernator.decisions import (
    aianalysis,
    connectors,
    exceptionpolicy_status,
    planrequest,
    remediationapprovalrequest,
    remediationrequest,
    timewindowscaler_case,
)
from hibernator.decisions.hibernateplan_words import EventReason
from hibernator.decisions.scheduleexception_status import Reason

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "events.md"


@pytest.mark.parametrize(
    ("kind", "reasons"),
    [
        ("TimeWindowScaler", get_args(timewindowscaler_case.EventReason)),
        ("HibernatePlan", get_args(EventReason)),
        ("CloudProvider", get_args(connectors.Reason)),
        ("ScheduleException", get_args(Reason)),
        ("ExceptionPolicy", get_args(exceptionpolicy_status.Reason)),
        ("PlanRequest", get_args(planrequest.Reason)),
        ("AIAnalysis", get_args(aianalysis.EventReason)),
        ("RemediationRequest", get_args(remediationrequest.Reason)),
        ("RemediationApprovalRequest", get_args(remediationapprovalrequest.Reason)),
        ("ConfigMap of the approval policy", get_args(remediation.Reason)),
    ],
)
def test_every_reason_of_an_event_is_in_the_reference(kind: str, reasons: tuple[str, ...]) -> None:
    section = PAGE.read_text("utf-8").split(f"## {kind}\n")[1].split("\n## ")[0]
    events = section.split("| condition |")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", events, re.MULTILINE)) == set(reasons)
