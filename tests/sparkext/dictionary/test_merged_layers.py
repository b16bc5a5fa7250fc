"""The static layers of a dictionary: small ones are merged, and terms are found in them as before."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.sparkext.dictionary.dictionaries import TERMS, layer_of, many_terms, narrow


def parts(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    return [texts[at : at + size] for at in range(0, len(texts), size)]


def test_many_small_layers_become_few(cqels: Any) -> None:
    made = cqels.dictionary.Dictionary()
    texts = [f"<http://example.org/{n}>" for n in range(1500)]
    for some in parts(texts, 5):
        made.addStatic(layer_of(cqels, some))
    assert made.staticSize() == len(texts)
    assert made.layerCount() <= 9
    ids = [made.lookup(text) for text in texts]
    assert ids == [cqels.dictionary.Dictionary.hashOnly(text) for text in texts]
    assert [made.text(term_id) for term_id in ids] == texts


def test_terms_of_all_kinds_outlive_a_merge_and_are_kept_once(cqels: Any) -> None:
    made = cqels.dictionary.Dictionary()
    for text in (*TERMS, *TERMS):
        made.addStatic(layer_of(cqels, [text]))
    assert made.layerCount() <= 4
    whole = cqels.dictionary.Dictionary()
    for each in (made, whole):
        each.addStatic(layer_of(cqels, TERMS))
    assert made.layerCount() == 1
    assert made.staticSize() == whole.staticSize()
    ids = [made.encode(text) for text in TERMS]
    assert made.streamSize() == 0
    assert [made.text(term_id) for term_id in ids] == TERMS
    assert [list(made.quoted(term_id)) for term_id in ids[-2:]] == [
        list(whole.quoted(term_id)) for term_id in ids[-2:]
    ]


def test_terms_with_ids_that_are_not_their_hashes_keep_them(cqels: Any) -> None:
    made = narrow(cqels, 8)
    texts = many_terms(300)
    ids = [made.encodeRetained(text) for text in texts]
    noted = made.exceptionCount()
    assert noted > 100
    for some in parts(texts, 20):
        made.addStatic(layer_of(cqels, some, made.hasher()))
    assert made.layerCount() <= 6
    assert made.streamSize() == 0 and made.exceptionCount() == noted
    assert [made.text(term_id) for term_id in ids] == texts
    assert [made.lookup(text) for text in texts] == ids
    salted = {layer.textAt(slot) for layer in made.staticLayers() for slot in layer.saltedSlots()}
    assert len(salted) == noted


def test_a_large_layer_is_not_copied_for_a_small_one_after_it(cqels: Any) -> None:
    made = cqels.dictionary.Dictionary()
    made.addStatic(layer_of(cqels, [f"<http://example.org/{n}>" for n in range(50)]))
    counts = []
    for n in range(3):
        made.addStatic(layer_of(cqels, [f"_:{n}{i}" for i in range(3)]))
        counts.append(made.layerCount())
    assert counts == [2, 2, 2]
    made.addStatic(layer_of(cqels, []))
    assert made.layerCount() == 2
    made.addStatic(layer_of(cqels, [f"_:more{i}" for i in range(20)]))
    assert made.layerCount() == 1


def test_layers_that_would_be_too_large_together_stay_apart(cqels: Any) -> None:
    layers = cqels.dictionary.StaticLayers(10)
    for letter, count in (("a", 5), ("b", 5), ("c", 1), ("d", 1)):
        layers.add(layer_of(cqels, [f"_:{letter}{n}" for n in range(count)]))
        layers.merge()
    assert [layer.size() for layer in layers.all()] == [10, 2]


def test_terms_are_found_while_layers_are_merged(cqels: Any) -> None:
    made = cqels.dictionary.Dictionary()
    first = [f"<http://example.org/first/{n}>" for n in range(40)]
    made.addStatic(layer_of(cqels, first))
    ids = [made.lookup(text) for text in first]
    added = [[f"<http://example.org/{part}/{n}>" for n in range(150)] for part in range(40)]
    layers = [layer_of(cqels, [*texts, first[n]]) for n, texts in enumerate(added)]

    def add(some: Sequence[Any]) -> None:
        for layer in some:
            made.addStatic(layer)

    def read() -> None:
        for _ in range(10):
            assert [made.text(term_id) for term_id in ids] == first
            assert [made.encode(text) for text in first] == ids

    with ThreadPoolExecutor(4) as pool:
        adding = [pool.submit(add, layers[half::2]) for half in range(2)]
        for done in (*adding, pool.submit(read), pool.submit(read)):
            done.result()
    assert made.streamSize() == 0
    assert all(made.lookup(text) for texts in added for text in texts)
    made.addStatic(layer_of(cqels, ["_:last"]))
    assert made.layerCount() <= 10
