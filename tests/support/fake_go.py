"""Stands in for the `go` command where the building of binaries is tested: it "compiles" in no time.

It obeys the environment: FAKE_GO_LOG gets a line of JSON for each call; a file `FAKE_GO_DIR/<name>` says what
happens when the binary of that name is built (`fail`, `kill the starter`, or `wait` for the FIFO next to it).
"""

import json
import os
import signal
import sys
from pathlib import Path

VERSION = "go1.26.0"
GO_MOD = {
    "Go": "1.26.0",
    "Require": [{"Path": "k8s.io/api", "Version": "v0.0.0"}, {"Path": "example.org/x", "Version": "v1.0.0"}],
    "Replace": [
        {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
        {"Old": {"Path": "k8s.io/sample"}, "New": {"Path": "./staging/src/k8s.io/sample"}},
    ],
}


def main(arguments: list[str]) -> None:
    with Path(os.environ["FAKE_GO_LOG"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps({"arguments": arguments, "environment": dict(os.environ)}) + "\n")
    match arguments:
        case ["env", "GOVERSION"]:
            say(VERSION)
        case ["mod", "download", "-json", module]:
            download(module)
        case ["list", "-m", "-json", module]:
            say(json.dumps({"GoMod": module}))
        case ["mod", "edit", "-json", module]:
            say(json.dumps(GO_MOD if module.startswith("k8s.io/kubernetes@") else {"Go": "1.9.2"}))
        case ["list", "-deps", package]:
            say(f"fmt\nos\n{package}")
        case ["build", *_, "-o", target, package]:
            build(Path(target), package)


def download(module: str) -> None:
    if complaint := os.environ.get("FAKE_GO_NO_NETWORK"):
        say(json.dumps({"Path": module, "Error": complaint}))
        sys.exit(1)
    source = Path(os.environ["FAKE_GO_DIR"]) / "module"
    for stage in ("node/fast", "node/heartbeat", "pod/fast"):
        folder = source / "kustomize" / "stage" / stage
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stage.yaml").write_text(f"kind: Stage\nname: {stage}\n", encoding="utf-8")
        (folder / "kustomization.yaml").write_text("kind: Kustomization\n", encoding="utf-8")
    sys.stderr.write(f"go: downloading {module.replace('@', ' ')}\n")
    say(json.dumps({"Dir": str(source)}))


def build(target: Path, package: str) -> None:
    order = Path(os.environ["FAKE_GO_DIR"]) / target.name
    sys.stderr.write(f"{package}\n")
    target.write_text("half", encoding="utf-8")
    match order.read_text(encoding="utf-8") if order.exists() else "":
        case "fail":
            sys.exit("# a package\na.go:1: it does not compile")
        case "kill the starter":
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()
        case "wait":
            (order.parent / "pid").write_text(str(os.getpid()), encoding="ascii")
            order.with_suffix(".fifo").read_bytes()
    go_mod = Path("go.mod").read_text(encoding="utf-8")
    target.write_text(f"#!/bin/sh\n: whole\n# {go_mod!r}\n", encoding="utf-8")
    target.chmod(0o755)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
