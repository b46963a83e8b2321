"""Manifests, metadata, totals and signatures that somebody has changed: a line that names file and place, no traceback."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore.cli import main
from fastscore.errors import DataError, FastscoreError, UsageError
from fastscore.recipe_files import read_recipes
from fastscore.recipes import RECIPES, Recipe
from fastscore.stage.merge import merge_totals
from fastscore.stage.run import score_files
from fastscore.totals import Totals
from tests.test_stage import made

Change = Callable[[dict[str, Any]], Any]


def _set(value: Any, *place: Any) -> Change:
    """A change that sets what stands at a place."""

    def change(state: dict[str, Any]) -> None:
        found: Any = state
        for key in place[:-1]:
            found = found[key]
        found[place[-1]] = value

    return change


def _drop(*place: Any) -> Change:
    def change(state: dict[str, Any]) -> None:
        found: Any = state
        for key in place[:-1]:
            found = found[key]
        del found[place[-1]]

    return change


_WHOLE = ("groups", "", "")
CHANGES: dict[str, Change] = {
    "no metrics": _drop("metrics"),
    "metrics of numbers": _set([1], "metrics"),
    "metrics are text": _set("f1", "metrics"),
    "a metric twice": _set(["f1", "f1"], "metrics"),
    "no by": _drop("by"),
    "by without a name": _set([""], "by"),
    "by of another column": _set(["other"], "by"),
    "no groups": _drop("groups"),
    "groups are a list": _set([], "groups"),
    "no overall": _drop("groups", ""),
    "overall twice": _set({"": {}, "x": {}}, "groups", ""),
    "a block is null": _set(None, *_WHOLE),
    "no statuses": _drop(*_WHOLE, "statuses"),
    "too few statuses": _set([1], *_WHOLE, "statuses"),
    "a negative status": _set([-1, 0, 0, 0, 601], *_WHOLE, "statuses"),
    "a huge status": _set([2**70, 0, 0, 0, 0], *_WHOLE, "statuses"),
    "a status that is true": _set([True, 0, 0, 0, 599], *_WHOLE, "statuses"),
    "a status with a fraction": _set([600.0, 0, 0, 0, 0], *_WHOLE, "statuses"),
    "rows that are not": _set([599, 0, 0, 0, 0], *_WHOLE, "statuses"),
    "no sums": _drop(*_WHOLE, "sums"),
    "no sum of a metric": _drop(*_WHOLE, "sums", "f1"),
    "a sum that is a number": _set([1, 1], *_WHOLE, "sums", "f1"),
    "a sum that is no number": _set(["x", 1], *_WHOLE, "sums", "f1"),
    "a sum of other digits": _set(["\u0664", 1], *_WHOLE, "sums", "f1"),
    "a huge sum": _set(["9" * 5000, 1], *_WHOLE, "sums", "f1"),
    "a sum beyond its values": _set([str(2**127 * 601), 600], *_WHOLE, "sums", "f1"),
    "another sum than the groups'": _set(["1", 600], *_WHOLE, "sums", "f1"),
    "more values than rows": _set(["0", 601], *_WHOLE, "sums", "f1"),
    "values are text": _set(["0", "1"], *_WHOLE, "sums", "f1"),
    "a group more": _set({"statuses": [1, 0, 0, 0, 0], "sums": {}}, "groups", "domain", "new"),
}
TEXTS: dict[str, Callable[[str], str]] = {
    "nested": lambda _: "[" * 100_000,
    "nested objects": lambda _: '{"a":' * 100_000,
    "cut short": lambda text: text[: len(text) // 2],
    "a key twice": lambda text: text[:-1] + ', "by": []}',
    "not a number": lambda text: text.replace('"statuses": [', '"statuses": [NaN, ', 1),
    "thousands of digits": lambda text: text.replace('"statuses": [', '"statuses": [' + "9" * 5000 + ", ", 1),
    "null": lambda _: "null",
    "a number": lambda _: "1",
    "nothing": lambda _: "",
}


def _changed(text: str, name: str) -> str:
    if name in TEXTS:
        return TEXTS[name](text)
    state = copy.deepcopy(json.loads(text))
    CHANGES[name](state)
    return json.dumps(state)


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    (folder / "in").mkdir()
    pq.write_table(made(), folder / "in" / "a.parquet")
    score_files(folder / "in", folder / "out", recipe="coqa", by="domain")
    return folder / "out"


@pytest.mark.parametrize("name", [*CHANGES, *TEXTS])
def test_changed_totals(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    shard = pq.read_table(folder / "a.parquet")
    metadata = dict(pq.read_metadata(folder / "a.parquet").metadata)
    text = _changed(metadata[b"fastscore.totals"].decode(), name)
    pq.write_table(shard.replace_schema_metadata({**metadata, b"fastscore.totals": text.encode()}), tmp_path / "a.parquet")
    head, line = (folder / "manifest.jsonl").read_text().splitlines()
    totals = json.dumps(json.loads(line)["totals"])
    other = f'{{"input":"a.parquet","fingerprint":null,"output":"a.parquet","rows":600,"totals":{_changed(totals, name)}}}'
    (tmp_path / "manifest.jsonl").write_text(f"{head}\n{other}\n")
    for path, place in ((tmp_path / "a.parquet", "a.parquet: metadata"), (tmp_path, "manifest.jsonl: line 2")):
        if name == "null" and path == tmp_path:
            continue  # totals of many groups are null: they are added up from the shard
        assert main(["merge", str(path)]) == 3, name
        out, err = capsys.readouterr()
        assert (out, len(err.splitlines())) == ("", 1), err
        assert place in err


HEADS = [
    "{}",
    "null",
    "[1]",
    '{"fastscore_manifest":1}',
    '{"fastscore_manifest":1,"asked":{}}',
    '{"fastscore_manifest":1,"asked":{"signature":5}}',
    '{"fastscore_manifest":1,"asked":{"signature":"x"}}',
    '{"fastscore_manifest":1,"asked":{"signature":"coqa|norm:lower"}}',
    '{"fastscore_manifest":2,"asked":{"signature":"x"}}',
    '{"fastscore_manifest":1,"fastscore_manifest":1,"asked":{"signature":"x"}}',
    '{"fastscore_manifest":1,"asked":' + '{"a":' * 50_000,
    "\x00",
]


@pytest.mark.parametrize("number", range(len(HEADS)))
def test_changed_head(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int) -> None:
    lines = (folder / "manifest.jsonl").read_text().splitlines()
    (tmp_path / "manifest.jsonl").write_text("\n".join([HEADS[number], *lines[1:], ""]))
    assert main(["merge", str(tmp_path)]) == 3
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1), err
    assert "manifest.jsonl" in err


METADATA = [
    {b"fastscore.signature": b"\xff"},
    {b"fastscore.signature": b"x"},
    {b"fastscore.signature": b"|||"},
    {b"fastscore.by": b"{"},
    {b"fastscore.by": b'["nowhere"]'},
    {b"fastscore.by": b"[1]"},
    {b"fastscore.by": b"[[" * 50_000},
    {b"fastscore.by": b'[""]'},
]


@pytest.mark.parametrize("number", range(len(METADATA)))
def test_changed_metadata(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int) -> None:
    shard = pq.read_table(folder / "a.parquet")
    named = {b"fastscore.signature": RECIPES["coqa"].signature.encode(), **METADATA[number]}
    pq.write_table(shard.replace_schema_metadata(named), tmp_path / "a.parquet")
    assert main(["merge", str(tmp_path / "a.parquet")]) == 3
    assert "a.parquet: " in capsys.readouterr().err
    pq.write_table(shard.select(["question_id"]).replace_schema_metadata(named), tmp_path / "b.parquet")
    assert main(["merge", str(tmp_path / "b.parquet")]) == 3


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["metrics", "by", "groups", "", "f1"]), inner),
    max_leaves=12,
)


@given(json_values)
def test_any_value_is_totals_or_an_error(value: Any) -> None:
    with contextlib.suppress(FastscoreError):
        Totals.from_dict(value)


@given(st.lists(st.sampled_from(["coqa", "norm", "lower", ":", "|", ",", "words:split", "unicode:", "refs:best", "", "\n"])))
def test_any_text_is_a_signature_or_an_error(parts: list[str]) -> None:
    with contextlib.suppress(UsageError):
        Recipe.from_signature("".join(parts))


def test_bases_in_a_long_chain(tmp_path: Path) -> None:
    for most, name in ((50, "short.toml"), (3000, "long.toml")):
        tables = ['[recipes.r0]\nbase = "coqa"\n', *(f'[recipes.r{i}]\nbase = "r{i - 1}"\n' for i in range(1, most))]
        (tmp_path / name).write_text("".join(reversed(tables)))
    assert len(read_recipes(tmp_path / "short.toml")) == 50
    with pytest.raises(UsageError, match=r"long\.toml: .*more than 100"):
        read_recipes(tmp_path / "long.toml")


def test_merge_says_what_is_unfinished_twice_or_gone(tmp_path: Path) -> None:
    given = tmp_path / "in"
    given.mkdir()
    for name in ("a", "b"):
        pq.write_table(made(40), given / f"{name}.parquet")
    out = tmp_path / "out"
    score_files(given, out, recipe="coqa")
    for twice in ([out, out], [out, out / "a.parquet"], [out / "a.parquet", out / ".." / "out" / "a.parquet"]):
        with pytest.raises(UsageError, match="named twice"):
            merge_totals(twice)
    notes: list[str] = []
    merge_totals([out], notes)
    assert not notes
    (out / "summary.json").unlink()
    merge_totals([out], notes)
    assert len(notes) == 1
    assert "did not come to its end" in notes[0]
    (out / "b.parquet").unlink()
    with pytest.raises(DataError, match=r"b\.parquet: gone"):
        merge_totals([out])


def test_overwrite_removes_what_was_there_before_and_nothing_else(tmp_path: Path) -> None:
    given, out = tmp_path / "in", tmp_path / "out"
    given.mkdir()
    for name in ("a", "b"):
        pq.write_table(made(40), given / f"{name}.parquet")
    score_files(given, out, recipe="coqa")
    (given / "b.parquet").unlink()
    with pytest.raises(DataError, match="which is none of the inputs"):
        score_files(given, out, recipe="coqa")
    (out / "mine.parquet").write_bytes((given / "a.parquet").read_bytes())
    (out / "notes.txt").write_text("mine")
    line = json.loads((out / "manifest.jsonl").read_text().splitlines()[-1])
    with open(out / "manifest.jsonl", "a") as file:
        for other in ("mine.parquet", "notes.txt"):
            file.write(json.dumps({**line, "input": other, "output": other}) + "\n")
    score_files(given, out, recipe="coqa", overwrite=True)
    assert sorted(p.name for p in out.iterdir() if p.name[0] != ".") == sorted(
        ["a.parquet", "manifest.jsonl", "mine.parquet", "notes.txt", "summary.json"]
    )


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    given, out, outside = tmp_path / "in", tmp_path / "out", tmp_path / "outside"
    (given / "sub").mkdir(parents=True)
    outside.mkdir()
    out.mkdir()
    pq.write_table(made(40), given / "sub" / "a.parquet")
    pq.write_table(made(40), given / "b.parquet")
    (out / "sub").symlink_to(outside)
    (failure,) = score_files(given, out, recipe="coqa", overwrite=True).failures
    assert "leads out of the folder" in failure
    assert not list(outside.iterdir())
    (out / "sub").unlink()
    precious = outside / "precious"
    precious.write_text("{}\n{}")
    (out / "manifest.jsonl").unlink()
    (out / "manifest.jsonl").symlink_to(precious)
    with pytest.raises(DataError, match="a link"):
        score_files(given, out, recipe="coqa")
    score_files(given, out, recipe="coqa", overwrite=True)
    (out / "summary.json").unlink()
    (out / "summary.json").symlink_to(precious)
    score_files(given, out, recipe="coqa", overwrite=True)
    assert precious.read_text() == "{}\n{}"


def test_files_are_private_until_in_place_and_then_as_the_umask_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastscore import output

    pq.write_table(made(40), tmp_path / "in.parquet")
    seen: list[int] = []
    put = output.put_in_place

    def watched(name: str, path: Path | str) -> None:
        seen.append(stat.S_IMODE(os.stat(name).st_mode))
        put(name, path)

    monkeypatch.setattr("fastscore.output.put_in_place", watched)
    monkeypatch.setattr("fastscore.stage.writers.put_in_place", watched)
    monkeypatch.setattr(os, "umask", None)
    for suffix in ("parquet", "arrow", "jsonl", "csv"):
        score_files(tmp_path / "in.parquet", tmp_path / f"o.{suffix}", recipe="coqa")
        (tmp_path / "new").write_text("")
        assert (tmp_path / f"o.{suffix}").stat().st_mode == (tmp_path / "new").stat().st_mode
    assert set(seen) == {0o600}
    assert not list(tmp_path.glob(".*"))
