"""`hibernator completion`: what a shell needs to complete commands, options and names."""

from enum import StrEnum
from typing import Annotated

import typer

from hibernator.cli.lazy import COMPLETES


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")],
) -> None:
    """Print the script that lets a shell complete commands, options and names.

    For bash: `source <(hibernator completion bash)`

    For zsh, after `compinit`: `source <(hibernator completion zsh)`

    For fish: `hibernator completion fish | source`
    """
    from typer import completion as shells

    script = vars(shells)["get_completion_script"]  # typed as private
    typer.echo(script(prog_name="hibernator", complete_var=COMPLETES, shell=shell.value))
