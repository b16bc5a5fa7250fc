"""The dictionary: one id a term, reference counts, quoted triples, many threads."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from tests.sparkext.dictionary.dictionaries import INLINE, TERMS, raised


def test_texts_come_back_and_ids_are_stable(dictionary: Any) -> None:
    ids = [dictionary.encode(text) for text in TERMS + INLINE]
    assert len(set(ids)) == len(ids)
    assert [dictionary.encode(text) for text in TERMS + INLINE] == ids
    assert [dictionary.lookup(text) for text in TERMS + INLINE] == ids
    assert [dictionary.text(term_id) for term_id in ids] == TERMS + INLINE


def test_ids_are_the_plain_hashes_in_every_dictionary(cqels: Any, dictionary: Any) -> None:
    for text in TERMS + INLINE:
        assert dictionary.encode(text) == cqels.dictionary.Dictionary.hashOnly(text)


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
    for encode in (dictionary.encodeQuoted, dictionary.encodeQuotedRetained):
        with pytest.raises(Py4JJavaError) as caught:
            encode(parts[0], parts[1], 99)
        assert raised(caught)[0] == "UnknownTermException"


@pytest.mark.parametrize("known", [True, False])
def test_a_quoted_triple_is_made_and_held_at_once(dictionary: Any, longs: Any, known: bool) -> None:
    """Another thread may sweep between two calls."""
    parts = [dictionary.encodeRetained(text) for text in ("_:a", "<http://e/p>", "_:b")]
    if known:
        dictionary.encodeQuoted(*parts)
    quoted = dictionary.encodeQuotedRetained(*parts)
    assert dictionary.sweepUnreferenced() == 0
    assert dictionary.referenceCount(quoted) == 1
    dictionary.release(longs([quoted, *parts]), 4)
    assert dictionary.streamSize() == 0


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
