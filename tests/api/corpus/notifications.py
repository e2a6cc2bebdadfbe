"""HibernateNotifications."""

from api.corpus.cases import START_IS_END, Bad, Good
from api.objects import notification

_QUIET = {"start": "22:00", "end": "7:00", "timezone": "Europe/Berlin"}

GOOD = [
    Good("a manifest of the original", notification()),
    Good(
        "everything at once",
        notification(
            selector={"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]},
            kinds=["HibernatePlan", "TimeWindowScaler"],
            namespaceSelector={},
            groupWithin="1m",
            repeatEvery="4h",
            quietHours={**_QUIET, "urgent": ["Failure"]},
            sinks=[
                {
                    "name": "hook",
                    "type": "webhook",
                    "secretRef": {"name": "notify"},
                    "templateRef": {"name": "words", "key": "failure.jinja"},
                },
                {"name": "others", "type": "apprise", "secretRef": {"name": "others"}},
            ],
        ),
    ),
]

BAD = [
    Bad(
        "an event that does not exist",
        notification(onEvents=["Sleep"]),
        "Unsupported value",
        "spec.onEvents[0]",
    ),
    Bad("no events", notification(onEvents=[]), "spec.onEvents", "spec.onEvents"),
    Bad("no sinks", notification(sinks=[]), "spec.sinks", "spec.sinks"),
    Bad(
        "a service that does not exist",
        notification(sinks=[{"name": "x", "type": "pager", "secretRef": {"name": "x"}}]),
        "Unsupported value",
        "spec.sinks[0].type",
    ),
    Bad("a time that is none", notification(groupWithin="soon"), "spec.groupWithin", "spec.groupWithin"),
    Bad(
        "quiet hours without an end",
        notification(quietHours={**_QUIET, "end": "22:00"}),
        START_IS_END,
        "spec.quietHours",
    ),
]
