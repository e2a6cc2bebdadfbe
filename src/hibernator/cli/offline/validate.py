"""`hibernator validate`: every mistake in the files at once, each with its place and its fix."""

from collections import Counter
from collections.abc import Sequence

import typer
from whenever import Instant

from hibernator.api.kinds import all_kinds
from hibernator.cli.exits import Exit
from hibernator.cli.offline import out
from hibernator.cli.offline.checks import mistakes
from hibernator.cli.offline.loading.documents import OLD_GROUP, Document, load
from hibernator.cli.offline.out import counted, ordered, sentence
from hibernator.cli.offline.ranges import years_of
from hibernator.cli.offline.scene import stage
from hibernator.cli.offline.together import duplicates, hints, holiday_sources, rivals, unreadable_holidays


def run(files: Sequence[str]) -> None:
    years = years_of(Instant.now())
    loaded = load(files)
    found = [*loaded.mistakes]
    for document in loaded.documents:
        found += mistakes(document)
    found += duplicates(loaded.documents)
    found += rivals(loaded.documents)
    found += unreadable_holidays(loaded.documents, years)
    for mistake in ordered(found):
        out.line(sentence(mistake))
    ours = [document for document in loaded.documents if _is_ours(document)]
    if found:
        where = f" in {counted(len(ours), 'document')}" if ours else ""
        out.line(f"{counted(len(found), 'mistake')}{where}.")
        raise typer.Exit(Exit.FOUND)
    out.line(_summary(ours))
    known = {document.place for document in (*ours, *holiday_sources(loaded.documents))}
    others = [document for document in loaded.documents if document.place not in known]
    notes = [*stage(loaded.documents, years).notes, *hints(loaded.documents)]
    if others:
        notes.append(f"not checked, because the kinds are not ours: {_kinds(others)}.")
    out.notes(notes)


def _is_ours(document: Document) -> bool:
    return document.group in {kind.group for kind in all_kinds()} | {OLD_GROUP}


def _summary(ours: Sequence[Document]) -> str:
    if not ours:
        return "Nothing was checked: none of the documents is of a kind that hibernator knows."
    return f"No mistakes in {counted(len(ours), 'document')}: {_kinds(ours)}."


def _kinds(documents: Sequence[Document]) -> str:
    numbers = Counter(document.kind or "without a kind" for document in documents)
    return ", ".join(f"{number} {kind}" for kind, number in sorted(numbers.items()))
