"""Registers the admission webhooks, again whenever someone has changed the registration.

Nothing here is asked with `failurePolicy: Fail`: whatever must hold while no one answers is a policy. Only
our own kinds come here and never a Pod, so that the operator can always start: its own namespace need not be
left out, and people keep plans there, and the policies for all namespaces.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hibernator.admission.policies import USER, quoted
from hibernator.admission.registration import Endpoint
from hibernator.admission.webhooks import deletion, stamping, validation
from hibernator.api.kind import DOMAIN, Kind
from hibernator.api.kinds import DEFINITIONS, all_kinds
from hibernator.api.meta import Object
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.approvals.people import whoami
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client

NAME: Final = "hibernator"
TIMEOUT_SECONDS: Final = 5

_GROUP: Final = "admissionregistration.k8s.io"


class WebhookConfiguration(Object):
    webhooks: tuple[dict[str, Any], ...] = ()


def _kind(name: str) -> Kind[WebhookConfiguration]:
    return Kind(WebhookConfiguration, _GROUP, "v1", name, f"{name.lower()}s", namespaced=False)


MUTATING: Final = _kind("MutatingWebhookConfiguration")
VALIDATING: Final = _kind("ValidatingWebhookConfiguration")


@dataclass(frozen=True, slots=True)
class Scope:
    """Where requests come from: everywhere, or one namespace only."""

    only: str = ""

    def selector(self) -> dict[str, Any]:
        if not self.only:
            return {}
        name = "kubernetes.io/metadata.name"
        return {"matchExpressions": [{"key": name, "operator": "In", "values": [self.only]}]}


class WebhookRegistration:
    """One of the two configurations, of a name that is ours."""

    def __init__(
        self, client: Client, found: Cache[WebhookConfiguration], scope: Scope, name: str = NAME
    ) -> None:
        self._client = client
        self._found = found
        self._scope = scope
        self._name = name
        self._user = ""

    @staticmethod
    def cache(
        client: Client, kind: Kind[WebhookConfiguration], name: str = NAME
    ) -> Cache[WebhookConfiguration]:
        return Cache(client, kind, field_selector=f"metadata.name={name}")

    async def register(self, endpoint: Endpoint, bundle: bytes | None) -> None:
        self._user = self._user or await whoami(self._client)
        kind, present = self._found.kind, self._found.get("", self._name)
        hooks = _mutating() if kind is MUTATING else _validating()
        trusted = base64.b64encode(bundle).decode() if bundle else _injected(present)
        wanted = [_webhook(hook, endpoint, trusted, self._scope, self._user) | _sort(kind) for hook in hooks]
        if present is None:
            # By an apply, because to create under this very name is all that the operator's role allows.
            body = {"metadata": {"name": self._name}, "webhooks": _without_none(wanted)}
            self._found.wrote(await self._client.apply(kind, body, field_manager=NAME, force=True))
        elif not _covers(list(present.webhooks), wanted):
            version = present.metadata.resource_version
            patch = {"webhooks": _without_none(wanted)}
            self._found.wrote(await self._client.patch(kind, self._name, "", patch, resource_version=version))


@dataclass(frozen=True, slots=True)
class _Hook:
    name: str
    path: str
    kinds: tuple[Kind[Any], ...]
    operations: tuple[str, ...]
    part: str = ""
    all_users: bool = False  # the operator included


def _mutating() -> tuple[_Hook, ...]:
    return (
        # Each version as it is: what raises the generation is what differs in the version of the request.
        _Hook("author", stamping.PATH, tuple(all_kinds()), ("CREATE", "UPDATE")),
        _Hook("decider", stamping.PATH, (EXCEPTIONS, APPROVAL_REQUESTS), ("UPDATE",), "status"),
    )


def _validating() -> tuple[_Hook, ...]:
    kinds = tuple(definition.kind for definition in DEFINITIONS)
    return (
        _Hook("validation", validation.PATH, kinds, ("CREATE", "UPDATE")),
        _Hook("deleter", deletion.PATH, kinds, ("DELETE",), all_users=True),
    )


def _sort(kind: Kind[Any]) -> dict[str, Any]:
    # Again, when another webhook changes the spec after us: that may make a change of what was none.
    return {"reinvocationPolicy": "IfNeeded"} if kind is MUTATING else {}


def _injected(present: WebhookConfiguration | None) -> str:
    """The authorities that someone else cares for, such as cert-manager; they stay as they are."""
    webhooks = present.webhooks if present else ()
    return next((str(hook["clientConfig"].get("caBundle", "")) for hook in webhooks), "")


def _webhook(hook: _Hook, endpoint: Endpoint, trusted: str, scope: Scope, operator: str) -> dict[str, Any]:
    others = {"name": "not-the-operator", "expression": f"{USER} != {quoted(operator)}"}
    return {
        "name": f"{hook.name}.{DOMAIN}",
        "admissionReviewVersions": ["v1"],
        "clientConfig": endpoint.client_config(hook.path) | ({"caBundle": trusted} if trusted else {}),
        "failurePolicy": "Ignore",
        "matchConditions": [] if hook.all_users else [others],
        "matchPolicy": "Equivalent",
        "namespaceSelector": scope.selector(),
        "objectSelector": {},
        "rules": [_rule(kind, hook) for kind in hook.kinds],
        "sideEffects": "NoneOnDryRun",  # a refusal goes to the audit trail, a deletion on the object
        "timeoutSeconds": TIMEOUT_SECONDS,
    }


def _rule(kind: Kind[Any], hook: _Hook) -> dict[str, Any]:
    return {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "operations": list(hook.operations),
        "resources": [f"{kind.plural}/{hook.part}" if hook.part else kind.plural],
        "scope": "Namespaced",
    }


def _covers(present: Any, wanted: Any) -> bool:
    """Whether everything is there as it is wanted; what the API server added by itself may stay."""
    match wanted:
        case Mapping() if wanted:
            return isinstance(present, Mapping) and all(
                _covers(present.get(key), value) for key, value in wanted.items()
            )
        case list() if wanted:
            return (
                isinstance(present, list)
                and len(present) == len(wanted)
                and all(map(_covers, present, wanted))
            )
        case Mapping() | list() | None:
            return not present
        case _:
            return bool(present == wanted)


def _without_none(value: Any) -> Any:
    match value:
        case Mapping():
            return {key: _without_none(one) for key, one in value.items() if one is not None}
        case list():
            return [_without_none(one) for one in value]
        case _:
            return value
