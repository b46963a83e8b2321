"""Rewards of tables, against the reference implementation, on real generations, and through the command."""

from __future__ import annotations

import json
import math
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastscore.rewards
from fastscore import naive
from fastscore.cli import main
from fastscore.errors import DataError, UnknownNameError, UsageError
from fastscore.recipes import RECIPES
from fastscore.rewards import reward_batch, reward_one, reward_rule, score_rollouts
from fastscore.rewards.arguments import completion_text
from tests.conftest import shared_path
from tests.strategies import texts

RULES: list[dict[str, Any]] = [
    {"recipe": "squad"},
    {"recipe": "coqa:f1", "extract": "tag:answer"},
    {"recipe": {"squad": 0.5, "squad:f1": 0.25, "triviaqa:recall": 2.0}, "extract": "boxed"},
    {"recipe": "verl-sub-em", "format_tags": "think,answer", "format_weight": 0.1},
    {"recipe": ["squad_v2", "verl-em"], "weights": [1, -1], "min_length": 4, "max_length": 30},
    {"recipe": "germanquad", "extract": "after:####>line:first", "max_length": 3, "length_unit": "words"},
]
WRAPPERS = ["{}", "<answer>{}</answer>", "\\boxed{{{}}}", "#### {}", "<think>x</think><answer>{}</answer>", "<answer>{}"]
ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.tuples(st.sampled_from(WRAPPERS), texts()).map(lambda pair: pair[0].format(pair[1]))),
        st.one_of(st.none(), st.lists(st.one_of(st.none(), texts(), st.just("Paris")), max_size=3)),
    ),
    max_size=8,
)


# ---- against plain Python


def twin(completion: str | None, references: list[str | None] | None, options: dict[str, Any]) -> tuple[float | None, str]:
    """The reward by the reference implementation, `re` and `str`."""
    answer = extracted(completion, options.get("extract"))
    given = options["recipe"]
    names = [given] if isinstance(given, str) else list(given)
    weights = options.get("weights", given.values() if isinstance(given, dict) else [1.0] * len(names))
    total, status = 0.0, "ok"
    for name, weight in zip(names, weights, strict=True):
        recipe, _, metric = name.partition(":")
        scores = naive.score_one(answer, references, RECIPES[recipe])
        here = scores["status"]
        if here == "null_prediction" and completion is not None:
            here = "extraction_failed"
        status = here if status == "ok" else status
        if here == "ok":
            total += weight * scores[metric or "exact_match"]
    tags = options.get("format_tags", "").split(",") if "format_tags" in options else []
    if tags and completion is not None:
        once = all(completion.count(f"<{t}>") == completion.count(f"</{t}>") == 1 for t in tags)
        order = re.search(".*?".join(f"<{t}>.*?</{t}>" for t in tags), completion, re.DOTALL)
        total += options["format_weight"] * bool(once and order)
    if completion is not None and ("min_length" in options or "max_length" in options):
        length = len(completion.split()) if options.get("length_unit") == "words" else len(completion)
        if not options.get("min_length", 0) <= length <= options["max_length"]:
            total = 0.0
    return total, status


def extracted(text: str | None, spec: str | None) -> str | None:
    if text is None or spec is None:
        return text
    if spec == "tag:answer":
        found = re.findall("<answer>(.*?)</answer>", text, re.DOTALL)
        return found[-1].strip() if found else None
    if spec == "after:####>line:first":
        rest = text.rpartition("####")[2].strip()
        return rest.split("\n")[0].strip() if "####" in text and rest else None
    return fastscore.rewards.extract.extract(pa.array([text]), spec)[0][0].as_py()  # type: ignore[attr-defined]  # boxed has its own twin


@given(ROWS, st.sampled_from(RULES), st.sampled_from(["null", "zero"]))
def test_rewards_against_the_reference_implementation(
    rows: list[tuple[str | None, list[str | None] | None]], options: dict[str, Any], null: str
) -> None:
    rule = reward_rule(**options, null=null)  # type: ignore[arg-type]
    schema = pa.schema([("prediction", pa.string()), ("references", pa.list_(pa.string()))])
    batch = pa.RecordBatch.from_pydict({"prediction": [c for c, _ in rows], "references": [r for _, r in rows]}, schema=schema)
    out = reward_batch(batch, rule).to_pylist()
    for (completion, references), row in zip(rows, out, strict=True):
        reward, status = twin(completion, references, options)
        assert row["status"] == status
        assert row["reward"] == (None if status != "ok" and null == "null" else reward)
        one = reward_one(completion, references, rule)
        assert (one.reward, one.status) == (row["reward"], row["status"])
        assert one.scores == {m: row[m] for m in one.scores}


