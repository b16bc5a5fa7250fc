"""The look-up of known vulnerabilities fails for one that is known, and for nothing else."""

from __future__ import annotations

import sys

from tests.audit import audit


def saying(text: str, status: int) -> list[str]:
    return [sys.executable, "-c", f"import sys; print({text!r}); sys.exit({status})"]


def test_a_vulnerability_fails() -> None:
    status, said = audit(saying("Name Version ID Fix Versions\nx 1 CVE-1 2", 1))
    assert status == 1
    assert "CVE-1" in said


def test_no_network_is_said_and_no_failure() -> None:
    status, said = audit(saying("requests.exceptions.ConnectionError: Max retries exceeded", 1))
    assert status == 0
    assert "skipped" in said


def test_a_slow_database_is_said_and_no_failure() -> None:
    status, said = audit([sys.executable, "-c", "import time; time.sleep(60)"], seconds=0.5)
    assert status == 0
    assert "within 0.5 s" in said


def test_nothing_known_is_fine() -> None:
    assert audit(saying("No known vulnerabilities found", 0)) == (
        0,
        "audit: No known vulnerabilities found",
    )
