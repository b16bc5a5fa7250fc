"""Queries reach no file and no network, and nothing that is read as data is code."""

from __future__ import annotations

import ast
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkext.engine import Engine
from sparkext.errors import CqelsError, UnsupportedFeatureError
from static_data.errors import MalformedRdfError, StaticDataError

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """The IRI of a server of this test, and the paths that somebody asked it for."""
    paths: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(404)
            self.end_headers()

        do_POST = do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/", paths
    server.shutdown()
    server.server_close()


def test_queries_fetch_nothing(
    engine: Engine, tmp_path: Path, asked: tuple[str, list[str]]
) -> None:
    iri, paths = asked
    secret = tmp_path / "secret.nt"
    secret.write_text("<http://e/secret> <http://e/p> <http://e/o> .\n")
    engine.insert("<http://e/s> <http://e/p> <http://e/o> .")
    for clause in (
        f"FROM <{iri}a>",
        f"FROM NAMED <{iri}b>",
        f"FROM <{secret.as_uri()}>",
        f"FROM NAMED <{secret.as_uri()}>",
    ):
        for pattern in (
            "{ ?s ?p ?o }",
            "{ GRAPH ?g { ?s ?p ?o } }",
            f"{{ GRAPH <{iri}c> {{ ?s ?p ?o }} }}",
        ):
            try:
                rows = engine.select(f"SELECT * {clause} {pattern}").answer().rows()
            except CqelsError as error:
                assert "graph" in str(error)
            else:
                assert not rows
    with pytest.raises(UnsupportedFeatureError, match="SERVICE"):
        engine.select(f"SELECT * {{ SERVICE SILENT <{iri}sparql> {{ ?s ?p ?o }} }}")
    assert paths == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonld", '{"@context": "IRI", "a": 1}'),
        ("b.jsonld", '{"@context": {"@import": "IRI"}, "a": 1}'),
        (
            "c.rdf",
            '<!DOCTYPE r SYSTEM "IRI"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">&x;</rdf:RDF>',
        ),
        (
            "d.rdf",
            '<!DOCTYPE r [<!ENTITY x SYSTEM "IRI">]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">&x;</rdf:RDF>',
        ),
        (
            "e.rdf",
            '<!DOCTYPE r [<!ENTITY % x SYSTEM "IRI"> %x;]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">&y;</rdf:RDF>',
        ),
        ("f.ttl", "<http://e/o> <http://www.w3.org/2002/07/owl#imports> <IRI> ."),
    ],
)
def test_files_fetch_nothing(
    engine: Engine, tmp_path: Path, asked: tuple[str, list[str]], name: str, text: str
) -> None:
    iri, paths = asked
    for target in (f"{iri}x", (tmp_path / "secret.txt").as_uri()):
        (tmp_path / "secret.txt").write_text("secret")
        file = tmp_path / name
        file.write_text(text.replace("IRI", target))
        if name == "f.ttl":
            assert engine.load_static(file, progress=False).statements == 1
        else:
            with pytest.raises((MalformedRdfError, StaticDataError)) as raised:
                engine.load_static(file, progress=False)
            assert "secret text" not in str(raised.value)
    assert paths == []


def test_no_code_comes_from_data() -> None:
    """Nothing of the packages unpickles, evaluates text or loads YAML's objects."""
    found = []
    for package in ("static_data", "adaptive", "sparkext"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    names.append(f"{node.func.id}()")
                if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("yaml."):
                    names.append(ast.unparse(node))
                bad = {
                    "pickle",
                    "cloudpickle",
                    "marshal",
                    "shelve",
                    "dill",
                    "eval()",
                    "exec()",
                    "yaml.load",
                    "yaml.unsafe_load",
                    "yaml.Loader",
                }
                found += [f"{file.relative_to(ROOT)}: {name}" for name in names if name in bad]
    assert not found
