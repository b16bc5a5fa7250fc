"""A browser for the tests of the page, and a way to it that can be cut: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """The path of a Chromium that is installed, None without one; none is fetched."""
    return next((path for path in map(shutil.which, NAMES) if path is not None), None)


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser, closed on leaving."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Tests run as root in containers, where the sandbox cannot be made.
        made = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox"], timeout=120_000
        )
        try:
            yield made
        finally:
            made.close()


class Cable:
    """Hands connections on to a server, until it is cut: all end then, and there are new ones when it is mended."""

    def __init__(self, url: str) -> None:
        self._to = _address(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._whole = True
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections."""
        with self._lock:
            self._whole = False
            for one in list(self._open):
                self._end(one)

    def mend(self, url: str | None = None) -> None:
        """Let connections through again, to another server if one is named."""
        if url is not None:
            self._to = _address(url)
        self._whole = True

    def close(self) -> None:
        """End it for good."""
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                if not self._whole:
                    here.close()
                    continue
                there = socket.create_connection(self._to)
                with self._lock:
                    self._open |= {here, there}
                for pair in ((here, there), (there, here)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while part := one.recv(1 << 16):
                other.sendall(part)
        with self._lock:
            self._end(one)
            self._end(other)

    def _end(self, one: socket.socket) -> None:
        self._open.discard(one)
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


def _address(url: str) -> tuple[str | None, int | None]:
    parts = urlsplit(url)
    return parts.hostname, parts.port
