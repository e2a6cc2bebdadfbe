"""`hibernator plan wake` and `sleep`: file a ScheduleException, and wait until what was asked for is so.

An exception leaves a record of who asked, why and until when, and it ends by itself. Filing it is not yet
success: people may have to approve it, and the operator must act on it. Success is reported when it is seen.
"""

from typing import Final

import typer
from whenever import Instant

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.scheduleexception import EXCEPTIONS, RequiredApproval, ScheduleException
from hibernator.approvals.people import Directory, who_am_i
from hibernator.cli.cluster import Session
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.leader import about_the_leader, until as so
from hibernator.decisions.conditions import find
from hibernator.decisions.hibernateplan_case import is_suspended
from hibernator.decisions.scheduleexception_line import taken_by
from hibernator.decisions.scheduleexception_new import QuickOverride, at_once
from hibernator.decisions.scheduleexception_request import requester_notes
from hibernator.schedule.periods import Period
from hibernator.schedule.spoken import shown, shown_with_distance, span
from hibernator.schedule.ticks import SECOND
from hibernator.schedule.zones import known_zone

_OVER: Final = frozenset({"Rejected", "Cancelled", "Expired"})


async def request(
    session: Session,
    name: str,
    override: QuickOverride,
    period: Period,
    *,
    now: Instant,
    reason: str,
    longest: float,
) -> None:
    """File the exception, and report what becomes of it within `longest` seconds."""
    plan = await session.client.get(PLANS, name, session.namespace)
    if is_suspended(plan, now):
        raise suspended(name, session)
    zone = plan.spec.schedule.timezone
    _, until = period(zone, now)
    me = await who_am_i(session.client, Directory())
    notes = requester_notes(me.user, dict(me.extra), me.groups)
    body = at_once(plan, override, now, until, reason, notes)
    made = await session.client.create(EXCEPTIONS, body, session.namespace)
    when = shown_with_distance(until, zone, now)
    typer.echo(f"requested: {name} {override.done} until {when}, by ScheduleException {made.metadata.name}")
    if longest:
        typer.echo(f"{name} is {await _answer(session, plan, made, override, longest)} until {when}")


def suspended(name: str, session: Session) -> CliError:
    return CliError(
        f"{name} is suspended, so that it follows neither its schedule nor an exception.",
        hint=f"Let it go on first: `hibernator plan resume {name}{session.options}`.",
    )


async def _answer(
    session: Session, plan: HibernatePlan, made: ScheduleException, override: QuickOverride, longest: float
) -> str:
    """What the plan is now, if that is what was asked for; otherwise a `CliError` says what is missing."""
    client, namespace = session.client, session.namespace
    name, plan_name = made.metadata.name, plan.metadata.name

    async def is_decided() -> bool:
        nonlocal made, plan
        made = await client.get(EXCEPTIONS, name, namespace)
        state = made.status.state
        waits = made.status.required_approvals or taken_by(made.status.message)
        if state in _OVER or (state == "Pending" and waits):
            return True
        plan = await client.get(PLANS, plan_name, namespace)
        return state == "Active" and plan.status.phase in {override.phase, "Error"}

    await so(is_decided, longest)
    status = made.status
    see = f"See `hibernator exception view {name}{session.options}`."
    after = span(int(longest * SECOND))
    if status.state is None:
        words = f"The operator has not answered within {after}; {plan_name} is as it was."
        raise CliError(words, hint=await about_the_leader(session), code=Exit.UNAVAILABLE)
    if status.state in _OVER:
        raise CliError(f"{name} is {status.state}: {status.message}", hint=see)
    if other := taken_by(status.message):
        hint = await _behind(session, plan, made, other)
        raise CliError(f"{plan_name} is as it was. {status.message}.", hint=hint, code=Exit.CONFLICT)
    if status.state != "Active":
        raise CliError(f"{plan_name} is as it was. {missing(made)}", hint=see, code=Exit.WAITING)
    if plan.status.phase == "Error":
        ready = find(plan.status.conditions, "Ready")
        words = ready.message if ready else "see its targets"
        raise CliError(
            f"{plan_name} is in Error: {words}",
            hint=f"See `hibernator plan describe {plan_name}{session.options}`.",
        )
    if plan.status.phase != override.phase:
        done = plan.status.progress or "no"
        words = f"{plan_name} is still {override.doing} after {after}: {done} targets are done."
        hint = f"See how it goes on: `hibernator plan list {plan_name} --watch{session.options}`."
        raise CliError(words, hint=hint, code=Exit.WAITING)
    return override.done


async def _behind(session: Session, plan: HibernatePlan, made: ScheduleException, other: str) -> str:
    """What becomes of an exception that waits for another one, and how to choose between the two."""
    name, options = made.metadata.name, session.options
    first = await session.client.get(EXCEPTIONS, other, session.namespace)
    end = shown(first.spec.valid_until, known_zone(plan.spec.schedule.timezone))
    waits = (
        f"{name} takes over when that ends, at {end}."
        if first.spec.valid_until < made.spec.valid_until
        else f"{name} is over by then, and does nothing."
    )
    return (
        f"{waits}\nTo have it now: `hibernator exception cancel {other}{options}`.\n"
        f"To withdraw it: `hibernator exception cancel {name}{options}`."
    )


def missing(made: ScheduleException) -> str:
    """What an exception that is not in force waits for."""
    waits = [one for one in made.status.required_approvals if one.status == "pending"]
    if not waits:
        return made.status.message
    return f"These people must approve it first: {', '.join(map(_who, waits))}."


def _who(one: RequiredApproval) -> str:
    return one.email or f"a member of {one.role}"
