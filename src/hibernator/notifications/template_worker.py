"""The inside of the process that renders templates: Jinja2's immutable sandbox with its input, no more."""

from collections.abc import Mapping
from typing import Any, Final

from jinja2 import TemplateError, Undefined
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hibernator.kube.child_worker import run
from hibernator.notifications.markup import MARKUPS

LONGEST: Final = 16_384  # characters
_LONGEST_ERROR: Final = 300


def render(template: str, given: Mapping[str, Any], markup: str) -> dict[str, str]:
    """The text, or what is wrong with the template."""
    environment = ImmutableSandboxedEnvironment(
        loader=None, autoescape=False, undefined=Undefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["escape"] = environment.filters["e"] = MARKUPS[markup].escape
    for name in ("bold", "code", "moment"):
        environment.filters[name] = getattr(MARKUPS[markup], name)
    try:
        parts: list[str] = []
        size = 0
        for part in environment.from_string(template).generate(**given):
            parts.append(part)
            if (size := size + len(part)) > LONGEST:
                return {"error": f"it makes more than {LONGEST} characters"}
    except SecurityError as error:
        return {"error": f"it asks for what templates must not see: {error}"[:_LONGEST_ERROR]}
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        return {"error": f"{f'line {line}: ' if line else ''}{error}"[:_LONGEST_ERROR]}
    except (MemoryError, RecursionError):
        return {"error": "it needs too much memory"}
    except Exception as error:  # noqa: BLE001 — whatever a user's expression raises is the user's mistake
        return {"error": f"{type(error).__name__}: {error}"[:_LONGEST_ERROR]}
    text = "".join(parts).strip().encode("utf-8", "replace").decode()  # half a character is no text
    return {"text": text} if text else {"error": "it makes no text"}


def main() -> None:
    run(lambda asked: render(asked["template"], asked["input"], asked["markup"]))


if __name__ == "__main__":
    main()
