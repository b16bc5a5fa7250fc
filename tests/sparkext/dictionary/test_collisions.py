"""Terms with the same hash: each has one id, and keeps it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from tests.sparkext.dictionary.dictionaries import (
    TERMS,
    colliding,
    layer_of,
    many_terms,
    narrow,
    raised,
)


def test_the_hash_width_is_fixed_by_the_first_term(cqels: Any) -> None:
    made = narrow(cqels, 8)
    made.encode("_:a")
    with pytest.raises(Exception, match="cannot change"):
        made.setHashBits(58)
    with pytest.raises(Exception, match="hashes of 58 bits in a dictionary of 8"):
        made.addStatic(layer_of(cqels, TERMS))


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
    layer = layer_of(cqels, [added], cqels.terms.TermHasher(4))
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
    made.addStatic(layer_of(cqels, [known, "_:more"], cqels.terms.TermHasher(4)))
    with pytest.raises(Py4JJavaError) as caught:
        made.addStatic(layer_of(cqels, [added], cqels.terms.TermHasher(4)))
    assert raised(caught)[1].knownText() == known
    with pytest.raises(Py4JJavaError) as caught:
        made.addStatic(layer_of(cqels, [added, '"b"', '"c"', '"d"'], cqels.terms.TermHasher(4)))
    assert raised(caught)[1].addedText() == added


def test_one_term_never_gets_a_second_id_from_a_layer(cqels: Any, longs: Any) -> None:
    made = narrow(cqels, 4)
    first, second = colliding(cqels, 4)
    first_id, second_id = made.encodeRetained(first), made.encodeRetained(second)
    made.release(longs([first_id]), 1)
    with pytest.raises(Py4JJavaError) as caught:
        made.addStatic(layer_of(cqels, [second], cqels.terms.TermHasher(4)))
    name, collision = raised(caught)
    assert (name, collision.id(), collision.addedText()) == ("IdCollision", second_id, second)
    made.addStatic(layer_of(cqels, [second], made.hasher()))
    assert made.encode(second) == second_id
