"""Where `simulate` and `explain` take what they show: from files, or from a cluster where none are given."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from whenever import Instant

from hibernator.api.structural import guess
from hibernator.cli.exits import CliError
from hibernator.cli.offline.scene import Resource, Scene
from hibernator.cli.offline.setting import read_scene, scene_of
from hibernator.cli.options import ClusterOptions
from hibernator.kube.clustertime import now


@dataclass(frozen=True, slots=True)
class Source:
    files: Sequence[str]
    names: Sequence[str]
    place: ClusterOptions
    everywhere: bool = False

    def now(self) -> Instant:
        return Instant.now() if self.files else now(self.place.kubeconfig)

    def scene(self, years: range) -> Scene:
        """What was named, or everything."""
        if self.files:
            scene = read_scene(self.files, years)
            return replace(scene, resources=_chosen(scene, self.names))
        from hibernator.cli.offline.from_cluster import documents

        scene = scene_of(documents(self.names, self.place, everywhere=self.everywhere), years)
        if not scene.resources:
            where = "this cluster" if self.everywhere else "this namespace"
            raise CliError(
                f"There is no HibernatePlan and no TimeWindowScaler in {where}.",
                hint="Name another namespace with -n, all of them with -A, or files with -f.",
            )
        return scene


def _chosen(scene: Scene, names: Sequence[str]) -> tuple[Resource, ...]:
    """What was named, by its name or by namespace and name; everything, if nothing was."""
    if not names:
        return scene.resources
    found = {name: _named(scene, name) for name in names}
    return tuple(each for each in scene.resources if any(each in those for those in found.values()))


def _named(scene: Scene, name: str) -> list[Resource]:
    found = [each for each in scene.resources if name in {each.name, f"{each.namespace}/{each.name}"}]
    if found:
        return found
    names = sorted({each.name for each in scene.resources})
    bent = next((each for each in scene.resources for bent in each.exceptions if bent.name == name), None)
    if bent:
        raise CliError(
            f"{name} is an exception.", hint=f"Explain its plan: hibernator explain {bent.name} -f FILE"
        )
    meant = guess(name, names)
    raise CliError(
        f"There is no {name} in these files.",
        hint=f"Did you mean {meant}?" if meant else f"There are {', '.join(names)}.",
    )
