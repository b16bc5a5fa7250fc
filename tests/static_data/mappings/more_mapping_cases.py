"""More mappings, the rows they are applied to, and their quads: the rest of RML, and R2RML."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa

from tests.static_data.mappings.mapping_cases import RML_CASES, MappingCase, new, rml

MORE_RML_CASES = [
    MappingCase(
        "quoted triples as subject and as object (RML-star)",
        new("""
<http://example.com/Readings> a rml:AssertedTriplesMap;
  rml:logicalSource [ rml:source "r.csv"; rml:referenceFormulation rml:CSV ];
  rml:subjectMap [ rml:template "http://example.com/s/{sensor}" ];
  rml:predicateObjectMap [ rml:predicate ex:reads; rml:objectMap [ rml:reference "v" ] ] .
<http://example.com/Heard> a rml:NonAssertedTriplesMap;
  rml:logicalSource [ rml:source "r.csv"; rml:referenceFormulation rml:CSV ];
  rml:subjectMap [ rml:template "http://example.com/s/{sensor}" ];
  rml:predicateObjectMap [ rml:predicate ex:near; rml:object ex:door ] .
<http://example.com/Sure>
  rml:logicalSource [ rml:source "r.csv"; rml:referenceFormulation rml:CSV ];
  rml:subjectMap [ rml:quotedTriplesMap <http://example.com/Readings> ];
  rml:predicateObjectMap [ rml:predicate ex:confidence; rml:objectMap [ rml:reference "c" ] ] .
<http://example.com/Says>
  rml:logicalSource [ rml:source "r.csv"; rml:referenceFormulation rml:CSV ];
  rml:subjectMap [ rml:template "http://example.com/s/{sensor}" ];
  rml:predicateObjectMap [ rml:predicate ex:says; rml:objectMap [ rml:quotedTriplesMap <http://example.com/Heard> ] ] .
"""),
        """
ex:s/1 ex:reads "20" .
<< ex:s/1 ex:reads "20" >> ex:confidence "0.9" .
ex:s/1 ex:says << ex:s/1 ex:near ex:door >> .
""",
        {"r.csv": "sensor,v,c\n1,20,0.9\n"},
    ),
    MappingCase(
        "quoted triples of another source, joined, in the old vocabulary",
        rml("""
<#Sensors> a rml:NonAssertedTriplesMap;
  rml:logicalSource [ rml:source "sensors.csv"; rml:referenceFormulation ql:CSV ];
  rml:subjectMap [ rr:template "http://example.com/s/{key}" ];
  rr:predicateObjectMap [ rr:predicate ex:room; rml:objectMap [ rml:reference "room" ] ] .
<#Readings> rml:logicalSource [ rml:source "r.csv"; rml:referenceFormulation ql:CSV ];
  rml:subjectMap [ rml:quotedTriplesMap <#Sensors>; rr:joinCondition [ rr:child "sensor"; rr:parent "key" ] ];
  rr:predicateObjectMap [ rr:predicate ex:seen; rml:objectMap [ rml:reference "t" ] ] .
""")
        .replace("rml:subjectMap", "rr:subjectMap")
        .replace("rml:objectMap", "rr:objectMap"),
        """
<< ex:s/1 ex:room "hall" >> ex:seen "noon" .
""",
        {"r.csv": "sensor,t\n1,noon\n2,night\n", "sensors.csv": "key,room\n1,hall\n3,attic\n"},
    ),
    MappingCase(
        "YARRRML",
        """
prefixes:
  ex: http://example.com/
sources:
  readings: [readings.csv~csv]
mappings:
  reading:
    sources: readings
    s: ex:r/$(id)
    po:
      - [a, ex:Reading]
      - [ex:value, $(v), xsd:decimal]
      - [ex:word, $(w), de~lang]
      - [[ex:from, ex:via], ex:land/$(land)~iri]
      - p: ex:by
        o:
          mapping: sensor
          condition:
            function: equal
            parameters:
              - [str1, $(sensor)]
              - [str2, $(key)]
  sensor:
    sources:
      - [sensors.csv~csv]
    subject: ex:s/$(key)
    predicateobjects:
      - predicates: ex:room
        objects: $(room)
""",
        """
ex:r/1 a ex:Reading .
ex:r/1 ex:value "2.50"^^xsd:decimal .
ex:r/1 ex:word "warm"@de .
ex:r/1 ex:from ex:land/FR .
ex:r/1 ex:via ex:land/FR .
ex:r/1 ex:by ex:s/7 .
ex:s/7 ex:room "hall" .
""",
        {
            "readings.csv": "id,v,w,land,sensor\n1,2.50,warm,FR,7\n",
            "sensors.csv": "key,room\n7,hall\n",
        },
        ending="yml",
    ),
    MappingCase(
        "YARRRML: quoted triples, graphs, types",
        """
prefixes: {ex: "http://example.com/"}
mappings:
  reading:
    sources:
      - [r.csv~csv]
    s: ex:s/$(sensor)
    graphs: ex:g/$(day)
    po:
      - [ex:reads, $(v), xsd:integer]
  sure:
    sources:
      - [r.csv~csv]
    s:
      quotedNonAsserted: doubted
    po:
      - p: ex:doubt
        o: {value: "$(c)", datatype: xsd:decimal}
  doubted:
    sources:
      - [r.csv~csv]
    s: ex:s/$(sensor)
    po:
      - [ex:near, ex:door]
""",
        """
ex:s/1 ex:reads "20"^^xsd:integer ex:g/mon .
<< ex:s/1 ex:near ex:door >> ex:doubt "0.9"^^xsd:decimal .
""",
        {"r.csv": "sensor,v,c,day\n1,20,0.9,mon\n"},
        ending="yml",
        unlike_morph="morph-kgc asserts what is quoted so",
    ),
    MappingCase(
        "quoted triples inside quoted triples",
        new("""
<http://example.com/A> a rml:NonAssertedTriplesMap;
  rml:logicalSource [ rml:source "r.csv"; rml:referenceFormulation rml:CSV ];
  rml:subjectMap [ rml:template "http://example.com/{a}" ];
  rml:predicateObjectMap [ rml:predicate ex:p; rml:objectMap [ rml:reference "b" ] ] .
<http://example.com/B> a rml:NonAssertedTriplesMap;
  rml:logicalSource [ rml:source "r.csv"; rml:referenceFormulation rml:CSV ];
  rml:subjectMap [ rml:quotedTriplesMap <http://example.com/A> ];
  rml:predicateObjectMap [ rml:predicate ex:q; rml:objectMap [ rml:template "http://example.com/{c}" ] ] .
<http://example.com/C>
  rml:logicalSource [ rml:source "r.csv"; rml:referenceFormulation rml:CSV ];
  rml:subjectMap [ rml:template "http://example.com/{c}" ];
  rml:predicateObjectMap [ rml:predicate ex:r; rml:objectMap [ rml:quotedTriplesMap <http://example.com/B> ] ] .
"""),
        """
ex:z ex:r << << ex:x ex:p "y" >> ex:q ex:z >> .
""",
        {"r.csv": "a,b,c\nx,y,z\nx,,z\n"},
    ),
    MappingCase(
        "shortcuts of constants, also as subject; several graphs; escapes in values",
        rml(r"""
<#Rows> rml:logicalSource [ rml:source "r.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:constant ex:log; rr:graph ex:g1, ex:g2 ];
  rr:predicateObjectMap [ rr:predicate ex:said; rr:objectMap [ rml:reference "text" ] ];
  rr:predicateObjectMap [ rr:predicate ex:version; rr:object "v2" ] .
"""),
        r"""
ex:log ex:said "a \"b\" \\ c" ex:g1 .
ex:log ex:said "a \"b\" \\ c" ex:g2 .
ex:log ex:version "v2" ex:g1 .
ex:log ex:version "v2" ex:g2 .
""",
        {"r.csv": 'text\n"a ""b"" \\ c"\n'},
    ),
    MappingCase(
        "texts that are null by the source, and a base for relative IRIs",
        new("""
<http://example.com/T> rml:baseIRI ex: ;
  rml:logicalSource [ rml:source [ a rml:FilePath; rml:root rml:MappingDirectory; rml:path "r.csv"; rml:null "NULL" ];
                      rml:referenceFormulation rml:CSV ];
  rml:subjectMap [ rml:reference "id" ];
  rml:predicateObjectMap [ rml:predicate ex:p; rml:objectMap [ rml:reference "v" ] ] .
"""),
        """
ex:a ex:p "1" .
<http://example.org/b> ex:p "2" .
""",
        {"r.csv": "id,v\na,1\nhttp://example.org/b,2\nc,NULL\nNULL,4\n"},
        unlike_morph="morph-kgc knows neither",
    ),
    MappingCase(
        "a dialect of CSVW that says what is so anyway, and a text that is null",
        rml("""
@prefix csvw: <http://www.w3.org/ns/csvw#> .
<#T> rml:logicalSource [ rml:referenceFormulation ql:CSV; rml:source [ a csvw:Table; csvw:url "r.csv"; csvw:null "-";
    csvw:dialect [ csvw:delimiter ";"; csvw:quoteChar "\\""; csvw:header true; csvw:encoding "UTF-8" ] ] ];
  rr:subjectMap [ rr:template "http://example.com/{id}" ];
  rr:predicateObjectMap [ rr:predicate ex:p; rr:objectMap [ rml:reference "v" ] ] .
"""),
        """
ex:a ex:p "1;2" .
""",
        {"r.csv": 'id;v\na;"1;2"\nb;-\n'},
        unlike_morph="morph-kgc knows no dialects",
    ),
    MappingCase(
        "a join whose parents are JSON",
        rml("""
<#Readings> rml:logicalSource [ rml:source "r.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.com/r/{id}" ];
  rr:predicateObjectMap [ rr:predicate ex:by; rr:objectMap [ rr:parentTriplesMap <#Sensors>;
    rr:joinCondition [ rr:child "sensor"; rr:parent "nr" ] ] ] .
<#Sensors> rml:logicalSource [ rml:source "s.json"; rml:referenceFormulation ql:JSONPath; rml:iterator "$.all[*]" ];
  rr:subjectMap [ rr:template "http://example.com/s/{name}" ] .
"""),
        """
ex:r/1 ex:by ex:s/n .
""",
        {
            "r.csv": "id,sensor\n1,7\n2,9\n",
            "s.json": '{"all": [{"nr": 7, "name": "n"}, {"nr": 8, "name": "m"}]}',
        },
    ),
]

R2RML_CASES = [
    MappingCase(
        "the natural mapping of SQL values (R2RML 10.2)",
        rml("""
<#All> rr:logicalTable [ rr:tableName "things" ];
  rr:subjectMap [ rr:template "http://example.com/t/{id}" ];
  rr:predicateObjectMap [ rr:predicate ex:i; rr:objectMap [ rr:column "i" ] ];
  rr:predicateObjectMap [ rr:predicate ex:d; rr:objectMap [ rr:column "d" ] ];
  rr:predicateObjectMap [ rr:predicate ex:n; rr:objectMap [ rr:column "n" ] ];
  rr:predicateObjectMap [ rr:predicate ex:b; rr:objectMap [ rr:column "b" ] ];
  rr:predicateObjectMap [ rr:predicate ex:t; rr:objectMap [ rr:column "t" ] ];
  rr:predicateObjectMap [ rr:predicate ex:at; rr:objectMap [ rr:column "at" ] ];
  rr:predicateObjectMap [ rr:predicate ex:day; rr:objectMap [ rr:column "day" ] ];
  rr:predicateObjectMap [ rr:predicate ex:text; rr:objectMap [ rr:column "i"; rr:datatype xsd:string ] ] .
"""),
        """
ex:t/1 ex:i "7"^^xsd:integer .
ex:t/1 ex:d "3.0E1"^^xsd:double .
ex:t/1 ex:n "80.25"^^xsd:decimal .
ex:t/1 ex:b "true"^^xsd:boolean .
ex:t/1 ex:t "seven" .
ex:t/1 ex:at "2026-01-02T03:04:05.25"^^xsd:dateTime .
ex:t/1 ex:day "2026-01-02"^^xsd:date .
ex:t/1 ex:text "7" .
""",
        tables={
            "things": pa.table(
                {
                    "id": pa.array([1, 2], pa.int32()),
                    "i": pa.array([7, None], pa.int64()),
                    "d": pa.array([30.0, None], pa.float64()),
                    "n": pa.array([Decimal("80.250"), None], pa.decimal128(8, 3)),
                    "b": pa.array([True, None]),
                    "t": pa.array(["seven", None]),
                    "at": pa.array(
                        [datetime(2026, 1, 2, 3, 4, 5, 250_000), None], pa.timestamp("us")
                    ),
                    "day": pa.array([date(2026, 1, 2), None]),
                }
            )
        },
        unlike_morph="SQLite has none of the types",
    ),
    MappingCase(
        "a join of a table with itself, and names as SQL delimits them",
        rml(r"""
<#People> rr:logicalTable [ rr:tableName "people" ];
  rr:subjectMap [ rr:template "http://example.com/p/{id}"; rr:class ex:Person ];
  rr:predicateObjectMap [ rr:predicate ex:name; rr:objectMap [ rr:column "full name" ] ];
  rr:predicateObjectMap [ rr:predicate ex:boss; rr:objectMap [ rr:parentTriplesMap <#People>;
    rr:joinCondition [ rr:child "boss"; rr:parent "id" ] ] ] .
"""),
        """
ex:p/1 a ex:Person .
ex:p/1 ex:name "Ann" .
ex:p/2 a ex:Person .
ex:p/2 ex:name "Bob" .
ex:p/2 ex:boss ex:p/1 .
""",
        tables={
            "people": pa.table(
                {
                    "id": pa.array([1, 2], pa.int64()),
                    "full name": ["Ann", "Bob"],
                    "boss": pa.array([None, 1], pa.int64()),
                }
            )
        },
    ),
]

CASES = RML_CASES + MORE_RML_CASES + R2RML_CASES
