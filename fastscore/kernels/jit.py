"""The one home of jit options: how kernels are compiled, cached and called.

`@inner` marks a function that only kernels call; `@kernel(signature)` marks an entry that Python calls. An entry has
exactly one declared signature, is compiled at its first call (never at import), releases the GIL and is serial: threads
run over row ranges in Python. Compiled code is kept in a private folder whose name carries a hash of every kernel source,
so that a change in any of them leaves nothing stale; where no folder can be written, kernels are compiled in each process
and one warning says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import platformdirs
from numba.core import caching, types
from numba.core.compiler_lock import global_compiler_lock
from numba.np import arrayobj

__all__ = ["Kernel", "cache_folder", "inlined", "inner", "kernel", "kernels"]

# Kernels allocate nothing, so numba's reference counting (which is atomic, and costs more than the work) is left out.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_lock = threading.RLock()
_registry: list[Kernel] = []
_folder: list[Path | None] = []


def inner(function: Callable[..., Any]) -> Any:
    """Compile `function` as a part of the kernels that call it."""
    return numba.njit(**_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile `function` into each of its callers; for what is called once a word or a row."""
    return numba.njit(forceinline=True, **_OPTIONS)(function)


def kernel(signature: str) -> Callable[[Callable[..., Any]], Kernel]:
    """Declare an entry kernel with its one signature, in numba's notation, such as ``"void(uint8[::1], int64)"``."""

    def declare(function: Callable[..., Any]) -> Kernel:
        entry = Kernel(function, signature)
        _registry.append(entry)
        return entry

    return declare


class Kernel:
    """An entry kernel: compiled for its declared signature at the first call.

    ``py_func`` is the plain Python function; ``signatures`` lists what has been compiled (at most one).
    """

    def __init__(self, function: Callable[..., Any], signature: str) -> None:
        self.py_func = function
        self.signature = signature
        self._dispatcher = numba.njit(**_OPTIONS)(function)
        self._ready = False

    @property
    def signatures(self) -> list[Any]:
        """The compiled signatures."""
        return list(getattr(self._dispatcher, "signatures", []))

    @property
    def cached(self) -> bool:
        """Whether compiled code came from the cache."""
        stats = getattr(self._dispatcher, "stats", None)
        return bool(stats and stats.cache_hits)

    def compile(self) -> None:
        """Compile, or load from the cache, for the declared signature; does nothing the second time."""
        with _lock:
            if self._ready:
                return
            if hasattr(self._dispatcher, "compile"):
                folder = cache_folder()
                if folder is not None:
                    self._dispatcher._cache = _KernelCache(self.py_func)
                try:
                    with _plain_indices():
                        self._dispatcher.compile(self.signature)
                except (OSError, EOFError, ImportError, AttributeError) as error:  # a cache that cannot be read or written
                    warnings.warn(f"fastscore: kernel cache not used ({error})", RuntimeWarning, stacklevel=3)
                    self._dispatcher._cache = caching.NullCache()
                    if not self._dispatcher.signatures:
                        with _plain_indices():
                            self._dispatcher.compile(self.signature)
                self._dispatcher.disable_compile()
            self._ready = True

    def __call__(self, *args: Any) -> Any:
        """Run the kernel; compiled first where it is not yet."""
        if not self._ready:
            self.compile()
        return self._dispatcher(*args)


@contextlib.contextmanager
def _plain_indices() -> Iterator[None]:
    """Compile array indices as they are: kernels never use a negative one, and its check would cost a fifth of their time.

    The change is numba's own for as long as one kernel compiles, under numba's compiler lock; a run with bounds checking
    (NUMBA_BOUNDSCHECK=1) keeps numba's indices.
    """
    with global_compiler_lock:
        before = arrayobj.fix_integer_index
        if not numba.config.BOUNDSCHECK:
            arrayobj.fix_integer_index = _index_as_it_is
        try:
            yield
        finally:
            arrayobj.fix_integer_index = before


def _index_as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)


def kernels() -> list[Kernel]:
    """All entry kernels declared so far, in order of declaration."""
    return list(_registry)


def _fingerprint() -> str:
    """Hash of everything that compiled code depends on: kernel sources, versions, and numba's own switches."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    facts = (sys.version, numba.__version__, np.__version__, numba.config.BOUNDSCHECK, numba.config.OPT)
    digest.update(repr(facts).encode())
    return digest.hexdigest()[:16]


def cache_folder() -> Path | None:
    """The private folder that holds compiled kernels, made if needed; None where none can be written (warned once)."""
    with _lock:
        if not _folder:
            _folder.append(_make_folder())
        return _folder[0]


def _make_folder() -> Path | None:
    named = os.environ.get("FASTSCORE_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    try:
        base = Path(named) if named else Path(platformdirs.user_cache_dir("fastscore"))
        folder = base / f"kernels-{_fingerprint()}"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
        mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        if not mine or stat.S_IMODE(found.st_mode) & 0o022:
            raise OSError(f"{folder} can be written by others")
        probe = folder / f".probe-{os.getpid()}-{threading.get_ident()}"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError) as error:
        warnings.warn(
            f"fastscore: no folder for compiled kernels ({error}); each process compiles anew. "
            "Set FASTSCORE_CACHE_DIR to a folder of your own that can be written.",
            RuntimeWarning,
            stacklevel=4,
        )
        return None
    return folder


class _FolderLocator(caching._CacheLocator):
    """Puts a kernel's files into `cache_folder()`; freshness is in the folder's name."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._py_func = py_func

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return _fingerprint()

    def get_disambiguator(self) -> str:
        return str(self._py_func.__code__.co_firstlineno)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _FolderLocator:
        return cls(py_func)


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = (_FolderLocator,)


class _KernelCache(caching.FunctionCache):
    _impl_class = _KernelCacheImpl
