"""The page: item scores of one or more systems come in, one HTML file that needs nothing else goes out.

It loads nothing and sends nothing: a Content-Security-Policy allows the page's own style sheet and script by their hashes, and
nothing else. The same scores give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from fastscore.errors import UsageError
from fastscore.html import sections
from fastscore.html.charts import import_altair
from fastscore.html.source import Source, open_sources
from fastscore.html.words import count, shown
from fastscore.output import placed
from fastscore.stats.comparison import Comparison

__all__ = ["report_html", "write_report"]

_LISTED = 50


def report_html(
    *items: Any,
    title: str | None = None,
    names: Sequence[str] | None = None,
    by: Sequence[str] = (),
    cluster: Sequence[str] | None = None,
    signatures: Sequence[str | None] | None = None,
    seed: int = 0,
    draws: int = 10_000,
    allow_different_signatures: bool = False,
) -> str:
    """Return the report of one system, or of several compared with the first, as HTML.

    Parameters
    ----------
    items
        Item scores, one for each system: files as `fastscore score -o` writes them, pyarrow tables or polars frames.
    title
        Heading of the page; None: the systems' names.
    names, signatures
        One for each system; None: the files' names, and what the scores carry in their metadata.
    by
        Columns to report group by group; none: those text and truth columns that have 2 to 30 values.
    cluster
        Columns of items that belong together; None: the natural ones (`fastscore.stats.natural_cluster`).
    seed, draws, allow_different_signatures
        Of the comparison, see `fastscore.compare`.

    Raises
    ------
    UsageError
        The extra `report` is not installed, a column is not there, or signatures differ.
    DataError
        A file is broken, or the systems' keys cannot be joined.
    """
    import_altair()
    sources = open_sources(items, names, by, cluster, signatures, allow_different_signatures=allow_different_signatures)
    found = None
    if len(sources) > 1:
        from fastscore.compare import compare

        found = compare(
            *(source.scores.source for source in sources),
            metrics=[name for name in sources[0].metrics[:2] if all(name in source.metrics for source in sources)],
            by=[name for name in sources[0].groups if all(name in source.groups for source in sources)],
            cluster=sources[0].cluster,
            seed=seed,
            draws=draws,
            allow_different_signatures=allow_different_signatures,
            names=[source.name for source in sources],
            signatures=[source.scores.signature for source in sources],
            listed=_LISTED,
        )
    return _page(title or f"Scores of {', '.join(source.name for source in sources)}", sources, found)


def write_report(path: str | Path, *items: Any, overwrite: bool = True, **options: Any) -> None:
    """Write `report_html` to a file, whole or not at all.

    Raises
    ------
    UsageError
        The path cannot be written, or is there and `overwrite` is False; else as `report_html`.
    """
    file = Path(path)
    if file.is_dir() or not file.parent.is_dir():
        what = "this is a folder; name a file" if file.is_dir() else f"there is no folder {file.parent}"
        raise UsageError(f"-o {file}: {what}")
    if file.exists() and not overwrite:
        raise UsageError(f"-o {file}: the file is there; --overwrite replaces it")
    page = report_html(*items, **options).encode()
    with placed(file) as name:
        Path(name).write_bytes(page)


def _page(title: str, sources: Sequence[Source], found: Comparison | None) -> str:
    made = [
        sections.headline(sources),
        None if found is None else sections.comparison(found),
        sections.groups(sources),
        sections.distribution(sources),
        sections.profiles(sources),
        sections.statuses(sources),
        sections.normalization(sources),
        sections.items(sources, found),
        sections.reproduce(sources),
    ]
    kept = [section for section in made if section is not None]
    style, script = (_packaged(name) for name in ("page.css", "page.js"))
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    links = "".join(f'<a href="#{one.anchor}">{shown(one.title)}</a>' for one in kept)
    body = "".join(f'<section><h2 id="{one.anchor}">{shown(one.title)}</h2>{one.body}</section>\n' for one in kept)
    rows = ", ".join(f"{source.name}: {count(source.scores.rows)} items" for source in sources)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        f'<meta name="referrer" content="no-referrer">\n<title>{shown(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n'
        f'<header><h1>{shown(title)}</h1><p class="lead">{shown(rows)}</p><nav>{links}</nav></header>\n<main>\n{body}</main>\n'
        f"<footer>Made by fastscore. Scores are percentages of 100; nothing on this page was loaded from elsewhere.</footer>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _packaged(name: str) -> str:
    return resources.files("fastscore.html").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
