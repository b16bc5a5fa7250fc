"""Texts of queries that are made to take long, or to hide what is counted."""

from __future__ import annotations

import time

import pytest

from sparkext.serving.options import Limits
from sparkext.serving.problems import ProblemError
from sparkext.serving.query_limits import check_query_text

LIMITS = Limits()


@pytest.mark.parametrize("quote", ['"', "'", '"""', "'''"])
@pytest.mark.parametrize("piece", ["\\{0}", "{0} ", "\\{0}\n", "{0}{0}{0}\\", "<{0}"])
def test_a_text_of_quotes_is_gone_through_once(quote: str, piece: str) -> None:
    repeated = piece.format(quote)
    text = quote + repeated * ((LIMITS.query_bytes - len(quote)) // len(repeated))
    began = time.process_time()
    check_query_text(text, LIMITS)
    assert time.process_time() - began < 10  # it takes milliseconds, and took minutes


@pytest.mark.parametrize(
    "before",
    [
        r":a\'b ",  # an escape in a name begins no string
        '("""a" ',  # two strings
        '"a\\"b" ',
        '# "\n',
        '"unended\n',
    ],
)
def test_what_is_no_part_of_a_string_is_counted(before: str) -> None:
    with pytest.raises(ProblemError, match="nested more than 50 deep"):
        check_query_text(before + "(" * 51, LIMITS)


def test_steps_of_a_path_are_counted_after_a_name_that_ends_in_an_escape() -> None:
    with pytest.raises(ProblemError, match="more than 50 steps"):
        check_query_text(r"?s " + r":a\./" * 51 + ":b ?o", LIMITS)
