"""A control plane of a test's own whose etcd can be set back to a backup, as an administrator does it.

A backup is a copy of the data of a stopped etcd. A restore may also bump the revisions and compact all that
went before, which is what `etcdutl snapshot restore --bump-revision --mark-compacted` leaves behind: objects
as old as the backup, in an etcd that counts on from a revision that nobody has seen.
"""

import base64
import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hibernator.controlplane import certs, components
from hibernator.controlplane.access import RequestError
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.components import KUBECTL, Process
from hibernator.controlplane.layout import Layout
from hibernator.controlplane.ports import free_port
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.protocol import State
from hibernator.controlplane.tether import tethered
from hibernator.controlplane.versions import needed
from support.cluster import ClusterInTest

_DEADLINE = 120.0  # seconds; reached only by a test that fails
_LOOK_EVERY = 0.05
_BUMP = 500  # more than any test lives through
_HERE = base64.b64encode(b"bump").decode()


class Restorable:
    """An etcd and an API server; no controllers, because nothing here needs them."""

    def __init__(self, folder: Path) -> None:
        self._layout = Layout(folder)
        self._binaries = find_or_build(needed(nodes=False), PlainReporter()).paths
        self._port = free_port()
        self._etcd: subprocess.Popen[bytes] | None = None
        self._server: subprocess.Popen[bytes] | None = None
        state = State(url=f"https://127.0.0.1:{self._port}", kubectl=str(self._binaries[KUBECTL]))
        self.cluster = ClusterInTest(self._layout, state)

    def start(self) -> None:
        self._layout.logs.mkdir()
        certs.write_all(self._layout)
        components.write_files(self._layout, self.cluster.url)
        self._start_etcd()
        self._start_server()

    def stop(self) -> None:
        """At once: asked nicely, the API server would first wait a minute for watches to end."""
        for process in (self._server, self._etcd):
            if process:
                process.kill()
                process.wait()

    def backup(self) -> None:
        """Copy what etcd has; the API server waits for it meanwhile."""
        assert self._etcd
        self._etcd.terminate()
        self._etcd.wait()
        shutil.copytree(self._data, self._saved)
        self._start_etcd()
        self._until(lambda: self.cluster.request("GET", "/readyz"))

    def restore(self, *, bump: bool) -> None:
        """Set everything back to the backup."""
        self.stop()
        shutil.rmtree(self._data)
        shutil.copytree(self._saved, self._data)
        self._start_etcd()
        if bump:
            self._bump()
        self._start_server()

    @property
    def _data(self) -> Path:
        return self._layout.root / "etcd-data"

    @property
    def _saved(self) -> Path:
        return self._layout.root / "backup"

    def _bump(self) -> None:
        revision = 0
        for _ in range(_BUMP):
            revision = int(self._ask_etcd("/v3/kv/put", {"key": _HERE, "value": _HERE})["header"]["revision"])
        self._ask_etcd("/v3/kv/compaction", {"revision": revision})

    def _start_etcd(self) -> None:
        self._etcd = self._spawn(components.etcd())
        self._until(lambda: self._ask_etcd("/v3/kv/range", {"key": _HERE}))

    def _start_server(self) -> None:
        self._server = self._spawn(components.api_server(self._layout, self._port))
        self._until(lambda: self.cluster.request("GET", "/readyz"))

    def _spawn(self, process: Process) -> subprocess.Popen[bytes]:
        with self._layout.log(process.name).open("ab") as log:
            return subprocess.Popen(
                tethered([str(self._binaries[process.name]), *process.arguments]),
                cwd=self._layout.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _ask_etcd(self, path: str, body: dict[str, Any]) -> Any:
        with socket.socket(socket.AF_UNIX) as way:
            way.connect(str(self._layout.root / "etcd:0"))
            connection = http.client.HTTPConnection("etcd")
            connection.sock = way
            connection.request("POST", path, json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise OSError(text.decode())
        return json.loads(text)

    def _until(self, holds: Any) -> None:
        give_up = time.monotonic() + _DEADLINE
        while True:
            try:
                if holds():
                    return
            except (OSError, RequestError, http.client.HTTPException):
                if time.monotonic() > give_up:
                    raise
            time.sleep(_LOOK_EVERY)  # nobody tells when a process listens


@contextmanager
def restorable() -> Iterator[Restorable]:
    """One that is up, in a folder whose name is short enough for a unix socket."""
    folder = Path(tempfile.mkdtemp(prefix="hibernator-restore-"))
    made = Restorable(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder)
