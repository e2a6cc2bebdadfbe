"""An operator imports what every operator needs. What only some need comes with the first use of it."""

import json
import os
import subprocess
import sys

from support.packages import others

_IMPORTED = """
import json, sys
import hibernator.operator.app
print(json.dumps(sorted(sys.modules)))
"""
EVERY_OPERATOR = {
    *(
        "aiohappyeyeballs",
        "aiohttp",
        "aiosignal",
        "attr",
        "frozenlist",
        "idna",
        "multidict",
        "propcache",
        "yarl",
    ),
    *("msgspec", "typing_extensions", "whenever", "yaml"),
    *("greenlet", "sqlalchemy"),
    *("anyio", "click", "h11", "prometheus_client", "python_multipart", "starlette", "uvicorn"),
    "cryptography",
    *("markdown_it", "mdurl", "pygments", "rich", "structlog"),  # structlog takes the first four by itself
}


def test_an_operator_starts_without_the_libraries_of_clouds_calendars_migrations_and_other_databases() -> (
    None
):
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTED],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert others(set(json.loads(done.stdout))) <= EVERY_OPERATOR
