"""The uncertainty functions in Spark SQL, over strings and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException
from scipy import stats

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_values(spark: SparkSession) -> None:
    row = spark.sql(
        """SELECT rspu_greater_than('N(0, 1)', 0.5) AS greater,
                  rspu_greater_than_or_equal('C(2)', 2) AS greater_equal,
                  rspu_less_than('N(0, 1)', 'N(1, 1)') AS less,
                  rspu_less_than_or_equal('U(0, 4)', CAST(1 AS BIGINT)) AS less_equal,
                  rspu_between('U(0, 4)', 1, 'C(2)') AS inside,
                  rspu_mean('Gamma(2, 3)') AS mean, rspu_variance('N(1, 4)') AS variance,
                  rspu_quantile('N(0, 1)', 0.9) AS quantile,
                  rspu_add('N(1, 2)', 'N(3, 4)') AS total, rspu_subtract('U(0, 1)', 0.5) AS shifted,
                  rspu_less_than(rspu_add('N(0, 1)', 2), 2) AS nested"""
    ).first()
    assert row is not None
    assert (row.total, row.shifted) == ("N(4, 6)", "U(-0.5, 0.5)")
    numbers = {key: value for key, value in row.asDict().items() if isinstance(value, float)}
    assert numbers == pytest.approx(
        {
            "greater": stats.norm.sf(0.5),
            "greater_equal": 1.0,
            "less": stats.norm.cdf(1 / 2**0.5),
            "less_equal": 0.25,
            "inside": 0.25,
            "mean": 6.0,
            "variance": 4.0,
            "quantile": stats.norm.ppf(0.9),
            "nested": 0.5,
        },
        abs=1e-9,
    )


def test_columns_and_wrong_values(spark: SparkSession) -> None:
    rows = [("N(0, 1)", 0.0), ("N(0, oops)", 0.0), (None, 0.0), ("U(0, 1)", None), ("U(0, 4)", 1.0)]
    spark.createDataFrame(rows * 40, "error STRING, value DOUBLE").createOrReplaceTempView("unsure")
    found = spark.sql(
        "SELECT error, value, rspu_less_than(rspu_add(error, value), 1.0) AS p FROM unsure"
    )
    expected = [stats.norm.cdf(1), None, None, None, 0.0]
    for row, wanted in zip(found.collect(), expected * 40, strict=True):
        assert row.p == (None if wanted is None else pytest.approx(wanted, abs=1e-9)), row
    kept = spark.sql("SELECT error FROM unsure WHERE rspu_less_than(error, value) >= 0.25")
    assert sorted({row.error for row in kept.collect()}) == ["N(0, 1)", "U(0, 4)"]
    spark.catalog.dropTempView("unsure")


def test_what_numbers_cannot_say_is_null(spark: SparkSession) -> None:
    deep = "Sum(" * 1000 + "N(0, 1)" + ", U(0, 1))" * 1000
    row = spark.sql(
        f"""SELECT rspu_add('N(0, 1e308)', 'N(0, 1e308)') AS total,
                   rspu_variance('U(-1e308, 1e308)') AS variance, rspu_mean('{deep}') AS deep,
                   rspu_less_than(rspu_add('N(0, 1e308)', 'N(0, 1e308)'), 1) AS nested,
                   rspu_less_than('T(0, 2e200, 1e200)', 1e200) AS half,
                   rspu_greater_than('N(0, 1)', CAST('NaN' AS DOUBLE)) AS nothing"""
    ).first()
    assert row is not None
    assert row.asDict() == {
        "total": None,
        "variance": None,
        "deep": None,
        "nested": None,
        "half": 0.5,
        "nothing": None,
    }


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("rspu_add('N(0, 1)')", "rspu_add takes 2 arguments, not 1"),
        ("rspu_add(1, 'N(0, 1)')", "first argument of rspu_add is a distribution as a string"),
        ("rspu_less_than('N(0, 1)', true)", "rspu_less_than takes a distribution or a number here"),
        ("rspu_quantile('N(0, 1)', 'N(0, 1)')", "rspu_quantile takes"),
    ],
)
def test_wrong_arguments(spark: SparkSession, call: str, message: str) -> None:
    with pytest.raises(IllegalArgumentException, match=message):
        spark.sql(f"SELECT {call}")


def test_literals_are_read_once_however_many_there_were(spark: SparkSession) -> None:
    jvm = spark._jvm
    functions = jvm.org.apache.spark.sql.cqels.calls.SqlUncertainty
    many = (
        spark.range(150_000).selectExpr("max(rspu_mean(concat('N(', id, ', 1)'))) AS most").first()
    )
    assert many is not None and many.most == 149_999.0
    text = jvm.org.apache.spark.unsafe.types.UTF8String.fromString("N(-1, 1)")
    first, second = (
        jvm.java.lang.System.identityHashCode(functions.distribution(text)) for _ in range(2)
    )
    assert first == second


def test_strings_of_any_collation_are_taken(spark: SparkSession) -> None:
    row = spark.sql(
        """SELECT rspu_mean(d) AS mean, rspu_add(d, 1) AS total, rspu_less_than('N(0, 1)', d) AS less
           FROM (SELECT 'N(0, 1)' COLLATE UTF8_LCASE AS d)"""
    ).first()
    assert row is not None
    assert (row.mean, row.total, row.less) == (0.0, "N(1, 1)", 0.5)


def test_what_large_literals_hold_is_bounded(spark: SparkSession) -> None:
    """They are kept as long as the JVM runs: fewer of them than of short ones."""
    number = 6_000
    many = "array_join(sequence(id, id + 1000), ',')"
    spark.range(number).selectExpr(f"rspu_mean(concat('E(', {many}, ')')) AS mean").agg(
        {"mean": "max"}
    ).first()
    jvm = spark._jvm
    assert jvm.org.apache.spark.sql.cqels.calls.SqlUncertainty.kept() < 4_000
