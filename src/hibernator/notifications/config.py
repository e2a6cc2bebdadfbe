"""What a Secret says about a sink: JSON of a known shape. Pure.

Errors name the field and what was expected, never the value: it may be the secret.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote, unquote, urlsplit

import msgspec

from hibernator.api.hibernatenotification import SinkType

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
_ADDRESS: Final = re.compile(r"[^@\s<>()\[\],;:\\\"]{1,64}@[a-zA-Z0-9.-]{1,189}")
_HeaderName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}\Z")]
_HeaderValue = Annotated[str, msgspec.Meta(max_length=4096, pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]*\Z")]
_FRAMING: Final = frozenset(
    {"connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"}
)
LONGEST_SHOWN: Final = 500  # characters of what went wrong
_LONGEST_HEADERS: Final = 8_192  # characters; every word of them is looked for in what a sink answers
_SHORTEST_SECRET: Final = 6  # characters; shorter words are no secrets, and occur in every sentence
_HIDDEN: Final = "•••"
_BETWEEN: Final = re.compile(r"[\s/&=:;,@?#\"']+")
PREFIX: Final = "whsec_"
_SIGNING: Final = "write it as whsec_ and 24 to 64 bytes in base64: whsec_$(openssl rand -base64 32)"
_MOST_KEYS: Final = 4
_KEY_SIZES: Final = range(24, 65)  # bytes


class ConfigError(Exception):
    """What is wrong with the JSON in a Secret, without any of its values."""


class SlackConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    webhook_url: _Text = ""
    token: _Text = ""
    channel: _Text = ""
    api_url: _Text = "https://slack.com/api/"


class TelegramConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    token: _Text
    chat_id: _Text | int
    parse_mode: Literal["MarkdownV2", "Markdown", "HTML", ""] = "HTML"
    api_url: _Text = "https://api.telegram.org"


class WebhookConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: _Text
    headers: Annotated[dict[_HeaderName, _HeaderValue], msgspec.Meta(max_length=50)] = {}
    secret: _Text = ""  # or two, with a space between them, while it is replaced

    @property
    def keys(self) -> tuple[bytes, ...]:
        return tuple(map(signing_key, self.secret.split()))


class EmailConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    to: Annotated[tuple[_Text, ...], msgspec.Meta(min_length=1, max_length=50)] | _Text

    @property
    def recipients(self) -> tuple[str, ...]:
        return (self.to,) if isinstance(self.to, str) else self.to


class AppriseConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: Annotated[str, msgspec.Meta(max_length=4096, pattern=r"^[A-Za-z0-9]+://")]


Config = SlackConfig | TelegramConfig | WebhookConfig | EmailConfig | AppriseConfig
_TYPES: Final[Mapping[SinkType, type[Config]]] = {
    "slack": SlackConfig,
    "telegram": TelegramConfig,
    "webhook": WebhookConfig,
    "email": EmailConfig,
    "apprise": AppriseConfig,
}


# What Secrets of the original hold besides: its other names for ours, and what changes only its own layouts.
_RENAMED: Final = {("slack", "bot_token"): "token", ("slack", "channel_id"): "channel"}
_ITS_OWN: Final = frozenset({"delivery_mode", "bot_token", "channel_id"})
_WITHOUT_EFFECT: Final[Mapping[SinkType, frozenset[str]]] = {
    "slack": frozenset(
        {"format", "block_layout", "max_targets", "additional_scopes", "time_display", "timezone"}
        | {"time_layout", "rate_limit"}
    ),
    "telegram": frozenset({"rate_limit"}),
    "webhook": frozenset({"enable_renderer"}),
}


def read_config(type_: SinkType, raw: bytes) -> Config:
    try:
        found = msgspec.convert(_as_ours(type_, msgspec.json.decode(raw)), _TYPES[type_])
    except msgspec.ValidationError as error:
        why = _without_values(error, _TYPES[type_])
        raise ConfigError(f"it is no configuration of the type {type_}: {why}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ConfigError('it is no JSON object: write, for example, {"url": "https://…"}') from None
    if isinstance(found, SlackConfig) and bool(found.webhook_url) == bool(found.token and found.channel):
        raise ConfigError("set webhook_url, or token and channel")
    if isinstance(found, WebhookConfig):
        _check_webhook(found)
    if isinstance(found, EmailConfig) and not all(map(_ADDRESS.fullmatch, found.recipients)):
        raise ConfigError("to must hold plain addresses, such as oncall@company.com")
    return found


def _as_ours(type_: SinkType, found: Any) -> Any:
    """Without the spaces and line ends that come along with copying, and as the original's Secrets say it."""
    if not isinstance(found, dict):
        return found
    nothing = (None,) if type_ == "telegram" else (None, "")  # an empty parse_mode means plain text
    kept = {
        _RENAMED.get((type_, key), key): text
        for key, value in found.items()
        if key not in _WITHOUT_EFFECT.get(type_, ()) and (text := _stripped(value)) not in nothing
    }
    if type_ == "slack" and found.keys() & _ITS_OWN:
        is_thread = str(kept.pop("delivery_mode", "")).lower() == "thread" or "webhook_url" not in kept
        others = ("webhook_url",) if is_thread else ("token", "channel")
        kept = {key: value for key, value in kept.items() if key not in others}
    return kept


