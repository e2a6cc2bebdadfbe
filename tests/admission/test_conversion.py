"""The two versions of TimeWindowScaler: nothing is lost on the way there and back."""

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from admission.scalers import Json, alpha, alphas, beta, betas, measured, window
from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.conversion import (
    ANNOTATION,
    ConversionError,
    annotation_problem,
    converted,
    effective_spec,
    settled_annotation,
)
from hibernator.api.timewindowscaler import TimeWindowScaler

ALPHA, BETA = "kyklos.io/v1alpha1", "kyklos.io/v1beta1"


def stored(document: Json) -> Any:
    """The object as it lies in etcd: JSON, so that nothing is shared with what it was made from."""
    return json.loads(json.dumps(converted(document, ALPHA)))


def typed(document: Json) -> TimeWindowScaler:
    return msgspec.convert(document, TimeWindowScaler)


def read(document: Json) -> list[Json]:
    """The windows that a v1beta1 client sees."""
    windows: list[Json] = converted(document, BETA)["spec"]["windows"]
    return windows


@given(betas)
def test_a_v1beta1_object_comes_back_from_v1alpha1_as_it_was(document: Json) -> None:
    before = copy.deepcopy(document)
    assert converted(stored(document), BETA) == before
    assert document == before


@given(alphas)
def test_a_v1alpha1_object_comes_back_from_v1beta1_as_it_was(document: Json) -> None:
    assert converted(converted(document, BETA), ALPHA) == document


@given(betas)
def test_a_stored_object_comes_back_from_v1beta1_as_it_was(document: Json) -> None:
    there = stored(document)
    assert converted(converted(there, BETA), ALPHA) == there


@given(alphas, st.text(max_size=40) | st.just("{}") | st.just('{"windows":[{"was":[["Mon"],"0","1",1]}]}'))
def test_whatever_stands_in_the_annotation_both_versions_can_be_read(document: Json, text: str) -> None:
    document["metadata"].setdefault("annotations", {})[ANNOTATION] = text
    seen = converted(document, BETA)
    assert seen["spec"] == document["spec"]
    assert converted(seen, ALPHA)["spec"] == document["spec"]
    effective_spec(typed(document))


@given(betas)
def test_metadata_stays_untouched_but_for_the_one_annotation(document: Json) -> None:
    there = stored(document)
    there["metadata"].get("annotations", {}).pop(ANNOTATION, None)
    if not there["metadata"].get("annotations"):
        there["metadata"].pop("annotations", None)
    assert there["metadata"] == document["metadata"]
    assert there.get("status") == document.get("status")


@given(betas)
def test_the_controller_reads_from_storage_what_v1beta1_says(document: Json) -> None:
    assert effective_spec(typed(stored(document))) == msgspec.convert(
        document["spec"], v1beta1.TimeWindowScalerSpec
    )
    assert annotation_problem(typed(stored(document))) is None


@given(betas)
def test_v1alpha1_shows_whole_numbers_that_its_schema_accepts(document: Json) -> None:
    spec = stored(document)["spec"]
    assert set(spec) == set(document["spec"])
    for shown in spec["windows"]:
        assert set(shown) == {"days", "start", "end", "replicas"}
        assert 0 <= shown["replicas"] <= 2**31 - 1
    assert isinstance(spec.get("defaultReplicas", 0), int)


@given(betas, st.randoms(use_true_random=False))
def test_windows_that_are_put_in_another_order_take_their_parts_along(document: Json, random: Any) -> None:
    there = stored(document)
    shown = [json.dumps(item, sort_keys=True) for item in there["spec"]["windows"]]
    # Windows that look the same in v1alpha1 cannot be told apart there, so they keep their own order.
    looks = list(dict.fromkeys(shown))
    random.shuffle(looks)
    order = [i for look in looks for i in range(len(shown)) if shown[i] == look]
    there["spec"]["windows"] = [there["spec"]["windows"][i] for i in order]
    assert read(there) == [document["spec"]["windows"][i] for i in order]


@given(betas, alphas)
def test_edits_through_v1alpha1_show_in_both_versions_and_settle(document: Json, other: Json) -> None:
    there = stored(document)
    there["spec"] = {"defaultReplicas": 0} | other["spec"]  # as the API server fills it in
    again = converted(converted(there, BETA), ALPHA)
    assert again["spec"] == there["spec"]
    settled = settled_annotation(typed(there))
    assert again["metadata"].get("annotations", {}).get(ANNOTATION) == settled
    there["metadata"].setdefault("annotations", {})[ANNOTATION] = settled
    if settled is None:
        del there["metadata"]["annotations"][ANNOTATION]
    assert settled_annotation(typed(there)) == settled
    assert converted(there, BETA)["spec"] == converted(again, BETA)["spec"]


