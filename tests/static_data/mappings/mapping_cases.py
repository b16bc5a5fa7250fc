"""Mappings, the rows they are applied to, and the quads that the specifications say they make.

Sections are those of R2RML (W3C Recommendation 2012), RML and RML-star. Quads are written with ex: for
http://example.com/, xsd: for the datatypes of XML Schema and `a` for rdf:type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

_SHORT = {"ex:": "http://example.com/", "xsd:": "http://www.w3.org/2001/XMLSchema#"}
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|\b(ex:|xsd:)([\w/%#.-]*[\w])|(?<= )a(?= )')

TURTLE_PREFIXES = """\
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://example.com/> .
"""
NEW_PREFIXES = """\
@prefix rml: <http://w3id.org/rml/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://example.com/> .
"""


@dataclass(frozen=True)
class MappingCase:
    """One mapping; its files by name, or tables by name; `quads` a line each.

    `unlike_morph` says where morph-kgc makes something else, and why the specification is followed here.
    """

    name: str
    mapping: str
    quads: str
    files: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    ending: str = "ttl"
    unlike_morph: str | None = None

    @property
    def expected(self) -> set[str]:
        """The quads as N-Quads-star lines."""
        return {expanded(line.strip()) for line in self.quads.splitlines() if line.strip()}


def expanded(line: str) -> str:
    """A line with its short names written out.

    >>> expanded('ex:s a ex:C .')
    '<http://example.com/s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.com/C> .'
    """

    def full(found: re.Match[str]) -> str:
        if found[1]:
            return f"<{_SHORT[found[1]]}{found[2]}>"
        return "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>" if found[0] == "a" else found[0]

    return _WORD.sub(full, line)


def rml(body: str) -> str:
    return TURTLE_PREFIXES + body


def new(body: str) -> str:
    return NEW_PREFIXES + body


_PEOPLE = "id,name,country\n1,Ann Lee,DE\n2,,FR\n3,Zoë,\n"

RML_CASES = [
    MappingCase(
        "templates, columns, classes and constants",
        rml("""
<#People> rml:logicalSource [ rml:source "people.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.com/person/{id}"; rr:class ex:Person, ex:Agent ];
  rr:predicateObjectMap [ rr:predicate ex:name; rr:objectMap [ rml:reference "name" ] ];
  rr:predicateObjectMap [ rr:predicate ex:from; rr:objectMap [ rr:template "http://example.com/land/{country}" ] ];
  rr:predicateObjectMap [ rr:predicate ex:of, ex:in; rr:object ex:Town, "home" ] .
"""),
        """
ex:person/1 a ex:Person .
ex:person/1 a ex:Agent .
ex:person/1 ex:name "Ann Lee" .
ex:person/1 ex:from ex:land/DE .
ex:person/1 ex:of ex:Town .
ex:person/1 ex:of "home" .
ex:person/1 ex:in ex:Town .
ex:person/1 ex:in "home" .
ex:person/2 a ex:Person .
ex:person/2 a ex:Agent .
ex:person/2 ex:from ex:land/FR .
ex:person/2 ex:of ex:Town .
ex:person/2 ex:of "home" .
ex:person/2 ex:in ex:Town .
ex:person/2 ex:in "home" .
ex:person/3 a ex:Person .
ex:person/3 a ex:Agent .
ex:person/3 ex:name "Zoë" .
ex:person/3 ex:of ex:Town .
ex:person/3 ex:of "home" .
ex:person/3 ex:in ex:Town .
ex:person/3 ex:in "home" .
""",
        {"people.csv": _PEOPLE},
    ),
    MappingCase(
        "the same in the vocabulary of 2023",
        new("""
<http://example.com/People> a rml:TriplesMap;
  rml:logicalSource [ rml:source "people.csv"; rml:referenceFormulation rml:CSV ];
  rml:subjectMap [ rml:template "http://example.com/person/{id}"; rml:class ex:Person ];
  rml:predicateObjectMap [ rml:predicate ex:name; rml:objectMap [ rml:reference "name" ] ];
  rml:predicateObjectMap [ rml:predicate ex:from;
    rml:objectMap [ rml:template "http://example.com/land/{country}"; rml:termType rml:IRI ] ] .
