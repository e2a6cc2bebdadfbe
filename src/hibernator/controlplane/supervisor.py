"""The process that owns a control plane: it starts the others, watches over them and takes them down.

It is a process of its own so that the owner of a control plane may die in any way. It ends when its
standard input does, which the kernel sees to when the owner is gone, and its children hang on a tether to
it. It stays single-threaded: signals and the end of the input arrive in one place, `_wait`.

Run as `python -m hibernator.controlplane.supervisor SPEC`. The first process returns when the control plane
answers, and prints what happens on the way as lines of JSON; the supervisor proper lives on.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from io import FileIO
from pathlib import Path

import msgspec

from hibernator.controlplane import certs, components
from hibernator.controlplane.access import Access, RequestError, node_accepts_pods, node_exists, node_name
from hibernator.controlplane.components import Process
from hibernator.controlplane.errors import ControlPlaneError
from hibernator.controlplane.layout import Layout, claim, remove
from hibernator.controlplane.ports import free_port
from hibernator.controlplane.protocol import Failed, Ready, Report, Spec, State, Step
from hibernator.controlplane.tether import tethered

_START_DEADLINE = 240  # seconds; three are usual, a machine that runs much else at once needs many
_PORT_ATTEMPTS = 5
_ANSWER_DEADLINE = 3  # seconds; another process that took the port may accept connections and never answer
_LOOK_EVERY = 0.05  # seconds, while something starts
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _StopAsked(Exception):  # noqa: N818 -- not an error
    """A signal, or the end of the owner."""


class _ProcessEnded(Exception):  # noqa: N818 -- people see a ControlPlaneError
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Supervisor:
    def __init__(self, spec: Spec, report: Callable[[Report], None]) -> None:
        self._spec = spec
        self._report = report
        self._layout = Layout(Path(spec.directory))
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        # What becomes readable when this is to end; no one writes to the input, so that is its end.
        self._watched = [] if spec.outlives_owner else [sys.stdin.fileno()]
        self._wake, wake_writer = socket.socketpair()
        self._wake.setblocking(False)
        wake_writer.setblocking(False)
        signal.set_wakeup_fd(wake_writer.detach(), warn_on_full_buffer=False)
        for number in (*_STOP_SIGNALS, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)  # the wake-up socket carries the number

    def run(self) -> None:
        """Start everything and stay until asked to stop; then nothing is left. A failure leaves the logs."""
        lock = claim(self._layout)
        try:
            # Open for writing too, or it would be at its end, and readable, while no one writes to it.
            self._watched.append(os.open(self._layout.stop, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
            self._start()
            while True:
                self._wait(None)
        except _StopAsked:
            self._kill_all()
            remove(self._layout)
        except _ProcessEnded as ended:
            failure = self._explained(ended)
            self._layout.failure.write_bytes(msgspec.json.encode(failure))
            raise ControlPlaneError(failure.text, hint=failure.hint) from None
        finally:
            self._kill_all()
            lock.release()

    def _start(self) -> None:
        layout = self._layout
        layout.logs.mkdir()
        certs.write_all(layout)
        self._report(Step("Starting etcd and kube-apiserver"))
        self._spawn(components.etcd())
        access = self._start_api_server()
        self._report(Step("Starting kube-controller-manager"))
        self._spawn(components.controller_manager(layout, hurried=self._spec.hurried))
        # Making a Pod needs this account, and the controller manager makes it once it works.
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self._until("kube-controller-manager works", partial(access.request, "GET", account))
        if self._spec.nodes:
            self._start_nodes(access)
        State(url=access.url, kubectl=self._spec.binaries[components.KUBECTL]).write(layout)
        self._report(Ready())

    def _start_nodes(self, access: Access) -> None:
        numbers = range(1, self._spec.nodes + 1)
        self._report(Step("Starting kube-scheduler and kwok"))
        self._spawn(components.scheduler(self._layout))
        self._spawn(components.kwok(self._layout, self._spec.stages))
        for number in numbers:
            self._until(f"{node_name(number)} exists", partial(node_exists, access, number))
        for number in numbers:
            self._until(f"{node_name(number)} accepts Pods", partial(node_accepts_pods, access, number))

    def _start_api_server(self) -> Access:
        """Start it on a free port; someone may take that port before the server does, so try several."""
        layout = self._layout
        for _ in range(_PORT_ATTEMPTS):
            port = free_port()
            url = f"https://127.0.0.1:{port}"
            components.write_files(layout, url)
            files = (layout.cert(certs.CA), layout.cert(certs.ADMIN), layout.key(certs.ADMIN))
            access = Access(url, *files, timeout=_ANSWER_DEADLINE)
            self._spawn(components.api_server(layout, port))
            try:
                self._until("kube-apiserver is ready", partial(access.request, "GET", "/readyz"))
            except _ProcessEnded as ended:
                if ended.name != components.API_SERVER or not self._port_was_taken():
                    raise
                del self._running[components.API_SERVER]
            else:
                return access
        raise ControlPlaneError(f"No free port could be had for kube-apiserver in {_PORT_ATTEMPTS} attempts.")

    def _port_was_taken(self) -> bool:
        return b"address already in use" in self._layout.log(components.API_SERVER).read_bytes()

    def _spawn(self, process: Process) -> None:
        command = tethered([self._spec.binaries[process.name], *process.arguments])
        with self._layout.log(process.name).open("wb") as log:
            self._running[process.name] = subprocess.Popen(  # noqa: S603 -- found by us, not named by input
                command,
                cwd=self._layout.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _until(self, what: str, holds: Callable[[], object]) -> None:
        """Ask again and again; an error and a false answer both mean "not yet"."""
        deadline = time.monotonic() + _START_DEADLINE
        while True:
            with contextlib.suppress(OSError, RequestError):
                if holds():
                    return
            if time.monotonic() > deadline:
                raise ControlPlaneError(
                    f"Timed out after {_START_DEADLINE} s of waiting until {what}.",
                    hint=f"The logs are in {self._layout.logs}.",
                )
            self._wait(_LOOK_EVERY)

    def _wait(self, seconds: float | None) -> None:
        """Sleep until something happens; raise if that something ends the control plane."""
        readable, _, _ = select.select([self._wake, *self._watched], [], [], seconds)
        if any(fd in readable for fd in self._watched):
            raise _StopAsked
        if any(number in _STOP_SIGNALS for number in self._signals()):
            raise _StopAsked
        for name, process in self._running.items():
            if process.poll() is not None:
                raise _ProcessEnded(name)

    def _signals(self) -> Iterator[int]:
        with contextlib.suppress(BlockingIOError):
            yield from self._wake.recv(4096)

    def _kill_all(self) -> None:
        """Nothing is worth an orderly end: the directory goes away with them."""
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()

    def _explained(self, ended: _ProcessEnded) -> Failed:
        log = self._layout.log(ended.name)
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        last = "\n".join(f"  {line}" for line in lines[-5:])
        return Failed(
            f"{ended.name} ended by itself, so the control plane was taken down.",
            hint=f"Its log {log} ends with:\n{last}",
        )


def _live(spec: Spec, reports: FileIO) -> None:
    """Be the supervisor, out of the way of the terminal and of the owner's output and folder."""
    os.setsid()
    os.chdir("/")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)

    def report(what: Report) -> None:
        if reports.closed:
            return
        with contextlib.suppress(BrokenPipeError):  # the owner is gone; the end of the input says so too
            reports.write(msgspec.json.encode(what) + b"\n")
        if isinstance(what, Ready | Failed):
            reports.close()

    try:
        supervisor = Supervisor(spec, report)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
        supervisor.run()
    except ControlPlaneError as error:
        report(Failed(str(error), error.hint))
    except Exception as error:  # noqa: BLE001 -- the last place where it can be reported
        report(Failed(f"The supervisor of the control plane failed: {error!r}"))


def main() -> None:
    spec = msgspec.json.decode(sys.argv[1], type=Spec)
    reader, writer = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)  # until both know what to do about them
    child = os.fork()
    if child == 0:
        os.close(reader)
        _live(spec, FileIO(writer, "w"))
        os._exit(0)
    os.close(writer)
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda signum, _: os.kill(child, signum))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
    with os.fdopen(reader, "rb") as lines:
        for line in lines:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
