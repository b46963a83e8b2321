"""Adapters called exactly as their frameworks call them: stubs whose calls are read from the frameworks' public sources.

TRL 1.16 ``GRPOTrainer._calculate_rewards``; verl 0.9.1's reward managers ``naive`` and ``batch``; OpenRLHF 0.11.2's single-turn
executor; NeMo-RL's ``EnvironmentInterface.step``; verifiers' ``Rubric`` (to 0.3.1), against the package itself where it is here.
"""

from __future__ import annotations

import asyncio
import inspect
import pickle
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from fastscore.errors import ColumnTypeError, DataError, UnknownNameError, UsageError
from fastscore.rewards import nemo_rl, openrlhf, trl, verifiers, verl, verl_batch

RIGHT, WRONG, NONE = "so <answer>Paris</answer>", "so <answer>Rome</answer>", "so Paris"
GOLD = ["Paris", "paris, France"]


# ---- TRL


def trl_rewards(function: Any, inputs: list[dict[str, Any]]) -> list[float]:
    """As `_calculate_rewards`: all columns but prompt and completion by keyword, with the trainer's own; None becomes NaN."""
    assert isinstance(function.__name__, str)
    prompts, completions = [x["prompt"] for x in inputs], [x["completion"] for x in inputs]
    keys = [key for key in inputs[0] if key not in ["prompt", "completion", "completion_ids"]]
    columns = {key: [example[key] for example in inputs] for key in keys}
    ids = [[1, 2]] * len(inputs)
    columns |= {"trainer_state": object(), "log_extra": print, "log_metric": print}
    out = function(prompts=prompts, completions=completions, completion_ids=ids, **columns)
    assert isinstance(out, list)
    return [reward if reward is not None else float("nan") for reward in out]


def test_trl_with_texts_and_with_messages() -> None:
    function = trl("squad", extract="tag:answer", references="solution", name="em")
    assert function.__name__ == "em"
    rows = [{"prompt": "?", "completion": c, "solution": GOLD, "other": 1} for c in (RIGHT, WRONG, NONE)]
    found = trl_rewards(function, rows)
    assert found[:2] == [1.0, 0.0]
    assert np.isnan(found[2])
    for row in rows:
        row["completion"] = [
            {"role": "assistant", "content": "<answer>never</answer>"},
            {"role": "tool", "content": "<answer>Paris</answer>"},
            {"role": "assistant", "content": [{"type": "text", "text": row["completion"]}]},
        ]
    assert trl_rewards(function, rows)[:2] == [1.0, 0.0]
    assert trl_rewards(function, rows[:1]) == [1.0]
    assert trl_rewards(trl("squad", extract="tag:answer", references="solution", null="zero"), rows) == [1.0, 0.0, 0.0]


def test_trl_names_what_does_not_fit() -> None:
    function = trl("squad")
    with pytest.raises(UnknownNameError, match=r"'answer'.*'answers'"):
        function(prompts=["?"], completions=["x"], answers=["x"])
    with pytest.raises(UsageError, match="completions has 2 rows, answer has 1"):
        function(prompts=["?"], completions=["x", "y"], answer=["x"])
    with pytest.raises(UsageError, match="completions are needed"):
        function(prompts=["?"])
    assert function(prompts=[], completions=[], answer=[]) == []


# ---- verl


def verl_naive(function: Any, items: list[dict[str, Any]]) -> list[float]:
    """As the naive manager: one item a call, a dict's ``score`` or the number itself."""
    rewards = []
    for item in items:
        score = function(
            data_source="nq", solution_str=item["response"], ground_truth=item["ground_truth"], extra_info=item.get("extra_info")
        )
        rewards.append(score["score"] if isinstance(score, dict) else score)
    return rewards