"""),
        """
ex:person/1 a ex:Person .
ex:person/1 ex:name "Ann Lee" .
ex:person/1 ex:from ex:land/DE .
ex:person/2 a ex:Person .
ex:person/2 ex:from ex:land/FR .
ex:person/3 a ex:Person .
ex:person/3 ex:name "Zoë" .
""",
        {"people.csv": _PEOPLE},
    ),
    MappingCase(
        "percent-encoding in templates of IRIs, and only there (R2RML 7.3)",
        rml(r"""
<#Rooms> rml:logicalSource [ rml:source "rooms.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.com/{name}" ];
  rr:predicateObjectMap [ rr:predicate ex:label;
    rr:objectMap [ rr:template "room \\{{name}\\}"; rr:termType rr:Literal ] ] .
"""),
        """
ex:A%20B%2FC%25%3F ex:label "room {A B/C%?}" .
""",
        {"rooms.csv": "name\nA B/C%?\n"},
    ),
    MappingCase(
        "datatypes and languages (R2RML 7.5, 7.6)",
        rml("""
<#Readings> rml:logicalSource [ rml:source "readings.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.com/r/{id}" ];
  rr:predicateObjectMap [ rr:predicate ex:value; rr:objectMap [ rml:reference "v"; rr:datatype xsd:decimal ] ];
  rr:predicateObjectMap [ rr:predicate ex:unit; rr:objectMap [ rml:reference "u"; rr:language "en-GB" ] ];
  rr:predicateObjectMap [ rr:predicate ex:at;
    rr:objectMap [ rr:template "2026-01-01T{h}:00:00Z"; rr:datatype xsd:dateTime ] ] .
"""),
        """
ex:r/1 ex:value "21.5"^^xsd:decimal .
ex:r/1 ex:unit "degree"@en-gb .
ex:r/1 ex:at "2026-01-01T07:00:00Z"^^xsd:dateTime .
""",
        {"readings.csv": "id,v,u,h\n1,21.5,degree,07\n"},
    ),
    MappingCase(
        "language and datatype maps",
        new("""
<http://example.com/Words> rml:logicalSource [ rml:source "words.csv"; rml:referenceFormulation rml:CSV ];
  rml:subjectMap [ rml:template "http://example.com/w/{id}" ];
  rml:predicateObjectMap [ rml:predicate ex:word;
    rml:objectMap [ rml:reference "text"; rml:languageMap [ rml:reference "lang" ] ] ];
  rml:predicateObjectMap [ rml:predicate ex:size;
    rml:objectMap [ rml:reference "size";
                    rml:datatypeMap [ rml:template "http://www.w3.org/2001/XMLSchema#{type}" ] ] ] .
"""),
        """
ex:w/1 ex:word "Haus"@de .
ex:w/1 ex:size "4"^^xsd:integer .
ex:w/2 ex:word "house"@en .
ex:w/2 ex:size "5.0"^^xsd:decimal .
""",
        {"words.csv": "id,text,lang,size,type\n1,Haus,de,4,integer\n2,house,en,5.0,decimal\n"},
    ),
    MappingCase(
        "graph maps (R2RML 9): of the subject and of a predicate and object, and the default graph",
        rml("""
<#Readings> rml:logicalSource [ rml:source "readings.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.com/r/{id}"; rr:class ex:Reading;
                  rr:graphMap [ rr:template "http://example.com/day/{day}" ] ];
  rr:predicateObjectMap [ rr:predicate ex:value; rr:objectMap [ rml:reference "v" ]; rr:graph ex:values ] .
<#Days> rml:logicalSource [ rml:source "readings.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.com/day/{day}"; rr:class ex:Day; rr:graph rr:defaultGraph ] .
"""),
        """
