"""Files as they come: which may be opened at all, and the bytes of one, unpacked where it is .gz or .zst.

A path comes in, bytes go out. What never ends or is read once only (pipes, devices, sockets) is refused before it is opened,
and what is packed may not unpack to more than a part of the memory that is free.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastscore.errors import FormatError, UsageError

__all__ = ["check_file", "for_arrow", "memory_free", "read_whole"]

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_STEP = 8 << 20
#: A packed file may unpack to one part in so many of the free memory; tables of it need several times its size.
_PART = 4
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe, which is read once only"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def check_file(path: str | Path) -> None:
    """Raise UsageError where there is no such file, or it is none that can be read more than once to its end."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    for is_kind, what in _KINDS:
        if is_kind(mode):
            pipe = "; write it to a file, or pipe an Arrow stream into fastscore score -" if "pipe" in what else ""
            raise UsageError(f"{path}: this is {what}; name a file{pipe}")


@contextmanager
def for_arrow(path: str | Path) -> Iterator[Any]:
    """What Arrow's readers take for a file: its name, or where that is no UTF-8 the open file."""
    name = str(path)
    if os.fsencode(name).decode("utf-8", "replace") == name:
        yield name
        return
    with open(path, "rb") as file:
        yield file


def read_whole(path: str | Path) -> bytes:
    """The bytes of a file; gzip and zstd are unpacked, told from the content.

    Raises
    ------
    UsageError
        There is no such file, or it is none that can be read.
    FormatError
        A broken .gz or .zst, or one that unpacks to more than a quarter of the memory that is free; a file larger than that
        memory.
    """
    check_file(path)
    free = memory_free()
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > free:
                raise FormatError(f"{path}: {_shown(size)} are more than the free memory, {_shown(free)}; {_ADVICE}")
            data = file.read()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from None
    if data[:2] == _GZIP:
        return _unpacked(_gzip_parts(data), path, free // _PART, ".gz")
    if data[:4] == _ZSTD:
        return _unpacked(_zstd_parts(data), path, free // _PART, ".zst")
    return data


def memory_free() -> int:
    """Bytes of memory that this process may still take, as far as the system tells: the machine's and the control group's."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
        group = Path("/sys/fs/cgroup")
        most, taken = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
        if most.isdigit():
            stats = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            free = min(free, max(0, int(most) - int(taken) + int(stats["file"])))  # pages of files are given back
    except (OSError, ValueError, KeyError, StopIteration):
        pass
    return free


_ADVICE = "write it as parquet, or as .jsonl, which fastscore score reads in pieces"


def _unpacked(parts: Iterator[bytes], path: str | Path, limit: int, kind: str) -> bytes:
    import pyarrow as pa

    found: list[bytes] = []
    size = 0
    try:
        for part in parts:
            found.append(part)
            size += len(part)
            if size > limit:
                raise FormatError(
                    f"{path}: this {kind} unpacks to more than {_shown(limit)}, a quarter of the free memory; {_ADVICE}"
                )
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise FormatError(f"{path}: broken {kind} ({(str(error).splitlines() or ['cut short'])[0]})") from None
    return b"".join(found)


def _gzip_parts(data: bytes) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        while part := stream.read(_STEP):
            yield part


def _zstd_parts(data: bytes) -> Iterator[bytes]:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while part := _next(stream):
            yield part


def _next(stream: Any) -> bytes:
    return bytes(stream.read(_STEP))


def _shown(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"
