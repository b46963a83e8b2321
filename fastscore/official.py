"""What the published scripts print: item scores in, the script's own keys, order, percent and rounding out.

Sums run in the order of the items, one addition after the other, as the scripts add. A script that prints for people (QuAC,
CJRC) is given as the JSON that it writes to its output file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from fastscore.errors import KeyMismatchError, UsageError, did_you_mean
from fastscore.formats.coqa import DOMAINS
from fastscore.metrics.references import filtered
from fastscore.recipes import RECIPES
from fastscore.schema import Status
from fastscore.scoring import score_batch
from fastscore.text.columns import list_column

__all__ = ["OFFICIAL", "official_json", "official_values"]

Floats = npt.NDArray[np.float64]
_IN_DOMAIN = list(DOMAINS.values())[:5]
_OUT_DOMAIN = list(DOMAINS.values())[5:]
#: QuAC's script leaves questions out on which people agree less than this (its option --min_f1).
QUAC_MIN_F1 = 0.4


def official_json(
    items: pa.Table,
    recipe: str,
    *,
    inputs: pa.Table | None = None,
    na_probs: pa.Table | None = None,
    na_threshold: float = 1.0,
) -> str:
    """What the recipe's published script prints for these items, as JSON text; arguments as `official_values`."""
    values = official_values(items, recipe, inputs=inputs, na_probs=na_probs, na_threshold=na_threshold)
    indent = {"coqa": 2, "squad_v2": 2, "topiocqa": 4}.get(recipe)
    return json.dumps(values, indent=indent, allow_nan=False)


def official_values(
    items: pa.Table,
    recipe: str,
    *,
    inputs: pa.Table | None = None,
    na_probs: pa.Table | None = None,
    na_threshold: float = 1.0,
) -> dict[str, Any]:
    """The same as a dict.

    Parameters
    ----------
    items
        Item scores, as `fastscore.score_batch` gives them.
    recipe
        The recipe's name, one of `OFFICIAL`.
    inputs
        The aligned items before scoring, row for row; for columns that `items` has not: ``domain`` (coqa, cjrc), ``has_answer``
        and ``prediction`` (squad_v2), ``dialog_id``, ``references``, ``yesno``, ``followup``, ``predicted_yesno`` and
        ``predicted_followup`` (quac).
    na_probs
        For squad_v2: a table of question_id and na_prob, as `fastscore.formats.squad.read_na_probs` gives.
    na_threshold
        A prediction counts as no answer where its probability is greater (the script's ``--na-prob-thresh``).

    Raises
    ------
    UsageError
        The recipe has no official layout, or a column is absent.
    KeyMismatchError
        A question has no probability, or has two.
    """
    if recipe not in _LAYOUTS:
        raise UsageError(
            f"--official: recipe {recipe!r} has no official layout here.{did_you_mean(recipe, OFFICIAL)} "
            f"Those that have one: {', '.join(OFFICIAL)}"
        )
    if na_probs is not None and recipe != "squad_v2":
        raise UsageError(f"--na-probs: only squad_v2 has probabilities of no answer, got recipe {recipe!r}")
    layout, needed = _LAYOUTS[recipe]
    if na_probs is not None:
        needed = (*needed, "question_id", "prediction")
    frame = _frame(items, inputs, recipe, needed)
    return layout(frame) if na_probs is None else _squad_v2(frame, _with_probabilities(frame, na_probs), na_threshold)


def _frame(items: pa.Table, inputs: pa.Table | None, recipe: str, needed: tuple[str, ...]) -> pl.DataFrame:
    """The rows that have a score, with the columns that the layout needs, from `items` or else from `inputs`."""
    if inputs is not None and inputs.num_rows != items.num_rows:
        raise UsageError(f"inputs: {items.num_rows} rows, one for each item, are needed, got {inputs.num_rows}")
    columns: dict[str, pl.Series] = {}
    for name in ("exact_match", "f1", "status", *needed):
        source = items if name in items.column_names else inputs
        if source is None or name not in source.column_names:
            raise UsageError(
                f"--official: the layout of {recipe!r} needs the column {name!r}; give the files in the script's own layout"
            )
        columns[name] = pl.Series(name, pl.from_arrow(source.column(name)))
    if columns["status"].dtype.is_integer():
        columns["status"] = columns["status"].replace_strict({int(s): s.label for s in Status}, return_dtype=pl.String)
    frame = pl.DataFrame(columns).with_columns(pl.col("status").cast(pl.String))
    return frame.filter(pl.col("exact_match").is_not_null())


