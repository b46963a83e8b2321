"""Which tests hold what went wrong for users of other scorers, and the tests that stand nowhere else.

`HELD_BY` names the tests for each of the numbered public reports and `LEFT_OUT` the reports that need none, with the reason; the
list is read against the test files' own text, so that a test that is renamed or deleted is missed.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fastscore
from fastscore import cli
from fastscore.recipes import RECIPES
from fastscore.rewards.batches import reward_one
from fastscore.rewards.rule import reward_rule
from tests.test_naive import R as BY_HAND

ROOT = Path(__file__).resolve().parents[1]
HERE = "tests/test_bug_reports.py"

#: The reports' numbers; these are not consecutive.
REPORTS = tuple(
    f"R{number:02}"
    for number in (
        *(1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 14, 15, 18, 19, 21, 24, 26, 28, 29, 30, 31, 33, 34, 36, 37, 39, 40, 42, 43),
        *(44, 46, 47, 48, 49, 50, 51, 52, 53),
    )
)

_NAIVE = ("tests/test_naive.py::test_public_reports_against_hand", f"{HERE}::test_worked_reports_in_the_fast_path_against_hand")
_KINDER = "tests/test_naive.py::test_kinder_options_against_hand"
_RANKING = "tests/test_ranking.py::test_worked_cases_against_hand"

HELD_BY: dict[str, tuple[str, ...]] = {
    "R01": (*_NAIVE, "tests/test_scoring_naive.py::test_repeating_a_right_answer_never_raises_f1_against_hand"),
    "R02": (*_NAIVE, "tests/test_scoring_golden.py::test_coqa_with_four_references_against_official"),
    "R03": (
        "tests/test_formats_json.py::test_squad_same_question_text_is_not_one_question",
        "tests/test_align.py::test_doubled_references_are_an_error_that_names_them",
        "tests/test_align.py::test_turns_are_part_of_the_key",
    ),
    "R04": (
        "tests/test_align.py::test_nothing_lost_and_nothing_moved",
        "tests/test_align.py::test_large_ids_are_exact",
        "tests/test_align.py::test_keys_that_cannot_be_compared_exactly_are_refused",
        "tests/test_formats_tables.py::test_ids_are_exact",
        f"{HERE}::test_predictions_in_the_order_of_their_keys_as_text_score_the_same",
    ),
    "R05": (
        "tests/test_align.py::test_order_holds_beyond_the_size_at_which_joins_go_parallel",
        "tests/test_engines_polars.py::test_sinks_as_it_streams",
        "tests/test_stage.py::test_references_by_key_across_shards",
        "tests/test_api.py::test_order_changes_nothing_but_the_order",
    ),
    "R07": _NAIVE,
    "R08": _NAIVE,
    "R09": (
        "tests/test_spans.py::test_worked_cases_against_hand",
        "tests/test_formats_json.py::test_squad_references_have_spans_and_context",
        "tests/test_formats_json.py::test_squad_text_that_is_not_at_its_offset_is_counted",
        "tests/test_formats_json.py::test_positions_beside_the_context_are_counted",
    ),
    "R11": (
        "tests/test_formats_json.py::test_squad_questions_without_answers_or_positions",
        "tests/test_scoring_golden.py::test_squad_v2_against_official",
        f"{HERE}::test_a_right_refusal_counts_and_both_kinds_of_questions_are_told",
        "tests/test_api.py::test_spans_have_their_columns",
    ),
    "R13": (
        _RANKING,
        "tests/test_ranking.py::test_bad_data_are_refused",
        "tests/test_align.py::test_null_and_empty_keys_meet_nothing",
    ),
    "R14": (_RANKING, "tests/test_ranking.py::test_any_table_against_naive"),
    "R15": (
        _RANKING,
        "tests/test_ranking.py::test_every_query_keeps_a_row_against_hand",
        "tests/test_ranking_official.py::test_values_against_pytrec_eval",
    ),
    "R18": (
        "tests/test_rewards_extract.py::test_each_awkward_completion_gives_what_the_table_says",
        "tests/test_rewards_rollouts.py::test_rows_keep_their_order_and_a_failure_is_a_status",
        f"{HERE}::test_a_completion_without_its_tag_is_not_an_empty_answer",
    ),
    "R19": (
        "tests/test_rewards_adapters.py::test_trl_names_what_does_not_fit",
        "tests/test_rewards_adapters.py::test_verl_needs_numbers_and_equal_lengths",
        "tests/test_rewards_adapters.py::test_every_completion_gets_its_reward_in_order",
    ),
    "R21": (
        *_NAIVE,
        "tests/test_naive.py::test_normal_forms_against_hand",
        "tests/test_scoring_naive.py::test_normalize_against_naive",
    ),
    "R24": (*_NAIVE, "tests/test_scoring_naive.py::test_each_recipe_against_naive"),
    "R26": (*_NAIVE, "tests/test_code_points.py::test_code_points_of_coqa_against_naive"),
    "R28": (*_NAIVE, _KINDER),
    "R29": (*_NAIVE, _KINDER, "tests/test_code_points.py::test_code_points_of_every_normal_form_against_naive"),
    "R30": (*_NAIVE, _KINDER),
    "R31": (*_NAIVE, _KINDER),
    "R33": _NAIVE,
    "R34": (
        "tests/test_cli_score.py::test_questions_without_references_have_no_score",
        "tests/test_totals.py::test_an_empty_group_is_none_and_not_nan",
        f"{HERE}::test_a_group_without_references_has_no_mean_at_any_size",
    ),
    "R36": (
        "tests/test_formats_json.py::test_coqa_null_and_empty_and_null_like_answers_stay_apart",
        "tests/test_formats_tables.py::test_words_that_mark_missing_values_are_words_in_json_lines",
        "tests/test_formats_tables.py::test_words_that_mark_missing_values_are_words_in_csv",
    ),
    "R37": (
        "tests/test_formats_tables.py::test_words_that_mark_missing_values_are_words_in_json_lines",
        "tests/test_formats_tables.py::test_json_lines_against_python",
        "tests/test_formats_tables.py::test_a_mixed_line_far_down_is_named",
        f"{HERE}::test_line_separators_inside_answers_do_not_cut_a_line",
    ),
    "R39": (f"{HERE}::test_counts_beyond_32_bits_are_right", "tests/test_align.py::test_more_text_than_32_bit_offsets_hold"),
    "R40": (
        "tests/test_bug_reports.py::test_r40_predictions_that_stand_twice_are_said",
        "tests/test_align.py::test_several_samples_of_a_question_share_its_references",
        "tests/test_formats_json.py::test_coqa_of_doubled_predictions_the_last_wins_and_they_are_counted",
        "tests/test_formats_json.py::test_squad_of_doubled_predictions_the_last_wins_and_they_are_counted",
        "tests/test_api.py::test_totals_of_parts_merge_to_the_same_bits",
        f"{HERE}::test_parts_of_unequal_size_merge_by_sums_and_not_by_means",
    ),
    "R42": (
        "tests/test_api.py::test_threads_change_nothing",
        "tests/test_cli_score.py::test_means_of_a_split_file_are_the_same_bits",
        "tests/test_totals.py::test_any_split_and_order_against_fsum",
        "tests/test_stage.py::test_shards_against_one_file",
    ),
    "R43": (
        "tests/test_structure.py::test_every_part_changed_changes_the_signature",
        "tests/test_structure.py::test_every_field_of_a_recipe_is_a_part",
        "tests/test_api.py::test_a_variant_has_a_signature_of_its_own",
        f"{HERE}::test_options_of_rankings_and_rewards_are_in_their_signatures",
    ),
    "R44": (f"{HERE}::test_a_fork_after_use_scores_and_ends",),
    "R46": (
        f"{HERE}::test_a_fork_after_use_scores_and_ends",
        "tests/test_rewards_adapters.py::test_adapters_are_picklable_and_shared_by_threads",
        "tests/test_engines_polars.py::test_many_expressions_at_once_do_not_wait_for_each_other",
        "tests/test_engines_iterators.py::test_bound_calls_pickle_for_other_processes",
    ),
    "R47": (
        "tests/test_kernels.py::test_no_folder_for_the_cache_is_one_warning_and_works",
        "tests/test_kernels.py::test_import_is_light",
        f"{HERE}::test_several_processes_fill_one_cache_at_once",
    ),
    "R48": (
        "tests/test_align.py::test_more_text_than_32_bit_offsets_hold",
        "tests/test_text_columns.py::test_text_layouts_against_plain",
    ),
    "R49": (
        "tests/test_formats_tables.py::test_physical_types_score_alike",
        "tests/test_text_columns.py::test_text_layouts_against_plain",
        "tests/test_align.py::test_text_of_any_type_goes_along_unchanged",
        "tests/test_formats_tables.py::test_columns_that_are_passed_through_keep_their_values",
    ),
    "R50": (
        "tests/test_cli_score.py::test_null_predictions_count_zero_where_the_recipe_says_so",
        "tests/test_rewards_rollouts.py::test_the_null_policy_is_what_it_says",
        "tests/test_text_columns.py::test_other_types_are_refused",
        f"{HERE}::test_no_prediction_is_neither_an_empty_one_nor_the_word_none",
    ),
    "R51": (
        "tests/test_api.py::test_summary_is_plain_and_strict_json",
        "tests/test_cli_score.py::test_no_rows_at_all",
        "tests/test_totals.py::test_an_empty_group_is_none_and_not_nan",
    ),
    "R52": (
        "tests/test_formats_tables.py::test_newlines_in_quotes_of_a_long_csv",
        "tests/test_formats_tables.py::test_byte_order_mark_and_carriage_returns",
        "tests/test_formats_tables.py::test_words_that_mark_missing_values_are_words_in_csv",
        "tests/test_formats_tables.py::test_broken_tables",
    ),
    "R53": (
        "tests/test_stage.py::test_a_huge_row_works_or_is_named",
        "tests/test_stage.py::test_limits",
        "tests/test_formats_tables.py::test_long_fields_of_csv_rows_are_counted",
        f"{HERE}::test_one_long_answer_among_short_ones_costs_its_own_length",
    ),
}

#: Reports that no test holds, and why.
LEFT_OUT: dict[str, str] = {}


# The list itself.


@cache
def _tests_of(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds) and node.name.startswith("test_"))


def test_every_report_is_held_or_left_out_with_a_reason() -> None:
    assert len(set(REPORTS)) == 38
    assert {*HELD_BY, *LEFT_OUT} == set(REPORTS)
    assert not HELD_BY.keys() & LEFT_OUT.keys()
    assert all(reason.strip() for reason in LEFT_OUT.values())


@pytest.mark.parametrize("report", HELD_BY)
def test_named_tests_exist(report: str) -> None:
    assert HELD_BY[report]
    for name in HELD_BY[report]:
        path, _, test = name.partition("::")
        assert (ROOT / path).is_file(), name
        assert test in _tests_of(path), name


# Texts.


@pytest.mark.parametrize("recipe", sorted({row[0] for row in BY_HAND.values()}))
def test_worked_reports_in_the_fast_path_against_hand(recipe: str) -> None:
    """The reports' own inputs, which hold for the reference implementation, in one batch and one by one."""
    cases = {name: row[1:] for name, row in BY_HAND.items() if row[0] == recipe}
    table = pa.record_batch(
        {
            "prediction": pa.array([prediction for prediction, _, _ in cases.values()], pa.string()),
            "references": pa.array([references for _, references, _ in cases.values()], pa.list_(pa.string())),
        }
    )
    items = fastscore.score_batch(table, recipe).to_pylist()
    for (name, (prediction, references, values)), item in zip(cases.items(), items, strict=True):
        assert (item["exact_match"], item["f1"]) == values, name
        assert fastscore.score_one(prediction, references, recipe)["f1"] == values[1], name


