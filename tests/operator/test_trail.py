"""The audit trail for the web process: served by the operator, for who the API server says may read it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given, settings, strategies as st
from whenever import Instant

from hibernator.admission.certificates import first
from hibernator.admission.server import WebhookServer
from hibernator.api.core import CONFIG_MAPS
from hibernator.audit import api as trail_api
from hibernator.audit.api import EVENTS, HEAD, read_question
from hibernator.audit.chain import START, Link, misfit
from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.migrate import migrate
from hibernator.audit.reading import PAGE, Filter, Reader
from hibernator.audit.remote import RemoteReader
from hibernator.audit.serving import trail_routes
from hibernator.audit.store import ChainStore
from hibernator.kube import credentials
from hibernator.kube.client import Caller, Client
from hibernator.kube.metrics import Metrics
from hibernator.kube.reading import REQUESTS, Callers, May, ReadApi
from hibernator.kube.remote import AUTHORITY, Remote, from_config_map, from_file
from hibernator.kube.serving import Server
from hibernator.operator.trail import PublishedAuthority
from support.account import operator_kubeconfig, web_kubeconfig, web_settles_in
from support.cluster import ClusterInTest
from support.reading import ENDPOINT, HERE, served
from support.trail import NOON, sleeps


async def anyone(_who: Caller) -> bool:
    return True


@dataclass
class Scene:
    """An operator's trail of five events on its port, and the web process that reads it."""

    url: str
    remote: RemoteReader
    database: Database
    session: aiohttp.ClientSession
    operator: Client
    web: Client
    web_access: credentials.Credentials
    webhooks: WebhookServer
    metrics: Metrics
    namespace: str
    cluster: ClusterInTest
    authority: bytes

    async def status(self, path: str, token: str = "", **parameters: str | int) -> tuple[int, str]:
        """What somebody with this token is answered."""
        headers = {"Authorization": token} if token else {}
        async with self.session.get(
            f"{self.url}{path}", headers=headers, params=parameters, ssl=False
        ) as answer:
            return answer.status, await answer.text()

    async def token(self) -> str:
        return (await self.web_access.access()).headers["Authorization"]


