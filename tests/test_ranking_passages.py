"""DPR's files and its question of whether a passage contains an answer."""

from __future__ import annotations

import itertools
import json
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastscore.errors import ColumnTypeError, FormatError, KeyMismatchError, UnknownNameError, UsageError
from fastscore.formats.dpr import read_dpr, read_records
from fastscore.kernels import passages as kernels
from fastscore.retrieval import score_ranking
from tests.conftest import shared_path


def plain_words(text: str) -> list[str]:
    """Runs of letters, numbers and marks, other visible characters alone, of the NFD form, each lower-cased."""
    groups = itertools.groupby(unicodedata.normalize("NFD", text), key=lambda c: unicodedata.category(c)[0])
    runs = [(kind in "LNM", kind in "ZC", "".join(characters)) for kind, characters in groups]
    words: list[str] = []
    joined = False
    for word, apart, characters in runs:
        if word and joined:
            words[-1] += characters
        elif word:
            words.append(characters)
        elif not apart:
            words += list(characters)
        joined = word
    return [word.lower() for word in words]


def plain_has_answer(answers: list[str | None], passage: str | None) -> bool:
    words = plain_words(passage or "")
    for answer in answers:
        wanted = plain_words(answer or "")
        if wanted and any(words[i : i + len(wanted)] == wanted for i in range(len(words))):
            return True
    return False


def table(texts: list[Any], answers: list[Any]) -> pa.Table:
    return pa.table(
        {
            "query_id": list(range(len(texts))),
            "retrieved_ids": [None if t is None else [f"p{i}" for i in range(len(t))] for t in texts],
            "retrieved_texts": pa.array(texts, pa.list_(pa.string())),
            "references": pa.array(answers, pa.large_list(pa.large_string())),
        }
    )


def first_hits(texts: list[Any], answers: list[Any], threads: int = 1) -> list[int | None]:
    """For each row how many passages it takes, 0 where no number does."""
    deepest = max([len(t or []) for t in texts] + [1])
    measures = [f"answer@{k}" for k in range(1, deepest + 1)]
    rows = score_ranking(table(texts, answers), measures=measures, threads=threads).items.to_pylist()
    return [
        None if row[measures[0]] is None else next((k for k, m in enumerate(measures, 1) if row[m] == 1.0), 0) for row in rows
    ]


def test_worked_cases_against_hand() -> None:
    cases = [
        (["In Berlin, sagt man", "berlin"], ["Berlin"], 1),
        (["ein Berliner", "BERLIN!"], ["Berlin"], 2),
        (["der New Yorker", "new york city"], ["New York"], 2),
        (["New-York"], ["New York"], 0),
        (["New-York"], ["new - YORK"], 1),
        (["Köln"], ["Ko\u0308ln"], 1),
        (["3.5 %"], ["3.5%"], 1),
        (["ΟΔΟΣ ΟΔΟΣ."], ["οδο\u03c3"], 0),
        (["ΟΔΟΣ ΟΔΟΣ."], ["οδός"], 0),
        (["ΟΔΟΣ"], ["οδο\u03c2"], 1),
        (["ΑΣ'Α"], ["ας"], 1),
        (["İstanbul"], ["i\u0307stanbul"], 1),
        (["한국어"], ["\u1112\u1161\u11ab국\u110b\u1165"], 1),
        (["a\u0300\u0316"], ["a\u0316\u0300"], 1),
        (["zero\u200bwidth"], ["zero width"], 1),
        (["a b"], ["b a"], 0),
        (["", None, "x"], ["x"], 3),
        (["x y z"], [" ", "y z"], 1),
    ]
    assert first_hits([c[0] for c in cases], [c[1] for c in cases]) == [c[2] for c in cases]


PIECES = [*"aBΣσςä -'.½가각ΐ", "A\u0308", "\u0301", "\u0316", "\u0344", "\u00a0", "\u200b"]
TEXT = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs"]), max_size=12).map("".join)
ROW = st.tuples(
    st.none() | st.lists(st.none() | TEXT, max_size=4),
    st.none() | st.lists(st.none() | TEXT.map(lambda t: t[:3]), max_size=3),
)


@given(rows=st.lists(ROW, min_size=1, max_size=4), threads=st.integers(1, 2))
def test_any_texts_against_plain_rule(rows: Any, threads: int) -> None:
    texts, answers = [r[0] for r in rows], [r[1] for r in rows]
    if any(texts) and not any(len(t or []) for t in texts):
        return
    expected: list[int | None] = []
    for passages, wanted in rows:
        if not any(plain_words(a or "") for a in wanted or []):
            expected.append(None)
        else:
            expected.append(next((i for i, p in enumerate(passages or [], 1) if plain_has_answer(wanted, p)), 0))
    assert first_hits(texts, answers, threads) == expected


ASSIGNED = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs", "Cn"]), max_size=10).map("".join)


@given(passage=ASSIGNED, answer=ASSIGNED.map(lambda text: text[:4]))
def test_words_against_published_pattern(passage: str, answer: str) -> None:
    """DPR's own pattern, by the module that it uses, on characters that this Python knows as well."""
    regex = pytest.importorskip("regex", reason="regex is not installed")
    pattern = regex.compile(r"([\p{L}\p{N}\p{M}]+)|([^\p{Z}\p{C}])", regex.IGNORECASE | regex.UNICODE | regex.MULTILINE)
    words, wanted = ([w.group().lower() for w in pattern.finditer(unicodedata.normalize("NFD", t))] for t in (passage, answer))
    if wanted:
        found = any(words[i : i + len(wanted)] == wanted for i in range(len(words)))
        assert first_hits([[passage]], [[answer]]) == [int(found)]


