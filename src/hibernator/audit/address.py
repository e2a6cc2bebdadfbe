"""The address of the database as text: where it is read from, and how it is shown without its password."""

import re
from pathlib import Path
from typing import Final

# To the last @, because a password may hold one that someone forgot to write as %40.
_PASSWORD: Final = re.compile(r"^(\w[\w+.-]*://[^:@/?#]*):.*@", re.DOTALL)
_OPTION: Final = re.compile(r"([?&](?:ssl)?password=)[^&#]*", re.IGNORECASE)


def shown(url: str) -> str:
    """The address without what must stay a secret."""
    return _OPTION.sub(r"\1***", _PASSWORD.sub(r"\1:***@", url))


def has_secret(url: str) -> bool:
    """Whether anyone who sees this address sees a password."""
    return shown(url) != url


def url_in(file: Path) -> str:
    """The address that a file holds; ValueError says why there is none."""
    try:
        text = file.read_text("utf-8").strip()
    except OSError as error:
        raise ValueError(f"The file {file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"The file {file} is not text.") from error
    if not text:
        raise ValueError(f"The file {file} is empty; write the address of the database into it.")
    return text
