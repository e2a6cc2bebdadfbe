"""An endpoint that is no address becomes a sentence, never an error of a library."""

import aiohttp
import pytest

from hibernator.api.cloudprovider import (
    Aws,
    CloudAuth,
    CloudProviderSpec,
    Gcp,
    ServiceAccountAuth,
    StaticAuth,
)
from hibernator.api.meta import SecretReference
from hibernator.executors.accounts import Login
from hibernator.executors.connections import Unusable
from hibernator.executors.logins import AccountOpener
from hibernator.executors.protocol import Retryable
from support.endless import endless, serving

ODD = [
    "https://[",
    "http://[::1",
    "http://host:99999",
    "http://127.0.0.1:abc",
    "http://:80",
    "http://-",
    "http://..",
    "http://☃.example",
    "https://ex ample",
    f"https://{'a' * 300}.com",
    "https://user:password@host",
    "https://host/?a=b",
    "https://host/#fragment",
]
KEYS = {"AWS_ACCESS_KEY_ID": b"id", "AWS_SECRET_ACCESS_KEY": b"secret"}
STATIC = CloudAuth(static=StaticAuth(secret_ref=SecretReference(name="keys")))
OWN = CloudAuth(service_account=ServiceAccountAuth())


@pytest.mark.parametrize("auth", [STATIC, OWN])
@pytest.mark.parametrize("endpoint", ODD)
async def test_what_is_no_address_is_told(endpoint: str, auth: CloudAuth) -> None:
    aws = Aws(account_id="123456789012", region="eu-central-1", auth=auth, endpoint_url=endpoint)
    gcp = Gcp(project="shop", auth=auth, endpoint_url=endpoint)
    async with aiohttp.ClientSession() as session:
        for spec in (CloudProviderSpec(type="aws", aws=aws), CloudProviderSpec(type="gcp", gcp=gcp)):
            with pytest.raises(Unusable, match=r"endpointURL is .*: write http:// or https://") as told:
                await AccountOpener(session).open(Login("dev", "uid", spec, KEYS))
            assert told.value.reason == "EndpointInvalid"
            assert len(str(told.value)) < 700


async def test_an_answer_without_end_is_given_up() -> None:
    async with serving(endless) as address, aiohttp.ClientSession() as session:
        aws = Aws(account_id="123456789012", region="eu-central-1", auth=STATIC, endpoint_url=address)
        with pytest.raises(Retryable, match="the answer has more than 16 MiB"):
            await AccountOpener(session).open(
                Login("dev", "uid", CloudProviderSpec(type="aws", aws=aws), KEYS)
            )