@pytest.fixture(scope="module")
async def scene(crds: ClusterInTest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("trail")
    url = f"sqlite:///{folder}/audit.db"
    namespace = crds.create_namespace()
    own = await asyncio.to_thread(operator_kubeconfig, crds.kubeconfig)
    web_own = await asyncio.to_thread(web_kubeconfig, crds.kubeconfig)
    await asyncio.to_thread(web_settles_in, crds.kubeconfig, namespace)
    async with AsyncExitStack() as stack:
        written = await stack.enter_async_context(Database(url))
        await migrate(written)
        store = ChainStore(written, now=lambda: NOON)
        await store.append(await store.claim("a"), sleeps(1, 2, 3, 4, 5))
        database = await stack.enter_async_context(Database(url, read_only=True))
        operator = await stack.enter_async_context(Client(credentials.find(str(own))))
        web_access = credentials.find(str(web_own))
        web = await stack.enter_async_context(Client(web_access))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        api = await stack.enter_async_context(served(operator, database, namespace))
        remote = RemoteReader(Remote(api.url, session, web_access, from_config_map(web, namespace)))
        yield Scene(
            api.url,
            remote,
            database,
            session,
            operator,
            web,
            web_access,
            api.webhooks,
            api.metrics,
            namespace,
            crds,
            api.authority,
        )


async def test_the_web_process_reads_the_same_trail_as_the_operator(scene: Scene) -> None:
    near = Reader(scene.database)
    assert await scene.remote.page(Filter()) == await near.page(Filter())
    assert await scene.remote.page(Filter(kind="hibernateplan", since=NOON), after=2, limit=2) == (
        await near.page(Filter(), after=2, limit=2)
    )
    assert await scene.remote.page(Filter(types=("no.such", "none"))) == []
    assert [one.sequence for one in await scene.remote.latest(Filter(), 2)] == [4, 5]
    assert await scene.remote.head() == await near.head()
    await scene.remote.check()


async def test_what_comes_over_the_wire_still_proves_the_chain(scene: Scene) -> None:
    link = START
    for entry in await scene.remote.page(Filter()):
        assert misfit(link, entry) == ""
        link = entry.link
    assert link == await scene.remote.head()


async def test_no_one_reads_without_the_right(scene: Scene) -> None:
    kubectl = scene.cluster.kubectl
    other = (await asyncio.to_thread(kubectl, "create", "token", "default", "-n", scene.namespace)).stdout
    good = await scene.token()
    answers = {
        "nothing": await scene.status(HEAD),
        "garbage": await scene.status(HEAD, "Bearer garbage"),
        "changed": await scene.status(HEAD, good[:-4] + "AAAA"),
        "no token": await scene.status(HEAD, "Bearer "),
        "basic": await scene.status(HEAD, "Basic aGliZXJuYXRvcjp4"),
        "long": await scene.status(HEAD, "Bearer " + "x" * 20_000),
        "another account": await scene.status(HEAD, f"Bearer {other.strip()}"),
    }
    assert {name: status for name, (status, _) in answers.items()} == {
        "nothing": 401,
        "garbage": 401,
        "changed": 401,
        "no token": 401,
        "basic": 401,
        "long": 401,
        "another account": 403,
    }
    assert f"nonResourceURL {HEAD}" in answers["another account"][1]
    assert all("sequence" not in text for _, text in answers.values())
    assert scene.metrics.value(REQUESTS, "401") == 6


async def test_an_account_with_the_right_to_one_path_reads_no_other(scene: Scene) -> None:
    class Head(Client):
        async def may_reach(self, who: object, verb: str, path: str) -> bool:  # noqa: ARG002
            return path == HEAD

    async with Head(credentials.find(str(operator_kubeconfig(scene.cluster.kubeconfig)))) as client:
        callers = Callers(client)
        token = await scene.token()

        def may(path: str) -> May:
            return lambda who: client.may_reach(who, "get", path)

        assert [await callers.refusal(token, path, may(path)) for path in (HEAD, EVENTS, HEAD)] == [0, 403, 0]


async def test_a_token_is_asked_about_again_after_seconds_and_many_are_not_kept(scene: Scene) -> None:
    asked: list[str] = []
    now = 0.0

    class Counting(Client):
        async def caller(self, token: str) -> None:
            asked.append(token)

    callers = Callers(Counting(scene.web_access), steady=lambda: now)
    for _ in range(3):
        assert await callers.refusal("Bearer a", HEAD, anyone) == 401
    assert asked == ["a"]
    now = 10.0
    await callers.refusal("Bearer a", HEAD, anyone)
    assert asked == ["a", "a"]
    for number in range(300):
        await callers.refusal(f"Bearer {number}", HEAD, anyone)
    await callers.refusal("Bearer a", HEAD, anyone)
    assert asked.count("a") == 3


async def test_who_was_let_in_does_not_wait_behind_strangers(scene: Scene) -> None:
    """A pod that shows one made-up token after the other must not keep the web process out."""
    now, blocked = 0.0, asyncio.Event()

    class Slow(Client):
        async def caller(self, token: str) -> Caller | None:
            if token != "known":
                await blocked.wait()
                return None
            return Caller("system:serviceaccount:here:web")

    callers = Callers(Slow(scene.web_access), steady=lambda: now)
    assert await callers.refusal("Bearer known", HEAD, anyone) == 0
    async with asyncio.TaskGroup() as group:
        for number in range(300):
            group.create_task(callers.refusal(f"Bearer {number}", HEAD, anyone))
        await asyncio.sleep(0)
        now = 60.0
        assert await callers.refusal("Bearer known", HEAD, anyone) == 0
        blocked.set()
    assert await callers.refusal("Bearer known", HEAD, anyone) == 0


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"limit": 501}, "limit is 501: send a number from 1 to 500"),
        ({"limit": 10**30}, "send a number from 1 to 500"),
        ({"limit": 0}, "limit is 0: send a number from 1 to 500"),
        ({"limit": "many"}, "Expected `int`, got `str` - at `$.limit`"),
        ({"after": -1}, "after is -1: send the number of an event, or 0"),
        ({"since": "yesterday"}, "since is 'yesterday': send a time such as 2026-03-02T12:00:00Z"),
        ({"namespace": "x" * 5000}, "namespace cannot be used: send at most 4096 characters"),
        ({"types": ",".join(["a"] * 101)}, "types has 101 entries: send at most 100"),
        ({"where": "1=1"}, "Object contains unknown field `where`"),
    ],
)
async def test_what_cannot_be_asked_for_is_named(
    scene: Scene, parameters: dict[str, str | int], said: str
) -> None:
    status, text = await scene.status(EVENTS, await scene.token(), **parameters)
    assert status == 400
    assert said in text


