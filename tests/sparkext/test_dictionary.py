"""The dictionary: one id a term, static and stream layers, reference counts, collisions."""

from __future__ import annotations

import random
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.fixture(scope="module")
def cqels(spark: Any) -> Any:
    return spark._jvm.org.apache.spark.sql.cqels


@pytest.fixture(scope="module")
def longs(spark: Any) -> Any:
    def array(values: Iterable[int]) -> Any:
        listed = list(values)
        made = spark._sc._gateway.new_array(spark._jvm.long, len(listed))
        for place, value in enumerate(listed):
            made[place] = value
        return made

    return array


@pytest.fixture
def dictionary(cqels: Any) -> Any:
    return cqels.Dictionary()


def raised(java_error: pytest.ExceptionInfo[Py4JJavaError]) -> tuple[str, Any]:
    exception = java_error.value.java_exception
    return exception.getClass().getSimpleName(), exception


def layer_of(cqels: Any, texts: Iterable[str], hasher: Any = None) -> Any:
    hasher = hasher or cqels.TermHasher()
    builder = cqels.CompactDictionary.Builder(4, hasher)
    for text in texts:
        builder.add(text)
    return builder.build()


TERMS = [
    "<http://example.org/a>",
    "<http://example.org/é\U0001f600>",
    "_:a",
    '"a"',
    '"a\\"> ^^<b>"',
    '"a"@en',
    '"a"@en--ltr',
    f'"007"^^<{XSD}integer>',
    '"a"^^<http://example.org/type>',
    '""',
    f'"{"x" * 100_000}"',
    '<< <http://example.org/a> <http://example.org/p> "a \\" >> b"@en >>',
    f'<< << _:a <http://example.org/p> "1"^^<{XSD}integer> >> <http://example.org/q> "b" >>',
]
INLINE = [f'"7"^^<{XSD}integer>', f'"2.5"^^<{XSD}decimal>', f'"true"^^<{XSD}boolean>']


def test_texts_come_back_and_ids_are_stable(dictionary: Any) -> None:
    ids = [dictionary.encode(text) for text in TERMS + INLINE]
    assert len(set(ids)) == len(ids)
    assert [dictionary.encode(text) for text in TERMS + INLINE] == ids
    assert [dictionary.lookup(text) for text in TERMS + INLINE] == ids
    assert [dictionary.text(term_id) for term_id in ids] == TERMS + INLINE


def test_ids_are_the_plain_hashes_in_every_dictionary(cqels: Any, dictionary: Any) -> None:
    for text in TERMS + INLINE:
        assert dictionary.encode(text) == cqels.Dictionary.hashOnly(text)


def test_lookup_adds_nothing(dictionary: Any) -> None:
    assert [dictionary.lookup(text) for text in TERMS] == [0] * len(TERMS)
    assert dictionary.streamSize() == 0
    assert dictionary.lookup(INLINE[0]) == dictionary.encode(INLINE[0])
    assert dictionary.streamSize() == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "<",
        "<>",
        "_:",
        "?x",
        '"',
        "<<>>",
        "<< <a> <b> >>",
        "<< <a> <b> <c>>>",
        "<<( <a> <b> <c> )>>",
    ],
)
def test_texts_that_are_no_terms_are_refused(dictionary: Any, text: str) -> None:
    with pytest.raises(Py4JJavaError) as caught:
        dictionary.encode(text)
    assert raised(caught)[0] == "MalformedTerm"
    assert dictionary.streamSize() == 0


@pytest.mark.parametrize("term_id", [0, 1, -1, (1 << 58) + 17])
def test_unknown_ids_are_refused(dictionary: Any, longs: Any, term_id: int) -> None:
    dictionary.encode(TERMS[0])
    with pytest.raises(Py4JJavaError) as caught:
        dictionary.text(term_id)
    assert raised(caught)[0] == "UnknownTermException"
    assert raised(caught)[1].id() == term_id
    if term_id:
        with pytest.raises(Py4JJavaError) as caught:
            dictionary.retain(longs([term_id]), 1)
        assert raised(caught)[0] == "UnknownTermException"
    assert dictionary.quoted(term_id) is None


# ---- reference counts --------------------------------------------------------------------------


def test_a_term_leaves_with_its_last_reference(dictionary: Any, longs: Any) -> None:
    a, b = dictionary.encode(TERMS[0]), dictionary.encode(TERMS[3])
    inline = dictionary.encode(INLINE[0])
    dictionary.retain(longs([a, a, b, inline, 0]), 5)
    assert (dictionary.referenceCount(a), dictionary.referenceCount(b)) == (2, 1)
    dictionary.release(longs([a, b, inline, 0]), 4)
    assert dictionary.lookup(TERMS[0]) == a
    assert dictionary.lookup(TERMS[3]) == 0
    dictionary.release(longs([b, a, a]), 2)  # the third id lies beyond n
    assert dictionary.streamSize() == 0


