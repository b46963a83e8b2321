"""Differential fuzzing: what the fast code gives for hostile rows, recipes and layouts is what `naive` gives, to the bit.

A hypothesis example is a seed, from which a generator makes one small batch in random layouts. ``pytest tests/test_fuzz.py``
takes under 40 seconds; ``pytest --deep tests/test_fuzz.py`` runs 2 million examples (about an hour on one core). Both print
how many examples and rows were compared, and a failure prints the seed and the smallest case that was found to fail.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from fastscore import naive
from fastscore.metrics.spans import score_spans
from fastscore.recipes import RECIPES, Recipe
from fastscore.retrieval import score_ranking
from fastscore.rewards.extract import extract
from fastscore.scoring import score_batch, score_one
from fastscore.text.normalize import normalize
from fastscore.totals import Totals
from tests import fuzz_layouts as layouts
from tests import fuzz_texts as make
from tests.test_ranking import ALL, expected_value
from tests.test_rewards_extract import expected as extracted

#: Rounds of the deep run and examples of a round, of the quick run's one round, by what is compared.
PLAN = {
    "scores": (40, 20_000, 700),
    "one": (12, 20_000, 200),
    "normal forms": (30, 20_000, 300),
    "spans": (6, 20_000, 150),
    "extraction": (10, 20_000, 300),
    "rankings": (2, 20_000, 120),
    "signatures": (1, 20_000, 200),
}
_examples: Counter[str] = Counter()
_rows: Counter[str] = Counter()


def counted() -> Iterator[str]:
    """What has been compared so far, for the end of the run."""
    for name, examples in _examples.items():
        yield f"fuzz: {name}: {examples:,} examples, {_rows[name]:,} rows"
    yield f"fuzz: in all {_examples.total():,} examples, {_rows.total():,} rows"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "shift" in metafunc.fixturenames:
        name = metafunc.function.__doc__.partition(":")[0]
        rounds, deep, quick = PLAN[name]
        asked = metafunc.config.getoption("--deep")
        metafunc.parametrize(("shift", "count"), [(n, deep) for n in range(rounds)] if asked else [(0, quick)])


def fuzz(name: str, check: Callable[[random.Random], int], shift: int, count: int) -> None:
    """Run `check` on so many seeds; it gives the number of rows that it compared."""

    def one_example(number: int) -> None:
        _rows[name] += check(random.Random(number))
        _examples[name] += 1

    make.compose(shift, 64 if count > 1_000 else 24)
    run = given(st.integers(0, 2**64 - 1))(one_example)
    run = settings(max_examples=count, database=None, phases=[Phase.generate])(run)
    seeded(shift)(run)()


# ---- scores


@dataclasses.dataclass
class Case:
    """Rows to score by a recipe; `layout` is the seed of the Arrow layout, None for the plainest."""

    rows: list[dict[str, Any]]
    recipe: Recipe
    top_n: tuple[int, ...]
    layout: int | None

    def batch(self) -> pa.RecordBatch:
        columns: dict[str, Any] = {name: [r[name] for r in self.rows] for name in (self.rows[0] if self.rows else ROW)}
        if self.layout is None:
            arrays = {
                "prediction": pa.array(columns.pop("prediction"), pa.string()),
                "references": pa.array(columns.pop("references"), pa.list_(pa.string())),
            }
            rng = random.Random(0)
        else:
            rng = random.Random(self.layout)
            arrays = {
                "prediction": layouts.text_array(rng, columns.pop("prediction")),
                "references": layouts.list_array(rng, columns.pop("references")),
            }
        for name in [name for name in columns if name.endswith("_spans")]:
            arrays[name] = layouts.span_array(rng, columns.pop(name))
        for name, values in columns.items():
            arrays[name] = pa.array(values, pa.string() if name == "status" else None)
        return pa.RecordBatch.from_pydict(arrays)


ROW = ("prediction", "references")


def difference(case: Case) -> str | None:
    """What the fast code gives and the reference implementation does not, or None where they agree."""
    want = naive.score_rows(case.rows, case.recipe, case.top_n)
    batch = case.batch()
    keep = ["color"] if "color" in batch.schema.names else []
    result = score_batch(batch, case.recipe, top_n=case.top_n, keep=keep)
    got = result.to_pylist()
    if repr(got) != repr([{name: w[name] for name in g} for g, w in zip(got, want, strict=True)]):
        return f"got  {got}\nwant {want}"
    if want and want[0].keys() != got[0].keys():
        return f"columns {list(got[0])}, wanted {list(want[0])}"
    return totals_differ(result, want) if keep and case.layout is not None else None


def totals_differ(result: pa.RecordBatch, want: list[dict[str, Any]]) -> str | None:
    """Totals of the rows cut and merged anyhow, against the reference implementation's."""
    rng = random.Random(len(want))
    metrics = [f.name for f in result.schema if pa.types.is_float64(f.type)]
    cuts = sorted({0, len(want), *(rng.randint(0, len(want)) for _ in range(2))})
    parts = [result.slice(a, b - a) for a, b in itertools.pairwise(cuts)]
    rng.shuffle(parts)
    whole = Totals(metrics, ("color",))
    for part in parts:
        totals = Totals(metrics, ("color",))
        totals.add(part)
        whole.merge(Totals.from_dict(totals.to_dict()))
    got, expected = whole.summary("r", "s"), naive.summarize(want, metrics, ["color"])
    for name, block in (("overall", got["overall"]), *got["groups"]["color"].items()):
        right = expected["overall"] if name == "overall" else expected["groups"]["color"][name]
        if repr(block) != repr(right):
            return f"totals of {name}: got {block}, want {right}"
    return None if len(expected["groups"]["color"]) == len(got["groups"]["color"]) else "other groups"


