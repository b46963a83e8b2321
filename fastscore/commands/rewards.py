"""`fastscore rewards`: from files of rollouts and references to rewards, group statistics and advantages.

The table of rewards goes to ``-o``, what came of it to standard output; notes and mistakes to standard error.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from fastscore.commands.console import print_table, say

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["rewards"]

_Many = Parameter(negative=())


def rewards(
    rollouts: Path,
    references: Path | None = None,
    /,
    *,
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
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    keep: Annotated[list[str] | None, _Many] = None,
    prediction: str = "prediction",
    references_column: str = "references",
    id: Annotated[list[str] | None, _Many] = None,
    format: str | None = None,
    references_format: str | None = None,
    threads: int | None = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(alias="-q", negative=())] = False,
) -> None:
    """Give rollouts their rewards, group statistics and advantages, and print the summary.

    Parameters
    ----------
    rollouts
        File of rollouts, a row each (or a row a prompt with a list of completions): parquet, Arrow, JSON Lines or CSV.
    references
        File of references, joined by key; without it the rollouts' file has a column of them.
    recipe
        What scores an answer, as NAME or NAME:METRIC (squad:f1); given several times, the reward is the weighted sum.
    weight
        The weight of each recipe, in order; 1 by default.
    extract
        How the answer is found in a completion: tag:answer, boxed, after:STRING, line:first, line:last, regex:PATTERN, or a
        chain of them joined by >.
    group_by
        The column that names a prompt; by default prompt_id or question_id. May be given several times.
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
        For which k to give the unbiased pass@k of exact_match, such as 1,5,10.
    best_at
        For which k to give the expected best f1 of k.
    maj_at
        For which k to give the expected exact_match of the majority answer of k.
    output
        Write the table of rewards: .parquet, .arrow, .jsonl or .csv by suffix.
    json
        Print the summary as JSON.
    keep
        Hand this column on to the table; may be given several times.
    prediction
        The column of completions; a dot leads into a struct, as in generations.text.
    references_column
        What the column of references is called.
    id
        A key column of the join; may be given several times.
    format
        Format of the rollouts' file, where its content should not be asked.
    references_format
        Format of the references' file.
    threads
        How many threads may work; by default all cores.
    overwrite
        Replace the output file where it is there.
    quiet
        No notes on standard error.
    """
    from fastscore.output import refuse_existing, write_items
    from fastscore.report import as_json
    from fastscore.rewards.rollouts import grouped, read_rollouts, reward_table, summarize
    from fastscore.rewards.rule import reward_rule

    rule = reward_rule(
        recipe,
        extract=extract,
        weights=weight,
        format_tags=format_tags,
        format_weight=format_weight,
        min_length=min_length,
        max_length=max_length,
        length_unit=length_unit,
        null=null,
    )
    wanted = {
        "pass_at": _numbers("pass-at", pass_at),
        "best_at": _numbers("best-at", best_at),
        "maj_at": _numbers("maj-at", maj_at),
    }
    if output is not None:
        refuse_existing(output, overwrite)
    read = read_rollouts(
        rollouts,
        references,
        group_by,
        prediction=prediction,
        references_column=references_column,
        keys=id,
        format=format,
        references_format=references_format,
    )
    if not quiet:
        say(*read.notes, *([] if read.group else ["no column names a prompt (--group-by), so there are no groups"]))
    kept = (*read.group, *(keep or ()))
    table = reward_table(read.table, rule, keep=kept, normal_form=bool(maj_at), threads=threads)
    options: dict[str, Any] = {"framework": framework, "epsilon": epsilon, "ddof": ddof, "leave_one_out": leave_one_out}
    table = grouped(table, read.group, None if advantage == "none" else advantage, **options)
    summary = summarize(table, rule, read.group, **wanted)
    if output is not None:
        write_items(table, output, rule.signature)
    if json:
        print(as_json(summary))
    else:
        print_table(_shown(summary))


def _numbers(name: str, text: str) -> list[int]:
    """Whole numbers from 1 on, separated by commas."""
    from fastscore.errors import UsageError

    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and 0 < int(part) < 1 << 31 for part in parts):
        raise UsageError(f"--{name}: whole numbers from 1 on, separated by commas, are allowed, such as 1,5,10; got {text!r}")
    return list(dict.fromkeys(int(part) for part in parts))


def _shown(summary: Mapping[str, Any]) -> Table:
    """The summary as a table: means in percent, the reward as it is."""
    from rich.table import Table
    from rich.text import Text

    from fastscore.report import safe_text
    from fastscore.rewards.batches import STATUSES

    table = Table(title=Text(safe_text(summary["recipe"])), caption=Text(safe_text(summary["signature"])), caption_justify="left")
    for title in ("", "mean", "± standard error", "of"):
        table.add_column(title, justify="left" if not title else "right")
    table.add_row("extraction rate", _percent(summary["extraction_rate"]), "", f"{summary['rollouts']:,} rollouts")
    reward = summary["reward"]
    table.add_row("reward", "-" if reward is None else f"{reward:.4f}", "", f"{summary['rewarded']:,} rewards")
    for name in ("exact_match", "f1", "format", "length_ok"):
        if name in summary:
            table.add_row(name, _percent(summary[name]), "", "")
    table.add_section()
    for name, found in summary.items():
        if isinstance(found, Mapping) and "mean" in found:
            short = f", {found['left_out']:,} too small" if found["left_out"] else ""
            table.add_row(name, _percent(found["mean"]), _percent(found["standard_error"]), f"{found['n']:,} prompts{short}")
    table.add_section()
    if "groups" in summary:
        groups = summary["groups"]
        named = ("all_equal", "of one reward value"), ("one_row", "of one rollout"), ("no_reward", "without a reward")
        shown = "; ".join(f"{groups[key]:,} {words}" for key, words in named if groups[key])
        table.add_row("groups", f"{groups['count']:,}", "", shown)
    for status in STATUSES[1:]:
        if summary[status]:
            table.add_row(Text(status, style="yellow"), f"{summary[status]:,}", "", "")
    return table


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"
