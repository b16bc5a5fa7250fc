"""IRIs, names and vectorised text of the generated people, papers and rooms."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PERSON = "http://dblp.example.org/person/"
PAPER = "http://dblp.example.org/paper/"
ROOM = "http://deri.org/localization/room/"
SIGHTING = "http://deri.org/locstreams/sighting/"
STREAM = "http://deri.org/locstreams"
LOCALIZATION_GRAPH = "http://deri.org/localization/"

CREATOR = "http://purl.org/dc/elements/1.1/creator"
REFERENCES = "http://purl.org/dc/terms/references"
NAME = "http://xmlns.com/foaf/0.1/name"
LOC = "http://deri.org/localization/schema#"
GENERATED_AT_TIME = "http://www.w3.org/ns/prov#generatedAtTime"
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"

_GIVEN_NAMES = (
    "Ada Aisha Alan Amir Ana Anna Aoife Arjun Bela Boris Carla Chen Clara Daan Diego Dora Edgar "
    "Elif Emma Erik Fatima Felix Gita Goran Hana Hugo Ines Ivan Jana Jin Jonas Kai Karin Kofi "
    "Lars Laura Lena Leo Lin Luca Maja Marco Maria Mei Mila Nadia Nils Nora Olga Omar Paul Petra "
    "Priya Ravi Rosa Sara Sven Tara Tomas Uma Vera Wei Yuki Zoe"
)
_FIRST_SYLLABLES = (
    "Al Ander Bar Bel Ber Bran Cal Cor Dal Del Dor Esp Fal Fer Gal Gar Hal Har Jor Kal Kel Kor Lan "
    "Mar Mor Nor Pal Ros San Tor Val Wal"
)
_MIDDLE_SYLLABLES = "a an e el en er i in o on or u"
_LAST_SYLLABLES = "berg di ko ley man mura nen ova rez sen son ti"
_GIVEN, _FIRST, _MIDDLE, _LAST = (
    words.split() for words in (_GIVEN_NAMES, _FIRST_SYLLABLES, _MIDDLE_SYLLABLES, _LAST_SYLLABLES)
)

COMBINATIONS = len(_GIVEN) * len(_FIRST) * len(_MIDDLE) * len(_LAST)
# Coprime to COMBINATIONS = 2^15 * 3^2, so neighbouring ids get unlike names, each name once.
_STRIDE = 104_729


def _ids(ids: np.ndarray) -> pa.Array:
    return pa.array(ids).cast(pa.string())


def iris(prefix: str, ids: np.ndarray) -> pa.Array:
    """IRIs (without angle brackets) of the given numbers, one string each.

    >>> iris(ROOM, np.array([7])).to_pylist()
    ['http://deri.org/localization/room/7']
    """
    return pc.binary_join_element_wise(prefix, _ids(ids), "")


def person_names(ids: np.ndarray) -> pa.Array:
    """Readable names, a different one for every id; homonyms are numbered as DBLP numbers them.

    >>> person_names(np.array([0, 1, COMBINATIONS])).to_pylist()
    ['Ada Alaberg', 'Gita Marelmura', 'Ada Alaberg 0002']
    """
    ids = np.asarray(ids, dtype=np.int64)
    rest = ids * _STRIDE % COMBINATIONS
    parts = []
    for syllables in (_LAST, _MIDDLE, _FIRST, _GIVEN):
        rest, which = np.divmod(rest, len(syllables))
        parts.append(pa.array(syllables).take(pa.array(which)))
    last, middle, first, given = parts
    family = pc.binary_join_element_wise(first, middle, last, "")
    homonym = ids // COMBINATIONS
    number = pc.utf8_lpad(_ids(homonym + 1), 4, "0")
    suffix = pc.if_else(pa.array(homonym > 0), pc.binary_join_element_wise(" ", number, ""), "")
    return pc.binary_join_element_wise(given, " ", family, suffix, "")


def room_names(ids: np.ndarray) -> pa.Array:
    """Names of rooms.

    >>> room_names(np.array([17])).to_pylist()
    ['Room 17']
    """
    return pc.binary_join_element_wise("Room ", _ids(ids), "")
