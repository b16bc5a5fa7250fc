"""The arguments of `cqels`: wrong usage ends here, with exit status 2."""

from __future__ import annotations

from argparse import (
    ArgumentParser,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from sparkext import __version__
from sparkext.command_line.argument_values import (
    absolute_iri,
    instant,
    lateness,
    named_file,
    named_input,
    perhaps_named,
    port,
    setting,
    source_option,
    static_change,
    time_span,
    way_of_late,
)
from sparkext.serving.arguments import (
    SERVE,
    SERVE_EXAMPLE,
    STATUS,
    add_serve_options,
    add_status_options,
)
from sparkext.serving.options import DEFAULT_PORT

_QUERY_ENDINGS = (".rspql", ".rq", ".sparql")
RESULT_FORMATS = ("json", "csv", "tsv", "xml", "nt", "nq")

_RUN = """\
Replay recorded streams through a continuous query and print its answers: JSON Lines, one object
for each evaluation instant, in time order. Files are replayed in the order of their elements'
times; at the end every window that holds an element closes. With --stream IRI=URL live sources
are read instead, until the command is interrupted."""
_RUN_EXAMPLE = """\
example:
  cqels run q1.rspql --static people.ttl --static-graph http://deri.org/localization/=rooms.ttl \\
                     --stream http://deri.org/locstreams=sightings.trig --out answers.jsonl"""
_EXPLAIN = """\
Show the plan of a continuous query: the order of its joins with estimated rows, and why. When
streams are given, they are replayed, and the plan is shown again with the rows it had."""
_SPARQL = """\
Answer an ordinary SPARQL query over RDF files."""
_CHECK = """\
Say whether the answers to a continuous query are right, and if not, where: the first instants that
are missing, extra or different, with their rows. The query is evaluated independently of the engine,
without Spark. FILE is JSON Lines as `cqels run` writes them, of any engine. Exit status 0: right."""
_CHECK_EXAMPLE = """\
example:
  cqels check q1.rspql --static people.ttl --static-graph http://deri.org/localization/=rooms.ttl \\
                       --stream http://deri.org/locstreams=sightings.trig --answers answers.jsonl"""
_JAR = """\
Print the path of the JVM extension's jar that fits the Spark installed here, for jobs that nothing
else of this package is used in. Where none fits, one is compiled first, in about ten seconds."""
_JAR_EXAMPLE = """\
example:
  spark-submit --jars $(cqels jar) \\
               --conf spark.sql.extensions=org.apache.spark.sql.cqels.CqelsExtensions job.py"""
# Written out: `static_data` would import Spark, which help does not need.
WAYS_ON_ERROR = ("fail", "skip", "accept")
PACKINGS = ("gz", "bz2", "xz", "zst", "zip")
_PACKED = "each also " + " ".join(f".{ending}" for ending in PACKINGS)
_FILES = (
    f"RDF file (.nt .nq .ttl .trig .rdf .jsonld, {_PACKED}; a name without an ending: by content)"
)


def build_parser() -> ArgumentParser:
    """The parser of all commands."""
    parser = ArgumentParser(
        "cqels",
        description="Continuous queries over RDF streams and Linked Data, on Apache Spark.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"cqels {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    run = _command(commands, "run", "replay recorded streams through a query", _RUN, _RUN_EXAMPLE)
    _continuous_inputs(run)
    run.add_argument("--out", metavar="FILE", help="write here, when all is done (not to stdout)")
    run.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="go on where a run with this folder was when it ended or was killed; FILE is added to",
    )
    run.add_argument(
        "--skip-empty", action="store_true", help="leave out instants without an answer"
    )
    _live_arguments(run)
    run.add_argument(
        "--page",
        metavar="PORT",
        type=port,
        nargs="?",
        const=DEFAULT_PORT,
        help=f"a live page of the run at this port of this machine ({DEFAULT_PORT}; 0: any that is free), until Ctrl-C",
    )
    _spark_arguments(run)

    explain = _command(commands, "explain", "show the plan of a query", _EXPLAIN, None)
    _continuous_inputs(explain)
    explain.add_argument("--json", action="store_true", help="plain data instead of text")
    explain.add_argument(
        "--history",
        metavar="PLOT.png",
        help="after the replay, draw each evaluation's time and every change of a join order (matplotlib)",
    )
    _spark_arguments(explain)

    check = _command(commands, "check", "say whether answers are right", _CHECK, _CHECK_EXAMPLE)
    _query_and_data(check)
    check.add_argument(
        "--answers", metavar="FILE", required=True, help="the answers, JSON Lines as of `cqels run`"
    )
    check.add_argument(
        "--skip-empty",
        action="store_true",
        help="instants without an answer may be missing (so they may where the file has none)",
    )
    check.add_argument(
        "--registered-at",
        metavar="MS",
        type=int,
        help="where a profile hides t0: when the query was registered, in milliseconds since the"
        " epoch (without it: long before the first element)",
    )
    check.add_argument(
        "--show", metavar="N", type=int, default=5, help="how many wrong instants to show (5)"
    )
    _settings_argument(check)
    check.add_argument("--debug", action="store_true", help="tracebacks")

    sparql = _command(commands, "sparql", "answer a SPARQL query over files", _SPARQL, None)
    sparql.add_argument("query", metavar="QUERY.rq", nargs="?", help="file with the query")
    _files_argument(sparql, "--data", f"{_FILES} of the default graph")
    _named_files(sparql, "--named", "RDF file of a named graph")
    _reading_arguments(sparql)
    sparql.add_argument(
        "--results", choices=RESULT_FORMATS, help="form of the answers (json; nt for triples)"
    )
    sparql.add_argument("--out", metavar="FILE", help="write here instead of to stdout")
    _spark_arguments(sparql)

    serve = _command(commands, "serve", "serve an engine by HTTP", SERVE, SERVE_EXAMPLE)
    _files_argument(serve, "--static", f"{_FILES} of the default graph")
    _named_files(serve, "--static-graph", "RDF file of a named graph")
    add_serve_options(serve, absolute_iri)
    _spark_arguments(serve)

    status = _command(commands, "status", "say how a running server stands", STATUS, None)
    add_status_options(status)

    jar = _command(commands, "jar", "print the path of the extension's jar", _JAR, _JAR_EXAMPLE)
    jar.add_argument("--debug", action="store_true", help="what is done, and tracebacks")
    return parser


def parse_arguments(argv: Sequence[str]) -> Namespace:
    """Read the arguments; ends with SystemExit(2) and a message when they are wrong."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if arguments.command in (None, "jar", "status"):
        return arguments
    if arguments.command == "serve":
        if arguments.work_dir is None:
            _check_master(parser, arguments)
        return arguments
    files: list[str] = arguments.data if arguments.command == "sparql" else arguments.static
    if arguments.command != "check" and arguments.work_dir is None:
        _check_master(parser, arguments)
    if arguments.query is None:
        # `--static FILE QUERY.rspql` gives the option both: the ending tells which is the query.
        queries = [file for file in files if PurePath(file).suffix.lower() in _QUERY_ENDINGS]
        if len(queries) != 1:
            parser.error(f"{arguments.command}: the query file is missing; put it first")
        arguments.query = queries[0]
        files.remove(queries[0])
    return arguments


def _check_master(parser: ArgumentParser, arguments: Namespace) -> None:
    if not arguments.master.startswith("local"):
        parser.error(
            f"{arguments.command}: --master {arguments.master} needs --work-dir DIR, a folder that all"
            " executors reach"
        )


def _command(
    commands: Any, name: str, summary: str, text: str, example: str | None
) -> ArgumentParser:
    parser: ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=text,
        epilog=example,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return parser


def _query_and_data(parser: ArgumentParser) -> None:
    parser.add_argument(
        "query", metavar="QUERY.rspql", nargs="?", help="file with the query, in RSP-QL"
    )
    _files_argument(parser, "--static", f"{_FILES} of the default graph")
    _named_files(parser, "--static-graph", "RDF file of a named graph")
    parser.add_argument(
        "--static-change",
        metavar="TIME,IRI=FILE",
        type=static_change,
        action="append",
        default=[],
        help="from this event time on (xsd:dateTime, or milliseconds) the named graph consists of the"
        " file's triples; DEFAULT=FILE is the default graph",
    )
    parser.add_argument(
        "--stream",
        metavar="IRI=FILE",
        type=named_input,
        action="append",
        default=[],
        help=f"recorded stream (.trig .nq, {_PACKED}); several files of one IRI are one stream",
    )
    parser.add_argument(
        "--time-property",
        metavar="IRI",
        type=absolute_iri,
        action="append",
        default=[],
        help="a predicate that gives an element its time, beside prov:generatedAtTime and"
        " sosa:resultTime",
    )
    parser.add_argument(
        "--mapping",
        metavar="[IRI=]FILE",
        type=perhaps_named,
        action="append",
        default=[],
        help="the files of a stream (without IRI: of all streams) are rows, .csv .tsv .json .jsonl .parquet, and this"
        " mapping, R2RML, RML or YARRRML (.yml), says which triples a row is",
    )
    parser.add_argument(
        "--time-column",
        metavar="[IRI=]NAME",
        type=perhaps_named,
        action="append",
        default=[],
        help="the column of such rows that is the element's time (without it: what the mapping makes"
        " prov:generatedAtTime or sosa:resultTime of)",
    )
    _reading_arguments(parser)
    parser.add_argument("--semantics", metavar="NAME", help="profile of windows and reports")


def _reading_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--on-error",
        choices=WAYS_ON_ERROR,
        help="what becomes of malformed statements and stream elements: fail; skip, counted and listed in"
        " --skipped FILE; accept, IRIs as they stand (without it: files fail, elements are skipped)",
    )
    parser.add_argument(
        "--skipped",
        metavar="FILE",
        help="where to list what is skipped, JSON Lines (added to what is there)",
    )
    parser.add_argument(
        "--context",
        metavar="IRI=FILE",
        type=named_file,
        action="append",
        default=[],
        help="a JSON-LD context that files refer to; none is fetched",
    )


def _continuous_inputs(parser: ArgumentParser) -> None:
    _query_and_data(parser)
    parser.add_argument(
        "--open-static", metavar="DIR", help="static data that Engine.save_static has written"
    )
    parser.add_argument(
        "--arrival-order",
        action="store_true",
        help="replay in the order of the files; what is later than is allowed for is counted, not answered",
    )
    parser.add_argument(
        "--allowed-lateness",
        metavar="[IRI=]DURATION",
        type=lateness,
        action="append",
        default=[],
        help="with --arrival-order: how far an element may lie behind the newest one of the stream (without IRI: of"
        " all streams), such as PT10S or 10s (without it: spark.cqels.allowedLateness)",
    )
    parser.add_argument(
        "--late",
        metavar="[IRI=]WAY",
        type=way_of_late,
        action="append",
        default=[],
        help="what becomes of elements that come late within that: hold (answers wait for them), correct (instants are"
        " answered at once, and again where an element that comes late changes them: lines with a revision)",
    )


def _live_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--source-option",
        metavar="[IRI=]NAME=VALUE",
        type=source_option,
        action="append",
        default=[],
        help="of a live source (without IRI: of all), --stream IRI=URL with kafka://host:9092/topic, mqtt(s)://host/topic,"
        " sse+http(s)://..., ws(s)://..., tcp://host:port or tls://host:port: such as format=turtle, ca=FILE,"
        " kafka.security.protocol=SSL",
    )
    parser.add_argument(
        "--for",
        dest="span",
        metavar="DURATION",
        type=time_span,
        help="end a run over live sources after so long (without it: when it is interrupted)",
    )
    parser.add_argument(
        "--until",
        metavar="TIME",
        type=instant,
        help="end a run over live sources when all streams have come to this event time",
    )


def _settings_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="spark.cqels.KEY=VALUE",
        dest="settings",
        type=setting,
        action="append",
        default=[],
        help="a configuration key, see docs/configuration.md",
    )


def _spark_arguments(parser: ArgumentParser) -> None:
    _settings_argument(parser)
    parser.add_argument("--master", default="local[*]", help="where Spark runs (local[*])")
    parser.add_argument(
        "--work-dir",
        metavar="DIR",
        help="folder or URI that all executors reach, for static tables while the command runs; a master"
        " that is not local needs it",
    )
    parser.add_argument(
        "--driver-memory",
        metavar="SIZE",
        help="memory of the Java process, such as 4g (a quarter of the machine's)",
    )
    parser.add_argument("--debug", action="store_true", help="Spark's log, and tracebacks")


def _files_argument(parser: ArgumentParser, name: str, text: str) -> None:
    parser.add_argument(name, metavar="FILE", nargs="+", action="extend", default=[], help=text)


def _named_files(parser: ArgumentParser, name: str, text: str) -> None:
    parser.add_argument(
        name, metavar="IRI=FILE", type=named_file, action="append", default=[], help=text
    )
