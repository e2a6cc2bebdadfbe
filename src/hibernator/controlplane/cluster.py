"""A control plane as its users see it: start it, use it, stop it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hibernator.controlplane import auditlog, certs
from hibernator.controlplane.access import Access
from hibernator.controlplane.auditlog import Write
from hibernator.controlplane.binaries import Binaries
from hibernator.controlplane.errors import ControlPlaneError
from hibernator.controlplane.layout import Layout, remove_if_stale
from hibernator.controlplane.locks import is_held, wait_until_free
from hibernator.controlplane.protocol import Failed, Ready, Report, Spec, State, Step

_SUPERVISOR = "hibernator.controlplane.supervisor"
_STOP_DEADLINE = 30  # seconds
_ESTABLISHED_DEADLINE = 60  # seconds
_LOOK_EVERY = 0.02  # seconds
_INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class KubectlError(Exception):
    """kubectl ended with an error; the text is what it wrote to its standard error."""


def _is_established(crd: dict[str, Any]) -> bool:
    conditions = crd.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A control plane that is up."""

    layout: Layout
    state: State

    @staticmethod
    def at(directory: Path) -> "Cluster | None":
        """The control plane that is up in this directory, if one is."""
        layout = Layout(directory.absolute())
        state = State.read(layout)
        return Cluster(layout, state) if state and is_held(layout.lock) else None

    @property
    def url(self) -> str:
        return self.state.url

    @property
    def kubeconfig(self) -> Path:
        return self.layout.kubeconfig

    @property
    def ca(self) -> Path:
        return self.layout.cert(certs.CA)

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,  # noqa: A002 -- the name that subprocess.run has made known
        as_user: str | None = None,
        as_groups: tuple[str, ...] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the admin, or as someone else; KubectlError says why it failed."""
        ours = [f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.layout.root / 'kubectl-cache'}"]
        impersonation = [f"--as={as_user}"] if as_user else []
        impersonation += [f"--as-group={group}" for group in as_groups]
        done = subprocess.run(  # noqa: S603 -- the kubectl that the finder found
            [self.state.kubectl, *ours, *impersonation, *arguments],
            input=input,
            env={**os.environ, "KUBERC": "off"},  # a person's preferences are for what that person types
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise KubectlError(done.stderr.strip() or done.stdout.strip())
        return done

    def request(self, method: str, path: str, body: object = None) -> Any:
        """One request as the admin, for what need not be the work of kubectl."""
        admin = Access(self.url, self.ca, self.layout.cert(certs.ADMIN), self.layout.key(certs.ADMIN))
        return admin.request(method, path, body)

    def until_established(self) -> None:
        """Return once every CRD is served; `kubectl wait` fails on one that has no conditions yet."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        deadline = time.monotonic() + _ESTABLISHED_DEADLINE
        while missing := [
            crd["metadata"]["name"] for crd in self.request("GET", path)["items"] if not _is_established(crd)
        ]:
            if time.monotonic() > deadline:
                raise ControlPlaneError(f"the API server does not serve {', '.join(missing)}")
            time.sleep(_LOOK_EVERY)

    def writes(self, namespace: str | None = None) -> list[Write]:
        """Every write that the API server answered so far, oldest first, from its audit log."""
        return auditlog.writes(self.layout.audit, namespace)


def start(
    directory: Path,
    binaries: Binaries,
    *,
    lifeline: int | None,
    nodes: int = 0,
    hurried: bool = True,
    on_step: Callable[[str], None] = lambda _: None,
) -> Cluster:
    """Start a control plane that ends when the file descriptor `lifeline` does; never by itself if None."""
    layout = Layout(directory.absolute())
    spec = Spec(
        directory=str(layout.root),
        binaries={name: str(path) for name, path in binaries.paths.items()},
        outlives_owner=lifeline is None,
        nodes=nodes,
        stages=str(binaries.stages or ""),
        hurried=hurried,
    )
    command = [sys.executable, "-P", "-m", _SUPERVISOR, msgspec.json.encode(spec).decode()]
    with _held() as let_in:
        launcher = subprocess.Popen(  # noqa: S603 -- this very interpreter
            command,
            stdin=subprocess.DEVNULL if lifeline is None else lifeline,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the owner, who then takes the control plane down
        )
        last = _follow(launcher, let_in, on_step)
    cluster = Cluster.at(directory) if isinstance(last, Ready) else None
    if cluster is None:
        failed = last if isinstance(last, Failed) else Failed("The supervisor ended before it was ready.")
        raise ControlPlaneError(failed.text, hint=failed.hint)
    return cluster