@pytest.mark.parametrize(
    "gold",
    [
        "Paris",
        GOLD,
        tuple(GOLD),
        {"target": GOLD},
        {"target": "Paris"},
        {"target": np.array(GOLD, dtype=object), "extra": 1},
        np.array(GOLD, dtype=object),
        np.array("Paris"),
        np.array(GOLD),
    ],
    ids=["text", "list", "tuple", "target list", "target text", "target array", "object array", "scalar array", "text array"],
)
def test_verl_takes_every_form_of_ground_truth(gold: Any) -> None:
    items = [{"response": r, "ground_truth": gold} for r in (RIGHT, WRONG, NONE)]
    for function in (verl("verl-em"), verl("squad", extract="tag:answer"), verl("verl-em", details=True)):
        assert verl_naive(function, items) == [1.0, 0.0, 0.0]
    batch = verl_batch("verl-em")
    lists = {"data_sources": ["nq"] * 3, "solution_strs": [RIGHT, WRONG, NONE], "ground_truths": [gold] * 3}
    assert batch(**lists, extra_infos=[None] * 3) == [1.0, 0.0, 0.0]
    assert batch(**{**lists, "ground_truths": np.array([None, None, None], dtype=object)}) == [0.0, 0.0, 0.0]


def test_verl_says_more_where_asked() -> None:
    one = verl("squad", extract="tag:answer", details=True)("nq", "<answer>in Paris</answer>", "Paris")
    expected = {"score": 0.0, "exact_match": 0.0, "f1": 2 / 3, "precision": 0.5, "recall": 1.0, "extracted": 1.0}
    assert one == expected
    many = verl_batch("squad", extract="tag:answer", details=True)
    rows = many(["nq"] * 2, ["<answer>in Paris</answer>", NONE], ["Paris"] * 2, [None] * 2)
    assert rows == [expected, dict.fromkeys(expected, 0.0)]
    assert many(["nq"], ["<answer>in Paris</answer>"], ["Paris"], [None]) == [expected]


def test_verl_needs_numbers_and_equal_lengths() -> None:
    with pytest.raises(UsageError, match="zero or error"):
        verl("squad", null="null")
    with pytest.raises(DataError, match="extraction_failed"):
        verl("verl-em", null="error")("nq", NONE, "Paris")
    with pytest.raises(UsageError, match="solution_strs has 1 rows, ground_truths has 2"):
        verl_batch("squad")(["a"], ["x"], ["x", "y"], [None])
    with pytest.raises(UsageError, match="are needed"):
        verl_batch("squad")(["a"])
    with pytest.raises(ColumnTypeError, match="'target'"):
        verl("squad")("a", "x", {"answer": "x"})
    with pytest.raises(ColumnTypeError, match="ground_truth"):
        verl("squad")("a", "x", 42)
    with pytest.raises(ColumnTypeError, match="text or None"):
        verl("squad")("a", "x", [42])
    with pytest.raises(ColumnTypeError, match="references: text or None is allowed, got int"):
        verl_batch("squad")(["a"] * 2, ["x", "y"], [[42], ["y"]])
    with pytest.raises(ColumnTypeError, match="completions"):
        verl("squad")("a", 5, "x")


# ---- OpenRLHF


def test_openrlhf_scores_the_response_alone() -> None:
    prompt = "Use <answer>Paris</answer> tags.\n"
    prompts = [prompt] * 4
    queries = [
        f"<|im_start|>{prompt}{RIGHT}<|im_end|>\n<|endoftext|><|endoftext|>",
        f"<s>{prompt}{WRONG}</s>",
        prompt + NONE,
        f"{prompt}\n<answer>Paris</answer>",
    ]
    out = openrlhf("squad", extract="tag:answer")(queries, prompts, ["Paris"] * 4)
    assert out == {
        "rewards": [1.0, 0.0, 0.0, 1.0],
        "scores": [1.0, 0.0, 0.0, 1.0],
        "extra_logs": {"extracted": [1.0, 1.0, 0.0, 1.0]},
    }
    whole = openrlhf("squad")(["<s>Q: x A: Paris <|eot_id|>"], ["Q: x A:"], [GOLD])
    assert whole["rewards"] == [1.0]


