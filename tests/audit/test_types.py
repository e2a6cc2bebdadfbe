"""The table of event types: what the documents name is in it, and every line says something."""

import re

from hibernator.audit.types import EVENT_TYPES


def test_the_types_that_the_documents_name_are_there() -> None:
    assert EVENT_TYPES.keys() >= {
        "remediationapprovalrequest.expired",
        "scheduleexception.approved",
        "hibernateplan.sleep.started",
        "timewindowscaler.scaled",
        "admission.denied",
    }


def test_every_type_is_a_subject_and_an_action_with_a_sentence() -> None:
    for name, found in EVENT_TYPES.items():
        assert re.fullmatch(r"[a-z0-9]+(\.[a-z]+){1,2}", name)
        assert name.endswith(found.action)
        assert re.fullmatch(r"[A-Z].*\.", found.description), name


def test_what_fails_or_is_refused_is_at_least_a_warning() -> None:
    quiet = {
        name
        for name, found in EVENT_TYPES.items()
        if found.outcome != "success" and found.severity not in {"warning", "error"}
    }
    assert quiet == set()
