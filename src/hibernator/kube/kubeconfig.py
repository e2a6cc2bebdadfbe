"""Kubeconfig files, read and merged as kubectl does it.

Of several files in KUBECONFIG the first to name a cluster, user or context wins it whole, and the first
`current-context` counts. A path inside a file is relative to that file, so it is made absolute while it is
still known where it came from.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import msgspec
import yaml

from hibernator.kube.errors import BadCredentials


class Extension(msgspec.Struct, frozen=True, rename="kebab"):
    name: str = ""
    extension: Any = None


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: tuple[Extension, ...] | None = None


class EnvVar(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


class ExecConfig(msgspec.Struct, frozen=True, rename="camel"):
    """A program that knows how to get credentials."""

    api_version: str
    command: str
    args: tuple[str, ...] | None = None
    env: tuple[EnvVar, ...] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(msgspec.Struct, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    username: str = ""
    password: str = ""
    exec: ExecConfig | None = None
    auth_provider: Mapping[str, Any] | None = None
    impersonate: str = msgspec.field(name="as", default="")
    impersonate_uid: str = msgspec.field(name="as-uid", default="")
    impersonate_groups: tuple[str, ...] | None = msgspec.field(name="as-groups", default=None)
    impersonate_extra: Mapping[str, tuple[str, ...]] | None = msgspec.field(
        name="as-user-extra", default=None
    )


class Context(msgspec.Struct, frozen=True, rename="kebab"):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _Entry(msgspec.Struct, frozen=True):
    """An entry of any of the three lists, of which each uses one of these fields."""

    name: str
    cluster: Cluster = Cluster()
    user: User = User()
    context: Context = Context()


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    current_context: str = ""
    clusters: tuple[_Entry, ...] | None = None
    users: tuple[_Entry, ...] | None = None
    contexts: tuple[_Entry, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Merged:
    current: str
    clusters: Mapping[str, Cluster]
    users: Mapping[str, User]
    contexts: Mapping[str, Context]

    def __or__(self, later: "_Merged") -> "_Merged":
        return _Merged(
            self.current or later.current,
            {**later.clusters, **self.clusters},
            {**later.users, **self.users},
            {**later.contexts, **self.contexts},
        )


@dataclass(frozen=True, slots=True)
class ResolvedContext:
    """One context, resolved: where to go, as whom, and which namespace is meant when none is named."""

    context: str
    cluster: Cluster
    user: User
    namespace: str


def paths(explicit: str | None = None) -> tuple[Path, ...]:
    """The kubeconfig files that count: the one named, otherwise KUBECONFIG, otherwise the one at home."""
    if explicit:
        return (Path(explicit).expanduser(),)
    if listed := os.environ.get("KUBECONFIG", ""):
        return tuple(Path(path) for path in listed.split(os.pathsep) if path)
    return (Path.home() / ".kube" / "config",)


def load(files: Iterable[Path], context: str | None = None) -> ResolvedContext:
    """Merge the files and resolve a context, the current one unless another is named."""
    files = tuple(files)
    merged = reduce(or_, map(_read, files), _Merged("", {}, {}, {}))
    return _resolve(merged, ", ".join(str(file) for file in files) or "no file", context)


def loads(text: str, origin: str) -> ResolvedContext:
    """The current context of a kubeconfig that is no file; `origin` is what it is called in messages.

    It comes from others, whom nothing on this machine shall serve, so it may name no programs and no files:
    they would run, or be read and sent, in our name.
    """
    place = _resolve(_parse(text, origin, Path("/")), origin)
    cluster, user = place.cluster, place.user
    foreign = {
        "exec": user.exec,
        "auth-provider": user.auth_provider,
        "tokenFile": user.token_file,
        "client-certificate": user.client_certificate,
        "client-key": user.client_key,
        "certificate-authority": cluster.certificate_authority,
    }
    if named := [field for field, value in foreign.items() if value]:
        raise BadCredentials(
            f"{origin} has {' and '.join(named)}, which names a program or a file; give one that has all in "
            "itself: `kubectl config view --minify --flatten`, with a token or a certificate for the user"
        )
    return place


def _resolve(merged: _Merged, origin: str, context: str | None = None) -> ResolvedContext:
    name = context or merged.current
    if not name:
        raise BadCredentials(
            f"no current-context in {origin}; choose one with `kubectl config use-context NAME`, "
            "or point KUBECONFIG to a file that has one"
        )
    if (found := merged.contexts.get(name)) is None:
        known = ", ".join(sorted(merged.contexts)) or "none"
        raise BadCredentials(f"context {name!r} is not in {origin}; there are: {known}")
    cluster = merged.clusters.get(found.cluster)
    if cluster is None or not cluster.server:
        raise BadCredentials(
            f"context {name!r} names cluster {found.cluster!r}, which has no server in {origin}"
        )
    if found.user and found.user not in merged.users:
        raise BadCredentials(f"context {name!r} names user {found.user!r}, who is not in {origin}")
    return ResolvedContext(name, cluster, merged.users.get(found.user, User()), found.namespace or "default")


def _read(path: Path) -> _Merged:
    try:
        text = path.read_text()
    except FileNotFoundError:
        return _Merged("", {}, {}, {})  # as in kubectl: a file that is listed need not be there
    except (OSError, UnicodeDecodeError) as error:
        raise BadCredentials(f"the kubeconfig {path} cannot be read: {error}") from error
    return _parse(text, str(path), path.parent)


def _parse(text: str, origin: str, folder: Path) -> _Merged:
    try:
        content = yaml.safe_load(text) or {}
        if not isinstance(content, dict):
            raise BadCredentials(f"{origin} is not a kubeconfig: it has no clusters, users and contexts")
        file = msgspec.convert(content, _File)
    except msgspec.ValidationError as error:
        raise BadCredentials(f"{origin} is not a kubeconfig: {error}") from error
    except yaml.YAMLError as error:
        raise BadCredentials(f"{origin} is not a kubeconfig: {_without_content(error)}") from error
    for what, entries in (("cluster", file.clusters), ("user", file.users), ("context", file.contexts)):
        counts = Counter(entry.name for entry in entries or ())
        if twice := [name for name, count in counts.items() if count > 1]:
            raise BadCredentials(f"{origin} has more than one {what} named {twice[0]!r}; remove all but one")
    return _Merged(
        file.current_context,
        {entry.name: _absolute_cluster(entry.cluster, folder) for entry in file.clusters or ()},
        {entry.name: _absolute_user(entry.user, folder) for entry in file.users or ()},
        {entry.name: entry.context for entry in file.contexts or ()},
    )


def _without_content(error: yaml.YAMLError) -> str:
    """What is wrong and where. PyYAML would quote the line, and there may be a secret in it."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return "it is not YAML"
    said = ", ".join(filter(None, (error.context, error.problem)))
    return f"{said}, line {error.problem_mark.line + 1}" if error.problem_mark else said


def _absolute_cluster(cluster: Cluster, folder: Path) -> Cluster:
    return msgspec.structs.replace(
        cluster, certificate_authority=_absolute(cluster.certificate_authority, folder)
    )


def _absolute_user(user: User, folder: Path) -> User:
    program = user.exec
    if program and os.sep in program.command:  # a bare name is looked up in PATH
        program = msgspec.structs.replace(program, command=_absolute(program.command, folder))
    return msgspec.structs.replace(
        user,
        exec=program,
        client_certificate=_absolute(user.client_certificate, folder),
        client_key=_absolute(user.client_key, folder),
        token_file=_absolute(user.token_file, folder),
    )


def _absolute(path: str, folder: Path) -> str:
    return str(folder.absolute() / path) if path else ""
