"""The demo on a terminal: one calm picture, redrawn in place, that fits whatever size the terminal has."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import typer
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text
from whenever import Instant

from hibernator.cli.demo_timeline import DAYS, Days
from hibernator.cli.demo_words import Question, Try, clock, date, pace, questions, tries, words
from hibernator.demo.scene import YOU
from hibernator.demo.view import Happening, View, Workload
from hibernator.pictures.ink import UNICODE, Ink

_MARGIN = 1
_LABEL = 8  # of a timeline's row
_STATE = 14  # beside it
_LEFT = 41  # columns of the workloads
_MOST_TRIES = 5
_FEWEST_EVENTS = 4
_STATES = {"awake": "green", "asleep": "blue", "waking up": "yellow", "falling asleep": "yellow"}
_ANSWERS = {"open": ("?", "bold yellow"), "yes": ("✓", "green"), "no": ("✗", "red"), "over": ("·", "dim")}
_STEPS = {"Completed": ("✓", "green"), "Running": ("…", "bold yellow"), "Failed": ("✗", "red")}


@dataclass(frozen=True, slots=True)
class Setting:
    """What does not change while it runs."""

    opens: Instant
    env: Path
    url: str
    speed: float
    seconds: float | None
    ink: Ink = UNICODE


class Screen:
    """An audience at a terminal."""

    def __init__(self, console: Console, setting: Setting) -> None:
        self._setting = setting
        self._live = Live(console=console, screen=True, auto_refresh=False, redirect_stderr=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, view: View) -> None:
        self._live.update(_Picture(view, self._setting), refresh=True)


@dataclass(frozen=True, slots=True)
class _Picture:
    view: View
    setting: Setting

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = console.size
        yield Text("\n").join(draw(self.view, self.setting, width, height))


def draw(view: View, setting: Setting, width: int, height: int) -> list[Text]:
    """As many lines as there is room for, none of them wider than the terminal."""
    commands = list(tries(view))[: max(2, min(_MOST_TRIES, height - 22))]
    head = [*_header(view, setting, width), Text(), *_timelines(view, setting, width), Text()]
    middle = [*_middle(view, width), Text()]
    foot = [Text(), *_foot(commands, setting, width)]
    room = max(_FEWEST_EVENTS, height - len(head) - len(middle) - len(foot) - 1)
    lines = [*head, *middle, *_events(view, room), *foot]
    return [_fitted(line, width) for line in lines[:height]]


def _fitted(line: Text, width: int) -> Text:
    shown = Text(" " * _MARGIN).append_text(line)
    shown.truncate(width - _MARGIN, overflow="ellipsis")
    shown.no_wrap = True
    return shown


def _header(view: View, setting: Setting, width: int) -> Iterator[Text]:
    left = Text.assemble(("Hibernator", "bold"), (f"  a day in {pace(setting.speed)}", "dim"))
    ends = "Ctrl-C ends it" if setting.seconds is None else _left(view, setting)
    right = Text.assemble((clock(view.now), "bold"), f"  {date(view.now)}", (f"   {ends}", "dim"))
    gap = width - 2 * _MARGIN - len(left) - len(right)
    yield Text.assemble(left, " " * max(2, gap), right)


def _left(view: View, setting: Setting) -> str:
    gone = (view.now - setting.opens).total("seconds") / setting.speed
    left = max(0, round((setting.seconds or 0) - gone))
    return f"ends in {left // 60}:{left % 60:02}"


def _timelines(view: View, setting: Setting, width: int) -> Iterator[Text]:
    days = Days(setting.ink, per_hour=_per_hour(width))
    yield Text(" " * _LABEL).append_text(days.axis(view.now))
    yield Text.assemble(
        ("nights".ljust(_LABEL), "bold"), days.plan(view), f"  {view.plan.status.phase or 'starts'}"
    )
    replicas = view.scaler.status.effective_replicas
    wanted = "starts" if replicas is None else "closed" if replicas == 0 else f"{replicas} replicas"
    yield Text.assemble(("chat".ljust(_LABEL), "bold"), days.scaler(view), f"  {wanted}")


def _per_hour(width: int) -> int:
    room = width - 2 * _MARGIN - _LABEL - _STATE
    return max(1, room // (DAYS * 24))


def _middle(view: View, width: int) -> Iterator[Text]:
    left = [_order(view), *map(_workload, view.workloads)]
    right = [Text("Waiting for people", "bold"), *_asked(view)]
    for number in range(max(len(left), len(right))):
        line = left[number].copy() if number < len(left) else Text()
        line.truncate(_LEFT, pad=True)
        line.append("  ")
        if number < len(right):
            beside = right[number].copy()
            beside.truncate(width - 2 * _MARGIN - _LEFT - 2, overflow="ellipsis")
            line.append_text(beside)
        yield line


def _order(view: View) -> Text:
    """The order of the plan, with a mark for each target that is done."""
    line = Text.assemble(("Workloads", "bold"), "  ")
    done = {target.name: target.state for target in view.plan.status.targets}
    under_way = view.plan.status.current_operation is not None
    for number, target in enumerate(view.plan.spec.targets):
        line.append(" → " if number else "", "dim")
        mark, style = _STEPS.get(done.get(target.name, ""), ("", "dim")) if under_way else ("", "dim")
        line.append(f"{target.name}{mark}", style)
    return line


def _workload(workload: Workload) -> Text:
    up = min(workload.ready, workload.wanted)
    style = _STATES[workload.state]
    dots = "●" * up + "○" * (workload.wanted - up)
    line = Text.assemble((workload.namespace.ljust(10), "dim"), workload.name.ljust(10))
    line.append(dots, style)
    line.append("·" * max(0, workload.most - workload.wanted), "blue")
    line.append(" " * max(1, 6 - max(workload.most, workload.wanted)))
    line.append(workload.state, style)
    return line


def _asked(view: View) -> Iterator[Text]:
    found = list(questions(view))
    if not found:
        yield Text("No request waits for approval.", "dim")
    for question in found:
        yield from _question(question)


def _question(question: Question) -> Iterator[Text]:
    mark, style = _ANSWERS[question.answer]
    yield Text.assemble((f"{mark} ", style), (question.name, "bold"), (f"  {question.progress}", style))
    yield Text(f"  {question.about}", "dim")
    yield Text(f"  {question.end}", "dim")


def _events(view: View, room: int) -> Iterator[Text]:
    yield Text("What happened", "bold")
    shown = view.happenings[-room:]
    for one in shown:
        style = "red" if one.bad else ""
        yield Text.assemble(
            (f"{clock(one.at)}  ", "dim"), (one.about.ljust(15), "bold"), (words(one.text), style)
        )
    for _ in range(room - len(shown)):
        yield Text()


def _foot(commands: list[Try], setting: Setting, width: int) -> Iterator[Text]:
    yield Text.assemble(("Try it", "bold"), f" in a browser, as {YOU}: ", (setting.url, "cyan"))
    yield Text.assemble("or in another terminal, after ", (f". {setting.env}", "cyan"))
    for one in commands:
        line = Text.assemble((f"  {one.command}", "cyan"))
        if len(line) + len(one.why) + 3 * _MARGIN + 4 <= width:
            line.append(f"   # {one.why}", "dim")
        yield line


_ABOUT = 14  # columns for what a line is about


class Lines:
    """An audience that reads."""

    def __init__(self, env: Path, url: str) -> None:
        self._page = Try(url, f"log in as {YOU.title()}, and decide in a browser")
        self._printed: Happening | None = None  # the last that was
        self._offered: set[str] = set()
        typer.echo(f"The shop is open. To take part, in another terminal:  . {env}")

    def show(self, view: View) -> None:
        """Print what is new, and offer each command once, as soon as there is a reason to try it."""
        known = view.happenings.index(self._printed) + 1 if self._printed else 0
        for one in view.happenings[known:]:
            self._printed = one
            typer.echo(f"{clock(one.at)}  {one.about:<{_ABOUT}}  {words(one.text)}")
        if not view.plan.status.phase:
            return  # nothing of it would work yet
        for offer in (self._page, *tries(view)):
            if offer.command not in self._offered:
                self._offered.add(offer.command)
                typer.echo(f"{clock(view.now)}  {'try':<{_ABOUT}}  {offer.command}   # {offer.why}")
