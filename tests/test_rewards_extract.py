r"""What extraction takes out of completions: a written table of awkward ones, and a plain-Python twin that it always agrees with.

The twins are written with `re` and `str` alone, one a step, and share nothing with the kernels.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore.errors import ColumnTypeError, EncodingError, UnknownNameError, UsageError
from fastscore.kernels.jit import Kernel
from fastscore.rewards.extract import extract, parse_extraction
from tests.strategies import ODD, SPACES

ELEVEN = "".join(f"<answer>{n}</answer>" for n in range(1, 12))

#: What each step gives for a completion; None: nothing is found, which is a failure and not an empty answer.
TABLE: list[tuple[str, str, str, str | None]] = [
    # how it is called, the step, the completion, the answer
    ("plain tag", "tag:answer", "So <answer>Paris</answer>.", "Paris"),
    ("absent tag", "tag:answer", "So it is Paris.", None),
    ("unclosed tag", "tag:answer", "<answer>Paris", None),
    ("only closed", "tag:answer", "Paris</answer>", None),
    ("closed first", "tag:answer", "</answer>Paris<answer>", None),
    ("last unclosed", "tag:answer", "<answer>Rome</answer> no, <answer>Paris", "Rome"),
    ("nested", "tag:answer", "<answer>a<answer>b</answer>c</answer>", "a<answer>b"),
    ("eleven tags", "tag:answer", ELEVEN, "11"),
    ("empty answer", "tag:answer", "<answer></answer>", ""),
    ("blank answer", "tag:answer", "<answer> \n\u3000 </answer>", ""),
    ("other case", "tag:answer", "<Answer>Paris</Answer>", None),
    ("tag with a blank", "tag:answer", "<answer >Paris</answer>", None),
    ("CRLF inside", "tag:answer", "<answer>\r\nPa\r\nris\r\n</answer>\r\n", "Pa\r\nris"),
    ("Unicode space", "tag:answer", "<answer>\u00a0\u2003Paris\u2028\u0085</answer>", "Paris"),
    ("zero width stays", "tag:answer", "<answer>\u200bParis</answer>", "\u200bParis"),
    ("plain box", "boxed", r"so $\boxed{42}$", "42"),
    ("braces in a box", "boxed", r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
    ("fbox", "boxed", r"\boxed{1} then \fbox{2}", "2"),
    ("text in a box", "boxed", r"\boxed{\text{ Paris }}", "Paris"),
    ("text and more", "boxed", r"\boxed{\text{a} b}", r"\text{a} b"),
    ("unbalanced last box", "boxed", r"\boxed{1} and \boxed{2", "1"),
    ("escaped brace", "boxed", r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
    ("box in a box", "boxed", r"\boxed{a \boxed{b}}", "b"),
    ("empty box", "boxed", r"\boxed{}", ""),
    ("no brace", "boxed", r"\boxed 42", None),
    ("last marker", "after:####", "#### 1\n#### 2 ", "2"),
    ("marker at the end", "after:</think>", "<think>x</think>", ""),
    ("marker absent", "after:####", "42", None),
    ("first line", "line:first", "\n\n Paris\r\nbecause", "Paris"),
    ("last line", "line:last", "because\n Paris \n\n", "Paris"),
    ("line of nothing", "line:last", " \n\t\n", None),
    ("last match", r"regex:\d+", "1, 22 or 333", "333"),
    ("first group", r"regex:Answer: (\w+)(!)?", "Answer: no Answer: yes!", "yes"),
    ("a group not in it", r"regex:Answer(: \w+)?", "Answer: a Answer", ""),
    ("no match", r"regex:\d+", "none", None),
    ("word boundary", r"regex:\b[A-D]\b", "A or B, ABCD", "B"),
    ("chain", "tag:answer>boxed", r"\boxed{1} <answer>so \boxed{2}</answer>", "2"),
    ("chain that breaks", "tag:answer>boxed", r"\boxed{1} <answer>2</answer>", None),
    ("long chain", "after:</think>>line:first>regex:[A-Z]\\w+", "Rome</think>\n is Paris\nOslo", "Paris"),
]


# ---- the twins


def last_tag(text: str, name: str) -> str | None:
    found = re.findall(f"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return found[-1].strip() if found else None


def last_box(text: str) -> str | None:
    """Try every box from the last to the first, reading on until its braces balance."""
    for start in reversed([m.end() for m in re.finditer(r"\\(?:boxed|fbox) *\{", text)]):
        end = closing(text, start)
        if end is not None:
            inside = text[start:end].strip()
            for wrapper in ("\\text{", "\\textbf{", "\\mathrm{", "\\mbox{"):
                if inside.startswith(wrapper) and closing(inside, len(wrapper)) == len(inside) - 1:
                    return inside[len(wrapper) : -1].strip()
            return inside
    return None


def closing(text: str, at: int) -> int | None:
    """Where the brace before `at` is closed; a backslash takes the character after it along."""
    depth = 1
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] in "{}":
            depth += 1 if text[at] == "{" else -1
            if depth == 0:
                return at
        at += 1
    return None


def rest(text: str, marker: str) -> str | None:
    return text.rpartition(marker)[2].strip() if marker in text else None


def one_line(text: str, which: str) -> str | None:
    lines = text.strip().split("\n")
    line = lines[0 if which == "first" else -1].strip()
    return line if text.strip() else None


def last_match(text: str, pattern: str) -> str | None:
    """Rust's matches: as `re` finds them, but for an empty one right behind another."""
    found: list[re.Match[str]] = []
    for match in re.finditer(pattern, text):
        if match[0] or not found or found[-1].end() < match.start():
            found.append(match)
    if not found:
        return None
    return ((found[-1][1] or "") if re.compile(pattern).groups else found[-1][0]).strip()


