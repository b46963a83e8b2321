"""Metrics, one module a family: Arrow columns and a recipe in, numpy columns of item scores out, over the kernels."""
