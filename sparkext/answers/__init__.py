"""Answers as users read them: JSON Lines of a continuous query, SPARQL result files.

Columns of term texts come in, lines, files or typed columns go out; it may use `s2r`'s times and `static_data`.
"""

from __future__ import annotations

from sparkext.answers.json_lines import ask_line, construct_line, select_line
from sparkext.answers.result_files import (
    AnswerFormatError,
    ResultFormat,
    write_ask,
    write_construct,
    write_select,
)

__all__ = [
    "AnswerFormatError",
    "ResultFormat",
    "ask_line",
    "construct_line",
    "select_line",
    "write_ask",
    "write_construct",
    "write_select",
]