async def test_only_reading_is_served(scene: Scene) -> None:
    token = await scene.token()
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        async with scene.session.request(
            method, scene.url + EVENTS, headers={"Authorization": token}, ssl=False
        ) as answer:
            assert answer.status == 405
    assert (await scene.status("/trail/v1/", token))[0] == 404
    assert (await scene.status("/metrics", token))[0] == 404


async def test_a_page_never_has_more_than_the_most_whatever_is_asked_for(scene: Scene) -> None:
    assert len(await scene.remote.page(Filter(), limit=100_000)) == 5
    assert trail_api.question(Filter(), after=0, limit=100_000) == {"limit": str(PAGE)}


async def test_an_answer_that_takes_too_long_is_given_up(scene: Scene) -> None:
    class Slow(Reader):
        async def head(self) -> Link:
            await asyncio.Event().wait()
            return Link(0, "")

    doors = trail_routes(Slow(scene.database))
    api = ReadApi(doors, Callers(scene.operator), scene.metrics, deadline=1.0)
    server = Server(api.app(), host="127.0.0.1", port=0)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(server.run())
        await server.listening.wait()
        headers = {"Authorization": await scene.token()}
        async with scene.session.get(f"http://127.0.0.1:{server.port}{HEAD}", headers=headers) as answer:
            assert (answer.status, await answer.text()) == (504, "No answer within 1 s; ask for less.\n")
        task.cancel()


async def test_an_operator_that_is_away_or_another_is_said_plainly(scene: Scene, tmp_path: Path) -> None:
    away = RemoteReader(
        Remote(
            "https://127.0.0.1:1",
            scene.session,
            scene.web_access,
            from_config_map(scene.web, scene.namespace),
        )
    )
    with pytest.raises(AuditUnavailable, match=r"The operator at https://127\.0\.0\.1:1 cannot be reached"):
        await away.head()
    file = tmp_path / "ca.crt"
    file.write_bytes(first(HERE, Instant.now()).bundle)
    impostor = RemoteReader(Remote(scene.url, scene.session, scene.web_access, from_file(file)))
    with pytest.raises(AuditUnavailable, match="certificate verify failed"):
        await impostor.head()
    file.write_bytes(scene.authority)
    assert (await impostor.head()).sequence == 5
    untold = RemoteReader(
        Remote(scene.url, scene.session, scene.web_access, from_config_map(scene.web, "hibernator-system"))
    )
    with pytest.raises(AuditUnavailable, match="The ConfigMap hibernator-trail-ca in hibernator-system"):
        await untold.head()
    admin = credentials.find(str(scene.cluster.kubeconfig))
    nameless = RemoteReader(Remote(scene.url, scene.session, admin, from_file(file)))
    with pytest.raises(AuditUnavailable, match="This process has no token of the cluster"):
        await nameless.head()


async def test_after_the_authority_changed_the_trail_is_read_on(scene: Scene) -> None:
    ring = first(HERE, Instant.now())
    published = PublishedAuthority(scene.operator, scene.namespace)
    await published.register(ENDPOINT, scene.authority + ring.bundle)
    await published.register(ENDPOINT, None)
    found = await scene.operator.get(CONFIG_MAPS, AUTHORITY, scene.namespace)
    assert found.data == {"ca.crt": (scene.authority + ring.bundle).decode()}
    scene.webhooks.use(ring.current)
    async with aiohttp.ClientSession() as session:  # without a connection of before
        reader = RemoteReader(
            Remote(scene.url, session, scene.web_access, from_config_map(scene.web, scene.namespace))
        )
        assert (await reader.head()).sequence == 5


@given(
    st.builds(
        Filter,
        kind=st.text(max_size=20),
        namespace=st.text(max_size=20),
        name=st.text(max_size=20),
        actor=st.text(max_size=20),
        type=st.text(max_size=20),
        types=st.lists(st.from_regex(r"[a-z.]{1,20}", fullmatch=True), max_size=5).map(tuple),
        since=st.none() | st.integers(0, 2**32).map(Instant.from_timestamp),
        until=st.none() | st.integers(0, 2**32).map(Instant.from_timestamp),
    ),
    st.integers(0, 2**40),
    st.integers(1, 5000),
)
@settings(max_examples=100)
def test_every_question_arrives_as_it_was_asked(wanted: Filter, after: int, limit: int) -> None:
    sent = trail_api.question(wanted, after=after, limit=limit)
    if any("\0" in value for value in sent.values()):
        with pytest.raises(ValueError, match="without NUL"):
            read_question(sent)
        return
    found = read_question(sent)
    assert (found.wanted, found.after, found.limit) == (wanted, after, min(limit, PAGE))
