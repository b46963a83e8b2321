"""Hostile texts, rows and recipes from a seeded generator, cheap enough to be made by the million.

A `random.Random` comes in; texts, reference lists, rows and recipes go out, weighted to what scorers get wrong: marks, case that
changes length or depends on its neighbours, every kind of space, invisible characters, scripts, emoji, code points that mean
nothing, words beside articles, and lengths at which the kernels change their way.
"""

from __future__ import annotations

import dataclasses
import random
import unicodedata
from functools import cache
from typing import Any

from fastscore.recipes import ARTICLES, PARTS, RECIPES, Recipe

__all__ = ["LENGTHS", "any_recipe", "any_rows", "any_text", "assigned", "completion", "compose", "spans"]

#: Sizes at which the code changes its way: words and blocks of 8, 16, 32 and 64 bytes, one under and one over.
LENGTHS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 257)


def _parts(text: str) -> list[str]:
    return text.split(" ")


#: What `str.split` cuts at, and characters that look like it but are none.
SPACES = [chr(i) for i in range(0x3001) if chr(i).isspace()]
UNSEEN = list("\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u061c\u200e\u200f\u202a\u202e\u2066\u2069\ufe0f\ufe0e\U000e0041\x00")
ARTICLE_WORDS = sorted({w for words in ARTICLES.values() for w in words})
PLAIN = _parts("cat dog Paris Straße größe x Zürich U.S. 3.5 1,000 it's e-mail don’t été niño")
WHOLE = _parts("yes no noanswer Yes NO CANNOTANSWER cannotanswer CANNOTANSWER. unknown")
SIGMAS = _parts("Σ ΣΣ ΟΔΟΣ ΑΣ ΣΑ ΑΣ' ΑΣ\u0301 ΑΣ\u00adΒ Α\u0345Σ ʰΣ Α.Σ ΑΣ.Β 1Σ aΣ\u200b ǅΣ Σ_ 𝐀Σ Σ\u0345 ΑΣ᾽ ΑΣ: ΑΣ\ufe0fΒ")
JOINED = _parts("👩\u200d👩\u200d👧 👍🏽 🇩🇪 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ❤\ufe0f 😀 🧑🏿\u200d🚀")
RIGHT_TO_LEFT = _parts("ال الكتاب كتابال لا لأ ٱل ا\u064eل שלום ש\u05c1 \u202bعربي\u202c ۱۲۳ ﷺ ﻻ")
IDEOGRAPHS = _parts("北京 中 學 \u4e00 \u9fa5 \u9fa6 \u4dff \u3400 𠀀 﨑 〇 。 「 ｆｕｌｌ ｶﾞ 한국 각 か\u3099")
CASED = [*"ßẞİıſKÅΩµªºǅǈǋǲŉǰΐΰևẖẗẘẙẚᾳᾼﬀﬁﬂﬃﬄﬅﬆﬓﬗᾈᾀᎠꭰᏸᏰᲐაႠⴀꞋ𐐀𐐨𞤀Ⅷⓐ", "i\u0307"]
NUMBERS = list("½²①٣௧Ⅳ〇৪𝟘⁷一፩")
QUOTES = list("'’‘\"„“”«»‹›‚′″`´–—‐‑−-·•…,.;:!?¿¡()[]{}@#$%^&*_+=<>/\\|~")
NEAR = list("   -'._\u0301\u200b’·1é\n\u00a0²")


@cache
def _points(kind: str) -> list[str]:
    """Code points of a kind: marks, punctuation, those whose case is odd, unassigned ones."""
    every = (chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000)
    if kind == "marks":
        return [c for c in every if unicodedata.category(c)[0] == "M"]
    if kind == "punctuation":
        return [c for c in every if unicodedata.category(c)[0] in "PS"]
    if kind == "cased":
        return [c for c in every if c.lower() != c or c.upper() != c or c.casefold() != c]
    if kind == "composed":
        return [c for c in every if unicodedata.decomposition(c)]
    return list("\ufffd\ufffe\uffff\ufdd0\ufdd1\ue000\uf8ff\U000f0000\U0010ffff\u0378\U0001fffe")


