"""The tables that the normalisation kernels read, made for a recipe: what each code point becomes, and which of them simply do.

A code point's entry says whether it is kept, deleted or a space, what it is lower-cased to, whether it is a word character
of `re`, and how it acts beside a capital sigma. The layout of an entry is declared in `kernels.layout`.
"""

from __future__ import annotations

import string
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastscore.kernels import layout, wide
from fastscore.kernels.cut import ARTICLE_MULTIPLIER, ARTICLE_SLOTS, article_slot
from fastscore.recipes import ARTICLES, Recipe
from fastscore.text import unicode_facts as facts

__all__ = ["NormalForm", "normal_form"]

_INVISIBLE = (0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)
_QUOTES_AND_DASHES = {"'": "‘’‚‛′‹›", '"': "“”„‟″«»", "-": "‐‑‒–—―−"}
_TRIVIA_QUOTES = "‘’´`"
_CJK = (0x4E00, 0x9FA5)

Entries = npt.NDArray[np.uint32]


class NormalForm(NamedTuple):
    """The tables of one recipe's normal form; `blocks` and `entries` are the two levels of the code point table.

    Attributes
    ----------
    simple
        uint32[67840] or uint32[0]: what becomes of each code point that needs no look at what is around it (`layout.SIMPLE`).
    blocks, entries
        uint16[4352] and uint32[n * 256]: ``entries[blocks[c >> 8] * 256 + (c & 255)]`` is the entry of code point c.
    articles
        uint64[129]: the words that the word cutter drops, as `kernels.cut` looks them up.
    edge_articles
        uint64[k]: the same, for words that touch a character that is kept but is no word character.
    options
        int64[10]: `layout.OPTION_*`.
    longer
        uint32[m * 4]: for code points with an image of several: how many, then their entries.
    """

    simple: Entries
    blocks: npt.NDArray[np.uint16]
    entries: Entries
    articles: npt.NDArray[np.uint64]
    edge_articles: npt.NDArray[np.uint64]
    options: npt.NDArray[np.int64]
    longer: Entries


def normal_form(recipe: Recipe) -> NormalForm:
    """Return the tables of `recipe`'s normal form; made once for each combination of parts."""
    return _build(
        recipe.invisible == "delete",
        recipe.fold_quotes_and_dashes,
        recipe.case,
        recipe.punctuation,
        recipe.punctuation_to == "space",
        recipe.articles,
        recipe.articles_to == "space",
        recipe.articles_order == "before-punctuation",
        recipe.words,
    )


