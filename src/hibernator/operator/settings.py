"""What an operator can be told, as one schema: flags, environment and file are three ways to say the same.

The later wins: defaults, then the file, then the environment, then the flags. A mistake is told with the name
that it was written under, wherever that was.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_type_hints

import msgspec
import yaml

from hibernator.audit.address import has_secret, shown, url_in

PREFIX: Final = "HIBERNATOR_"
_GUARDED: Final = "database"  # the one setting that may hold a password
_LAST_PORT: Final = 65_535
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class SettingsError(Exception):
    """A setting cannot be used; the message says where it was written and what to write instead."""


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
    scaler_jitter_from: Annotated[
        float,
        msgspec.Meta(ge=0, le=300),
        "The least seconds by which looks at a scaler's boundary are spread.",
    ] = 5.0
    scaler_jitter_to: Annotated[
        float,
        msgspec.Meta(ge=0, le=300),
        "The most seconds by which looks at a scaler's boundary are spread.",
    ] = 25.0
    scaler_minimum: Annotated[
        float, msgspec.Meta(ge=0, le=3600), "The least seconds between two looks at a quiet scaler."
    ] = 30.0
    approval_patience_hours: Annotated[
        float,
        msgspec.Meta(gt=0, le=8784),
        "How long an exception waits for approval before it is rejected.",
    ] = 720.0
    approval_of_own_requests: Annotated[
        bool, "Let people approve what they asked for themselves. Only for trying things out."
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


def settings(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None) -> Settings:
    """Lay the sources over each other. Flags are by field name, and None where they were not given."""
    values: dict[str, Any] = {}
    for source in (_from_file(file) if file else {}, _from_environment(environment), _from_flags(flags)):
        values |= source
    found = msgspec.convert(values, Settings)
    if found.scaler_jitter_from > found.scaler_jitter_to:
        raise SettingsError(
            f"scalerJitterFrom is {found.scaler_jitter_from} and scalerJitterTo {found.scaler_jitter_to}: "
            "the first must not be greater. Swap them, or set both to 0."
        )
    for name, address in (("listen", found.listen), ("webhookListen", found.webhook_listen)):
        port = address.rpartition(":")[2]
        if address and not (":" in address and port.isdecimal() and int(port) <= _LAST_PORT):
            raise SettingsError(f"{name} is {address!r}: write host:port, for example 0.0.0.0:8080 or :8080.")
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


def fields() -> Iterator[tuple[msgspec.structs.FieldInfo, str, type]]:
    """Every setting with its description and its plain type, for flags and for the reference page."""
    hints = get_type_hints(Settings, include_extras=True)
    for field in msgspec.structs.fields(Settings):
        extras = hints[field.name].__metadata__
        yield field, next(extra for extra in extras if isinstance(extra, str)), hints[field.name].__origin__


def printable(found: Settings) -> Iterator[tuple[str, str, Any]]:
    """Every setting as name, description and value, without what must stay a secret."""
    for field, words, _ in fields():
        value = getattr(found, field.name)
        if field.name == _GUARDED and has_secret(value):
            yield field.encode_name, f"{words} The password is left out here.", shown(value)
        else:
            yield field.encode_name, words, value


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def variable(name: str) -> str:
    return PREFIX + name.upper()


def _from_file(file: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(file.read_text("utf-8")) or {}
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}. Check the path.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not YAML: {error}") from error
    if not isinstance(document, dict):
        raise SettingsError(
            f"{file} holds a {type(document).__name__}; write settings as `name: value` lines."
        )
    known = {field.encode_name for field, _, _ in fields()}
    for name, value in document.items():
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            hint = f" Did you mean {near[0]}?" if near else " See `hibernator config` for all of them."
            raise SettingsError(f"{file}: {name} is no setting.{hint}")
        _checked(name, value, f"{file}: {name}", strict=True)
    return document


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        field.encode_name: _checked(
            field.encode_name, environment[variable(field.name)], variable(field.name)
        )
        for field, _, _ in fields()
        if environment.get(variable(field.name))
    }


def _from_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    if has_secret(str(flags.get(_GUARDED) or "")):
        raise SettingsError(
            f"{flag(_GUARDED)} holds a password, which everybody on this machine can see in the list of "
            f"processes. Give it by the variable {variable(_GUARDED)}, or in a file by --database-file."
        )
    return {
        field.encode_name: _checked(field.encode_name, flags[field.name], flag(field.name))
        for field, _, _ in fields()
        if flags.get(field.name) is not None
    }


def _checked(name: str, value: Any, written_as: str, *, strict: bool = False) -> Any:
    """The value as the setting's type; text is read as what it means unless `strict`."""
    try:
        checked = msgspec.convert({name: value}, Settings, strict=strict)
    except msgspec.ValidationError as error:
        told = "not usable" if name == _GUARDED else repr(value)
        raise SettingsError(f"{written_as} is {told}: {str(error).split(' - at')[0].lower()}.") from error
    return msgspec.to_builtins(checked)[name]
