"""The buttons of a plan's page, which ask for what the commands of `hibernator plan` do.

`wake` and `sleep` file the exceptions that the commands file. The web process cannot write plans: for
`suspend`, `resume` and `retry` it files a PlanRequest, which the operator carries out.
"""

import shlex
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.planrequest import Action
from hibernator.decisions.hibernateplan_case import is_suspended
from hibernator.decisions.hibernateplan_change import failed_for_good
from hibernator.decisions.scheduleexception_new import SLEEP, WAKE, at_once
from hibernator.schedule import periods
from hibernator.schedule.errors import TimeError
from hibernator.schedule.times import parse
from hibernator.web.dashboard import filing, requesting
from hibernator.web.dashboard.drafting import Fields, from_kept
from hibernator.web.identity import Identity
from hibernator.web.metrics import REFUSALS
from hibernator.web.paths import login
from hibernator.web.refusals import Page, RefusedError
from hibernator.web.site import Site

LONGEST_REASON: Final = 1_024
ROOM: Final = 2_500  # bytes of what is kept over a log-in
_WISHES: Final = {"wake": (WAKE, "2h"), "sleep": (SLEEP, "07:00")}  # and until when, unless said otherwise
_ACTIONS: Final[dict[str, Action]] = {"suspend": "Suspend", "resume": "Resume", "retry": "Retry"}


@dataclass(frozen=True, slots=True)
class Offers:
    """What the page of a plan offers to who looks at it."""

    path: str  # of the plan's page
    plan: str  # namespace/name, for the form of a new exception
    may_ask: bool
    may_change: bool
    is_suspended: bool
    has_failed: bool
    requests: tuple[requesting.RequestView, ...]


async def offers(site: Site, who: Identity, plan: HibernatePlan) -> Offers:
    metadata = plan.metadata
    may_ask = await filing.may_file(site, who, metadata.namespace)
    return Offers(
        path=f"/plans/{metadata.namespace}/{metadata.name}",
        plan=f"{metadata.namespace}/{metadata.name}",
        may_ask=may_ask,
        may_change=await requesting.may(site, who, plan),
        is_suspended=is_suspended(plan, site.clock.now()),
        has_failed=bool(failed_for_good(plan)),
        requests=requesting.shown(site.cases.requests_of(plan)),
    )


def typed(site: Site, request: Request) -> dict[str, Fields]:
    """The forms of the page of a plan, with what was typed before a refusal or the end of a log-in."""
    forms = {word: Fields(type=word, until=until) for word, (_, until) in _WISHES.items()}
    forms |= {word: Fields(type=word) for word in _ACTIONS}
    kept = from_kept(site.typed.find(request))
    return forms | ({kept.type: kept} if kept else {})


def restore_command(plan: HibernatePlan) -> str:
    """What prints the whole of the restore data."""
    metadata = plan.metadata
    return shlex.join(["hibernator", "plan", "restore-data", metadata.name, "-n", metadata.namespace])


class Actions:
    def __init__(self, site: Site) -> None:
        self._site = site

    def routes(self) -> list[BaseRoute]:
        return [
            Route(f"/plans/{{namespace}}/{{name}}/{word}", self._endpoint, methods=["POST"], name=word)
            for word in (*_WISHES, *_ACTIONS)
        ]

    async def _endpoint(self, request: Request) -> Response:
        path, _, word = request.url.path.rpartition("/")
        try:
            return await self._act(request, path, word)
        except RefusedError as refused:
            self._site.metrics.count(REFUSALS, refused.reason)
            response = self._site.pages.refused(request, refused)
            sent = await request.form(max_files=0, max_fields=20)
            until, reason = (str(sent.get(name, "")).strip() for name in ("until", "reason"))
            kept = Fields(type=word, until=until, reason=reason[:LONGEST_REASON])
            self._site.typed.keep(response, path, kept.kept(ROOM))
            return response

    async def _act(self, request: Request, path: str, word: str) -> Response:
        session = self._site.who(request)
        if session is None:
            words = "Your log-in is over. Nothing was changed, and what you typed is kept for 15 minutes."
            page = Page("Log in to go on", words, again=login(path), label="Log in and go on")
            raise RefusedError("login", page, status=401)
        fields = await self._site.form(request, session)
        who = session.identity
        asked = f"{request.path_params['namespace']}/{request.path_params['name']}"
        plan = await filing.plan_of(self._site, who, asked)
        reason = fields.get("reason", "").strip()
        if len(reason) > LONGEST_REASON:
            words = f"The reason has {len(reason)} characters, and at most {LONGEST_REASON} are kept."
            raise _refused(words, "Write less.", path)
        try:
            document = self._document(plan, word, fields.get("until", "").strip(), reason, filing.notes(who))
        except TimeError as error:
            raise _refused(str(error).replace("--until", "Until"), error.hint, path) from error
        except ValueError as error:  # the zone of the plan
            raise _refused(str(error), "Correct the schedule of the plan.", path) from error
        try:
            if word in _WISHES:
                await filing.file(self._site, who, document, plan.metadata.namespace)
            else:
                await requesting.ask(self._site, who, plan, document)
        except filing.NotFiledError as error:
            raise _refused(str(error), "", path, 409) from error
        return RedirectResponse(path, 303)

    def _document(
        self, plan: HibernatePlan, word: str, until: str, reason: str, notes: dict[str, str]
    ) -> dict[str, Any]:
        """The object to create; a time that is left open is as the command has it."""
        now, zone = self._site.clock.now(), plan.spec.schedule.timezone
        if action := _ACTIONS.get(word):
            end = parse("--until", until or None) if action == "Suspend" else None
            return requesting.document(plan, action, end.ahead(zone, now) if end else None, reason, notes)
        if is_suspended(plan, now):
            words = f"{plan.metadata.name} is suspended: it follows neither its schedule nor an exception."
            page = f"/plans/{plan.metadata.namespace}/{plan.metadata.name}"
            raise _refused(words, "Resume it first.", page, 409)
        wish, otherwise = _WISHES[word]
        _, ends = periods.at_once(None, until or None, otherwise=otherwise)(zone, now)
        return at_once(plan, wish, now, ends, reason, notes)


def _refused(words: str, fix: str, path: str, status: int = 422) -> RefusedError:
    page = Page("Nothing was changed", words, fix, again=path, label="Back to the plan")
    return RefusedError("action", page, status=status)
