"""The certificate of the pages, where no ingress in front brings TLS: a folder, as cert-manager mounts it."""

from pathlib import Path
from typing import Final

import structlog

from hibernator.kube.clock import Clock
from hibernator.kube.tls import ReloadingTls
from hibernator.settings import SettingsError

_LOOK_EVERY: Final = 30.0  # seconds; a kubelet takes a minute to bring a new version anyway

_log: Final = structlog.get_logger(__name__)


class MountedCertificate:
    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self.front = ReloadingTls()
        self._served: tuple[bytes, bytes] | None = None
        try:
            self._read()
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"certificates is {str(folder)!r}, whose tls.crt and tls.key cannot be used: {error}."
            ) from error

    async def follow(self) -> None:
        """Serve what is in the folder, until cancelled; what cannot be used leaves the old one in place."""
        while True:
            await self._clock.sleep(_LOOK_EVERY)
            try:
                self._read()
            except (OSError, ValueError) as error:
                _log.warning("certificate cannot be used", folder=str(self._folder), why=str(error))

    def _read(self) -> None:
        found = (self._folder / "tls.crt").read_bytes(), (self._folder / "tls.key").read_bytes()
        if found != self._served:
            self.front.use(*found)
            self._served = found
