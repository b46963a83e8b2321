"""The engines people already use, each a thin caller of `score_batch`: the same rows give the same bits in every one of them.

Nothing is imported here; ``import fastscore.engines.polars`` (or ``duckdb``, ``datasets``, ``iterators``, ``pandas``, ``ray``)
loads one engine.
"""
