"""People at their command lines: each with a kubeconfig of their own, on the real API server."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from support.command import Ran, hibernator
from support.exception_scenes import ExceptionScene

ALICE, BOB, CAROL = "alice@company.com", "bob@company.com", "carol@company.com"


class People(ExceptionScene):
    folder: Path

    def kubeconfig(self, user: str, *groups: str, extra: Mapping[str, str]) -> Path:
        """What a user would have at home; in a real cluster their groups bring the permissions."""
        document = yaml.safe_load(self.cluster.kubeconfig.read_text())
        claims = {key: [value] for key, value in extra.items()}
        document["users"][0]["user"] |= {"as": user, "as-groups": list(groups), "as-user-extra": claims}
        path = self.folder / f"{user}.yaml"
        path.write_text(yaml.safe_dump(document))
        return path

    def ran(
        self,
        user: str,
        *arguments: str,
        groups: tuple[str, ...] = ("system:masters",),
        extra: Mapping[str, str] | None = None,
    ) -> Ran:
        path = self.kubeconfig(user, *groups, extra=extra or {})
        return hibernator("exception", *arguments, f"--kubeconfig={path}", "-n", self.namespace)

    def ask(self, user: str, *arguments: str) -> str:
        done = self.ran(user, *arguments)
        assert done.code == 0, done.err
        return done.out

    def wish(self, name: str, *arguments: str) -> str:
        window, until = "12:00-13:00 MON,TUE", "2026-03-20T00:00:00Z"
        given = ["--plan", "dev-plan", "--type", "extend", "--until", until, "--window", window]
        return self.ask(ALICE, "create", name, *given, "--from", "2026-03-02T00:00:00Z", *arguments)