def test_the_sweep_takes_only_what_was_never_retained(dictionary: Any, longs: Any) -> None:
    held = dictionary.encode(TERMS[0])
    dictionary.retain(longs([held]), 1)
    dictionary.encode(TERMS[3])
    kept = dictionary.encodeRetained(TERMS[5])
    assert dictionary.sweepUnreferenced() == 1
    assert dictionary.sweepUnreferenced() == 0
    assert dictionary.lookup(TERMS[3]) == 0
    assert dictionary.text(held) == TERMS[0]
    assert dictionary.text(kept) == TERMS[5]
    again = dictionary.encode(TERMS[3])
    assert dictionary.text(again) == TERMS[3]
    assert dictionary.sweepUnreferenced() == 1


def test_releasing_what_was_not_retained_is_an_error(dictionary: Any, longs: Any) -> None:
    term_id = dictionary.encode(TERMS[0])
    with pytest.raises(Exception, match="without having been retained"):
        dictionary.release(longs([term_id]), 1)


def test_a_failed_retain_counts_nothing(dictionary: Any, longs: Any) -> None:
    a = dictionary.encode(TERMS[0])
    with pytest.raises(Py4JJavaError):
        dictionary.retain(longs([a, 12345]), 2)
    assert dictionary.referenceCount(a) == 0
    assert dictionary.text(a) == TERMS[0]


def test_quoted_triples_hold_their_parts(dictionary: Any, longs: Any) -> None:
    inner = "<< _:a <http://e/p> _:b >>"
    outer = f"<< {inner} <http://e/q> _:a >>"
    outer_id = dictionary.encodeRetained(outer)
    inner_id = dictionary.lookup(inner)
    assert list(dictionary.quoted(outer_id)) == [
        inner_id,
        dictionary.lookup("<http://e/q>"),
        dictionary.lookup("_:a"),
    ]
    assert dictionary.referenceCount(dictionary.lookup("_:a")) == 2
    assert dictionary.sweepUnreferenced() == 0
    dictionary.retain(longs([inner_id]), 1)
    dictionary.release(longs([outer_id]), 1)
    assert dictionary.streamSize() == 4
    assert dictionary.text(inner_id) == inner
    dictionary.release(longs([inner_id]), 1)
    assert dictionary.streamSize() == 0


def test_sweeping_a_quoted_triple_takes_its_parts(dictionary: Any) -> None:
    dictionary.encode(TERMS[-1])
    assert dictionary.streamSize() == 6
    assert dictionary.sweepUnreferenced() == 6
    assert dictionary.streamSize() == 0


def test_quoted_triples_can_be_made_from_ids(dictionary: Any) -> None:
    parts = [dictionary.encode(text) for text in ("_:a", "<http://e/p>", INLINE[0])]
    quoted = dictionary.encodeQuoted(*parts)
    assert dictionary.text(quoted) == f"<< _:a <http://e/p> {INLINE[0]} >>"
    assert dictionary.encode(dictionary.text(quoted)) == quoted
    with pytest.raises(Py4JJavaError) as caught:
        dictionary.encodeQuoted(parts[0], parts[1], 99)
    assert raised(caught)[0] == "UnknownTermException"


def test_memory_stays_flat_under_ever_new_terms(dictionary: Any, longs: Any) -> None:
    held: list[int] = []
    peak = 0
    for turn in range(3000):
        held.append(dictionary.encodeRetained(f"<http://example.org/reading/{turn:08d}>"))
        if turn % 3 == 0:
            dictionary.encode(f"_:never-retained-{turn}")
        if len(held) > 100:
            dictionary.release(longs(held[:1]), 1)
            del held[0]
        if turn % 100 == 0:
            dictionary.sweepUnreferenced()
            if turn == 1000:
                peak = dictionary.memoryBytes()
            assert turn <= 1000 or dictionary.memoryBytes() <= peak
    assert dictionary.streamSize() <= 100 + 34
    dictionary.release(longs(held), len(held))
    dictionary.sweepUnreferenced()
    assert dictionary.streamSize() == 0
    assert dictionary.memoryBytes() < 20_000


# ---- static layers -----------------------------------------------------------------------------


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
    assert all(cqels.Dictionary.hashOnly(text) == term_id for text, term_id in found.items())
    assert layer.find(0) == layer.find(77) == -1


