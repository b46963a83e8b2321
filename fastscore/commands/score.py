"""`fastscore score`: from files of predictions and references to the summary and the item scores.

Tables are scored as a stream in constant memory (`fastscore.stage`); published scorers' JSON layouts, and what needs all items at
once (`--official`, `--check`, `--ci`, `--plot`), are scored in memory. Both ways give the same bits.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from fastscore.commands.console import closed_streams, print_table, say
from fastscore.commands.options import (
    check_threshold,
    from_argument,
    memory_bytes,
    refuse_unknown,
    split_inputs,
    storage_of,
    thresholds_of,
)
from fastscore.errors import DataError, UsageError

if TYPE_CHECKING:
    from fastscore.recipes import Recipe
    from fastscore.result import Result
    from fastscore.stage.result import StageResult

__all__ = ["score"]

_Many = Parameter(negative=())
_FAILED, _BELOW = 3, 4
_TABLES = ("parquet", "arrow", "jsonl", "csv")


def score(
    *paths: str,
    recipe: Annotated[str, Parameter(alias="-r")],
    recipes: Path | None = None,
    by: Annotated[list[str] | None, _Many] = None,
    output: Annotated[str | None, Parameter(alias="-o")] = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    official: Annotated[bool, Parameter(negative=())] = False,
    na_probs: Path | None = None,
    check: int = 0,
    ci: Annotated[bool, Parameter(negative=())] = False,
    cluster: Annotated[list[str] | None, _Many] = None,
    bootstrap: Annotated[bool, Parameter(negative=())] = False,
    seed: int = 0,
    plot: Annotated[bool, Parameter(negative=())] = False,
    top_n: Annotated[list[int] | None, _Many] = None,
    keep: Annotated[list[str] | None, _Many] = None,
    prediction: str = "prediction",
    references_column: Annotated[str, Parameter(name=["--references", "--references-column"])] = "references",
    references_file: str | None = None,
    id: Annotated[list[str] | None, _Many] = None,
    where: str | None = None,
    format: str | None = None,
    references_format: str | None = None,
    storage_option: Annotated[list[str] | None, _Many] = None,
    threads: int | None = None,
    engine: Literal["local", "ray"] = "local",
    memory: str | None = None,
    strict: Annotated[bool, Parameter(negative=())] = False,
    fail_under: Annotated[list[str] | None, _Many] = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(alias="-q", negative=())] = False,
) -> int:
    """Score predictions and print the summary.

    Parameters
    ----------
    paths
        PREDICTIONS [REFERENCES]. Predictions are a file, a glob in quotes, a folder, - (an Arrow stream) or a URL; more than two
        paths are all predictions. References are joined by key; without them the predictions have a column of them.
    recipe
        Which published scorer's rule to use; `fastscore recipes` lists them.
    recipes
        A TOML file with recipes of one's own; by default fastscore.toml, where it is there.
    by
        Report groups by this column; may be given several times.
    output
        Write the item scores: a file (.parquet, .arrow, .jsonl or .csv by suffix; - is an Arrow stream), or a folder, which gets
        one shard for each input file and can be resumed.
    json
        Print the summary as JSON.
    official
        Print what the published script prints.
    na_probs
        With --official and a SQuAD 2 recipe: the file of no-answer probabilities, for the best thresholds.
    check
        Score so many random rows again with the reference implementation; any difference is an error.
    ci
        Add standard errors and 95 % intervals, clustered by the natural unit.
    cluster
        A column whose values are the clusters of --ci; may be given several times.
    bootstrap
        Take the intervals of --ci from 10,000 draws of the clusters.
    seed
        Where the draws of --bootstrap start.
    plot
        Add a histogram of F1.
    top_n
        Add the column top_N, the share with a hit among the first N spans; may be given several times.
    keep
        Hand this column on to the item scores; may be given several times.
    prediction
        What the column of predictions is called.
    references_column
        What the column of references is called.
    references_file
        The file of references, where all the paths are predictions.
    id
        A key column; may be given several times.
    where
        Score only the rows for which this SQL condition holds.
    format
        Format of the predictions' files, where their content should not be asked.
    references_format
        Format of the references' file.
    storage_option
        KEY=VALUE for an object store, as polars takes it; may be given several times.
    threads
        How many threads may work; by default all cores.
    engine
        ``ray`` scores parquet on the cluster that RAY_ADDRESS names, or on this machine; the output is a new folder.
    memory
        How much memory the process may take, such as 2GiB.
    strict
        Exit with 3 where any row has no score of its own (a status other than ok).
    fail_under
        METRIC=VALUE: exit with 4 where the mean is below; may be given several times.
    overwrite
        Replace the output where it is there.
    quiet
        No notes and no progress on standard error.
    """
    from fastscore.recipe_files import command_recipe

    output = None if output is None else from_argument(output)
    if output == "-" and "stdout" in closed_streams:
        raise UsageError("-o -: standard output is closed; name a file")
    found, note = command_recipe(recipe, recipes)
    ci = ci or bootstrap or bool(cluster)
    inputs, gold = split_inputs(paths, references_file)
    wanted = thresholds_of(fail_under)
    refuse_unknown(wanted, found)
    if top_n and max(top_n) > 1 and found.spans == "none":
        raise UsageError(f"--top-n goes with a recipe that scores spans, such as germanquad; {found.name} scores text alone")
    if na_probs is not None and not official:
        raise UsageError("--na-probs goes with --official: it is the published SQuAD 2 script's best thresholds")
    options: dict[str, Any] = {
        "prediction": prediction,
        "references_column": references_column,
        "by": by or (),
        "keep": keep or (),
        "top_n": top_n or 1,
        "format": format,
        "references_format": references_format,
        "threads": threads,
    }
    result: Result | StageResult
    rows: Any = None
    failures: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    if engine == "ray":
        if official or check or ci or plot or where is not None:
            raise UsageError("--engine ray scores parquet, without --official, --check, --ci, --cluster, --plot and --where")
        unknown = {
            "--format": format,
            "--references-format": references_format,
            "--storage-option": storage_option,
            "--threads": threads,
            "--memory": memory,
            "--overwrite": overwrite or None,
        }
        given = [name for name, value in unknown.items() if value is not None]
        if given:
            raise UsageError(
                f"--engine ray does not take {', '.join(given)}; leave out what it does not know, or use --engine local"
            )
        if output == "-":
            raise UsageError("--engine ray writes a new folder, not a stream: name one with -o, or use --engine local")
        result = _on_ray(inputs, gold, found, output, id, options)
    elif not (official or check or ci or plot) and _all_tables(inputs, format, storage_of(storage_option)):
        from fastscore.stage.run import score_files

        options |= {
            "memory": memory_bytes(memory),
            "storage_options": storage_of(storage_option),
            "ids": id or (),
            "where": where,
        }
        result = score_files(inputs, output, recipe=found, references=gold, overwrite=overwrite, quiet=quiet, **options)
        failures, last = result.failures, (result.last_line(),)
    else:
        streamed = {
            "--where": where is not None,
            "--memory": memory is not None,
            "--storage-option": bool(storage_option),
            "several inputs": len(inputs) > 1,
        }
        beyond = [name for name, is_given in streamed.items() if is_given]
        if beyond:
            raise UsageError(
                f"{', '.join(beyond)}: tables that are streamed alone, not JSON layouts and not with --official, --check, --ci "
                "or --plot"
            )
        result, rows = _in_memory(inputs[0], gold, found, output, check, overwrite, quiet, id, options, ci, cluster)
        if ci:
            result, further = _with_intervals(result, options["by"], cluster, "bootstrap" if bootstrap else "auto", seed)
            last = tuple(further)
    if not quiet:
        say(*([note] if note else []), *result.notes, *last)
    say(*failures)
    if output != "-":
        _print(result, found, rows, json=json, official=official, na_probs=na_probs)
        if plot and not json and not official:
            _plot(result)
    if failures:
        return _FAILED
    if strict:
        _refuse_silent(result.summary["overall"])
    return _BELOW if check_threshold(result.summary["overall"], wanted, say) else 0


def _all_tables(inputs: list[str], format: str | None, storage_options: dict[str, str] | None) -> bool:
    """Whether all inputs are tables, which a stage can stream."""
    from fastscore.stage.sources import find_sources

    return all(s.format in _TABLES for s in find_sources(inputs, format, storage_options))


def _on_ray(
    inputs: list[str], gold: str | None, recipe: Recipe, output: str | None, ids: list[str] | None, options: dict[str, Any]
) -> Any:
    from fastscore.engines import ray

    try:
        import ray as _  # noqa: F401
    except ModuleNotFoundError:
        raise UsageError("--engine ray needs Ray: pip install '.[ray]' in a clone of fastscore") from None
    shared = {k: options[k] for k in ("by", "keep", "top_n", "prediction", "references_column")}
    return ray.score(inputs if len(inputs) > 1 else inputs[0], recipe, references=gold, keys=ids, output=output, **shared)


def _in_memory(
    predictions: str,
    gold: str | None,
    recipe: Recipe,
    output: str | None,
    check: int,
    overwrite: bool,
    quiet: bool,
    ids: list[str] | None,
    options: dict[str, Any],
    ci: bool,
    cluster: list[str] | None,
) -> tuple[Result, Any]:
    from fastscore.output import refuse_existing, write_items
    from fastscore.pipeline import aligned_items, load, score_items, with_columns

    if output is not None:
        refuse_existing(Path(output), overwrite)
    loaded = load(predictions, "predictions", options["format"])
    against = None if gold is None else load(gold, "references", options["references_format"])
    loaded, against = with_columns(loaded, against, options["prediction"], options["references_column"])
    table, notes = aligned_items(loaded, against, ids)
    from fastscore.stats.summaries import natural_cluster

    units = list(cluster or natural_cluster(table.column_names)) if ci else []
    shared = {**{k: options[k] for k in ("by", "top_n", "threads")}, "keep": list(dict.fromkeys([*options["keep"], *units]))}
    result = score_items(table, recipe, notes=notes, **shared)
    if check:
        from fastscore.check import check_rows

        checked = check_rows(table, result.items, recipe, check)
        if not quiet:
            say(f"{checked:,} rows scored again by the reference implementation: all equal")
    if output is not None:
        write_items(result.items, Path(output), recipe.signature)
    return result, table


def _with_intervals(
    result: Result, by: Any, cluster: list[str] | None, method: Literal["auto", "bootstrap"], seed: int
) -> tuple[Result, list[str]]:
    """The result with standard errors and intervals in its summary, and what there is to say of them."""
    from dataclasses import replace

    from fastscore.stats.summaries import interval_columns, with_intervals

    found = interval_columns(result.items, result.totals.metrics, by, cluster, method, seed=seed)
    return replace(result, summary=with_intervals(result.summary, found)), found["notes"]


def _print(result: Result | StageResult, recipe: Recipe, rows: Any, *, json: bool, official: bool, na_probs: Path | None) -> None:
    from fastscore.report import as_json, summary_table

    if official:
        from fastscore.formats.json_text import read_bytes
        from fastscore.formats.squad import read_na_probs
        from fastscore.official import official_json

        chances = None if na_probs is None else read_na_probs(read_bytes(na_probs), str(na_probs))
        items: Any = getattr(result, "items", None)
        print(official_json(items, recipe.name, inputs=rows, na_probs=chances))
        return
    if json:
        print(as_json(result.summary))
    else:
        print_table(summary_table(result.summary))


def _plot(result: Any) -> None:
    from fastscore.report import histogram

    print_table(histogram(result.items.column("f1").drop_null().to_numpy()))


def _refuse_silent(overall: dict[str, Any]) -> None:
    from fastscore.schema import Status

    silent = {s.label: overall[s.label] for s in Status if s is not Status.OK and overall[s.label]}
    if silent:
        said = ", ".join(f"{n:,} {label}" for label, n in silent.items())
        raise DataError(f"--strict: not every row has a score of its own: {said}")
