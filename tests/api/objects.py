"""Small builders of good documents; a test says only what it is about."""

from typing import Any

Json = dict[str, Any]

PLANS = "hibernator.ardikabs.com/v1alpha1"
REMEDIATION = "remediation.kubernaut.ai/v1alpha1"


def thing(api_version: str, kind: str, spec: Json, name: str = "shop", **metadata: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def off_hours(start: str = "20:00", end: str = "06:00", *days: str) -> Json:
    return {"start": start, "end": end, "daysOfWeek": list(days or ("MON", "TUE"))}


def noop(name: str, **more: Any) -> Json:
    return {"name": name, "type": "noop", **more}


def plan(*targets: Json, name: str = "shop", schedule: Json | None = None, **spec: Any) -> Json:
    spec = {
        "schedule": {"timezone": "Europe/Berlin", "offHours": [off_hours()], **(schedule or {})},
        "targets": list(targets) or [noop("web"), noop("db")],
        **spec,
    }
    return thing(PLANS, "HibernatePlan", spec, name)


def ordered(kind: str, *targets: Json, **strategy: Any) -> Json:
    """A plan of three targets with a strategy."""
    targets = targets or (noop("web"), noop("api"), noop("db"))
    return plan(*targets, execution={"strategy": {"type": kind, **strategy}})


def cloud(kind: str, connector: str | None = "CloudProvider", **parameters: Any) -> Json:
    """A plan of one target that is reached through a connector."""
    target: Json = {"name": "it", "type": kind, "parameters": parameters}
    return plan(target | ({"connectorRef": {"kind": connector, "name": "dev"}} if connector else {}))


def exception(*windows: Json, name: str = "release", namespace: str | None = None, **spec: Any) -> Json:
    spec = {
        "planRef": {"name": "shop"},
        "type": "suspend",
        "validFrom": "2026-12-01T00:00:00Z",
        "validUntil": "2026-12-31T00:00:00Z",
        "windows": list(windows) or [off_hours("21:00", "02:00", "Saturday")],
        **spec,
    }
    return thing(PLANS, "ScheduleException", spec, name, **({"namespace": namespace} if namespace else {}))


def approvals(**spec: Any) -> Json:
    """An exception that two people and a role must agree to."""
    people = {"approverEmails": ["bob@example.com", "carol@example.com"], "approvalRequiredRoles": ["head"]}
    return exception(**{"approvalRequired": True, **people, **spec})


def hours(start: str = "09:00", end: str = "17:00", *days: str, replicas: Any = 3) -> Json:
    return {"days": list(days or ("Mon", "Tue")), "start": start, "end": end, "replicas": replicas}


def scaler(*windows: Json, target: Json | None = None, **spec: Any) -> Json:
    spec = {
        "targetRef": {"kind": "Deployment", "name": "shop", **(target or {})},
        "timezone": "Europe/Berlin",
        "windows": list(windows) or [hours()],
        **spec,
    }
    return thing("kyklos.io/v1alpha1", "TimeWindowScaler", spec)


def aws(auth: Json | None = None, **block: Any) -> Json:
    return {
        "accountId": "123456789012",
        "region": "eu-central-1",
        "auth": {"serviceAccount": {}} if auth is None else auth,
        **block,
    }


def provider(**spec: Any) -> Json:
    return thing(PLANS, "CloudProvider", {"type": "aws", "aws": aws()} | spec)


def k8s_cluster(**spec: Any) -> Json:
    return thing(PLANS, "K8SCluster", spec)


def eks_cluster() -> Json:
    return {"name": "dev", "region": "eu-central-1", "providerRef": {"name": "aws-dev"}}


def request(**spec: Any) -> Json:
    return thing(REMEDIATION, "RemediationRequest", spec)


def approval_request(**spec: Any) -> Json:
    spec = {
        "aiAnalysisRef": {"name": "oom"},
        "approvalContext": {"confidence": 0.65, "recommendedPlaybook": "recover"},
        "requiredBy": "2026-12-05T10:00:00Z",
        **spec,
    }
    return thing(REMEDIATION, "RemediationApprovalRequest", spec)


def analysis(**spec: Any) -> Json:
    spec = {"analysis": {"confidence": 0.65, "recommendedPlaybook": "recover"}, **spec}
    return thing("aianalysis.kubernaut.ai/v1alpha1", "AIAnalysis", spec)


def delivery(**spec: Any) -> Json:
    spec = {
        "request": {"kind": "ScheduleException", "name": "release", "uid": "5c8e"},
        "recipient": "bob@example.com",
        **spec,
    }
    return thing(PLANS, "ApprovalDelivery", spec)


def plan_request(**spec: Any) -> Json:
    spec = {"plan": {"name": "shop", "uid": "5c8e"}, "action": "Suspend", **spec}
    return thing(PLANS, "PlanRequest", spec)


def without(document: Json, *path: str) -> Json:
    """The same document, less one field."""
    first, *rest = path
    if not rest:
        return {key: value for key, value in document.items() if key != first}
    return document | {first: without(document[first], *rest)}


def notification(**spec: Any) -> Json:
    """Where the events of a team's plans are sent."""
    spec = {
        "selector": {"matchLabels": {"team": "shop"}},
        "onEvents": ["Start", "Failure"],
        "sinks": [{"name": "slack", "type": "slack", "secretRef": {"name": "notify", "key": "config"}}],
        **spec,
    }
    return thing(PLANS, "HibernateNotification", spec)