def expected(text: str | None, spec: list[str]) -> str | None:
    for step in spec:
        if text is None:
            return None
        kind, _, argument = step.partition(":")
        if kind == "boxed":
            text = last_box(text)
        else:
            twin: Any = {"tag": last_tag, "after": rest, "line": one_line, "regex": last_match}[kind]
            text = twin(text, argument)
    return text


# ---- the table


@pytest.mark.parametrize(("spec", "completion", "answer"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_each_awkward_completion_gives_what_the_table_says(spec: str, completion: str, answer: str | None) -> None:
    answers, failed = extract(pa.array([completion, None, completion]), spec)
    assert answers.to_pylist() == [answer, None, answer]
    assert failed.tolist() == [answer is None, False, answer is None]
    assert expected(completion, [str(s) for s in parse_extraction(spec)]) == answer


def test_the_table_has_every_kind_of_step() -> None:
    kinds = {str(step).partition(":")[0] for _, spec, _, _ in TABLE for step in parse_extraction(spec)}
    assert kinds == {"tag", "boxed", "after", "line", "regex"}
    assert len(TABLE) >= 30


# ---- always as the twins

PIECES = [
    *(
        "<answer>",
        "</answer>",
        "<answer",
        "answer>",
        "</",
        "<b>",
        "</b>",
        "\\boxed{",
        "\\fbox{",
        "\\boxed {",
        "\\text{",
        "}",
        "{",
    ),
    *(
        "\\",
        "\\\\",
        "\\}",
        "\\{",
        "\\mbox{",
        "\\textbf{",
        "####",
        "##",
        "\n",
        "\r\n",
        " ",
        "\u3000",
        "\u2028",
        "12",
        "A",
        "x",
        "Paris",
    ),
]
COMPLETIONS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.sampled_from(list(ODD + SPACES))), max_size=30).map("".join),
)
STEPS = st.sampled_from(
    [
        *("tag:answer", "tag:b", "boxed", "after:####", "after:</answer>", "after:\u3000", "line:first", "line:last"),
        *("regex:[0-9]+", "regex:<b>([^<]*)", "regex:(A)|x", "regex:x*"),
    ]
)


@given(st.lists(st.one_of(st.none(), COMPLETIONS), max_size=12), st.lists(STEPS, min_size=1, max_size=3))
def test_extraction_against_plain_python(completions: list[str | None], spec: list[str]) -> None:
    answers, failed = extract(pa.array(completions, pa.string()), spec)
    wanted = [expected(text, spec) for text in completions]
    assert answers.to_pylist() == wanted
    assert failed.tolist() == [w is None and c is not None for c, w in zip(completions, wanted, strict=True)]
    answers.validate(full=True)


@given(st.lists(st.one_of(st.none(), COMPLETIONS), max_size=9), STEPS, st.integers(0, 4))
def test_layout_slices_and_chunks_change_nothing(completions: list[str | None], step: str, cut: int) -> None:
    plain = pa.array(completions, pa.string())
    answers, failed = extract(plain, step)
    for layout in (pa.large_string(), pa.string_view(), pa.binary()):
        others, flags = extract(plain.cast(layout), step)
        assert others.to_pylist() == answers.to_pylist()
        assert flags.tolist() == failed.tolist()
    assert extract(plain.dictionary_encode(), step)[0].to_pylist() == answers.to_pylist()
    chunks, flags = extract(pa.chunked_array([plain[:cut], plain[cut:]], pa.string()), step)
    assert chunks.to_pylist() == answers.to_pylist()
    assert flags.tolist() == failed.tolist()


