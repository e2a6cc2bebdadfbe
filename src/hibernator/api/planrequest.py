"""PlanRequest: what a person asked for on the page of a plan that changes the plan itself.

The web process files it in their name, because it may not write plans; the operator carries it out.
"""

from datetime import datetime
from typing import Annotated, Literal

from hibernator.api.kind import DOMAIN, Kind
from hibernator.api.meta import (
    OBJECT_NAME,
    Conditions,
    Journal,
    Model,
    Object,
    ObservedGeneration,
    rule,
    says,
)
from hibernator.api.planstatus import LONGEST_NAME

Action = Literal["Suspend", "Resume", "Retry"]


class RequestedPlan(Model):
    name: Annotated[
        str,
        says("Its name, in the same namespace.", minLength=1, maxLength=LONGEST_NAME, pattern=OBJECT_NAME),
    ]
    uid: Annotated[
        str, says("Its uid: a later plan of the same name is not meant.", minLength=1, maxLength=64)
    ]


class PlanRequestSpec(Model):
    RULES = (
        rule("self == oldSelf", "spec is immutable: ask again"),
        rule(
            "!has(self.until) || self.action == 'Suspend'",
            "until goes with action Suspend only",
            field=".until",
        ),
    )

    plan: Annotated[RequestedPlan, says("The HibernatePlan that is to be changed.")]
    action: Annotated[Action, says("What is asked for, as `hibernator plan` has it.")]
    until: Annotated[datetime | None, says("With `Suspend`: when the plan goes on by itself.")] = None
    reason: Annotated[str, says("Why, for other readers.", maxLength=1024)] = ""


class PlanRequestStatus(Model):
    observed_generation: ObservedGeneration = None
    state: Annotated[
        Literal["Done", "Refused"] | None, says("What became of it; absent while nothing did.")
    ] = None
    message: Annotated[str, says("The same in words, and what to do next.", maxLength=4096)] = ""
    finished_at: Annotated[datetime | None, says("Since when. It is deleted an hour later.")] = None
    conditions: Conditions = ()
    journal: Journal = ()


class PlanRequest(Object, kw_only=True):
    """Asks for a plan to be suspended, resumed or retried. Filed by the web process, done by the operator."""

    spec: Annotated[PlanRequestSpec, says("Which plan, and what is asked for.")]
    status: Annotated[PlanRequestStatus, says("What became of it.")] = PlanRequestStatus()


PLAN_REQUESTS = Kind(PlanRequest, DOMAIN, "v1alpha1", "PlanRequest", "planrequests")
