"""What long work tells while it runs: a live line on a terminal, one plain line for each step elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class Step(Protocol):
    """One thing that is under way."""

    def detail(self, text: str) -> None:
        """Say what it is doing right now."""

    def count(self, done: int, total: int) -> None:
        """Say how far it is."""


class Reporter(Protocol):
    def step(self, title: str) -> AbstractContextManager[Step]: ...

    def note(self, text: str) -> None: ...


class _Silent:
    def detail(self, text: str) -> None:
        pass

    def count(self, done: int, total: int) -> None:
        pass


class PlainReporter:
    """For pipes and logs: each step is named once, when it begins."""

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        self.note(f"{title} …")
        yield _Silent()

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)  # noqa: T201 -- telling people is what this is for


class _LiveStep:
    def __init__(self, progress: Progress, title: str) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=None, detail="")

    def detail(self, text: str) -> None:
        self._progress.update(self._task, detail=text)

    def count(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total)

    def finish(self) -> None:
        self._progress.update(self._task, completed=1, total=1, detail="")

    def abandon(self) -> None:
        self._progress.update(self._task, detail="[red]failed[/]")
        self._progress.stop_task(self._task)


class LiveReporter:
    """For terminals: a line per step with a bar, the time spent and what is being done."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        step = _LiveStep(self._progress, title)
        try:
            yield step
        except BaseException:
            step.abandon()
            raise
        step.finish()

    def note(self, text: str) -> None:
        self._progress.console.print(text, highlight=False, markup=False)


@contextmanager
def reporting() -> Iterator[Reporter]:
    """The reporter that suits where standard error goes."""
    console = Console(stderr=True)
    if not console.is_interactive:
        yield PlainReporter()
        return
    columns = (
        SpinnerColumn(finished_text="[green]✓[/]"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[detail]}[/]"),
    )
    with Progress(*columns, console=console) as progress:
        yield LiveReporter(progress)
