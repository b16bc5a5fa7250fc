"""`python -m tests.audit`: known vulnerabilities of what is installed, or why they could not be looked up."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from typing import Final

SECONDS: Final = 20.0
_UNREACHED: Final = (
    "ConnectionError",
    "Max retries",
    "timed out",
    "ServiceError",
    "HTTPError",
    "Failed to establish",
    "Connection",
    "resolve",
)


def audit(command: list[str] | None = None, seconds: float = SECONDS) -> tuple[int, str]:
    """The exit status, 1 for a vulnerability and 0 for none or no look-up, and what there is to say."""
    if command is None:
        if find_spec("pip_audit") is None:
            return 0, "audit: skipped, pip-audit is not installed"
        command = [
            sys.executable,
            "-m",
            "pip_audit",
            "--skip-editable",
            "--progress-spinner",
            "off",
            "--timeout",
            "5",
        ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return 0, f"audit: skipped, no answer of the database within {seconds:g} s"
    said = (done.stdout + done.stderr).strip()
    if done.returncode == 0:
        return 0, f"audit: {said.splitlines()[-1] if said else 'nothing known'}"
    if "Fix Versions" in said or "vulnerabilit" in said:
        return 1, said
    last = said.splitlines()[-1] if said else f"status {done.returncode}"
    reached = "" if any(word in said for word in _UNREACHED) else ", and not for lack of a network"
    return 0, f"audit: skipped, the database cannot be asked{reached}: {last[:300]}"


def main() -> int:
    """Print what there is to say."""
    status, said = audit()
    sys.stdout.write(f"{said}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