def _coqa(frame: pl.DataFrame) -> dict[str, Any]:
    """CoQA's averages: over turns, in percent, rounded to one decimal; an unused domain is 0."""
    domains = {**{d: [d] for d in DOMAINS.values()}, "in_domain": _IN_DOMAIN, "out_domain": _OUT_DOMAIN}
    blocks = {name: _rounded(frame.filter(pl.col("domain").is_in(members)), "turns") for name, members in domains.items()}
    return {**blocks, "overall": _rounded(frame, "turns")}


def _topiocqa(frame: pl.DataFrame) -> dict[str, Any]:
    return _rounded(frame, "turns")


def _cjrc(frame: pl.DataFrame) -> dict[str, Any]:
    """CJRC's two domains and both together; the script adds the domains' sums for the overall mean."""
    parts = [frame.filter(pl.col("domain") == name) for name in ("civil", "criminal")]
    out = {name: _rounded(part, "qas") for name, part in zip(("civil", "criminal"), parts, strict=True)}
    count = sum(part.height for part in parts)
    overall: dict[str, float | int] = {}
    for short, column in (("em", "exact_match"), ("f1", "f1")):
        overall[short] = round(sum(_added(_floats(part[column])) for part in parts) / max(1, count) * 100, 1)
    return {**out, "overall": {**overall, "qas": count}}


def _rounded(part: pl.DataFrame, counted: str) -> dict[str, float | int]:
    count = part.height
    means = {short: _added(_floats(part[column])) / max(1, count) for short, column in (("em", "exact_match"), ("f1", "f1"))}
    return {**{short: round(mean * 100, 1) for short, mean in means.items()}, counted: count}


def _squad(frame: pl.DataFrame) -> dict[str, Any]:
    return {"exact_match": _percent(_floats(frame["exact_match"])), "f1": _percent(_floats(frame["f1"]))}


def _squad_v2(frame: pl.DataFrame, walk: pl.DataFrame | None = None, na_threshold: float = 1.0) -> dict[str, Any]:
    """SQuAD 2's blocks, and with probabilities the thresholds that would have been best."""
    scored = frame
    if walk is not None:
        probability = frame.select("question_id").join(walk, on="question_id", how="left", maintain_order="left")["na_prob"]
        unanswered = (~frame["has_answer"]).cast(pl.Float64)
        as_none = probability > na_threshold
        scored = frame.with_columns(
            pl.when(as_none).then(unanswered).otherwise(pl.col(column)).alias(column) for column in ("exact_match", "f1")
        )
    out: dict[str, Any] = {}
    parts = (("", scored), ("HasAns_", scored.filter("has_answer")), ("NoAns_", scored.filter(~pl.col("has_answer"))))
    for prefix, part in parts:
        if prefix and not part.height:
            continue
        out[f"{prefix}exact"] = _percent(_floats(part["exact_match"]))
        out[f"{prefix}f1"] = _percent(_floats(part["f1"]))
        out[f"{prefix}total"] = part.height
    if walk is not None:
        for name, column in (("exact", "exact_match"), ("f1", "f1")):
            out[f"best_{name}"], out[f"best_{name}_thresh"] = _best_threshold(frame, walk, column)
    return out


def _with_probabilities(frame: pl.DataFrame, na_probs: pa.Table) -> pl.DataFrame:
    """The scored questions in order of their probability of no answer; ties in the order of the probabilities' file."""
    given = pl.DataFrame(pl.from_arrow(na_probs)).with_columns(pl.col("question_id").cast(pl.String))
    doubled = given.filter(pl.col("question_id").is_duplicated())["question_id"]
    if doubled.len():
        raise KeyMismatchError(f"na_probs: question id {doubled[0]!r} stands twice; one probability for each is needed")
    asked = frame.with_columns(pl.col("question_id").cast(pl.String))
    lacking = asked.join(given, on="question_id", how="anti", maintain_order="left")["question_id"]
    if lacking.len():
        raise KeyMismatchError(
            f"na_probs: {lacking.len()} of {asked.height} questions have no probability, such as {lacking[0]!r}; "
            "give a number for each"
        )
    return given.join(asked, on="question_id", how="inner", maintain_order="left").sort("na_prob", maintain_order=True)


