"""Which words of a prediction and of its winning reference match, by the recipe's own normal form, as marked HTML.

Pairs of texts and a recipe come in; escaped HTML with `<mark>` comes out. A text is cut at white space (or into characters, where
the recipe counts these), every piece is normalised by itself, and a piece is marked if one of its words has a partner.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from fastscore.html.words import shown
from fastscore.recipes import Recipe
from fastscore.text.normalize import normalize

__all__ = ["marked_pairs"]

_LONGEST = 4_000
_SHOWN = 300


def marked_pairs(pairs: Sequence[tuple[str | None, str | None]], recipe: Recipe | None) -> list[tuple[str, str]]:
    """Each pair as HTML, matching words marked; without a recipe, or where a side is None, nothing is marked."""
    if recipe is None:
        return [(_cut(one), _cut(two)) for one, two in pairs]
    texts = [text for pair in pairs for text in pair if text is not None]
    pieces = [_pieces(text[:_LONGEST], recipe) for text in texts]
    flat = [piece for found in pieces for piece in found]
    forms = iter(normalize(pa.array(flat, pa.string()), recipe).to_pylist() if flat else [])
    cut = iter([[(piece, str(next(forms)).split()) for piece in found] for found in pieces])
    out = []
    for one, two in pairs:
        left = None if one is None else next(cut)
        right = None if two is None else next(cut)
        if left is None or right is None:
            out.append((_cut(one), _cut(two)))
            continue
        common = Counter(word for _, words in left for word in words) & Counter(word for _, words in right for word in words)
        out.append((_marked(left, common, str(one)), _marked(right, common, str(two))))
    return out


def _pieces(text: str, recipe: Recipe) -> list[str]:
    if recipe.words == "whitespace":
        return re.findall(r"\S+|\s+", text)
    if recipe.words == "characters":
        return list(text)
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+|\s+", text)


def _marked(pieces: Sequence[tuple[str, list[str]]], common: Counter[str], whole: str) -> str:
    """The pieces as HTML up to the length shown; each common word is used up once on each side."""
    left = common.copy()
    out, length = [], 0
    for piece, words in pieces:
        room = _SHOWN - length
        if room <= 0:
            break
        partners = [word for word in words if left[word] > 0]
        left.subtract(partners)
        text = shown(piece[:room])
        out.append(f"<mark>{text}</mark>" if partners else text)
        length += len(piece)
    return "".join(out) + ("…" if len(whole) > _SHOWN else "")


def _cut(text: str | None) -> str:
    return "" if text is None else shown(text, _SHOWN)
