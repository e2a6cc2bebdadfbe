"""From files or a cluster to a scene: what all commands that show timelines begin with."""

from collections.abc import Sequence
from dataclasses import replace

from hibernator.cli.exits import CliError
from hibernator.cli.offline.checks import timing_mistakes
from hibernator.cli.offline.loading.documents import Document, Mistake, load
from hibernator.cli.offline.migrate import is_old, migrated, order
from hibernator.cli.offline.out import refuse
from hibernator.cli.offline.scene import Scene, stage
from hibernator.cli.offline.together import duplicates


def read_scene(files: Sequence[str], years: range) -> Scene:
    """Everything in the files that has a timeline; ends the command if a mistake is in the way.

    Only in these years are there holidays from ConfigMaps.
    """
    loaded = load(files)
    scene = scene_of(loaded.documents, years, loaded.mistakes)
    if not scene.resources:
        raise CliError(
            "There is no HibernatePlan and no TimeWindowScaler in these files.",
            hint="Name the files that have them: hibernator simulate -f plan.yaml",
        )
    return scene


def scene_of(written: Sequence[Document], years: range, known: Sequence[Mistake] = ()) -> Scene:
    """Everything in documents that has a timeline."""
    mistakes = list(known)
    for document in written:
        mistakes += timing_mistakes(document)
    mistakes += duplicates(written)
    refuse(mistakes)
    documents, notes = [], []
    for document in written:
        modern = migrated(document)
        documents.append(modern.document)
        if is_old(document):
            notes.append(
                f"{document.title} is in the old format, and shown as if converted: {order(document)}"
            )
            notes += modern.notes
    scene = stage(documents, years)
    return replace(scene, notes=(*notes, *scene.notes))
