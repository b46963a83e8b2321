"""`fastscore rewards`: from files of rollouts and references to rewards, group statistics and advantages, as a stream.

The rewards go to ``-o``, what came of it to standard output; notes and mistakes to standard error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from fastscore.commands.console import print_table, say
from fastscore.commands.options import from_argument, memory_bytes, split_inputs, storage_of
from fastscore.errors import DataError, UsageError

__all__ = ["rewards"]

_Many = Parameter(negative=())
_FAILED = 3


def rewards(
    *paths: str,
    recipe: Annotated[list[str], Parameter(alias="-r", negative=())],
    weight: Annotated[list[float] | None, _Many] = None,
    extract: str | None = None,
    group_by: Annotated[list[str] | None, _Many] = None,
    advantage: Literal["grpo", "dr_grpo", "rloo", "maxrl", "none"] = "grpo",
    framework: Literal["trl", "verl", "nemo_rl"] = "trl",
    epsilon: float | None = None,
    ddof: int = 1,
    leave_one_out: bool = True,
    null: Literal["null", "zero", "error"] = "null",
    format_tags: str | None = None,
    format_weight: float = 1.0,
    min_length: int | None = None,
    max_length: int | None = None,
    length_unit: Literal["characters", "words"] = "characters",
    pass_at: str = "",
    best_at: str = "",
    maj_at: str = "",
    by: Annotated[list[str] | None, _Many] = None,
    output: Annotated[str | None, Parameter(alias="-o")] = None,
    json: Annotated[bool, Parameter(negative=())] = False,
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
    memory: str | None = None,
    strict: Annotated[bool, Parameter(negative=())] = False,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(alias="-q", negative=())] = False,
) -> int:
    """Give rollouts their rewards, group statistics and advantages, and print the summary.

    Parameters
    ----------
    paths
        ROLLOUTS [REFERENCES]. Rollouts, a row each (or a row a prompt with a list of completions), are a file, a glob in quotes,
        a folder, - (an Arrow stream) or a URL: parquet, Arrow, JSON Lines or CSV; more than two paths are all rollouts.
        References are joined by key; without them the rollouts have a column of them.
    recipe
        What scores an answer, as NAME or NAME:METRIC (squad:f1); given several times, the reward is the weighted sum.
    weight
        The weight of each recipe, in order; 1 by default.
    extract
        How the answer is found in a completion: tag:answer, boxed, after:STRING, line:first, line:last, regex:PATTERN, or a
        chain of them joined by >.
    group_by
        The column that names a prompt; by default prompt_id or question_id. May be given several times. A rollout whose prompt is
        null keeps its reward and is in no group.
    advantage
        Which advantage to give.
    framework
        Whose epsilon and whose groups of one row it has.
    epsilon
        Another epsilon than the framework's.
    ddof
        1 or 0: what is taken from n below the line of the standard deviation.
    leave_one_out
        NeMo-RL's grpo: leave a rollout out of its own baseline.
    null
        What a rollout without a score gets: no reward, a 0 in the score's place, or an error.
    format_tags
        Tags that a well-formed completion has exactly once and in this order, such as think,answer.
    format_weight
        What a well-formed completion gets on top.
    min_length
        Completions below this length get 0.
    max_length
        Completions above this length get 0.
    length_unit
        What is counted for a length.
    pass_at
        For which k to give the unbiased pass@k of exact_match, such as 1,5,10. Samples without a score are left out, and prompts
        with fewer than k others; --null zero counts them as wrong.
    best_at
        For which k to give the expected best f1 of k.
    maj_at
        For which k to give the expected exact_match of the majority answer of k.
    by
        Report this column's values apart; may be given several times.
    output
        Write the rewards: a file (.parquet, .arrow, .jsonl or .csv by suffix; - is an Arrow stream), or a folder, which gets one
        shard for each input file and can be resumed.
    json
        Print the summary as JSON.
    keep
        Hand this column on to the table; may be given several times.
    prediction
        The column of completions, text or chats (of which the last assistant's message counts), or lists of these; a dot leads
        into a struct, as in generations.text.
    references_column
        What the column of references is called; a dot leads into a struct, as in reward_model.ground_truth.
    references_file
        The file of references, where all the paths are rollouts.
    id
        A key column of the join; may be given several times.
    where
        Only the rows for which this SQL condition holds.
    format
        Format of the rollouts' files, where their content should not be asked.
    references_format
        Format of the references' file.
    storage_option
        KEY=VALUE for an object store, as polars takes it; may be given several times.
    threads
        How many threads may work; by default all cores.
    memory
        How much memory the process may take, such as 2GiB.
    strict
        Exit with 3 where a rollout has no score of its own (a status other than ok) or no prompt, or where there is none at all.
    overwrite
        Replace the output where it is there.
    quiet
        No notes and no progress on standard error.
    """
    from fastscore.report import as_json
    from fastscore.rewards.files import reward_files
    from fastscore.rewards.result import summary_table

    output = None if output is None else from_argument(output)
    rollouts, gold = split_inputs(paths, references_file)
    result = reward_files(
        rollouts,
        output,
        recipe=recipe,
        weights=weight,
        extract=extract,
        format_tags=format_tags,
        format_weight=format_weight,
        min_length=min_length,
        max_length=max_length,
        length_unit=length_unit,
        null=null,
        references=gold,
        group=group_by,
        advantage=None if advantage == "none" else advantage,
        framework=framework,
        epsilon=epsilon,
        ddof=ddof,
        leave_one_out=leave_one_out,
        pass_at=_numbers("pass-at", pass_at),
        best_at=_numbers("best-at", best_at),
        maj_at=_numbers("maj-at", maj_at),
        by=by or (),
        prediction=prediction,
        references_column=references_column,
        ids=id or (),
        keep=keep or (),
        where=where,
        threads=threads,
        memory=memory_bytes(memory),
        format=format,
        references_format=references_format,
        storage_options=storage_of(storage_option),
        overwrite=overwrite,
        quiet=quiet,
    )
    if not quiet:
        say(*result.notes, result.last_line())
    say(*result.failures)
    if output != "-":
        if json:
            print(as_json(result.summary))
        else:
            print_table(summary_table(result.summary))
    if result.failures:
        return _FAILED
    if strict:
        _refuse_silent(result.summary, result.statuses)
    return 0


def _refuse_silent(summary: Mapping[str, Any], statuses: Mapping[str, int]) -> None:
    """Raise DataError where a rollout has no score or no prompt, or there is none at all."""
    if not summary["rollouts"]:
        raise DataError("--strict: there is no rollout at all (an empty input, or none for which --where holds)")
    silent = {label: count for label, count in statuses.items() if label != "ok" and count}
    if summary.get("groups", {}).get("no_prompt"):
        silent["without a prompt"] = summary["groups"]["no_prompt"]
    if silent:
        said = ", ".join(f"{count:,} {label}" for label, count in silent.items())
        raise DataError(f"--strict: not every rollout has a score and a prompt of its own: {said}")


def _numbers(name: str, text: str) -> list[int]:
    """Whole numbers from 1 on, separated by commas."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and 0 < int(part) < 1 << 31 for part in parts):
        raise UsageError(f"--{name}: whole numbers from 1 on, separated by commas, are allowed, such as 1,5,10; got {text!r}")
    return list(dict.fromkeys(int(part) for part in parts))
