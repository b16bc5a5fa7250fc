"""The star bench: what is counted as bytes, and that the three approaches answer the same."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Any

import pytest

from bench import star
from bench.data.annotated import SERIALISATIONS, annotated_element, read_elements, serialised
from bench.data.reification import RDF
from bench.peers.alone import alone
from bench.report import BenchError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = [
    "serialisation",
    "annotated",
    "bytes_star",
    "bytes_reification",
    "gzip_star",
    "gzip_reification",
    *(
        f"{approach}_{kind}"
        for approach in star.APPROACHES
        for kind in ("ms", "arrival_ms", "first_ms")
    ),
]


def triples(document: bytes, serialisation: str) -> list[str]:
    (element,) = read_elements([document], serialisation)
    return [*element.triples, element.time_triple or ""]


@pytest.mark.parametrize("annotated", [1, 3, 8])
def test_each_stated_triple_has_one_annotation_and_one_a_confidence(annotated: int) -> None:
    element = annotated_element(5, 1000, annotated)
    stated = [t[:-2] for t in element.triples if not t.startswith("<<")]
    said = [re.fullmatch(r"<< (.*) >> <(.*)> \S+ \.", t) for t in element.triples if t[1] == "<"]
    assert [found and found.group(1) for found in said] == stated
    assert len(set(stated)) == annotated
    assert sum(str(found and found.group(2)).endswith("#confidence") for found in said) == 1
    assert element == annotated_element(5, 1000, annotated)
    assert element != annotated_element(6, 1000, annotated)


@pytest.mark.parametrize("reified", [False, True])
def test_both_serialisations_say_the_same(reified: bool) -> None:
    element = annotated_element(2, 61_500, 4)
    plain, compact = (
        sorted(
            re.sub(r"_:\S+", "_:", triple)
            for triple in triples(serialised(element, name, reified), name)
        )
        for name in SERIALISATIONS
    )
    assert plain == compact
    assert len(plain) == 1 + 2 * 4 + (4 * 4 if reified else 0)


@pytest.mark.parametrize("serialisation", SERIALISATIONS)
def test_a_reified_element_describes_what_the_other_quotes(serialisation: str) -> None:
    element = annotated_element(1, 1000, 3)
    parts: dict[str, dict[str, str]] = {}
    for triple in triples(serialised(element, serialisation, reified=True), serialisation):
        subject, predicate, object_ = triple[:-2].split(" ", 2)
        parts.setdefault(subject, {})[predicate[1:-1].removeprefix(RDF)] = object_
    rebuilt = set()
    for node, said in parts.items():
        if node.startswith("_:"):
            assert said.pop("type") == f"<{RDF}Statement>"
            quoted = " ".join(said.pop(part) for part in ("subject", "predicate", "object"))
            ((predicate, object_),) = said.items()
            rebuilt.add(f"<< {quoted} >> <{predicate}> {object_} .")
    assert rebuilt == {t for t in element.triples if t.startswith("<<")}


def test_sizes_are_means_over_elements() -> None:
    given = star.Elements("plain", 2, star.Effort(rate=2, seconds=11), seed=1)
    assert len(given.documents(reified=False)) == len(given.documents(reified=True)) == 22
    sizes = star.sizes_of([b"12345", b"1234567"], [b"x" * 400, b"x" * 401])
    assert (sizes["bytes_star"], sizes["bytes_reification"]) == (6, 400)
    assert sizes["gzip_star"] == 6 + len(gzip.compress(b"")) < sizes["gzip_reification"] + 10


def test_compact_elements_have_one_base_and_one_prefix() -> None:
    text = serialised(annotated_element(1, 1000, 3), "compact", reified=False).decode()
    assert text.count("@base") == text.count("@prefix") == 1
    assert not re.search(r"<http://example.org(?!/ehealth[/#]> \.)", text)


@pytest.mark.parametrize("serialisation", SERIALISATIONS)
@pytest.mark.parametrize("annotated", [1, 2, 5, 20, 50])
def test_star_is_smaller(serialisation: str, annotated: int) -> None:
    given = star.Elements(serialisation, annotated, star.Effort(1, 11), seed=3)
    sizes = star.sizes_of(given.documents(reified=False), given.documents(reified=True))
    assert sizes["bytes_star"] < 0.8 * sizes["bytes_reification"]
    assert sizes["gzip_star"] < sizes["gzip_reification"]


def test_rows_of_a_tiny_run(spark: SparkSession) -> None:
    rows = star.measure(spark, [1, 3], star.Effort(rate=2, seconds=12), seed=1)
    assert [list(row) for row in rows] == [KEYS] * 4
    assert [(row["serialisation"], row["annotated"]) for row in rows] == [
        ("plain", 1),
        ("plain", 3),
        ("compact", 1),
        ("compact", 3),
    ]
    assert all(row[key] > 0 for row in rows for key in KEYS[1:])


@pytest.mark.slow
def test_a_process_of_its_own_answers_the_same(spark: SparkSession) -> None:
    given = star.Elements("plain", 2, star.Effort(rate=2, seconds=12), seed=1)
    anew = alone(star.follow_anew, "star", given)
    assert anew.fingerprints == star.follow(spark, "star", given).fingerprints
    assert len(anew.ms) == len(anew.arrival_ms) == 3
    assert min(anew.ms) > 0


def followed(*fingerprints: str) -> star.Followed:
    ms = [float(2 * number + 1) for number in range(len(fingerprints))]
    return star.Followed(ms, [9.0, *ms[1:]], list(fingerprints))


def test_all_seconds_count() -> None:
    columns = followed("1-a", "1-b", "2-a").columns("star")
    assert columns == {"star_ms": 3.0, "star_arrival_ms": 5.0, "star_first_ms": 9.0}


def test_different_answers_end_the_bench() -> None:
    one = followed("0-a", "1-a")
    star.agree({"star": one, "optimised": one})
    with pytest.raises(star.AnswersDifferError, match="window 2"):
        star.agree({"star": one, "optimised": followed("0-a", "1-b")})
    with pytest.raises(BenchError, match="nothing"):
        star.agree(dict.fromkeys(star.APPROACHES, followed("0-a", "0-a")))


def row(star_ms: float, bytes_star: int = 10, **more: Any) -> dict[str, Any]:
    made = dict.fromkeys(KEYS, 20) | {"serialisation": "plain", "annotated": 1, "gzip_star": 10}
    return made | {"star_ms": star_ms, "bytes_star": bytes_star} | more


def test_the_summary_holds_for_every_row() -> None:
    good = star.summarise([row(10.0), row(20.0, annotated=5)])
    assert good["star_smaller"] and good["star_smaller_gzipped"] and good["star_never_slower"]
    assert good["at_most_annotated"]["plain"]["optimised_to_star"] == 1.0
    assert not star.summarise([row(20.1), row(1.0)])["star_never_slower"]
    assert not star.summarise([row(1.0, 20)])["star_smaller"]
    assert not star.summarise([row(1.0, gzip_star=20)])["star_smaller_gzipped"]
