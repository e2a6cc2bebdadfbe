"""What several settings must be, or a sentence that names them: TLS, a readable file, certificates."""

import ssl
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from hibernator.settings import SettingsError


def is_loopback(host: str | None) -> bool:
    """Whether this is the machine itself, where no one listens on the way."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def check_encrypted(name: str, address: str) -> None:
    url = urlsplit(address)
    if not (url.hostname and (url.scheme == "https" or (url.scheme == "http" and is_loopback(url.hostname)))):
        raise SettingsError(
            f"{name} is {address!r}: write an address that begins with https://. Plain http is only for this "
            "machine itself."
        )


def check_readable(name: str, path: str) -> None:
    try:
        Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(f"{name} is {path!r}, which cannot be read: {error.strerror}.") from error


def check_secret(name: str, path: str) -> None:
    """A file of one text: what is empty would only be found out when someone logs in, or a mail is sent."""
    check_readable(name, path)
    try:
        is_empty = not Path(path).read_text("utf-8").strip()
    except UnicodeDecodeError as error:
        raise SettingsError(f"{name} is {path!r}, which is not text in UTF-8.") from error
    if is_empty:
        raise SettingsError(f"{name} is {path!r}, which is empty: write the secret into it.")


def check_certificates(name: str, path: str) -> None:
    if not path:
        return
    check_readable(name, path)
    try:
        ssl.create_default_context(cafile=path)
    except ssl.SSLError as error:
        raise SettingsError(f"{name} is {path!r}, which holds no certificate as PEM.") from error
