"""From a CloudProvider and its Secret to an open account.

The operator's own identity is lent to whoever may write a provider. So it is shown only to the cloud itself,
never to an address that somebody wrote; and an account is used only once AWS has said that it is the one that
the provider names.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from whenever import Instant

from hibernator.api.cloudprovider import Aws, CloudProviderSpec, Gcp
from hibernator.executors.aws.account import AwsAccount, AwsRefusedError, Keys
from hibernator.executors.connections import Unusable
from hibernator.executors.gcp.project import GcpProject
from hibernator.executors.gcp.tokens import KeyTokens, MetadataTokens, NotLetInError, Tokens, read_key
from hibernator.kube.transport import Fence

GOOGLE_KEY: Final = "key.json"
_OF_AWS: Final = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
_OF_GOOGLE: Final = (".googleapis.com",)
_HOST: Final = re.compile(
    r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE
)
_LONGEST_HOST: Final = 253
_KEY_ID, _KEY, _TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"


@dataclass(frozen=True, slots=True)
class Login:
    """What a provider says, with what its Secret holds."""

    name: str
    uid: str
    spec: CloudProviderSpec
    secret: Mapping[str, bytes] = field(repr=False, hash=False)


@dataclass(frozen=True, slots=True)
class Doors:
    """How accounts are opened."""

    session: aiohttp.ClientSession
    fence: Fence | None = None

    async def open(self, login: Login) -> AwsAccount | GcpProject:
        spec = login.spec
        if block := spec.aws or spec.gcp:
            _usable(block.endpoint_url)
        if spec.type == "aws" and spec.aws:
            return await self._open_aws(login, spec.aws)
        if spec.type == "gcp" and spec.gcp:
            return self._open_gcp(login, spec.gcp)
        raise Unusable(
            "WrongType", f"The CloudProvider {login.name} is of type {spec.type} but has no such block."
        )

    async def _open_aws(self, login: Login, spec: Aws) -> AwsAccount:
        if spec.auth.static is None:
            _trusted(spec.endpoint_url, _OF_AWS)
        from hibernator.executors.aws.session import sign_in  # the seam: AWS's library is large

        session = sign_in(_aws_keys(login, spec), spec.assume_role_arn, spec.region, spec.endpoint_url)
        account = AwsAccount(session, spec.region, endpoint=spec.endpoint_url, fence=self.fence)
        try:
            await who_in_aws(account, spec)
        except BaseException:
            await account.close()
            raise
        return account

    def _open_gcp(self, login: Login, spec: Gcp) -> GcpProject:
        if spec.auth.static is None:
            _trusted(spec.endpoint_url, _OF_GOOGLE)
            tokens = Tokens(MetadataTokens(self.session))
        else:
            tokens = Tokens(self._google_key(login, spec, spec.auth.static.secret_ref.name))
        return GcpProject(spec.project, tokens, self.session, endpoint=spec.endpoint_url, fence=self.fence)

    def _google_key(self, login: Login, spec: Gcp, secret: str) -> KeyTokens:
        text = login.secret.get(GOOGLE_KEY)
        if not text:
            raise Unusable(
                "SecretIncomplete", f"The Secret {secret} has no {GOOGLE_KEY}; add the service account's key."
            )
        try:
            key = read_key(text)
        except NotLetInError as error:
            raise Unusable("SecretIncomplete", f"{GOOGLE_KEY} of the Secret {secret}: {error}") from error
        address = urlsplit(key.token_uri)
        of_google = address.scheme == "https" and (address.hostname or "").endswith(_OF_GOOGLE)
        if not of_google and address.netloc != urlsplit(spec.endpoint_url or "").netloc:
            raise Unusable(
                "EndpointNotTrusted",
                f"{GOOGLE_KEY} of the Secret {secret} has the token_uri {key.token_uri}, not one of Google.",
            )
        return KeyTokens(key, self.session, Instant.now)


async def who_in_aws(account: AwsAccount, spec: Aws) -> str:
    """Whom AWS takes us for, if that is in the account that the provider names."""
    try:
        who = await account.read("sts", "get_caller_identity")
    except AwsRefusedError as error:
        raise Unusable("CredentialsRefused", str(error)) from error
    if who["Account"] != spec.account_id:
        raise Unusable(
            "WrongAccount",
            f"The credentials lead to the account {who['Account']}, and accountId is {spec.account_id}. "
            "Correct accountId, or use credentials or an assumeRoleArn of that account.",
        )
    return str(who["Arn"])


def _aws_keys(login: Login, spec: Aws) -> Keys | None:
    if spec.auth.static is None:
        return None
    found = {
        name: login.secret.get(name, b"").decode(errors="replace").strip() for name in (_KEY_ID, _KEY, _TOKEN)
    }
    if missing := [name for name in (_KEY_ID, _KEY) if not found[name]]:
        raise Unusable(
            "SecretIncomplete",
            f"The Secret {spec.auth.static.secret_ref.name} has no {' and no '.join(missing)}; add it.",
        )
    return Keys(found[_KEY_ID], found[_KEY], found[_TOKEN] or None)


def _usable(endpoint: str | None) -> None:
    """Refuse what is no address, before a library does with an error of its own."""
    if endpoint is None:
        return
    try:
        address = urlsplit(endpoint)
        host, _port = address.hostname or "", address.port
        is_plain = not (address.query or address.fragment or "@" in address.netloc)
    except ValueError:
        host, is_plain = "", False
    if not (is_plain and len(host) <= _LONGEST_HOST and (":" in host or _HOST.fullmatch(host))):
        raise Unusable(
            "EndpointInvalid",
            f"endpointURL is {endpoint[:_LONGEST_HOST]!r}: write http:// or https://, a host, and perhaps a "
            "port and a path, such as https://ec2.internal:8443; without user, query and fragment.",
        )


def _trusted(endpoint: str | None, hosts: tuple[str, ...]) -> None:
    address = urlsplit(endpoint) if endpoint else None
    if address and not (address.scheme == "https" and (address.hostname or "").endswith(hosts)):
        raise Unusable(
            "EndpointNotTrusted",
            f"endpointURL is {endpoint}, where the operator does not show its own identity. "
            f"Use keys from a Secret, remove endpointURL, or give an https address under {hosts[0][1:]}.",
        )
