"""charts/hibernator/values.schema.json: which values the chart takes, the operator's settings included."""

import json
from typing import Any, Final

import msgspec

from hibernator.operator import settings as operator
from hibernator.settings import Schema as Names
from hibernator.web import settings as web

Schema = dict[str, Any]

# The chart decides these itself.
_CHARTS_OWN: Final = {
    "kubeconfig",
    "context",
    "namespace",
    "listen",
    "database",
    "audit_key",
    "webhook_listen",
    "webhook_url",
    "webhook_service",
    "webhook_certificates",
    "trail_listen",
}

_CHARTS_OWN_OF_WEB: Final = {
    "kubeconfig",
    "context",
    "namespace",
    "listen",
    "metrics_listen",
    "trail_url",
    "certificates",
    "watch_namespace",
    "approver_emails",
    "approver_roles",
    "approval_of_own_requests",
}

_TEXT: Final[Schema] = {"type": "string"}
_FLAG: Final[Schema] = {"type": "boolean"}
_WORDS: Final[Schema] = {"type": "object", "additionalProperties": _TEXT}
_ANYTHING: Final[Schema] = {"type": "object"}
_LIST: Final[Schema] = {"type": "array", "items": _ANYTHING}
_NAME: Final[Schema] = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", "maxLength": 253}
_PORT: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 65535}


def text() -> str:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the hibernator chart"}
    return json.dumps(schema | _object(**_values()), indent=2) + "\n"


def _values() -> dict[str, Schema]:
    return {
        "global": _ANYTHING,
        "image": _object(
            repository={"type": "string", "minLength": 1},
            tag=_TEXT,
            digest={"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
            pullPolicy={"enum": ["Always", "IfNotPresent", "Never"]},
        ),
        "imagePullSecrets": {"type": "array", "items": _object(name=_NAME)},
        "replicas": {"type": "integer", "minimum": 1, "maximum": 9},
        "settings": _settings(operator.Settings, operator.SCHEMA, _CHARTS_OWN),
        "database": _object(
            volume=_object(
                size={"type": "string", "pattern": r"^[1-9][0-9]*(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?$"},
                storageClassName=_TEXT,
                existingClaim=_TEXT,
            ),
            existingSecret=_object(name=_TEXT, key={"type": "string", "minLength": 1}),
        ),
        "checkpoints": _object(keySecret=_TEXT),
        "googleFederation": _object(configMap=_TEXT, audience=_TEXT),
        "webhooks": _object(enabled=_FLAG, certificateSecret=_TEXT),
        "web": _object(
            enabled=_FLAG,
            replicas={"type": "integer", "minimum": 1, "maximum": 9},
            settings=_settings(web.Settings, web.SCHEMA, _CHARTS_OWN_OF_WEB),
            secretName=_TEXT,
            certificateSecret=_TEXT,
            ingress=_object(enabled=_FLAG, className=_TEXT, annotations=_WORDS, tlsSecret=_TEXT),
            httpRoute=_object(enabled=_FLAG, parentRefs=_LIST),
            ingressFrom=_LIST,
            egressPorts={"type": "array", "items": _PORT},
            resources=_ANYTHING,
        ),
        "crds": _object(install=_FLAG),
        "serviceAccount": _object(name=_NAME, annotations=_WORDS),
        "networkPolicy": _object(
            enabled=_FLAG,
            apiServers={
                "type": "array",
                "items": {"type": "string", "pattern": "^[0-9a-fA-F.:]+/[0-9]{1,3}$"},
            },
            egressPorts={"type": "array", "items": _PORT},
        ),
        "serviceMonitor": _object(
            enabled=_FLAG, labels=_WORDS, interval={"type": "string", "pattern": "^([0-9]+(ms|s|m|h))+$"}
        ),
        "prometheusRule": _object(enabled=_FLAG, labels=_WORDS),
        "dashboard": _object(enabled=_FLAG, labels=_WORDS),
        "resources": _ANYTHING,
        "priorityClassName": _TEXT,
        "nodeSelector": _WORDS,
        "tolerations": _LIST,
        "podLabels": _WORDS,
        "podAnnotations": _WORDS,
        "env": {"type": "array", "items": {"type": "object", "required": ["name"]}},
    }


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _settings(of: type[Any], names: Names[Any], own: set[str]) -> Schema:
    """Every setting of a process that the chart does not decide, as the process itself checks it."""
    _, components = msgspec.json.schema_components([of])
    properties = components[of.__name__]["properties"]
    return _object(
        **{
            field.encode_name: {"description": words} | properties[field.encode_name]
            for field, words, _ in names.fields()
            if field.name not in own
        }
    )
