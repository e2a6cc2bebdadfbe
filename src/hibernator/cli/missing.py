"""What is not there: what was probably meant, and where it is instead."""

import re
from collections.abc import Sequence
from typing import Any, Final

from hibernator.api.kind import Kind, partial
from hibernator.api.kinds import all_kinds
from hibernator.api.structural import guess
from hibernator.cli.cluster import Session
from hibernator.cli.exits import CliError, Exit
from hibernator.kube.client import Client
from hibernator.kube.errors import ApiError, NotFound

_PATH: Final = re.compile(r"/apis/([^/]+)/[^/]+/namespaces/([^/]+)/([^/?]+)(?:/([^/?]+))?")
_MOST_NAMED: Final = 5


async def explained(session: Session, error: NotFound) -> CliError:
    """A sentence about what was asked for, if it is of a kind of ours."""
    found = _PATH.search(error.request)
    kinds = {(kind.group, kind.plural): kind for kind in all_kinds()}
    kind = kinds.get((found[1], found[3])) if found else None
    if found is None or kind is None:
        return CliError(f"{error.message}.", hint="Check the name and the namespace (-n).")
    if found[4] is None or "could not find the requested resource" in error.message:
        return without_crds(kind, session)
    return await not_found(session.client, kind, [found[4]], found[2])


def without_crds(kind: Kind[Any], session: Session) -> CliError:
    hint = f"Install them: `hibernator crds | kubectl apply --server-side -f -{session.cluster}`"
    return CliError(
        f"this cluster has no {kind.plural}: the CRDs are not installed.", hint=hint, code=Exit.UNAVAILABLE
    )


async def not_found(client: Client, kind: Kind[Any], names: Sequence[str], namespace: str) -> CliError:
    """A sentence about objects that are not in a namespace, or nowhere if that is empty."""
    there = await _names(client, kind)
    if not there:  # it may be allowed to look here, though not everywhere
        there = await _names(client, kind, namespace)
    where = f"in namespace {namespace}" if namespace else "in any namespace"
    hints = [_hint(kind, name, namespace, there) for name in names]
    return CliError(
        f"there is no {kind.kind} {', '.join(names)} {where}.",
        hint="\n".join(dict.fromkeys(filter(None, hints))),
    )


def _hint(kind: Kind[Any], name: str, namespace: str, there: Sequence[tuple[str, str]]) -> str:
    here = [each for where, each in there if namespace in {"", where}]
    elsewhere = [where for where, each in there if each == name]
    if elsewhere:
        return f"{name} is in namespace {' and '.join(elsewhere)}: add -n {elsewhere[0]}."
    if meant := guess(name, here):
        return f"Did you mean {meant}?"
    if meant := guess(name, [each for _, each in there]):
        where = next(where for where, each in there if each == meant)
        return f"Did you mean {meant} in namespace {where}? Then add -n {where}."
    if not here:
        return f"There are no {kind.plural} there."
    more = f" and {len(here) - _MOST_NAMED} more" if len(here) > _MOST_NAMED else ""
    return f"There {'is' if len(here) == 1 else 'are'} {', '.join(sorted(here)[:_MOST_NAMED])}{more}."


async def _names(client: Client, kind: Kind[Any], namespace: str = "") -> list[tuple[str, str]]:
    """Namespace and name of all that may be seen."""
    try:
        found = await client.list(partial(kind), namespace)
    except ApiError:
        return []
    return [(one.metadata.namespace, one.metadata.name) for one in found]
