"""Block Kit's limits, as Slack checks them: every problem in words, so that a test says what is wrong."""

from collections.abc import Callable, Iterator
from typing import Any

_MOST_BLOCKS, _MOST_FIELDS, _MOST_ELEMENTS = 50, 10, 25
_LONGEST_ID = 255
# Slack says `msg_blocks_too_long` from about 11,300 characters on, and nowhere how it counts them.
LONGEST_MESSAGE = 10_000


def check_blocks(blocks: list[dict[str, Any]]) -> list[str]:
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    problems = ["block_id twice"] if len(ids) != len({*ids}) else []
    if any(len(one) > _LONGEST_ID for one in ids):
        problems.append("block_id")
    return [*problems, *_blocks(blocks, {"header", "section", "context", "actions", "image"})]


def length(found: Any) -> int:
    """The characters of all texts of a message, however deep they are."""
    if isinstance(found, dict):
        own = found.get("text")
        return (len(own) if isinstance(own, str) else 0) + sum(map(length, found.values()))
    return sum(map(length, found)) if isinstance(found, list | tuple) else 0


def check_view(view: dict[str, Any]) -> list[str]:
    problems = [*_blocks(view["blocks"], {"section", "input", "context"})]
    if view.get("type") != "modal" or not view.get("title"):
        problems.append("no modal")
    for name in ("title", "submit", "close"):
        problems += _text(view[name], 24, {"plain_text"})
    if len(view.get("private_metadata", "")) > 3000:
        problems.append("private_metadata")
    return problems


def _blocks(blocks: list[dict[str, Any]], allowed: set[str]) -> Iterator[str]:
    if len(blocks) > _MOST_BLOCKS:
        yield f"{len(blocks)} blocks"
    for block in blocks:
        kind = block.get("type")
        if kind not in allowed:
            yield f"{kind} is not allowed here"
            continue
        yield from _CHECKS[kind](block)


def _header(block: dict[str, Any]) -> Iterator[str]:
    yield from _text(block["text"], 150, {"plain_text"})


def _context(block: dict[str, Any]) -> Iterator[str]:
    yield from _many(block["elements"], 10)
    for element in block["elements"]:
        yield from _text(element, 3000)


def _actions(block: dict[str, Any]) -> Iterator[str]:
    yield from _many(block["elements"], _MOST_ELEMENTS)
    ids = [element["action_id"] for element in block["elements"]]
    if len(ids) != len({*ids}) or any(len(one) > _LONGEST_ID for one in ids):
        yield "action_id twice, or too long"
    for element in block["elements"]:
        yield from _button(element)


def _image(block: dict[str, Any]) -> Iterator[str]:
    if not 1 <= len(block.get("alt_text", "")) <= 2000:
        yield "alt_text"
    if ("image_url" in block) == ("slack_file" in block):
        yield "an image with one of image_url and slack_file"
    if "slack_file" in block and block["slack_file"].keys() not in ({"id"}, {"url"}):
        yield "a slack_file with one of id and url"
    if extra := block.keys() - {"type", "alt_text", "image_url", "slack_file", "title", "block_id"}:
        yield f"{extra} in an image"


def _input(block: dict[str, Any]) -> Iterator[str]:
    yield from _text(block["label"], 2000, {"plain_text"})
    if "hint" in block:
        yield from _text(block["hint"], 2000, {"plain_text"})
    if not 1 <= block["element"].get("max_length", 1) <= 3000:
        yield "max_length"


def _section(block: dict[str, Any]) -> Iterator[str]:
    if not ("text" in block or "fields" in block):
        yield "a section without text or fields"
    if "text" in block:
        yield from _text(block["text"], 3000)
    if "fields" in block:
        yield from _many(block["fields"], _MOST_FIELDS)
        for one in block["fields"]:
            yield from _text(one, 2000)


def _button(element: dict[str, Any]) -> Iterator[str]:
    if element.get("type") != "button":
        yield f"{element.get('type')} as an element"
        return
    yield from _text(element["text"], 75, {"plain_text"})
    if len(element.get("value", "")) > 2000 or len(element.get("url", "")) > 3000:
        yield "the value or url of a button"
    if element.get("style", "primary") not in {"primary", "danger"}:
        yield "style"
    if confirm := element.get("confirm"):
        yield from _text(confirm["title"], 100)
        yield from _text(confirm["text"], 300)
        yield from _text(confirm["confirm"], 30, {"plain_text"})
        yield from _text(confirm["deny"], 30, {"plain_text"})


def _text(text: dict[str, Any], most: int, kinds: set[str] | None = None) -> Iterator[str]:
    if text.get("type") not in (kinds or {"plain_text", "mrkdwn"}):
        yield f"{text.get('type')} as a text"
    if not 1 <= len(text.get("text", "")) <= most:
        yield f"a text of {len(text.get('text', ''))} characters, of at most {most}"
    extra = text.keys() - (
        {"type", "text", "emoji"} if text["type"] == "plain_text" else {"type", "text", "verbatim"}
    )
    if extra:
        yield f"{extra} in a text"


def _many(found: list[Any], most: int) -> Iterator[str]:
    if not 1 <= len(found) <= most:
        yield f"{len(found)} elements, of at most {most}"


_CHECKS: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    "header": _header,
    "section": _section,
    "context": _context,
    "actions": _actions,
    "image": _image,
    "input": _input,
}