def _word(rng: random.Random) -> str:
    kind = rng.randrange(20)
    if kind < 5:
        return rng.choice(PLAIN)
    if kind < 8:
        word = rng.choice(ARTICLE_WORDS)
        return (
            word if rng.random() < 0.5 else rng.choice((word.upper(), word.title(), word + rng.choice(NEAR) + rng.choice("aXé")))
        )
    if kind == 8:
        return rng.choice(WHOLE)
    if kind == 9:
        return rng.choice(SIGMAS)
    if kind == 10:
        marks = _points("marks")
        return rng.choice("aeEnΣסا中") + "".join(rng.choice(marks) for _ in range(rng.randint(1, 3)))
    if kind == 11:
        return rng.choice(CASED) + rng.choice(("", "a", rng.choice(CASED)))
    if kind == 12:
        return rng.choice(JOINED)
    if kind == 13:
        return rng.choice(RIGHT_TO_LEFT)
    if kind == 14:
        return "".join(rng.choice(IDEOGRAPHS) for _ in range(rng.randint(1, 3)))
    if kind == 15:
        return rng.choice("xyäΣ中😀") * rng.choice(LENGTHS)
    if kind == 16:
        return rng.choice(_points(rng.choice(("marks", "punctuation", "cased", "composed", "none")))) + rng.choice(("", "a", "b"))
    if kind == 17:
        return "".join(_character(rng) for _ in range(rng.randint(1, 4)))
    if kind == 18:
        return rng.choice(NUMBERS) + rng.choice(("", "x", "5"))
    return "".join(rng.choice("abtheANüßΣ_1") for _ in range(rng.randint(1, 6)))


def _character(rng: random.Random) -> str:
    number = rng.randrange(rng.choice((0x80, 0x250, 0x800, 0x3400, 0x10000, 0x110000)))
    return chr(number if not 0xD800 <= number < 0xE000 else number - 0x5000)


def _separator(rng: random.Random) -> str:
    kind = rng.randrange(12)
    if kind < 7:
        return " "
    if kind == 7:
        return rng.choice(SPACES)
    if kind == 8:
        return rng.choice(UNSEEN)
    if kind == 9:
        return rng.choice(QUOTES)
    return "" if kind == 10 else rng.choice(SPACES) + rng.choice(QUOTES) + rng.choice(SPACES)


def any_text(rng: random.Random, vocabulary: list[str] | None = None) -> str:
    """A text of words from the vocabulary, or of any; now and then padded to a size at which the code changes its way."""
    words = rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 9))
    shape = rng.randrange(400)
    if shape == 0:
        words = rng.choice((40, 64, 65, 254, 255, 256, 257, 1200))
    parts: list[str] = []
    for _ in range(words):
        parts.append(rng.choice(vocabulary) if vocabulary and rng.random() < 0.8 else _word(rng))
        parts.append(_separator(rng))
    if parts and rng.random() < 0.8:
        parts.pop()
    text = "".join(parts)
    if shape < 60:
        text = _padded(rng, text, rng.choice(LENGTHS))
    elif shape == 60:
        text = _padded(rng, text, rng.choice((1000, 4095, 4096, 4097, 9000)))
    return text


def _padded(rng: random.Random, text: str, size: int) -> str:
    """The text with something before, behind or after its first character, so that it has at least `size` bytes."""
    missing = size - len(text.encode())
    if missing <= 0:
        return text
    padding = rng.choice(("x", " ", "x ", "é", "A ", "the ", "-", "xyzxyzx ")) * missing
    padding = padding.encode()[:missing].decode(errors="ignore")
    place = rng.randrange(3)
    return text + padding if place == 0 else padding + text if place == 1 else text[:1] + padding + text[1:]


def completion(rng: random.Random, vocabulary: list[str] | None = None) -> str:
    """What a model may write: texts among tags, boxes, markers and lines, some of them open or nested."""
    pieces = [*_parts("<answer> </answer> <answer \\boxed{ \\fbox \\text{ } { \\ #### </think>"), "\n", "\r\n", "\u3000"]
    parts = []
    for _ in range(rng.randint(0, 9)):
        parts.append(rng.choice(pieces) if rng.random() < 0.6 else any_text(rng, vocabulary))
    return "".join(parts)


def assigned(text: str) -> str:
    """The text without code points whose properties another Unicode version may give."""
    return "".join(c for c in text if unicodedata.category(c) != "Cn")


