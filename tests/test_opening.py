"""Files that cannot be read, or not twice: one clear sentence, or the table."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from rankscope.collection.corpus import read_corpus
from rankscope.collection.qrels import read_qrels
from rankscope.collection.queries import read_queries
from rankscope.errors import FormatError, InputError
from rankscope.runs.table import Run, read_run
from rankscope.runs.validation import validate_run

RUN = b"q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n"
EXPECTED = {"q1": {"d1": 2.5, "d2": 1.5}}
CONTENT: dict[Callable[..., Any], tuple[str, bytes]] = {
    read_run: ("a.run", RUN),
    validate_run: ("a.run", RUN),
    read_qrels: ("a.qrels", b"q1 0 d1 1\n"),
    read_queries: ("a.jsonl", b'{"_id": "q1", "text": "x"}\n'),
    read_corpus: ("a.jsonl", b'{"_id": "d1", "text": "x"}\n'),
}
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
every_reader = pytest.mark.parametrize("read", CONTENT, ids=lambda read: read.__name__)


@every_reader
def test_compressed_under_any_name_or_cut_short(read: Callable[..., Any], tmp_path: Path) -> None:
    name, content = CONTENT[read]
    for suffix, compress in COMPRESS.items():
        for path in (tmp_path / f"{name}{suffix}", tmp_path / name):
            path.write_bytes(compress(content))
            assert read(path) is not None
        path.write_bytes(compress(content * 100)[:-9])
        with pytest.raises(FormatError, match="damaged or was cut short"):
            read(path)


def test_damaged_and_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    first, second = RUN.splitlines(keepends=True)
    for compress in COMPRESS.values():
        whole = bytearray(compress(RUN * 50))
        whole[len(whole) // 2] ^= 0xFF
        path.write_bytes(bytes(whole))
        with pytest.raises(InputError):
            read_run(path)
        path.write_bytes(compress(first) + compress(second))
        assert read_run(path).to_dict() == EXPECTED


@every_reader
def test_what_cannot_be_opened(read: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)
    (tmp_path / "bm25.run").touch()
    with pytest.raises(InputError, match=r"bm25\.run"):
        read(tmp_path)
    with pytest.raises(InputError, match=r"bm52\.run.*did you mean .*bm25\.run\?"):
        read(tmp_path / "bm52.run")
    with pytest.raises(InputError, match=r"not found$"):
        read(tmp_path / "elsewhere" / "x.run")
    for name in ("a\0b", "x" * 5000, "\ud800.run"):
        with pytest.raises(InputError):
            read(name)
    empty = tmp_path / CONTENT[read][0]
    empty.write_bytes(b"")
    if read is validate_run:
        assert [finding.code for finding in read(empty).findings] == ["RS101"]
    else:
        with pytest.raises(InputError, match=str(empty)):
            read(empty)


@pytest.mark.parametrize("read", [read_run, read_qrels, validate_run])
@pytest.mark.parametrize(
    "content", [b"PAR1", b"PAR1PAR1", b"PAR1" + b"\0" * 90 + b"PAR1"], ids=["begin", "ends", "null"]
)
def test_corrupt_parquet(read: Callable[..., Any], content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"a\.parquet: not a parquet file that can be read"):
        read(path)


def test_compressed_parquet(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.parquet", tmp_path / "b.parquet"
    Run(EXPECTED).write(plain)
    for compress in COMPRESS.values():
        packed.write_bytes(compress(plain.read_bytes()))
        assert read_run(packed).to_dict() == EXPECTED


def test_named_format_that_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(RUN)
    for wrong in ("json", "jsonl", "parquet"):
        with pytest.raises(FormatError, match=r"a\.run"):
            read_run(path, format=wrong)


def test_unknown_format() -> None:
    with pytest.raises(LookupError, match="unknown format 'trek'; nearest: trec"):
        read_run("a.run", format="trek")


# --- streams


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_a_pipe_of_the_shell(pack: Callable[[bytes], bytes]) -> None:
    """A pipe is opened once; opening and closing it first would end its writer."""
    end, start = os.pipe()
    with open(start, "wb") as sink:
        sink.write(pack(RUN))
    try:
        assert read_run(f"/dev/fd/{end}").to_dict() == EXPECTED
    finally:
        os.close(end)


def test_what_may_never_end_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, problem in ((pipe, "is a named pipe"), ("/dev/zero", "is a device")):
        with pytest.raises(InputError, match=problem):
            read_run(path)
