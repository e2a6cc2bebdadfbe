"""Whose modules a process has imported."""

import sys

# Of these some are there or not by the platform and by what else is installed.
_AT_WILL = {
    "_yaml",
    "cython_runtime",
    "brotli",
    "zstandard",
    "aiodns",
    "backports",
    "tzdata",
    "sitecustomize",
    "google",
}


def others(modules: set[str]) -> set[str]:
    """The packages of others among them."""
    names = {name.partition(".")[0] for name in modules}
    private = {name for name in names if name.startswith("_")}
    return names - set(sys.stdlib_module_names) - {"hibernator"} - _AT_WILL - private
