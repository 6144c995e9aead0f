"""The log of judgments: lines that are only ever added, each safe on disk before anybody is told.

A line is a JSON object: a judgment (``grade``, or ``cannot`` where the rater could not judge), or
the taking back of one (``undo`` with its id). It is written by one call that appends, and flushed
to the disk. A process that is killed while it writes leaves at most the beginning of a last line:
that was never acknowledged, is passed over by readers, and the next line begins on a line of its
own. Several processes may write to one log: each takes a lock, and reads what others added first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from pydantic import ConfigDict, ValidationError, model_validator

from rankscope.errors import FormatError, InputError
from rankscope.files import check_regular
from rankscope.part import Part
from rankscope.temporary import flush_folder, lock, unlock

if TYPE_CHECKING:
    from rankscope.files import PathLike


_BOM = b"\xef\xbb\xbf"


class LogError(InputError):
    """The log cannot be read or written at the moment; it may be tried again."""


class Pair(NamedTuple):
    """A query and a document."""

    query_id: str
    doc_id: str


class Judgment(Part):
    """One line of the log."""

    model_config = ConfigDict(strict=True)

    seq: int = 0
    """The number of the line, counted from 1 and without those that were cut short."""
    at: str = ""
    """When it was written, in UTC."""
    id: str
    """Made by who judged, so that what is sent twice counts once."""
    rater: str
    """Who judged."""
    query_id: str
    """The query."""
    doc_id: str
    """The document."""
    undo: str = ""
    """The id of the judgment that is taken back; '' for a judgment."""
    grade: int | None = None
    """None where the rater could not judge, or took a judgment back."""
    cannot: bool = False
    """Whether the rater could not judge."""
    reason: str = ""
    """Why, in the rater's words."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.grade is not None) + self.cannot + bool(self.undo) != 1:
            raise ValueError("a line has a grade, says that there is none, or takes one back")
        return self

    @property
    def pair(self) -> Pair:
        """What is judged."""
        return Pair(self.query_id, self.doc_id)

    def line(self) -> bytes:
        """Return the line to write, with its end."""
        return self.model_dump_json(exclude_defaults=True).encode() + b"\n"


@dataclass(slots=True)
class Judgments:
    """What holds after all lines read so far."""

    by_id: dict[str, Judgment] = field(default_factory=dict)
    """All lines, by id, in order."""
    _given: dict[str, dict[Pair, list[Judgment]]] = field(default_factory=dict)
    """By rater and pair: judgments that were not taken back, the last one counts."""

    def add(self, judgment: Judgment) -> None:
        """Take one line into account; an id that is known already changes nothing."""
        if judgment.id in self.by_id:
            return
        self.by_id[judgment.id] = judgment
        given = self._given.setdefault(judgment.rater, {})
        if not judgment.undo:
            given.setdefault(judgment.pair, []).append(judgment)
            return
        left = [each for each in given.pop(judgment.pair, ()) if each.id != judgment.undo]
        if left:
            given[judgment.pair] = left

    @property
    def pairs(self) -> set[Pair]:
        """All pairs that any line is about."""
        return {judgment.pair for judgment in self.by_id.values()}

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

    def last_of(self, rater: str) -> Judgment | None:
        """Return the last judgment of a rater that was not taken back."""
        return max(self.of(rater).values(), key=lambda judgment: judgment.seq, default=None)

    def all(self) -> list[Judgment]:
        """Return what each rater said last of each pair, by rater."""
        return [judgment for rater in self.raters for judgment in self.of(rater).values()]


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
        check_regular(self.path)
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
                if os.fstat(stream.fileno()).st_size < self._offset:
                    raise LogError(
                        f"{self.path}: the log of judgments got shorter while it was in use; stop, "
                        "look at the file, and start again"
                    )
                stream.seek(self._offset)
                added = stream.read()
            if not added:
                return
            self._offset += len(added)
            whole = (self._rest + added).removeprefix(_BOM)  # an editor may have added it
            *lines, self._rest = whole.split(b"\n")
            problems = [problem for line in lines if (problem := self._take(line))]
            if self._rest and not self._rest.startswith((b"{", b"\0")):
                problems.append(self._no_judgment(self._lines + 1))
            with suppress(ValueError):  # whole but for its line end: an editor may have removed it
                self.judgments.add(Judgment.model_validate_json(self._rest))
            if problems:  # what follows such a line counted nevertheless
                raise problems[0]

    def _take(self, line: bytes) -> FormatError | None:
        """Take a line into account; return what is wrong with it, if it is none of a log."""
        self._lines += 1
        try:
            if line.strip():
                self.judgments.add(Judgment.model_validate_json(line))
        except ValidationError as error:
            is_json = all(each["type"] != "json_invalid" for each in error.errors())
            if is_json or not line.startswith((b"{", b"\0")):  # a power cut may leave zeros
                return self._no_judgment(self._lines)
            self.cut_short += 1
        return None

    def _no_judgment(self, number: int) -> FormatError:
        return FormatError(
            "is not a judgment; name a log that 'rankscope judge' wrote, or a new file, with --log",
            source=str(self.path),
            line=number,
        )

    def add(self, make: Callable[[Judgments], Judgment]) -> Judgment:
        """Add the judgment that ``make`` returns from what holds now, and return it as written.

        When this returns the line is on the disk. One whose id is there already is not written
        again. If this fails nothing counts, and it may be tried again.
        """
        with self._mutex, self._reported("written"):
            self.create()
            handle = lock(self.path)
            try:
                self.refresh()
                judgment, known = make(self.judgments), self.judgments.by_id
                line = b""
                if judgment.id not in known:
                    now = datetime.now(UTC).isoformat(timespec="milliseconds")
                    last = max((each.seq for each in known.values()), default=0)
                    line = judgment.model_copy(update={"seq": last + 1, "at": now}).line()
                self._write(line)
                self.refresh()
            finally:
                unlock(handle)
            return known[judgment.id]

    def create(self) -> None:
        """Make the file if there is none, so that it is known now whether it can be written."""
        with self._reported("written"):
            if self.path.exists():
                return
            if self._offset:
                raise LogError(
                    f"{self.path}: the log of judgments was removed while it was in use; put it "
                    "back, or start again"
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
