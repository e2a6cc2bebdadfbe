"""Writes the files that are made from the types: `python -m tools.generate`, with `--check` to only compare.

A generator is a pair of a path and what makes its text. To add one, add it to `outputs`.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from hibernator.admission import policies_v1beta1
from hibernator.admission.policies_accounts import WEB
from hibernator.api.kinds import DEFINITIONS
from hibernator.operator.manifests import POLICIES, lease
from hibernator.operator.roles import Home, grants, roles, web_grants
from tools import (
    api_reference,
    audit_reference,
    chart,
    commands_reference,
    cookbook_pictures,
    crds,
    demo_picture,
    documents,
    metrics_reference,
    timeline_picture,
    webhook_schema,
)

ROOT = Path(__file__).parents[1]
COMMAND = "make generate"
CRDS = (Path("config/crd"), chart.FILES / "crds")

Output = tuple[Path, Callable[[], str]]


def outputs() -> Iterator[Output]:
    """Every generated file, relative to the checkout."""
    for definition in DEFINITIONS:
        yield Path("config/crd", f"{definition.kind.resource}.yaml"), partial(crds.text, definition)
    yield (
        Path("config/policies", f"{policies_v1beta1.NAME}.yaml"),
        partial(documents.text, policies_v1beta1.policies()),
    )
    for policy in POLICIES:
        yield (
            Path("config/policies", f"{policy.name}.yaml"),
            partial(documents.text, policy.documents(Home().user, Home().web_user)),
        )
    yield Path("config/rbac/roles.yaml"), partial(documents.text, roles())
    yield Path("config/rbac/operator.yaml"), partial(documents.text, grants(Home()))
    yield (
        Path("config/web/access.yaml"),
        partial(documents.text, [*web_grants(Home()), lease(Home(), WEB)]),
    )
    yield from chart.outputs()
    yield Path("docs/reference/api.md"), api_reference.text
    yield Path("docs/reference/audit-events.md"), audit_reference.text
    yield Path("docs/reference/commands.md"), commands_reference.text
    yield Path("docs/reference/metrics.md"), metrics_reference.text
    yield Path("docs/reference/webhook-event.schema.json"), webhook_schema.text
    yield Path("docs/images/demo.svg"), demo_picture.text
    yield Path("docs/images/timeline.svg"), timeline_picture.text
    yield from cookbook_pictures.outputs()


def stale() -> Iterator[tuple[Path, str | None]]:
    """What is not as it should be: a file with the text that belongs there, or None where none does."""
    expected = {path: produce() for path, produce in outputs()}
    for path, text in expected.items():
        if not (ROOT / path).is_file() or (ROOT / path).read_text(encoding="utf-8") != text:
            yield path, text
    # A kind that was removed must not stay installed, nor a picture whose recipe is gone.
    found = [(folder, "*.yaml") for folder in CRDS] + [(cookbook_pictures.FOLDER, "*.svg")]
    for file in sorted(file for folder, pattern in found for file in (ROOT / folder).glob(pattern)):
        if file.relative_to(ROOT) not in expected:
            yield file.relative_to(ROOT), None


def write() -> None:
    for path, text in list(stale()):
        if text is None:
            (ROOT / path).unlink()
        else:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path}\n")


def check() -> int:
    found = [path for path, _ in stale()]
    for path in found:
        sys.stderr.write(f"{path} is out of date. Run: {COMMAND}\n")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    if parser.parse_args().check:
        return check()
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
