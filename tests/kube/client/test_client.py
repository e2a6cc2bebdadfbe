"""Each verb on the real API server."""

import asyncio
import gc
from collections.abc import Mapping

import pytest

from hibernator import __version__
from hibernator.api.core import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, ConfigMap
from hibernator.api.kind import Kind
from hibernator.api.meta import Object, ObjectMeta
from hibernator.kube.client import Client
from hibernator.kube.errors import AlreadyExists, Conflict, Gone, Invalid, NotFound, Undecodable
from hibernator.kube.transport import Call
from hibernator.kube.wire import Added, BrokenEvent, Deleted, Modified, Page
from support.faultproxy import FaultProxy
from support.faults import Answer, gone_in_watch
from support.watching import watched


class Numbered(Object):
    """A ConfigMap as somebody would type it who expects numbers in it, which there never are."""

    data: Mapping[str, int] = {}


NUMBERED = Kind(Numbered, "", "v1", "ConfigMap", "configmaps")


async def make(
    client: Client, namespace: str, name: str, labels: Mapping[str, str] | None = None
) -> ConfigMap:
    meta = ObjectMeta(name=name, labels=labels or {})
    return await client.create(CONFIG_MAPS, ConfigMap(metadata=meta, data={"k": "v"}), namespace)


async def test_what_was_created_is_got(client: Client, namespace: str) -> None:
    made = await make(client, namespace, "a")
    got = await client.get(CONFIG_MAPS, "a", namespace)
    assert got == made
    assert got.metadata.uid
    assert got.data == {"k": "v"}


async def test_what_is_not_there_is_not_found(client: Client, namespace: str) -> None:
    with pytest.raises(NotFound, match='configmaps "a" not found'):
        await client.get(CONFIG_MAPS, "a", namespace)


async def test_a_name_is_given_once(client: Client, namespace: str) -> None:
    await make(client, namespace, "a")
    with pytest.raises(AlreadyExists):
        await make(client, namespace, "a")


async def test_a_mistake_is_told_with_its_field(client: Client, namespace: str) -> None:
    with pytest.raises(Invalid) as caught:
        await make(client, namespace, "Not_A_Name")
    assert [cause.field for cause in caught.value.causes] == ["metadata.name"]


@pytest.mark.parametrize("name", ["", ".", "..", "../secrets/x", "a/b", "a%2Fb"])
async def test_a_name_never_becomes_a_path_to_something_else(
    shaken: Client, proxy: FaultProxy, namespace: str, name: str
) -> None:
    with pytest.raises(Invalid, match="cannot be the name of a ConfigMap"):
        await shaken.get(CONFIG_MAPS, name, namespace)
    with pytest.raises(Invalid, match="cannot be the name of a ConfigMap"):
        await shaken.delete(CONFIG_MAPS, name, namespace)
    assert proxy.requests == []


async def test_a_name_is_quoted(client: Client, namespace: str) -> None:
    with pytest.raises(NotFound, match=r'configmaps "a\?watch=true#x" not found'):
        await client.get(CONFIG_MAPS, "a?watch=true#x", namespace)


async def test_an_object_in_no_namespace_is_asked_for_only_where_there_is_none(client: Client) -> None:
    assert (await client.get(NAMESPACES, "default")).status.phase == "Active"
    with pytest.raises(Invalid, match="a ConfigMap lives in a namespace"):
        await client.get(CONFIG_MAPS, "a")
    with pytest.raises(Invalid, match="a ConfigMap lives in a namespace"):
        await client.create(CONFIG_MAPS, {"metadata": {"name": "a"}})


async def test_a_list_comes_in_pages_of_one_version(
    shaken: Client, proxy: FaultProxy, namespace: str
) -> None:
    for number in range(7):
        await make(shaken, namespace, f"x{number}", {"app": "x"})
    pages = [page async for page in shaken.pages(CONFIG_MAPS, namespace, limit=3, label_selector="app=x")]
    assert [[item.metadata.name for item in page.items] for page in pages] == [
        ["x0", "x1", "x2"],
        ["x3", "x4", "x5"],
        ["x6"],
    ]
    assert len({page.resource_version for page in pages}) == 1
    assert len(proxy.seen("GET", "limit=3")) == 3


