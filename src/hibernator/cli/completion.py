"""`kubectl_complete-hibernator`: called by kubectl when a user presses Tab after `kubectl hibernator`.

kubectl passes the words so far, the last one unfinished, and wants one proposal a line and then a directive;
`:4` says that these are all, and that names of files are none.
"""

import os
import shlex
import sys
from contextlib import suppress

import typer

from hibernator.cli.lazy import COMPLETES
from hibernator.cli.main import app


def main() -> None:
    words = sys.argv[1:] or [""]
    os.environ[COMPLETES] = "complete_bash"
    os.environ["COMP_WORDS"] = shlex.join(["hibernator", *words[:-1], words[-1] or ""]).removesuffix("''")
    os.environ["COMP_CWORD"] = str(len(words))
    with suppress(SystemExit):
        app(prog_name="hibernator")
    typer.echo(":4")


if __name__ == "__main__":
    main()