@pytest.mark.parametrize("recipe", sorted(RECIPES))
def test_no_prediction_is_neither_an_empty_one_nor_the_word_none(recipe: str) -> None:
    """R50: a call that failed leaves null; that is no text, so neither an empty reference nor the word matches it."""
    lists = [["Berlin"], ["None"], ["null"], [""], ["the"]]
    table = pa.table({"prediction": pa.nulls(5, pa.string()), "references": pa.array(lists, pa.list_(pa.string()))})
    result = fastscore.score(table, recipe=recipe)
    assert [i["status"] for i in result.items.to_pylist()] == ["null_prediction"] * 5
    assert not any(i["exact_match"] or i["f1"] for i in result.items.to_pylist())
    assert result.summary["overall"]["null_prediction"] == 5


def test_a_completion_without_its_tag_is_not_an_empty_answer() -> None:
    """R18: nothing found and nothing wanted are not the same; of several tags in a completion the last counts."""
    for rule in (reward_rule("verl-em", null="zero"), reward_rule("squad_v2", extract="tag:answer", null="zero")):
        failed = reward_one("It is Berlin.", [""], rule)
        assert (failed.reward, failed.status) == (0.0, "extraction_failed")
        assert reward_one("<answer>Berlin</answer>", ["Berlin"], rule).reward == 1.0
        assert reward_one("<answer>Rome</answer> no: <answer>Berlin</answer>", ["Berlin"], rule).reward == 1.0


