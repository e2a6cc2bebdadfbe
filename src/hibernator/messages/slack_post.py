"""A post in a channel of Slack, for everybody who wants to follow a request; its thread tells the story.

It is kept as direct messages are, and carries no buttons: who decides does so in a message of their own.
"""

from typing import Final

from hibernator.kube.clock import Clock
from hibernator.messages.channel import AwayError
from hibernator.messages.slack import Slack
from hibernator.messages.slack_api import SlackApi, SlackError
from hibernator.messages.slack_blocks import Mode

_MENDED_WITHIN: Final = 600.0  # seconds between two looks whether the app was let into the channel


class SlackPost(Slack):
    """The channel."""

    def __init__(self, api: SlackApi, clock: Clock, *, mode: Mode, channel: str) -> None:
        super().__init__(api, clock, mode=mode)
        self._channel = channel
        self.room = f"#{channel}"

    def _known(self, recipient: str) -> str:  # noqa: ARG002
        return self._channel

    async def _conversation(self, recipient: str) -> str:  # noqa: ARG002  there is one only
        return self._channel

    def _trouble(self, where: str, error: SlackError) -> Exception:  # noqa: ARG002
        """What is wrong with a channel is put right in Slack, and no fault of the request."""
        meaning = _MEANINGS.get(error.code, f"Slack says {error.code}")
        return AwayError(f"slackChannel is {self._channel}: {meaning}", after=_MENDED_WITHIN)


_INVITE: Final = "invite the app there with /invite"
_MEANINGS: Final = {
    "channel_not_found": f"there is no such channel, or it is private and the app is not in it: {_INVITE}",
    "not_in_channel": f"the app is not in it: {_INVITE}",
    "is_archived": "the channel is archived",
    "restricted_action": "the channel does not let the app post",
    "restricted_action_read_only_channel": "the channel does not let the app post",
}
