"""Every recipe of the cookbook is right, is taken by the API server, and stands beside its own picture.

That the pictures are up to date is part of `make check`: they are generated files.
"""

import re

import pytest
import yaml

from support.cluster import ClusterInTest
from support.command import hibernator
from tools.cookbook_pictures import FOLDER, PAGE, outputs, recipes

RECIPES = recipes()
TEN = 10


def test_there_are_ten() -> None:
    assert len(RECIPES) == TEN


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_no_mistakes(name: str) -> None:
    ran = hibernator("validate", "-f", "-", stdin=RECIPES[name])
    assert (ran.code, ran.err) == (0, "")


def test_the_api_server_takes_every_recipe(crds: ClusterInTest, namespace: str) -> None:
    documents = [one for text in RECIPES.values() for one in yaml.safe_load_all(text)]
    for one in documents:
        one["metadata"]["namespace"] = namespace
    crds.dry_run(documents)


def test_behind_each_recipe_stands_its_own_picture() -> None:
    page = PAGE.read_text(encoding="utf-8")
    pattern = r"^```yaml (\S+)\.yaml$|^!\[.+\]\(\.\./images/cookbook/(\S+)\.svg\)$"
    order = re.findall(pattern, page, re.MULTILINE)
    assert order == [pair for name in RECIPES for pair in ((name, ""), ("", name))]
    assert [path for path, _ in outputs()] == [FOLDER / f"{name}.svg" for name in RECIPES]