ex:r/1 a ex:Reading ex:day/mon .
ex:r/1 ex:value "7" ex:day/mon .
ex:r/1 ex:value "7" ex:values .
ex:day/mon a ex:Day .
""",
        {"readings.csv": "id,v,day\n1,7,mon\n"},
    ),
    MappingCase(
        "term types: IRIs and blank nodes of columns",
        rml("""
<#Links> rml:logicalSource [ rml:source "links.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rml:reference "from"; rr:termType rr:IRI ];
  rr:predicateObjectMap [ rr:predicateMap [ rml:reference "how" ];
    rr:objectMap [ rml:reference "to"; rr:termType rr:BlankNode ] ];
  rr:predicateObjectMap [ rr:predicate ex:same; rr:objectMap [ rr:template "{to}"; rr:termType rr:BlankNode ] ] .
"""),
        """
ex:a ex:knows _:x .
ex:a ex:same _:x .
ex:b ex:knows _:x .
ex:b ex:same _:x .
ex:b ex:knows _:y .
ex:b ex:same _:y .
""",
        {
            "links.csv": "from,how,to\nhttp://example.com/a,http://example.com/knows,x\n"
            "http://example.com/b,http://example.com/knows,x\nhttp://example.com/b,http://example.com/knows,y\n"
        },
    ),
    MappingCase(
        "a join with another source (R2RML 8), of two conditions",
        rml("""
<#Readings> rml:logicalSource [ rml:source "readings.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.com/r/{id}" ];
  rr:predicateObjectMap [ rr:predicate ex:by; rr:objectMap [ rr:parentTriplesMap <#Sensors>;
    rr:joinCondition [ rr:child "sensor"; rr:parent "number" ];
    rr:joinCondition [ rr:child "site"; rr:parent "place" ] ] ] .
<#Sensors> rml:logicalSource [ rml:source "sensors.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.com/s/{key}" ] .
"""),
        """
ex:r/1 ex:by ex:s/k1 .
ex:r/1 ex:by ex:s/k3 .
""",
        {
            "readings.csv": "id,sensor,site\n1,7,A\n2,8,A\n3,,A\n",
            "sensors.csv": "key,number,place\nk1,7,A\nk2,7,B\nk3,7,A\nk4,,A\n",
        },
    ),
    MappingCase(
        "a parent triples map over the same source, without a condition",
        rml("""
<#Readings> rml:logicalSource [ rml:source "readings.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.com/r/{id}" ];
  rr:predicateObjectMap [ rr:predicate ex:by; rr:objectMap [ rr:parentTriplesMap <#Sensors> ] ] .
<#Sensors> rml:logicalSource [ rml:source "readings.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.com/s/{sensor}"; rr:class ex:Sensor ] .
"""),
        """
ex:r/1 ex:by ex:s/7 .
ex:s/7 a ex:Sensor .
""",
        {"readings.csv": "id,sensor\n1,7\n2,\n"},
    ),
    MappingCase(
        "JSON: an iterator, fields inside fields, several values",
        rml("""
<#Readings> rml:logicalSource [ rml:source "r.json"; rml:referenceFormulation ql:JSONPath;
                                rml:iterator "$.readings[*]" ];
  rr:subjectMap [ rr:template "http://example.com/r/{id}" ];
  rr:predicateObjectMap [ rr:predicate ex:lat; rr:objectMap [ rml:reference "at.lat"; rr:datatype xsd:double ] ];
  rr:predicateObjectMap [ rr:predicate ex:tag; rr:objectMap [ rml:reference "tags[*]" ] ] .
"""),
        """
ex:r/a ex:lat "4.85E1"^^xsd:double .
ex:r/a ex:tag "x" .
ex:r/a ex:tag "y" .
ex:r/b ex:tag "z" .
""",
        {
            "r.json": '{"readings": [{"id": "a", "at": {"lat": 48.5}, "tags": ["x", "y"]},'
            ' {"id": "b", "at": {"lat": null}, "tags": ["z"]}]}'
        },
        unlike_morph="morph-kgc writes numbers of JSON as they stand, not in canonical form",
    ),
]
