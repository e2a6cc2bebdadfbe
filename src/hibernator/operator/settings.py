"""The settings of the operator; flags, environment and file are three ways to say the same."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from hibernator.audit.address import has_secret, shown, url_in
from hibernator.settings import Schema, SettingsError, check_address, flag

_GUARDED: Final = "database"  # the one setting that may hold a password
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    kubeconfig: Annotated[
        str, "The kubeconfig to use; without one, the usual places and then the pod's own account."
    ] = ""
    context: Annotated[str, "The context of the kubeconfig; without one, its current context."] = ""
    namespace: Annotated[str, "The operator's own namespace, where its Lease and its Secret live."] = (
        "hibernator-system"
    )
    watch_namespace: Annotated[str, "The only namespace to act in; without one, all of them."] = ""
    listen: Annotated[str, "Where health and metrics are served, as host:port."] = "0.0.0.0:8080"
    log_format: Annotated[
        Literal["auto", "console", "json"],
        "How to log: `auto` is for people on a terminal, else for machines.",
    ] = "auto"
    log_level: Annotated[Literal["debug", "info", "warning", "error"], "The least that is logged."] = "info"
    leader_elect: Annotated[
        bool, "Take part in the election of a leader. Switch it off only where one replica runs."
    ] = True
    workers: Annotated[int, msgspec.Meta(ge=1, le=256), "How many reconciles of a kind run at once."] = 16
    database: Annotated[
        str, "The database of the audit trail: postgresql://user:password@host/db or sqlite:////a/file.db."
    ] = "sqlite:////var/lib/hibernator/audit.db"
    database_file: Annotated[
        str, "A file that holds the URL of that database, such as a mounted Secret; wins over `database`."
    ] = ""
    audit_months: Annotated[
        int, msgspec.Meta(ge=0, le=1200), "For how many months audit events are kept; 0 keeps them for ever."
    ] = 0
    audit_key: Annotated[
        str,
        "The file with the private key (Ed25519, as PEM) that signs checkpoints of the audit trail; without "
        "one, none are signed.",
    ] = ""
    webhook_listen: Annotated[str, "Where webhooks are served, as host:port; empty switches them off."] = ""
    webhook_url: Annotated[
        str, "The address under which the API server reaches the webhooks from outside; else by Service."
    ] = ""
    webhook_service: Annotated[str, "The Service in the operator's namespace that leads to the webhooks."] = (
        "hibernator-webhook"
    )
    webhook_certificates: Annotated[
        str, "A folder with tls.crt, tls.key and ca.crt to use, as cert-manager mounts it; else own ones."
    ] = ""
    trail_listen: Annotated[
        str,
        "Where the web process reads the audit trail and what restore data says, as host:port, with the "
        "certificate of the webhooks; empty switches it off.",
    ] = ""
    scaler_jitter_from: Annotated[
        float,
        msgspec.Meta(ge=0, le=300),
        "Reconciles at a scaler's boundary are spread; this is the least delay in seconds.",
    ] = 5.0
    scaler_jitter_to: Annotated[
        float,
        msgspec.Meta(ge=0, le=300),
        "Reconciles at a scaler's boundary are spread; this is the greatest delay in seconds.",
    ] = 25.0
    scaler_minimum: Annotated[
        float,
        msgspec.Meta(ge=0, le=3600),
        "The least seconds between two reconciles of a scaler with nothing to do.",
    ] = 30.0
    approval_patience_hours: Annotated[
        float,
        msgspec.Meta(gt=0, le=8784),
        "How long an exception waits for approval before it is rejected.",
    ] = 720.0
    approval_of_own_requests: Annotated[
        bool, "Let requesters approve their own requests. Only for trying things out."
    ] = False
    approver_emails: Annotated[
        str,
        "How a user name becomes an e-mail address: `as-is`, `domain:company.com`, `extra:KEY` for what the "
        "API server learned with the log-in, or `configmap:NAME` in the operator's namespace with lines of "
        "a user and an address.",
    ] = "as-is"
    approver_roles: Annotated[
        str,
        "The ConfigMap in the operator's namespace with the members of each role, by address, user name or "
        "group.",
    ] = "hibernator-roles"
    remediation_policy: Annotated[
        str,
        "The ConfigMap in the operator's namespace with the Rego policy that says which remediations people "
        "must approve.",
    ] = "hibernator-remediation-policy"


SCHEMA: Final = Schema(Settings, "HIBERNATOR_", "hibernator config", guarded=frozenset({_GUARDED}))


def settings(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None) -> Settings:
    """What all the sources make together, checked."""
    if has_secret(str(flags.get(_GUARDED) or "")):
        raise SettingsError(
            f"{flag(_GUARDED)} holds a password, which everybody on this machine can see in the list of "
            f"processes. Give it by the variable {SCHEMA.variable(_GUARDED)}, or in a file by "
            "--database-file."
        )
    found = SCHEMA.read(flags, environment, file)
    if found.scaler_jitter_from > found.scaler_jitter_to:
        raise SettingsError(
            f"scalerJitterFrom is {found.scaler_jitter_from} and scalerJitterTo {found.scaler_jitter_to}: "
            "the first must not be greater. Swap them, or set both to 0."
        )
    check_address("listen", found.listen)
    if found.webhook_listen:
        check_address("webhookListen", found.webhook_listen)
    if found.trail_listen:
        check_address("trailListen", found.trail_listen)
        if not found.webhook_listen:
            raise SettingsError(
                f"trailListen is {found.trail_listen!r}, and webhookListen is empty: the trail is served "
                "with the certificate of the webhooks. Set webhookListen, too."
            )
    if found.database_file:
        try:
            found = msgspec.structs.replace(found, database=url_in(Path(found.database_file)))
        except ValueError as error:
            raise SettingsError(f"databaseFile cannot be used: {error}") from error
    for name, namespace in (("watchNamespace", found.watch_namespace), ("namespace", found.namespace)):
        if namespace and not _NAMESPACE.fullmatch(namespace):
            raise SettingsError(
                f"{name} is {namespace!r}, which cannot be the name of a namespace: write one of at most 63 "
                "small letters, digits and hyphens."
            )
    return found


def printable(found: Settings) -> Iterator[tuple[str, str, Any]]:
    """Every setting as name, description and value, without what must stay a secret."""
    for field, words, _ in SCHEMA.fields():
        value = getattr(found, field.name)
        if field.name == _GUARDED and has_secret(value):
            yield field.encode_name, f"{words} The password is left out here.", shown(value)
        else:
            yield field.encode_name, words, value
