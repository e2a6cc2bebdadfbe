"""Credentials from a program that the kubeconfig names, such as `aws eks get-token`.

The protocol is `client.authentication.k8s.io`, v1 and v1beta1. A program can be slow and can ask a person to
log in, so it runs beside the event loop, its answer is kept until it expires, and one that fails is not asked
again for a moment: a thousand waiting requests must not start it a thousand times.
"""

import asyncio
import base64
import os
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec
from whenever import Instant

from hibernator.kube.errors import ApiError, BadCredentials, Unavailable
from hibernator.kube.kubeconfig import Cluster, ExecConfig

_GROUP: Final = "client.authentication.k8s.io"
_VERSIONS: Final = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_MODES: Final = ("Never", "IfAvailable", "Always")
_DEADLINE: Final = 60.0
_DEADLINE_WITH_A_PERSON: Final = 300.0
_REST_AFTER_FAILURE: Final = 5.0


class Grant(msgspec.Struct, frozen=True, rename="camel"):
    """What the program answered."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: Grant | None = None


class ExecPlugin:
    """The program of one user, with its last answer."""

    def __init__(
        self, program: ExecConfig, cluster: Cluster, authority: bytes, now: Callable[[], Instant]
    ) -> None:
        _check(program)
        self._program = program
        self._now = now
        self._interactive = program.interactive_mode != "Never" and sys.stdin.isatty()
        self._info = _info(program, cluster, authority, interactive=self._interactive)
        self._grant: Grant | None = None
        self._failed: tuple[float, ApiError] | None = None

    def valid(self) -> bool:
        """Whether the last answer still holds."""
        if self._grant is None:
            return False
        until = self._grant.expiration_timestamp
        return until is None or self._now() < Instant(until)

    async def grant(self, *, afresh: bool = False) -> Grant:
        """The last answer while it holds, otherwise a new one."""
        if self._grant is not None and self.valid() and not afresh:
            return self._grant
        time = asyncio.get_running_loop().time()
        if self._failed is not None and time < self._failed[0] + _REST_AFTER_FAILURE:
            raise self._failed[1]
        try:
            self._grant = await self._ask()
        except ApiError as error:
            self._failed = (time, error)
            raise
        self._failed = None
        return self._grant

    async def _ask(self) -> Grant:
        program = self._program
        if program.interactive_mode == "Always" and not self._interactive:
            raise BadCredentials(
                f"{program.command} has interactiveMode Always and needs a terminal, but there is none; "
                "use credentials that work without a person"
            )
        out = await self._run()
        try:
            answer = msgspec.json.decode(out, type=_Answer)
        except ValueError as error:
            raise BadCredentials(
                f"{program.command} did not answer with an ExecCredential: {error}"
            ) from error
        if (answer.kind, answer.api_version) != ("ExecCredential", program.api_version):
            raise BadCredentials(
                f"{program.command} answered with {answer.kind} of {answer.api_version}, "
                f"but the kubeconfig says apiVersion {program.api_version}"
            )
        grant = answer.status
        if grant is None or not (grant.token or grant.client_certificate_data):
            raise BadCredentials(f"{program.command} answered with neither a token nor a certificate")
        if bool(grant.client_certificate_data) != bool(grant.client_key_data):
            raise BadCredentials(f"{program.command} answered with a certificate or a key without the other")
        return grant

    async def _run(self) -> bytes:
        program = self._program
        extra = {each.name: each.value for each in program.env or ()}
        try:
            process = await asyncio.create_subprocess_exec(
                program.command,
                *(program.args or ()),
                env=os.environ | extra | {"KUBERNETES_EXEC_INFO": self._info},
                stdin=None if self._interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                # A program that talks to a person asks its questions here.
                stderr=None if self._interactive else asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"\n{program.install_hint.strip()}" if program.install_hint else ""
            raise BadCredentials(f"{program.command} cannot be run: {error.strerror}{hint}") from error
        seconds = _DEADLINE_WITH_A_PERSON if self._interactive else _DEADLINE
        try:
            async with asyncio.timeout(seconds):
                out, err = await process.communicate()
        except TimeoutError as error:
            raise Unavailable(f"{program.command} gave no credentials within {seconds:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            said = (err or b"").decode(errors="replace").strip()[-500:]
            raise Unavailable(f"{program.command} ended with exit code {process.returncode}: {said}")
        return out


def _check(program: ExecConfig) -> None:
    if program.api_version not in _VERSIONS:
        raise BadCredentials(
            f"{program.command} has apiVersion {program.api_version!r}; use one of {', '.join(_VERSIONS)}"
        )
    # v1 made the mode a required field; before, its absence meant IfAvailable.
    allowed = _MODES if program.api_version == _VERSIONS[0] else (*_MODES, "")
    if program.interactive_mode not in allowed:
        raise BadCredentials(
            f"{program.command} has interactiveMode {program.interactive_mode!r}; "
            f"use one of {', '.join(_MODES)}"
        )


def _info(program: ExecConfig, cluster: Cluster, authority: bytes, *, interactive: bool) -> str:
    """What the program gets: whether a person is there and, if it asks, which cluster it is for."""
    spec: dict[str, Any] = {"interactive": interactive}
    if program.provide_cluster_info:
        config = [each.extension for each in cluster.extensions or () if each.name == f"{_GROUP}/exec"]
        about = {
            "server": cluster.server,
            "tls-server-name": cluster.tls_server_name,
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
            "certificate-authority-data": base64.b64encode(authority).decode(),
            "proxy-url": cluster.proxy_url,
            "disable-compression": cluster.disable_compression,
            "config": config[0] if config else None,
        }
        spec["cluster"] = {key: value for key, value in about.items() if value}
    whole = {"apiVersion": program.api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(whole).decode()
