"""The parent's side of the protocol: a peer's process and its answers."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.report import BenchError

ROOT = Path(__file__).resolve().parents[2]


class PeerError(BenchError):
    """A peer failed; `kind` is the name of the exception in its process."""

    def __init__(self, peer: str, message: str, kind: str = "") -> None:
        super().__init__(f"{peer}: {message}")
        self.kind = kind


class PeerTimeoutError(PeerError):
    """A peer took longer than allowed and was ended."""


class PeerProcess:
    """One running peer; use it in a `with` statement, which ends the process."""

    def __init__(self, name: str, module: str, command: Sequence[str] = ()) -> None:
        self.name = name
        # Closed by close(), with the process that writes to it.
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            list(command) or [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._buffer = b""

    def __enter__(self) -> PeerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Sends one request and returns the answer.

        Raises PeerTimeoutError after `timeout` seconds, PeerError when the peer fails or ends.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise PeerError(self.name, f"has ended; its last words:\n{self._tail()}") from None
        answer = json.loads(self._read_line(timeout))
        if "error" in answer:
            raise PeerError(self.name, answer["error"], answer["kind"])
        return dict(answer)

    def _read_line(self, timeout: float) -> bytes:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(timeout):
                    self._process.kill()
                    raise PeerTimeoutError(self.name, f"no answer within {timeout:g} s")
                received = os.read(self._process.stdout.fileno(), 1 << 16)
                if not received:
                    raise PeerError(self.name, f"ended; its last words:\n{self._tail()}")
                self._buffer += received
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line

    def _tail(self) -> str:
        self._log.seek(0)
        return "".join(self._log.readlines()[-15:])

    def close(self) -> None:
        """Ends the process: its input first, by force after ten seconds."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()
