"""Static layers of the dictionary: what they hold, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from tests.sparkext.dictionary.dictionaries import INLINE, TERMS, XSD, layer_of, raised


def test_static_terms_are_not_counted_and_never_enter_the_stream(
    cqels: Any, dictionary: Any, longs: Any
) -> None:
    dictionary.addStatic(layer_of(cqels, TERMS[:5]))
    dictionary.addStatic(layer_of(cqels, TERMS[3:]))
    ids = [dictionary.encode(text) for text in TERMS]
    assert dictionary.streamSize() == 0
    dictionary.retain(longs(ids), len(ids))
    dictionary.release(longs(ids * 2), 2 * len(ids))
    assert [dictionary.text(term_id) for term_id in ids] == TERMS
    assert list(dictionary.quoted(ids[-2])) == [
        dictionary.lookup("<http://example.org/a>"),
        dictionary.lookup("<http://example.org/p>"),
        dictionary.lookup('"a \\" >> b"@en'),
    ]


def test_stream_terms_keep_their_ids_in_a_static_layer(
    cqels: Any, dictionary: Any, longs: Any
) -> None:
    ids = [dictionary.encodeRetained(text) for text in TERMS]
    other = dictionary.encodeRetained("<http://example.org/only-in-stream>")
    with_static_part = dictionary.encodeRetained(f"<< {TERMS[0]} <http://e/new> _:new >>")
    dictionary.addStatic(layer_of(cqels, TERMS))
    assert [dictionary.encode(text) for text in TERMS] == ids
    assert dictionary.streamSize() == 4
    dictionary.release(longs([*ids, other, with_static_part]), len(ids) + 2)
    assert dictionary.streamSize() == 0
    assert [dictionary.text(term_id) for term_id in ids] == TERMS


def test_a_layer_holds_what_was_put_in(cqels: Any) -> None:
    texts = [f"<http://example.org/{n}>" for n in range(500)] + TERMS
    layer = layer_of(cqels, texts + texts + INLINE)
    parts = {"<http://example.org/p>", "<http://example.org/q>", '"b"', '"a \\" >> b"@en'}
    expected = set(texts) | parts | {f'<< _:a <http://example.org/p> "1"^^<{XSD}integer> >>'}
    found = {}
    slot = layer.nextSlot(-1)
    while slot >= 0:
        found[layer.textAt(slot)] = layer.idAt(slot)
        assert layer.find(layer.idAt(slot)) == slot
        slot = layer.nextSlot(slot)
    assert set(found) == expected
    assert layer.size() == len(expected)
    assert all(
        cqels.dictionary.Dictionary.hashOnly(text) == term_id for text, term_id in found.items()
    )
    assert layer.find(0) == layer.find(77) == -1


def test_a_layer_survives_serialisation(spark: Any, cqels: Any) -> None:
    texts = [f"<http://example.org/{n}>" for n in range(3000)] + TERMS
    layer = layer_of(cqels, texts)
    utils = spark._jvm.org.apache.spark.util.Utils
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    copy = utils.deserialize(utils.serialize(layer), loader)
    assert (copy.size(), copy.hashBits()) == (layer.size(), layer.hashBits())
    for text in texts[::100] + TERMS:
        assert copy.textAt(copy.find(cqels.dictionary.Dictionary.hashOnly(text))) == text
    empty = utils.deserialize(utils.serialize(layer_of(cqels, [])), loader)
    assert (empty.size(), empty.find(5), empty.nextSlot(-1)) == (0, -1, -1)


def test_a_layer_costs_about_sixteen_bytes_a_term(cqels: Any) -> None:
    texts = [f"<http://example.org/{n:06d}>" for n in range(2000)]
    layer = layer_of(cqels, texts)
    assert layer.memoryBytes() < sum(map(len, texts)) + 18 * len(texts)


def test_wrong_pairs_are_refused_by_the_builder(cqels: Any) -> None:
    builder = cqels.dictionary.CompactDictionary.Builder(4)
    term_id = builder.add(TERMS[0])
    with pytest.raises(Py4JJavaError) as caught:
        builder.add(term_id, "<http://example.org/b>")
    name, collision = raised(caught)
    assert (name, collision.id()) == ("IdCollision", term_id)
    assert (collision.knownText(), collision.addedText()) == (TERMS[0], "<http://example.org/b>")
    with pytest.raises(Py4JJavaError) as caught:
        builder.add(term_id + 1, '"a literal under the id of an IRI"')
    assert raised(caught)[0] == "MalformedTerm"
