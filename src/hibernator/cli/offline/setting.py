"""From the names after `-f` to a scene: what all commands that show timelines begin with."""

from collections.abc import Sequence

from hibernator.cli.exits import CliError
from hibernator.cli.offline.checks import timing_mistakes
from hibernator.cli.offline.loading.documents import load
from hibernator.cli.offline.report import refuse
from hibernator.cli.offline.scene import Scene, stage


def read_scene(files: Sequence[str]) -> Scene:
    """Everything in the files that has a timeline; ends the command if a mistake is in the way."""
    loaded = load(files)
    mistakes = list(loaded.mistakes)
    for document in loaded.documents:
        mistakes += timing_mistakes(document)
    refuse(mistakes)
    scene = stage(loaded.documents)
    if not scene.resources:
        raise CliError(
            "There is no HibernatePlan and no TimeWindowScaler in these files.",
            hint="Name the files that have them: hibernator simulate -f plan.yaml",
        )
    return scene