@lru_cache(maxsize=64)
def _build(
    invisible: bool,
    fold: bool,
    case: str,
    punctuation: str,
    to_space: bool,
    articles: str,
    articles_to_space: bool,
    articles_first: bool,
    words: str,
) -> NormalForm:
    images, longer_images = facts.case_map(case)
    removed = _removed(punctuation)
    gone = np.uint32(layout.SPACE if to_space else layout.DELETE)

    def entry_of(points: npt.NDArray[np.int32]) -> Entries:
        """Entries of code points as they are after the case step."""
        entries = points.astype(np.uint32)
        kind = np.where(facts.spaces()[points], np.uint32(layout.SPACE), np.uint32(layout.KEEP))
        entries |= np.where(removed[points], gone, kind)
        entries |= np.where(facts.word_characters()[points], np.uint32(layout.WORD), np.uint32(0))
        if words == "mixed-cjk":
            alone = ((points >= _CJK[0]) & (points <= _CJK[1])) | _removed("unicode")[points]
        else:
            alone = np.full(points.shape, words == "characters")
        entries |= np.where(alone, np.uint32(layout.ALONE), np.uint32(0))
        return entries

    table = entry_of(images)
    longer: list[int] = []
    for point, image in longer_images.items():
        table[point] = layout.LONGER | (len(longer) // 4)
        parts = [int(e) for e in entry_of(np.array(image, dtype=np.int32))]
        longer += [len(parts), *parts, *[0] * (3 - len(parts))]
    if case == "lower":
        table |= facts.sigma_class().astype(np.uint32) << np.uint32(layout.SIGMA_SHIFT)
        kept = table[0x3A3] & np.uint32(layout.ALONE | layout.WORD | layout.SIGMA_MASK)
        table[0x3A3] = kept | np.uint32(layout.SIGMA)
    table = _before_the_case_step(table, invisible, fold)
    article_keys = np.array([_key(w) for w in ARTICLES[articles] if articles != "ar"], dtype=np.uint64)
    if articles_first and punctuation == "non-alphanumeric" and not to_space:
        articles_to_space = False  # the space is no letter or digit either, and goes with the punctuation
    drop_words = not articles_first and articles_to_space
    options = np.zeros(layout.OPTIONS, dtype=np.int64)
    options[layout.OPTION_ARABIC] = articles == "ar"
    options[layout.OPTION_RUNS] = bool(article_keys.size) and not drop_words
    options[layout.OPTION_RUN_TO_SPACE] = articles_to_space
    options[layout.OPTION_EDGES] = bool(article_keys.size) and drop_words
    options[layout.OPTION_FIRST] = articles_first
    # A character that is deleted after the Arabic article's step stands between alef and lam: only the careful path sees it.
    if (articles_first or not options[layout.OPTION_RUNS]) and not (articles_first and options[layout.OPTION_ARABIC]):
        _settle_wide_path(options, table)
    blocks, entries = _two_levels(table)
    return NormalForm(
        _simple_table(table, options),
        blocks,
        entries,
        _article_table(ARTICLES[articles] if drop_words and articles != "ar" else ()),
        article_keys,
        options,
        np.array(longer or [0, 0, 0, 0], dtype=np.uint32),
    )


def _removed(punctuation: str) -> npt.NDArray[np.bool_]:
    """Which code points the punctuation step removes."""
    flags = np.zeros(facts.LIMIT, dtype=np.bool_)
    if punctuation == "non-alphanumeric":
        return ~facts.alpha_or_digit()
    if punctuation == "unicode":
        flags |= facts.category_p()
    if punctuation in ("ascii", "unicode", "trivia"):
        flags[[ord(c) for c in string.punctuation]] = True
    if punctuation == "trivia":
        flags[[ord(c) for c in _TRIVIA_QUOTES]] = True
    if punctuation == "period-comma":
        flags[[ord("."), ord(",")]] = True
    return flags


def _before_the_case_step(table: Entries, invisible: bool, fold: bool) -> Entries:
    """Let characters that are folded or deleted before the case step take the entry of what they become."""
    table = table.copy()
    if fold:
        for plain, fancy in _QUOTES_AND_DASHES.items():
            table[[ord(c) for c in fancy]] = table[ord(plain)]
    if invisible:
        passed_over = np.uint32(2 << layout.SIGMA_SHIFT)
        table[list(_INVISIBLE)] = np.uint32(layout.DELETE | layout.UNSEEN) | passed_over
    return table


def _simple_table(table: Entries, options: npt.NDArray[np.int64]) -> Entries:
    """What becomes of the code points that need no look at what is around them (`layout.SIMPLE`); empty where each does.

    Left to the careful path are what is kept but is no word character where articles end there, alef and lam where they are an
    article, and what becomes longer or shorter in UTF-8.
    """
    if options[layout.OPTION_RUNS]:
        return np.zeros(0, dtype=np.uint32)
    points = np.arange(0x10000, dtype=np.int64)
    entries = table[:0x10000]
    kind, image = entries & np.uint32(layout.KIND), (entries & np.uint32(layout.IMAGE)).astype(np.int64)
    alone, word = (entries & np.uint32(layout.ALONE)) != 0, (entries & np.uint32(layout.WORD)) != 0
    length = 1 + (points >= 0x80) + (points >= 0x800)
    kept = (kind == layout.KEEP) & (length == 1 + (image >= 0x80) + (image >= 0x800) + (image >= 0x10000))
    if options[layout.OPTION_EDGES]:
        kept &= word
    if options[layout.OPTION_ARABIC]:
        kept &= (points != 0x627) & (points != 0x644)
    gone = (kind == layout.DELETE) & (options[layout.OPTION_FIRST] == 0)
    blank = kind == layout.SPACE
    six = np.int64(0x3F)
    coded = np.select(
        [image < 0x80, image < 0x800],
        [image, 0x80C0 | image >> 6 | (image & six) << 8],
        0x8080E0 | image >> 12 | (image >> 6 & six) << 8 | (image & six) << 16,
    )
    out = np.select([kept, blank, gone], [coded | length << layout.SIMPLE_LENGTH, 0x20 | 1 << layout.SIMPLE_LENGTH, 0], 0)
    out |= np.where(kept & alone, layout.SIMPLE_ALONE, 0) | np.where(kept | blank | gone, layout.SIMPLE, 0)
    out[0xD800:0xE000] = 0
    simple = np.zeros(layout.SIMPLE_SIZE, dtype=np.uint32)
    for place, low, high in ((0, 0, 0x80), (layout.SIMPLE_TWO, 0x80, 0x800), (layout.SIMPLE_THREE, 0x800, 0x10000)):
        simple[place + low : place + high] = out[low:high]
    return simple


def _two_levels(table: Entries) -> tuple[npt.NDArray[np.uint16], Entries]:
    """Cut the table into blocks of 256 and keep each distinct block once.

    The image of a code point outside a block's own range is relative to nothing, so blocks are shared only where equal;
    blocks that merely keep their code points are made equal by storing the image as a difference.
    """
    points = np.arange(facts.LIMIT, dtype=np.int64)
    image = (table & np.uint32(layout.IMAGE)).astype(np.int64)
    plain = (table & np.uint32(layout.LONGER)) == 0
    relative = np.where(plain, (image - points) & layout.IMAGE, image).astype(np.uint32)
    stored = (table & ~np.uint32(layout.IMAGE)) | relative
    rows = stored.reshape(-1, 256)
    seen: dict[bytes, int] = {}
    blocks = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows], dtype=np.uint16)
    return blocks, np.frombuffer(b"".join(seen), dtype=np.uint32).copy()