# Tables.


def test_predictions_in_the_order_of_their_keys_as_text_score_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R04: a file that a JSON library wrote with sorted text keys was paired by position, and nearly all answers were wrong."""
    golds = "".join(json.dumps({"question_id": n, "references": [f"answer {n}"]}) + "\n" for n in range(12))
    (tmp_path / "gold.jsonl").write_text(golds, encoding="utf-8")
    for name, order in (("one", [str(n) for n in range(12)]), ("other", sorted(str(n) for n in range(12)))):
        lines = "".join(json.dumps({"question_id": n, "prediction": f"answer {n}"}) + "\n" for n in order)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        command = ["score", str(tmp_path / f"{name}.jsonl"), str(tmp_path / "gold.jsonl"), "--recipe", "squad", "--json"]
        assert cli.main(command) == 0
        overall = json.loads(capsys.readouterr().out)["overall"]
        assert (overall["count"], overall["exact_match"], overall["f1"]) == (12, 1.0, 1.0)


def test_line_separators_inside_answers_do_not_cut_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """R37: readers that split like `str.splitlines` made four pieces of two records, and lost them."""
    texts = ["a\u2028b", "c\u0085d", "e\u2029f", "g\x0b\x0ch"]
    rows = [{"question_id": str(n), "prediction": text, "references": [text]} for n, text in enumerate(texts)]
    path = tmp_path / "p.jsonl"
    path.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())
    assert cli.main(["score", str(path), "--recipe", "squad", "--json"]) == 0
    overall = json.loads(capsys.readouterr().out)["overall"]
    assert (overall["count"], overall["exact_match"], overall["f1"]) == (4, 1.0, 1.0)


@pytest.mark.parametrize("rows", [1, 999, 1_000, 1_001, 100_000])
def test_a_group_without_references_has_no_mean_at_any_size(rows: int) -> None:
    """R34: an aggregate over nothing turned from null into 0 or NaN once a table had more than a thousand rows."""
    table = pa.table(
        {
            "prediction": ["x"] * (rows + 2),
            "references": pa.array([["x"], *([[]] * rows), ["y"]], pa.list_(pa.string())),
            "by": ["full", *(["empty"] * rows), "full"],
        }
    )
    result = fastscore.score(table, recipe="squad", by="by")
    empty, full = (result.summary["groups"]["by"][name] for name in ("empty", "full"))
    assert (empty["count"], empty["no_references"], empty["exact_match"], empty["f1"]) == (0, rows, None, None)
    assert (full["count"], full["exact_match"]) == (2, 0.5)
    assert result.items.column("f1").null_count == rows
    assert [result.items.column("f1")[at].as_py() for at in (0, -1)] == [1.0, 0.0]


def test_one_long_answer_among_short_ones_costs_its_own_length() -> None:
    """R53: an array of fixed width gives each of 20,000 rows the room of the longest one, here 100 GB."""
    texts = ["short"] * 20_000
    texts[12_345] = "long " * 250_000
    result = fastscore.score(pa.table({"prediction": texts, "references": ["short"] * 20_000}), recipe="squad")
    assert result.summary["overall"]["exact_match"] == 19_999 / 20_000


def test_a_right_refusal_counts_and_both_kinds_of_questions_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """R11: where refusals were dropped, two evaluations of one reader divided by different numbers of questions."""
    questions = [
        {"id": "1", "question": "?", "answers": [{"text": "Rhein", "answer_start": 4}], "is_impossible": False},
        {"id": "2", "question": "?", "answers": [], "is_impossible": True},
    ]
    gold = {"data": [{"paragraphs": [{"context": "Der Rhein", "qas": questions}]}]}
    (tmp_path / "gold.json").write_text(json.dumps(gold), encoding="utf-8")
    (tmp_path / "p.json").write_text(json.dumps({"1": "Rhein", "2": ""}), encoding="utf-8")
    command = ["score", str(tmp_path / "p.json"), str(tmp_path / "gold.json"), "--recipe", "squad_v2", "--official"]
    assert cli.main(command) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {name: printed[name] for name in ("exact", "f1", "total")} == {"exact": 100.0, "f1": 100.0, "total": 2}
    assert [printed[f"{kind}_{name}"] for kind in ("HasAns", "NoAns") for name in ("exact", "total")] == [100.0, 1, 100.0, 1]


# Totals.


def _totals(*predictions: str) -> Any:
    table = pa.table({"prediction": list(predictions), "references": ["x"] * len(predictions)})
    return fastscore.score(table, recipe="squad").totals


def test_counts_beyond_32_bits_are_right() -> None:
    """R39: counts came back without their upper bits from 2**32 rows on."""
    totals = _totals("x", "x", "y")
    for _ in range(33):
        totals.merge(copy.deepcopy(totals))
    block = totals.block()
    assert block["count"] == block["ok"] == 3 * 2**33
    assert block["exact_match"] == block["f1"] == 2 / 3


def test_parts_of_unequal_size_merge_by_sums_and_not_by_means() -> None:
    """R40: filling up the last part, or taking the mean of the parts' means, gives the smaller part too much weight."""
    merged, part = _totals("x", "x", "x", "y", "y", "y", "y", "y"), _totals("x")
    merged.merge(part)
    assert (merged.block()["count"], merged.block()["exact_match"]) == (9, 4 / 9)


