"""docs/reference/webhook-event.schema.json: what the body of a webhook is, from the types that make it."""

import json
from typing import Final

import msgspec

from hibernator.notifications.cloudevent import CloudEvent, CloudEventGroup

_TITLE: Final = "The body of a webhook of a HibernateNotification: a CloudEvent 1.0 in structured JSON"


def text() -> str:
    bodies, components = msgspec.json.schema_components(
        (CloudEvent, CloudEventGroup), ref_template="#/$defs/{name}"
    )
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "Made from src/hibernator/notifications/cloudevent.py by `make generate`; do not edit.",
        "title": _TITLE,
        "oneOf": list(bodies),
        "$defs": components,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
