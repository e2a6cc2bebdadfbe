"""The cluster: whether it answers, to whom, how old it is and what time it has."""

import re
from typing import Final

from hibernator.cli.doctoring.asking import Answer
from hibernator.cli.doctoring.findings import Finding, Findings, InstalledOperator, Level
from hibernator.controlplane.versions import OLDEST_KUBERNETES

_SELF: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_WHO: Final = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
_NOTABLE_SKEW: Final = 5.0  # seconds; the Date header has whole ones
_BAD_SKEW: Final = 60.0


async def cluster(installation: InstalledOperator) -> Findings:
    """Raises UnreachableError when there is none: then nothing else can be looked at."""
    asked = await installation.asker.post(_SELF, _WHO)
    server = installation.asker.server
    if not asked.ok:
        yield Finding(
            "cluster",
            Level.FAIL,
            f"{server} does not let you in: {asked.message}",
            "Log in again, or choose another context with --context.",
        )
        return
    yield Finding("cluster", Level.OK, f"{server} answers, and knows you as {_name(asked)}")


async def whoami(installation: InstalledOperator) -> str:
    return _name(await installation.asker.post(_SELF, _WHO))


def _name(answer: Answer) -> str:
    return str(answer.body["status"]["userInfo"].get("username", "")) if answer.ok else ""


async def version(installation: InstalledOperator) -> Findings:
    found = await installation.asker.get("/version")
    version = found.body.get("gitVersion", "") if isinstance(found.body, dict) else ""
    numbers = re.match(r"v(\d+)\.(\d+)", version)
    if not numbers:
        yield Finding("version", Level.SKIP, f"the cluster does not report its version: {found.message}")
        return
    oldest = ".".join(map(str, OLDEST_KUBERNETES))
    if (int(numbers[1]), int(numbers[2])) >= OLDEST_KUBERNETES:
        yield Finding("version", Level.OK, f"Kubernetes {version}")
    else:
        yield Finding(
            "version",
            Level.FAIL,
            f"Kubernetes {version}, which has no ValidatingAdmissionPolicies to rely on",
            f"Upgrade the cluster to {oldest} or later.",
        )


async def clock(installation: InstalledOperator) -> Findings:
    found = await installation.asker.get("/version")
    if found.date is None:
        yield Finding("clock", Level.SKIP, "the API server does not report its time")
        return
    # The header was written somewhere between question and answer, and cut to the second.
    skew = (installation.now() - found.date).total("seconds")
    skew = max(0.0, skew - found.lasted - 1) if skew > 0 else skew
    offset = (
        f"this machine's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the API server's"
    )
    if abs(skew) < _NOTABLE_SKEW:
        yield Finding("clock", Level.OK, "this machine and the API server agree on the time")
    else:
        level = Level.FAIL if abs(skew) >= _BAD_SKEW else Level.WARN
        yield Finding("clock", level, offset, "Let chrony or systemd-timesyncd set the clocks of both.")
