"""`fastscore warmup`: compile now rather than at the first score."""

from __future__ import annotations

__all__ = ["warmup"]


def warmup() -> None:
    """Compile all kernels into the cache and say where it is."""
    import time

    from fastscore.kernels.jit import cache_folder
    from fastscore.kernels.warmup import compile_all

    start = time.perf_counter()
    count = compile_all()
    seconds = time.perf_counter() - start
    print(f"{count} kernels ready in {seconds:.1f} s; cache: {cache_folder() or 'none (no folder can be written)'}")
