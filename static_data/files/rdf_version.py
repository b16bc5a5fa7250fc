"""Which of the two readings of quoted triples holds."""

from __future__ import annotations

from enum import Enum


class RdfVersion(Enum):
    """RDF-star, where ``<< s p o >>`` is a quoted triple, or RDF 1.2, where it is a node that reifies one.

    In both, ``<<( s p o )>>`` is the triple term itself. RDF 1.2 allows triple terms as objects only, and N-Triples and
    N-Quads have no other form of them.
    """

    STAR = "star"
    RDF_1_2 = "1.2"