@given(ROWS, st.sampled_from(RULES))
def test_rules_survive_pickling_and_threads_change_nothing(
    rows: list[tuple[str | None, list[str | None] | None]], options: dict[str, Any]
) -> None:
    rule = reward_rule(**options)
    again = pickle.loads(pickle.dumps(rule))
    assert again == rule
    assert again.signature == rule.signature
    schema = pa.schema([("prediction", pa.string()), ("references", pa.list_(pa.string()))])
    batch = pa.RecordBatch.from_pydict({"prediction": [c for c, _ in rows], "references": [r for _, r in rows]}, schema=schema)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda r: reward_batch(batch, r), [rule, again])
    assert first.equals(second)


# ---- what a table gets


def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "prompt_id": ["p", "q", "p", "q", "p"],
            "prediction": ["<answer>Paris</answer>", "Rome", None, "<answer>the Rome</answer>", "<answer>Lyon</answer>"],
            "references": [["Paris"], ["Rome"], ["Paris"], ["Rome"], ["Paris"]],
        }
    )


def test_rows_keep_their_order_and_a_failure_is_a_status() -> None:
    out = score_rollouts(table(), recipe="squad", extract="tag:answer")
    assert out.column("prompt_id").to_pylist() == ["p", "q", "p", "q", "p"]
    assert out.column("answer").to_pylist() == ["Paris", None, None, "the Rome", "Lyon"]
    assert out.column("extracted").to_pylist() == [True, False, None, True, True]
    assert out.column("reward").to_pylist() == [1.0, None, None, 1.0, 0.0]
    assert out.column("status").to_pylist() == ["ok", "extraction_failed", "null_prediction", "ok", "ok"]
    assert out.column("group_size").to_pylist() == [2, 1, 2, 1, 2]
    assert out.column("group_all_equal").to_pylist() == [False, True, False, True, False]
    step = 0.5 / (math.sqrt(0.5) + 1e-4)
    assert out.column("advantage").to_pylist() == pytest.approx([step, None, None, 0.0, -step])


def test_the_null_policy_is_what_it_says() -> None:
    zero = score_rollouts(table(), recipe="squad", extract="tag:answer", null="zero", advantage=None)
    assert zero.column("reward").to_pylist() == [1.0, 0.0, 0.0, 1.0, 0.0]
    assert zero.column("exact_match").null_count == 0
    assert zero.column("status").to_pylist()[1:3] == ["extraction_failed", "null_prediction"]
    assert "advantage" not in zero.column_names
    with pytest.raises(DataError, match=r"2 rows .*row 1: extraction_failed, row 2: null_prediction"):
        score_rollouts(table(), recipe="squad", extract="tag:answer", null="error")


def test_a_recipes_own_tag_that_is_absent_is_a_failed_extraction_too() -> None:
    out = score_rollouts(table(), recipe="verl-em", null="zero")
    assert out.column("status").to_pylist() == ["ok", "extraction_failed", "null_prediction", "ok", "ok"]
    assert out.column("answer").to_pylist() == ["Paris", None, None, "the Rome", "Lyon"]
    assert out.column("extracted").to_pylist() == [True, False, None, True, True]


def test_format_and_length_have_columns_of_their_own() -> None:
    frame = pl.DataFrame(
        {
            "question_id": [1] * 7,
            "prediction": [
                *("<think>a</think><answer>Paris</answer>", "<answer>Paris</answer>", "<answer>Paris</answer><think></think>"),
                *("<think>a</think><answer>Paris</answer><answer>Paris</answer>", "<think><answer>Paris</answer></think>", None),
                "<think>" + "a" * 40 + "</think><answer>Paris</answer>",
            ],
            "references": ["Paris"] * 7,
        }
    )
    out = score_rollouts(
        frame, recipe="squad", extract="tag:answer", format_tags=["think", "answer"], format_weight=0.5, max_length=60
    )
    assert out.column("format").to_pylist() == [1.0, 0.0, 0.0, 0.0, 0.0, None, 1.0]
    assert out.column("length").to_pylist() == [38, 22, 37, 60, 37, None, 77]
    assert out.column("length_ok").to_pylist() == [True] * 5 + [None, False]
    assert out.column("reward").to_pylist() == [1.5, 1.0, 1.0, 1.0, 1.0, None, 0.0]


