"""Runs one other scorer in a process, and an interpreter, of its own: ``python peer_worker.py NAME FOLDER REPEATS THREADS``.

The folder holds the rows as ``rows.parquet`` and ``rows.jsonl``. What is printed is a JSON object: the package's version, the
best seconds, and the means it computed; or ``skipped`` with the reason. It needs nothing but the peer's own packages.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["PEERS", "main"]

Means = dict[str, float]

_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_SQL = r"""
with pairs as (
    select row_number() over () as pair, row, prediction, reference
    from (select row_number() over () as row, prediction, unnest("references") as reference from rows)
), normal as (
    select pair, row,
        trim(regexp_replace(regexp_replace(regexp_replace(lower(prediction), '[!-/:-@\[-`{-~]', '', 'g'),
            '\b(a|an|the)\b', ' ', 'g'), '\s+', ' ', 'g')) as p,
        trim(regexp_replace(regexp_replace(regexp_replace(lower(reference), '[!-/:-@\[-`{-~]', '', 'g'),
            '\b(a|an|the)\b', ' ', 'g'), '\s+', ' ', 'g')) as r
    from pairs
), split as (
    select pair, row, p = r as em, if(p = '', [], string_split(p, ' ')) as pw, if(r = '', [], string_split(r, ' ')) as rw
    from normal
), pcount as (select pair, w, count(*) as n from (select pair, unnest(pw) as w from split) group by all),
   rcount as (select pair, w, count(*) as n from (select pair, unnest(rw) as w from split) group by all),
   same as (select pair, sum(least(pcount.n, rcount.n)) as same from pcount join rcount using (pair, w) group by pair),
   scored as (
    select row, em::double as em, coalesce(2.0 * p * r / (p + r), 0.0) as f1
    from (select row, em, same / len(pw) as p, same / len(rw) as r from split left join same using (pair))
), items as (select row, max(em) as em, max(f1) as f1 from scored group by row)
select avg(em), avg(f1) from items
"""


def _evaluate(folder: Path, threads: int) -> Callable[[], Means]:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import evaluate

    metric = evaluate.load(os.environ.get("EVALUATE_SQUAD", "squad"))
    rows = _rows(folder)
    predictions = [{"id": str(i), "prediction_text": row["prediction"]} for i, row in enumerate(rows)]
    answers = [{"text": row["references"], "answer_start": [0] * len(row["references"])} for row in rows]
    references = [{"id": str(i), "answers": a} for i, a in enumerate(answers)]

    def run() -> Means:
        found = metric.compute(predictions=predictions, references=references)
        return {"exact_match": found["exact_match"] / 100, "f1": found["f1"] / 100}

    return run


def _torchmetrics(folder: Path, threads: int) -> Callable[[], Means]:
    from torchmetrics.functional.text import squad

    rows = _rows(folder)
    predictions = [{"id": str(i), "prediction_text": row["prediction"]} for i, row in enumerate(rows)]
    answers = [{"text": row["references"], "answer_start": [0] * len(row["references"])} for row in rows]
    references = [{"id": str(i), "answers": a} for i, a in enumerate(answers)]

    def run() -> Means:
        found = squad(predictions, references)
        return {"exact_match": float(found["exact_match"]) / 100, "f1": float(found["f1"]) / 100}

    return run


def _polars(folder: Path, threads: int) -> Callable[[], Means]:
    """Normalise, split and match words by a join on (pair, word, occurrence), which is the multiset overlap."""
    import polars as pl

    def words(frame: pl.LazyFrame, column: str) -> pl.LazyFrame:
        exploded = frame.select("pair", pl.col(column).str.split(" ").alias("word")).explode("word").filter(pl.col("word") != "")
        return exploded.with_columns(occurrence=pl.int_range(pl.len()).over("pair", "word"))

    rows = pl.read_parquet(folder / "rows.parquet")

    def run() -> Means:
        pairs = _polars_pairs(rows)
        same = words(pairs, "p").join(words(pairs, "r"), on=["pair", "word", "occurrence"]).group_by("pair").len("same")
        return _polars_means(pairs.join(same, on="pair", how="left").with_columns(pl.col("same").fill_null(0)))

    return run


def _polars_sets(folder: Path, threads: int) -> Callable[[], Means]:
    """The short way, by `list.set_intersection`: another number where a word comes twice."""
    import polars as pl

    rows = pl.read_parquet(folder / "rows.parquet")

    def run() -> Means:
        same = pl.col("p").str.split(" ").list.set_intersection(pl.col("r").str.split(" ")).list.len()
        return _polars_means(_polars_pairs(rows).with_columns(same=same))

    return run


def _polars_pairs(rows: Any) -> Any:
    import polars as pl

    def normal(column: str) -> pl.Expr:
        text = pl.col(column).str.to_lowercase().str.replace_all(_PUNCTUATION, "").str.replace_all(r"\b(a|an|the)\b", " ")
        return text.str.replace_all(r"\s+", " ").str.strip_chars()

    frame = rows.lazy().with_row_index("row").with_columns(p=normal("prediction"))
    return frame.explode("references").with_row_index("pair").with_columns(r=normal("references")).select("row", "pair", "p", "r")


def _polars_means(frame: Any) -> Means:
    import polars as pl

    def count(column: str) -> pl.Expr:
        return pl.when(pl.col(column) == "").then(0).otherwise(pl.col(column).str.count_matches(" ", literal=True) + 1)

    precision, recall = pl.col("same") / count("p"), pl.col("same") / count("r")
    both = (pl.col("same") > 0) & (pl.col("p") != "") & (pl.col("r") != "")
    f1 = pl.when(both).then(2 * precision * recall / (precision + recall))
    scored = frame.select("row", exact_match=(pl.col("p") == pl.col("r")).cast(pl.Float64), f1=f1.otherwise(0.0))
    means = scored.group_by("row").max().select(pl.mean("exact_match", "f1")).collect()
    return {name: float(means[name][0]) for name in ("exact_match", "f1")}


def _duckdb(folder: Path, threads: int) -> Callable[[], Means]:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"set threads = {threads}")
    connection.execute("create table rows as select * from read_parquet($1)", [str(folder / "rows.parquet")])

    def run() -> Means:
        found = connection.execute(_SQL).fetchone()
        assert found is not None
        return {"exact_match": float(found[0]), "f1": float(found[1])}

    return run


def _pytrec_eval(folder: Path, threads: int) -> Callable[[], Means]:
    import pytrec_eval

    measures = {"success_10": "success@10", "recall_10": "recall@10", "recip_rank": "mrr", "map": "map", "ndcg_cut_10": "ndcg@10"}
    run_, qrels = _ranking_dicts(folder)

    def run() -> Means:
        found = pytrec_eval.RelevanceEvaluator(qrels, {"success", "recall", "recip_rank", "map", "ndcg_cut"}).evaluate(run_)
        return {ours: sum(q[theirs] for q in found.values()) / len(found) for theirs, ours in measures.items()}

    return run


def _ranx(folder: Path, threads: int) -> Callable[[], Means]:
    import ranx

    measures = {"hit_rate@10": "success@10", "recall@10": "recall@10", "mrr": "mrr", "map": "map", "ndcg@10": "ndcg@10"}
    run_, qrels = _ranking_dicts(folder)
    theirs = ranx.Qrels(qrels), ranx.Run(run_)

    def run() -> Means:
        found = ranx.evaluate(*theirs, list(measures))
        return {measures[name]: float(value) for name, value in found.items()}

    return run


def _ranking_dicts(folder: Path) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """Run and qrels as dicts; the score of rank r is -r, the first of a doubled id counts."""
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for number, row in enumerate(_rows(folder)):
        run[f"q{number}"] = {d: float(-r) for r, d in reversed(list(enumerate(row["retrieved_ids"])))}
        qrels[f"q{number}"] = dict.fromkeys(row["relevant_ids"], 1)
    return run, qrels


def _rows(folder: Path) -> list[dict[str, Any]]:
    with (folder / "rows.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


#: Name: the package it needs, and what prepares its run (data in its own form, which is not timed).
PEERS: dict[str, tuple[str, Callable[[Path, int], Callable[[], Means]]]] = {
    "evaluate": ("evaluate", _evaluate),
    "torchmetrics": ("torchmetrics", _torchmetrics),
    "polars": ("polars", _polars),
    "polars-sets": ("polars", _polars_sets),
    "duckdb": ("duckdb", _duckdb),
    "pytrec_eval": ("pytrec_eval", _pytrec_eval),
    "ranx": ("ranx", _ranx),
}


def main(name: str, folder: Path, repeats: int, threads: int) -> dict[str, Any]:
    """Time the peer `name`: the best of `repeats` runs after one that warms it."""
    package, prepare = PEERS[name]
    try:
        importlib.import_module(package)
        version = importlib.metadata.version(importlib.metadata.packages_distributions()[package][0])
        run = prepare(folder, threads)
        means = run()
    except ImportError as error:
        return {"skipped": f"{package} is not installed ({error})"}
    except (OSError, RuntimeError, ValueError) as error:
        return {"skipped": f"{package} does not run here: {type(error).__name__}: {str(error).splitlines()[0][:200]}"}
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return {"version": version, "seconds": min(seconds), **means}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
