"""One scene for all tests of the dashboard."""

import pytest

from support.approving import Approving
from support.showing import Showing, showing


@pytest.fixture(scope="session")
async def scene(desk: Approving) -> Showing:
    return await showing(desk)