def test_kernel_uncompiled_against_compiled() -> None:
    texts = [["ΑΣ Köln 각", "x"], ["ende", "a\u0300\u0316 b"]]
    answers = [["köln"], ["", "A\u0316\u0300 B"]]
    compiled = first_hits(texts, answers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "first_with_answer", kernels.first_with_answer.py_func)
        assert first_hits(texts, answers) == compiled == [1, 2]


@pytest.mark.real
def test_germandpr_record_against_hand() -> None:
    path = shared_path("data/german/germandpr-1record.json")
    record = json.loads(path.read_text("utf-8"))[0]
    qrels = read_dpr(path).to_pylist()[0]
    assert qrels["query_id"] == "0"
    assert qrels["references"] == record["answers"]
    assert qrels["relevance"] == [1, 0, 0, 0]
    assert qrels["relevant_ids"][0] == record["positive_ctxs"][0]["text"]
    wrong, right = record["hard_negative_ctxs"][0]["text"], record["positive_ctxs"][0]["text"]
    got = score_ranking({"0": [wrong, right]}, path, measures="success@1 success@10 recall@10").items.to_pylist()[0]
    assert (got["success@1"], got["success@10"], got["recall@10"], got["status"]) == (0.0, 1.0, 1.0, "ok")


@pytest.mark.real
def test_germanquad_documents_against_itself() -> None:
    path = shared_path("data/german/germanquad-test.json")
    data = json.loads(path.read_text("utf-8"))["data"]
    places = {str(q["id"]): str(p["document_id"]) for d in data for p in d["paragraphs"] for q in p["qas"]}
    assert len(places) == 2204
    run = {query: ["0", document] for query, document in places.items()}
    scores = score_ranking(run, path, measures="success@1 success@2 mrr")
    assert (scores.mean("success@1"), scores.mean("success@2"), scores.mean("mrr")) == (0.0, 1.0, 0.5)


def test_retriever_output_against_hand(tmp_path: Path) -> None:
    records = [
        {
            "question": "Wo?",
            "answers": ["Köln"],
            "ctxs": [{"id": "wiki:1", "title": "t", "text": "am Rhein", "score": "9.5"}, {"id": "wiki:2", "text": "in Köln"}],
        },
        {"question": "Wer?", "answers": [], "ctxs": []},
    ]
    path = tmp_path / "out.json"
    path.write_text(json.dumps(records))
    rows = score_ranking(path, measures="answer@1 answer@20").items.to_pylist()
    assert [tuple(r.values()) for r in rows] == [("0", 0.0, 1.0, "ok"), ("1", None, None, "no_references")]
    (tmp_path / "out.jsonl").write_text("\n".join(map(json.dumps, records)))
    assert read_records(tmp_path / "out.jsonl").equals(read_dpr(path))
    qrels = {"question": "Wo?", "answers": ["Köln"], "positive_ctxs": [{"passage_id": "wiki:2", "text": ""}]}
    (tmp_path / "gold.json").write_text(json.dumps([qrels]))
    both = score_ranking(path, tmp_path / "gold.json", measures="mrr answer@1").items.to_pylist()
    assert [(r["mrr"], r["answer@1"], r["status"]) for r in both] == [(0.5, 0.0, "ok"), (None, None, "unmatched_prediction")]
    (tmp_path / "gold.json").write_text(json.dumps([qrels | {"question": "Wann?"}]))
    with pytest.raises(KeyMismatchError, match=r"query '0' asks 'Wann\?'.* and 'Wo\?'"):
        score_ranking(path, tmp_path / "gold.json")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{", "not valid JSON"),
        ("7", "must be a list of DPR records"),
        ("[7]", "record 0: must be an object, got a number"),
        ('[{"question": "a"}]', "neither 'positive_ctxs' nor 'ctxs'"),
        ('[{"ctxs": {}}, {"ctxs": {"a": 1}}]', "record 1: ctxs must be a list"),
        ('[{"ctxs": [[]]}]', r"record 0: ctxs\[0\] must be an object"),
        ('[{"ctxs": [{"id": 1.5}]}]', r"record 0: ctxs\[0\].id must be text, got a number"),
        ('[{"ctxs": [], "answers": "x"}]', "record 0: answers must be a list of texts"),
        ('[{"ctxs": [], "question": 1}]', "record 0: question must be text"),
        ('[{"ctxs": [], "id": []}]', "record 0: id must be text or an integer"),
        ('{"data": [{"paragraphs": [{"qas": [{}], "context": "c"}]}]}', "question 0 is not laid out"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str, shown: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=shown):
        read_dpr(path)


def test_missing_columns_are_refused() -> None:
    good = table([["x"]], [["x"]])
    with pytest.raises(UsageError, match="'retrieved_texts' and 'references'"):
        score_ranking(good.drop(["references"]), measures="answer@1")
    with pytest.raises(UnknownNameError, match="'retrieved_texts'"):
        score_ranking({"0": ["x"]}, {"0": ["x"]}, measures="answer@1")
    with pytest.raises(UnknownNameError, match="'references'"):
        score_ranking(good.drop(["references"]), pa.table({"query_id": [0], "relevant_ids": [["x"]]}), measures="answer@1")
    with pytest.raises(ColumnTypeError, match="lists of text"):
        score_ranking(good.set_column(3, "references", pa.array([[1]])), measures="answer@1")
