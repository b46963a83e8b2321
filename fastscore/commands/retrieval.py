"""`fastscore retrieval`: from files of ranked and of judged documents to the summary and each query's scores.

Both files' formats are told from their content. The summary goes to standard output, notes and mistakes to standard error.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from fastscore.commands.console import print_table, say
from fastscore.commands.options import from_argument, refuse_beyond

if TYPE_CHECKING:
    from fastscore.retrieval import RankingScores

__all__ = ["retrieval"]


def retrieval(
    run: Path,
    qrels: Path | None = None,
    /,
    *,
    measure: Annotated[list[str] | None, Parameter(alias="-m", negative=())] = None,
    by: Annotated[list[str] | None, Parameter(negative=())] = None,
    min_relevance: int = 1,
    per_query: Annotated[bool, Parameter(negative=())] = False,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    official: Annotated[bool, Parameter(negative=())] = False,
    format: str | None = None,
    qrels_format: str | None = None,
    threads: int | None = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(alias="-q", negative=())] = False,
) -> None:
    """Score ranked documents against judged ones and print the summary.

    Parameters
    ----------
    run
        Ranked documents: a TREC run (also .gz), a retriever's output in DPR's JSON, JSON of {query: {document: score}}, or
        parquet, Arrow, JSON Lines, CSV or TSV with retrieved_ids (a list a row) or doc_id and score (a document a row).
    qrels
        Judged documents: TREC qrels, GermanDPR's or GermanQuAD's JSON, JSON of {query: {document: grade}}, or a table with
        relevant_ids or with doc_id and relevance. Left out where the run's table has relevant_ids too.
    measure
        success@K, recall@K, precision@K, mrr, map, ndcg@K, ndcg_exp@K, r_precision, bpref, judged@K or answer@K; may be given
        several times. R@10, nDCG@10, RR and trec_eval's names are understood. By default success@10, recall@10, mrr, ndcg@10.
    by
        Report groups by this column of the qrels or of the run; may be given several times.
    min_relevance
        The lowest grade of a relevant document.
    per_query
        Print each query's scores too, unless -o writes them.
    output
        Write each query's scores: .parquet, .arrow, .jsonl or .csv by suffix.
    json
        Print the summary as JSON; with --per-query it has the list "queries" too.
    official
        Print trec_eval's layout, under its names.
    format
        Format of the run, where its content should not be asked: trec, json, jsonl, parquet, arrow, csv or tsv.
    qrels_format
        Format of the qrels.
    threads
        How many threads may work; by default all cores.
    overwrite
        Replace the output file where it is there.
    quiet
        No notes on standard error.
    """
    from fastscore.errors import DataError, UsageError
    from fastscore.output import refuse_existing, write_items
    from fastscore.retrieval import DEFAULT_MEASURES, score_ranking

    if json and official:
        raise UsageError("--json and --official: one of them is allowed at a time")
    refuse_beyond("--min-relevance", min_relevance, 2**31 - 1)
    if output is not None:
        output = Path(from_argument(str(output)))
        refuse_existing(output, overwrite)
    scores = score_ranking(
        run,
        qrels,
        measures=_names(measure) or DEFAULT_MEASURES,
        by=by or (),
        min_relevance=min_relevance,
        threads=threads,
        format=format,
        qrels_format=qrels_format,
    )
    if not scores.items.num_rows:
        raise DataError(f"{run}: the run is empty: it must answer at least one query")
    if not scores.summary["overall"]["count"]:
        raise DataError(f"{run}: no query has a document of relevance {min_relevance} or more; nothing can be scored")
    if not quiet:
        say(*scores.notes)
    if output is not None:
        write_items(scores.items, output, scores.signature)
    _show(scores, json=json, official=official, per_query=per_query and output is None)


def _names(measures: list[str] | None) -> list[str]:
    """The measures' names; one option may hold several, set apart by commas or blanks."""
    from fastscore.metrics.measures import parse_measures

    return [found.name for text in measures or () for found in parse_measures(text)]


def _show(scores: RankingScores, *, json: bool, official: bool, per_query: bool) -> None:
    from fastscore.report import as_json
    from fastscore.retrieval import format_trec

    if official:
        print(format_trec(scores, per_query=per_query), end="")
    elif json:
        print(as_json({**scores.summary, "queries": _query_rows(scores)} if per_query else scores.summary))
    else:
        if per_query:
            print_table(_query_table(scores))
        print_table(scores)


def _query_rows(scores: RankingScores) -> list[dict[str, Any]]:
    """A dictionary a query; groups that JSON has no value for, such as dates, are text."""
    rows: list[dict[str, Any]] = scores.items.to_pylist()
    for row in rows:
        row.update({name: str(row[name]) for name in scores.by if not isinstance(row[name], (str, int, type(None)))})
    return rows


def _query_table(scores: RankingScores) -> Any:
    """A row a query, in percent, as in the summary's table."""
    from rich.table import Table
    from rich.text import Text

    from fastscore.report import safe_text

    table = Table()
    table.add_column("query")
    for name in scores.measures:
        table.add_column(name, justify="right")
    table.add_column("status")
    for row in scores.items.to_pylist():
        cells = ["-" if row[name] is None else f"{100 * row[name]:.1f}" for name in scores.measures]
        table.add_row(Text(safe_text(str(row["query_id"]))), *cells, row["status"])
    return table
