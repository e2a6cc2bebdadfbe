"""The buttons of a plan's page: wake it for a while, put it to sleep until then.

Both file the exceptions that `hibernator plan wake` and `sleep` file. The web process cannot write plans:
what needs that is shown as a command to copy.
"""

import shlex
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.decisions.scheduleexception_new import SLEEP, WAKE, Wish, at_once
from hibernator.schedule import periods
from hibernator.schedule.errors import TimeError
from hibernator.web.dashboard import filing
from hibernator.web.dashboard.drafting import Fields, from_kept
from hibernator.web.identity import Identity
from hibernator.web.metrics import REFUSALS
from hibernator.web.paths import login
from hibernator.web.refusals import Page, RefusedError
from hibernator.web.site import Site

LONGEST_REASON: Final = 1_024
ROOM: Final = 2_500  # bytes of what is kept over a log-in
_WISHES: Final = {"wake": (WAKE, "2h"), "sleep": (SLEEP, "07:00")}  # and until when, unless said otherwise


@dataclass(frozen=True, slots=True)
class Command:
    words: str  # what it does
    command: str


@dataclass(frozen=True, slots=True)
class Offers:
    """What the page of a plan offers to who looks at it."""

    path: str  # of the plan's page
    plan: str  # namespace/name, for the form of a new exception
    may_ask: bool
    is_suspended: bool
    commands: tuple[Command, ...]


async def offers(site: Site, who: Identity, plan: HibernatePlan) -> Offers:
    metadata = plan.metadata
    may_ask = await filing.may_file(site, who, metadata.namespace)
    may_write = await site.seeing.may(who, "patch", PLANS, metadata.namespace, metadata.name)
    return Offers(
        path=f"/plans/{metadata.namespace}/{metadata.name}",
        plan=f"{metadata.namespace}/{metadata.name}",
        may_ask=may_ask,
        is_suspended=plan.spec.suspend,
        commands=commands(plan) if may_write else (),
    )


def typed(site: Site, request: Request) -> dict[str, Fields]:
    """The forms of the page of a plan, with what was typed before a refusal or the end of a log-in."""
    forms = {word: Fields(type=word, until=until) for word, (_, until) in _WISHES.items()}
    kept = from_kept(site.typed.find(request))
    return forms | ({kept.type: kept} if kept else {})


def commands(plan: HibernatePlan) -> tuple[Command, ...]:
    """What changes the plan itself, for a terminal."""
    if plan.spec.suspend:
        return (Command("Resume: follow the schedule again", _command("resume", plan)),)
    found = [Command("Suspend: leave everything as it is, and follow no schedule", _command("suspend", plan))]
    if plan.status.phase == "Error":
        found.append(Command("Retry: try again what failed", _command("retry", plan)))
    return tuple(found)


def restore_command(plan: HibernatePlan) -> str:
    """What prints the whole of the restore data."""
    return _command("restore-data", plan)


def _command(verb: str, plan: HibernatePlan) -> str:
    return shlex.join(["hibernator", "plan", verb, plan.metadata.name, "-n", plan.metadata.namespace])


class Actions:
    def __init__(self, site: Site) -> None:
        self._site = site

    def routes(self) -> list[BaseRoute]:
        return [
            Route(f"/plans/{{namespace}}/{{name}}/{word}", self._endpoint, methods=["POST"], name=word)
            for word in _WISHES
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
        wish, otherwise = _WISHES[word]
        document = self._document(plan, wish, otherwise, fields, filing.notes(who), path)
        try:
            await filing.file(self._site, who, document, plan.metadata.namespace)
        except filing.NotFiledError as error:
            raise _refused(str(error), "", path, 409) from error
        return RedirectResponse(path, 303)

    def _document(
        self,
        plan: HibernatePlan,
        wish: Wish,
        otherwise: str,
        fields: dict[str, str],
        notes: dict[str, str],
        path: str,
    ) -> dict[str, object]:
        reason, now = fields.get("reason", "").strip(), self._site.clock.now()
        if plan.spec.suspend:
            words = f"{plan.metadata.name} is suspended: it follows neither its schedule nor an exception."
            raise _refused(words, "Let it go on first: `hibernator plan resume`.", path, 409)
        if len(reason) > LONGEST_REASON:
            words = f"The reason has {len(reason)} characters, and at most {LONGEST_REASON} are kept."
            raise _refused(words, "Write less.", path)
        try:
            ends = periods.at_once(None, fields.get("until", "").strip() or None, otherwise=otherwise)
            _, until = ends(plan.spec.schedule.timezone, now)
        except TimeError as error:
            raise _refused(str(error).replace("--until", "Until"), error.hint, path) from error
        except ValueError as error:  # the zone of the plan
            raise _refused(str(error), "Correct the schedule of the plan.", path) from error
        return at_once(plan, wish, now, until, reason, notes)


def _refused(words: str, fix: str, path: str, status: int = 422) -> RefusedError:
    page = Page("Nothing was changed", words, fix, again=path, label="Back to the plan")
    return RefusedError("action", page, status=status)
