"""The log of judgments: lines that are only ever added, each safe on disk before anybody is told.

A line is a JSON object: a judgment (``grade``, or ``cannot`` where the rater could not judge), or
the taking back of one (``undo`` with its id). It is written by one call that appends, and flushed
to the disk. A process that is killed while it writes leaves at most the beginning of a last line:
that was never acknowledged, is passed over by readers, and the next line begins on a line of its
own. Several processes may write to one log: each takes a lock, and reads what others added first.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rankscope.errors import FormatError, InputError
from rankscope.files import check_regular
from rankscope.temporary import flush_folder, lock, unlock

if TYPE_CHECKING:
    from rankscope.files import PathLike


class LogError(InputError):
    """The log cannot be read or written at the moment; it may be tried again."""


class Pair(NamedTuple):
    """A query and a document."""

    query_id: str
    doc_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """One line of the log."""

    id: str
    """Made by who judged, so that what is sent twice counts once."""
    rater: str
    pair: Pair
    grade: int | None = None
    """None where the rater could not judge, or took a judgment back."""
    cannot: bool = False
    """Whether the rater could not judge."""
    reason: str = ""
    undo: str = ""
    """The id of the judgment that is taken back; '' for a judgment."""
    seq: int = 0
    """The number of the line, counted from 1 and without those that were cut short."""
    at: str = ""
    """When it was written, in UTC."""

    def line(self) -> bytes:
        """Return the line to write, with its end."""
        fields: dict[str, Any] = {
            "seq": self.seq,
            "at": self.at,
            "id": self.id,
            "rater": self.rater,
            "query_id": self.pair.query_id,
            "doc_id": self.pair.doc_id,
        }
        if self.undo:
            fields["undo"] = self.undo
        else:
            fields["grade"] = self.grade
            if self.cannot:
                fields["cannot"] = True
            if self.reason:
                fields["reason"] = self.reason
        return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("id", "rater", "query_id", "doc_id", "undo", "reason", "at"), str),
    "grade": (int, type(None)),
    "cannot": bool,
    "seq": int,
}


def _parsed(fields: Any) -> Judgment | None:
    """Return what a line says; None if it is no judgment."""
    if not isinstance(fields, dict) or not {"id", "rater", "query_id", "doc_id"} <= fields.keys():
        return None
    known = {name: fields[name] for name in _KINDS if name in fields}
    is_sound = all(isinstance(value, _KINDS[name]) for name, value in known.items())
    given = known.get("grade")
    kinds = (given is not None) + known.get("cannot", False) + bool(known.get("undo"))
    if not is_sound or isinstance(given, bool) or kinds != 1:
        return None
    return Judgment(pair=Pair(known.pop("query_id"), known.pop("doc_id")), **known)


@dataclass(slots=True)
class Judgments:
    """What holds after all lines read so far."""

    by_id: dict[str, Judgment] = field(default_factory=dict)
    """All lines, by id, in order."""
    undone: set[str] = field(default_factory=set)
    """Ids of judgments that were taken back."""
    _given: dict[str, dict[Pair, list[Judgment]]] = field(default_factory=dict)
    """By rater and pair: judgments that were not taken back, the last one counts."""
    pairs: set[Pair] = field(default_factory=set)
    """All pairs that any line is about."""

    def add(self, judgment: Judgment) -> None:
        """Take one line into account; an id that is known already changes nothing."""
        if judgment.id in self.by_id:
            return
        self.by_id[judgment.id] = judgment
        self.pairs.add(judgment.pair)
        given = self._given.setdefault(judgment.rater, {})
        if not judgment.undo:
            given.setdefault(judgment.pair, []).append(judgment)
            return
        self.undone.add(judgment.undo)
        left = [each for each in given.get(judgment.pair, ()) if each.id != judgment.undo]
        if left:
            given[judgment.pair] = left
        else:
            given.pop(judgment.pair, None)

    @property
    def raters(self) -> list[str]:
        """All who judged anything that holds, in the order of their first line."""
        return [rater for rater, given in self._given.items() if given]

    def of(self, rater: str) -> dict[Pair, Judgment]:
        """By pair: what this rater said last."""
        return {pair: given[-1] for pair, given in self._given.get(rater, {}).items()}

    def get(self, rater: str, pair: Pair) -> Judgment | None:
        """Return what this rater said last of one pair."""
        given = self._given.get(rater, {}).get(pair)
        return given[-1] if given else None

    def has(self, rater: str, pair: Pair) -> bool:
        """Tell whether this rater judged a pair."""
        return pair in self._given.get(rater, ())

    def last_of(self, rater: str) -> Judgment | None:
        """Return the last judgment of a rater that was not taken back."""
        given = self._given.get(rater, {}).values()
        return max((each[-1] for each in given), key=lambda each: each.seq, default=None)

    def all(self) -> Iterator[Judgment]:
        """Yield what each rater said last of each pair, by rater."""
        for rater in self.raters:
            yield from self.of(rater).values()


class JudgmentLog:
    """A log that is open for reading and adding; safe to use from several threads."""

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self.judgments = Judgments()
        self.cut_short = 0
        """Lines that a killed process did not finish."""
        self._mutex = threading.RLock()
        self._offset = 0
        self._lines = 0
        self._rest = b""  # after the last line end: a line that is being written, or was cut short
        self._last_seq = 0
        check_regular(self.path)
        with self._reported("read"):
            if self.path.exists():
                self.refresh()

    @contextmanager
    def held(self) -> Iterator[Judgments]:
        """Keep other threads from adding meanwhile, and give what holds now."""
        with self._mutex:
            self.refresh()
            yield self.judgments

    @contextmanager
    def _reported(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LogError(
                f"{self.path}: the log of judgments cannot be {what} ({error.strerror or error}); "
                "check the disk, or name another file with --log"
            ) from None

    def refresh(self) -> None:
        """Read what was added since, by this process or another."""
        with self._mutex, self._reported("read"):
            if not self.path.exists() and not self._offset:
                return
            with self.path.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if size < self._offset:
                    raise LogError(
                        f"{self.path}: the log of judgments got shorter while it was in use; stop, "
                        "look at the file, and start again"
                    )
                if size == self._offset:
                    return
                stream.seek(self._offset)
                added = stream.read()
            self._offset += len(added)
            *lines, self._rest = (self._rest + added).split(b"\n")
            problem = None
            for line in lines:
                self._lines += 1
                try:
                    self._take(line, self._lines)
                except FormatError as error:  # what follows counts nevertheless
                    problem = problem or error
            if self._rest and not self._rest.startswith((b"{", b"\0", b"\xef\xbb\xbf")):
                problem = problem or self._no_judgment(self._lines + 1)
            with suppress(ValueError):  # whole but for its line end: an editor may have removed it
                self._keep(_parsed(json.loads(self._rest)))
            if problem is not None:
                raise problem

    def _take(self, line: bytes, number: int) -> None:
        if not line.strip():
            return
        try:
            fields = json.loads(line)
        except ValueError:
            if line.startswith((b"{", b"\0")):  # a power cut may leave zeros
                self.cut_short += 1
                return
            fields = None
        judgment = _parsed(fields)
        if judgment is None:
            raise self._no_judgment(number)
        self._keep(judgment)

    def _no_judgment(self, number: int) -> FormatError:
        return FormatError(
            "is not a judgment; name a log that 'rankscope judge' wrote, or a new file, with --log",
            source=str(self.path),
            line=number,
        )

    def _keep(self, judgment: Judgment | None) -> None:
        if judgment is not None:
            self._last_seq = max(self._last_seq, judgment.seq)
            self.judgments.add(judgment)

    def add(self, make: Callable[[Judgments], Judgment]) -> Judgment:
        """Add the judgment that ``make`` returns from what holds now, and return it as written.

        When this returns the line is on the disk. One whose id is there already is not written
        again. If this fails nothing counts, and it may be tried again.
        """
        with self._mutex, self._reported("written"):
            self._create()
            handle = lock(self.path)
            try:
                self.refresh()
                judgment = make(self.judgments)
                known = self.judgments.by_id.get(judgment.id)
                if known is None:
                    now = datetime.now(UTC).isoformat(timespec="milliseconds")
                    judgment = replace(judgment, seq=self._last_seq + 1, at=now)
                self._write(judgment.line() if known is None else b"")
                self.refresh()
            finally:
                unlock(handle)
            return self.judgments.by_id[judgment.id]

    def create(self) -> None:
        """Make the file if there is none, so that it is known now whether it can be written."""
        with self._reported("written"):
            self._create()

    def _create(self) -> None:
        if self.path.exists():
            return
        if self._offset:
            raise LogError(
                f"{self.path}: the log of judgments was removed while it was in use; put it back, "
                "or start again"
            )
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666))
        flush_folder(self.path.parent)

    def _write(self, line: bytes) -> None:
        """Append a line and flush it; without one, flush what is there."""
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags)
        try:
            size = os.fstat(descriptor).st_size
            if line:
                begin = b"\n" if self._rest else b""
                written = os.write(descriptor, begin + line)
                if written != len(begin + line):
                    os.ftruncate(descriptor, size)
                    raise OSError(28, "No space left on device")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