async def test_of_a_long_list_no_page_is_held_while_the_next_one_comes(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        await make(client, namespace, f"x{number}", {"app": "x"})
    held: list[int] = []
    send = client._open.send

    async def counting(call: Call) -> bytes:
        held.append(sum(isinstance(one, Page) for one in gc.get_objects()))
        return await send(call)

    monkeypatch.setattr(client._open, "send", counting)
    async for page in client.pages(CONFIG_MAPS, namespace, limit=1, label_selector="app=x"):
        del page
    assert held == [held[0]] * 3


async def test_a_list_can_be_narrowed(client: Client, namespace: str) -> None:
    await make(client, namespace, "a", {"app": "x"})
    await make(client, namespace, "b", {"app": "y"})
    by_label = await client.list(CONFIG_MAPS, namespace, label_selector="app in (x)")
    by_field = await client.list(CONFIG_MAPS, namespace, field_selector="metadata.name=b")
    assert [[item.metadata.name for item in found] for found in (by_label, by_field)] == [["a"], ["b"]]


async def test_a_list_that_cannot_go_on_is_gone(shaken: Client, proxy: FaultProxy, namespace: str) -> None:
    for number in range(3):
        await make(shaken, namespace, f"x{number}")
    proxy.next(path="continue=", action=Answer(410, "Expired"))
    with pytest.raises(Gone):
        [page async for page in shaken.pages(CONFIG_MAPS, namespace, limit=1)]


async def test_a_broken_object_does_not_hide_its_neighbours(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, {"metadata": {"name": "broken"}, "data": {"k": "v"}}, namespace)
    await client.create(CONFIG_MAPS, {"metadata": {"name": "fine"}}, namespace)
    found = await client.list(NUMBERED, namespace, field_selector="metadata.name!=kube-root-ca.crt")
    assert [item.metadata.name for item in found] == ["fine"]
    with pytest.raises(Undecodable, match=r"Expected `int`, got `str` - at `\$.data\[...\]`"):
        await client.get(NUMBERED, "broken", namespace)


async def test_who_may_not_list_a_kind_learns_whether_it_is_there(client: Client) -> None:
    assert await client.serves("apps")
    assert not await client.serves("nowhere.example")


async def test_a_watch_tells_what_happens_after_a_version(client: Client, namespace: str) -> None:
    first = await make(client, namespace, "a")
    await client.patch(CONFIG_MAPS, "a", namespace, {"data": {"k": "w"}}, resource_version=None)
    await make(client, namespace, "b")
    await client.delete(CONFIG_MAPS, "a", namespace)
    told = []
    async for event in watched(client, CONFIG_MAPS, first.metadata.resource_version, namespace):
        assert isinstance(event, Added | Modified | Deleted)
        told.append((type(event).__name__, event.object.metadata.name))
        if len(told) == 3:
            break
    assert told == [("Modified", "a"), ("Added", "b"), ("Deleted", "a")]


async def test_a_watch_ends_when_its_time_is_over(client: Client, namespace: str) -> None:
    first = await make(client, namespace, "a")
    events = [
        event
        async for event in watched(client, CONFIG_MAPS, first.metadata.resource_version, namespace, seconds=1)
    ]
    assert [event for event in events if isinstance(event, Added | Modified | Deleted)] == []


async def test_a_line_of_a_watch_may_be_longer_than_any_buffer(client: Client, namespace: str) -> None:
    first = await make(client, namespace, "a")
    body = {"metadata": {"name": "big"}, "data": {"k": "x" * 1_000_000}}
    await client.create(CONFIG_MAPS, body, namespace)
    async for event in watched(client, CONFIG_MAPS, first.metadata.resource_version, namespace):
        assert isinstance(event, Added)
        assert len(event.object.data["k"]) == 1_000_000
        break


async def test_a_broken_object_does_not_end_a_watch(client: Client, namespace: str) -> None:
    first = await make(client, namespace, "a")
    await make(client, namespace, "broken")
    await client.create(CONFIG_MAPS, {"metadata": {"name": "fine"}}, namespace)
    told = []
    async for event in watched(client, NUMBERED, first.metadata.resource_version, namespace):
        told.append(event)
        if len(told) == 2:
            break
    assert isinstance(told[0], BrokenEvent)
    assert told[0].object.name == "broken"
    assert isinstance(told[1], Added)


async def test_a_version_that_is_too_old_to_watch_from_is_gone(
    shaken: Client, proxy: FaultProxy, namespace: str
) -> None:
    first = await make(shaken, namespace, "a")
    await make(shaken, namespace, "b")
    for action in (Answer(410, "Expired"), gone_in_watch(after=1)):
        proxy.next(path="watch=true", action=action)
        with pytest.raises(Gone):
            [
                event
                async for event in watched(shaken, CONFIG_MAPS, first.metadata.resource_version, namespace)
            ]


async def test_a_patch_changes_what_it_names_and_nothing_else(client: Client, namespace: str) -> None:
    await make(client, namespace, "a", {"app": "x"})
    patch = {"data": {"k": None, "new": "1"}}
    made = await client.patch(CONFIG_MAPS, "a", namespace, patch, resource_version=None)
    assert made.data == {"new": "1"}
    assert made.metadata.labels == {"app": "x"}


async def test_a_patch_is_refused_if_the_object_has_changed_since(client: Client, namespace: str) -> None:
    first = await make(client, namespace, "a")
    patch = {"metadata": {"labels": {"app": "x"}}}
    version = first.metadata.resource_version
    changed = await client.patch(CONFIG_MAPS, "a", namespace, patch, resource_version=version)
    assert changed.metadata.labels == {"app": "x"}
    with pytest.raises(Conflict):
        await client.patch(CONFIG_MAPS, "a", namespace, {"data": {"k": "w"}}, resource_version=version)
    assert patch == {"metadata": {"labels": {"app": "x"}}}  # what was handed in is left alone


async def test_a_patch_is_refused_if_the_object_is_another_of_that_name(
    client: Client, namespace: str
) -> None:
    first = await make(client, namespace, "a")
    await client.delete(CONFIG_MAPS, "a", namespace)
    await make(client, namespace, "a")
    with pytest.raises(Conflict):
        await client.patch(
            CONFIG_MAPS, "a", namespace, {"data": {"k": "w"}}, resource_version=None, uid=first.metadata.uid
        )


async def test_a_part_of_an_object_is_patched_by_itself(client: Client, namespace: str) -> None:
    labels = {"app": "x"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}
    await client.create(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec}, namespace)
    patch = {"status": {"observedGeneration": 7}, "spec": {"replicas": 9}}
    made = await client.patch(DEPLOYMENTS, "d", namespace, patch, resource_version=None, subresource="status")
    assert made.status.observed_generation == 7
    assert made.spec.replicas == 0


