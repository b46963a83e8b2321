"""Kernels as plain Python against their compiled selves, and the promises of the jit's home."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fastscore.kernels import bits, columns, extract, lists, search, sums, wide, words
from fastscore.kernels.jit import inner, kernel, kernels
from fastscore.kernels.scratch import word_scratch
from fastscore.kernels.warmup import compile_all
from fastscore.metrics.contains import matches_of
from fastscore.metrics.words import rules_of
from fastscore.recipes import RECIPES
from fastscore.text.columns import list_column, text_column
from fastscore.text.tables import normal_form

TEXTS = ["The cat's «Größe» – a END", "x" * 70 + " ΑΣ, İ", "", "the the dog", "A long-word-of-more-than-fifteen 北京"]
LISTS = [["cats größe end"], ["x", "y"], [], ["the dog dog"], ["along-word", "longwordofmorethanfifteen", "b"]]
ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("name", ["coqa", "coqa-card", "germanquad", "squad_v2", "mlqa-ar", "cjrc", "hotpotqa"])
def test_score_rows_compiled_against_plain(name: str) -> None:
    texts, references = text_column(pa.array(TEXTS)), list_column(pa.array(LISTS, pa.list_(pa.string())))
    nothing = np.zeros(0, np.uint8)
    results = []
    for run in (words.score_rows, words.score_rows.py_func):
        out = (np.zeros(5, np.uint8), *(np.zeros(5) for _ in range(4)), np.zeros(5, np.int32))
        scratch = word_scratch(200, 200, 8, alone=True)
        sides = (texts.data, texts.starts, texts.ends, nothing)
        gold = (
            references.texts.data,
            references.texts.starts,
            references.texts.ends,
            nothing,
            nothing,
            references.starts,
            references.ends,
            *matches_of(texts, references, RECIPES[name]),
            references.texts.packed(),
        )
        assert (
            run(*sides, *gold, *normal_form(RECIPES[name]), rules_of(RECIPES[name]), 0, 5, scratch.budget, *out, *scratch.arrays)
            == -1
        )
        results.append([o.tolist() for o in out])
    assert results[0] == results[1]
    assert sum(results[0][2]) > 0 or name == "germanquad"


def test_wide_operations_compiled_against_plain() -> None:
    rng = np.random.default_rng(3)

    @inner
    def all_of(
        source: object, out: object, lower: int, deleted: int, blanked: int, narrow: int, gone: object, spaced: object
    ) -> object:
        other, kept = wide.clean64(source, 0, out, 0, lower, deleted, blanked, narrow, gone, spaced)
        return (
            other,
            kept,
            wide.blanks64(source, 0),
            wide.words64(source, 0),
            wide.leads64(source, 0),
            wide.highest_bit(kept | np.uint64(1)),
            wide.equal64(source, 0, source, 64),
            wide.equal_byte64(source, 0, source[1], lower),
            wide.count_bits(kept),
            bits.load64(source, 3),
        )

    for _ in range(200):
        source = rng.integers(0, 256 if rng.random() < 0.3 else 128, 136, dtype=np.uint8)
        marks = rng.integers(0, 2**64, 2, dtype=np.uint64, endpoint=False) if rng.random() < 0.5 else np.zeros(2, np.uint64)
        for settings in ((32, 255, 0, 0, *marks), (0, 0, 0, 255, *marks), (32, 0, 255, 255, *marks)):
            outs = np.zeros((2, 72), np.uint8)
            compiled, plain = all_of(source, outs[0], *settings), all_of.py_func(source, outs[1], *settings)
            assert [int(x) for x in compiled] == [int(x) for x in plain]
            ascii_only = int(compiled[0]) == 0
            if ascii_only:
                written = int(compiled[1]).bit_count()
                assert outs[0, :written].tolist() == outs[1, :written].tolist()


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_small_kernels_compiled_against_plain() -> None:
    column = text_column(
        pa.array([" \u2003first\nsecond", "<answer>a</answer> b <answer>c</answer>", "<answer>open", "abcabcabd", "CANNOTANSWER"])
    )
    opening, closing = (np.frombuffer(t, np.uint8) for t in (b"<answer>", b"</answer>"))
    got = []
    for pick in (lambda k: k, lambda k: k.py_func):
        starts, ends, failed = column.starts.copy(), column.ends.copy(), np.zeros(5, np.uint8)
        pick(extract.narrow_to_last_tag)(column.data, starts, ends, opening, closing, failed, 0, 5)
        lines = column.starts.copy(), column.ends.copy()
        pick(columns.first_lines)(column.data, column.starts, column.ends, *lines)
        flags, kept = np.zeros(5, np.uint8), np.zeros(5, np.uint8)
        pick(columns.equal_to)(column.data, column.starts, column.ends, np.frombuffer(b"CANNOTANSWER", np.uint8), flags)
        pick(lists.vote)(flags, np.array([0, 3]), np.array([3, 5]), kept)
        limbs = np.zeros(8, np.int64)
        pick(sums.add_exactly)(np.array([0, 1, 0]), np.array([0.1, 1 / 3, 1.0]), np.array([1, 1, 0], np.uint8), limbs)
        one = np.array([0]), np.array([9])
        found = np.zeros(3, np.uint8)
        texts = np.frombuffer(b"abcabdabcabcabd", np.uint8)
        listed = np.array([0, 6]), np.array([6, 15]), np.array([0]), np.array([2]), np.array([0])
        pick(search.match_pairs)(column.data[-21:-12], *one, texts, *listed, found)
        uniform = text_column(pa.array(["Ab", "aB", "b", "é", "ab", "AB", "ab"]))
        lists_of = np.array([0, 3, 4]), np.array([3, 4, 7])
        firsts, open_rows = np.zeros(7, np.uint8), np.zeros(3, np.uint8)
        left = pick(lists.first_of_equals_ascii)(*uniform[:3], *lists_of, True, firsts, open_rows)
        exact = np.zeros(7, np.uint8)
        pick(lists.first_of_equals)(*uniform[:3], *lists_of, np.zeros(8, np.int64), exact)
        found = np.concatenate((found, firsts, open_rows, exact, [left]))
        got.append(
            [
                starts.tolist(),
                ends.tolist(),
                failed.tolist(),
                *(x.tolist() for x in lines),
                flags.tolist(),
                kept.tolist(),
                limbs.tolist(),
                found.tolist(),
            ]
        )
    assert got[0] == got[1]
    assert got[0][2] == [1, 0, 1, 1, 1]
    assert got[0][-1] == [0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1]


def test_every_kernel_has_one_signature() -> None:
    assert compile_all() == len(kernels()) > 10
    assert {len(k.signatures) for k in kernels()} == {1}


def test_a_kernel_refuses_other_types() -> None:
    @kernel("int64(int64[::1])")
    def first(values: object) -> object:
        return values[0]  # type: ignore[index]

    assert first(np.array([4])) == 4
    with pytest.raises(TypeError, match="No matching definition"):
        first(np.array([4.5]))


def _run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    full = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run([sys.executable, "-c", code], env=full, capture_output=True, text=True, timeout=300, check=False)


def test_no_folder_for_the_cache_is_one_warning_and_works(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    code = "from fastscore.kernels.sums import add_exactly as k; import numpy as n; o=n.zeros(4,n.int64); z=n.zeros(1,n.int64);"
    code += "k(z,n.ones(1),n.ones(1,n.uint8),o); k(z,n.ones(1),n.ones(1,n.uint8),o); print(o[0])"
    done = _run(code, FASTSCORE_CACHE_DIR=str(blocked))
    assert done.stdout.strip() == "2", done.stderr
    assert done.stderr.count("no folder for compiled kernels") == 1


def test_import_is_light() -> None:
    done = _run(
        "import sys, fastscore; print([m for m in ('numba','polars','pyarrow','numpy','rich','scipy') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr
