"""Texts, reference lists and recipes that meet the code's own branch points."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import strategies as st

from fastscore.recipes import ARTICLES, PARTS, RECIPES, Recipe

SPACES = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2003\u2028\u2029\u202f\u205f\u3000"
ODD = "\u0300\u0301\u0345\u200b\u200d\ufeff\u2060\x00\x01\x7f_²½'’‘\"„“–—−·.,!?-()€$+°İıſKΣσςßẞſǅΩ北京学中𠀀😀ا\u0644الأ"
_LENGTHS = (1, 2, 3, 7, 8, 9, 14, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129)

words = st.one_of(
    st.sampled_from(sorted({w for a in ARTICLES.values() for w in a})),
    st.sampled_from(
        ["The", "A", "AN", "yes", "no", "noanswer", "CANNOTANSWER", "ΟΔΌΣ", "ΣΑΣ", "Straße", "cat", "Paris", "U.S.", "a-the"]
    ),
    st.text(alphabet="abtheAnüß", min_size=1, max_size=5),
    st.builds(lambda c, n: c * n, st.sampled_from("xyä"), st.sampled_from(_LENGTHS)),
    st.text(alphabet=ODD, min_size=1, max_size=4),
    st.text(min_size=0, max_size=6),
)
separators = st.one_of(st.just(" "), st.sampled_from(list(SPACES)), st.sampled_from(list(ODD)), st.just(""))


@st.composite
def texts(draw: Any) -> str:
    """A text of words and separators, some of it repeated so that blocks of 64 bytes are crossed."""
    parts = draw(st.lists(st.tuples(words, separators), max_size=8))
    text = "".join(w + s for w, s in parts)
    padding = draw(st.sampled_from(["", "", "", "p" * 50 + " ", "q " * 30]))
    text = padding + text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def lists_of(answers: st.SearchStrategy[str]) -> st.SearchStrategy[list[str | None] | None]:
    """Reference lists: null, empty, with nulls, and around eight references."""
    items = st.one_of(answers, answers, answers, st.none())
    return st.one_of(st.none(), st.lists(items, max_size=4), st.lists(items, min_size=7, max_size=10))


@st.composite
def rows(draw: Any, most: int = 9) -> list[dict[str, Any]]:
    """Rows whose predictions are often one of their references, and whose reference lists often repeat the row before's."""
    out: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, most))):
        if out and draw(st.booleans()):
            references = out[-1]["references"]
        else:
            references = draw(lists_of(texts()))
        known = [r for r in references or [] if r is not None]
        prediction = draw(
            st.one_of(st.none(), texts(), *([st.sampled_from(known), st.sampled_from(known).map(str.upper)] if known else []))
        )
        out.append({"prediction": prediction, "references": references})
    return out


catalogue = st.sampled_from(list(RECIPES.values()))


@st.composite
def variants(draw: Any) -> Recipe:
    """Any recipe whatever: each part drawn by itself."""
    parts = {part: draw(st.sampled_from(list(allowed))) for part, allowed in PARTS.items()}
    return dataclasses.replace(draw(catalogue), **parts)