def test_openrlhf_gives_tensors_where_torch_is_there_already(monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = types.ModuleType("torch")
    torch.float32, torch.bool = "float32", "bool"
    torch.tensor = lambda values, dtype: ("tensor", dtype, tuple(values))
    torch.ones = lambda size, dtype: ("ones", dtype, size)
    monkeypatch.setitem(sys.modules, "torch", torch)
    out = openrlhf("squad")(["pParis"], ["p"], ["Paris"])
    assert out["rewards"] == ("tensor", "float32", (1.0,))
    logs = [[{"role": "user", "content": "?"}, {"role": "assistant", "content": "Paris"}]]
    assert nemo_rl("squad").step(logs, [{"ground_truth": "Paris"}]).terminateds == ("ones", "bool", 1)


def test_openrlhf_names_what_does_not_fit() -> None:
    function = openrlhf("squad")
    with pytest.raises(UsageError, match="queries has 1 rows, labels has 2"):
        function(["px"], ["p"], ["x", "y"])
    with pytest.raises(UsageError, match="queries has 1 rows, prompts has 2"):
        function(["px"], ["p", "p"], ["x"])
    with pytest.raises(DataError, match=r"queries\[1\] does not contain prompts\[1\]"):
        function(["px", "x"], ["p", "p"], ["x", "y"])


# ---- NeMo-RL


def test_nemo_rl_steps_through_a_batch() -> None:
    environment = nemo_rl("squad", extract="tag:answer")
    logs = [[{"role": "user", "content": "<answer>Paris</answer>?"}, {"role": "assistant", "content": c}] for c in (RIGHT, NONE)]
    metadata = [{"ground_truth": "Paris"}, {"ground_truth": GOLD}]
    observations, again, stops, rewards, ended, answers = environment.step(logs, metadata)
    assert rewards == [1.0, 0.0]
    assert ended == [True, True]
    assert again == metadata
    assert stops == answers == [None, None]
    assert [o["role"] for o in observations] == ["environment", "environment"]
    assert environment.verify([RIGHT, NONE], ["Paris", "Paris"]) == [1.0, 0.0]
    assert environment.global_post_process_and_metrics({"rewards": [1.0, 0.0]})[1] == {"reward_mean": 0.5}
    assert environment.global_post_process_and_metrics({})[1] == {}
    environment.shutdown()
    with pytest.raises(DataError, match="message_log_batch has 2 rows, metadata has 1"):
        environment.step(logs, metadata[:1])
    with pytest.raises(DataError, match=r"metadata\[1\] has no 'ground_truth', only gold"):
        environment.step(logs, [metadata[0], {"gold": "x"}])
    with pytest.raises(DataError, match="pred_responses has 1 rows"):
        environment.verify(["x"], [])


# ---- verifiers


def rubric_call(function: Any, state: dict[str, Any]) -> float:
    """As `Rubric._call_individual_reward_func`: everything by keyword where the signature takes it, else what it names."""
    signature = inspect.signature(function)
    assert not {"completions", "prompts", "answers", "states"} & set(signature.parameters)
    merged = {key: state.get(key) for key in ("prompt", "completion", "answer", "task", "info")} | {
        "state": state,
        "parser": None,
    }
    if not any(p.kind == p.VAR_KEYWORD for p in signature.parameters.values()):
        merged = {k: v for k, v in merged.items() if k in signature.parameters}
    assert isinstance(function.__name__, str)
    return float(function(**merged))


def test_verifiers_rubrics_call_by_keyword() -> None:
    function = verifiers("squad", extract="tag:answer", name="em")
    state = {
        "prompt": [],
        "completion": [{"role": "assistant", "content": RIGHT}],
        "answer": "Paris",
        "info": {"golds": ["Rome"]},
    }
    assert rubric_call(function, state) == 1.0
    assert rubric_call(function, {**state, "completion": NONE}) == 0.0
    assert rubric_call(verifiers("squad", extract="tag:answer", references="golds"), state) == 0.0
    with pytest.raises(UnknownNameError, match=r"'gold'.*'golds'"):
        rubric_call(verifiers("squad", references="gold"), state)


class Message:
    """As verifiers' messages: an object with fields, no dict."""

    def __init__(self, role: str, content: Any) -> None:
        self.role, self.content = role, content


def test_verifiers_messages_are_objects() -> None:
    """They were an error before, which a rubric turns into a reward of 0."""
    function = verifiers("squad", extract="tag:answer", null="error")
    part = types.SimpleNamespace(type="text", text=RIGHT)
    for messages in (
        [Message("assistant", RIGHT)],
        [Message("assistant", WRONG), Message("tool", WRONG), Message("assistant", [part]), Message("user", WRONG)],
        [Message("text", RIGHT)],
        [{"role": "assistant", "content": [part]}],
    ):
        assert rubric_call(function, {"completion": messages, "answer": "Paris"}) == 1.0
    with pytest.raises(DataError, match="null_prediction"):
        rubric_call(function, {"completion": [Message("assistant", None)], "answer": "Paris"})


@pytest.mark.filterwarnings("ignore")
def test_verifiers_own_rubric_where_it_is_installed() -> None:
    vf = pytest.importorskip("verifiers")
    if not hasattr(vf, "Rubric"):
        pytest.skip("this version of verifiers has no rubrics")
    rubric = vf.Rubric(funcs=[verifiers("squad", extract="tag:answer", name="em")], weights=[0.5])
    for content, expected in ((RIGHT, 0.5), (WRONG, 0.0), (NONE, 0.0)):
        message = vf.types.AssistantMessage(role="assistant", content=content)
        for completion in ([message], [{"role": "assistant", "content": content}], content):
            state = vf.State(input={"prompt": [], "answer": "Paris", "task": "t", "info": {}, "example_id": 0})
            state |= {"completion": completion, "trajectory": []}
            asyncio.run(rubric.score_rollout(state))
            assert (state["reward"], state["metrics"]) == (expected, {"em": 2 * expected})


# ---- all of them

CALLS: list[tuple[Any, Any]] = [
    (trl("squad"), lambda f: f(prompts=["p"], completions=["Paris"], answer=["Paris"])),
    (verl("squad"), lambda f: f("nq", "Paris", "Paris", {})),
    (verl_batch("squad"), lambda f: f(["nq"] * 2, ["Paris"] * 2, ["Paris"] * 2, None)),
    (openrlhf("squad"), lambda f: f(["pParis"], ["p"], ["Paris"])),
    (nemo_rl("squad"), lambda f: f.step([[{"role": "assistant", "content": "Paris"}]], [{"ground_truth": "Paris"}])),
    (verifiers("squad"), lambda f: f(completion="Paris", answer="Paris")),
]


@pytest.mark.parametrize(("adapter", "call"), CALLS, ids=[type(a).__name__ for a, _ in CALLS])
def test_adapters_are_picklable_and_shared_by_threads(adapter: Any, call: Any) -> None:
    expected = call(adapter)
    again = pickle.loads(pickle.dumps(adapter))
    assert again == adapter
    assert call(again) == expected
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: call(adapter), range(64))) == [expected] * 64


