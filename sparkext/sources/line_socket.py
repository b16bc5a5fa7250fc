"""Lines over TCP as a source: each line is a message, or each run of lines up to an empty one."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError
from sparkext.sources.feed import Connection, ConnectionLostError, Message, Put
from sparkext.sources.live_source import MOST_BYTES, LiveSource, parts_of_url, seconds, tls_context

_CONNECT_SECONDS = 30.0
_CHUNK = 1 << 16
_LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class LineSource(LiveSource):
    """Connects to a server, such as "tcp://host:port", and reads lines in UTF-8; `LineSource(...).feed(stream)`.

    With `ends` "line" each line that is not empty is a message, with "blank line" what stands up to an empty line.
    Longer ones than `most_bytes` are set aside. Where nothing comes for `silence` seconds, the connection is made anew.
    What is sent while there is none is lost: the protocol has no places to go on from. `tls` is True, or an SSLContext.
    """

    url: str
    ends: str = "line"
    tls: bool | ssl.SSLContext = False
    silence: float | None = None
    most_bytes: int = MOST_BYTES

    def __post_init__(self) -> None:
        super().__post_init__()
        if parts_of_url(self.url, "tcp").port is None:
            raise check.wrong("url", "a URL such as tcp://host:port", self.url)
        check.text("ends", self.ends)
        if self.ends not in ("line", "blank line"):
            raise ArgumentError("ends", f"must be 'line' or 'blank line', not {self.ends!r}")
        seconds("silence", self.silence)
        if check.whole("most_bytes", self.most_bytes) < 1:
            raise ArgumentError("most_bytes", f"must be above 0, not {self.most_bytes}")
        tls_context(self.tls)

    def connection(self) -> LineConnection:
        return LineConnection(self)


class LineConnection(Connection):
    """One connection after the other."""

    def __init__(self, source: LineSource) -> None:
        parts = parts_of_url(source.url, "tcp")
        self.name = source.url
        self._address = (parts.hostname, parts.port)
        self._source = source
        self._socket: socket.socket | None = None

    def run(self, put: Put, connected: Callable[[], None], stopping: threading.Event) -> None:
        source = self._source
        context = tls_context(source.tls)
        try:
            with socket.create_connection(self._address, _CONNECT_SECONDS) as plain:
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                used = (
                    plain
                    if context is None
                    else context.wrap_socket(plain, server_hostname=self._address[0])
                )
                self._socket = used
                with used:
                    used.settimeout(_LOOK_SECONDS)
                    connected()
                    self._receive(used, put, stopping)
        except OSError as error:
            raise ConnectionLostError(error.strerror or str(error)) from error
        finally:
            self._socket = None

    def _receive(self, used: socket.socket, put: Put, stopping: threading.Event) -> None:
        source = self._source
        cut = MessageCutter(source.ends == "blank line", source.most_bytes, self.name)
        silent = 0.0
        while not stopping.is_set():
            try:
                chunk = used.recv(_CHUNK)
            except TimeoutError:
                silent += _LOOK_SECONDS
                if source.silence is not None and silent >= source.silence:
                    raise ConnectionLostError(f"silent for {silent:g} s") from None
                continue
            silent = 0.0
            if not chunk:
                # The last line may have no end; half a message it is not, if the other side closed in order.
                for message in cut.rest():
                    put(message)
                return
            for message in cut.take(chunk):
                if not put(message):
                    return

    def interrupt(self) -> None:
        used = self._socket
        if used is not None:
            with contextlib.suppress(OSError):
                used.shutdown(socket.SHUT_RDWR)


class MessageCutter:
    """Cuts bytes into messages at the ends of lines, or at empty lines.

    >>> cut = MessageCutter(blank_line=False, most=9, name="m")
    >>> [m.payload for m in cut.take(b"one\\r\\n\\ntw")], [m.payload for m in cut.take(b"o\\n")]
    ([b'one'], [b'two'])
    >>> [m.flaw for m in cut.take(b"far too long\\n")]
    ['longer than 9 bytes']
    >>> cut = MessageCutter(blank_line=True, most=9, name="m")
    >>> [m.flaw or m.payload for m in cut.take(b"far too\\nlong\\nby two\\n\\ntwo\\n\\n")]
    ['longer than 9 bytes', b'two']
    """

    def __init__(self, blank_line: bool, most: int, name: str) -> None:
        self._blank_line = blank_line
        self._most = most
        self._name = name
        self._begun = bytearray()  # of a line
        self._lines: list[bytes] = []
        self._size = 0
        self._too_long = False
        self._is_blank = True  # whether the line has held nothing so far, also where it is not kept

    def take(self, chunk: bytes) -> list[Message]:
        """The messages that end in this part."""
        found: list[Message] = []
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            line = bytes(self._begun).removesuffix(b"\r")
            self._begun.clear()
            blank, self._is_blank = self._is_blank, True
            if self._blank_line and self._too_long:
                if blank:  # not before: the rest of what is too long is no message
                    found += self._message()
            elif line.strip() or (self._too_long and not self._blank_line):
                self._lines.append(line)
                if not self._blank_line:
                    found += self._message()
            elif self._blank_line:
                found += self._message()
        self._add(rest)
        return found

    def rest(self) -> list[Message]:
        """What no end of a line, or no empty line, follows any more."""
        if self._begun.strip():
            self._lines.append(bytes(self._begun))
        self._begun.clear()
        return self._message()

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        self._is_blank = self._is_blank and not part.strip()
        if self._size > self._most:
            self._too_long = True
            self._begun.clear()
            self._lines.clear()
        else:
            self._begun += part

    def _message(self) -> list[Message]:
        payload, too_long = b"\n".join(self._lines), self._too_long
        self._lines.clear()
        self._size, self._too_long = 0, False
        if too_long:
            return [Message(b"", name=self._name, flaw=f"longer than {self._most} bytes")]
        return [Message(payload, name=self._name)] if payload else []
