"""Benchmarks: seeded data in, one JSON line a case out, each figure beside the plain-Python scorer's of the same run.

``python -m benchmarks --help`` lists the cases and options. Nothing here is part of the installed package.
"""
