"""Answers are typed by what happens next."""

import json
from typing import Any

import pytest

from hibernator.kube import errors
from hibernator.kube.backoff import asked_to_wait, backoff
from hibernator.kube.errors import Cause, from_answer


def said(**status: Any) -> bytes:
    return json.dumps({"kind": "Status", "status": "Failure"} | status).encode()


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", errors.Invalid),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Gone),
        (410, "Gone", errors.Gone),
        (413, "RequestEntityTooLarge", errors.Invalid),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.Throttled),
        (500, "InternalError", errors.Unavailable),
        (502, "", errors.Unavailable),
        (503, "ServiceUnavailable", errors.Unavailable),
        (504, "Timeout", errors.Unavailable),
        (302, "", errors.Unavailable),
    ],
)
def test_the_type_of_an_error_says_what_happens_next(
    code: int, reason: str, expected: type[errors.ApiError]
) -> None:
    error = from_answer(code, said(reason=reason, message="why"), reads=True)
    assert type(error) is expected
    assert (error.status, error.reason, error.message) == (code, reason, "why")


def test_an_invalid_object_names_its_fields() -> None:
    cause = {"field": "spec.windows[0].start", "message": "must not equal end", "reason": "FieldValueInvalid"}
    error = from_answer(422, said(reason="Invalid", message="no", details={"causes": [cause]}), reads=False)
    assert error.causes == (Cause("spec.windows[0].start", "must not equal end", "FieldValueInvalid"),)


@pytest.mark.parametrize(
    ("header", "body", "seconds"),
    [
        ("7", said(), 7.0),
        ("", said(details={"retryAfterSeconds": 3}), 3.0),
        ("", said(), 1.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", said(), 1.0),
        ("86400", said(), 60.0),
    ],
)
def test_a_throttled_request_knows_when_to_come_back(header: str, body: bytes, seconds: float) -> None:
    error = from_answer(429, body, reads=False, retry_after=header)
    assert isinstance(error, errors.Throttled)
    assert error.retry_after == seconds


def test_a_server_error_leaves_open_whether_a_write_happened_but_not_a_read() -> None:
    write = from_answer(504, said(), reads=False)
    read = from_answer(504, said(), reads=True)
    assert isinstance(write, errors.Unavailable)
    assert isinstance(read, errors.Unavailable)
    assert (write.maybe_committed, read.maybe_committed) == (True, False)


def test_a_balancer_that_answers_in_html_is_told_as_it_is() -> None:
    error = from_answer(502, b"<h1>Bad gateway</h1>", reads=True, request="GET /api")
    assert str(error) == "<h1>Bad gateway</h1> (GET /api)"


def test_an_answer_without_a_word_still_says_something() -> None:
    assert str(from_answer(500, b"", reads=True)) == "the API server answered 500 without saying why"


@pytest.mark.parametrize("failures", [0, 1, 5, 10, 10_000])
def test_waiting_doubles_with_jitter_up_to_a_limit(failures: int) -> None:
    longest = min(30.0, 0.1 * 2.0 ** min(failures, 20))
    waits = {backoff(failures) for _ in range(50)}
    assert all(longest / 2 <= wait <= longest for wait in waits)
    assert len(waits) > 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", None),
        ("0", 0.0),
        ("120", 120.0),
        ("1.5", None),
        ("-1", None),
        ("²", None),  # a digit, and no number
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("9" * 400, float("inf")),
    ],
)
def test_a_server_asks_to_wait_in_whole_seconds_or_not_at_all(header: str, seconds: float | None) -> None:
    assert asked_to_wait(header) == seconds
