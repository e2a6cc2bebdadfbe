"""Three replicas as processes, each on a wire of its own that can be cut, and a witness of their writes."""

import asyncio
import itertools
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from hibernator.api.core import CONFIG_MAPS, LEASES, ConfigMap
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.errors import NotFound
from support import replica
from support.cluster import ClusterInTest

_DEADLINE = 60.0  # real seconds; reached only by a test that fails
_LOOK_EVERY = 0.01


class Wire:
    """Carries bytes to a port of this machine, or does not."""

    def __init__(self, port: int) -> None:
        self.upstream = port
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._refusing = False
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    @asynccontextmanager
    async def carrying(self) -> AsyncIterator["Wire"]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.cut()

    def cut(self) -> None:
        """Break what stands and take nothing new."""
        self._refusing = True
        for writer in self._writers:
            writer.transport.abort()

    def hang(self) -> None:
        """Take everything and pass nothing on, as a firewall that drops packets does."""
        self._flowing.clear()

    def heal(self) -> None:
        self._refusing = False
        self._flowing.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        self._writers |= {writer, up_writer}
        await asyncio.gather(self._pump(reader, up_writer), self._pump(up_reader, writer))
        self._writers -= {writer, up_writer}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.transport.abort()


class Written(NamedTuple):
    """One state of the ConfigMap that the leader counts up."""

    number: int
    epoch: int
    holder: str


class Witness:
    """Sees every state of the ConfigMap, in order, on an undisturbed wire."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.history: list[Written] = []
        self._news = asyncio.Event()
        self._cache = Cache(client, CONFIG_MAPS, namespace, field_selector=f"metadata.name={replica.LOG}")
        self._cache.on_change(self._note)

    def _note(self, _old: ConfigMap | None, new: ConfigMap | None) -> None:
        if new and "number" in new.data:
            data = new.data
            self.history.append(Written(int(data["number"]), int(data["epoch"]), data["holder"]))
            self._news.set()

    @asynccontextmanager
    async def watching(self) -> AsyncIterator["Witness"]:
        run = asyncio.create_task(self._cache.run())
        await self._cache.wait_synced()
        try:
            yield self
        finally:
            run.cancel()

    async def until(self, condition: Callable[[Written], bool], what: str) -> Written:
        """Return the latest state, of those that are new, that is like this."""
        seen = len(self.history)
        try:
            async with asyncio.timeout(_DEADLINE):
                while True:
                    new, seen = self.history[seen:], len(self.history)
                    if found := next(filter(condition, reversed(new)), None):
                        return found
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"not seen within {_DEADLINE:g} s: {what}") from None


@dataclass
class Slot:
    """A place where a replica runs, dies, and is started again as somebody else."""

    name: str
    wire: Wire
    kubeconfig: Path
    arguments: list[str]
    lives: int = 0
    process: Process | None = None
    logs: Path = field(init=False)

    def __post_init__(self) -> None:
        self.logs = self.kubeconfig.with_suffix(".log")

    @property
    def identity(self) -> str:
        return f"{self.name}.{self.lives}"

    async def start(self) -> None:
        self.lives += 1
        with self.logs.open("ab") as logs:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                replica.__file__,
                *self.arguments,
                str(self.kubeconfig),
                self.identity,
                stderr=logs,
            )

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        if self.process and self.process.returncode is None:
            self.process.send_signal(number)

    async def says(self, words: str) -> None:
        """Wait until it has logged this."""
        async with asyncio.timeout(_DEADLINE):
            while True:
                if words in self.logs.read_text():
                    return
                await asyncio.sleep(_LOOK_EVERY)

    async def ended(self) -> int:
        """Its exit status, once it is gone."""
        assert self.process
        async with asyncio.timeout(_DEADLINE):
            return await self.process.wait()


@dataclass
class Fleet:
    slots: list[Slot]
    witness: Witness
    client: Client
    namespace: str

    async def progress(self, writes: int = 20) -> Slot:
        """Wait for so many more writes, and tell where the last one came from."""
        enough = len(self.witness.history) + writes
        last = await self.witness.until(
            lambda _: len(self.witness.history) >= enough, f"{writes} more writes"
        )
        return next(slot for slot in self.slots if slot.identity == last.holder)

    async def taken_over_from(self, former: str) -> Written:
        return await self.witness.until(
            lambda written: written.holder != former, f"a write by another replica than {former}"
        )

    async def lease_held_by(self, holder: str) -> None:
        """Wait until the lease is there and says so."""
        async with asyncio.timeout(_DEADLINE):
            while True:
                with suppress(NotFound):
                    lease = await self.client.get(LEASES, replica.LEASE, self.namespace)
                    if lease.spec.holder_identity == holder:
                        return
                await asyncio.sleep(_LOOK_EVERY)

    def interleavings(self) -> list[str]:
        """Where the history is not what it must be: numbers without gaps, one leadership after another."""
        history = self.witness.history
        pairs = list(itertools.pairwise(history))
        first = {written.epoch: written.holder for written in reversed(history)}
        return [
            *(f"a gap: {one} {next_}" for one, next_ in pairs if next_.number != one.number + 1),
            *(f"a former leader wrote: {one} {next_}" for one, next_ in pairs if next_.epoch < one.epoch),
            *(f"a second writer: {each}" for each in history if first[each.epoch] != each.holder),
        ]


@asynccontextmanager
async def fleet(
    cluster: ClusterInTest, client: Client, namespace: str, folder: Path, timing: tuple[float, float, float]
) -> AsyncIterator[Fleet]:
    """Three replicas that run, one with its clock an hour ahead and one with its clock an hour behind."""
    await client.create(LEASES, {"metadata": {"name": replica.LEASE}, "spec": {}}, namespace)
    await client.create(CONFIG_MAPS, {"metadata": {"name": replica.LOG}}, namespace)
    upstream = urlsplit(cluster.url)
    wires = [Wire(upstream.port or 443) for _ in range(3)]
    async with (
        Witness(client, namespace).watching() as witness,
        wires[0].carrying(),
        wires[1].carrying(),
        wires[2].carrying(),
    ):
        slots: list[Slot] = []
        for name, wire, skew in zip("abc", wires, (0, 3600, -3600), strict=True):
            kubeconfig = folder / f"{name}.kubeconfig"
            text = cluster.kubeconfig.read_text()
            kubeconfig.write_text(text.replace(cluster.url, f"https://127.0.0.1:{wire.port}"))
            times = [f"{seconds}" for seconds in timing]
            arguments = [f"--skew={skew}", f"--namespace={namespace}", "--timing", *times, "--"]
            slots.append(Slot(name, wire, kubeconfig, arguments))
        try:
            for slot in slots:
                await slot.start()
            yield Fleet(slots, witness, client, namespace)
        finally:
            for slot in slots:
                if slot.process and slot.process.returncode is None:
                    slot.process.kill()
                    await slot.process.wait()
