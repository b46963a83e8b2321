"""Scores of retrieval: ranked documents against judged ones, query by query.

A run and judgements come in, as files, tables or dictionaries; a `RankingScores` goes out, a `Result` with a row a query.
Queries are joined by their ids, in the order of the judgements; what has no partner keeps its row and says so in its status.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from fastscore.arguments import column_names, is_path, one_of, thread_number, whole_number
from fastscore.arrow import foreign_errors, guarded, kind_of
from fastscore.errors import ColumnTypeError, DataError, UnknownNameError, UsageError, did_you_mean
from fastscore.formats.ids import Ints
from fastscore.formats.lists import DocumentLists, select
from fastscore.formats.rankings import read_both, read_judged, read_ranked
from fastscore.metrics.measures import Measure, parse_measures
from fastscore.metrics.passages import PASSAGE_COLUMNS, score_answers
from fastscore.metrics.queries import align_queries, merged
from fastscore.metrics.ranking import check_pairs, score_lists
from fastscore.result import Result
from fastscore.schema import Status
from fastscore.statuses import status_array
from fastscore.totals import Totals
from fastscore.version import __version__

__all__ = ["DEFAULT_MEASURES", "RankingScores", "format_trec", "score_ranking"]

DEFAULT_MEASURES = ("success@10", "recall@10", "mrr", "ndcg@10")

#: How trec_eval calls our measures, without and with a cut-off.
_TREC_NAMES = {
    "map": ("map", "map_cut"),
    "r_precision": ("Rprec", ""),
    "bpref": ("bpref", ""),
    "mrr": ("recip_rank", ""),
    "precision": ("", "P"),
    "recall": ("", "recall"),
    "ndcg": ("ndcg", "ndcg_cut"),
    "success": ("", "success"),
}
_TREC_ORDER = ("map", "Rprec", "bpref", "recip_rank", "P", "recall", "ndcg", "ndcg_cut", "map_cut", "success")


@dataclass(frozen=True, repr=False)
class RankingScores(Result):
    """Scores of a run, one row a query.

    `items` has the columns query_id, those of `by`, one float64 a measure and status (dictionary<int8, string>). A query
    that the run does not answer (``missing_prediction``) has 0 in every measure; one without a relevant document
    (``no_references``) and one that the judgements do not have (``unmatched_prediction``) have nulls, and count in no mean.
    `counts` tells how many ids on either side were null or empty.
    """

    counts: dict[str, int] = field(default_factory=dict)

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures' names, which are columns of the items and keys of the summary."""
        return self.totals.metrics

    @property
    def by(self) -> tuple[str, ...]:
        """The columns whose values are groups."""
        return self.totals.by

    def mean(self, measure: str) -> float | None:
        """The mean over the queries that are scored, or None where there are none: correctly rounded sum over count."""
        mean: float | None = self.summary["overall"][measure]
        return mean