def _settle_wide_path(options: npt.NDArray[np.int64], table: Entries) -> None:
    """Let 64 bytes be cleaned at once where that writes what the entries of printable ASCII and white space say."""
    source = np.array([*range(0x20, 0x7F), *range(0x09, 0x0E), *range(0x1C, 0x20)], dtype=np.uint8)
    source = np.pad(source, (0, 192 - source.size), constant_values=0x20)
    entries = table[source]
    kind = entries & np.uint32(layout.KIND)
    kept = kind == layout.KEEP
    special = kept & ((entries & np.uint32(layout.ALONE)) != 0) | (kind > layout.DELETE)
    if options[layout.OPTION_EDGES]:
        special |= kept & ((entries & np.uint32(layout.WORD)) == 0)
    if special.any():
        return
    images = np.where(kept, entries & np.uint32(0x7F), np.uint32(0x20)).astype(np.uint8)
    kinds = ((0, 0, 0), (255, 0, 0), (0, 255, 0), (255, 0, 255), (0, 255, 255))
    for settings in ((lower, *kind_) for lower in (0, 32) for kind_ in kinds):
        same = True
        for at in range(0, 192, 64):
            out = np.zeros(64, dtype=np.uint8)
            _, bits = wide.clean64(source, at, out, 0, *settings, 0, 0)
            written = kind[at : at + 64] != layout.DELETE
            same &= int(bits) == sum(1 << int(k) for k in np.flatnonzero(written))
            same &= bool(np.array_equal(out[: written.sum()], images[at : at + 64][written]))
        if same:
            how = layout.WIDE_TEXTS if options[layout.OPTION_RUNS] else layout.WIDE_STRETCHES
            options[layout.OPTION_WIDE : layout.OPTIONS] = (how, *settings)
            return


def _article_table(words: tuple[str, ...]) -> npt.NDArray[np.uint64]:
    """A table with one slot for each article, found by a multiplier under which no two share a slot."""
    lows = [int.from_bytes(w.encode(), "little") for w in words]
    multiplier = 0x9E3779B97F4A7C15
    while len({article_slot(low, multiplier) for low in lows}) < len(lows):
        multiplier = (multiplier * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
    table = np.zeros(2 * ARTICLE_SLOTS + 1, dtype=np.uint64)
    for word, low in zip(words, lows, strict=True):
        slot = article_slot(low, multiplier)
        table[2 * slot : 2 * slot + 2] = (low, len(word.encode()) << 56)
    table[ARTICLE_MULTIPLIER] = multiplier
    return table


def _key(word: str) -> int:
    """The key of a word of up to seven bytes, as the word cutter makes it."""
    data = word.encode()
    return int.from_bytes(data, "little") | len(data) << 56
