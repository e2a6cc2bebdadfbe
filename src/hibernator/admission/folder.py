"""Certificates that somebody else makes, such as cert-manager, mounted into the pod as a folder."""

from pathlib import Path
from typing import Final

import structlog

from hibernator.admission.certificates import BUNDLE, CERTIFICATE, KEY, Pair
from hibernator.admission.secret import Announce
from hibernator.admission.server import WebhookServer
from hibernator.kube.clock import Clock

_LOOK_EVERY: Final = 30.0  # seconds; a kubelet takes a minute to bring a new version anyway

_log: Final = structlog.get_logger(__name__)


class MountedCertificates:
    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock

    async def serve(self, server: WebhookServer) -> None:
        """Serve what is in the folder, until cancelled; what cannot be used is told and looked at again."""
        while True:
            try:
                server.use(self._pair())
            except (OSError, ValueError) as error:
                # Two files are never replaced at the same time; the next look finds them together.
                _log.warning(
                    "the webhook certificates cannot be used", folder=str(self._folder), why=str(error)
                )
            await self._clock.sleep(_LOOK_EVERY)

    async def renew(self, announce: Announce) -> float:
        """Announce the authority, if the folder has one; others may take care of it as well."""
        await announce(self._bundle())
        return _LOOK_EVERY

    def _pair(self) -> Pair:
        return Pair((self._folder / CERTIFICATE).read_bytes(), (self._folder / KEY).read_bytes())

    def _bundle(self) -> bytes | None:
        file = self._folder / BUNDLE
        return file.read_bytes() if file.is_file() else None
