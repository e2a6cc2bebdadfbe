"""Whatever stands where annotations and SleepInfos should be is converted or refused, and nothing crashes."""

from typing import Any

from hypothesis import given, strategies as st

from hibernator.cli.offline import downscaler, sleepinfo
from hibernator.cli.offline.drafts import Draft
from hibernator.cli.offline.loading.documents import Document, Position

_HOURS = "Mon-Fri 08:00-18:00 UTC"
_KINDS = {
    "Namespace": "v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "CronJob": "batch/v1",
    "SleepInfo": "kube-green.com/v1alpha1",
}
_words = st.sampled_from([_HOURS, "always", "true", "1", "20:00", "1-5", "Deployment", "web", ""])
_junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | _words,
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(_words, inside, max_size=2),
    max_leaves=4,
)
_annotations = st.dictionaries(
    st.sampled_from(
        [
            f"downscaler/{name}"
            for name in (
                "uptime",
                "downtime",
                "force-uptime",
                "exclude",
                "exclude-until",
                "downtime-replicas",
            )
        ]
    ),
    _words | _junk,
    max_size=3,
)
_metadata = st.fixed_dictionaries(
    {"name": _words | _junk, "namespace": _words | _junk},
    optional={"annotations": _annotations | _junk, "labels": _junk},
)
_refs = st.lists(
    st.dictionaries(st.sampled_from(["apiVersion", "kind", "name", "matchLabels"]), _words | _junk) | _junk,
    max_size=2,
)
_spec = st.fixed_dictionaries(
    {},
    optional={
        "weekdays": st.just("1-5") | _junk,
        "sleepAt": st.just("20:00") | _junk,
        "wakeUpAt": st.just("08:00") | _junk,
        "excludeRef": _refs | _junk,
        "includeRef": _refs | _junk,
        "replicas": _junk,
        "template": st.fixed_dictionaries({"metadata": st.fixed_dictionaries({"annotations": _annotations})}),
    },
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(sorted(_KINDS)))
    metadata, spec = draw(_metadata | _junk), draw(_spec | _junk)
    return {"apiVersion": _KINDS[kind], "kind": kind, "metadata": metadata, "spec": spec}


@given(st.lists(documents(), min_size=1, max_size=3))
def test_whatever_is_written_is_converted_or_refused(values: list[dict[str, Any]]) -> None:
    drafts = [Draft(Document(value, Position("stdin"), {})) for value in values]
    sleepinfo.convert(drafts)
    downscaler.convert(drafts)
    for draft in drafts:
        if sleepinfo.is_sleep_info(draft.document):
            assert draft.problems or draft.made