def test_threads_change_nothing() -> None:
    column = pa.array([f"<answer>{n}</answer> #### {n}" if n % 3 else f"{n}" for n in range(9_000)])
    for spec in ("tag:answer", "after:####"):
        alone, failed = extract(column, spec)
        together, flags = extract(column, spec, threads=2)
        assert together.equals(alone)
        assert np.array_equal(failed, flags)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("tag:answer", "<answer>" * 200_000),
        ("tag:answer", "<" * 1_000_000),
        ("boxed", "\\boxed{" * 150_000),
        ("boxed", "\\" * 1_000_000 + "}"),
        ("boxed", "}" * 500_000 + "{" * 500_000),
        ("boxed", "\\boxed" + " " * 500_000 + "{"),
        ("after:####", "#" * 3 + " ###" * 200_000),
        ("regex:(a+)+b", "a" * 300_000),
    ],
)
def test_hostile_texts_are_passed_in_one_go(spec: str, text: str) -> None:
    """Quadratic work on these would take minutes."""
    answers, failed = extract(pa.array([text]), spec)
    assert answers.to_pylist() == [None]
    assert failed.tolist() == [True]


# ---- mistakes


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tga:answer", "did you mean"),
        ("tag", "needs an argument"),
        ("tag:<answer>", "bare name"),
        ("boxed:1", "takes no argument"),
        ("line:third", "line:first or line:last"),
        ("regex:(", "is not a regular expression"),
        ("regex:(?=a)", "is not a regular expression"),
        ("", "there is no step"),
        ([], "steps such as"),
        ([1], "steps such as"),
    ],
)
def test_a_specification_that_cannot_be_read_is_said(spec: Any, message: str) -> None:
    with pytest.raises(UsageError, match=f"(?i){re.escape(message)}"):
        parse_extraction(spec)


def test_unknown_steps_are_key_errors_too() -> None:
    with pytest.raises(UnknownNameError):
        parse_extraction("xml:answer")


def test_chains_are_split_at_steps_only() -> None:
    assert [str(s) for s in parse_extraction("after:a > b>line:last")] == ["after:a > b", "line:last"]
    assert [str(s) for s in parse_extraction("regex:(?P<x>\\d)>boxed")] == ["regex:(?P<x>\\d)", "boxed"]
    assert [str(s) for s in parse_extraction(["after:>boxed", "boxed"])] == ["after:>boxed", "boxed"]


def test_columns_that_hold_no_text_are_refused() -> None:
    with pytest.raises(ColumnTypeError, match="text column"):
        extract(pa.array([1]), "boxed")
    with pytest.raises(EncodingError, match="row 1"):
        extract(pa.array([b"<b>x</b>", b"<b>\xff</b>"]), "tag:b")
    assert extract(pa.array([], pa.string()), "boxed")[0].to_pylist() == []
    assert extract(pa.nulls(2), "boxed")[1].tolist() == [False, False]


def test_polars_columns_come_in_by_their_arrow_side() -> None:
    column = pl.Series(["a #### b", "c"]).to_arrow()
    assert extract(column, "after:####")[0].to_pylist() == ["b", None]


def test_kernels_run_as_plain_python_too() -> None:
    """The same code without the compiler, so that an index out of bounds is found."""
    from fastscore.kernels import extract as kernels

    for _, spec, completion, answer in TABLE:
        step = parse_extraction(spec)[0]
        data = np.frombuffer(completion.encode(), dtype=np.uint8)
        if step.kind == "regex" or ">" in spec or not data.size:
            continue
        starts, ends = np.zeros(1, dtype=np.int64), np.full(1, data.size, dtype=np.int64)
        failed = np.zeros(1, dtype=np.uint8)
        function: Kernel = {
            "tag": kernels.narrow_to_last_tag,
            "boxed": kernels.narrow_to_box,
            "after": kernels.narrow_to_rest,
            "line": kernels.narrow_to_line,
        }[step.kind]
        arguments: tuple[Any, ...] = step.wanted if step.kind in ("tag", "after") else ()
        if step.kind == "line":
            arguments = (step.argument == "last",)
        function.py_func(data, starts, ends, *arguments, failed, 0, 1)
        assert (None if failed[0] else bytes(data[starts[0] : ends[0]]).decode()) == answer