def test_a_layer_survives_serialisation(spark: Any, cqels: Any) -> None:
    texts = [f"<http://example.org/{n}>" for n in range(3000)] + TERMS
    layer = layer_of(cqels, texts)
    utils = spark._jvm.org.apache.spark.util.Utils
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    copy = utils.deserialize(utils.serialize(layer), loader)
    assert (copy.size(), copy.hashBits()) == (layer.size(), layer.hashBits())
    for text in texts[::100] + TERMS:
        assert copy.textAt(copy.find(cqels.Dictionary.hashOnly(text))) == text
    empty = utils.deserialize(utils.serialize(layer_of(cqels, [])), loader)
    assert (empty.size(), empty.find(5), empty.nextSlot(-1)) == (0, -1, -1)


def test_a_layer_costs_about_sixteen_bytes_a_term(cqels: Any) -> None:
    texts = [f"<http://example.org/{n:06d}>" for n in range(2000)]
    layer = layer_of(cqels, texts)
    assert layer.memoryBytes() < sum(map(len, texts)) + 18 * len(texts)


def test_wrong_pairs_are_refused_by_the_builder(cqels: Any) -> None:
    builder = cqels.CompactDictionary.Builder(4)
    term_id = builder.add(TERMS[0])
    with pytest.raises(Py4JJavaError) as caught:
        builder.add(term_id, "<http://example.org/b>")
    name, collision = raised(caught)
    assert (name, collision.id()) == ("IdCollision", term_id)
    assert (collision.knownText(), collision.addedText()) == (TERMS[0], "<http://example.org/b>")
    with pytest.raises(Py4JJavaError) as caught:
        builder.add(term_id + 1, '"a literal under the id of an IRI"')
    assert raised(caught)[0] == "MalformedTerm"


# ---- collisions --------------------------------------------------------------------------------


def narrow(cqels: Any, bits: int) -> Any:
    made = cqels.Dictionary()
    made.setHashBits(bits)
    return made


def test_the_hash_width_is_fixed_by_the_first_term(cqels: Any) -> None:
    made = narrow(cqels, 8)
    made.encode("_:a")
    with pytest.raises(Exception, match="cannot change"):
        made.setHashBits(58)
    with pytest.raises(Exception, match="hashes of 58 bits in a dictionary of 8"):
        made.addStatic(layer_of(cqels, TERMS))


def many_terms(count: int) -> list[str]:
    made = []
    for n in range(count):
        made.append(f"<http://example.org/{n}>")
        made.append(f'"{n}"')
        if n % 4 == 0:
            made.append(f'<< <http://example.org/{n}> <http://example.org/0> "{n}" >>')
    return made


