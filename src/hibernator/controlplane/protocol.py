"""What a starter and a supervisor tell each other: the order, the reports on the way, and the state file."""

import msgspec

from hibernator.controlplane.layout import Layout


class Spec(msgspec.Struct, frozen=True):
    """What to start, and whether it ends with the process that started it."""

    directory: str
    binaries: dict[str, str]
    outlives_owner: bool
    nodes: int = 0
    stages: str = ""
    hurried: bool = True  # Kubernetes' own controllers, which are slowed down by default


class Step(msgspec.Struct, frozen=True, tag=True):
    text: str


class Ready(msgspec.Struct, frozen=True, tag=True):
    pass


class Failed(msgspec.Struct, frozen=True, tag=True):
    text: str
    hint: str = ""


Report = Step | Ready | Failed


class State(msgspec.Struct, frozen=True):
    """What others need to use a control plane."""

    url: str
    kubectl: str

    def write(self, layout: Layout) -> None:
        """Write it whole or not at all: others may read at any moment."""
        draft = layout.state.with_suffix(".draft")
        draft.write_bytes(msgspec.json.encode(self))
        draft.replace(layout.state)

    @staticmethod
    def read(layout: Layout) -> "State | None":
        try:
            return msgspec.json.decode(layout.state.read_bytes(), type=State)
        except FileNotFoundError:
            return None