# Signatures.


def test_options_of_rankings_and_rewards_are_in_their_signatures() -> None:
    """R43: two settings that score differently printed one signature."""
    options: list[dict[str, Any]] = [{}, {"min_relevance": 2}, {"score_type": "float32"}]
    sides = {"q": {"a": 1.0}}, {"q": {"a": 2}}
    assert len({fastscore.score_ranking(*sides, measures="recall@1", **given).signature for given in options}) == 3
    rules: list[dict[str, Any]] = [{}, {"extract": "tag:answer"}, {"extract": "boxed"}, {"null": "zero"}, {"null": "error"}]
    assert len({reward_rule("squad", **given).signature for given in rules}) == 5


# Processes and threads.

_FORK = """
import os, pickle, sys, threading
import polars as pl, pyarrow as pa
import fastscore
from fastscore.rewards import trl

rows = 20_000
table = pa.table({"prediction": [f"the word {n % 7}" for n in range(rows)], "references": [["word 3", "x"]] * rows})
batch = table.combine_chunks().to_batches()[0]
given = {"completions": ["Paris", "Rome"], "answer": ["Paris", "Paris"], "prompts": ["", ""]}

def work(threads):
    reward = trl("squad")(**given)
    one = fastscore.score_one("Paris", ["Paris"], "coqa")["f1"]
    return reward, one, fastscore.score_batch(batch, "squad", threads=threads).to_pydict()["f1"]

def gather(threads, into):
    into.append(work(threads))

expected = work(1)
pl.DataFrame({"g": [0, 1] * 50_000, "v": [1.0] * 100_000}).group_by("g").agg(pl.col("v").sum())
fastscore.score(table, recipe="squad", threads=2)
found = []
workers = [threading.Thread(target=gather, args=(2, found)) for _ in range(4)]
[w.start() for w in workers]
[w.join() for w in workers]
assert found == [expected] * 4, "threads"
for threads in (1, 2):
    child = os.fork()
    if not child:
        os._exit(0 if work(threads) == expected else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def _python(code: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it printed on both channels; it and its children are ended where it hangs."""
    try:
        return process.communicate(timeout=90)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_after_use_scores_and_ends() -> None:
    """R44, R46: a forked child of a process that had used its threads hung for ever, or was killed at its first kernel."""
    out, err = _ended(_python(_FORK))
    assert out.split() == ["0", "0"], err


