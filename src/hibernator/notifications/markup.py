"""How each sink writes bold, code and links, and what it must not take for them. Pure.

Names and messages come from users: what is not escaped could mention a whole channel or break a message.
"""

import html
import re
from collections.abc import Mapping
from typing import Final, Protocol

from whenever import Instant

_MARKDOWN_V2: Final = re.compile(r"([_*\[\]()~`>#+\-=|{}.!\\])")
_STAR, _TICK = "\N{ASTERISK OPERATOR}", "\N{MODIFIER LETTER GRAVE ACCENT}"  # look the same
_MENTION: Final = re.compile(r"((?<!\w)@|<)([\w!@#&])")
_NOTHING: Final = "\N{ZERO WIDTH SPACE}"
_MARKDOWN: Final = re.compile(r"([_*`\[])")


class Markup(Protocol):
    def escape(self, text: str) -> str: ...

    def bold(self, text: str) -> str: ...

    def code(self, text: str) -> str: ...

    def link(self, text: str, url: str) -> str: ...

    def moment(self, time: str) -> str: ...


class Plain:
    def escape(self, text: str) -> str:
        return text

    def bold(self, text: str) -> str:
        return text

    def code(self, text: str) -> str:
        return text

    def link(self, text: str, url: str) -> str:
        return f"{text}: {url}"

    def moment(self, time: str) -> str:
        """A time as events have it, for people."""
        return self.escape(f"{Instant.parse_iso(time).to_stdlib():%a %-d %b %Y, %H:%M} UTC")


class Defused(Plain):
    """For services that are not known here: nothing that some of them take for a mention of everyone."""

    def escape(self, text: str) -> str:
        return _MENTION.sub(f"\\1{_NOTHING}\\2", text)

    def bold(self, text: str) -> str:
        return self.escape(text)


class Mrkdwn(Plain):
    """Slack's."""

    def escape(self, text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def bold(self, text: str) -> str:
        return f"*{self.escape(text).replace('*', _STAR)}*"

    def code(self, text: str) -> str:
        return f"`{self.escape(text).replace('`', _TICK)}`"

    def link(self, text: str, url: str) -> str:
        return f"<{self.escape(url).replace('|', '%7C')}|{self.escape(text)}>"

    def moment(self, time: str) -> str:
        """On the clock of who reads it."""
        seconds = int(Instant.parse_iso(time).timestamp())
        return f"<!date^{seconds}^{{date_short_pretty}} {{time}}|{super().moment(time)}>"


class Html(Plain):
    """Telegram's, and that of mails."""

    def escape(self, text: str) -> str:
        return html.escape(text)

    def bold(self, text: str) -> str:
        return f"<b>{html.escape(text)}</b>"

    def code(self, text: str) -> str:
        return f"<code>{html.escape(text)}</code>"

    def link(self, text: str, url: str) -> str:
        return f'<a href="{html.escape(url)}">{html.escape(text)}</a>'


class MarkdownV2(Plain):
    """Telegram's."""

    def escape(self, text: str) -> str:
        return _MARKDOWN_V2.sub(r"\\\1", text)

    def bold(self, text: str) -> str:
        return f"*{self.escape(text)}*"

    def code(self, text: str) -> str:
        return "`" + text.replace("\\", "\\\\").replace("`", "\\`") + "`"

    def link(self, text: str, url: str) -> str:
        target = url.replace("\\", "\\\\").replace(")", "\\)")
        return f"[{self.escape(text)}]({target})"


class Markdown(Plain):
    """Telegram's first, which it keeps for old bots."""

    def escape(self, text: str) -> str:
        return _MARKDOWN.sub(r"\\\1", text)

    def bold(self, text: str) -> str:
        return f"*{text.replace('*', _STAR)}*"

    def code(self, text: str) -> str:
        return f"`{text.replace('`', _TICK)}`"

    def link(self, text: str, url: str) -> str:
        return f"[{self.escape(text)}]({url.replace(')', '%29')})"


MARKUPS: Final[Mapping[str, Markup]] = {
    "plain": Plain(),
    "apprise": Defused(),
    "slack": Mrkdwn(),
    "HTML": Html(),
    "MarkdownV2": MarkdownV2(),
    "Markdown": Markdown(),
}
