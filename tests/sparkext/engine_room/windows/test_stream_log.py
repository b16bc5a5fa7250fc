"""The log of a stream: blocks of elements, panes, shared windows, and the terms that they hold."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.sparkext.engine_room.live_room import LiveRoom, Row
from tests.sparkext.engine_room.windows.stream_blocks import Element, block, iri

P = iri("p")


@pytest.fixture
def stream(live: LiveRoom, request: pytest.FixtureRequest) -> Any:
    """A stream of its own for each test."""
    return live.room.stream(iri(request.node.name))


def everything(live: LiveRoom, window: Any) -> Any:
    """Subject and object of all that is in a window."""
    return live.room.windowPattern(window, "all", "0,0,0||0,2||set")


def texts(live: LiveRoom, content: Any) -> set[tuple[str, ...]]:
    """The rows of a content as terms."""
    return {tuple(live.text(cell) for cell in row) for row in rows(live, content)}


def rows(live: LiveRoom, content: Any) -> list[Row]:
    return live.rows(content.snapshot().table())


def sighting(time: int, who: str, where: str = "o") -> Element:
    return Element(time, None, [(iri(who), P, iri(where))])


def test_a_malformed_element_is_set_aside_whole_and_the_others_are_taken(
    live: LiveRoom, stream: Any
) -> None:
    content = everything(live, window := stream.window("w"))
    good = block([sighting(1, "a"), sighting(2, "b")]).split("\n")
    bad = [
        "@2 - 3 0",
        f"{iri('half')} {P} {iri('taken')} .",
        f"{iri('half')} {P} no-term .",
        f"{iri('half')} {P} {iri('too')} .",
    ]
    text = "\n".join([*good[:2], *bad, *good[2:], "@3 - 1 0", f"{iri('c')} {P} ."])
    answer = json.loads(stream.append(text))
    assert answer["accepted"] == 2
    count, ((first, column, message), (second, *_)) = answer["rejected"]
    assert (count, first, second) == (2, 2, 3)  # their times
    assert column == len(f"{iri('half')} {P} ") + 1
    assert message
    window.advance(0, 9)
    assert texts(live, content) == {(iri("a"), iri("o")), (iri("b"), iri("o"))}
    # What was read of the element before its error leaves no trace.
    assert live.dictionary.lookup(iri("taken")) == 0
    assert stream.quadCount() == 2


def test_an_element_cut_short_is_set_aside(live: LiveRoom, stream: Any) -> None:
    text = block([sighting(1, "a")]) + f"\n@2 - 2 0\n{iri('b')} {P} {iri('o')} ."
    answer = json.loads(stream.append(text))
    assert answer["accepted"] == 1
    assert [time for time, *_ in answer["rejected"][1]] == [2]
    assert stream.quadCount() == 1


def test_every_malformed_statement_names_its_column(live: LiveRoom, stream: Any) -> None:
    wrong = {
        f"{iri('a')} {P}": 30,
        f"{iri('a')} {P} {iri('o')}": 55,
        f'"literal" {P} {iri("o")} .': 1,
        f'{iri("a")} "literal" {iri("o")} .': 24,
        f'{iri("a")} {P} "open .': 48,
    }
    text = "\n".join(f"@{n} - 1 0\n{line}" for n, line in enumerate(wrong))
    count, rejected = json.loads(stream.append(text))["rejected"]
    assert [time for time, *_ in rejected] == list(range(count)) == list(range(len(wrong)))
    assert all(column >= 1 and message for _, column, message in rejected)
    assert [column for _, column, _ in rejected[2:4]] == [1, len(iri("a")) + 2]


def test_no_elements_and_elements_without_triples(live: LiveRoom, stream: Any) -> None:
    assert json.loads(stream.append(""))["accepted"] == 0
    assert json.loads(stream.append("@5 - 0 0\n@6 - 0 0"))["accepted"] == 2
    assert stream.quadCount() == 0


def test_a_header_that_is_none_names_the_line(stream: Any) -> None:
    with pytest.raises(Exception, match="not an element header: @x - 1 0"):
        stream.append("@x - 1 0\n")


def test_an_interval_is_open_below_and_closed_above(live: LiveRoom, stream: Any) -> None:
    content = everything(live, window := stream.window("w"))
    stream.append(block([sighting(t, f"s{t}") for t in (10, 20, 30)]))
    for open_at, close_at, inside in (
        (0, 9, set()),
        (0, 10, {10}),
        (9, 20, {10, 20}),
        (10, 20, {20}),
        (10, 29, {20}),
        (20, 30, {30}),
        (30, 30, set()),
        (40, 50, set()),
    ):
        window.advance(open_at, close_at)
        assert texts(live, content) == {(iri(f"s{t}"), iri("o")) for t in inside}


def test_a_move_past_everything_takes_nothing_in(live: LiveRoom, stream: Any) -> None:
    content = everything(live, window := stream.window("w"))
    window.advance(0, 5)
    stream.append(block([sighting(7, "a")]))
    window.advance(100, 200)
    assert rows(live, content) == []
    assert content.table().arrivals() == 0


def test_a_window_does_not_move_back(stream: Any) -> None:
    window = stream.window("w")
    window.advance(5, 10)
    for bounds in ((4, 10), (5, 9)):
        with pytest.raises(Exception, match="cannot move back"):
            window.advance(*bounds)
    window.advance(5, 10)


def test_an_element_that_comes_late_enters_the_windows_that_cover_its_time(
    live: LiveRoom, stream: Any
) -> None:
    narrow, wide = stream.window("narrow"), stream.window("wide")
    few, many = everything(live, narrow), everything(live, wide)
    narrow.advance(8, 10)
    wide.advance(0, 10)
    stream.append(block([sighting(10, "on-time"), sighting(5, "late"), sighting(11, "early")]))
    assert texts(live, few) == {(iri("on-time"), iri("o"))}
    assert texts(live, many) == {(iri("on-time"), iri("o")), (iri("late"), iri("o"))}
    narrow.advance(10, 12)
    wide.advance(6, 12)
    assert texts(live, few) == {(iri("early"), iri("o"))}
    assert texts(live, many) == {(iri("on-time"), iri("o")), (iri("early"), iri("o"))}


def test_windows_and_patterns_are_shared(live: LiveRoom, stream: Any) -> None:
    window = stream.window("range 5")
    assert stream.window("range 5").equals(window)
    content = everything(live, window)
    assert everything(live, stream.window("range 5")).equals(content)
    assert not live.room.windowPattern(window, "other", "0,0,0||2,0||set").equals(content)
    assert window.patternCount() == 2
    live.room.dropWindowPattern(window, "0,0,0||2,0||set")
    assert window.patternCount() == 1
    stream.append(block([sighting(1, "a")]))
    window.advance(0, 1)
    assert rows(live, content) == [(live.id(iri("a")), live.id(iri("o")))]


def test_a_pattern_added_to_a_window_finds_what_is_there(live: LiveRoom, stream: Any) -> None:
    window = stream.window("w")
    stream.append(block([sighting(t, f"s{t}") for t in range(1, 6)]))
    window.advance(2, 4)
    content = everything(live, window)
    assert texts(live, content) == {(iri(f"s{t}"), iri("o")) for t in (3, 4)}
    window.advance(3, 5)
    assert texts(live, content) == {(iri(f"s{t}"), iri("o")) for t in (4, 5)}


def test_a_dropped_pattern_can_be_asked_for_again(live: LiveRoom, stream: Any) -> None:
    window = stream.window("w")
    stream.append(block([sighting(1, "a"), sighting(2, "b")]))
    for constants in ("0,0,0", f"0,{live.id(P)},0"):
        live.room.windowPattern(window, "x", f"{constants}||0||set")
    window.advance(0, 1)
    for constants in ("0,0,0", f"0,{live.id(P)},0"):
        live.room.dropWindowPattern(window, f"{constants}||0||set")
    window.advance(0, 2)
    for constants in ("0,0,0", f"0,{live.id(P)},0"):
        again = live.room.windowPattern(window, "x", f"{constants}||0||set")
        assert texts(live, again) == {(iri("a"),), (iri("b"),)}
    window.advance(1, 2)
    assert texts(live, again) == {(iri("b"),)}


def test_panes_go_when_the_last_window_has_left_them(live: LiveRoom, stream: Any) -> None:
    narrow, wide = stream.window("narrow"), stream.window("wide")
    stream.append(block([sighting(t, f"pane{t}") for t in range(1, 11)]))
    assert stream.paneCount() == 10
    narrow.advance(8, 10)
    # A window that has not moved yet may still want everything.
    assert stream.dropExpired(10) == 0
    wide.advance(3, 10)
    assert stream.dropExpired(10) == 3
    assert stream.paneCount() == stream.quadCount() == 7
    assert live.dictionary.lookup(iri("pane3")) == 0
    assert live.dictionary.lookup(iri("pane4")) != 0
    stream.dropWindow("wide")
    assert stream.dropExpired(10) == 5
    stream.dropWindow("narrow")
    assert stream.dropExpired(9) == 1
    assert stream.dropExpired(10) == 1
    assert stream.quadCount() == 0


def test_panes_go_that_lie_in_no_stretch_still_to_be_shown(live: LiveRoom, stream: Any) -> None:
    stretch, sliding = stream.window("stretch"), stream.window("sliding")
    content = everything(live, stretch)
    stream.append(block([sighting(t, f"at{t}") for t in range(1, 21)]))

    def kept() -> list[int]:
        found = [t for t in range(1, 21) if live.dictionary.lookup(iri(f"at{t}")) != 0]
        assert stream.paneCount() == stream.quadCount() == len(found)
        return found

    # Without a word of it, a window may still show everything.
    assert stream.dropExpired(20, "stretch|6|8") == 0
    sliding.advance(10, 12)
    # Both have left what comes before, and only the sliding one shows what comes after.
    assert stream.dropExpired(15, "stretch|6|8\nsliding|11|99\nunknown|0|99") == 6 + 2
    assert kept() == [7, 8, *range(11, 21)]
    stretch.advance(6, 8)
    assert len(rows(live, content)) == 2
    # What a window shows is there until it has moved on, whatever is said.
    assert stream.dropExpired(20, "stretch|9|9\nsliding|18|99") == 6
    assert kept() == [7, 8, 11, 12, 19, 20]
    stretch.advance(8, 8)
    assert rows(live, content) == []
    sliding.advance(18, 20)
    assert stream.dropExpired(20, "stretch|9|9\nsliding|19|99") == 4
    assert kept() == [19, 20]
    assert stream.dropExpired(20, "stretch|9|9\nsliding|19|99") == 0


def test_idle_windows_are_moved_together(live: LiveRoom, stream: Any) -> None:
    first, second = stream.window("first"), stream.window("second")
    contents = [everything(live, window) for window in (first, second)]
    stream.append(block([sighting(t, f"s{t}") for t in range(1, 11)]))
    first.advance(5, 9)
    # The first has moved on by itself meanwhile: it is left alone.
    stream.settle("first|2|8\nsecond|2|8\nunknown|1|2\n")
    assert [(w.open(), w.close()) for w in (first, second)] == [(5, 9), (2, 8)]
    assert [len(rows(live, content)) for content in contents] == [4, 6]
    assert stream.dropExpired(10) == 2


def test_the_terms_of_a_stream_leave_with_its_panes(live: LiveRoom, stream: Any) -> None:
    before = live.dictionary.streamSize()
    window = stream.window("w")
    everything(live, window)
    graph = iri("leaving-graph")
    quoted = f"<< {iri('leaving-s')} {iri('leaving-p')} {iri('leaving-o')} >>"
    triples = [
        (iri("leaving-a"), iri("leaving-p"), '"text"'),
        (quoted, iri("leaving-q"), "_:b"),
        (iri("leaving-a"), iri("leaving-p"), '"text"'),
    ]
    times = [(graph, iri("leaving-time"), '"5"^^<http://www.w3.org/2001/XMLSchema#integer>')]
    assert '"accepted":1' in stream.append(block([Element(5, graph, triples, times)]))
    window.advance(0, 5)
    window.advance(5, 5)
    assert live.dictionary.streamSize() > before
    assert live.text(live.dictionary.lookup(quoted)) == quoted
    assert stream.dropExpired(5) == 1
    assert live.dictionary.streamSize() == before


def test_streams_keep_nothing_of_the_size_of_panes_that_have_gone(live: LiveRoom) -> None:
    before = live.dictionary.streamSize()
    heap = []
    for number in range(8):
        stream = live.room.stream(iri(f"large/{number}"))
        # No pattern: its table keeps the room of what has left at once, for the next batch.
        window = stream.window("w")
        # Three ids each: the pane's are given back in several parts.
        stream.append(block([sighting(1, f"large/{i}", f"large/o{i}") for i in range(30_000)]))
        window.advance(0, 1)
        assert stream.quadCount() == 30_000
        window.advance(1, 1)
        assert stream.dropExpired(1) == 1
        assert live.dictionary.streamSize() == before
        heap.append(live.live_bytes())
    # A copy of the ids takes 8 * 2 ** 17 bytes a stream.
    assert heap[-1] < heap[0] + 7 * 8 * 2**16


def test_a_term_stays_while_any_pane_holds_it(live: LiveRoom, stream: Any) -> None:
    window = stream.window("w")
    stream.append(block([sighting(1, "shared"), sighting(2, "shared"), sighting(2, "other")]))
    window.advance(1, 2)
    stream.dropExpired(2)
    assert live.dictionary.lookup(iri("shared")) != 0
    window.advance(2, 2)
    stream.dropExpired(2)
    assert live.dictionary.lookup(iri("shared")) == 0


def test_a_graph_column_names_the_element_and_its_times_are_in_none(
    live: LiveRoom, stream: Any
) -> None:
    window = stream.window("w")
    content = live.room.windowPattern(window, "g", "0,0,0||3,0||set")
    graph, at = iri("g1"), iri("at")
    element = Element(1, graph, [(iri("s"), P, iri("o"))], [(graph, at, iri("now"))])
    stream.append(block([element]))
    window.advance(0, 1)
    assert rows(live, content) == sorted([(live.id(graph), live.id(iri("s"))), (0, live.id(graph))])


def test_blank_nodes_belong_to_their_element(live: LiveRoom, stream: Any) -> None:
    window = stream.window("w")
    content = live.room.windowPattern(window, "g", "0,0,0||3,0||set")
    # The graph's name and the subject of its time are one node, in each element another.
    triples, times = [("_:x", P, "_:g")], [("_:g", iri("at"), iri("now"))]
    stream.append(block([Element(1, "_:g", triples, times), Element(1, "_:g", triples, times)]))
    window.advance(0, 1)
    found = rows(live, content)
    named = {graph for graph, _ in found if graph}
    assert len(found) == 4
    assert len(named) == 2
    assert {subject for graph, subject in found if not graph} == named


def test_a_pattern_without_columns_tells_whether_there_is_a_match(
    live: LiveRoom, stream: Any
) -> None:
    window = stream.window("w")
    constants = f"{live.id(iri('a'))},{live.id(P)},{live.id(iri('o'))}"
    content = live.room.windowPattern(window, "a p o", f"{constants}||||set")
    plan = live.prepare(live.frame(content))
    stream.append(block([sighting(1, "a"), sighting(2, "b"), sighting(3, "a")]))
    for bounds, matches in (((0, 1), 1), ((0, 3), 1), ((1, 2), 0), ((2, 3), 1), ((3, 3), 0)):
        if bounds[0] < window.open() or bounds[1] < window.close():
            continue
        window.advance(*bounds)
        assert live.on_driver(plan) == live.as_job(plan) == [()] * matches


def ever_new_terms(live: LiveRoom, stream: Any, total: int, batch: int) -> None:
    """Feed `total` new IRIs through a window of two batches and watch what is kept of them."""
    window = stream.window("w")
    content = everything(live, window)
    terms, heap = [], []
    count = total // batch
    for n in range(1, count + 1):
        # One element a batch: its triples share a time.
        triples = [(f"<http://example.org/new/{n}/{i}>", P, iri("o")) for i in range(batch)]
        assert '"accepted":1' in stream.append(block([Element(n, None, triples)]))
        window.advance(n - 2, n)
        stream.dropExpired(n)
        assert content.rowCount() == batch * min(n, 2)
        if n % max(1, count // 10) == 0:
            terms.append(live.dictionary.memoryBytes())
            heap.append(live.live_bytes())
        assert live.dictionary.streamSize() < 3 * batch
    assert max(terms[1:]) <= 1.1 * terms[1]
    # A tenth of the terms, kept, would be more than that; Spark's own listeners hold something for a while.
    end = time.monotonic() + 60
    while heap[-1] >= (most := heap[1] + 10 * total // 8) and time.monotonic() < end:
        time.sleep(0.2)
        heap[-1] = live.live_bytes()
    assert heap[-1] < most


def test_ever_new_terms_leave_memory_flat(live: LiveRoom, stream: Any) -> None:
    ever_new_terms(live, stream, total=200_000, batch=5_000)


@pytest.mark.soak
def test_ten_million_new_terms_leave_memory_flat(live: LiveRoom, stream: Any) -> None:
    ever_new_terms(live, stream, total=10_000_000, batch=20_000)


@pytest.mark.parametrize("slices", [1, 2, 7])
def test_rows_with_their_times_are_scanned_as_they_are_copied(
    live: LiveRoom, stream: Any, slices: int
) -> None:
    window = stream.window("w")
    content = live.room.timedPattern(window, "timed", "0,0,0||0,2||set")
    stream.append(block([sighting(time, f"p{time % 11}") for time in range(1, 40)]))
    window.advance(0, 25)
    window.advance(15, 39)  # some have left, some came again
    scanned = []
    for number in range(slices):
        part = content.scan(number, slices)
        while part.hasNext():
            row = part.next()
            scanned.append(tuple(row.getLong(place) for place in range(3)))
    assert sorted(scanned) == rows(live, content)
    assert {(time - 1) // 2 for *_, time in scanned} == set(range(29, 40))