def test_an_object_without_anything_new_carries_no_annotation() -> None:
    plain = beta(window(replicas=3), targetRef={"kind": "StatefulSet", "name": "db"})
    assert stored(plain) == plain | {"apiVersion": ALPHA}


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ({"replicas": "0%"}, 0),
        ({"replicas": "1%"}, 1),
        ({"replicas": "50%"}, 1),
        ({"replicas": "101%"}, 2),
        ({"replicas": "1000%"}, 10),
        ({"replicas": 7, "timezone": "Asia/Tokyo"}, 7),
        ({"external": measured(least=2, most=9)}, 9),
    ],
)
def test_v1alpha1_shows_a_safe_number_of_replicas(written: Json, shown: int) -> None:
    assert stored(beta(window(**written)))["spec"]["windows"] == [window(replicas=shown)]


SHARE = window(replicas="50%", timezone="Asia/Tokyo")
MEASURED = window("18:00", "22:00", external=measured())
PLAIN = window("06:00", "07:00", replicas=2)


@pytest.mark.parametrize(
    ("edited", "seen"),
    [
        pytest.param({"start": "08:00"}, SHARE | {"start": "08:00"}, id="moved start"),
        pytest.param(
            {"start": "08:00", "end": "16:00"},
            SHARE | {"start": "08:00", "end": "16:00"},
            id="moved as a whole",
        ),
        pytest.param({"days": ["Sat"]}, SHARE | {"days": ["Sat"]}, id="other days"),
        pytest.param({"replicas": 4}, SHARE | {"replicas": 4}, id="a number in place of a share"),
        pytest.param(
            {"replicas": 4, "start": "08:00"},
            SHARE | {"replicas": 4, "start": "08:00"},
            id="a number, and moved",
        ),
        pytest.param(
            {"days": ["Sun"], "start": "01:00", "end": "02:00"},
            window("01:00", "02:00", days=["Sun"], replicas=1),
            id="another window altogether",
        ),
    ],
)
def test_a_window_edited_through_v1alpha1_keeps_what_that_version_does_not_show(
    edited: Json, seen: Json
) -> None:
    there = stored(beta(PLAIN, SHARE, MEASURED))
    there["spec"]["windows"][1] |= edited
    assert read(there) == [PLAIN, seen, MEASURED]


def test_a_measured_window_becomes_a_written_one_when_v1alpha1_writes_a_number() -> None:
    there = stored(beta(MEASURED))
    there["spec"]["windows"][0]["replicas"] = 3
    assert read(there) == [window("18:00", "22:00", replicas=3)]


def test_a_window_removed_through_v1alpha1_takes_nothing_of_the_others() -> None:
    there = stored(beta(PLAIN, SHARE, MEASURED))
    del there["spec"]["windows"][1]
    assert read(there) == [PLAIN, MEASURED]


def test_a_window_added_through_v1alpha1_is_just_what_was_written() -> None:
    there = stored(beta(SHARE, MEASURED))
    there["spec"]["windows"].insert(0, window(days=["Sat"], replicas=1))
    assert read(there) == [window(days=["Sat"], replicas=1), SHARE, MEASURED]


def test_windows_that_follow_the_sun_keep_their_zones_in_order() -> None:
    sun = [window(replicas=3, timezone=zone) for zone in ("Asia/Tokyo", "Europe/Berlin", "America/New_York")]
    there = stored(beta(*sun))
    there["spec"]["windows"].insert(0, PLAIN)
    assert read(there) == [PLAIN, *sun]


def test_the_days_of_a_window_may_be_listed_in_any_order() -> None:
    there = stored(beta(SHARE))
    there["spec"]["windows"][0]["days"].reverse()
    assert read(there) == [SHARE | {"days": ["Fri", "Thu", "Wed", "Tue", "Mon"]}]


@pytest.mark.parametrize(("written", "seen"), [(1, "10%"), (2, 2), (0, 0)])
def test_a_default_share_stays_until_v1alpha1_writes_another_number(written: int, seen: object) -> None:
    there = stored(beta(PLAIN, defaultReplicas="10%"))
    there["spec"]["defaultReplicas"] = written
    assert converted(there, BETA)["spec"]["defaultReplicas"] == seen


def test_a_share_of_nothing_is_kept_also_where_v1alpha1_leaves_the_default_out() -> None:
    there = stored(beta(PLAIN, defaultReplicas="0%"))
    del there["spec"]["defaultReplicas"]
    assert converted(there, BETA)["spec"]["defaultReplicas"] == "0%"


