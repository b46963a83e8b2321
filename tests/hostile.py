"""Texts that a model may answer and a page or a terminal must survive, and a table of item scores that is full of them."""

from __future__ import annotations

import pyarrow as pa

from fastscore.recipes import RECIPES
from fastscore.scoring import score_batch

__all__ = ["HOSTILE", "hostile_items"]

HOSTILE = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=2</script>",
    "</td></tr></table><img src=x onerror=window.pwned=3>",
    '"><svg onload=window.pwned=4><style>*{display:none}</style>',
    "' onmouseover='window.pwned=5",
    '<a href="javascript:window.pwned=6">link</a> javascript:window.pwned=7',
    "</style></title><iframe srcdoc='<script>parent.pwned=8</script>'></iframe>",
    "\\\" + datum.x + \\' \\x3cscript\\x3e \\u0041 ${1+1} `",
    "\u202eright to left override\u202c and \u2066isolate",
    "nul\0in the middle, \x1b[31mescape, \u2028line and \x85next",
    "<!-- comment ]]> &lt; &amp; &#60;script&#62;",
    "x" * 1_000_000,
    "word " * 200_000,
    "  ",
    "",
    "שלום عليكم 中文 🙂 e\u0301",
)


def hostile_items(rows: int = 150, *, shift: int = 0) -> pa.Table:
    """Item scores of hostile texts in every column, with groups of hostile names; `shift` gives other predictions."""
    texts = [HOSTILE[(i + shift) % len(HOSTILE)] for i in range(rows)]
    short = [text[:2_000] for text in HOSTILE]
    batch = pa.record_batch(
        {
            "question_id": [f"{short[i % len(short)]} {i // 5}" for i in range(rows)],
            "turn_id": list(range(rows)),
            "prediction": texts,
            "references": [[short[i % len(short)], texts[i // 2], "word"] for i in range(rows)],
            "question": [short[(3 * i) % len(short)] for i in range(rows)],
            "domain": [short[i % 8] for i in range(rows)],
        }
    )
    recipe = RECIPES["squad"]
    items = pa.Table.from_batches([score_batch(batch, recipe, keep=["prediction", "references", "question", "domain"])])
    return items.replace_schema_metadata({"fastscore.signature": recipe.signature})
