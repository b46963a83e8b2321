"""Systems compared: joined by key, refused where incomparable, the same bits in any order, and safe to print."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastscore.compare import SIGNATURE_KEY, compare
from fastscore.errors import ColumnTypeError, DataError, FormatError, KeyMismatchError, UnknownNameError, UsageError
from fastscore.stats import Comparison, paired_difference
from fastscore.stats.tables import Table, for_latex, for_markdown, visible

HOSTILE = (
    "a|b\n<script>alert(1)</script> [x](javascript:alert(1)) `c` *d* _e_ \\input{f} $g$ 50% #h & \x1b[31m\u202e@me https://x.y"
)


def items(n: int = 60, seed: int = 0, shift: float = 0.0, **more: list[Any]) -> pa.Table:
    rng = np.random.default_rng(seed)
    f1 = np.clip(np.round(rng.random(n) + shift, 2), 0, 1)
    columns = {"question_id": [f"q{i:03}" for i in range(n)], "exact_match": (f1 > 0.5).astype(float), "f1": f1}
    return pa.table(columns | more)


def shuffled(table: pa.Table, seed: int = 0) -> pa.Table:
    return table.take(random.Random(seed).sample(range(table.num_rows), table.num_rows))


def plain(found: Comparison) -> dict[str, Any]:
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))  # type: ignore[no-any-return]


# ---- the join


def test_join_by_key_against_hand() -> None:
    a = pa.table({"question_id": ["q1", "q2", "q3", "q0"], "exact_match": [1.0, 0.0, 1.0, 1.0], "f1": [1.0, 0.25, 1.0, None]})
    b = pa.table({"question_id": ["q4", "q2", "q1", "q0"], "exact_match": [1.0, 1.0, 0.0, None], "f1": [1.0, 0.5, 0.0, 0.5]})
    pair = compare(a, b, draws=100).pairs[0]
    assert (pair.a, pair.b, pair.joined) == ("A", "B", 3)
    assert (pair.only_a.count, pair.only_a.keys) == (1, ({"question_id": "q3"},))
    assert (pair.only_b.count, pair.only_b.keys) == (1, ({"question_id": "q4"},))
    em, f1 = pair.overall["exact_match"], pair.overall["f1"]
    assert (em.n, em.left_out, em.left_out_a, em.left_out_b, em.mean_a, em.mean_b) == (2, 1, 0, 1, 0.5, 0.5)
    assert (f1.n, f1.left_out, f1.left_out_a, f1.left_out_b, f1.mean_a, f1.mean_b) == (2, 1, 1, 0, 0.625, 0.25)
    assert (f1.interval.mean, f1.wins, f1.losses) == (-0.375, 1, 1)
    assert [(item.key["question_id"], item.difference) for item in pair.worsened["f1"]] == [("q1", -1.0)]
    assert [(item.key["question_id"], item.a, item.b) for item in pair.improved["f1"]] == [("q2", 0.25, 0.5)]


def test_row_order_against_itself(tmp_path: Path) -> None:
    a, b = items(domain=["x", "y"] * 30, story=[i // 3 for i in range(60)]), items(seed=1)
    expected = plain(compare(a, b, by="domain", cluster="story", draws=500))
    assert plain(compare(shuffled(a), shuffled(b, 1), by="domain", cluster="story", draws=500)) == expected
    one, two = tmp_path / "A.parquet", tmp_path / "B.parquet"
    pq.write_table(shuffled(a, 2), one, row_group_size=7)
    pq.write_table(b, two)
    assert plain(compare(one, str(two), by="domain", cluster="story", draws=500)) == expected


def test_overall_against_arrays() -> None:
    a, b = items(), items(seed=1)
    found = compare(a, b, draws=300).pairs[0].overall["f1"]
    alone = paired_difference(a["f1"].to_numpy(), b["f1"].to_numpy(), metric="f1", draws=300)
    assert found == alone


def test_seed_changes_the_draws_and_nothing_else() -> None:
    one, two = (compare(items(), items(seed=1), seed=seed, draws=500).pairs[0].overall["f1"] for seed in (0, 1))
    assert one.randomization_p != two.randomization_p
    assert (one.interval, one.t_p, one.wins) == (two.interval, two.t_p, two.wins)


@pytest.mark.parametrize(
    ("a", "b", "error", "words"),
    [
        ([1, 2], ["1", "2"], KeyMismatchError, "'question_id' is Int64 in 'A' and String in 'B'"),
        (pa.array([1, 2], pa.uint64()), [1, 2], KeyMismatchError, "UInt64 in 'A' and Int64 in 'B'"),
        ([1.0, 2.0], [1.0, 2.0], ColumnTypeError, "must be text or an integer, it is Float64"),
        (["a", None], ["a", "b"], KeyMismatchError, r"'A': key 'question_id' is null in row 1"),
        (["a", "b"], ["b", "b"], KeyMismatchError, r"'B': 1 keys \(question_id\) occur more than once, such as \('b',\)"),
        (["a", "b"], ["c", "d"], KeyMismatchError, r"no key \(question_id\) in common, first keys: \('a',\) against \('c',\)"),
        ([], ["c", "d"], KeyMismatchError, r"first keys: none against \('c',\)"),
    ],
)
def test_keys_that_do_not_join(a: Any, b: Any, error: type[Exception], words: str) -> None:
    tables = [
        pa.table({"question_id": key if len(key) else pa.array([], pa.string()), "f1": pa.array([0.5] * len(key), pa.float64())})
        for key in (a, b)
    ]
    with pytest.raises(error, match=words):
        compare(*tables, metrics="f1")


def test_integer_keys_of_different_width_and_beyond_float_precision() -> None:
    a = pa.table({"question_id": pa.array([2**53, 2**53 + 1]), "f1": [0.0, 1.0]})
    b = pa.table({"question_id": pa.array([2**53 + 1, 2**53 + 2]), "f1": [1.0, 0.0]})
    pair = compare(a, b, metrics="f1", draws=100).pairs[0]
    assert (pair.joined, pair.overall["f1"].ties) == (1, 1)
    narrow = pa.table({"question_id": pa.array([1], pa.int32()), "f1": [0.0]})
    assert compare(narrow, pa.table({"question_id": [1], "f1": [1.0]}), metrics="f1", draws=100).pairs[0].joined == 1


def test_key_columns_that_the_tables_share() -> None:
    turns = items(turn_id=list(range(60)))
    found = compare(turns, turns, draws=100)
    assert (found.keys, found.cluster) == (("question_id", "turn_id"), ("question_id",))
    assert compare(turns, turns, cluster=(), draws=100).cluster == ()
    assert compare(items(), items(), draws=100).cluster == ()
    with pytest.raises(KeyMismatchError, match="different key columns"):
        compare(turns, items())
    assert compare(turns, items(), keys="question_id", draws=100).pairs[0].joined == 60
    with pytest.raises(KeyMismatchError, match="name the keys to join by, out of: f1"):
        compare(items().select(["f1"]), items().select(["f1"]))


def test_stories_are_the_clusters_of_turns_against_arrays() -> None:
    story, turn = [f"s{i // 6}" for i in range(60)], [i % 6 for i in range(60)]
    a, b = (
        items(seed=s).drop(["question_id"]).append_column("question_id", [story]).append_column("turn_id", [turn]) for s in (0, 1)
    )
    found = compare(a, b, draws=100).pairs[0].overall["f1"]
    alone = paired_difference(a["f1"].to_numpy(), b["f1"].to_numpy(), np.array(story), draws=100)
    assert found.interval.clusters == 10
    assert (found.interval.standard_error, found.randomization_p) == (alone.interval.standard_error, alone.randomization_p)


# ---- groups, several systems


def test_groups_and_correction_against_hand() -> None:
    a = items(domain=["x"] * 30 + ["y"] * 29 + [None])
    found = compare(a, items(seed=1, shift=-0.3), by=["domain"], draws=2_000, correction="holm").pairs[0]
    groups = found.groups["domain"]["f1"]
    assert [(group.value, group.difference.n) for group in groups] == [(None, 1), ("x", 30), ("y", 29)]
    p = [group.difference.randomization_p for group in groups]
    assert p[0] == 1.0
    ranked = sorted(range(3), key=lambda i: p[i] or 0)
    assert groups[ranked[0]].difference.adjusted_p == pytest.approx(min(1.0, 3 * (p[ranked[0]] or 0)))
    assert found.overall["f1"].adjusted_p == found.overall["f1"].randomization_p


def test_three_systems() -> None:
    base, worse = items(200), items(200, shift=-0.2)
    found = compare(base, worse, shuffled(base), names=["base", "worse", "same"], draws=1_000)
    assert [(pair.a, pair.b) for pair in found.pairs] == [("base", "worse"), ("base", "same")]
    first = found.pairs[0].overall["f1"]
    assert first.adjusted_p == pytest.approx(2 * (first.randomization_p or 0))
    assert found.significantly_worse("f1")
    assert found.significantly_worse("f1", "worse")
    assert not found.significantly_worse("f1", "same")
    assert not compare(worse, base, draws=1_000).significantly_worse("f1")
    with pytest.raises(UnknownNameError, match="metric 'f2' was not compared"):
        found.significantly_worse("f2")
    with pytest.raises(UnknownNameError, match="system 'base' was not compared with 'base'"):
        found.significantly_worse("f1", "base")


def test_labels_come_from_either_table_and_must_agree() -> None:
    a, b = items(2, domain=["x", "y"]), items(2, seed=1)
    assert compare(b, a, by="domain", draws=100).pairs[0].groups["domain"].keys() == {"exact_match", "f1"}
    with pytest.raises(
        KeyMismatchError, match=r"'domain' differs between 'A' and 'B' in 1 items, first \('q001',\): 'y' against 'z'"
    ):
        compare(a, items(2, domain=["x", "z"]), by="domain")
    with pytest.raises(ColumnTypeError, match="'domain' is String in 'A' and Int64 in 'B'"):
        compare(a, items(2, domain=[1, 2]), by="domain")
    with pytest.raises(UnknownNameError, match=r"neither 'A' nor 'B' has a column 'domian'\. Did you mean 'domain'"):
        compare(a, b, by="domian")


# ---- signatures, names, files


def signed(signature: str) -> pa.Table:
    return items().replace_schema_metadata({SIGNATURE_KEY: signature.encode()})


def test_different_signatures_are_refused() -> None:
    with pytest.raises(UsageError, match=r"'A': squad\|x; 'B': coqa\|x"):
        compare(signed("squad|x"), signed("coqa|x"))
    with pytest.raises(UsageError, match=r"'A': squad\|x; 'B': unknown"):
        compare(signed("squad|x"), items())
    found = compare(signed("squad|x"), signed("coqa|x"), allow_different_signatures=True, draws=100)
    assert [system.signature for system in found.systems] == ["squad|x", "coqa|x"]
    assert "different rules" in found.notes[0]
    assert compare(signed("squad|x"), items(), signatures=[None, "squad|x"], draws=100).notes == ()
    assert compare(items(), items(), draws=100).notes == ("No table says by which rule it was scored.",)
    with pytest.raises(UsageError, match=r"signature given is 'y', its table says 'squad|x'"):
        compare(signed("squad|x"), items(), signatures=["y", "y"])


def test_files_keep_signature_names_and_predictions(tmp_path: Path) -> None:
    for name in ("old", "new"):
        table = signed("squad|x").append_column("prediction", [[f"{name} {i}" for i in range(60)]])
        if name == "new":
            table = shuffled(table.set_column(2, "f1", [np.roll(table["f1"].to_numpy(), 1)]))
        pq.write_table(table, tmp_path / f"{name}.parquet")
    found = compare(tmp_path / "old.parquet", tmp_path / "new.parquet", draws=100, listed=3)
    assert [(system.name, system.signature, system.rows) for system in found.systems] == [
        ("old", "squad|x", 60),
        ("new", "squad|x", 60),
    ]
    assert len(found.pairs[0].worsened["f1"]) == 3
    for item in found.pairs[0].worsened["f1"]:
        place = int(str(item.key["question_id"])[1:])
        assert (item.prediction_a, item.prediction_b) == (f"old {place}", f"new {place}")
    sizes = [item.difference for item in found.pairs[0].worsened["f1"]]
    assert sizes == sorted(sizes)


def test_sources_that_are_no_item_scores(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("question_id,f1\n")
    with pytest.raises(FormatError, match=r"a\.parquet: a parquet file of item scores is allowed"):
        compare(tmp_path / "a.parquet", items())
    with pytest.raises(UsageError, match="there is no file"):
        compare(items(), tmp_path / "none.parquet")
    with pytest.raises(UsageError, match="got dict"):
        compare(items(), {"f1": [1.0]})


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"metrics": ("exact_match", "f2")}, UnknownNameError, "system 'A' has no column 'f2'.*Known|Did you mean"),
        ({"metrics": ()}, UsageError, "metrics and listed"),
        ({"by": "f1"}, UsageError, "cannot be a metric and a group"),
        ({"cluster": "gap"}, DataError, "'gap' is null"),
        ({"names": ["x", "x"]}, UsageError, "2 different names"),
        ({"signatures": ["x"]}, UsageError, "one for each of the 2"),
        ({"alpha": 5}, UsageError, "alpha"),
        ({"draws": 1}, UsageError, "draws"),
        ({"seed": 0.5}, UsageError, "seed"),
        ({"correction": "none"}, UsageError, "'holm' and 'bh'"),
    ],
)
def test_refusals(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        compare(items(2, gap=[None, "x"]), items(2), **options)


def test_nan_is_refused_with_its_row_and_system() -> None:
    with pytest.raises(DataError, match="system 'B': metric 'f1' holds nan in row 1"):
        compare(items(2), pa.table({"question_id": ["q000", "q001"], "exact_match": [0.0, 0.0], "f1": [0.0, float("nan")]}))


def test_too_few_draws_and_clusters_are_said() -> None:
    found = compare(items(domain=[f"d{i}" for i in range(60)]), items(seed=1), by="domain", draws=100)
    assert any("60 tests in one family need more than 100 draws" in note for note in found.notes)
    few = compare(items(5), items(5, seed=1), draws=100)
    assert any("only 5 rows, fewer than 30" in note for note in few.notes)


def test_the_package_offers_compare_however_it_was_imported() -> None:
    import fastscore.compare

    assert fastscore.compare(items(), items(), draws=100).pairs[0].joined == 60  # type: ignore[operator]


# ---- rendering


def hostile() -> Comparison:
    a = items(4, domain=[HOSTILE, HOSTILE, "x", None], prediction=[HOSTILE] * 4)
    b = items(4, seed=1, prediction=[None, "", HOSTILE, "\ud7ff" * 300])
    ids = [[HOSTILE, "q1", "q2", "q3"]]
    a, b = (table.set_column(0, "question_id", ids) for table in (a, b))
    return compare(a, b, by="domain", names=["A", HOSTILE], draws=100)


def test_renderings_give_no_control_to_the_data() -> None:
    found = hostile()
    for text in (found.to_text(), found.to_markdown(), found.to_latex()):
        assert all(c.isprintable() or c == "\n" for c in text)
    markdown = found.to_markdown()
    assert "<script" not in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} <= {6 + 1, 6 + 8 + 1, 7 + 8 + 1}
    latex = found.to_latex()
    assert r"\input" not in latex
    assert latex.count("{") == latex.count("}")
    for row in re.findall(r"^.* \\\\$", latex, re.MULTILINE):
        assert not re.search(r"(?<!\\)[%#$_](?!-\$)", row.replace("$-$", ""))
    json.dumps(found.to_dict(), allow_nan=False)


def test_markdown_shows_the_text_against_markdown_it() -> None:
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"html": True}).enable("table")
    table = Table(HOSTILE, (HOSTILE, "n"), ((HOSTILE, "-0.5"),), frozenset({1}))
    html = parser.render(table.to_markdown())
    tags = set(re.findall(r"</?(\w+)", html))
    assert tags == {"p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html)
    unescaped = cells[0].replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")
    assert (unescaped, cells[1]) == (visible(HOSTILE), "-0.5")


def test_escapes_against_hand() -> None:
    assert visible("a\tb\x00\x1b[0m\u202e\u2028é") == r"a\tb\x00\x1b[0m\u202e\u2028é"
    assert visible("x" * 10, 4) == "xxx…"
    assert for_markdown("a|<b>_") == r"a&#124;&lt;b&gt;\_"
    assert for_latex("50% of $x_1^2\\") == r"50\% of \$x\_1\textasciicircum{}2\textbackslash{}"


def test_text_lines_up_wide_characters() -> None:
    lines = Table("t", ("name", "n"), (("東京", "1"), ("e\u0301", "20")), frozenset({1})).to_text().splitlines()
    assert lines[1:] == ["name   n", "----  --", "東京   1", "e\u0301     20"]


def test_tables_show_the_numbers_against_hand() -> None:
    a = pa.table({"question_id": ["a", "b"], "f1": [1.0, 0.5], "prediction": ["x", "y"]})
    b = pa.table({"question_id": ["a", "b"], "f1": [0.0, 0.25], "prediction": ["z", None]})
    found = compare(a, b, metrics="f1", draws=100)
    text = found.to_text()
    assert re.search(r"^f1 +2 +0\.7500 +0\.1250 +-0\.6250 ", text, re.MULTILINE)
    assert re.search(r"^a +1\.0000 +0\.0000 +-1\.0000 +x +z$", text, re.MULTILINE)
    assert "100 draws, seed 0; corrected by holm; each item is a unit of its own" in text
    assert "| f1 | 2 | 0.7500 | 0.1250 | -0.6250 |" in found.to_markdown()
    assert r"f1 & 2 & 0.7500 & 0.1250 & $-$0.6250 &" in found.to_latex()
