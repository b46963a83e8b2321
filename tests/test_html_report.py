"""The HTML report without a browser: self-contained, escaped, small, the same bytes each time, and right in its numbers."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from tests.hostile import HOSTILE, hostile_items

for _module in ("altair", "vl_convert", "great_tables"):
    pytest.importorskip(_module, reason=f"{_module} of the extra 'report' is not installed")

import fastscore  # noqa: E402
from fastscore.cli import main  # noqa: E402
from fastscore.errors import UsageError  # noqa: E402
from fastscore.html.changes import changes_of  # noqa: E402
from fastscore.html.figures import group_means, histogram, ordered, overall_means, status_counts  # noqa: E402
from fastscore.html.items import MOST, pick_items  # noqa: E402
from fastscore.html.marking import marked_pairs  # noqa: E402
from fastscore.html.page import report_html, write_report  # noqa: E402
from fastscore.html.source import FIRST_WORD, LENGTH, TURN, open_sources  # noqa: E402
from fastscore.html.tables import html_table  # noqa: E402
from fastscore.html.words import shown  # noqa: E402
from fastscore.output import write_items  # noqa: E402
from fastscore.recipes import RECIPES  # noqa: E402
from fastscore.stats.intervals import interval  # noqa: E402

_VOID = {"meta", "link", "br", "input", "img", "hr"}
_TEXTS = ["prediction", "references", "question"]


class Outline(HTMLParser):
    """Reads a page: every element closed where it was opened, all attributes, all text outside style and script."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


