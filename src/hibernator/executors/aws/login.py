"""From a CloudProvider and its Secret to an open account at AWS.

An account is used only once AWS has said that it is the one that the provider names.
"""

from typing import Final

import aiohttp

from hibernator.api.cloudprovider import Aws
from hibernator.executors.accounts import Account, Login, trusted
from hibernator.executors.aws.account import AwsAccount, AwsRefusedError, Keys
from hibernator.executors.connections import Unusable
from hibernator.kube.transport import Fence

_HOSTS: Final = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
_KEY_ID, _KEY, _TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"


async def open_account(login: Login, _http: aiohttp.ClientSession, fence: Fence | None) -> AwsAccount:
    spec = _spec(login)
    if spec.auth.static is None:
        trusted(spec.endpoint_url, _HOSTS)
    from hibernator.executors.aws.session import sign_in  # the seam: AWS's library is large

    session = sign_in(_keys(login, spec), spec.assume_role_arn, spec.region, spec.endpoint_url)
    account = AwsAccount(session, spec.region, endpoint=spec.endpoint_url, fence=fence, cluster=login.cluster)
    try:
        await _who(account, spec)
    except BaseException:
        await account.close()
        raise
    return account


async def check(account: Account, login: Login) -> str:
    """Whom AWS takes us for."""
    if not isinstance(account, AwsAccount):
        raise TypeError(f"{account.described} is not at AWS")
    return f"AWS knows the operator as {await _who(account, _spec(login))}."


def _spec(login: Login) -> Aws:
    if login.spec.aws is None:
        raise login.without_block
    return login.spec.aws


async def _who(account: AwsAccount, spec: Aws) -> str:
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


def _keys(login: Login, spec: Aws) -> Keys | None:
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
