"""Mutation check: small faults put into the kernels, the totals and the recipes, one at a time; a fault no test sees is printed.

Run as ``python -m tests.mutants [--sample 150] [--seed 1] [--minutes 40] [FILE ...]`` from the project's folder; without files it
takes ``totals.py`` and ``recipes.py`` whole and a sample of ``kernels/``. A mutant is a module's source changed in memory, in a
process forked for it: it is killed where a seeded comparison with the reference implementation or a test fails, or time runs out.
Kernels run as plain Python (NUMBA_DISABLE_JIT), so that none has to be compiled; an index out of range kills there too.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORDS = ["tests/test_scoring_naive.py", "tests/test_kernels.py", "tests/test_scoring_sizes.py"]
#: The tests that are asked where the comparisons see nothing, by file; kernels of words have those of `WORDS`.
TESTS = {
    "fastscore/totals.py": ["tests/test_totals.py", "tests/test_disagreements.py", "tests/test_cli_score.py"],
    "fastscore/recipes.py": ["tests/test_recipe_files.py", "tests/test_naive.py", "tests/test_scoring_golden.py"],
    "fastscore/kernels/spans.py": ["tests/test_spans.py"],
    "fastscore/kernels/ranking.py": ["tests/test_ranking.py", "tests/test_ranking_scored.py"],
    "fastscore/kernels/rank_order.py": ["tests/test_ranking.py", "tests/test_ranking_scored.py"],
    "fastscore/kernels/ids.py": ["tests/test_ranking.py", "tests/test_ranking_scored.py"],
    "fastscore/kernels/passages.py": ["tests/test_ranking_passages.py"],
    "fastscore/kernels/extract.py": ["tests/test_rewards_extract.py", "tests/test_kernels.py"],
    "fastscore/kernels/lines.py": ["tests/test_formats_trec.py"],
    "fastscore/kernels/sums.py": ["tests/test_totals.py", "tests/test_kernels.py"],
}
#: The comparisons of `tests.test_fuzz` that are asked first, with how many seeds, by file.
ASKED = {
    "fastscore/totals.py": {},
    "fastscore/recipes.py": {"signatures": 200},
    "fastscore/kernels/spans.py": {"spans": 400},
    "fastscore/kernels/ranking.py": {"rankings": 300},
    "fastscore/kernels/rank_order.py": {"rankings": 300},
    "fastscore/kernels/ids.py": {"rankings": 300},
    "fastscore/kernels/passages.py": {},
    "fastscore/kernels/extract.py": {"extraction": 400, "scores": 40},
    "fastscore/kernels/lines.py": {},
    "fastscore/kernels/sums.py": {"scores": 60},
}
#: What makes, compiles or starts kernels, and holds no rule; and bodies that only the compiler runs.
LEFT_OUT = {"jit.py", "warmup.py", "threads.py", "__init__.py"}
COMPILED_ONLY = (
    "_clean64",
    "_blanks64",
    "_equal64",
    "_equal_numbers8",
    "_equal_words8",
    "_split_keys8",
    "_count_bits",
    "_lowest_bit",
    "_lowest_bits",
    "_load",
    "_splat",
)

COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMPARED |= {ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
REPLACED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult}
REPLACED |= {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift}
BOTH = {ast.And: ast.Or, ast.Or: ast.And}


# ---- mutants


def sites(tree: ast.AST, name: str) -> Iterator[tuple[ast.AST, str, Callable[[Any], ast.AST | None]]]:
    """Every place that can be changed: the node, in words what becomes of it, and the change; None removes a statement."""
    for node in _walk(tree):
        if isinstance(node, ast.Compare):
            for i, op in enumerate(node.ops):
                other = COMPARED[type(op)]
                yield node, f"{type(op).__name__} -> {other.__name__}", lambda n, i=i, o=other: _set(n, "ops", i, o())
        elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in REPLACED:
            other = REPLACED[type(node.op)]
            yield node, f"{type(node.op).__name__} -> {other.__name__}", lambda n, o=other: _set(n, "op", None, o())
        elif isinstance(node, ast.BoolOp):
            other = BOTH[type(node.op)]
            yield node, f"{type(node.op).__name__} -> {other.__name__}", lambda n, o=other: _set(n, "op", None, o())
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
            yield node, f"{type(node.op).__name__} gone", lambda n: n.operand
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, f"{node.value} -> {not node.value}", lambda n: ast.Constant(not n.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            for step in (1, -1):
                yield node, f"{node.value} -> {node.value + step}", lambda n, s=step: ast.Constant(n.value + s)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and name == "recipes.py" and node.value:
            yield node, f"{node.value!r} -> changed", lambda n: ast.Constant(n.value + "X")
        elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield node, "condition negated", lambda n: _set(n, "test", None, ast.UnaryOp(ast.Not(), n.test))
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Break, ast.Continue)) and not _is_text(node):
            yield node, "statement gone", lambda n: None


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes but for docstrings, annotations, decorators, messages of errors and names of what is exported."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list") or isinstance(node, (ast.Raise, ast.JoinedStr)):
            continue
        name = getattr(node, "name", None) or ""
        if name in COMPILED_ONLY or name.endswith("_compiled"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_left_out(child):
                yield from _walk(child)


def _is_left_out(node: ast.AST) -> bool:
    exported = isinstance(node, ast.Assign) and bool(_names(node) & {"__all__", "_registry"})
    return exported or _is_text(node) or (isinstance(node, ast.keyword) and node.arg == "source")


def _names(node: ast.Assign) -> set[str]:
    return {target.id for target in node.targets if isinstance(target, ast.Name)}


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _set(node: Any, field: str, index: int | None, value: ast.AST) -> ast.AST:
    if index is None:
        setattr(node, field, value)
    else:
        getattr(node, field)[index] = value
    return node  # type: ignore[no-any-return]


class _Swap(ast.NodeTransformer):
    def __init__(self, wanted: ast.AST, change: Callable[[Any], ast.AST | None]) -> None:
        self.wanted, self.change = wanted, change

    def visit(self, node: ast.AST) -> Any:
        if node is self.wanted:
            changed = self.change(node)
            return ast.Pass() if changed is None else changed
        return self.generic_visit(node)


def mutants(path: Path) -> Iterator[tuple[str, str]]:
    """Each mutant of a file: where and what, and the source."""
    tree = ast.parse(path.read_text("utf-8"))
    for number in range(sum(1 for _ in sites(tree, path.name))):
        fresh = copy.deepcopy(tree)
        node, what, change = list(sites(fresh, path.name))[number]
        line = getattr(node, "lineno", 0)
        shown = (
            f"{path.relative_to(ROOT)}:{line}:{getattr(node, 'col_offset', 0)} {what}: {ast.unparse(node).splitlines()[0][:90]}"
        )
        yield shown, ast.unparse(ast.fix_missing_locations(_Swap(node, change).visit(fresh)))


# ---- running one


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports one module from a changed source."""

    def __init__(self, module: str, source: str, path: Path) -> None:
        self.module, self.source, self.path = module, source, path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.module:
            return None
        spec = importlib.util.spec_from_loader(name, self, origin=str(self.path))
        if spec is not None:
            spec.has_location = True
        return spec

    def get_source(self, name: str) -> str:
        return self.source


