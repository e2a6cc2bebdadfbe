"""A certificate that can change while it is served."""

import os
import ssl


class ReloadingTls:
    """A TLS context that hands each new connection to the one of the current certificate.

    Loading another certificate into a context in use would leave the old one in it, if their keys are of
    different types, and clients would go on to get either.
    """

    def __init__(self) -> None:
        self._current = _context()
        self.context = _context()
        self.context.sni_callback = self._hand_over

    def use(self, certificate: bytes, key: bytes) -> None:
        """Serve this one from the next connection on; those that are open go on as they are."""
        self._current = _context(key + b"\n" + certificate)

    def _hand_over(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current


def _context(pair: bytes = b"") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if pair:
        # OpenSSL reads keys from files only. This one has no name and never comes near a disk.
        descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, pair)
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
    return context
