"""Stream elements of annotated triples, and their texts with quoted triples and reified."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from bench.data.ehealth import EHEALTH, HOME, XSD, dated, decimal
from bench.data.reification import RDF, reified_element
from sparkext.recorded_streams import StreamElement
from sparkext.recorded_streams.reader import read_document
from static_data.files.rdf_formats import RdfFormat

SERIALISATIONS = {"plain": RdfFormat.N_QUADS, "compact": RdfFormat.TRIG}

_IRI = re.compile(r"<([^<>\s]*)>")
_NUMBER = re.compile(rf'"([0-9.]+)"\^\^<{XSD}(?:integer|decimal)>')
_QUOTED = re.compile(r"<< (\S+) (\S+) (\S+) >>")


def annotated_element(number: int, time_ms: int, annotated: int, seed: int = 1) -> StreamElement:
    """An element with `annotated` triples, each stated and said one thing about.

    Of the first it is its confidence, of the others who reported it.
    """
    rng = np.random.default_rng([seed, number])
    rates, patients = rng.integers(50, 150, annotated), rng.permutation(max(1000, annotated))
    triples: list[str] = []
    for i, (rate, patient) in enumerate(
        zip(rates.tolist(), patients[:annotated].tolist(), strict=True)
    ):
        stated = f'<{HOME}patient/{patient}> <{EHEALTH}heartRate> "{rate}"^^<{XSD}integer>'
        said = f"<{EHEALTH}reportedBy> <{HOME}sensor/{int(rng.integers(100))}>"
        if i == 0:
            said = f"<{EHEALTH}confidence> {decimal(int(rng.integers(5, 100)))}"
        triples += [f"{stated} .", f"<< {stated} >> {said} ."]
    name = f"{HOME}heartRate/{number}"
    return StreamElement(time_ms, f"<{name}>", tuple(triples), dated(name, time_ms))


def serialised(element: StreamElement, serialisation: str, reified: bool) -> bytes:
    """The document that carries one element of quoted triples: as it is, or `reified` with a blank node for each.

    `plain` is N-Quads(-star), `compact` TriG(-star) with a base and a prefix, reified one more for rdf:, and blank
    nodes written as brackets, which is the shortest form.

    >>> print(serialised(annotated_element(7, 1000, 1), "compact", reified=True).decode())
    @base <http://example.org/ehealth/> .
    @prefix : <http://example.org/ehealth#> .
    @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
    <heartRate/7> <http://www.w3.org/ns/prov#generatedAtTime> "1970-01-01T00:00:01Z"\
^^<http://www.w3.org/2001/XMLSchema#dateTime> .
    <heartRate/7> {
    <patient/811> :heartRate 127 .
    [ a rdf:Statement ; rdf:subject <patient/811> ; rdf:predicate :heartRate ; rdf:object 127 ] :confidence 0.43 .
    }
    <BLANKLINE>
    """
    if serialisation == "plain":
        lines = (reified_element(element) if reified else element).nquads()
        return ("\n".join(lines) + "\n").encode()
    head = [f"@base <{HOME}> .", f"@prefix : <{EHEALTH}> ."]
    body = [_short(triple) for triple in element.triples]
    if reified:
        head.append(f"@prefix rdf: <{RDF}> .")
        node = r"[ a rdf:Statement ; rdf:subject \1 ; rdf:predicate \2 ; rdf:object \3 ]"
        body = [_QUOTED.sub(node, line) for line in body]
    graph, time = _short(element.graph or ""), _short(element.time_triple or "")
    return ("\n".join([*head, time, f"{graph} {{", *body, "}"]) + "\n").encode()


def _short(text: str) -> str:
    def iri(found: re.Match[str]) -> str:
        value = found.group(1)
        if value.startswith(HOME):
            return f"<{value[len(HOME) :]}>"
        return f":{value[len(EHEALTH) :]}" if value.startswith(EHEALTH) else found.group()

    return _IRI.sub(iri, _NUMBER.sub(r"\1", text))


def read_elements(documents: Sequence[bytes], serialisation: str) -> list[StreamElement]:
    """The elements as the product's own reader finds them; each document holds one, with blank nodes of its own."""
    found: list[StreamElement] = []
    for document in documents:
        elements, set_aside = read_document(document, SERIALISATIONS[serialisation], "element")
        if set_aside or len(elements) != 1:
            raise ValueError(f"not one element: {[str(reason) for reason in set_aside]}")
        found += elements
    return found