def scored(predictions: list[str | None], *, keep: list[str] | None = None) -> fastscore.Result:
    """A conversation's item scores by CoQA's rule."""
    rows = len(predictions)
    table = pa.table(
        {
            "question_id": [f"story {i // 4}" for i in range(rows)],
            "turn_id": [i % 4 + 1 for i in range(rows)],
            "prediction": pa.array(predictions, pa.string()),
            "references": [["The cat", "a black cat"], ["yes"]] * (rows // 2),
            "question": ["Who sat there?", "is it black"] * (rows // 2),
            "domain": ["news", "fiction"] * (rows // 2),
        }
    )
    return fastscore.score(table, recipe="coqa", by="domain", keep=_TEXTS if keep is None else keep)


@pytest.fixture(scope="module")
def result() -> fastscore.Result:
    return scored(["cat", "Yes.", "dog", None] * 20)


@pytest.fixture(scope="module")
def hostile() -> tuple[pa.Table, pa.Table]:
    return hostile_items(), hostile_items(shift=4)


# ---- the page


def test_sections_and_figures(result: fastscore.Result, tmp_path: Path) -> None:
    result.report(tmp_path / "report.html", title="A run")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    outline = Outline(page)
    headings = re.findall(r"<h2 id=\"(\w+)\">", page)
    assert headings == ["figures", "groups", "distribution", "profiles", "statuses", "normalisation", "items", "reproduce"]
    text = " ".join(" ".join(outline.text).split())
    for metric in ("exact_match", "f1"):
        assert f"{100 * result.summary['overall'][metric]:.1f}" in text
    assert "null_prediction 20 25.00" in text
    assert "clustered by question_id" in text
    assert "only 20 clusters (question_id), fewer than 30" in text
    assert result.signature in text
    assert f"-r '{result.signature}'" in text
    assert "<mark>cat</mark>" in page


def test_the_page_is_self_contained_and_guarded(hostile: tuple[pa.Table, pa.Table]) -> None:
    page = report_html(*hostile, draws=200)
    outline = Outline(page)
    names = [tag for tag, _ in outline.tags]
    assert (names.count("script"), names.count("style")) == (1, 1)
    assert not {"img", "iframe", "link", "object", "embed", "form", "base"} & set(names)
    attributes = [(tag, name, value) for tag, found in outline.tags for name, value in found.items()]
    assert not [one for one in attributes if one[1].startswith("on") or one[1] in ("style", "src", "srcdoc")]
    links = [value for _, name, value in attributes if name in ("href", "xlink:href")]
    assert all(value and re.fullmatch(r"#\w+", value) for value in links)
    ids = [value for _, name, value in attributes if name == "id"]
    assert len(ids) == len(set(ids))
    policy = next(found["content"] for tag, found in outline.tags if found.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    for tag in ("style", "script"):
        inside = page[page.index(f"<{tag}>") + len(tag) + 2 : page.index(f"</{tag}>")]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_hostile_texts_are_shown_and_nothing_else(hostile: tuple[pa.Table, pa.Table]) -> None:
    page = report_html(*hostile, names=["<b>a", "b\0\u202e"], title="</title><script>", draws=200)
    text = "".join(Outline(page).text)
    for one in HOSTILE[:8]:
        assert one in text
    drawn = "".join(re.findall("<svg.*?</svg>", page))
    assert html.unescape(drawn).count(HOSTILE[7]) > 5
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", page)
    assert len(page.encode()) < 3_000_000


def test_the_same_scores_give_the_same_bytes(result: fastscore.Result, tmp_path: Path) -> None:
    write_items(result.items, tmp_path / "a.parquet", result.signature)
    write_report(tmp_path / "one.html", tmp_path / "a.parquet")
    write_report(tmp_path / "two.html", tmp_path / "a.parquet")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.parquet", "one.html", "two.html"]


def test_size_does_not_grow_with_the_rows() -> None:
    rng = np.random.default_rng(0)
    sizes = []
    for rows in (3_000, 60_000):
        f1 = np.round(rng.random(rows), 2)
        frame = pl.DataFrame(
            {"question_id": np.arange(rows), "exact_match": np.floor(f1), "f1": f1, "part": [f"p{i % 40}" for i in range(rows)]}
        )
        sizes.append(len(report_html(frame, by=["part"])))
    assert sizes[1] < 1.1 * sizes[0]


def test_comparison_section(result: fastscore.Result) -> None:
    other = scored(["dog", "Yes.", "a cat", "no"] * 20)
    page = report_html(result.items, other.items, names=["old", "new"], signatures=[result.signature, other.signature], draws=200)
    text = " ".join(" ".join(Outline(page).text).split())
    assert "new against old: 80 items" in text
    assert "worsened" in text
    assert "old: cat" in text
    assert "seed 0" in text
    with pytest.raises(UsageError, match="different rules"):
        report_html(result.items, other.items, signatures=[result.signature, "squad|x:y"])


def test_without_texts_the_page_says_what_is_missing() -> None:
    bare = scored(["cat", "yes"] * 10, keep=[])
    page = report_html(bare.items, signatures=[bare.signature])
    assert page.count("--keep prediction") == 3
    assert "carry no signature" in report_html(bare.items)


def test_other_metrics_and_nulls() -> None:
    table = pa.table({"question_id": [1, 2, 3], "top_1": [1.0, 0.0, None], "status": ["ok", "ok", None]})
    page = report_html(table)
    assert "top_1" in page
    empty = pa.table({"question_id": pa.array([], pa.string()), "f1": pa.array([], pa.float64())})
    Outline(report_html(empty))
    with pytest.raises(UsageError, match="no column of scores"):
        report_html(pa.table({"question_id": [1]}))


# ---- the parts against other ways to the same


def test_figures_against_the_library(result: fastscore.Result) -> None:
    source = open_sources([result.items], by=["domain"])[0]
    means = {one.metric: one for one in overall_means(source)}
    expected = interval(result.items, "f1", "question_id")
    assert (means["f1"].mean, means["f1"].low, means["f1"].high) == (expected.mean, expected.low, expected.high)
    assert means["f1"].mean == result.summary["overall"]["f1"]
    groups = {one.group: one.mean for one in group_means(source, "domain", ["f1"])}
    assert groups == {value: block["f1"] for value, block in result.summary["groups"]["domain"].items()}
    assert [(one.group, one.n) for one in group_means(source, TURN, ["f1"])] == [(str(turn), 20) for turn in (1, 2, 3, 4)]
    assert [(one.group, one.n) for one in group_means(source, FIRST_WORD, ["f1"])] == [("is", 40), ("who", 40)]
    assert sum(one.n for one in group_means(source, LENGTH, ["f1"])) == 80
    assert sum(one.n for one in histogram(source)) == 80
    assert [(one.name, one.n) for one in status_counts(source)] == [("ok", 60), ("null_prediction", 20)]


def test_many_groups_become_the_largest_and_the_others() -> None:
    frame = pl.DataFrame({"f1": [0.5] * 100, "part": [f"g{min(i, 40)}" for i in range(100)]})
    found = group_means(open_sources([frame], by=["part"])[0], "part", ["f1"], most=3)
    assert [(one.group, one.n) for one in found] == [("g0", 1), ("g1", 1), ("g40", 60), ("(other)", 38)]
    assert ordered(["10", "9", "x", "(none)", "2–3", "(other)", "b"]) == ["2–3", "9", "10", "b", "x", "(none)", "(other)"]


def test_histogram_against_hand() -> None:
    frame = pl.DataFrame({"f1": [0.0, 0.05, 0.1, 0.999, 1.0, None]})
    found = {one.name: one.n for one in histogram(open_sources([frame])[0]) if one.n}
    assert found == {"0": 1, "0–10": 1, "10–20": 1, "90–100": 1, "100": 1}


def test_items_picked(result: fastscore.Result) -> None:
    f1 = [0.0] * 1000 + [0.5] * 1000 + [1.0] * 1000
    frame = pl.DataFrame({"question_id": range(3000), "exact_match": np.floor(f1), "f1": f1})
    picked = pick_items(open_sources([frame]), None)
    assert len(picked) == MOST
    assert {kind: {one.scores[1] for one in picked if one.kind == kind} for kind in ("worst", "close", "best")} == {
        "worst": {0.0},
        "close": {0.5},
        "best": {1.0},
    }
    worst = [int(one.key[0]) for one in picked if one.kind == "worst"]
    assert (min(worst), max(worst) > 950, len(set(worst))) == (0, True, 150)
    small = pick_items(open_sources([result.items]), None)
    assert len(small) == len({one.key for one in small}) == 80


def test_changes_against_hand(result: fastscore.Result) -> None:
    source = open_sources([result.items], signatures=[result.signature])[0]
    found = changes_of(source, RECIPES["coqa"])
    assert found is not None
    assert (found.looked, found.items, found.changed, found.steps) == (
        60,
        80,
        20,
        (("letter case", 20), ("punctuation", 20), ("articles", 0)),
    )
    assert found.examples == (("Yes.", "yes", 20),)


@pytest.mark.parametrize(
    ("prediction", "reference", "recipe", "expected"),
    [
        ("The Cat, cat!", "a cat", "squad", ("The <mark>Cat,</mark> cat!", "a <mark>cat</mark>")),
        ("well-known", "wellknown & <b>", "squad", ("<mark>well-known</mark>", "<mark>wellknown</mark> &amp; &lt;b&gt;")),
        ("<i>x</i>", None, "squad", ("&lt;i&gt;x&lt;/i&gt;", "")),
        (None, "x", "squad", ("", "x")),
        ("北京 City", "北", "mlqa-zh", ("<mark>北</mark>京 City", "<mark>北</mark>")),
    ],
)
def test_marking_against_hand(prediction: str | None, reference: str | None, recipe: str, expected: tuple[str, str]) -> None:
    if recipe not in RECIPES:
        pytest.skip(f"no recipe {recipe}")
    assert marked_pairs([(prediction, reference)], RECIPES[recipe]) == [expected]


def test_marking_cuts_long_texts() -> None:
    one, two = marked_pairs([("word " * 200_000, "word " * 3)], RECIPES["squad"])[0]
    assert one.count("<mark>") == two.count("<mark>") == 3
    assert len(one) < 500
    assert one.endswith("…")


@pytest.mark.parametrize("text", HOSTILE)
def test_shown_and_table_cells_hold_no_markup(text: str) -> None:
    assert not re.search("[<>\"'\0-\x1f\x7f-\x9f\u202e]", shown(text))
    table = html_table("t", [text, "n"], [[text, "1"]], (1,))
    cells = re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", table)
    assert cells[0] == cells[2] == shown(text)


# ---- the command and the mistakes


def test_command(result: fastscore.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items, page = tmp_path / "items.parquet", tmp_path / "report.html"
    write_items(result.items, items, result.signature)
    assert main(["report", str(items), "-o", str(page), "--title", "My run", "--by", "domain"]) == 0
    assert re.fullmatch(r"fastscore: .*report\.html: \d\.\d\d MB\n", capsys.readouterr().err)
    assert "<title>My run</title>" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("{items}",), 2, "--output"),
        (("{items}", "-o", "{items}"), 2, "--overwrite replaces it"),
        (("{items}", "-o", "/nowhere/x.html"), 2, "there is no folder"),
        (("/nowhere", "-o", "{page}"), 2, "there is no file"),
        (("{items}", "-o", "{page}", "--by", "topic"), 2, "no column 'topic'"),
        (("{items}", "-o", "{page}", "--name", "a", "--name", "b"), 2, "--name"),
        (("{text}", "-o", "{page}"), 3, "no known format"),
    ],
)
def test_mistakes_take_one_line(
    arguments: tuple[str, ...],
    code: int,
    words: str,
    result: fastscore.Result,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = {"items": tmp_path / "items.parquet", "page": tmp_path / "page.html", "text": tmp_path / "text"}
    write_items(result.items, names["items"], result.signature)
    names["text"].write_text("hello\n")
    assert main(["report", *(argument.format(**names) for argument in arguments)]) == code
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
    assert not names["page"].exists()


@pytest.mark.parametrize("absent", ["altair", "vl_convert", "great_tables"])
def test_a_missing_extra_is_named(absent: str, result: fastscore.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(UsageError, match=r"pip install '\.\[report\]' in a clone"):
        result.report(tmp_path / "x.html")
    with pytest.raises(UsageError, match=absent):
        result.plot()


def test_plot(result: fastscore.Result) -> None:
    drawn: dict[str, Any] = result.plot().to_dict()
    assert len(drawn["vconcat"]) == 2