def test_once_settled_an_edited_number_does_not_bring_its_share_back() -> None:
    there = stored(beta(window(replicas="50%")))
    there["spec"]["windows"][0]["replicas"] = 4
    assert settled_annotation(typed(there)) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        '{"windows":{}}',
        '{"surprise":1}',
        '{"windows":[{"was":[["Mon"],"09:00","17:00",1],"replicas":"5000%"}]}',
        '{"windows":[{"was":[["Mon"],"09:00","17:00",1],"replicas":5}]}',
        '{"windows":[{"was":[["Mon"],"09:00"],"replicas":"50%"}]}',
        '{"windows":[{"was":[["Mon"],"09:00","17:00",1],"timezone":""}]}',
        '{"windows":[{"was":[["Mon"],"09:00","17:00",1],"external":{"min":1,"max":2}}]}',
        json.dumps({"windows": [{"was": [["Mon"], "0", "1", 1], "external": measured(least=9, most=1)}]}),
        json.dumps({"windows": [{"was": [["Mon"], "0", "1", 1], "external": measured(), "replicas": "5%"}]}),
        "[" * 100_000,
        '{"windows":' * 100_000,
        "\ud800",
    ],
)
def test_a_broken_annotation_changes_nothing_stays_and_is_told(text: str) -> None:
    there = alpha(PLAIN, annotations={ANNOTATION: text, "team": "shop"})
    seen = converted(there, BETA)
    assert seen == there | {"apiVersion": BETA}
    assert converted(seen, ALPHA) == there
    assert settled_annotation(typed(there)) == text
    problem = annotation_problem(typed(there))
    assert problem is not None
    assert problem.path == "metadata.annotations[kyklos.io/v1beta1]"
    assert "cannot be read" in problem.message


def test_a_broken_annotation_is_healed_by_the_next_write_in_v1beta1() -> None:
    healed = stored(beta(SHARE, annotations={ANNOTATION: "{"}))
    assert annotation_problem(typed(healed)) is None
    assert read(healed) == [SHARE]


def test_an_annotation_carried_through_v1beta1_without_conversion_still_counts() -> None:
    there = stored(beta(SHARE))
    unconverted = there | {"apiVersion": BETA}
    assert converted(converted(unconverted, ALPHA), BETA) == beta(SHARE)


@pytest.mark.parametrize(
    "spec",
    [
        None,
        [],
        {},
        {"windows": None},
        {"windows": "all day"},
        {"windows": [None]},
        {"windows": [window(replicas="half")]},
        {"windows": [window(replicas=True)]},
        {"windows": [window(replicas=5, external=measured(), days=["Sun"], end="10:00")]},
        {"windows": [window()]},
        {"windows": [window(external={"min": 1})]},
        {"windows": [window(replicas=5, days=["Sun"], end="10:00")], "defaultReplicas": "most"},
    ],
)
def test_what_no_schema_lets_in_passes_both_ways_unchanged(spec: Any) -> None:
    document = beta() | {"spec": spec}
    assert converted(document, ALPHA) == document | {"apiVersion": ALPHA}
    document = alpha(annotations={ANNOTATION: stored(beta(SHARE))["metadata"]["annotations"][ANNOTATION]})
    document["spec"] = spec
    assert converted(document, BETA)["spec"] == spec


def test_more_text_than_an_annotation_holds_is_refused_in_words() -> None:
    windows = [window(external=measured(query="\N{HOT BEVERAGE}" * 1024)) for _ in range(64)]
    with pytest.raises(ConversionError, match=r"spec\.windows holds \d+ bytes of queries and zones"):
        converted(beta(*windows), ALPHA)


def test_an_unknown_version_is_refused_in_words() -> None:
    with pytest.raises(ConversionError, match=r"to kyklos\.io/v1: the known versions are"):
        converted(alpha(PLAIN), "kyklos.io/v1")


def test_the_same_version_comes_back_as_it_is() -> None:
    assert converted(alpha(PLAIN), ALPHA) == alpha(PLAIN)


@pytest.mark.parametrize(
    ("replicas", "baseline", "number"),
    [(3, 10, 3), ("50%", 10, 5), ("50%", 3, 2), ("1%", 1, 1), ("0%", 9, 0), ("1000%", 3, 30), ("50%", 0, 0)],
)
def test_a_share_is_of_the_baseline_rounded_up(replicas: int | str, baseline: int, number: int) -> None:
    assert v1beta1.share(replicas, baseline) == number


@pytest.mark.parametrize("text", ["50", "50 %", "-1%", "1001%", "007%", "5.5%", "%", "50%\n"])
def test_what_is_no_share_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="write a number or a share from 0% to 1000%"):
        v1beta1.share(text, 10)
