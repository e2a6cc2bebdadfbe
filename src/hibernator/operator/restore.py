"""What the restore data of a plan says, for the web process: which may read no ConfigMaps, and needs none.

The right to it is one to a part of the plan that only this API has, `get` for `hibernateplans/restoredata`.
So it is given by roles, as that to plans is: for a namespace or for all.
"""

import asyncio
import re
from typing import Final

import msgspec
from starlette.requests import Request

from hibernator.api.core import CONFIG_MAPS
from hibernator.api.hibernateplan import PLANS
from hibernator.decisions.hibernateplan_kept import PART, PATH, kept_plan
from hibernator.decisions.hibernateplan_restore import LABEL, PLAN_LABEL
from hibernator.kube.client import Caller, Client
from hibernator.kube.errors import ApiError
from hibernator.kube.reading import ReadApiError, ReadRoute

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")  # goes into a selector


def restore_route(client: Client) -> ReadRoute:
    async def answer(request: Request) -> bytes:
        namespace, name = _named(request)
        try:
            found = await client.list(
                CONFIG_MAPS, namespace, label_selector=f"{LABEL}=true,{PLAN_LABEL}={name}"
            )
        except ApiError as error:
            raise ReadApiError(
                f"The restore data of {namespace}/{name} cannot be read: {error.message}."
            ) from error
        datas = [(one.data, one.metadata.creation_timestamp) for one in found]
        try:
            return msgspec.json.encode(await asyncio.to_thread(kept_plan, datas))
        except (msgspec.DecodeError, ValueError) as error:
            raise ReadApiError(f"The restore data of {namespace}/{name} is damaged: {error}.") from error

    return ReadRoute(PATH, answer, _may, _needs)


async def _may(client: Client, who: Caller, request: Request) -> bool:
    namespace, name = _named(request)
    return await client.may(
        user=who.username,
        groups=who.groups,
        extra=who.extra,
        verb="get",
        resource=PLANS.plural,
        group=PLANS.group,
        namespace=namespace,
        name=name,
        subresource=PART,
    )


def _needs(request: Request) -> str:
    return f"the verb get for {PLANS.plural}/{PART} in {request.path_params['namespace']}"


def _named(request: Request) -> tuple[str, str]:
    namespace, name = request.path_params["namespace"], request.path_params["name"]
    for word in (namespace, name):
        if not _NAME.fullmatch(word):
            raise ValueError(f"{word[:70]!r} is no name: send a namespace and a plan")
    return namespace, name
