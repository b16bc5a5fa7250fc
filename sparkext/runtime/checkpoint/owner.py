"""Whose a checkpoint is: one process at a time writes it, and one that was killed does not keep it."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    """A process: where it runs, its number there, and when it began (0: not known)."""

    host: str
    process: int
    begun: int

    @classmethod
    def me(cls) -> Owner:
        """This process."""
        return cls(_host(), os.getpid(), _begun(os.getpid()))

    @classmethod
    def read(cls, text: str) -> Owner:
        """What `written` gave."""
        return cls(**json.loads(text))

    def written(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @property
    def is_here(self) -> bool:
        """Whether it runs, or ran, on this machine: elsewhere nobody can tell whether it still does."""
        return self.host == _host()

    @property
    def is_alive(self) -> bool:
        """Whether it runs on this machine; another process that has got its number since is another one."""
        if not self.is_here:
            return False
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        begun = _begun(self.process)
        return not (begun and self.begun) or begun == self.begun

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


def _host() -> str:
    """This machine since it was started: after a restart no process of before is alive, whatever its number."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    started = boot.read_text().strip()[:8] if boot.exists() else ""
    return f"{socket.gethostname()} {started}".strip()


def _begun(process: int) -> int:
    """When a process began, in ticks since the machine did; 0 where the system does not say."""
    try:
        # The name may have spaces and brackets in it: what counts is behind the last one.
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
