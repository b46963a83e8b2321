"""`fastscore compare`: systems on the same items, from files of item scores (or of predictions) to differences with error bars.

The first file is the baseline of all others. Tables go to standard output, notes and mistakes to standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from fastscore.commands.console import say
from fastscore.commands.options import MOST_DRAWS, refuse_beyond

if TYPE_CHECKING:
    from fastscore.stats.comparison import Comparison

__all__ = ["REGRESSION", "compare"]

#: The exit code of `--fail-on-regression` where a system is significantly worse than the first.
REGRESSION = 5


def compare(
    first: Path,
    second: Path,
    /,
    *others: Path,
    metric: Annotated[list[str] | None, Parameter(alias="-m", negative=())] = None,
    by: Annotated[list[str] | None, Parameter(negative=())] = None,
    cluster: Annotated[list[str] | None, Parameter(negative=())] = None,
    id: Annotated[list[str] | None, Parameter(alias="--key", negative=())] = None,
    adjust: Literal["holm", "bh"] = "holm",
    draws: int = 10_000,
    seed: int = 0,
    alpha: float = 0.05,
    listed: int = 5,
    name: Annotated[list[str] | None, Parameter(negative=())] = None,
    recipe: Annotated[str | None, Parameter(alias="-r")] = None,
    references: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    markdown: Annotated[bool, Parameter(negative=())] = False,
    latex: Annotated[bool, Parameter(negative=())] = False,
    fail_on_regression: Annotated[bool, Parameter(negative=())] = False,
    allow_different_signatures: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(alias="-q", negative=())] = False,
) -> int:
    """Compare systems on the same items, joined by key: paired differences with intervals and tests.

    Parameters
    ----------
    first
        Item scores of the baseline, as `fastscore score -o` writes them: .parquet, .arrow, .jsonl or .csv, a folder of shards,
        or a glob in quotes of parquet files.
    second
        Item scores of the system compared with it.
    others
        More systems, each compared with the first.
    metric
        Column of scores to compare, may be given several times; by default exact_match and f1.
    by
        Compare group by group of this column too; may be given several times.
    cluster
        Column of items that belong together; by default the passage (document_id) where there is one, else the first key of
        several (CoQA: the story), else each item is on its own. `none`: each item on its own.
    id
        A key column of the join, may be given several times; by default question_id, turn_id and sample_id.
    adjust
        Correction of the p-values for several systems or groups: Holm, or Benjamini and Hochberg.
    draws
        How often to draw for the bootstrap and the randomisation.
    seed
        Seed of the draws.
    alpha
        Level of the tests; intervals hold 1 - alpha.
    listed
        How many of the most changed items to list for each metric and direction.
    name
        What to call the systems, once for each file; by default the files' names.
    recipe
        The files are predictions: score them first by this recipe.
    references
        File of references for the predictions; without it they have a column of them.
    json
        Print everything as JSON.
    markdown
        Print Markdown tables.
    latex
        Print LaTeX tables (package booktabs).
    fail_on_regression
        Exit with code 5 when a system is significantly worse than the first in a metric compared.
    allow_different_signatures
        Compare scores that were made by different rules.
    quiet
        No notes on standard error.
    """
    from fastscore.errors import UsageError
    from fastscore.stage.items import item_scores

    if json + markdown + latex > 1:
        raise UsageError("--json, --markdown and --latex: one of them is allowed at a time")
    if references is not None and recipe is None:
        raise UsageError("--references: allowed with --recipe alone, which says how to score the predictions")
    if name is not None and len(name) != len(others) + 2:
        raise UsageError(f"--name: once for each of the {len(others) + 2} files is allowed, got {len(name)}")
    refuse_beyond("--draws", draws, MOST_DRAWS)
    refuse_beyond("--listed", listed, 1_000_000)
    clusters = () if cluster == ["none"] else cluster
    files = [first, second, *others]
    signatures: list[str] | None = None
    sources: list[Any] = list(files)
    if recipe is None:
        notes: list[str] = []
        sources = [item_scores(file, notes) for file in files]
        say(*notes)
    else:
        sources, signatures = _scored(files, references, recipe, [*(by or ()), *(clusters or ())])
    from fastscore.compare import compare as compared
    from fastscore.stats.systems import system_names

    options: dict[str, Any] = {} if metric is None else {"metrics": metric}
    found = compared(
        *sources,
        keys=id,
        by=by,
        cluster=clusters,
        seed=seed,
        draws=draws,
        alpha=alpha,
        correction=adjust,
        allow_different_signatures=allow_different_signatures,
        names=name or system_names(files, None),
        signatures=signatures,
        listed=listed,
        **options,
    )
    _show(found, json=json, markdown=markdown, latex=latex)
    worse = _regressions(found)
    if worse and not quiet:
        say(*worse)
    return REGRESSION if worse and fail_on_regression else 0


def _scored(files: Sequence[Path], references: Path | None, recipe: str, keep: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Score files of predictions; return the item scores and the signatures."""
    from fastscore.pipeline import score

    kept = [*dict.fromkeys(["prediction", *keep])]
    results = [score(file, references, recipe=recipe, keep=kept) for file in files]
    return [result.items for result in results], [result.signature for result in results]


def _show(found: Comparison, *, json: bool, markdown: bool, latex: bool) -> None:
    from fastscore.report import as_json

    if json:
        print(as_json(found.to_dict()))
    elif markdown:
        print(found.to_markdown(), end="")
    elif latex:
        print(found.to_latex(), end="")
    else:
        print(found.to_text(), end="")


def _regressions(found: Comparison) -> list[str]:
    """Say in which metrics which systems are significantly worse than the first."""
    first = found.systems[0].name
    return [
        f"{pair.b!r} is significantly worse than {first!r} in {metric}: {pair.overall[metric].interval.mean:+.4f}, "
        f"corrected p {pair.overall[metric].adjusted_p:.4f}"
        for pair in found.pairs
        for metric in found.metrics
        if found.significantly_worse(metric, pair.b)
    ]
