"""A variable's column: its name, and what stands for a variable that is not bound."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pyspark import SparkContext
from pyspark.sql import functions as F

from sparkext.language.nodes import Variable

if TYPE_CHECKING:
    from pyspark.sql import Column


def column_name(variable: Variable) -> str:
    """The name of a variable's column; different variables have names that differ by more than case.

    Spark compares column names without case, SPARQL does not: capitals and signs are written by their code.

    >>> column_name(Variable("person1")), column_name(Variable("locName"))
    ('v_person1', 'v_loc_4e_ame')
    """
    plain = "abcdefghijklmnopqrstuvwxyz0123456789"
    return "v_" + "".join(c if c in plain else f"_{ord(c):x}_" for c in variable.name)


def column(variable: Variable) -> Column:
    """The variable's column."""
    return named(column_name(variable))


def named(name: str) -> Column:
    """The column of that name, made once: PySpark asks the JVM a dozen times for each that it makes."""
    return _made(SparkContext._active_spark_context, name)


def unbound() -> Column:
    """The value of a variable that no pattern binds."""
    return _made(SparkContext._active_spark_context, None)


@lru_cache(maxsize=2048)
def _made(context: SparkContext | None, name: str | None) -> Column:
    return F.lit(None).cast("bigint") if name is None else F.col(name)
