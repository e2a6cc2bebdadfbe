"""The scene: what is in it, who, and from when on.

It opens on the Monday after today, so that its clock is always ahead of the real one: what people write down
in real time, such as an approval, is never too late for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any, Final

import yaml
from whenever import Instant, Time

ZONE: Final = "Europe/Berlin"
PLAN: Final = ("shop-core", "nights")
SCALER: Final = ("shop-help", "chat")
PEOPLE: Final = ("ann", "bob", "carol")
ASKER, FIRST_APPROVER, YOU = "carol", "ann", "bob"
NODES: Final = 2  # made-up machines for the Pods
SHOP: Final = "part-of=shop"  # the label of the six workloads

_OPENING: Final = Time(17)  # the shop is busy, and its evening is three hours away
_WEEK: Final = 7


def address(person: str) -> str:
    """The user name of someone, which is an e-mail address here."""
    return f"{person}@shop.example"


@dataclass(frozen=True, slots=True)
class Scene:
    opens: Instant

    @staticmethod
    def after(today: Instant) -> "Scene":
        date = today.to_tz(ZONE).date()
        monday = date.add(days=_WEEK + 1 - date.day_of_week().value)
        return Scene(monday.at(_OPENING).assume_tz(ZONE).to_instant())

    @property
    def documents(self) -> list[dict[str, Any]]:
        """What is there when it opens."""
        return list(self._read("scene.yaml"))

    @property
    def acts(self) -> list[dict[str, Any]]:
        """What is asked for while it runs, in this order."""
        return list(self._read("acts.yaml"))

    @property
    def text(self) -> str:
        """Everything as files would have it, for anyone who draws the timeline."""
        return "---\n".join(self._filled(name) for name in ("scene.yaml", "acts.yaml"))

    def _read(self, name: str) -> Iterator[dict[str, Any]]:
        yield from yaml.safe_load_all(self._filled(name))

    def _filled(self, name: str) -> str:
        tuesday = self.opens.to_tz(ZONE).date().add(days=1)
        wednesday = tuesday.add(days=1)
        midnights = {
            key: date.at(Time(0)).assume_tz(ZONE).to_instant().format_iso()
            for key, date in (("release_from", tuesday), ("release_until", wednesday))
        }
        text = files("hibernator.demo").joinpath(name).read_text("utf-8")
        return Template(text).substitute(midnights, holiday=tuesday.format_iso())
