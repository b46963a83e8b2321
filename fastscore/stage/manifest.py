"""What a folder of finished shards remembers: one JSON line each, written after the shard is in place, and who may write now.

The first line says what was asked for (signature, columns, filter). A run that finds a manifest goes on only where that and the
finished inputs are the same; a last line that a crash cut short is passed over.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from fastscore.errors import DataError, UsageError

__all__ = ["LOCK", "MANIFEST", "Finished", "Manifest", "read_manifest"]

MANIFEST: Final = "manifest.jsonl"
LOCK: Final = ".fastscore.lock"
_VERSION = 1


class Finished(msgspec.Struct, frozen=True):
    """One shard that is in place: its input and that one's fingerprint, its output, rows, and exact totals.

    Totals are None where they have many groups; they are then added up from the output again.
    """

    input: str
    fingerprint: dict[str, int] | None
    output: str
    rows: int
    totals: dict[str, Any] | None


class _Head(msgspec.Struct, frozen=True):
    fastscore_manifest: int
    asked: dict[str, Any]


def read_manifest(path: Path) -> tuple[dict[str, Any], dict[str, Finished]]:
    """What was asked for, and the latest line of each input; a last line that a crash cut short is passed over.

    Raises DataError where this is no manifest of this version, a line is broken, or an output leads out of the folder.
    """
    lines = path.read_bytes().split(b"\n")[:-1]
    try:
        head = msgspec.json.decode(lines[0] if lines else b"", type=_Head)
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: not a manifest of fastscore ({error}); --overwrite starts anew") from None
    if head.fastscore_manifest != _VERSION:
        raise DataError(f"{path}: made by another version of the manifest; --overwrite starts anew")
    finished: dict[str, Finished] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            if line:
                shard = msgspec.json.decode(line, type=Finished)
                finished[shard.input] = shard
        except msgspec.DecodeError as error:
            raise DataError(f"{path}: line {number} is broken ({error}); --overwrite starts anew") from None
    for shard in finished.values():
        place = Path(shard.output)
        if place.is_absolute() or ".." in place.parts:
            raise DataError(f"{path}: the output {shard.output!r} is outside the folder; --overwrite starts anew")
    return head.asked, finished


def _is_whole(path: Path, rows: int) -> bool:
    """Whether a shard is in place, with as many rows as were noted."""
    try:
        return path.is_file() and pq.read_metadata(path).num_rows == rows
    except (pa.ArrowException, OSError):
        return False


class Manifest:
    """The manifest of an output folder, held under a lock while a run writes there.

    Parameters
    ----------
    folder
        The output folder, which is there.
    asked
        Everything that decides what a shard holds: signature, column names, filter, kept columns.
    overwrite
        Start anew, whatever is there.

    Raises
    ------
    UsageError
        Another run holds the folder, or it holds files but no manifest.
    DataError
        The manifest is of another run or no manifest at all; says what differs.
    """

    def __init__(self, folder: Path, asked: Mapping[str, Any], overwrite: bool) -> None:
        self.folder = folder
        self.path = folder / MANIFEST
        self._lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            self._take_lock()
            for left in folder.rglob(".*.part"):
                left.unlink(missing_ok=True)
            self.finished = {} if overwrite else self._read(asked)
            if overwrite or not self.path.exists():
                self._start(asked)
            else:
                self._cut_torn_line()
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        except BaseException:
            os.close(self._lock)
            raise

    def add(self, shard: Finished) -> None:
        """Note a shard that is in place; it is on the disk when this returns."""
        os.write(self._file, msgspec.json.encode(shard) + b"\n")
        os.fsync(self._file)
        self.finished[shard.input] = shard

    def close(self) -> None:
        """Give the folder free."""
        os.close(self._file)
        os.close(self._lock)

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"-o {self.folder}: another run is writing into this folder; wait for it, or name another") from None

    def _read(self, asked: Mapping[str, Any]) -> dict[str, Finished]:
        if not self.path.exists():
            others = [p.name for p in sorted(self.folder.iterdir()) if p.name != LOCK]
            if others:
                raise UsageError(
                    f"-o {self.folder}: the folder is not empty ({others[0]}) and has no {MANIFEST}; name another, "
                    "or --overwrite to write into it"
                )
            return {}
        made, finished = read_manifest(self.path)
        wanted = msgspec.json.decode(msgspec.json.encode(dict(asked)))
        for name in dict.fromkeys([*wanted, *made]):
            if wanted.get(name) != made.get(name):
                raise DataError(
                    f"-o {self.folder}: made with {name} = {made.get(name)!r}, now {wanted.get(name)!r}; "
                    "name another folder, or --overwrite to start anew"
                )
        return {k: s for k, s in finished.items() if _is_whole(self.folder / s.output, s.rows)}

    def _start(self, asked: Mapping[str, Any]) -> None:
        line = msgspec.json.encode(_Head(_VERSION, dict(asked))) + b"\n"
        temporary = self.folder / f".{MANIFEST}.part"
        with open(temporary, "wb") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)

    def _cut_torn_line(self) -> None:
        """Remove what a crash left behind the last line feed."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(self.path, whole)
