"""Files of all formats as canonical N-Quads-star lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from static_data.errors import MalformedRdfError, MissingFileError
from static_data.files.on_error import OnError
from static_data.files.rdf_formats import RdfFormat
from static_data.files.rdf_reader import read_lines
from static_data.files.rdf_version import RdfVersion
from tests.static_data.rdf_samples import EX, PLAIN, oracle_quads, serialised, write_as
from tests.static_data.test_skipping import NS, read

PREFIX = f"@prefix : <{EX}> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def lines(folder: Path, name: str, content: str | bytes) -> list[str]:
    data = content.encode() if isinstance(content, str) else content
    return [
        line.replace(f"<{EX}", "<").replace(f"<{RDF}", "<rdf:")
        for line in read_lines(write_as(folder, name, data))
    ]


@pytest.mark.parametrize("packing", ["", ".gz", ".bz2"])
@pytest.mark.parametrize(
    ("extension", "format"),
    [
        ("ttl", ox.RdfFormat.TURTLE),
        ("trig", ox.RdfFormat.TRIG),
        ("rdf", ox.RdfFormat.RDF_XML),
        ("jsonld", ox.RdfFormat.JSON_LD),
    ],
)
def test_lines_are_canonical_and_complete(
    tmp_path: Path, extension: str, format: ox.RdfFormat, packing: str
) -> None:
    path = write_as(tmp_path, f"a.{extension}{packing}", serialised(PLAIN, format))
    expected = {
        f"{s} {p} {o} ." for s, p, o, _ in oracle_quads(PLAIN.encode(), ox.RdfFormat.N_TRIPLES)
    }
    assert Counter(read_lines(path)) == Counter(expected)


def test_lines_of_line_based_files_pass_through(tmp_path: Path) -> None:
    text = "# note\n<http://e/a> <http://e/p> << <http://e/a> <http://e/p> 1 >> .\r\n\nrubbish"
    assert lines(tmp_path, "a.nq", text) == [
        "# note",
        "<http://e/a> <http://e/p> << <http://e/a> <http://e/p> 1 >> .",
        "",
        "rubbish",
    ]


def test_named_graphs_of_trig(tmp_path: Path) -> None:
    assert lines(tmp_path, "a.trig", PREFIX + ":a :p :b . :g { :a :p :c } _:n { :a :p :d }") == [
        "<a> <p> <b> .",
        "<a> <p> <c> <g> .",
        "<a> <p> <d> _:n .",
    ]


def test_relative_iris_resolve_against_the_file(tmp_path: Path) -> None:
    [line] = lines(tmp_path, "a b.ttl", "<> <http://e/p> <#x> .")
    base = (tmp_path / "a b.ttl").as_uri()
    assert line == f"<{base}> <http://e/p> <{base}#x> ."
    assert list(read_lines(tmp_path / "a b.ttl", base_iri="http://e/doc")) == [
        "<http://e/doc> <http://e/p> <http://e/doc#x> ."
    ]


@pytest.mark.parametrize(
    ("turtle", "expected"),
    [
        (
            "<< :s :p :o >> :q 1 .",
            [f'<< <s> <p> <o> >> <q> "1"^^<{ox.Literal(1).datatype.value}> .'],
        ),
        (":a :b << :s :p :o >> .", ["<a> <b> << <s> <p> <o> >> ."]),
        (":a :b << :s :p :o >>, :c .", ["<a> <b> << <s> <p> <o> >> .", "<a> <b> <c> ."]),
        (":a :b <<( :s :p :o )>> .", ["<a> <b> << <s> <p> <o> >> ."]),
        (
            "<< << :a :b :c >> :d << :e :f :g >> >> :h :i .",
            ["<< << <a> <b> <c> >> <d> << <e> <f> <g> >> >> <h> <i> ."],
        ),
        (
            ":s :p :o {| :q :z ; :r << :x :y :w >> |} .",
            [
                "<s> <p> <o> .",
                "<< <s> <p> <o> >> <q> <z> .",
                "<< <s> <p> <o> >> <r> << <x> <y> <w> >> .",
            ],
        ),
        (
            ":a :b << :s :p :o >> {| :q :z |} .",
            [
                "<a> <b> << <s> <p> <o> >> .",
                "<< <a> <b> << <s> <p> <o> >> >> <q> <z> .",
            ],
        ),
        (
            ":s :p :o {| :q :z {| :r :w |} |} .",
            [
                "<s> <p> <o> .",
                "<< <s> <p> <o> >> <q> <z> .",
                "<< << <s> <p> <o> >> <q> <z> >> <r> <w> .",
            ],
        ),
        (
            "<< :s :p :o ~ :r >> :q :z .",
            ["<r> <rdf:reifies> << <s> <p> <o> >> .", "<r> <q> <z> ."],
        ),
        (
            ":s :p :o ~ :r {| :q :z |} .",
            ["<s> <p> <o> .", "<r> <rdf:reifies> << <s> <p> <o> >> .", "<r> <q> <z> ."],
        ),
        (
            "<< :s :p :o ~ _:r >> :q :z .",
            ["_:r <rdf:reifies> << <s> <p> <o> >> .", "_:r <q> <z> ."],
        ),
        (
            ":r rdf:reifies <<( :s :p <<( :x :y :z )>> )>> . << :s :p :o >> :q :z .",
            ["<r> <rdf:reifies> << <s> <p> << <x> <y> <z> >> >> .", "<< <s> <p> <o> >> <q> <z> ."],
        ),
        (
            # A label that looks like those the parser makes up, but somebody wrote it.
            "_:abcdef0123456789abcdef0123456789 rdf:reifies <<( :s :p :o )>> ; :q :z .",
            ["_:anon-0 <rdf:reifies> << <s> <p> <o> >> .", "_:anon-0 <q> <z> ."],
        ),
        (
            "[ :k << :s :p :o >> ] :q ( << :a :b :c >> :d ) .",
            [
                "_:anon-0 <k> << <s> <p> <o> >> .",
                "_:anon-1 <rdf:first> << <a> <b> <c> >> .",
                "_:anon-0 <q> _:anon-1 .",
                "_:anon-2 <rdf:first> <d> .",
                "_:anon-1 <rdf:rest> _:anon-2 .",
                "_:anon-2 <rdf:rest> <rdf:nil> .",
            ],
        ),
        ("_:anon-0 :p [] .", ["_:anon-x0 <p> _:anon-0 ."]),
    ],
)
def test_star_forms_of_turtle(tmp_path: Path, turtle: str, expected: list[str]) -> None:
    found = lines(tmp_path, "a.ttl", PREFIX + turtle)
    if "(" in turtle and "[" in turtle:
        # Which statement of a list comes first is the parser's affair, and so are the numbers.
        assert sorted(line.count("anon") for line in found) == sorted(
            line.count("anon") for line in expected
        )
        assert "_:anon-0 <k> << <s> <p> <o> >> ." in found
        assert any(line.endswith("<rdf:first> << <a> <b> <c> >> .") for line in found)
    else:
        assert Counter(found) == Counter(expected)


def test_star_forms_in_a_named_graph(tmp_path: Path) -> None:
    found = lines(tmp_path, "a.trig", PREFIX + ":g { << :s :p :o >> :q :z . :a :b << :c :d :e >> }")
    assert found == ["<< <s> <p> <o> >> <q> <z> <g> .", "<a> <b> << <c> <d> <e> >> <g> ."]


names = st.sampled_from([":a", ":b", ":c", '"lit"', "_:x"])


def quoted_terms() -> st.SearchStrategy[str]:
    subject = names.filter(lambda n: n != '"lit"')
    return st.recursive(
        st.tuples(subject, names).map(lambda so: f"<< {so[0]} :p {so[1]} >>"),
        lambda inner: st.one_of(
            st.tuples(inner, names).map(lambda so: f"<< {so[0]} :p {so[1]} >>"),
            st.tuples(subject, inner).map(lambda so: f"<< {so[0]} :p {so[1]} >>"),
            st.tuples(inner, inner).map(lambda so: f"<< {so[0]} :p {so[1]} >>"),
        ),
        max_leaves=4,
    )


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.tuples(quoted_terms() | names, quoted_terms() | names), min_size=1, max_size=5))
def test_nested_quoted_triples_come_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, statements: list[tuple[str, str]]
) -> None:
    written = [(s, o) for s, o in statements if s != '"lit"']
    folder = tmp_path_factory.mktemp("star")
    text = "".join(f"{s} :q {o} .\n" for s, o in written)
    found = list(read_lines(write_as(folder, "a.ttl", (PREFIX + text).encode())))
    for name in "abcpq":
        text = text.replace(f":{name} ", f"<{EX}{name}> ")
    assert found == text.splitlines()


def test_blank_nodes_have_the_same_labels_each_time(tmp_path: Path) -> None:
    path = write_as(
        tmp_path, "a.ttl", (PREFIX + ":a :p [ :q [] ], [] . _:x :p ( 1 [] ) .").encode()
    )
    first = list(read_lines(path))
    assert first == list(read_lines(path))
    assert len({word for line in first for word in line.split() if word.startswith("_:")}) == 7


@pytest.mark.parametrize(
    ("name", "content", "line", "column"),
    [
        ("a.ttl", "<http://e/a> <http://e/p> 1 .\n<http://e/a> <http://e/p>  c .", 2, 28),
        ("a.ttl.gz", ":a :b :c .", 1, 1),
        ("a.trig", "<http://e/g> { <http://e/a> <http://e/p> }", 1, 42),
        ("a.jsonld", '{"@id": "http://e/a",\n "http://e/p": [1,,]}', 2, 19),
        (
            "a.rdf",
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>\n<a",
            2,
            1,
        ),
    ],
)
def test_syntax_errors_name_the_place(
    tmp_path: Path, name: str, content: str, line: int | None, column: int | None
) -> None:
    path = write_as(tmp_path, name, content.encode())
    with pytest.raises(MalformedRdfError) as caught:
        list(read_lines(path))
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(str(path))
    assert caught.value.message
    assert "Parser error" not in caught.value.message


@pytest.mark.parametrize("comment", ["", " # reifies nothing"])
def test_a_quoted_triple_that_nothing_is_said_of_is_no_statement(
    tmp_path: Path, comment: str
) -> None:
    text = PREFIX + f":s :p :o .{comment}\n<< :s :p :o >> .\n:s :p << :s :p << :a :b :c >> >> ."
    with pytest.raises(
        MalformedRdfError, match="a quoted triple that nothing is said of"
    ) as caught:
        lines(tmp_path, "a.ttl", text)
    assert (caught.value.line, caught.value.column) == (3, 1)
    assert list(read_lines(tmp_path / "a.ttl", version=RdfVersion.RDF_1_2))


@pytest.mark.parametrize("name", ["a.ttl.gz", "a.nt.bz2", "a.jsonld.bz2"])
def test_broken_compression_names_the_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"this is not packed")
    with pytest.raises(MalformedRdfError, match=r"broken \.(gz|bz2) file") as caught:
        list(read_lines(path))
    assert caught.value.file == str(path)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such file"):
        next(read_lines(tmp_path / "a.nt"))
    with pytest.raises(MissingFileError, match="folder"):
        (tmp_path / "b.nt").mkdir()
        next(read_lines(tmp_path / "b.nt"))


def test_remote_contexts_are_refused_in_words(tmp_path: Path) -> None:
    path = write_as(tmp_path, "a.json", b'{"@context": "http://example.org/c", "a": 1}')
    with pytest.raises(MalformedRdfError, match="context"):
        list(read_lines(path))


# ---- XML -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_error", list(OnError))
@pytest.mark.parametrize("before", ["", "<!DOCTYPE rdf:RDF []>"])
def test_white_space_is_read_as_xml_says(before: str, on_error: OnError) -> None:
    text = (
        f'{before}<rdf:RDF {NS}>\r\n<rdf:Description rdf:about="http://e/s" e:q="a\r\nb\tc&#10;d">'
        "<e:p>one\r\ntwo\rthree&#13;</e:p></rdf:Description></rdf:RDF>"
    )
    assert set(read(text, RdfFormat.RDF_XML, on_error)[0]) == {
        '<http://e/s> <http://e/q> "a b c\\nd" .',
        '<http://e/s> <http://e/p> "one\\ntwo\\nthree\\r" .',
    }


@pytest.mark.parametrize("offset", [5, 30, 60])
def test_an_attribute_at_the_end_of_what_is_read_at_once(offset: int) -> None:
    begin = f'<rdf:RDF {NS}><rdf:Description rdf:about="http://e/s"><e:p>'
    rest = f"</e:p><e:o rdf:resource=\"http://e/o\"/><e:q><e:A e:r='{'x' * 40}\n{'y' * 40}'/></e:q>"
    filler = "z" * ((1 << 16) - len(begin) - rest.index("x") - offset)
    found, _ = read(
        f"{begin}{filler}{rest}</rdf:Description></rdf:RDF>", RdfFormat.RDF_XML, OnError.FAIL
    )
    assert sum(f'"{"x" * 40} {"y" * 40}"' in line for line in found) == 1


@pytest.mark.parametrize("on_error", list(OnError))
def test_comments_within_a_text(on_error: OnError) -> None:
    text = f"<rdf:RDF {NS}><e:A><e:p>a<!-- c -->b<?d e?></e:p></e:A></rdf:RDF>"
    assert sum('"ab"' in line for line in read(text, RdfFormat.RDF_XML, on_error)[0]) == 1


def test_comments_within_a_literal_of_xml() -> None:
    text = (
        f'<rdf:RDF {NS}><e:A><e:p rdf:parseType="Literal">a<!-- c --><e:b/></e:p></e:A></rdf:RDF>'
    )
    found = read(text, RdfFormat.RDF_XML, OnError.FAIL)[0]
    assert read(f"<!DOCTYPE rdf:RDF []>{text}", RdfFormat.RDF_XML, OnError.FAIL)[0] == found


def test_a_prefix_is_again_what_it_was_before_an_element() -> None:
    text = (
        f'<rdf:RDF {NS} xmlns:r="{RDF}"><rdf:Description r:about="http://e/[a]">'
        '<e:p><rdf:Description xmlns:r="http://other/" r:about="b"/></e:p>'
        '<e:q r:resource="http://e/[c]"/></rdf:Description></rdf:RDF>'
    )
    found, skipped = read(text, RdfFormat.RDF_XML)
    assert "<http://e/[a]> <http://e/q> <http://e/[c]> ." in found and not skipped
