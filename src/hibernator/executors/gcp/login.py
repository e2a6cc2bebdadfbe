"""From a CloudProvider and its Secret to an open project at Google.

The operator's own identity is what Google's libraries find as well: the credential configuration that
GOOGLE_APPLICATION_CREDENTIALS names (workload identity federation, outside of Google's clusters), or else
the metadata server.
"""

import asyncio
import os
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from hibernator.api.cloudprovider import Gcp
from hibernator.executors.accounts import Account, Login, trusted
from hibernator.executors.connections import Unusable
from hibernator.executors.gcp.project import GcpProject, GcpRefusedError, part
from hibernator.executors.gcp.tokens import MetadataTokens, NotLetInError, Tokens, TokenSource
from hibernator.kube.transport import Fence

KEY: Final = "key.json"
CONFIGURATION: Final = "GOOGLE_APPLICATION_CREDENTIALS"
_HOSTS: Final = (".googleapis.com",)


async def open_account(login: Login, http: aiohttp.ClientSession, fence: Fence | None) -> GcpProject:
    spec = login.spec.gcp
    if spec is None:
        raise login.without_block
    if spec.auth.static is None:
        trusted(spec.endpoint_url, _HOSTS)
        tokens = Tokens(await own_identity(http))
    else:
        tokens = Tokens(_key(login, spec, spec.auth.static.secret_ref.name, http))
    return GcpProject(
        spec.project, tokens, http, endpoint=spec.endpoint_url, fence=fence, cluster=login.cluster
    )


async def check(account: Account, _login: Login) -> str:
    """What Google shows us."""
    if not isinstance(account, GcpProject):
        raise TypeError(f"{account.described} is not at Google")
    return await _seen(account)


async def own_identity(http: aiohttp.ClientSession) -> TokenSource:
    """Who the operator itself is at Google."""
    file = os.environ.get(CONFIGURATION)
    if not file:
        return MetadataTokens(http)
    from hibernator.executors.gcp.googleauth import GoogleTokens, read_federation  # a seam, as the other one

    try:
        text = await asyncio.to_thread(Path(file).read_bytes)
        return GoogleTokens(read_federation(text), http)
    except (OSError, NotLetInError) as error:
        raise Unusable("CredentialsRefused", f"{CONFIGURATION} names {file}: {error}") from error


def _key(login: Login, spec: Gcp, secret: str, http: aiohttp.ClientSession) -> TokenSource:
    text = login.secret.get(KEY)
    if not text:
        raise Unusable(
            "SecretIncomplete", f"The Secret {secret} has no {KEY}; add the service account's key."
        )
    from hibernator.executors.gcp.googleauth import GoogleTokens, read_key  # the seam: the library is large

    try:
        key = read_key(text)
    except NotLetInError as error:
        raise Unusable("SecretIncomplete", f"{KEY} of the Secret {secret}: {error}") from error
    address = urlsplit(key.token_uri)
    of_google = address.scheme == "https" and (address.hostname or "").endswith(_HOSTS)
    if not of_google and address.netloc != urlsplit(spec.endpoint_url or "").netloc:
        raise Unusable(
            "EndpointNotTrusted",
            f"{KEY} of the Secret {secret} has the token_uri {key.token_uri}, not one of Google.",
        )
    return GoogleTokens(key.credentials, http)


async def _seen(project: GcpProject) -> str:
    """A token is a proof of who we are; being shown anything, one of being let in."""
    try:
        await project.tokens.get()
    except NotLetInError as error:
        raise Unusable("CredentialsRefused", str(error)) from error
    refused: GcpRefusedError | None = None
    home = f"v1/projects/{part(project.name)}"
    try:
        await project.read("container", f"{home}/locations/-/clusters")
    except GcpRefusedError as error:
        refused = error
    else:
        return f"Google shows the clusters of {project.name}."
    try:
        await project.read("sqladmin", f"{home}/instances")
    except GcpRefusedError:
        raise Unusable(
            "NotAllowed", f"Neither clusters nor databases of {project.name} may be seen. {refused}"
        ) from refused
    return f"Google shows the databases of {project.name}."
