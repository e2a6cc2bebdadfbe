"""Of a kind that is only asked for its metadata, nothing else comes over the wire or into memory."""

import json

from hibernator.api.core import CONFIG_MAPS, HOLIDAY_MAPS
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.kube.transport import Call
from hibernator.kube.wire import Added
from support.cluster import ClusterInTest
from support.watching import watched

LARGE = 200_000


async def test_the_data_and_annotations_of_config_maps_stay_at_the_api_server(
    cluster: ClusterInTest, namespace: str
) -> None:
    sizes: dict[str, int] = {}
    async with Client(credentials.find(str(cluster.kubeconfig))) as client:
        transport = client._open
        send = transport.send

        async def measured(call: Call) -> bytes:
            body = await send(call)
            sizes[call.verb] = len(body)
            return body

        transport.send = measured  # type: ignore[method-assign]  # to see what comes over the wire
        body = {"metadata": {"name": "large", "annotations": {"a": "x" * LARGE}}, "data": {"b": "x" * LARGE}}
        made = await client.create(CONFIG_MAPS, body, namespace)
        found = {one.metadata.name: one for one in await client.list(HOLIDAY_MAPS, namespace)}
        assert sizes["list"] < 2 * LARGE  # the annotation comes along, the data does not
        large = found["large"]
        assert large.metadata.uid == made.metadata.uid
        assert large.metadata.resource_version == made.metadata.resource_version
        assert not large.metadata.annotations
        assert len(json.dumps(repr(large))) < 2_000
        version = str(int(made.metadata.resource_version) - 1)
        async for event in watched(client, HOLIDAY_MAPS, version, namespace, seconds=5):
            if isinstance(event, Added) and event.object.metadata.name == "large":
                assert not event.object.metadata.annotations
                break
