"""Small tables of untrusted text as plain text, Markdown or LaTeX.

Rows of strings come in, one string comes out. Whatever a cell holds (line breaks, control characters, right-to-left
overrides, markup) is shown, never obeyed: non-printable characters are written as escapes and markup is quoted.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

__all__ = ["Table", "for_latex", "for_markdown", "visible"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "-": "{-}",
    "`": r"\textasciigrave{}",
}
_MARKDOWN = {c: f"\\{c}" for c in "\\`*_{}[]()#+-.!:~$^=\"'/"} | {
    "<": "&lt;",
    ">": "&gt;",
    "&": "&amp;",
    "|": "&#124;",
    "@": "&#64;",
}


@dataclass(frozen=True)
class Table:
    """A title, the headings and the rows of a table, all of them plain text; numbers are told by `numeric` columns."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int]

    def to_text(self) -> str:
        """Return the table with aligned columns and a rule under the headings."""
        lines = [[visible(cell) for cell in row] for row in (self.headings, *self.rows)]
        widths = [max(_width(line[place]) for line in lines) for place in range(len(self.headings))]
        lines.insert(1, ["-" * width for width in widths])
        body = ["  ".join(self._padded(cell, widths[i], i) for i, cell in enumerate(line)).rstrip() for line in lines]
        return "\n".join([visible(self.title), *body]) + "\n"

    def to_markdown(self) -> str:
        """Return the table as GitHub's Markdown."""
        rule = ["---:" if place in self.numeric else "---" for place in range(len(self.headings))]
        rows = [
            [for_markdown(cell) if i not in self.numeric else _number(cell) for i, cell in enumerate(row)] for row in self.rows
        ]
        lines = [[for_markdown(cell) for cell in self.headings], rule, *rows]
        return "\n".join([f"**{for_markdown(self.title)}**", "", *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"

    def to_latex(self) -> str:
        """Return the table for LaTeX with the package booktabs; text beyond ASCII needs a Unicode engine or font."""
        columns = "".join("r" if place in self.numeric else "l" for place in range(len(self.headings)))
        rows = [[for_latex(cell) for cell in self.headings]]
        rows += [
            [_latex_number(cell) if i in self.numeric else for_latex(cell) for i, cell in enumerate(row)] for row in self.rows
        ]
        head, *body = [" & ".join(row) + r" \\" for row in rows]
        lines = [
            r"\begin{table}",
            rf"\caption{{{for_latex(self.title)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
        ]
        return "\n".join([*lines, *body, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"

    def _padded(self, cell: str, width: int, place: int) -> str:
        blanks = " " * (width - _width(cell))
        return blanks + cell if place in self.numeric else cell + blanks


def visible(text: str, limit: int = 200) -> str:
    """Return `text` with what is not printable as an escape (``\\n``, ``\\x1b``, ``\\u202e``), cut at `limit` characters."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def for_markdown(text: str, limit: int = 200) -> str:
    """Return `text` so that GitHub's Markdown shows it as it is, in a table cell too: no markup, link, mention or HTML."""
    return "".join(_MARKDOWN.get(c, c) for c in visible(text, limit))


def for_latex(text: str, limit: int = 200) -> str:
    """Return `text` so that LaTeX sets it as it is."""
    return "".join(_LATEX.get(c, c) for c in visible(text, limit))


def _number(cell: str) -> str:
    return cell if set(cell) <= set("0123456789+-.,/%e ") else for_markdown(cell)


def _latex_number(cell: str) -> str:
    return "$-$" + for_latex(cell[1:]) if cell.startswith("-") else for_latex(cell)


def _width(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
