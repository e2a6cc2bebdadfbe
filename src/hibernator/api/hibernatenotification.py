"""HibernateNotification: which events of plans are sent where.

What a sink needs to be reached (addresses, tokens) is in a Secret beside it. The status has a cursor for each
sink: the number in the audit trail up to which everything was delivered, so that a crash loses nothing.
"""

from datetime import datetime
from typing import Annotated, Final, Literal

from hibernator.api.kind import DOMAIN, Kind
from hibernator.api.meta import (
    OBJECT_NAME,
    SHORT_NAME,
    Conditions,
    Model,
    Object,
    ObservedGeneration,
    says,
)
from hibernator.api.selector import Selector
from hibernator.api.windows import DURATION, RELAXED_TIME, START_IS_NOT_END, Timezone

MOST_SINKS = 20
MOST_PLANS_SHOWN = 100
MOST_DEAD_LETTERS = 10
MOST_THREADS = 200

SinkType = Literal["slack", "telegram", "webhook", "email", "apprise"]
NotificationEvent = Literal[
    "Start",
    "Success",
    "Failure",
    "Recovery",
    "PhaseChange",
    "ExecutionProgress",
    "ExceptionRequested",
    "ExceptionDecided",
    "ExceptionExpiring",
    "ApprovalWaiting",
    "WakeLate",
    "SleepSkipped",
    "Savings",
]
URGENT: Final[tuple[NotificationEvent, ...]] = ("Failure", "WakeLate")
NotifiedKind = Literal["HibernatePlan", "TimeWindowScaler", "RemediationApprovalRequest"]


class SinkSecretReference(Model):
    """A Secret beside the HibernateNotification, whose key holds a JSON object."""

    name: Annotated[str, says("The name of the Secret.", pattern=OBJECT_NAME, maxLength=253)]
    key: Annotated[
        str,
        says("The key that holds the JSON object.", minLength=1, maxLength=253, default="config"),
    ] = "config"


class TemplateReference(Model):
    """A ConfigMap beside the HibernateNotification, whose key holds a Jinja2 template."""

    name: Annotated[str, says("The name of the ConfigMap.", pattern=OBJECT_NAME, maxLength=253)]
    key: Annotated[
        str,
        says("The key that holds the Jinja2 template.", minLength=1, maxLength=253, default="template.jinja"),
    ] = "template.jinja"


class NotificationSink(Model):
    name: Annotated[str, says("What it is called in this HibernateNotification.", minLength=1, maxLength=63)]
    type: Annotated[SinkType, says("What kind of service it is.")]
    secret_ref: Annotated[
        SinkSecretReference, says("How it is reached: JSON, shown in the guide for each type.")
    ]
    template_ref: Annotated[
        TemplateReference | None, says("How messages are worded; without it, by the built-in template.")
    ] = None


class QuietHours(Model):
    """A time of day in which only urgent messages are sent. The others are sent when it is over."""

    RULES = (START_IS_NOT_END,)

    start: Annotated[str, says("When it begins, as HH:MM (inclusive).", pattern=RELAXED_TIME, maxLength=5)]
    end: Annotated[
        str,
        says(
            "When it ends, as HH:MM; may be on the next day (exclusive).", pattern=RELAXED_TIME, maxLength=5
        ),
    ]
    timezone: Timezone
    urgent: Annotated[
        tuple[NotificationEvent, ...],
        says(
            "The events that are sent all the same.",
            maxItems=13,
            x_kubernetes_list_type="set",
            default=list(URGENT),
        ),
    ] = URGENT