@guarded
def score_ranking(
    run: Any,
    qrels: Any = None,
    *,
    measures: str | Iterable[str] = DEFAULT_MEASURES,
    by: str | Sequence[str] | None = None,
    min_relevance: int = 1,
    score_type: Literal["float64", "float32"] = "float64",
    threads: int | None = None,
    format: str | None = None,
    qrels_format: str | None = None,
) -> RankingScores:
    """Score ranked documents against the judged ones of the same queries.

    Parameters
    ----------
    run
        Ranked documents, as `fastscore.formats.rankings.read_ranked` takes them. With scores they are ordered by score
        descending, ties by document id descending, compared as bytes (trec_eval's order); without, they keep their order.
    qrels
        Judged documents, as `fastscore.formats.rankings.read_judged` takes them; or None where `run` is a table with both
        ``retrieved_ids`` and ``relevant_ids``, which is scored row for row.
    measures
        Names such as ``success@10``, ``recall@10``, ``precision@5``, ``mrr``, ``map@100``, ``ndcg@10``, ``ndcg_exp@10``,
        ``r_precision``, ``bpref``, ``judged@10``; ir-measures' (``R@10``, ``nDCG@10``, ``RR``) and trec_eval's are read too.
    by
        Columns of the judgements or of the run to keep, for totals by group.
    min_relevance
        The lowest grade of a relevant document, from 1 on; ndcg takes grades as they are, as trec_eval does.
    score_type
        ``float32`` rounds scores before they are compared, as trec_eval up to release 9 and pytrec_eval do.
    threads
        How many threads share the queries; None: as many as there are processors. No value depends on it.
    format, qrels_format
        Formats of the two files (`fastscore.formats.rankings.FORMATS`), where their content should not be asked.

    Returns
    -------
    RankingScores
        A `Result`; the summary's recipe is ``retrieval``, and ``missing_prediction`` counts the queries not answered.

    Raises
    ------
    UsageError, UnknownNameError, ColumnTypeError
        A parameter or column is not what it must be.
    DataError
        The run is empty, no query has a relevant document, a score is NaN, or all ids of a side are null.
    FormatError, KeyMismatchError
        A line of a file is malformed; a query, or a document of a query, stands there twice; ids cannot be compared.
    """
    wanted = parse_measures(measures)
    min_relevance, workers = whole_number(min_relevance, "min_relevance", 1), thread_number(threads)
    one_of(score_type, "score_type", ("float64", "float32"))
    groups = column_names(by, "by")
    if qrels is None:
        lists = _lists_without_qrels(wanted)
        source = str(run) if is_path(run) else "run"
        run = qrels = read_both(run, lists, format)
        ranked = read_ranked(run, source)
        judged = (
            read_judged(qrels, source)
            if "relevant_ids" in lists
            else replace(ranked, present=np.ones(len(ranked), dtype=np.bool_))
        )
        rows = np.arange(len(ranked)), np.arange(len(ranked))
    else:
        ranked, judged = read_ranked(run, format=format), read_judged(qrels, format=qrels_format)
        rows = align_queries(ranked, judged)
    for side in (ranked, judged):
        check_pairs(side, workers)
    sides = select(_rounded(ranked, score_type), rows[0]), select(judged, rows[1])
    columns, relevant = _values(*sides, wanted, rows, min_relevance, workers)
    if run is not qrels and not relevant.any():
        raise DataError(f"{judged.source}: no query has a document of relevance {min_relevance} or more; nothing can be scored")
    status = np.select(
        [~sides[1].present, relevant == 0, ~sides[0].present],
        [Status.UNMATCHED_PREDICTION, Status.NO_REFERENCES, Status.MISSING_PREDICTION],
        Status.OK,
    )
    unscored = (status == Status.UNMATCHED_PREDICTION) | (status == Status.NO_REFERENCES)
    items = pa.table(
        {
            "query_id": merged(judged.queries, ranked.queries, rows),
            **_kept(groups, ranked, judged, rows, columns),
            **{name: pa.array(values, mask=unscored) for name, values in columns.items()},
            "status": status_array(status.astype(np.uint8)),
        }
    )
    totals = Totals(tuple(columns), groups)
    totals.add(items)
    counts = {"blank_retrieved_ids": ranked.ids.blank, "blank_relevant_ids": judged.ids.blank}
    signature = _signature(min_relevance, score_type)
    summary = totals.summary("retrieval", signature)
    return RankingScores(items, summary, signature, totals, _notes(summary["overall"], counts, min_relevance), counts)


def _lists_without_qrels(measures: list[Measure]) -> tuple[str, ...]:
    if all(m.kind == "answer" for m in measures):
        return "retrieved_ids", *PASSAGE_COLUMNS
    return "retrieved_ids", "relevant_ids"


def _signature(min_relevance: int, score_type: str) -> str:
    return (
        f"retrieval|min-relevance:{min_relevance}|order:score-desc,doc-id-desc|scores:{score_type}|missing:0|no-relevant:skip|"
        f"unicode:{unicodedata.unidata_version}|fastscore:{__version__}"
    )


def _rounded(ranked: DocumentLists, score_type: str) -> DocumentLists:
    """With ``float32`` the scores are rounded, as trec_eval up to release 9 and pytrec_eval do, so that close ones tie."""
    if ranked.numbers is None or score_type == "float64":
        return ranked
    with np.errstate(over="ignore"):
        return replace(ranked, numbers=ranked.numbers.astype(np.float32).astype(np.float64))