def test_references_are_joined_and_those_without_a_rollout_left_out() -> None:
    rollouts = pl.DataFrame({"question_id": ["b", "a", "x", "b"], "prediction": ["Rome", "Paris", "?", "Oslo"]})
    gold = pl.DataFrame({"question_id": ["a", "b", "c"], "references": [["Paris"], ["Rome"], ["Bonn"]]})
    out = score_rollouts(rollouts, gold, recipe="squad")
    assert out.column("question_id").to_pylist() == ["b", "a", "x", "b"]
    assert out.column("reward").to_pylist() == [1.0, 1.0, None, 0.0]
    assert out.column("status").to_pylist() == ["ok", "ok", "unmatched_prediction", "ok"]


def test_lists_of_completions_become_rows() -> None:
    frame = pl.DataFrame(
        {
            "prompt_id": ["p", "q", "r"],
            "out": [{"text": ["Paris", "Rome"]}, {"text": []}, {"text": ["Rome"]}],
            "references": ["Paris", "x", "Rome"],
        }
    )
    out = score_rollouts(frame, recipe="squad", prediction="out.text")
    assert out.select(["prompt_id", "sample_id", "reward"]).to_pylist() == [
        {"prompt_id": "p", "sample_id": 0, "reward": 1.0},
        {"prompt_id": "p", "sample_id": 1, "reward": 0.0},
        {"prompt_id": "r", "sample_id": 0, "reward": 1.0},
    ]


def test_an_empty_table_gives_an_empty_one() -> None:
    out = score_rollouts(table().head(0), recipe="squad", extract="tag:answer", normal_form=True)
    assert out.num_rows == 0
    assert {"reward", "advantage", "normal_form", "group_rank"} <= set(out.column_names)


def test_batches_change_nothing() -> None:
    whole = table().to_arrow()
    pieces = pa.concat_tables([whole.slice(0, 2), whole.slice(2, 1), whole.slice(3)])
    options: dict[str, Any] = {"recipe": "squad:f1", "extract": "tag:answer", "format_tags": "answer"}
    assert score_rollouts(pieces, **options).combine_chunks().equals(score_rollouts(whole, **options).combine_chunks())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipe": "sqaud"}, "squad"),
        ({"recipe": []}, "at least one"),
        ({"recipe": "squad", "metric": "em"}, "metric"),
        ({"recipe": "squad:exact"}, "exact_match"),
        ({"recipe": ["squad", "coqa"], "weights": [1]}, "weights: one for each of the 2"),
        ({"recipe": "squad", "weights": [math.nan]}, "finite"),
        ({"recipe": {"squad": 1}, "weights": [1]}, "one of the two"),
        ({"recipe": "squad", "null": "nan"}, "null, zero, error"),
        ({"recipe": "squad", "length_unit": "bytes"}, "characters, words"),
        ({"recipe": "squad", "min_length": 5, "max_length": 4}, "min_length"),
        ({"recipe": "squad", "max_length": 1.5}, "max_length"),
        ({"recipe": "squad", "format_tags": "a,a"}, "once"),
        ({"recipe": "squad", "extract": "xml"}, "no step"),
        ({"recipe": "squad", "group": "prompt"}, "prompt_id"),
        ({"recipe": "squad", "prediction": "predictoin"}, "prediction"),
        ({"recipe": "squad", "keep": ["reward"], "prediction": "prediction"}, "reward"),
        ({"recipe": "squad", "advantage": "ppo"}, "ppo"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        score_rollouts(table().with_columns(reward=1.0), **options)


# ---- real generations


@pytest.mark.real
def test_triviaqa_generations_give_their_published_figures() -> None:
    path = shared_path("data/samples/triviaqa-500x20.jsonl")
    options: dict[str, Any] = {"prediction": "generations.text_cleaned", "references_column": "answer", "group": "id"}
    out = score_rollouts(path, recipe="squad", normal_form=True, **options)
    summary = fastscore.rewards.summarize(out, reward_rule("squad"), ["id"], pass_at=[1, 20], maj_at=[1])
    assert out.num_rows == summary["rollouts"] == 10_000
    assert summary["reward"] == 0.4333
    assert summary["pass@1"]["mean"] == pytest.approx(0.4333, abs=1e-15)
    assert summary["maj@1"]["mean"] == pytest.approx(0.4333, abs=1e-15)
    assert summary["pass@20"]["mean"] == 0.814
    assert summary["groups"] == {"count": 500, "one_row": 0, "no_reward": 0, "all_equal": 99, "no_prompt": 0}


# ---- the command


def test_the_command_writes_rewards_and_prints_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "rollouts.parquet", tmp_path / "rewards.parquet"
    table().write_parquet(file)
    call = ["rewards", str(file), "--recipe", "squad", "--extract", "tag:answer", "--group-by", "prompt_id", "-o", str(out)]
    assert main([*call, "--advantage", "rloo", "--pass-at", "1,2", "--maj-at", "1", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["extraction_rate"], summary["extracted"]) == (0.6, 3)
    assert (summary["reward"], summary["reward_over_all"]) == (2 / 3, 0.4)
    assert summary["extraction_failed"] == summary["null_prediction"] == 1
    assert summary["pass@1"]["mean"] == 0.75
    assert (summary["pass@2"]["mean"], summary["pass@2"]["left_out"]) == (1.0, 1)
    written = pl.read_parquet(out)
    assert written["advantage"].to_list() == [1.0, None, None, 0.0, -1.0]
    assert written["normal_form"].to_list() == ["paris", None, None, "rome", "lyon"]
    assert main(call) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main([*call, "--overwrite"]) == 0
    shown = capsys.readouterr().out
    assert "60.00 %" in shown
    assert "reward, none as 0" in shown
    assert "extraction_failed" in shown


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--recipe", "squad", "--pass-at", "0"], 2, "whole numbers from 1"),
        (["--recipe", "sqaud"], 2, "squad"),
        (["--recipe", "squad", "--group-by", "nope"], 2, "nope"),
        (["--recipe", "squad", "--advantage", "ppo"], 2, "ppo"),
        (["--recipe", "verl-em", "--null", "error"], 3, "extraction_failed"),
    ],
)
def test_the_command_says_mistakes_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, message: str
) -> None:
    file = tmp_path / "rollouts.jsonl"
    table().write_ndjson(file)
    assert main(["rewards", str(file), *options]) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_public_names_are_loaded_at_first_use() -> None:
    for name in fastscore.rewards.__all__:
        assert callable(getattr(fastscore.rewards, name))
    assert set(dir(fastscore.rewards)) == set(fastscore.rewards.__all__)
    with pytest.raises(AttributeError, match="no attribute"):
        fastscore.rewards.trll
    with pytest.raises(UnknownNameError):
        reward_rule("squad:em")


MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["assistant", "user", "text", None]), "content": st.sampled_from(["Paris", "x", "", None])}
    ),
    max_size=4,
)


@given(st.lists(st.one_of(st.none(), MESSAGES), min_size=1, max_size=5), st.booleans())
def test_chats_are_the_text_of_the_last_own_message(chats: list[Any], nested: bool) -> None:
    message = pl.List(pl.Struct({"role": pl.String, "content": pl.String}))
    column = pl.Series("prediction", [chats], pl.List(message)) if nested else pl.Series("prediction", chats, message)
    gold = pl.Series("references", [["Paris"]] * len(column))
    plain = pl.DataFrame({"prediction": [completion_text(chat) for chat in chats]}, schema={"prediction": pl.String})
    right = score_rollouts(plain.with_columns(references=pl.lit(["Paris"])), recipe="squad")
    got = score_rollouts(pl.DataFrame([column, gold]), recipe="squad")
    assert got.select(right.column_names).to_pylist() == right.to_pylist()


def test_chats_in_a_file_against_their_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["<answer>Paris</answer>", None, "Paris", ""]
    chats = [None if t is None else [{"role": "user", "content": "?"}, {"role": "assistant", "content": t}] for t in texts]
    frame = pl.DataFrame({"chat": chats, "text": texts, "references": [["Paris"]] * 4, "prompt_id": [1, 1, 2, 2]})
    frame.write_parquet(tmp_path / "rollouts.parquet")
    given = ["rewards", str(tmp_path / "rollouts.parquet"), "-r", "squad", "--extract", "tag:answer", "-q"]
    for name in ("chat", "text"):
        assert main([*given, "--prediction", name, "-o", str(tmp_path / f"{name}.parquet")]) == 0
    capsys.readouterr()
    assert pl.read_parquet(tmp_path / "chat.parquet").equals(pl.read_parquet(tmp_path / "text.parquet"))