class HibernateNotificationSpec(Model):
    selector: Annotated[Selector, says("The plans, by their labels. An empty selector (`{}`) selects all.")]
    on_events: Annotated[
        tuple[NotificationEvent, ...],
        says("The events that are sent.", minItems=1, maxItems=13, x_kubernetes_list_type="set"),
    ]
    sinks: Annotated[
        tuple[NotificationSink, ...],
        says(
            "Where they are sent.",
            minItems=1,
            maxItems=MOST_SINKS,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ]
    kinds: Annotated[
        tuple[NotifiedKind, ...],
        says(
            "The kinds of objects whose events are sent. Events of exceptions belong to their plan.",
            minItems=1,
            maxItems=3,
            x_kubernetes_list_type="set",
            default=["HibernatePlan"],
        ),
    ] = ("HibernatePlan",)
    namespace_selector: Annotated[
        Selector | None,
        says(
            "In the namespace of the operator only: the namespaces whose objects are meant, by their labels. "
            "Without it, only this namespace."
        ),
    ] = None
    group_within: Annotated[
        str | None,
        says(
            "Send what happens within this time after a first event as one message, such as `1m`.",
            pattern=DURATION,
            maxLength=32,
        ),
    ] = None
    quiet_hours: Annotated[QuietHours | None, says("When only urgent messages are sent.")] = None
    repeat_every: Annotated[
        str | None,
        says(
            "Send a Failure again after this time, such as `4h`, for as long as the plan stays broken. At "
            "least five minutes.",
            pattern=DURATION,
            maxLength=32,
        ),
    ] = None


class DeadLetter(Model):
    """A message that was given up."""

    id: Annotated[str, says("Its id.", maxLength=64)]
    event: Annotated[str, says("The event.", maxLength=32)]
    about: Annotated[str, says("What it was about, as kind, namespace and name.", maxLength=400)]
    at: Annotated[datetime, says("When it was given up.")]
    message: Annotated[str, says("Why.", maxLength=512)] = ""


class SlackThread(Model):
    """The thread of one cycle in Slack."""

    key: Annotated[str, says("The plan's uid and the cycle.", maxLength=128)]
    ts: Annotated[str, says("The id of its first message in Slack.", maxLength=64)]


class SinkStatus(Model):
    """How far one sink is."""

    name: Annotated[str, says("The sink.", maxLength=63)]
    cursor: Annotated[
        int | None, says("The number of the last event of the audit trail that is done with.", format="int64")
    ] = None
    held_from: Annotated[
        int | None,
        says("In quiet hours: the number after which events wait that are not urgent.", format="int64"),
    ] = None
    looked_at: Annotated[
        datetime | None,
        says("Up to when events that follow from the clock are done with, such as ExceptionExpiring."),
    ] = None
    urgent_looked_at: Annotated[
        datetime | None,
        says("In quiet hours: up to when those of them that are urgent are done with."),
    ] = None
    delivered: Annotated[int | None, says("How many messages were delivered.", format="int64")] = None
    failed: Annotated[int | None, says("How many attempts failed.", format="int64")] = None
    dropped: Annotated[int | None, says("How many messages were given up.", format="int64")] = None
    last_delivery_time: Annotated[datetime | None, says("When a message was last delivered.")] = None
    last_failure_time: Annotated[datetime | None, says("When an attempt last failed.")] = None
    last_failure_message: Annotated[str, says("Why it failed. It holds no secret.", maxLength=512)] = ""
    failures_in_a_row: Annotated[
        int | None, says("How many attempts have failed since the last delivery.", format="int32")
    ] = None
    next_attempt_time: Annotated[datetime | None, says("Not before this moment is it tried again.")] = None
    circuit: Annotated[
        Literal["Closed", "Open"] | None,
        says("`Open` after five failures in a row: then only one message is tried at a time, rarely."),
    ] = None
    dead_letters: Annotated[
        tuple[DeadLetter, ...],
        says(
            "The last messages that were given up, the newest last.",
            maxItems=MOST_DEAD_LETTERS,
            x_kubernetes_list_type="atomic",
        ),
    ] = ()
    threads: Annotated[
        tuple[SlackThread, ...],
        says(
            "The threads in Slack, of the last cycle of each plan, the newest last.",
            maxItems=MOST_THREADS,
            x_kubernetes_list_type="atomic",
        ),
    ] = ()


class WatchedPlan(Model):
    name: Annotated[str, says("Its name.", maxLength=253)]
    namespace: Annotated[
        str, says("Its namespace; the original leaves it out.", pattern=SHORT_NAME, maxLength=63)
    ] = ""


class HibernateNotificationStatus(Model):
    state: Annotated[
        Literal["Bound", "Detached"] | None,
        says("`Bound` while the selector selects anything, else `Detached`."),
    ] = None
    watched_plans: Annotated[
        tuple[WatchedPlan, ...],
        says(
            "The selected plans, the first hundred by name.",
            maxItems=MOST_PLANS_SHOWN,
            x_kubernetes_list_type="atomic",
        ),
    ] = ()
    watched: Annotated[int | None, says("How many objects are selected.", format="int32")] = None
    last_delivery_time: Annotated[datetime | None, says("When any sink last took a message.")] = None
    last_failure_time: Annotated[datetime | None, says("When an attempt at any sink last failed.")] = None
    sink_statuses: Annotated[
        tuple[SinkStatus, ...],
        says(
            "How far each sink is.",
            maxItems=MOST_SINKS,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = ()
    observed_generation: ObservedGeneration = None
    conditions: Conditions = ()


class HibernateNotification(Object, kw_only=True):
    """Sends what happens to plans to where people look: Slack, Telegram, mail, webhooks and others."""

    spec: Annotated[HibernateNotificationSpec, says("Which events of what are sent where.")]
    status: Annotated[HibernateNotificationStatus, says("What is selected, and how far each sink is.")] = (
        HibernateNotificationStatus()
    )


NOTIFICATIONS = Kind(
    HibernateNotification, DOMAIN, "v1alpha1", "HibernateNotification", "hibernatenotifications"
)