def test_several_processes_fill_one_cache_at_once(tmp_path: Path) -> None:
    """R47: processes that start together raced for one folder of compiled code."""
    code = "from fastscore.kernels.sums import add_exactly as k; import numpy as n; o=n.zeros(4,n.int64); z=n.zeros(1,n.int64);"
    code += "k(z,n.ones(1),n.ones(1,n.uint8),o); print(o[0])"
    together = [_python(code, FASTSCORE_CACHE_DIR=str(tmp_path / "cache")) for _ in range(3)]
    assert [_ended(process) for process in together] == [("1\n", "")] * 3
    assert _ended(_python(code, FASTSCORE_CACHE_DIR=str(tmp_path / "cache"))) == ("1\n", "")


def test_r40_predictions_that_stand_twice_are_said() -> None:
    """Rows that repeat make a sum larger without a word: the same key twice is counted and noted, in memory and in a stage."""
    golds = pa.table({"question_id": list(range(9)), "references": [[f"r{i}"] for i in range(9)]})
    rows = {"question_id": [*range(9), 8], "sample_id": [0] * 10, "prediction": ["r8"] * 10}
    twice = fastscore.score(pa.table(rows), golds, recipe="squad")
    assert "predictions of the same question_id and sample_id stand twice: 1; each counts" in twice.notes
    del rows["sample_id"]
    unsaid = fastscore.score(pa.table(rows), golds, recipe="squad")
    assert "1 question has several predictions (up to 2); each counts" in unsaid.notes
