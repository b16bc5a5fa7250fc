"""Layers that are read where they lie in a file: they hold what they were made of, and a damaged file is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError

from tests.sparkext.dictionary.dictionaries import (
    INLINE,
    TERMS,
    layer_of,
    many_terms,
    narrow,
    raised,
)

PIECE_BITS = 12
"""Pieces of a page, so that a text of some length lies across several."""

Terms = Callable[..., Any]


@pytest.fixture(scope="module")
def mapped(spark: Any, cqels: Any, tmp_path_factory: pytest.TempPathFactory) -> Terms:
    """Writes layers to a file, named last, and opens it."""
    folder = tmp_path_factory.mktemp("terms")
    numbers: Iterator[int] = iter(range(10**6))

    def write(layers: Sequence[Any], bits: int = 58, file: Path | None = None) -> Any:
        to = folder / f"{next(numbers)}.bin" if file is None else file
        array = spark._sc._gateway.new_array(cqels.dictionary.DictionaryLayer, len(layers))
        for place, layer in enumerate(layers):
            array[place] = layer
        path = spark._jvm.java.nio.file.Path.of(str(to), no_strings(spark))
        terms = cqels.dictionary.LayerFile.write(array, bits, path, PIECE_BITS)
        layer = cqels.dictionary.MappedDictionary.open(path, PIECE_BITS)
        assert layer.size() == terms
        return layer

    return write


def no_strings(spark: Any) -> Any:
    return spark._sc._gateway.new_array(spark._jvm.java.lang.String, 0)


def opened(spark: Any, cqels: Any, file: Path) -> Any:
    path = spark._jvm.java.nio.file.Path.of(str(file), no_strings(spark))
    return cqels.dictionary.MappedDictionary.open(path)


def contents(layer: Any) -> dict[int, tuple[str, tuple[int, ...] | None]]:
    """Texts and parts by id, found slot by slot and by id."""
    found = {}
    slot = layer.nextSlot(-1)
    while slot >= 0:
        term_id = layer.idAt(slot)
        assert layer.find(term_id) == slot
        parts = layer.quotedAt(slot)
        found[term_id] = (layer.textAt(slot), None if parts is None else tuple(parts))
        slot = layer.nextSlot(slot)
    return found


LABELS = st.text(st.characters(codec="utf-8", exclude_characters='\\"\n\r<>'), max_size=60)
LONG_LABELS = st.integers(4000, 9000).map(lambda count: "l" * count)
PLAIN = st.one_of(
    LABELS.map(lambda text: f'"{text}"'),
    st.integers(0, 50).map(lambda number: f"<http://example.org/{number}>"),
    st.integers(0, 50).map(lambda number: f"_:b{number}"),
    LONG_LABELS.map(lambda text: f'"{text}"'),
    st.sampled_from(INLINE),
)
SUBJECTS = st.integers(0, 9).map(lambda number: f"<http://example.org/{number}>")
QUOTED = st.builds(lambda s, p, o: f"<< {s} {p} {o} >>", SUBJECTS, SUBJECTS, PLAIN)


@settings(
    derandomize=True,
    database=None,
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.lists(st.one_of(PLAIN, QUOTED), max_size=12), max_size=4))
def test_a_mapped_layer_holds_what_its_layers_hold(
    cqels: Any, mapped: Terms, groups: list[list[str]]
) -> None:
    layers = [layer_of(cqels, texts) for texts in groups]
    expected: dict[int, tuple[str, tuple[int, ...] | None]] = {}
    for layer in layers:
        expected |= contents(layer)
    made = mapped(layers)
    assert contents(made) == expected
    assert made.size() == len(expected)
    for term_id, (text, parts) in expected.items():
        slot = made.find(term_id)
        if parts is None:
            utf8 = text.encode()
            assert made.hasText(slot, bytearray(utf8))
            assert made.hasText(slot, bytearray(b"some" + utf8 + b"more"), 4, 4 + len(utf8))
            assert not made.hasText(slot, bytearray(utf8 + b"x"))
            assert not made.hasText(slot, bytearray(utf8[:-1]))
            assert not made.hasText(slot, bytearray(utf8[:-1] + bytes([utf8[-1] ^ 1])))
        else:
            assert made.hasParts(slot, *parts)
            assert not made.hasParts(slot, parts[0], parts[1], parts[2] + 1)
    assert made.find(0) == made.find(77) == -1


def test_a_text_of_many_megabytes_is_found(cqels: Any, mapped: Terms) -> None:
    text = f'"{"x" * (1 << 24)}"'
    made = mapped([layer_of(cqels, [*TERMS, text])])
    slot = made.find(cqels.dictionary.Dictionary.hashOnly(text))
    assert made.textAt(slot) == text
    assert made.hasText(slot, bytearray(text.encode()))
    assert not made.hasText(slot, bytearray(text.encode()[:-2] + b'y"'))


def test_ids_that_are_not_plain_hashes_stay(cqels: Any, mapped: Terms) -> None:
    first = narrow(cqels, 8)
    texts = many_terms(300)
    ids = [first.encodeRetained(text) for text in texts]
    layer = mapped([layer_of(cqels, texts, first.hasher())], 8)
    made = narrow(cqels, 8)
    made.addStatic(layer)
    assert made.exceptionCount() == first.exceptionCount() > 100
    assert [made.encode(text) for text in texts] == ids
    assert [made.text(term_id) for term_id in ids] == texts
    assert made.streamSize() == 0


def test_a_mapped_layer_is_merged_with_one_in_memory(
    cqels: Any, dictionary: Any, mapped: Terms
) -> None:
    dictionary.addStatic(mapped([layer_of(cqels, TERMS)]))
    assert dictionary.memoryBytes() < 10_000 < sum(map(len, TERMS))
    ids = [dictionary.encode(text) for text in TERMS]
    more = [f"<http://example.org/{n}>" for n in range(50)]
    dictionary.addStatic(layer_of(cqels, more))
    assert dictionary.layerCount() == 1
    assert [dictionary.text(term_id) for term_id in ids] == TERMS
    assert [dictionary.encode(text) for text in TERMS] == ids
    assert all(dictionary.lookup(text) for text in more)


def test_the_file_may_lose_its_name(cqels: Any, mapped: Terms, tmp_path: Path) -> None:
    made = mapped([layer_of(cqels, TERMS)], file=tmp_path / "terms.bin")
    (tmp_path / "terms.bin").unlink()
    assert {text for text, _ in contents(made).values()} >= set(TERMS)


@pytest.fixture(scope="module")
def whole(cqels: Any, mapped: Terms, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("whole") / "terms.bin"
    mapped([layer_of(cqels, TERMS[:10])], file=file)
    return file.read_bytes()


def refused(spark: Any, cqels: Any, file: Path) -> str:
    with pytest.raises(Py4JJavaError) as caught:
        opened(spark, cqels, file)
    name, error = raised(caught)
    assert name == "UnreadableTerms"
    return str(error.reason())


def test_what_is_no_file_of_terms_is_refused(
    spark: Any, cqels: Any, whole: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "terms.bin"
    for content, reason in (
        (b"", "no file of terms"),
        (b"PAR1" * 2000, "no file of terms"),
        (whole[:50], "cut off"),
        (whole[:80], "cut off"),
        (whole + b"\0", "in place of"),
        (whole[:8] + b"\7" + whole[9:], "format version 7; this program reads 1"),
    ):
        file.write_bytes(content)
        assert reason in refused(spark, cqels, file)


@settings(
    derandomize=True,
    database=None,
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_a_torn_or_changed_file_is_refused(
    spark: Any, cqels: Any, whole: bytes, tmp_path: Path, data: st.DataObject
) -> None:
    file = tmp_path / "terms.bin"
    if data.draw(st.booleans(), "cut"):
        file.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    else:
        # Between the header and the slots nothing is told.
        at = data.draw(st.integers(0, 79) | st.integers(4096, len(whole) - 1))
        changed = whole[at] ^ data.draw(st.integers(1, 255))
        file.write_bytes(whole[:at] + bytes([changed]) + whole[at + 1 :])
    assert refused(spark, cqels, file)