def test_thousands_of_terms_with_eight_bits(cqels: Any, longs: Any) -> None:
    made = narrow(cqels, 8)
    texts = many_terms(1200)
    ids = [made.encodeRetained(text) for text in texts]
    assert len(set(ids)) == len(texts)
    assert made.exceptionCount() > 1500
    assert [made.text(term_id) for term_id in ids] == texts
    assert [made.encode(text) for text in texts] == ids
    hasher = made.hasher()
    assert [hasher.id(text) for text in texts] == ids
    made.addStatic(layer_of(cqels, texts[: len(texts) // 2], hasher))
    assert [made.encode(text) for text in texts] == ids
    made.release(longs(ids), len(ids))
    assert made.streamSize() == 0
    half = len(texts) // 2
    assert [made.lookup(text) for text in texts[:half]] == ids[:half]
    assert not any(made.lookup(text) for text in texts[half + 50 :] if text.startswith('"'))


@pytest.mark.parametrize("seed", [1, 2])
def test_live_terms_never_change_their_ids(cqels: Any, longs: Any, seed: int) -> None:
    chance = random.Random(seed)
    made = narrow(cqels, 2)
    texts = [f"_:{n}" for n in range(40)]
    live: dict[str, int] = {}
    counts: dict[str, int] = {}
    for _ in range(1500):
        text = chance.choice(texts)
        if chance.random() < 0.5:
            term_id = made.encodeRetained(text)
            assert live.setdefault(text, term_id) == term_id
            counts[text] = counts.get(text, 0) + 1
        elif text in live:
            made.release(longs([live[text]]), 1)
            counts[text] -= 1
            if counts[text] == 0:
                del live[text]
        else:
            assert made.lookup(text) == 0
        assert len(set(live.values())) == len(live)
    assert made.streamSize() == len(live) > 5
    assert {text: made.lookup(text) for text in live} == live
    assert {made.text(term_id): term_id for term_id in live.values()} == live
    for text, term_id in live.items():
        made.release(longs([term_id] * counts[text]), counts[text])
    assert made.streamSize() == made.exceptionCount() == 0


def colliding(cqels: Any, bits: int) -> tuple[str, str]:
    """Two blank nodes with one plain id."""
    hasher = cqels.TermHasher(bits)
    seen: dict[int, str] = {}
    for n in range(1000):
        text = f"_:n{n}"
        first = seen.setdefault(hasher.id(text), text)
        if first != text:
            return first, text
    raise AssertionError("no collision found")


def test_a_noted_term_keeps_its_id_when_the_plain_one_falls_free(cqels: Any, longs: Any) -> None:
    made = narrow(cqels, 4)
    first, second = colliding(cqels, 4)
    first_id, second_id = made.encodeRetained(first), made.encodeRetained(second)
    assert made.exceptionCount() == 1
    made.release(longs([first_id]), 1)
    assert made.encode(second) == second_id != first_id
    made.release(longs([second_id]), 1)
    assert made.exceptionCount() == 0
    assert made.encode(second) == first_id


def test_a_layer_that_takes_anothers_id_is_refused_and_mended(cqels: Any, longs: Any) -> None:
    made = narrow(cqels, 4)
    known, added = colliding(cqels, 4)
    known_id = made.encodeRetained(known)
    layer = layer_of(cqels, [added], cqels.TermHasher(4))
    with pytest.raises(Py4JJavaError) as caught:
        made.addStatic(layer)
    name, collision = raised(caught)
    assert (name, collision.id()) == ("IdCollision", known_id)
    assert (collision.knownText(), collision.addedText()) == (known, added)
    assert made.staticSize() == 0
    mended = made.encodeRetained(added)
    made.addStatic(layer_of(cqels, [added], made.hasher()))
    made.release(longs([mended, known_id]), 2)
    assert made.lookup(added) == mended
    assert made.text(mended) == added
    assert made.lookup(known) == 0
    assert made.exceptionCount() == 1


def test_layers_that_disagree_are_refused(cqels: Any) -> None:
    made = narrow(cqels, 4)
    known, added = colliding(cqels, 4)
    made.addStatic(layer_of(cqels, [known, "_:more"], cqels.TermHasher(4)))
    with pytest.raises(Py4JJavaError) as caught:
        made.addStatic(layer_of(cqels, [added], cqels.TermHasher(4)))
    assert raised(caught)[1].knownText() == known
    with pytest.raises(Py4JJavaError) as caught:
        made.addStatic(layer_of(cqels, [added, '"b"', '"c"', '"d"'], cqels.TermHasher(4)))
    assert raised(caught)[1].addedText() == added


def test_one_term_never_gets_a_second_id_from_a_layer(cqels: Any, longs: Any) -> None:
    made = narrow(cqels, 4)
    first, second = colliding(cqels, 4)
    first_id, second_id = made.encodeRetained(first), made.encodeRetained(second)
    made.release(longs([first_id]), 1)
    with pytest.raises(Py4JJavaError) as caught:
        made.addStatic(layer_of(cqels, [second], cqels.TermHasher(4)))
    name, collision = raised(caught)
    assert (name, collision.id(), collision.addedText()) == ("IdCollision", second_id, second)
    made.addStatic(layer_of(cqels, [second], made.hasher()))
    assert made.encode(second) == second_id


# ---- many threads ------------------------------------------------------------------------------


def test_threads_agree_on_ids_and_leave_nothing_behind(dictionary: Any, longs: Any) -> None:
    texts = [f"<< _:{n} <http://e/p> _:{n + 1} >>" for n in range(20)]

    def work(seed: int) -> dict[str, int]:
        chance = random.Random(seed)
        held = {text: dictionary.encodeRetained(text) for text in texts}
        for _ in range(150):
            text = chance.choice(texts)
            assert dictionary.encodeRetained(text) == held[text]
            assert dictionary.text(held[text]) == text
            dictionary.release(longs([held[text]]), 1)
        dictionary.release(longs(held.values()), len(held))
        return held

    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(work, range(3)))
    assert answers[0] == answers[1] == answers[2]
    assert dictionary.streamSize() == 0


def test_statements_are_encoded_from_the_reader(cqels: Any, dictionary: Any, longs: Any) -> None:
    reader = cqels.NQuadsReader("f_")
    out = longs([0] * 4)
    assert reader.parse('_:a <http://e/p> "x"@EN <http://e/g> .')
    dictionary.encodeStatement(reader, out)
    assert [dictionary.text(i) for i in out] == ["_:f_a", "<http://e/p>", '"x"@en', "<http://e/g>"]
    assert reader.parse("_:a <http://e/p> _:b .")
    dictionary.encodeStatement(reader, out)
    assert out[3] == 0
