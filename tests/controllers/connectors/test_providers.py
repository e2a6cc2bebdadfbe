"""CloudProviders: what their Ready condition says, found out by trying."""

import asyncio
import json
from typing import Any

import pytest
from whenever import TimeDelta

from support.aws import AwsInTest, Fault
from support.connector_scenes import ConnectorScene
from support.gcp import Google, other_key


def of(scene: ConnectorScene) -> Any:
    return scene.ready("cloudproviders", "dev")


async def test_keys_that_work_make_a_provider_ready_and_say_who_one_is(
    scene: ConnectorScene, aws: AwsInTest
) -> None:
    scene.keys()
    scene.aws_provider(aws, assumeRoleArn="arn:aws:iam::123456789012:role/hibernator")
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[0] == "True")
        status, reason, message = of(scene)
        assert (status, reason) == ("True", "Verified")
        assert "assumed-role/hibernator/hibernator" in message
        (told,) = await run.trail("cloudprovider.ready")
        assert told.resource.name == "dev"
        assert len(await run.trail("cloudprovider.created")) == 1
    everything = await asyncio.to_thread(
        scene.cluster.kubectl, "get", "cloudproviders,events", "-n", scene.namespace, "-o", "json"
    )
    assert "very-secret" not in everything.stdout


async def test_credentials_are_tried_again_every_ten_minutes_and_not_in_between(
    scene: ConnectorScene, aws: AwsInTest
) -> None:
    scene.keys()
    scene.aws_provider(aws)
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[0] == "True")
        before, begun = aws.proxy.calls.count("GetCallerIdentity"), run.clock.now()
        await run.advance(530)
        assert aws.proxy.calls.count("GetCallerIdentity") == before
        aws.proxy.fail("GetCallerIdentity", Fault(403, "InvalidClientTokenId"), times=9)
        while run.clock.now() < begun + TimeDelta(seconds=670):
            await run.advance(20)
            if aws.proxy.calls.count("GetCallerIdentity") > before:
                break
        await run.until(lambda: of(scene)[1] == "CredentialsRefused")
        aws.proxy.rules.clear()
        await run.advance(140)
        await run.until(lambda: of(scene)[0] == "True")
        assert len(await run.trail("cloudprovider.degraded")) == 1
        assert len(await run.trail("cloudprovider.ready")) == 2


async def test_a_missing_secret_is_named_and_found_within_seconds_when_it_comes(
    scene: ConnectorScene, aws: AwsInTest
) -> None:
    scene.aws_provider(aws)
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[1] == "SecretNotFound")
        assert of(scene)[2] == f"There is no Secret keys in the namespace {scene.namespace}."
        await asyncio.to_thread(scene.secret, "keys", AWS_ACCESS_KEY_ID="x")
        await run.advance(7)
        await run.until(lambda: of(scene)[1] == "SecretIncomplete")
        assert "has no AWS_SECRET_ACCESS_KEY" in of(scene)[2]
        await asyncio.to_thread(scene.change_secret, "keys", AWS_SECRET_ACCESS_KEY="y")
        await run.advance(35)
        await run.until(lambda: of(scene)[0] == "True")


@pytest.mark.parametrize(
    ("more", "reason", "words"),
    [
        ({"accountId": "999999999999"}, "WrongAccount", "lead to the account 123456789012"),
        ({"auth": {"serviceAccount": {}}}, "EndpointNotTrusted", "does not show its own identity"),
        ({"endpointURL": "http://host:99999"}, "EndpointInvalid", "write http:// or https://, a host"),
    ],
)
async def test_an_account_that_is_not_the_named_one_and_an_address_that_is_not_the_clouds(
    scene: ConnectorScene, aws: AwsInTest, more: dict[str, Any], reason: str, words: str
) -> None:
    scene.keys()
    scene.aws_provider(aws, **more)
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[1] == reason)
        assert words in of(scene)[2]
    if reason == "EndpointNotTrusted":
        assert aws.proxy.calls == []


async def test_a_corrected_provider_is_tried_at_once(scene: ConnectorScene, aws: AwsInTest) -> None:
    scene.keys()
    scene.aws_provider(aws, accountId="999999999999")
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[1] == "WrongAccount")
        patch = json.dumps({"spec": {"aws": {"accountId": "123456789012"}}})
        await asyncio.to_thread(
            scene.cluster.kubectl,
            "patch",
            "cloudprovider",
            "dev",
            "-n",
            scene.namespace,
            "--type=merge",
            "-p",
            patch,
        )
        await run.until(lambda: of(scene)[0] == "True")


async def test_a_project_at_google_is_ready_when_its_key_works(scene: ConnectorScene, google: Google) -> None:
    scene.secret("google", **{"key.json": google.key_file()})
    scene.gcp_provider(google)
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[0] == "True")
        assert of(scene)[2] == "Google shows the clusters of dev."


async def test_a_key_that_google_refuses_and_one_that_is_none(scene: ConnectorScene, google: Google) -> None:
    scene.secret("google", **{"key.json": google.key_file()})
    google.key = other_key()
    scene.gcp_provider(google)
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[1] == "CredentialsRefused")
        assert "Invalid JWT Signature" in of(scene)[2]
        await asyncio.to_thread(scene.change_secret, "google", **{"key.json": "{}"})
        await run.advance(140)
        await run.until(lambda: of(scene)[1] == "SecretIncomplete")
