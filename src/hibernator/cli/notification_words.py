"""What `hibernator notification list` and `describe` say."""

from collections.abc import Iterator

from hibernator.api.hibernatenotification import HibernateNotification, SinkStatus
from hibernator.cli.output import Column, aged, condition_lines, moment
from hibernator.decisions.conditions import find


def _ready(one: HibernateNotification, part: str) -> str:
    condition = find(one.status.conditions, "Ready")
    return str(getattr(condition, part)) if condition else ""


def columns() -> tuple[Column[HibernateNotification], ...]:
    return (
        Column("State", lambda one: one.status.state or ""),
        Column("Selected", lambda one: str(one.status.watched or 0)),
        Column("Sinks", lambda one: ", ".join(sink.name for sink in one.spec.sinks)),
        Column("Delivered", lambda one: moment(one.status.last_delivery_time)),
        Column("Ready", lambda one: _ready(one, "status")),
        aged(),
        Column("Message", lambda one: _ready(one, "message"), wide=True),
    )


def described(one: HibernateNotification) -> Iterator[str]:
    status = one.status
    yield f"{one.metadata.namespace}/{one.metadata.name} sends {', '.join(one.spec.on_events)}"
    if status.observed_generation is None:
        yield "  not reconciled yet: the web process (`hibernator web`) sends its messages"
        return
    plans = ", ".join(plan.name for plan in status.watched_plans) or "nothing"
    yield f"  {'selects':<13} {plans}"
    for sink in status.sink_statuses:
        yield from _sink(sink)
    yield from condition_lines(status.conditions)


def _sink(sink: SinkStatus) -> Iterator[str]:
    yield f"  sink {sink.name}: {sink.delivered or 0} delivered, {sink.dropped or 0} given up"
    facts = (
        ("last delivery", moment(sink.last_delivery_time)),
        ("last failure", moment(sink.last_failure_time)),
        ("why", sink.last_failure_message),
        ("next attempt", moment(sink.next_attempt_time)),
        ("circuit", sink.circuit if sink.circuit == "Open" else ""),
    )
    for title, value in facts:
        if value:
            yield f"    {title:<14} {value}"
    for letter in sink.dead_letters:
        yield f"    given up       {letter.event} of {letter.about}: {letter.message}"
