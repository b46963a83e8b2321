"""Coverage-guided fuzzing of what reads untrusted bytes; a script, not a test, since atheris is not among the test packages.

``pip install atheris`` and ``python -m tests.fuzz_atheris TARGET -max_total_time=600`` with one of the targets below: nothing but
a `FastscoreError` may come out, and a normal form must be the reference implementation's. Other arguments are libFuzzer's.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris  # type: ignore[import-not-found,unused-ignore]

from fastscore.kernels.warmup import compile_all  # before the others: numba cannot compile instrumented kernels

compile_all()
with atheris.instrument_imports(include=["fastscore"]):
    import pyarrow as pa

    from fastscore import naive
    from fastscore.errors import FastscoreError
    from fastscore.formats import trec
    from fastscore.pipeline import load
    from fastscore.recipes import RECIPES, Recipe
    from fastscore.stage.manifest import read_manifest
    from fastscore.text.normalize import normalize

NAMES = tuple(RECIPES)
#: The file that a target writes its bytes to, again and again.
PLACE = Path(tempfile.mkdtemp()) / "input"


def normal_form(data: bytes) -> None:
    """One recipe's normal form of a few texts, cut from the bytes at line feeds, against the reference implementation."""
    if not data:
        return
    recipe = RECIPES[NAMES[data[0] % len(NAMES)]]
    texts = [part.decode("utf-8", "replace") for part in data[1:].split(b"\n")]
    got = normalize(pa.array(texts, pa.string()), recipe).to_pylist()
    assert got == [naive.normalize(text, recipe) for text in texts], (recipe.name, texts)


def json(data: bytes) -> None:
    """Predictions and references in every JSON layout that content can tell."""
    for suffix in (".json", ".jsonl"):
        path = PLACE.with_suffix(suffix)
        path.write_bytes(data)
        for side in ("predictions", "references"):
            refused(lambda p=path, s=side: load(p, s))  # type: ignore[misc]


def rankings(data: bytes) -> None:
    """TREC runs and judgements."""
    PLACE.write_bytes(data)
    refused(lambda: trec.read_run(PLACE))
    refused(lambda: trec.read_qrels(PLACE))


def manifest(data: bytes) -> None:
    """The manifest of a folder of shards, and a signature."""
    PLACE.write_bytes(data)
    refused(lambda: read_manifest(PLACE))
    refused(lambda: Recipe.from_signature(data.decode("utf-8", "replace")))


def refused(call: Callable[[], object]) -> None:
    try:
        call()
    except FastscoreError as error:
        if "\n" in str(error):
            raise ValueError(f"an error of more than one line: {error}") from error


def main() -> None:
    """Fuzz one target."""
    targets = {f.__name__: f for f in (normal_form, json, rankings, manifest)}
    if len(sys.argv) < 2 or sys.argv[1] not in targets:
        sys.exit(f"usage: python -m tests.fuzz_atheris {{{','.join(targets)}}} [libFuzzer's arguments]")
    target = targets[sys.argv.pop(1)]
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