def run(file: str, source: str | None, tests: list[str], log: Path) -> int:
    """In a child process: 0 where nothing is seen, anything else where the mutant is killed."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    if source is not None:
        module = file.removesuffix(".py").replace("/", ".")
        sys.meta_path.insert(0, _Changed(module, source, ROOT / file))
    try:
        if source is not None:
            importlib.import_module(module)
        from tests import fuzz_texts, test_fuzz

        checks = {"scores": test_fuzz.check_scores, "spans": test_fuzz.check_spans, "rankings": test_fuzz.check_rankings}
        checks |= {"extraction": test_fuzz.check_extraction, "signatures": test_fuzz.check_signatures}
        checks |= {"normal forms": test_fuzz.check_normal_forms}
        test_fuzz.smallest = lambda case, failing=None: case  # type: ignore[assignment]
        fuzz_texts.compose(3, 12)
        for name, seeds in ASKED.get(file, {"scores": 120, "normal forms": 120}).items():
            for seed in range(seeds):
                checks[name](random.Random(seed))
        import pytest

        options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "filterwarnings=", "-n", "0", "--no-header"]
        return int(pytest.main([*options, *(t for t in tests if (ROOT / t.partition("::")[0]).exists() or t.startswith("-"))]))
    except BaseException as error:
        print(repr(error)[:500])
        return 99


def forked(file: str, source: str | None, tests: list[str], seconds: float, log: Path) -> tuple[int, float]:
    """Run one mutant in a forked process; its code (-9: out of time) and how long it took."""
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os._exit(min(run(file, source, tests, log), 120))
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), time.monotonic() - begun
        if time.monotonic() - begun > seconds:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -9, seconds
        time.sleep(0.02)


def main() -> int:
    """Run what the command line asks for; 1 where a mutant survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--sample", type=int, default=0, help="at most so many mutants of all files together (0: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=40)
    asked = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    files = asked.files or ["fastscore/totals.py", "fastscore/recipes.py"]
    if any("kernels" in file for file in files):
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    if files == ["fastscore/kernels"]:
        files = [f"fastscore/kernels/{p.name}" for p in sorted(Path(files[0]).glob("*.py")) if p.name not in LEFT_OUT]
    import math

    import hypothesis  # noqa: F401
    import numba  # noqa: F401
    import polars  # noqa: F401
    import pyarrow.compute  # noqa: F401
    import pytest  # noqa: F401

    if "NUMBA_DISABLE_JIT" in os.environ:
        exact = math.ldexp
        math.ldexp = lambda x, i: exact(x, int(i))  # type: ignore[assignment,misc]
    return check(files, asked.sample, asked.seed, asked.minutes)


def check(files: list[str], sample: int, seed: int, minutes: float) -> int:
    """Run the mutants of some files and print each survivor; how many there were and survived comes last."""
    log = Path(f"/tmp/mutants-{os.getpid()}.log")
    everything = [(file, *mutant) for file in files for mutant in mutants(ROOT / file)]
    chosen = everything if not sample or sample >= len(everything) else random.Random(seed).sample(everything, sample)
    chosen.sort(key=lambda mutant: mutant[0])
    limits: dict[str, float] = {}
    until = time.monotonic() + minutes * 60
    survivors, ran, late = [], 0, 0
    for file, shown, source in chosen:
        tests = TESTS.get(file, WORDS)
        if file not in limits:
            code, took = forked(file, None, tests, 600, log)
            print(f"# {file}: unchanged in {took:.1f} s, code {code}", flush=True)
            if code:
                print(log.read_text("utf-8", "replace")[-2000:], flush=True)
            limits[file] = 4 * took + 15
        if time.monotonic() > until:
            break
        code, took = forked(file, source, tests, limits[file], log)
        ran += 1
        late += code == -9
        if code == 0:
            survivors.append(shown)
            print(f"survived ({took:.1f} s): {shown}", flush=True)
    print(f"{len(everything)} mutants, {ran} ran, {ran - len(survivors)} killed ({late} by time), {len(survivors)} survived")
    log.unlink(missing_ok=True)
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main())