def any_case(rng: random.Random) -> Case:
    recipe = make.any_recipe(rng)
    rows = make.any_rows(rng, recipe)
    if rng.random() < 0.2:
        for row in rows:
            row["status"] = rng.choice(("ok",) * 5 + naive.STATUSES)
    if rng.random() < 0.05:
        for row in rows:
            row["color"] = rng.choice(("red", "blue", "", "null"))
    if recipe.spans != "none" and rng.random() < 0.7:
        for row in rows:
            row["prediction_spans"], row["reference_spans"] = make.spans(rng), make.spans(rng)
    return Case(rows, recipe, rng.choice(((1,), (1,), (2, 5), (3, 1, 1000))), rng.getrandbits(40))


def fails(case: Case) -> bool:
    try:
        return difference(case) is not None
    except Exception:
        return True


def smaller(case: Case) -> Iterator[Case]:
    """Cases that have a little less: the plain layout, fewer rows, fewer references, shorter texts."""
    if case.layout is not None:
        yield dataclasses.replace(case, layout=None)
    for i in range(len(case.rows)):
        yield dataclasses.replace(case, rows=case.rows[:i] + case.rows[i + 1 :])
    for i, row in enumerate(case.rows):
        for j in range(len(row["references"] or ())):
            listed = row["references"][:j] + row["references"][j + 1 :]
            yield _with(case, i, {**row, "references": listed})
        for text in shorter(row["prediction"]):
            yield _with(case, i, {**row, "prediction": text})
        for j, reference in enumerate(row["references"] or ()):
            for text in shorter(reference):
                listed = [*row["references"][:j], text, *row["references"][j + 1 :]]
                yield _with(case, i, {**row, "references": listed})


def _with(case: Case, i: int, row: dict[str, Any]) -> Case:
    return dataclasses.replace(case, rows=[*case.rows[:i], row, *case.rows[i + 1 :]])


def shorter(text: str | None) -> Iterator[str]:
    step = len(text or "")
    while text and step:
        for at in range(0, len(text), step):
            yield text[:at] + text[at + step :]
        step //= 2


def smallest(case: Case, failing: Callable[[Case], bool] = fails) -> Case:
    """The case made smaller as long as it fails, by at most some thousands of trials."""
    trials = 0
    while trials < 3_000:
        for tried in smaller(case):
            trials += 1
            if failing(tried):
                case = tried
                break
        else:
            return case
    return case


def check_scores(rng: random.Random) -> int:
    case = any_case(rng)
    if rng.random() < 0.1:
        case = dataclasses.replace(case, recipe=Recipe.from_signature(case.recipe.signature))
    if fails(case):
        found = smallest(case)
        pytest.fail(f"{found}\nsignature {found.recipe.signature}\n{difference(found)}", pytrace=False)
    return len(case.rows)


def test_scores_against_naive(shift: int, count: int) -> None:
    """scores: any recipe, any rows, any layout, with statuses, spans and totals by group."""
    fuzz("scores", check_scores, shift, count)


def check_one(rng: random.Random) -> int:
    recipe = make.any_recipe(rng)
    rows = make.any_rows(rng, recipe)
    for row in rows:
        references = row["references"]
        if references and len(references) == 1 and references[0] is not None and rng.random() < 0.3:
            references = references[0]
        got = score_one(row["prediction"], references, recipe)
        assert repr(got) == repr(naive.score_one(row["prediction"], row["references"], recipe)), (row, recipe.signature)
    return len(rows)


def test_one_answer_against_naive(shift: int, count: int) -> None:
    """one: `score_one`, a row at a time."""
    fuzz("one", check_one, shift, count)


# ---- texts, spans, answers


def check_normal_forms(rng: random.Random) -> int:
    recipe = make.any_recipe(rng)
    clean = make.assigned if recipe.unicode != "none" else str
    texts = [None if rng.random() < 0.05 else clean(make.any_text(rng)) for _ in range(rng.choice((0, 1, 2, 5, 9)))]
    array: Any = layouts.text_array(rng, texts)
    if rng.random() < 0.3:
        array = layouts.chunked(rng, array)
    got = normalize(array, recipe)
    got.validate(full=True)
    want = [None if t is None else naive.normalize(t, recipe) for t in texts]
    assert got.to_pylist() == want, (recipe.signature, list(map(ascii, texts)))
    return len(texts)


def test_normal_forms_against_naive(shift: int, count: int) -> None:
    """normal forms: `normalize` of arrays of any layout and of chunks, some of them empty."""
    fuzz("normal forms", check_normal_forms, shift, count)


def check_spans(rng: random.Random) -> int:
    recipe = dataclasses.replace(RECIPES["germanquad"], spans=rng.choice(("half-open", "touching")))
    pairs = [(make.spans(rng), make.spans(rng)) for _ in range(rng.choice((0, 1, 3, 9)))]
    top_n = rng.choice(((), (2,), (3, 7)))
    sides: list[Any] = [layouts.span_array(rng, [pair[side] for pair in pairs]) for side in (0, 1)]
    sides = [layouts.chunked(rng, side) if rng.random() < 0.2 else side for side in sides]
    overlap: Any = recipe.spans
    got = score_spans(*sides, overlap=overlap, top_n=top_n, threads=rng.randint(1, 3))
    for i, (predicted, reference) in enumerate(pairs):
        want = naive.score_spans(predicted, reference, recipe, top_n)
        assert repr({k: float(v[i]) for k, v in got.items()}) == repr(want), (predicted, reference)
    return len(pairs)


def test_spans_against_naive(shift: int, count: int) -> None:
    """spans: positions in any layout."""
    fuzz("spans", check_spans, shift, count)


STEPS = ["tag:answer", "tag:a", "boxed", "after:####", "after:</think>", "after:é", "line:first", "line:last"]


def check_extraction(rng: random.Random) -> int:
    texts = [None if rng.random() < 0.05 else make.completion(rng) for _ in range(rng.choice((0, 1, 3, 6)))]
    spec = [rng.choice(STEPS) for _ in range(rng.choice((1, 1, 2, 3)))]
    array: Any = layouts.text_array(rng, texts)
    if rng.random() < 0.3:
        array = layouts.chunked(rng, array)
    answers, failed = extract(array, spec, threads=rng.randint(1, 2))
    answers.validate(full=True)
    want = [extracted(t, spec) for t in texts]
    assert answers.to_pylist() == want, (spec, list(map(ascii, texts)))
    assert failed.tolist() == [w is None and t is not None for t, w in zip(texts, want, strict=True)]
    return len(texts)


def test_extraction_against_plain_python(shift: int, count: int) -> None:
    """extraction: chains of steps on completions of any layout."""
    fuzz("extraction", check_extraction, shift, count)


# ---- rankings


def check_rankings(rng: random.Random) -> int:
    pool = ["a", "b", "d1", "d2", "x" * 7, "x" * 8, "x" * 9, "é", "😀" * 4, "y" * 70, "", " ", "\x00", "A"]
    numbers = rng.random() < 0.2
    ids: list[Any] = [rng.randint(-3, 2**62) for _ in range(12)] if numbers else pool
    some = "a" if not numbers else ids[0]
    queries = {f"q{i}": {some: 1} | {rng.choice(ids): rng.randint(-1, 4) for _ in range(rng.randrange(6))} for i in range(3)}
    least = rng.randint(1, 3)
    scored = rng.random() < 0.5 and not numbers
    run: dict[str, Any] = {}
    order: dict[str, Sequence[Any]] = {}
    for query in rng.sample(list(queries), 2):
        if scored:
            run[query] = {
                rng.choice(ids): rng.choice((0.0, -0.0, 1.5, -2.0, 1e300, rng.random())) for _ in range(rng.randint(1, 9))
            }
            order[query] = naive.in_rank_order(run[query])
        else:
            run[query] = order[query] = [rng.choice(ids) for _ in range(rng.randint(1, 9))]
    if not any(grade >= least for grades in queries.values() for doc, grade in grades.items() if doc != ""):
        return 0
    if all(doc == "" for docs in order.values() for doc in docs):
        return 0
    items = score_ranking(run, queries, measures=ALL, min_relevance=least, threads=rng.randint(1, 3))
    for row in items.items.to_pylist():
        grades = queries[row["query_id"]]
        names = items.measures
        if not naive.count_relevant(grades, least):
            assert row["status"] == "no_references"
            assert all(row[name] is None for name in names)
            continue
        assert row["status"] == ("ok" if row["query_id"] in order else "missing_prediction")
        for name in names:
            want = expected_value(list(order.get(row["query_id"], ())), grades, name, least)
            assert repr(row[name]) == repr(float(want)), (name, order, grades)
    return len(queries)


def test_rankings_against_naive(shift: int, count: int) -> None:
    """rankings: runs with scores or in order, text or integer ids, every measure."""
    fuzz("rankings", check_rankings, shift, count)


def check_signatures(rng: random.Random) -> int:
    recipe = make.any_recipe(rng)
    assert Recipe.from_signature(recipe.signature).signature == recipe.signature
    return 1


def test_signatures_against_themselves(shift: int, count: int) -> None:
    """signatures: the recipe that is read back from what one prints, prints the same."""
    fuzz("signatures", check_signatures, shift, count)
