"""ExceptionPolicies."""

from typing import Any

from api.corpus.cases import Bad, Good
from api.objects import PLANS, Json, off_hours, thing

_MANAGER = {"roles": ["manager"]}


def policy(**spec: Any) -> Json:
    return thing(PLANS, "ExceptionPolicy", spec, "four-eyes")


GOOD = [
    Good("a policy that asks for two people", policy(require={"emails": ["a@b.c", "d@e.f"], "threshold": 2})),
    Good(
        "a policy with everything",
        policy(
            message="Production.",
            namespaceSelector={},
            planSelector={"matchLabels": {"tier": "production"}},
            remediationSelector={},
            require=_MANAGER,
            unless=[{"types": ["suspend"], "durationAtMost": "2h", "withinHours": [off_hours()]}],
            limits={"maxDuration": "8h", "maxActivePerWeek": 3, "minNotice": "24h", "types": ["suspend"]},
            freeze=[
                {"firstDay": "2026-12-20", "lastDay": "2027-01-03", "override": _MANAGER},
                {"windows": [off_hours()], "types": ["extend"]},
            ],
            escalateAfter={"after": "4h", "roles": ["director"]},
            channels=["link", "cli"],
            reasonRequired=True,
            reasonPattern=r"[A-Z]+-\d+",
        ),
    ),
]

BAD = [
    Bad("a policy that asks for no one", policy(require={}), "set emails or roles", "spec.require"),
    Bad(
        "a threshold that cannot be reached",
        policy(require=_MANAGER | {"threshold": 2}),
        "threshold asks for more approvals",
        "spec.require.threshold",
    ),
    Bad("a relief from nothing", policy(unless=[{"types": ["suspend"]}]), "set require", "spec.unless"),
    Bad(
        "a relief of everything",
        policy(require=_MANAGER, unless=[{"wakesOnly": False}]),
        "would approve everything",
        "spec.unless[0]",
    ),
    Bad(
        "an escalation of nothing",
        policy(escalateAfter={"after": "4h", "roles": ["director"]}),
        "set require",
        "spec.escalateAfter",
    ),
    Bad(
        "a freeze without its end",
        policy(freeze=[{"firstDay": "2026-12-20"}]),
        "needs firstDay and lastDay",
        "spec.freeze[0].lastDay",
    ),
    Bad("a freeze of nothing", policy(freeze=[{}]), "either firstDay and lastDay", "spec.freeze[0]"),
    Bad(
        "a freeze that ends before it begins",
        policy(freeze=[{"firstDay": "2026-12-20", "lastDay": "2026-12-19"}]),
        "must not be before firstDay",
        "spec.freeze[0].lastDay",
    ),
    Bad(
        "a pattern for reasons that are not required",
        policy(reasonPattern="a"),
        "only with reasonRequired",
        "spec.reasonPattern",
    ),
    Bad(
        "a pattern with a group",
        policy(reasonRequired=True, reasonPattern="(a+)+"),
        "spec.reasonPattern",
        "spec.reasonPattern",
    ),
    Bad("a channel that there is not", policy(channels=["fax"]), "supported values", "spec.channels[0]"),
]
