"""`make sbom`: everything that runs, the same each time."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.helm import ROOT


def made(folder: Path) -> bytes:
    """What the recipe in the Makefile writes, into another folder."""
    recipe = re.search(
        r"^sbom:.*?\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert recipe is not None
    *_, command = recipe[1].strip().splitlines()
    line = (
        command.strip()
        .lstrip("@")
        .replace("$(BIN)", str(Path(sys.executable).parent))
        .replace("dist/", f"{folder}/")
    )
    subprocess.run(line, shell=True, cwd=ROOT, check=True)  # noqa: S602 - our own Makefile
    return (folder / "hibernator.cdx.json").read_bytes()


def test_it_lists_the_whole_lock_with_hashes_and_is_the_same_each_time(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    bill = made(tmp_path)
    assert bill == made(tmp_path / "again")
    document: dict[str, Any] = json.loads(bill)
    assert document["bomFormat"] == "CycloneDX"
    assert document["metadata"]["component"]["name"] == "hibernator"
    lock = (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    listed = {(each["name"], each["version"]) for each in document["components"]}
    assert listed == set(re.findall(r"^([a-zA-Z0-9._-]+)(?:\[[^]]*\])?==([^ ;]+)", lock, re.MULTILINE))
    assert all(each["externalReferences"][0]["hashes"] for each in document["components"])
