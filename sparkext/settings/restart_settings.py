"""The ``spark.cqels.*`` keys of what goes on after a restart."""

from __future__ import annotations

from dataclasses import dataclass

from sparkext.setting_keys import declare
from sparkext.setting_types import DURATION


@dataclass(frozen=True)
class RestartSettings:
    """The values of these keys, checked and typed; durations are milliseconds."""

    checkpoint_interval: int = declare(
        "checkpoint.interval",
        DURATION,
        1_000,
        "How often an engine with a checkpoint commits what was pushed (docs/restart.md), 262,144 elements or so at"
        " most; `Engine.commit` does so at once. A batch of a streaming DataFrame is committed before it counts as"
        " done.",
    )