def _values(
    ranked: DocumentLists,
    judged: DocumentLists,
    measures: list[Measure],
    rows: tuple[Ints, Ints],
    min_relevance: int,
    threads: int,
) -> tuple[dict[str, Any], Ints]:
    """A column a measure, in their order, and each query's number of relevant documents (or of answers, if no more is asked)."""
    of_documents = [m for m in measures if m.kind != "answer"]
    of_answers = [m for m in measures if m.kind == "answer"]
    columns: dict[str, Any] = {}
    relevant: Ints = np.zeros(len(ranked), dtype=np.int64)
    if of_documents:
        scored = score_lists(ranked, judged, of_documents, min_relevance=min_relevance, threads=threads)
        columns, relevant = scored.columns, scored.relevant
    if of_answers:
        hits = score_answers(ranked, judged, of_answers, rows, threads)
        columns = {**columns, **hits.columns}
        relevant = relevant if of_documents else hits.relevant
    return {m.name: columns[m.name] for m in measures}, relevant


def _kept(
    groups: tuple[str, ...], ranked: DocumentLists, judged: DocumentLists, rows: tuple[Ints, Ints], measures: Iterable[str]
) -> dict[str, pa.Array]:
    """The columns of `by`."""
    kept = {}
    for name in groups:
        left, right = (s.table[name] if name in s.table.column_names else None for s in (judged, ranked))
        if left is None and right is None:
            known = dict.fromkeys([*judged.table.column_names, *ranked.table.column_names])
            raise UnknownNameError(f"by: neither the judgements nor the run have a column {name!r}.{did_you_mean(name, known)}")
        if name in ("status", *measures):
            raise UsageError(f"by: {name!r} is a column of the scores; call the column of groups otherwise")
        with foreign_errors(f"by: column {name!r}"):
            kept[name] = merged(left, right, rows)
        if pa.types.is_nested(kept[name].type):
            raise ColumnTypeError(
                f"by: column {name!r} must hold one value a row (text, numbers), got {kind_of(kept[name].type)}"
            )
    return kept


def _notes(overall: Mapping[str, Any], counts: Mapping[str, int], min_relevance: int) -> tuple[str, ...]:
    """What there is to say of the input: queries without a partner, and ids that match nothing."""
    said = {
        "judged queries that the run does not answer, each counted 0": overall[Status.MISSING_PREDICTION.label],
        f"queries without a document of relevance {min_relevance} or more, not scored": overall[Status.NO_REFERENCES.label],
        "queries of the run that are not judged, not scored": overall[Status.UNMATCHED_PREDICTION.label],
        "null or empty ids of retrieved documents, which match nothing": counts["blank_retrieved_ids"],
        "null or empty ids of judged documents, which match nothing": counts["blank_relevant_ids"],
    }
    return tuple(f"{what}: {number:,}" for what, number in said.items() if number)


def format_trec(scores: RankingScores, *, per_query: bool = False) -> str:
    """The scores in trec_eval's layout: measure, query (``all`` for the mean) and four decimals, a line each.

    Measures are called and ordered as trec_eval does; those that it does not have come last, under our names. Queries are in
    the order of their ids' bytes. As with its ``-c``, a query that the run does not answer counts 0; other than it, one
    without a relevant document does not count.
    """
    measures = sorted(scores.measures, key=_trec_place)
    lines = []
    if per_query:
        rows = sorted(scores.items.to_pylist(), key=lambda row: str(row["query_id"]).encode())
        for row in rows:
            lines += [_trec_line(m, str(row["query_id"]), row[m]) for m in measures if row[m] is not None]
    means = [(m, scores.mean(m)) for m in measures]
    lines += [_trec_line(m, "all", mean) for m, mean in means if mean is not None]
    return "".join(lines)


def _trec_line(measure: str, query: str, value: float) -> str:
    """One line; characters of the query's id that would break the line, or are not for a terminal, are shown as escapes."""
    if not query.isprintable():
        from fastscore.report import safe_text

        query = safe_text(query)
    return f"{_trec_name(measure):<22}\t{query}\t{value:6.4f}\n"


def _trec_name(measure: str) -> str:
    kind, _, cutoff = measure.partition("@")
    whole, cut = _TREC_NAMES.get(kind, ("", ""))
    if cutoff:
        return f"{cut}_{cutoff}" if cut else measure
    return whole or measure


def _trec_place(measure: str) -> tuple[int, int]:
    name = _trec_name(measure)
    stem = name.rpartition("_")[0] if name[-1].isdigit() else name
    cutoff = int(measure.partition("@")[2] or 0)
    return (_TREC_ORDER.index(stem) if stem in _TREC_ORDER else len(_TREC_ORDER), cutoff)
