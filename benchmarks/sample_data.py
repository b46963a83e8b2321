"""Makes the two parquet samples of `data/` from its JSON samples: sampled generations and a passage ranking.

``python -m benchmarks.sample_data [FOLDER]`` writes them anew; the draws are seeded, so the tables come out equal.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["DATA", "generations", "ranking", "write"]

DATA = Path(__file__).resolve().parents[1] / "data"
SAMPLES = 10
PASSAGES = 60
_DOMAINS = {
    "mctest": "children_stories",
    "gutenberg": "literature",
    "race": "mid-high_school",
    "cnn": "news",
    "wikipedia": "wikipedia",
    "reddit": "reddit",
    "science": "science",
}
_THOUGHTS = (
    "Let me look at the passage again.",
    "The passage says it outright.",
    "It could also be <something else>, but no.",
    "The question asks for one thing only.",
)
_WRAPPINGS = (
    ("<answer>{}</answer>", 0.55),
    ("<think>{thought}</think>\n<answer> {} </answer>", 0.75),
    ("<answer>{wrong}</answer> No, wait. <answer>{}</answer>", 0.82),
    ("{thought} The answer is {}", 0.90),
    ("{}", 0.95),
    ("<think>{thought}</think> <answer>{}", 1.0),
)
_T = TypeVar("_T")


def generations(seed: int = 20) -> pa.Table:
    """Ten sampled generations for each of 20 questions of the CoQA sample, about 200 rows.

    Columns: question_id, sample_id, prediction (null where the generation failed), completion (the raw text around it, with
    one, two, no or an unclosed answer tag), references, domain.
    """
    rng = random.Random(seed)
    questions = _questions()
    chosen = [questions[int(i * len(questions) / 20)] for i in range(20)]
    rows = []
    for key, references, domain in chosen:
        for sample in range(SAMPLES):
            wrong = _pick(rng, _pick(rng, questions)[1])
            prediction = _sampled(rng, references, wrong)
            completion = None if prediction is None else _wrapped(rng, prediction, wrong)
            rows.append((key, sample, prediction, completion, references, domain))
    schema = pa.schema(
        [
            ("question_id", pa.string()),
            ("sample_id", pa.int64()),
            ("prediction", pa.string()),
            ("completion", pa.string()),
            ("references", pa.list_(pa.string())),
            ("domain", pa.string()),
        ]
    )
    columns = list(zip(*rows, strict=True))
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def ranking(seed: int = 10) -> pa.Table:
    """Passages ranked for the questions of the GermanQuAD sample, as GermanDPR has it: mostly one relevant passage a query.

    Columns: query_id, retrieved_ids (20 in rank order; one ranking is empty, one holds a passage twice), relevant_ids (one
    query has two, one has none).
    """
    rng = random.Random(seed)
    keys, found, wanted = [], [], []
    for number, question in enumerate(_german_questions()):
        relevant = [f"p-{int(rng.random() * PASSAGES):03d}"]
        if number == 3:
            relevant.append("p-900")
        others = [f"p-{i:03d}" for i in range(PASSAGES) if f"p-{i:03d}" not in relevant]
        ranked = [others.pop(int(rng.random() * len(others))) for _ in range(20)]
        rank = int(rng.random() ** 2 * 26)
        if rank < 20:
            ranked[rank] = relevant[0]
        if number == 5:
            ranked[1] = ranked[0]
        keys.append(str(question["id"]))
        found.append([] if number == 8 else ranked)
        wanted.append([] if number == 12 else relevant)
    texts = pa.list_(pa.string())
    return pa.table({"query_id": keys, "retrieved_ids": pa.array(found, texts), "relevant_ids": pa.array(wanted, texts)})


def write(folder: Path = DATA) -> None:
    """Write both samples as parquet into `folder`."""
    pq.write_table(generations(), folder / "generations.parquet", compression="zstd")
    pq.write_table(ranking(), folder / "ranking.parquet", compression="zstd")


def _pick(rng: random.Random, values: Sequence[_T]) -> _T:
    return values[int(rng.random() * len(values))]


def _questions() -> list[tuple[str, list[str], str]]:
    """Key, references and domain of every question of the CoQA sample."""
    out = []
    for story in json.loads((DATA / "coqa-references.json").read_text(encoding="utf-8"))["data"]:
        sides = [story["answers"], *story["additional_answers"].values()]
        for turn, answers in enumerate(zip(*sides, strict=True), start=1):
            out.append((f"{story['id']}/{turn}", [a["input_text"] for a in answers], _DOMAINS[story["source"]]))
    return out


def _german_questions() -> list[dict[str, Any]]:
    data = json.loads((DATA / "germanquad-references.json").read_text(encoding="utf-8"))["data"]
    return [q for document in data for paragraph in document["paragraphs"] for q in paragraph["qas"]]


def _sampled(rng: random.Random, references: list[str], wrong: str) -> str | None:
    """One generation: a reference, a reference with words around it, a part of one, another question's answer, or none."""
    kind = rng.random()
    reference = _pick(rng, references)
    if kind < 0.40:
        return reference
    if kind < 0.50:
        return reference.upper() if rng.random() < 0.3 else reference.capitalize() + "."
    if kind < 0.62:
        return f"It was {reference}, I think"
    if kind < 0.72:
        return " ".join(reference.split()[-2:])
    return wrong if kind < 0.985 else None


def _wrapped(rng: random.Random, prediction: str, wrong: str) -> str:
    kind = rng.random()
    form = next(form for form, upto in _WRAPPINGS if kind < upto)
    return form.format(prediction, wrong=wrong, thought=_pick(rng, _THOUGHTS))


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
