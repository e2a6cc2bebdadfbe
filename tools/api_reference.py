"""docs/reference/api.md."""


def text() -> str:
    return ""
