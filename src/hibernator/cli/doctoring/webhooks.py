"""Whether the API server finds our webhooks, gets an answer, and for how long it will trust them."""

import base64
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from whenever import Instant, TimeDelta

from hibernator.admission.certificates import Pair, from_data
from hibernator.admission.keyrings import NAME
from hibernator.admission.policies import quoted
from hibernator.admission.webhooks.configurations import MUTATING, NAME as WEBHOOKS, VALIDATING
from hibernator.api.core import CUSTOM_RESOURCE_DEFINITIONS, SECRETS, Secret
from hibernator.api.kind import Kind
from hibernator.api.timewindowscaler_v1beta1 import SCALERS
from hibernator.cli.doctoring.findings import Finding, Findings, InstalledOperator, Level
from hibernator.cli.doctoring.reach import whoami

_SLICES: Final = "/apis/discovery.k8s.io/v1/namespaces"
_LATE: Final = TimeDelta(hours=25 * 24)  # the operator replaces them 30 days before their end
_LOGS: Final = "kubectl logs deployment/hibernator -n {namespace}"


async def webhooks(installation: InstalledOperator) -> Findings:
    found = await installation.asker.get(CUSTOM_RESOURCE_DEFINITIONS.path("", SCALERS.resource))
    if not found.ok:
        yield Finding("webhooks", Level.SKIP, f"the CRD {SCALERS.resource} cannot be read: {found.message}")
        return
    conversion = found.body["spec"].get("conversion", {})
    if conversion.get("strategy") != "Webhook":
        yield Finding(
            "webhooks",
            Level.WARN,
            "no webhook converts TimeWindowScalers: what only v1beta1 can say is refused",
            "Set webhookListen, see docs/guides/webhooks.md; or leave it, if v1alpha1 is all that you need.",
        )
        return
    tried = await installation.asker.post(f"{SCALERS.path('default')}?dryRun=All", _probe())
    where = _where(conversion["webhook"]["clientConfig"])
    logs = _LOGS.format(namespace=installation.home.namespace)
    if tried.ok:
        missing = [kind.kind for kind in (MUTATING, VALIDATING) if not await _registered(installation, kind)]
        if missing:
            saw = f"objects are converted at {where}, but there is no {' and no '.join(missing)} {WEBHOOKS}"
            yield Finding("webhooks", Level.FAIL, saw, f"The leader makes it; see why it has not: {logs}")
        else:
            saw = f"registered, and objects are converted at {where}"
            blind = "; what you write is not checked, because the operator runs as you"
            yield Finding("webhooks", Level.OK, saw + (blind if await skips_you(installation) else ""))
        return
    if "conversion webhook" not in tried.message:
        saw = f"conversion at {where} could not be tried with a dry run: {tried.message}"
        yield Finding("webhooks", Level.SKIP, saw, "Run the doctor as a user who may create scalers.")
        return
    fix = f"See whether the operator runs and is ready: {logs}"
    if not await _has_ready_pod(installation, conversion["webhook"]["clientConfig"]):
        fix = (
            f"Nothing answers behind {where}. Start the operator; if it is gone for good, run `hibernator "
            "detach`."
        )
    said = _without_path(tried.message, conversion["webhook"]["clientConfig"])
    yield Finding("webhooks", Level.FAIL, f"no conversion at {where}: {said}", fix)


