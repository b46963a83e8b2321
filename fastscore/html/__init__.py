"""The HTML report: files or tables of item scores come in, one self-contained page goes out, a module a section.

Rows are aggregated by polars before anything else, so the page's size does not depend on them. All text of the data is untrusted
and goes through `words.shown` on its way out; the page runs one script of its own and loads nothing.
"""