@pytest.mark.parametrize("size", [0, 1, 2, 7, 1024])
def test_every_completion_gets_its_reward_in_order(size: int) -> None:
    completions = [f"<answer>{n}</answer>" if n % 3 else f"{n}" for n in range(size)]
    gold = [f"{n - n % 2}" for n in range(size)]
    expected = [None if n % 3 == 0 else float(n % 2 == 0) for n in range(size)]
    found = trl("squad", extract="tag:answer")(prompts=[""] * size, completions=completions, answer=gold)
    assert found == expected
    numbers = verl_batch("squad", extract="tag:answer")([""] * size, completions, gold)
    assert numbers == [e or 0.0 for e in expected]


def test_text_that_utf8_cannot_hold_is_scored_all_the_same() -> None:
    """Tokenizers cut characters in half; a lone surrogate counts as U+FFFD."""
    function = trl("squad")
    odd = ["Paris\ud800", "\udfff", "Paris"]
    gold = ["Paris\ufffd", ["\ud83d"], ["Paris", "\ud800"]]
    assert function(completions=odd, answer=gold) == [1.0, 1.0, 1.0]
    assert [function(completions=[c], answer=[g])[0] for c, g in zip(odd, gold, strict=True)] == [1.0, 1.0, 1.0]
    tagged = trl("squad", extract="tag:a")
    assert tagged(completions=["<a>Paris</a>\ud800"], answer=["Paris"]) == [1.0]


def test_no_framework_is_imported() -> None:
    program = (
        "import sys; from fastscore.rewards import trl, verl, openrlhf, nemo_rl, verifiers;"
        "trl('squad')(completions=['x'], answer=['x']);"
        "print([m for m in ('torch', 'trl', 'verl', 'openrlhf', 'nemo_rl', 'verifiers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
