"""What an engine does beside its evaluations, for tests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparkext import Engine


def settle(engine: Engine) -> None:
    """Wait for what is being prepared, tried and decided about in the background."""
    engine.background.submit(lambda: None).result(timeout=120)
    give_up = time.monotonic() + 120
    while any(query.preparing for query in engine._queries.values()):
        assert time.monotonic() < give_up, "plans are being prepared for ever"
        time.sleep(0.001)
