"""What a folder of finished shards remembers: one JSON line each, written after the shard is in place, and who may write now.

The first line says what was asked for (signature, columns, filter). A run that finds a manifest goes on only where that and the
finished inputs are the same; a last line that a crash cut short is passed over.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from fastscore.errors import DataError, UsageError
from fastscore.formats.files import for_arrow
from fastscore.output import placed
from fastscore.stage.sources import Source
from fastscore.stage.strict import strict_json
from fastscore.totals import Totals

__all__ = ["GROUPED", "LOCK", "MANIFEST", "MISSING_FILE", "Finished", "Manifest", "is_whole", "read_manifest"]

MANIFEST: Final = "manifest.jsonl"
LOCK: Final = ".fastscore.lock"
#: The shard of the references without a prediction; no source's shard has that name.
MISSING_FILE: Final = "missing_predictions.parquet"
#: In a shard of rewards: for which set of shards it has its groups' columns.
GROUPED: Final = "grouped"
_VERSION = 1
#: What the columns that were asked for are, in their order in the manifest.
_ROLES = ("--prediction", "--references", "--id", "--keep", "--by")


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

    Raises FileNotFoundError where there is none, and DataError, which names the line, where this is no manifest of this version,
    a line is broken or its numbers do not go together, or an output leads out of the folder.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise DataError(f"{path}: not a manifest of fastscore (a link, or no file); --overwrite starts anew")
    lines = path.read_bytes().split(b"\n")[:-1]
    head: _Head = _line(path, 1, lines[0] if lines else b"", _Head)
    if head.fastscore_manifest != _VERSION:
        raise DataError(f"{path}: made by another version of the manifest; --overwrite starts anew")
    if not any(isinstance(head.asked.get(name), str) for name in ("signature", "rewards")):
        raise DataError(f"{path}: line 1: not a manifest of fastscore (no signature); --overwrite starts anew")
    finished: dict[str, Finished] = {}
    for number, line in enumerate(lines[1:], 2):
        if line:
            shard: Finished = _line(path, number, line, Finished)
            place = Path(shard.output)
            if place.is_absolute() or ".." in place.parts or "\0" in shard.output:
                raise DataError(
                    f"{path}: line {number}: the output {shard.output!r} is outside the folder; --overwrite starts anew"
                )
            finished[shard.input] = shard
    return head.asked, finished


def _encoded(line: Any) -> bytes:
    """A line of the manifest, all of ASCII: a file's name may be no UTF-8."""
    return json.dumps(msgspec.to_builtins(line), separators=(",", ":")).encode() + b"\n"


def _line(path: Path, number: int, line: bytes, kind: Any) -> Any:
    try:
        found = msgspec.convert(strict_json(line), kind)
        if isinstance(found, Finished):
            _check_numbers(found)
        return found
    except (ValueError, msgspec.ValidationError) as error:
        what = "not a manifest of fastscore" if kind is _Head else "is broken"
        said = " ".join(str(error).split())[:300]
        raise DataError(f"{path}: line {number} {what} ({said}); --overwrite starts anew") from None


def _check_numbers(shard: Finished) -> None:
    """Raise ValueError where the rows are no count, or the totals are not those of so many rows."""
    if not 0 <= shard.rows < 2**53:
        raise ValueError(f"rows must be a count, got {shard.rows}")
    if shard.totals is None or set(shard.totals) == {GROUPED}:  # many groups, which are added up from the shard
        return
    if (added := Totals.from_dict(shard.totals).rows()) != shard.rows:
        raise ValueError(f"the statuses add up to {added:,} and the rows are {shard.rows:,}")


def _difference(name: str, made: Any, now: Any) -> str:
    """What was asked for then and now; of the columns, those of the first role that differs."""
    if name == "columns" and isinstance(made, list) and isinstance(now, list) and len(made) == len(now) == len(_ROLES):
        name, made, now = next((f"columns of {r}", a, b) for r, a, b in zip(_ROLES, made, now, strict=True) if a != b)
    return f"{name} = {made!r}, now {now!r}"


def is_whole(path: Path, rows: int) -> bool:
    """Whether a shard is in place, with as many rows as were noted."""
    try:
        return path.is_file() and _metadata(path).num_rows == rows
    except (pa.ArrowException, OSError):
        return False


def _metadata(path: Path) -> Any:
    with for_arrow(path) as file:
        return pq.read_metadata(file)


def _has_scores(path: Path) -> bool:
    """Whether this is a file of item scores that fastscore wrote."""
    try:
        return path.is_file() and b"fastscore.signature" in (_metadata(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def _remove_parts(folder: Path) -> None:
    """Remove what a run that was killed has left; not in folders that another run may hold, nor behind links."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not os.path.lexists(os.path.join(place, name, LOCK))]
        for name in files:
            if name.startswith(".") and name.endswith(".part"):
                Path(place, name).unlink(missing_ok=True)


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
            _remove_parts(folder)
            self._replaced = self._before() if overwrite else []
            self.finished = {} if overwrite else self._read(asked)
            if overwrite or not self.path.exists():
                self._start(asked)
            else:
                self._cut_torn_line()
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        except BaseException:
            os.close(self._lock)
            raise

    def prepare(self, sources: Sequence[Source]) -> None:
        """Refuse shards of inputs that are no longer asked for; where all starts anew, remove the shards of before.

        Only files of item scores that the manifest named are removed, and no file that is an input.
        """
        names = {s.name for s in sources}
        gone = [name for name, shard in self.finished.items() if name not in names and shard.output != MISSING_FILE]
        if gone:
            raise DataError(
                f"-o {self.folder}: has the shard of {gone[0]!r}, which is none of the inputs ({len(gone):,} in all); "
                "name another folder, or --overwrite to start anew"
            )
        inputs = {Path(s.path).resolve() for s in sources if s.kind == "file"}
        for path in self._replaced:
            if path.resolve() not in inputs:
                path.unlink(missing_ok=True)
        (self.folder / "summary.json").unlink(missing_ok=True)
        for table in self.folder.glob("groups.*.parquet"):
            table.unlink(missing_ok=True)

    def _before(self) -> list[Path]:
        """The files of item scores that a manifest of before names, as far as it can be read."""
        try:
            outputs = [self.folder / shard.output for shard in read_manifest(self.path)[1].values()]
        except (DataError, OSError):
            return []
        root = self.folder.resolve()
        return [p for p in outputs if p.suffix == ".parquet" and root in p.resolve().parents and _has_scores(p)]

    def add(self, shard: Finished) -> None:
        """Note a shard that is in place; it is on the disk when this returns."""
        os.write(self._file, _encoded(shard))
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
        wanted = json.loads(json.dumps(dict(asked)))
        for name in dict.fromkeys([*wanted, *made]):
            if wanted.get(name) != made.get(name):
                raise DataError(
                    f"-o {self.folder}: made with {_difference(name, made.get(name), wanted.get(name))}; "
                    "name another folder, or --overwrite to start anew"
                )
        return {k: s for k, s in finished.items() if is_whole(self.folder / s.output, s.rows)}

    def _start(self, asked: Mapping[str, Any]) -> None:
        line = _encoded(_Head(_VERSION, dict(asked)))
        with placed(self.path) as name, open(name, "wb") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _cut_torn_line(self) -> None:
        """Remove what a crash left behind the last line feed."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(self.path, whole)