def _changed(rng: random.Random, text: str) -> str:
    """The text in another form that some recipe takes for the same."""
    kind = rng.randrange(12)
    if kind < 3:
        return (text.upper(), text.lower(), text.title())[kind]
    if kind < 5:
        return unicodedata.normalize(("NFC", "NFD")[kind - 3], text)
    if kind == 5:
        return rng.choice(ARTICLE_WORDS) + " " + text
    if kind == 6:
        return text + rng.choice(QUOTES)
    if kind == 7:
        return " ".join(reversed(text.split()))
    if kind == 8:
        return rng.choice(SPACES) + text + rng.choice(SPACES)
    if kind == 9:
        return f"<answer>{text}</answer>"
    if kind == 10:
        return text + "\n" + text
    return text.swapcase() if len(text) < 3 else text[1:]


def _references(rng: random.Random, make: Any) -> list[str | None] | None:
    kind = rng.randrange(24)
    if kind == 0:
        return None
    if kind == 1:
        return []
    count = rng.choice((1, 1, 1, 2, 3, 4, 4, 5)) if kind > 2 else rng.choice((7, 8, 9, 10, 16, 17))
    listed: list[str | None] = [make() for _ in range(count)]
    if rng.random() < 0.15:
        listed[rng.randrange(count)] = None
    if count > 1 and rng.random() < 0.2:
        listed[-1] = listed[0]
    if rng.random() < 0.06:
        listed += rng.choices(WHOLE, k=rng.randint(1, 3))
    return listed


def any_rows(rng: random.Random, recipe: Recipe) -> list[dict[str, Any]]:
    """Rows of prediction and references over one small vocabulary, many of which repeat texts or lists of rows before."""
    clean = assigned if recipe.unicode != "none" else str
    vocabulary = [_word(rng) for _ in range(rng.randint(1, 6))]

    def make() -> str:
        return clean(any_text(rng, vocabulary))

    out: list[dict[str, Any]] = []
    for _ in range(rng.choice((0, 1, 1, 2, 3, 4, 5, 6, 8))):
        references = out[-1]["references"] if out and rng.random() < 0.4 else _references(rng, make)
        known = [r for r in references or () if r is not None]
        kind = rng.randrange(12)
        prediction: str | None
        if kind == 0:
            prediction = None
        elif kind < 4 and known:
            prediction = rng.choice(known)
        elif kind < 7 and known:
            prediction = clean(_changed(rng, rng.choice(known)))
        elif kind == 7 and out:
            prediction = out[-1]["prediction"]
        elif kind == 8 or recipe.answer == "answer-tag":
            prediction = clean(completion(rng, [*vocabulary, *known]))
        else:
            prediction = make()
        out.append({"prediction": prediction, "references": references})
    return out


def spans(rng: random.Random) -> list[tuple[int | None, int | None] | None] | None:
    """A list of half-open spans over few places, so that they meet, touch and repeat; some are null or no answer."""
    if rng.random() < 0.1:
        return None
    out: list[tuple[int | None, int | None] | None] = []
    for _ in range(rng.choice((0, 1, 1, 2, 3, 7))):
        start = rng.randrange(9)
        out.append(rng.choice(((start, start + rng.choice((0, 1, 2, 5))),) * 5 + (None, (None, None))))
    return out


_CATALOGUE = list(RECIPES.values())
_VALUES = {part: list(allowed) for part, allowed in PARTS.items()}
_composed: list[Recipe] = []


def compose(shift: int, count: int) -> None:
    """Choose the composed recipes that `any_recipe` gives from now on: some or all parts of one of the catalogue drawn anew.

    They are few, because the tables of a recipe take longer to make than thousands of rows to score.
    """
    rng = random.Random(shift)
    _composed.clear()
    for number in range(count):
        parts = rng.sample(list(_VALUES), rng.randint(1, 3)) if number % 2 else list(_VALUES)
        drawn = {part: rng.choice(_VALUES[part]) for part in parts}
        _composed.append(dataclasses.replace(rng.choice(_CATALOGUE), **drawn))


def any_recipe(rng: random.Random) -> Recipe:
    """A recipe of the catalogue, or a composed one."""
    return rng.choice(_composed if _composed and rng.random() < 0.5 else _CATALOGUE)