@contextmanager
def _held() -> Iterator[Callable[[], None]]:
    """Keep interruptions waiting until they are let in.

    One between the start of a process and the `try` around it would lose sight of what was started. A mask
    would not do: other threads take the signal, and Python interrupts the main thread all the same.
    """
    waiting: list[int] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {
            number: signal.signal(number, lambda number, _: waiting.append(number))
            for number in _INTERRUPTIONS
        }

    def let_in() -> None:
        while before:
            signal.signal(*before.popitem())
        while waiting:
            signal.raise_signal(waiting.pop())

    try:
        yield let_in
    finally:
        let_in()


def _follow(
    launcher: subprocess.Popen[bytes], let_in: Callable[[], None], on_step: Callable[[str], None]
) -> Report | None:
    """Hear the launcher out and return its last word; if interrupted, let it take down what it has begun."""
    last: Report | None = None
    with launcher:
        try:
            let_in()
            for line in launcher.stdout or ():
                last = msgspec.json.decode(line, type=Report)
                if isinstance(last, Step):
                    on_step(last.text)
        except BaseException:
            launcher.terminate()
            launcher.wait()
            raise
    return last


@contextmanager
def running(
    directory: Path,
    binaries: Binaries,
    *,
    nodes: int = 0,
    hurried: bool = True,
    on_step: Callable[[str], None] = lambda _: None,
) -> Iterator[Cluster]:
    """A control plane for the length of a `with` block, also if that is ended by a SIGKILL.

    Unless `hurried`, Kubernetes' own controllers keep to the rates that they have in a cluster that people
    run: then they take minutes to follow what is written to thousands of Deployments at once.
    """
    reader, writer = os.pipe()
    try:
        cluster = start(directory, binaries, lifeline=reader, nodes=nodes, hurried=hurried, on_step=on_step)
    except BaseException:
        os.close(writer)
        raise
    finally:
        os.close(reader)
    try:
        yield cluster
    finally:
        os.close(writer)
        wait_until_down(directory)


def stop(directory: Path) -> bool:
    """Stop what is up, starting or stale in this directory and remove it; False if there was nothing."""
    layout = Layout(directory.absolute())
    was_up = is_held(layout.lock)
    wait_until_down(directory, meanwhile=lambda: _ask_to_stop(layout))
    return remove_if_stale(layout) or was_up


def _ask_to_stop(layout: Layout) -> None:
    with suppress(OSError):  # it does not listen yet, or no longer
        fd = os.open(layout.stop, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(fd, b"stop")
        finally:
            os.close(fd)


def stay_until_down(cluster: Cluster) -> None:
    """Wait until someone takes it down; an exception says why if it ended in any other way."""
    wait_until_free(cluster.layout.lock)
    if cluster.layout.failure.exists():
        failed = msgspec.json.decode(cluster.layout.failure.read_bytes(), type=Failed)
        raise ControlPlaneError(failed.text, hint=failed.hint)
    if remove_if_stale(cluster.layout):
        raise ControlPlaneError("The supervisor of the control plane was killed, and with it all the rest.")


def wait_until_down(directory: Path, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Return when the supervisor is gone, and with it all that it started."""
    layout = Layout(directory.absolute())
    deadline = time.monotonic() + _STOP_DEADLINE
    while is_held(layout.lock):
        if time.monotonic() > deadline:
            raise ControlPlaneError(f"The control plane in {layout.root} did not end in {_STOP_DEADLINE} s.")
        meanwhile()
        time.sleep(_LOOK_EVERY)
