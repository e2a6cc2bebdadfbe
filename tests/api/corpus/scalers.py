"""TimeWindowScalers."""

from api.corpus.cases import START_IS_END, Bad, Good
from api.objects import hours, scaler, without

GOOD = [
    Good("a scaler with nothing but what it must have", scaler()),
    Good("a window over midnight", scaler(hours("22:00", "02:00", "Fri"))),
    Good(
        "a target with its API version",
        scaler(target={"apiVersion": "apps/v1"}),
    ),
    Good(
        "a scaler with everything",
        scaler(
            defaultReplicas=1,
            gracePeriodSeconds=60,
            pause=True,
            holidays={"mode": "treat-as-open", "sourceRef": {"name": "days"}},
        ),
    ),
]

BAD = [
    Bad(
        "a target that is no Deployment",
        scaler(target={"kind": "StatefulSet"}),
        'spec.targetRef.kind: Unsupported value: "StatefulSet": supported values: "Deployment"',
        "spec.targetRef.kind",
    ),
    Bad("a target without a name", scaler(target={"name": ""}), "spec.targetRef.name", "spec.targetRef.name"),
    Bad(
        "a target of another API",
        scaler(target={"apiVersion": "extensions/v1beta1"}),
        "spec.targetRef.apiVersion",
        "spec.targetRef.apiVersion",
    ),
    Bad(
        "fewer replicas than none",
        scaler(hours(replicas=-1)),
        "should be greater than or equal to 0",
        "spec.windows[0].replicas",
    ),
    Bad(
        "more replicas than can be counted",
        scaler(hours(replicas=3_000_000_000)),
        "spec.windows[0].replicas",
        "spec.windows[0].replicas",
    ),
    Bad(
        "replicas in quotes",
        scaler(hours(replicas="3")),
        'spec.windows[0].replicas in body must be of type integer: "string"',
        "spec.windows[0].replicas",
    ),
    Bad("an hour with one digit", scaler(hours("9:00")), "spec.windows[0].start", "spec.windows[0].start"),
    Bad(
        "a day with its full name",
        scaler(hours("09:00", "17:00", "Monday")),
        'Unsupported value: "Monday"',
        "spec.windows[0].days[0]",
    ),
    Bad(
        "the same day of a scaler twice",
        scaler(hours("09:00", "17:00", "Mon", "Mon")),
        'Duplicate value: "Mon"',
        "spec.windows[0].days[1]",
    ),
    Bad(
        "a scaler's window that ends when it begins",
        scaler(hours("10:00", "10:00")),
        START_IS_END,
        "spec.windows[0]",
    ),
    Bad(
        "a scaler without windows",
        scaler() | {"spec": scaler()["spec"] | {"windows": []}},
        "spec.windows",
        "spec.windows",
    ),
    Bad(
        "a scaler without a zone",
        without(scaler(), "spec", "timezone"),
        "spec.timezone: Required value",
        "spec.timezone",
    ),
    Bad("a default below zero", scaler(defaultReplicas=-1), "spec.defaultReplicas", "spec.defaultReplicas"),
    Bad(
        "a grace that is over before it begins",
        scaler(gracePeriodSeconds=-1),
        "spec.gracePeriodSeconds",
        "spec.gracePeriodSeconds",
    ),
    Bad(
        "a way with holidays that nobody knows",
        scaler(holidays={"mode": "closed"}),
        'supported values: "ignore", "treat-as-closed", "treat-as-open"',
        "spec.holidays.mode",
    ),
    Bad(
        "a scaler's part of no country",
        scaler(holidays={"subdivision": "BY"}),
        "subdivision is a part of a country",
        "spec.holidays.subdivision",
    ),
]
