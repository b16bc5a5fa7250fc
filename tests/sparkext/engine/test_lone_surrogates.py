"""A lone surrogate, which no text in UTF-8 holds: set aside or refused with its place, at every door."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.command_line.replay import report_lines
from sparkext.errors import EvaluationError, FunctionError, QuerySyntaxError
from sparkext.recorded_streams import StreamElement, read_recorded_stream
from static_data.errors import ArgumentError, MalformedRdfError
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple
from tests.sparkext.listening import E, S, listen, query, triple
from tests.sparkext.recorded_streams.whole_replay import replay_files

if TYPE_CHECKING:
    from sparkext import Engine

HALF, OTHER_HALF, WHOLE = "\ud83d", "\ude00", "\U0001f600"


@pytest.mark.parametrize(
    "term",
    [
        f'"{HALF}"',
        f'"{OTHER_HALF}"',
        f'"{HALF}{OTHER_HALF}"',  # in Python still two characters, each of which no UTF-8 holds
        f'"a"^^<{E}{HALF}>',
        f"{E}{HALF}",
        f"<{E}{HALF}>",
        r'"\ud83d"',
        r'"\uD83D\uDE00"',
        r'"\U0000D83D"',
        rf"<{E}\uD83D>",
        Literal(HALF),
        Literal("a", Iri(f"{E}{HALF}")),
        Iri(f"{E}{HALF}"),
        BlankNode(HALF),
        QuotedTriple(Iri(f"{E}a"), Iri(f"{E}p"), Literal(HALF)),
    ],
    ids=ascii,
)
def test_a_pushed_term_costs_its_element(engine: Engine, term: object) -> None:
    stream = engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x ?y ?z }"))
    assert stream.push((f"{E}a", f"{E}p", term), time=1).malformed == 1  # type: ignore[arg-type]
    assert stream.push((f"{E}a", f"{E}p", f'"{WHOLE}"'), time=2).accepted == 1
    (reason,) = stream.set_aside
    assert reason.startswith("element at 1 ms")
    assert "column " in reason
    engine.finish()
    assert [row["z"] for answers in heard for row in answers] == [f'"{WHOLE}"']


def test_elements_of_a_batch_cost_themselves_only(engine: Engine) -> None:
    stream = engine.register_stream(S)
    sound = triple("a", "p", "o")
    broken = sound.replace("a", HALF, 1)
    elements = [
        StreamElement(1, None, (broken,)),
        StreamElement(1, f"<{E}{HALF}>", (sound,)),
        StreamElement(1, f"<{E}g>", (sound,), broken),
        StreamElement(1, f"<{E}g>", (sound,), None, (broken,)),
        StreamElement(1, f"<{E}g>", (sound,)),
    ]
    report = stream.push_elements(elements)
    assert (report.accepted, report.malformed) == (1, 4)


@pytest.mark.parametrize("name", ["s.nq", "s.trig"])
@pytest.mark.parametrize("literal", [rb'"\ud83d"', rb'"\U0000de00"', b'"\xed\xa0\xbd"', b'"\xff"'])
def test_a_recorded_element_is_set_aside_with_its_line(
    engine: Engine, tmp_path: Path, name: str, literal: bytes
) -> None:
    file = tmp_path / name
    at = b"<http://www.w3.org/ns/prov#generatedAtTime>"
    lines = []
    for number, text in enumerate((b'"a"', literal, b'"b"')):
        graph = b"<http://e/g%d>" % number
        lines.append(b'%s %s "%d"^^<http://www.w3.org/2001/XMLSchema#long> .' % (graph, at, number))
        quad = b"<http://e/s> <http://e/p> " + text
        lines.append(
            b"%s %s ." % (quad, graph) if name.endswith("nq") else b"%s { %s }" % (graph, quad)
        )
    file.write_bytes(b"\n".join(lines) + b"\n")
    recording = read_recorded_stream(file)
    (reason,) = map(str, recording.set_aside)
    assert reason.startswith(f"{file}:4: <{E}g1>: ")
    engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :p ?z }", "[NOW]"))
    found = replay_files(engine, {S: [file]})
    (again,) = map(str, found[S].set_aside)
    assert again.startswith(f"{file}:4: <{E}g1>: ")
    assert [row["z"] for answers in heard for row in answers] == ['"a"', '"b"']
    assert report_lines(engine, found)[0] == f"stream <{S}>: 1 malformed, set aside:"


def test_a_query_is_refused_with_line_and_column(engine: Engine) -> None:
    engine.register_stream(S)
    texts = {
        f"SELECT * {{\n ?s ?p '{HALF}' }}": (2, 9),
        f"PREFIX {HALF}: <{E}> ASK {{}}": (1, 8),
        f"PREFIX : <{E}{HALF}> ASK {{}}": (1, len(f"PREFIX : <{E}") + 1),
        f"ASK {{ ?{HALF} ?p ?o }}": (1, 8),
        f"ASK {{}} # {HALF}": (1, 10),
    }
    for text, place in texts.items():
        for door in (engine.select, engine.register_query):
            with pytest.raises(QuerySyntaxError, match="a lone surrogate") as raised:
                door(text)
            assert (raised.value.line, raised.value.column) == place
    for escaped in (r"'\uD83D'", r"'\U0000DE00'", rf"<{E}\uD83D>"):
        with pytest.raises(QuerySyntaxError) as raised:
            engine.select(f"ASK {{ ?s ?p {escaped} }}")
        assert raised.value.line == 1


def test_names_are_refused(engine: Engine, tmp_path: Path) -> None:
    broken = f"{E}{HALF}"
    stream = engine.register_stream(S)
    text = query("WINDOW :w { ?x :p ?z }")
    for name, refused in {
        "iri": lambda: engine.register_stream(broken),
        "name": lambda: engine.register_query(text, name=broken),
        "graph": lambda: stream.push(triple("a", "p", "o"), time=1, graph=broken),
        "files": lambda: engine.load_static(tmp_path / f"{HALF}.nt"),
        "path": lambda: engine.save_static(tmp_path / HALF),
        "work_dir": lambda: type(engine)(engine.spark, work_dir=HALF),
        "time_column": lambda: engine.live_view("v", "a STRING", HALF, 5),
        "query": lambda: engine.prepare(f"SELECT '{HALF}'"),
    }.items():
        with pytest.raises(ArgumentError, match=rf"^{name}.* a lone surrogate") as raised:
            refused()
        assert raised.value.argument.startswith(name)


def test_static_triples_are_refused_with_their_place(engine: Engine) -> None:
    import rdflib

    broken = f'{triple("a", "p", "o")}\n<{E}a> <{E}p> "{HALF}" .'
    triples = [(f"{E}a", f"{E}p", 1), (f"{E}a", f"{E}p", Literal(HALF))]
    graph = rdflib.Graph()
    graph.add((rdflib.URIRef(f"{E}a"), rdflib.URIRef(f"{E}p"), rdflib.Literal(HALF)))
    for given in (broken, triples, graph):
        for change in (engine.insert, engine.remove, lambda t: engine.replace_graph(None, t)):
            with pytest.raises(MalformedRdfError, match="a lone surrogate") as raised:
                change(given)
            assert raised.value.line is not None and raised.value.column is not None
    with pytest.raises(MalformedRdfError, match="a lone surrogate"):
        engine.load_static(graph)
    with pytest.raises(MalformedRdfError):
        engine.insert(rf'<{E}a> <{E}p> "\ud83d" .')
    assert not engine.select("ASK { ?s ?p ?o }").answer().boolean


def test_a_function_that_gives_one_fails_its_evaluation(engine: Engine) -> None:
    stream = engine.register_stream(S)
    with pytest.raises(FunctionError, match="iri"):
        engine.register_function(f"{E}{HALF}", len)
    engine.register_function(f"{E}broken", lambda value: HALF)
    engine.register_function(f"{E}broken-too", lambda value: Literal(HALF))
    for name in ("broken", "broken-too"):
        heard = listen(
            engine, query(f"WINDOW :w {{ ?x :p ?z }} BIND(<{E}{name}>(?z) AS ?v)", "[NOW]")
        )
        time = 1 if name == "broken" else 10
        stream.push(triple("a", "p", "o"), time=time)
        with pytest.raises(EvaluationError, match="a lone surrogate"):
            stream.advance_to(time + 1)
        assert heard == []
        engine.queries[f"{E}q"].stop()
