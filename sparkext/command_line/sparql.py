"""`cqels sparql`: an ordinary SPARQL query over RDF files."""

from __future__ import annotations

from argparse import Namespace

from sparkext.answers import AnswerFormatError, ResultFormat
from sparkext.command_line.inputs import StaticFiles, grouped, reading_options
from sparkext.command_line.messages import in_query_file
from sparkext.command_line.output import check_output, opened_output
from sparkext.command_line.query_file import check_graphs, in_file, read_query
from sparkext.command_line.spark_start import checked_settings, opened_engine, spark_session
from sparkext.config import Settings
from sparkext.errors import CqelsError


def execute(arguments: Namespace) -> None:
    """Run the command; raises what `sparkext.command_line.messages` can put into words."""
    check_output(arguments.out)
    settings = checked_settings(arguments.settings, None)
    query = read_query(arguments.query, Settings.from_mapping(settings))
    if query.windows or query.registration is not None:
        message = "a query with windows is continuous: use `cqels run`"
        position = query.windows[0].position if query.windows else None
        raise in_query_file(arguments.query, CqelsError(message), position)
    graph = query.form in ("CONSTRUCT", "DESCRIBE")
    results = ResultFormat(arguments.results or ("nt" if graph else "json"))
    if results.holds_triples != graph:
        fitting = "nt or nq" if graph else "json, csv, tsv or xml"
        raise AnswerFormatError(f"--results {results.value}: for {query.form} it is {fitting}")
    data = StaticFiles(arguments.data, grouped(arguments.named), options=reading_options(arguments))
    data.check()
    if not data.may_name_others:
        check_graphs(arguments.query, query, data.named)
    with (
        spark_session(arguments, settings) as spark,
        opened_engine(spark, arguments.work_dir) as engine,
    ):
        data.load(engine)
        with in_file(arguments.query, query):
            answers = engine.select(query).answer()
        text = answers.to_text(results)
        with opened_output(arguments.out) as file:
            file.write(text)
            file.flush()