def _best_threshold(frame: pl.DataFrame, walk: pl.DataFrame, column: str) -> tuple[float, float]:
    """The best mean in percent and the threshold that gives it: start from all as no answer, admit one question after another."""
    walk = walk.filter(pl.col("status") == Status.OK.label)
    refused = pl.when(pl.col("prediction") == "").then(0.0).otherwise(-1.0)
    gain = walk.select(pl.when(pl.col("has_answer")).then(pl.col(column)).otherwise(refused)).to_series()
    start = float((~frame["has_answer"]).sum())
    running = np.add.accumulate(np.concatenate(([start], _floats(gain))))
    best = int(np.argmax(running))
    threshold = float(walk["na_prob"][best - 1]) if best else 0.0
    return (100.0 * float(running[best]) / frame.height if frame.height else 0.0), threshold


def _quac(frame: pl.DataFrame) -> dict[str, Any]:
    """QuAC's F1 and human equivalence scores: the share of questions (HEQ) and of dialogs (DHEQ) at least as good as people."""
    human, lone = _human_f1(frame["references"])
    f1 = _floats(frame["f1"])
    given = (frame["status"] == Status.OK.label).to_numpy()
    agreed = human >= QUAC_MIN_F1
    counted = agreed | ~given
    equal = given & agreed & (f1 >= human)
    good = pl.DataFrame({"dialog": frame["dialog_id"], "good": equal | ~counted}).group_by("dialog").agg(pl.col("good").all())
    right = {
        part: given & (frame[part] == frame[f"predicted_{part}"]).fill_null(False).to_numpy() for part in ("yesno", "followup")
    }
    unanswerable = counted & lone
    return {
        "unfiltered_f1": _percent(f1),
        "f1": _percent(f1[counted]),
        "HEQ": _percent(equal[counted].astype(np.float64)),
        "DHEQ": _percent(_floats(good["good"].cast(pl.Float64))),
        "yes/no": _percent(right["yesno"][counted].astype(np.float64)),
        "followup": _percent(right["followup"][counted].astype(np.float64)),
        "unanswerable_acc": _percent(f1[unanswerable]),
    }


def _human_f1(references: pl.Series) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """For each question the mean F1 of a reference against the others (1 where it is alone), and whether it has no answer.

    The references are those that QuAC's vote leaves.
    """
    recipe = RECIPES["quac"]
    lists = filtered(list_column(references.to_arrow(), "references"), recipe)
    assert lists.places is not None
    texts = [
        [row[p] for p in lists.places[low:high].tolist()]
        for row, low, high in zip(references.to_list(), lists.starts.tolist(), lists.ends.tolist(), strict=True)
    ]
    several = [(i, row) for i, row in enumerate(texts) if len(row) > 1]
    batch = pa.record_batch(
        {
            "prediction": pa.array([text for _, row in several for text in row], pa.string()),
            "references": pa.array(
                [row[:k] + row[k + 1 :] for _, row in several for k in range(len(row))], pa.list_(pa.string())
            ),
        }
    )
    plain = replace(recipe, name="quac-people", references="best", reference_filter="all", whole_answers="none")
    scores = iter(score_batch(batch, plain).column("f1").to_pylist())
    human = np.ones(len(texts))
    for i, row in several:
        human[i] = _added(np.array([next(scores) for _ in row])) / len(row)
    return human, np.array([row == ["CANNOTANSWER"] for row in texts], dtype=np.bool_)


def _floats(values: pl.Series) -> Floats:
    return np.asarray(values.to_numpy(), dtype=np.float64)


def _added(values: Floats) -> float:
    """The sum as a script's loop adds: from 0.0, in order."""
    return float(np.add.accumulate(values)[-1]) if values.size else 0.0


def _percent(values: Floats) -> float:
    return 100.0 * _added(values) / values.size if values.size else 0.0


#: Each recipe's layout and the columns that it needs beside the scores.
_LAYOUTS: dict[str, tuple[Callable[[pl.DataFrame], dict[str, Any]], tuple[str, ...]]] = {
    "coqa": (_coqa, ("domain",)),
    "squad": (_squad, ()),
    "xquad": (_squad, ()),
    "germanquad-squad": (_squad, ()),
    "squad_v2": (_squad_v2, ("has_answer",)),
    "topiocqa": (_topiocqa, ()),
    "cjrc": (_cjrc, ("domain",)),
    "quac": (_quac, ("dialog_id", "references", "yesno", "followup", "predicted_yesno", "predicted_followup")),
}
#: Recipes with an official layout of their own.
OFFICIAL = tuple(_LAYOUTS)
