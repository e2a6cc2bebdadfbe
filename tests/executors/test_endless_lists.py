"""Lists without end, from servers that users have named."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from hibernator.executors.gcp.project import GcpProject
from hibernator.executors.protocol import MOST_ITEMS, Permanent, check_count


@dataclass
class Endless:
    """What answers with one more page each time."""

    asked: list[str] = field(default_factory=list)

    async def read(self, _api: str, path: str, **_query: str) -> dict[str, Any]:
        self.asked.append(path)
        return {"items": [{"name": "db"}] * 1000, "nextPageToken": "more"}


async def test_a_list_of_google_that_never_ends_is_given_up() -> None:
    server = Endless()
    with pytest.raises(Permanent, match=r"more than 20000 items\. Let the target cover fewer"):
        await GcpProject.pages(server, "sqladmin", "v1/projects/p/instances", "items")  # type: ignore[arg-type]
    assert len(server.asked) == MOST_ITEMS // 1000 + 1


def test_as_many_items_as_there_may_be_are_no_problem() -> None:
    check_count(MOST_ITEMS)
    with pytest.raises(Permanent):
        check_count(MOST_ITEMS + 1)
