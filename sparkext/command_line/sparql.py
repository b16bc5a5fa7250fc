"""`cqels sparql`: an ordinary SPARQL query over RDF files."""

from __future__ import annotations

from argparse import Namespace

from sparkext.answers import ResultFormat, write_select
from sparkext.answers.result_files import AnswerFormatError
from sparkext.command_line.inputs import StaticFiles, grouped
from sparkext.command_line.messages import in_query_file
from sparkext.command_line.output import check_output, opened_output
from sparkext.command_line.query_file import check_graphs, locate_graph, read_query
from sparkext.command_line.spark_start import checked_settings, spark_session
from sparkext.errors import CqelsError, UnknownGraphError


def execute(arguments: Namespace) -> None:
    """Run the command; raises what `sparkext.command_line.messages` can put into words."""
    check_output(arguments.out)
    settings = checked_settings(arguments.settings, None)
    query = read_query(arguments.query)
    if query.windows or query.registration is not None:
        message = "a query with windows is continuous: use `cqels run`"
        position = query.windows[0].position if query.windows else None
        raise in_query_file(arguments.query, CqelsError(message), position)
    results = ResultFormat(arguments.results)
    if results is ResultFormat.N_TRIPLES and query.form != "CONSTRUCT":
        raise AnswerFormatError(f"--results nt: for the triples of CONSTRUCT, not for {query.form}")
    data = StaticFiles(arguments.data, grouped(arguments.named))
    data.check()
    if not data.may_name_others:
        check_graphs(arguments.query, query, data.named)
    with spark_session(arguments, settings) as spark:
        from sparkext.engine import Engine

        engine = Engine(spark)
        try:
            data.load(engine)
            try:
                answers = engine.select(query).answer()
            except UnknownGraphError as error:
                raise locate_graph(arguments.query, query, error) from error
            text = write_select(results, answers.variables, answers.rows(), answers.ordered)
            with opened_output(arguments.out) as file:
                file.write(text)
                file.flush()
        finally:
            engine.close()
