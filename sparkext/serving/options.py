"""What whoever runs a server may choose: where it listens, what it lets in, and what becomes of too much."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

OVERLOAD_POLICIES = ("delay", "sample", "fail")
DEFAULT_PORT = 8890


@dataclass(frozen=True)
class Overload:
    """What becomes of pushes that come faster than they are evaluated.

    `delay`: they wait in a queue, and where that is full are refused for now (429). `sample`: once the queue stands for
    more than `behind` seconds of work, a `fraction` of the elements is kept, and what is dropped is counted and told.
    `fail`: from there on pushes are refused (503). `waiting` pushes and `waiting_bytes` of bodies are what the queue
    holds at most, whatever the policy.
    """

    policy: Literal["delay", "sample", "fail"] = "delay"
    fraction: float = 1.0
    behind: float = 5.0
    waiting: int = 1000
    waiting_bytes: int = 256 << 20

    @classmethod
    def read(cls, text: str) -> tuple[Literal["delay", "sample", "fail"], float]:
        """Policy and fraction of a text; raises ValueError.

        >>> Overload.read("delay"), Overload.read("sample=0.1")
        (('delay', 1.0), ('sample', 0.1))
        """
        if text == "delay":
            return "delay", 1.0
        if text == "fail":
            return "fail", 1.0
        stated = re.fullmatch(r"sample=(0?\.[0-9]+|1(?:\.0*)?)", text)
        if stated is None or not float(stated.group(1)) > 0:
            raise ValueError("delay, fail, or sample=FRACTION with a fraction above 0 and up to 1")
        return "sample", float(stated.group(1))


@dataclass(frozen=True)
class Limits:
    """What one request, one query and all of them together may take; sizes are bytes, times seconds."""

    body_bytes: int = 16 << 20
    body_seconds: float = 30.0
    query_bytes: int = 100_000
    query_depth: int = 50
    path_steps: int = 50
    queries: int = 1000
    streams: int = 1000
    subscribers: int = 100
    connections: int = 512


@dataclass(frozen=True)
class Kept:
    """How many answers of a query are kept for subscribers that come back, and how long one may be stalled."""

    answers: int = 1000
    answer_bytes: int = 64 << 20
    heartbeat: float = 15.0
    stalled: float = 30.0


@dataclass(frozen=True)
class ServeOptions:
    """Where a server listens, whom it believes, and what it lets in."""

    token: str
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    tls_cert: Path | None = None
    tls_key: Path | None = None
    data_dir: Path | None = None
    shutdown_seconds: float = 10.0
    overload: Overload = field(default_factory=Overload)
    limits: Limits = field(default_factory=Limits)
    kept: Kept = field(default_factory=Kept)

    def __post_init__(self) -> None:
        from sparkext.errors import (
            ConfigurationError,
        )  # `cqels --help` is to need none of what it brings

        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigurationError("tls", "--tls-cert and --tls-key go together")
        check_token(self.token, "token")
        if self.data_dir is not None and not self.data_dir.is_dir():
            raise ConfigurationError("--data-dir", f"{self.data_dir} is no folder")

    @property
    def url(self) -> str:
        """Where clients on this machine find it."""
        scheme = "http" if self.tls_cert is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"


def check_token(token: str, name: str) -> str:
    """A token that a header can hold and nobody guesses; raises ConfigurationError with `name`."""
    from sparkext.errors import ConfigurationError

    if not re.fullmatch(r"[A-Za-z0-9._~+/=-]{16,512}", token):
        raise ConfigurationError(
            name, "a token has 16 to 512 letters, digits and any of . _ ~ + / = - (RFC 6750)"
        )
    return token