async def test_applied_fields_have_one_owner(client: Client, namespace: str) -> None:
    body = {"metadata": {"name": "a", "namespace": namespace}, "data": {"k": "1"}}
    await client.apply(CONFIG_MAPS, body, field_manager="first")
    other = body | {"data": {"k": "2"}}
    with pytest.raises(Conflict, match='conflict with "first"'):
        await client.apply(CONFIG_MAPS, other, field_manager="second")
    made = await client.apply(CONFIG_MAPS, other, field_manager="second", force=True)
    assert made.data == {"k": "2"}


async def test_only_the_very_object_that_was_meant_is_deleted(client: Client, namespace: str) -> None:
    first = await make(client, namespace, "a")
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, uid="another")
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, resource_version="1")
    await client.delete(CONFIG_MAPS, "a", namespace, uid=first.metadata.uid)
    with pytest.raises(NotFound):
        await client.delete(CONFIG_MAPS, "a", namespace)


async def test_the_cluster_says_who_may_do_what(client: Client, namespace: str) -> None:
    rule = {
        "metadata": {"name": f"{namespace}-approvers"},
        "rules": [
            {
                "apiGroups": ["hibernator.ardikabs.com"],
                "resources": ["scheduleexceptions"],
                "verbs": ["approve"],
                "resourceNames": ["x"],
            }
        ],
    }
    binding = {
        "metadata": {"name": "approvers"},
        "roleRef": {"kind": "ClusterRole", "name": f"{namespace}-approvers", "apiGroup": _RBAC},
        "subjects": [{"kind": "Group", "name": "leads", "apiGroup": _RBAC}],
    }
    await client.create(_ROLES, rule)
    await client.create(_BINDINGS, binding, namespace)

    async def may(*groups: str, name: str = "x", verb: str = "approve") -> bool:
        return await client.may(
            user="ann",
            groups=groups,
            extra={"scopes": ["all"]},
            verb=verb,
            resource="scheduleexceptions",
            group="hibernator.ardikabs.com",
            namespace=namespace,
            name=name,
        )

    async with asyncio.timeout(60):
        while not await may("leads"):  # noqa: ASYNC110  the API server reads the binding by its own watch
            await asyncio.sleep(0.05)
    assert [
        await may("leads"),
        await may("devs"),
        await may("leads", name="y"),
        await may("leads", verb="get"),
    ] == [
        True,
        False,
        False,
        False,
    ]
    await client.delete(_ROLES, f"{namespace}-approvers")


async def test_requests_say_who_sends_them_and_share_a_connection(
    shaken: Client, proxy: FaultProxy, namespace: str
) -> None:
    for _ in range(5):
        await shaken.list(CONFIG_MAPS, namespace)
    assert {seen.headers["User-Agent"] for seen in proxy.requests} == {f"hibernator/{__version__}"}
    assert len({seen.connection for seen in proxy.requests}) == 1


async def test_a_closed_client_says_so(client: Client) -> None:
    closed = Client(client.credentials)
    with pytest.raises(RuntimeError, match="inside `async with`"):
        await closed.list(NAMESPACES)


_RBAC = "rbac.authorization.k8s.io"
_ROLES = Kind(Object, _RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
_BINDINGS = Kind(Object, _RBAC, "v1", "RoleBinding", "rolebindings")