def _stripped(value: Any) -> Any:
    """A text, and those of headers."""
    if isinstance(value, dict):
        return {key: _stripped(inner) for key, inner in value.items()}
    return value.strip() if isinstance(value, str) else value


def _check_webhook(found: WebhookConfig) -> None:
    if framing := sorted(_FRAMING & {name.lower() for name in found.headers}):
        raise ConfigError(f"headers has {framing[0]}, which the connection needs for itself: remove it")
    if sum(map(len, (*found.headers, *found.headers.values()))) > _LONGEST_HEADERS:
        raise ConfigError(f"headers has more than {_LONGEST_HEADERS} characters: servers take no more")
    if len(found.keys) > _MOST_KEYS:
        raise ConfigError(f"secret holds more than {_MOST_KEYS}, with spaces between them")


def signing_key(secret: str) -> bytes:
    """The key of a Standard Webhooks secret."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"secret is no base64: {_SIGNING}") from None
    if not (secret.startswith(PREFIX) and len(key) in _KEY_SIZES):
        raise ConfigError(f"secret is not as Standard Webhooks wants it: {_SIGNING}")
    return key


def hide(text: str, config: Config | None) -> str:
    """A sentence of a length that people read, without anything that the Secret holds.

    It is shortened last: what is left of a secret at the end of it would not be found. What a server answered
    could move the cursor of a terminal, or turn its letters round.
    """
    for value in sorted(set(_values(msgspec.to_builtins(config))) if config else (), key=len, reverse=True):
        text = text.replace(value, _HIDDEN)
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line if len(line) <= LONGEST_SHOWN else f"{line[: LONGEST_SHOWN - 1]}…"


def _values(found: Any) -> Iterator[str]:
    if isinstance(found, str):
        pieces = _beside_the_host(found) if "://" in found else [found]
        for piece in (found, *pieces, *(word for whole in pieces for word in _BETWEEN.split(whole))):
            if len(piece) >= _SHORTEST_SECRET:
                yield from (piece, unquote(piece), *_as_repeated(piece))
    elif isinstance(found, dict):
        for value in found.values():
            yield from _values(value)
    elif isinstance(found, list | tuple):
        for value in found:
            yield from _values(value)


def _as_repeated(piece: str) -> tuple[str, ...]:
    """As a server shows what it got in an address, or in JSON."""
    return quote(piece), quote(piece, safe=""), msgspec.json.encode(piece).decode()[1:-1]


def _beside_the_host(address: str) -> list[str]:
    """Where the secrets of an address are: its path, its query and its user, also as a header sends that.

    Addresses of Apprise have tokens in the place of the host, too.
    """
    if not address.startswith(("https://", "http://")):
        return [address.partition("://")[2]]
    try:
        parts = urlsplit(address)
    except ValueError:
        return [address]
    user = parts.netloc.rpartition("@")[0]
    basic = base64.b64encode(unquote(user).encode()).decode()
    return [parts.path, parts.query, parts.fragment, user, basic]


def _without_values(error: msgspec.ValidationError, type_: type[Config]) -> str:
    """Msgspec names types and our fields; an unknown field or value it would repeat as it was written."""
    words = str(error)
    if "unknown field" in words:
        return f"an unknown field; it can have {', '.join(type_.__struct_fields__)}"
    if words.startswith("Invalid enum value"):
        return f"an unknown value{words.partition(' - ')[1]}{words.partition(' - ')[2]}"
    return words
