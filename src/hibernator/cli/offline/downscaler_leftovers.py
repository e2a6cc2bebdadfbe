"""Annotations of kube-downscaler that `kubectl apply` leaves on what lives in a cluster already.

It removes only what an earlier apply had written, and these are often written by `kubectl annotate`.
"""

import shlex
from collections.abc import Iterable

import msgspec

from hibernator.cli.offline.downscaler_scopes import PREFIX, annotations
from hibernator.cli.offline.drafts import LAST_APPLIED, Draft, is_from_a_cluster
from hibernator.cli.offline.loading.documents import Document


def removals(drafts: Iterable[Draft]) -> list[str]:
    """The commands that remove them, one for all objects of a namespace with the same annotations."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for draft in drafts:
        left = sorted(set(annotations(draft)) - _applied(draft.document))
        if left and draft.changed and is_from_a_cluster(draft.document):
            found.setdefault((draft.written_namespace, tuple(left)), []).append(_resource(draft.document))
    return [
        shlex.join(
            [
                *("kubectl", "annotate"),
                *(("-n", namespace) if namespace else ()),
                *resources,
                *(f"{PREFIX}{name}-" for name in left),
            ]
        )
        for (namespace, left), resources in found.items()
    ]


def _applied(document: Document) -> set[str]:
    """Which of them an apply has written, and the next one removes."""
    written = document.part("metadata", "annotations", LAST_APPLIED)
    try:
        applied = msgspec.json.decode(written or "{}")
        return {key.removeprefix(PREFIX) for key in applied["metadata"]["annotations"]}
    except (msgspec.DecodeError, KeyError, TypeError):
        return set()


def _resource(document: Document) -> str:
    group = f".{document.group}" if document.group else ""
    return f"{document.kind.lower()}{group}/{document.name}"
