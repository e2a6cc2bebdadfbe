"""A Deployment that kube-downscaler keeps at some replicas in its downtime, as a TimeWindowScaler."""

from collections.abc import Mapping
from typing import Any, Final

from hibernator.api.timewindowscaler import SCALERS
from hibernator.cli.offline.downscaler_scopes import place
from hibernator.cli.offline.drafts import Draft
from hibernator.schedule.downscaler import Hours
from hibernator.schedule.sleeps import around_the_week, awake, scaler_windows_of

LABEL: Final = "hibernator.ardikabs.com/hours"  # on all that has hours of its own


def scale(draft: Draft, sleep: Hours, replicas: int, suspended: Mapping[str, Any]) -> None:
    """Give it a scaler that runs what is written in the Deployment by day, and these replicas otherwise."""
    document, by_day = draft.document, draft.document.part("spec", "replicas")
    if document.kind != "Deployment":
        draft.refuse(
            place("downtime-replicas"),
            replicas,
            f"a {document.kind} goes to zero or stays as it is: only Deployments have a TimeWindowScaler",
            "Remove it to let it sleep at zero, or exclude it.",
        )
    elif not isinstance(by_day, int):
        draft.refuse(
            "spec.replicas",
            by_day,
            "it is missing, and a scaler must know how many replicas run by day",
            "Write how many.",
        )
    elif "suspendUntil" in suspended:
        draft.refuse(
            place("exclude-until"),
            suspended["suspendUntil"],
            "a scaler can be paused, but not until a certain time",
            "Remove it, and set pause on the scaler for as long.",
        )
    elif windows := scaler_windows_of(around_the_week(awake(sleep.spans))):
        spec = {
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": document.name},
            "timezone": sleep.zone or "UTC",
            "windows": [
                {"days": days, "start": start, "end": end, "replicas": by_day} for start, end, days in windows
            ],
            "defaultReplicas": min(replicas, by_day),
            **({"pause": True} if suspended else {}),
        }
        space = {"namespace": draft.written_namespace} if draft.written_namespace else {}
        metadata = {"name": document.name, **space}
        draft.make(
            {"apiVersion": SCALERS.api_version, "kind": SCALERS.kind, "metadata": metadata, "spec": spec}
        )
        draft.mark("labels", LABEL, document.name[:63].rstrip("-."))
        draft.notes.append(f"{document.title} is scaled by the TimeWindowScaler of the same name.")
    else:
        draft.refuse(
            place("downtime-replicas"),
            replicas,
            "it is never up",
            f"Set spec.replicas to {replicas} instead.",
        )