async def certificates(installation: InstalledOperator) -> Findings:
    home, now = installation.home, installation.now()
    found = await installation.asker.get(SECRETS.path(home.namespace, NAME))
    if found.missing:
        yield Finding(
            "certificates",
            Level.SKIP,
            f"there is no Secret {NAME} in {home.namespace}: webhooks are off, or use a folder of yours",
        )
        return
    if not found.ok:
        yield Finding("certificates", Level.SKIP, f"the Secret {NAME} cannot be read: {found.message}")
        return
    logs = _LOGS.format(namespace=home.namespace)
    try:
        ring = from_data(msgspec.convert(found.body, Secret).data)
    except ValueError as error:
        fix = f"The leader makes it again by itself; see why it has not: {logs}"
        yield Finding("certificates", Level.FAIL, f"the Secret {NAME} cannot be used: {error}", fix)
        return
    yield _by_end(ring.current.ends, now, logs)
    registered = await installation.asker.get(CUSTOM_RESOURCE_DEFINITIONS.path("", SCALERS.resource))
    if registered.ok and not _trusted(registered.body["spec"].get("conversion", {}), ring.current):
        fix = f"The leader registers it by itself; see why it has not: {logs}"
        yield Finding("certificates", Level.FAIL, "the API server does not trust the one that is served", fix)


def _by_end(ends: Instant, now: Instant, logs: str) -> Finding:
    left = (ends - now).total("hours") / 24
    fix = f"The leader replaces it 30 days before its end; see why it has not: {logs}"
    if left <= 0:
        return Finding("certificates", Level.FAIL, f"the one served ended at {ends}", fix)
    if ends - now < _LATE:
        return Finding("certificates", Level.WARN, f"the one served ends in {left:.0f} days", fix)
    return Finding("certificates", Level.OK, f"the one served is good for {left:.0f} more days")


def _trusted(conversion: dict[str, Any], served: Pair) -> bool:
    """Whether one of the registered authorities has signed what is served; true when none is registered."""
    bundle = conversion.get("webhook", {}).get("clientConfig", {}).get("caBundle")
    if not bundle:
        return True
    for authority in x509.load_pem_x509_certificates(base64.b64decode(bundle)):
        try:
            served.parsed.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature):
            continue
        return True
    return False


async def _registered(installation: InstalledOperator, kind: Kind[Any]) -> bool:
    """Whether the configuration exists; true where that is unknown."""
    return not (await installation.asker.get(kind.path("", WEBHOOKS))).missing


async def skips_you(installation: InstalledOperator) -> bool:
    """Whether the webhooks are asked about everyone but the one who looks: the user of the operator."""
    found = await installation.asker.get(VALIDATING.path("", WEBHOOKS))
    skipped = f"!= {quoted(await whoami(installation))}"
    return found.ok and any(
        condition["expression"].endswith(skipped)
        for hook in found.body.get("webhooks", ())
        for condition in hook.get("matchConditions", ())
    )


def _where(client: dict[str, Any]) -> str:
    service = client.get("service")
    if service:
        return f"Service {service['namespace']}/{service['name']}"
    return "https://" + urlsplit(str(client.get("url", ""))).netloc


def _without_path(message: str, client: dict[str, Any]) -> str:
    """What the API server says, without the path that only API servers shall know."""
    service = client.get("service")
    path = str(service.get("path", "")) if service else urlsplit(str(client.get("url", ""))).path
    return message.replace(path, "/…") if path.strip("/") else message


async def _has_ready_pod(installation: InstalledOperator, client: dict[str, Any]) -> bool:
    """Whether the Service has a ready pod; true where that is unknown."""
    if not (service := client.get("service")):
        return True
    selector = f"labelSelector=kubernetes.io/service-name={service['name']}"
    found = await installation.asker.get(f"{_SLICES}/{service['namespace']}/endpointslices?{selector}")
    if not found.ok:
        return True
    return any(
        endpoint.get("conditions", {}).get("ready", True)
        for each in found.body["items"]
        for endpoint in each.get("endpoints") or ()
    )


def _probe() -> dict[str, Any]:
    """A scaler that is never stored, in the version that is not."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "doctor"}
    window = {"start": "09:00", "end": "17:00", "replicas": 1, "days": ["Mon"]}
    return {
        "apiVersion": SCALERS.api_version,
        "kind": SCALERS.kind,
        "metadata": {"name": "hibernator-doctor"},
        "spec": {"targetRef": target, "timezone": "UTC", "windows": [window], "defaultReplicas": 1},
    }
