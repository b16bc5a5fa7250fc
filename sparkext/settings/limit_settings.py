"""The ``spark.cqels.limits.*`` keys: what one evaluation of a query may take."""

from __future__ import annotations

from dataclasses import dataclass

from sparkext.setting_keys import declare
from sparkext.setting_types import DURATION, SIZE, whole_number


@dataclass(frozen=True)
class LimitSettings:
    """The values of these keys, checked and typed; durations are milliseconds, sizes bytes, and 0 is no limit."""

    limits_evaluation_time: int = declare(
        "limits.evaluationTime",
        DURATION,
        0,
        "How long an evaluation of a query may take (it is looked at while rows are joined). One that takes longer is"
        " given up, and its query is stopped, with a LimitError; others go on. 0 is no limit.",
    )
    limits_evaluation_memory: int = declare(
        "limits.evaluationMemory",
        SIZE,
        0,
        "How much memory each thread of an evaluation may allocate, such as 2g, what is garbage soon included; as"
        " `limits.evaluationTime` otherwise. 0 is no limit.",
    )
    limits_answer_rows: int = declare(
        "limits.answerRows",
        whole_number(0),
        0,
        "How many rows the answers of one evaluation may have (for queries that are evaluated together, theirs"
        " together); as `limits.evaluationTime` otherwise. 0 is no limit.",
    )
