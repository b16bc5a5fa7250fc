"""Names of Java are looked up once, and mean what py4j finds."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.java_gateway import JavaPackage
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from static_data.jvm import elements, extension, java_class


@pytest.fixture
def asked(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that the JVM was asked for since the test began."""
    client: Any = spark._jvm._gateway_client  # type: ignore[union-attr]
    names: list[str] = []
    send = client.send_command

    def noting(command: str, *more: Any, **others: Any) -> str:
        kind, _, rest = command.partition("\n")
        if kind == "r":
            names.append(rest.split("\n")[1])
        return str(send(command, *more, **others))

    monkeypatch.setattr(client, "send_command", noting)
    return names


def test_a_class_of_the_extension_is_looked_up_once(spark: SparkSession, asked: list[str]) -> None:
    first = extension(spark).dictionary.Dictionary
    asked.clear()
    assert extension(spark).dictionary.Dictionary is first
    assert asked == []


def test_a_class_that_is_not_there_is_asked_for_again(
    spark: SparkSession, asked: list[str]
) -> None:
    name = "NoSuchClass"
    for _ in range(2):
        asked.clear()
        assert isinstance(getattr(extension(spark).dictionary, name), JavaPackage)
        assert asked == [f"org.apache.spark.sql.cqels.dictionary.{name}"]


def test_a_class_of_java_is_looked_up_once(spark: SparkSession, asked: list[str]) -> None:
    assert spark._jvm is not None
    assert java_class(spark._jvm, "java.lang.Integer").parseInt("7") == 7
    asked.clear()
    assert java_class(spark._jvm, "java.lang.Integer").parseInt("8") == 8
    assert asked == ["java.lang.Integer"]  # the method, not the class


def test_columns_of_pyspark_ask_for_no_class(spark: SparkSession, asked: list[str]) -> None:
    extension(spark)
    rows = spark.range(3)
    asked.clear()
    assert [tuple(r) for r in rows.select(F.col("id"), F.lit(1)).collect()] == [
        (0, 1),
        (1, 1),
        (2, 1),
    ]
    assert not [name for name in asked if "functions" in name or "PythonUtils" in name]


def test_elements_of_arrays(spark: SparkSession) -> None:
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(gateway.jvm.java.lang.String, 2)
    array[0], array[1] = "a", "b"
    assert elements(array) == ["a", "b"]
    assert elements(gateway.new_array(gateway.jvm.java.lang.String, 0)) == []
