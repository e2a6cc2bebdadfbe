"""The page about the architecture shows the house as it stands."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LAYERS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
    "contracts"
][0]["layers"]
ROWS = re.findall(r"^\| `(\w+)` \| .+ \| (.*?) ?\|$", PAGE, re.MULTILINE)


def test_the_table_has_every_room() -> None:
    rooms = {folder.parent.name for folder in (ROOT / "src" / "hibernator").glob("*/__init__.py")}
    assert [room for room, _ in ROWS] == sorted(rooms, key=[room for room, _ in ROWS].index)
    assert len(ROWS) == len(rooms)


def test_what_a_room_may_use_is_further_down_in_the_layers() -> None:
    level = {room: depth for depth, layer in enumerate(LAYERS) for room in layer.split(" | ")}
    for room, uses in ROWS:
        for used in re.findall(r"`(\w+)`", uses):
            assert level[used] > level[room], f"{room} may not use {used}"


def test_the_picture_has_every_room_of_a_running_operator() -> None:
    picture = re.search(r"^```mermaid\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert picture
    words = set(re.findall(r"\w+", picture[1]))
    assert {room for room, _ in ROWS} - words == {"controlplane", "demo"}  # for trying it out


def test_every_file_and_folder_that_the_page_names_is_there() -> None:
    named = re.findall(r"`((?:[a-z]+/)+[a-z_]*(?:\.py)?)`", PAGE)
    places = (ROOT, ROOT / "src" / "hibernator")
    missing = {name for name in named if not any((place / name).exists() for place in places)}
    assert len(named) > 30
    assert missing == {"executors/azure/", "api/x.py", "decisions/x.py", "controllers/x.py"}  # examples
