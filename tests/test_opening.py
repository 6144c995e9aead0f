"""Files that cannot be read, or not twice: one clear sentence, or the table."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading
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
every_compression = pytest.mark.parametrize("suffix", COMPRESS)


@every_reader
@every_compression
def test_compressed_under_any_name(read: Callable[..., Any], suffix: str, tmp_path: Path) -> None:
    name, content = CONTENT[read]
    for path in (tmp_path / f"{name}{suffix}", tmp_path / name):
        path.write_bytes(COMPRESS[suffix](content))
        assert read(path) is not None


@every_reader
@every_compression
def test_cut_short(read: Callable[..., Any], suffix: str, tmp_path: Path) -> None:
    name, content = CONTENT[read]
    path = tmp_path / f"{name}{suffix}"
    path.write_bytes(COMPRESS[suffix](content * 100)[:-9])
    with pytest.raises(FormatError, match="damaged or was cut short"):
        read(path)


@every_compression
def test_damaged(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.run{suffix}"
    whole = bytearray(COMPRESS[suffix](RUN * 50))
    whole[len(whole) // 2] ^= 0xFF
    path.write_bytes(bytes(whole))
    with pytest.raises(InputError):
        read_run(path)


@every_compression
def test_parts_one_after_the_other(suffix: str, tmp_path: Path) -> None:
    first, second = RUN.splitlines(keepends=True)
    path = tmp_path / f"a.run{suffix}"
    path.write_bytes(COMPRESS[suffix](first) + COMPRESS[suffix](second))
    assert read_run(path).to_dict() == EXPECTED


@every_reader
def test_empty_file(read: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / CONTENT[read][0]
    path.touch()
    if read is validate_run:
        assert [finding.code for finding in read(path).findings] == ["RS101"]
    else:
        with pytest.raises(InputError, match=str(path)):
            read(path)


@every_reader
def test_folder(read: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a folder; name a file in it$"):
        read(tmp_path)
    (tmp_path / "inside.run").touch()
    problem = r"is a folder; .*such as .*inside\.run"
    if read is read_corpus:  # which may be a folder of files
        problem = r"inside\.run: is empty; expected documents"
    with pytest.raises(InputError, match=problem):
        read(tmp_path)


@every_reader
def test_missing_file(read: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "bm25.run").touch()
    with pytest.raises(InputError, match=r"bm52\.run: file not found; did you mean .*bm25\.run\?"):
        read(tmp_path / "bm52.run")
    with pytest.raises(InputError, match=r"file not found$"):
        read(tmp_path / "elsewhere" / "x.run")


@every_reader
def test_unusable_name(read: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="not a usable file name"):
        read("a\0b")
    with pytest.raises(InputError):
        read("x" * 5000)


@pytest.mark.parametrize("read", [read_run, read_qrels, validate_run])
@pytest.mark.parametrize(
    "content", [b"PAR1", b"PAR1PAR1", b"PAR1" + b"\0" * 90 + b"PAR1"], ids=["begin", "ends", "null"]
)
def test_corrupt_parquet(read: Callable[..., Any], content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"a\.parquet: not a parquet file that can be read"):
        read(path)


@every_compression
def test_compressed_parquet(suffix: str, tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.parquet", tmp_path / f"b.parquet{suffix}"
    Run(EXPECTED).write(plain)
    packed.write_bytes(COMPRESS[suffix](plain.read_bytes()))
    assert read_run(packed).to_dict() == EXPECTED


@pytest.mark.parametrize("wrong", ["json", "jsonl", "parquet"])
def test_named_format_that_does_not_fit(wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(RUN)
    with pytest.raises(FormatError, match=r"a\.run"):
        read_run(path, format=wrong)


def test_unknown_format() -> None:
    with pytest.raises(LookupError, match="unknown format 'trek'; nearest: trec"):
        read_run("a.run", format="trek")


# --- streams


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_named_pipe(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """A pipe is opened once; opening and closing it first would end its writer."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(pack(RUN),))
    writer.start()
    assert read_run(pipe).to_dict() == EXPECTED
    writer.join(5)
    assert not writer.is_alive()


def python(code: str, given: bytes, *, folder: Path) -> bytes:
    """Run code in a fresh Python with bytes on its standard input; return what it printed."""
    command = [sys.executable, "-c", f"import rankscope as rs, sys\n{code}"]
    done = subprocess.run(command, input=given, capture_output=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("pack", [bytes, *COMPRESS.values()])
def test_standard_input(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    code = "print(rs.read_run('-').to_dict())"
    assert python(code, pack(RUN), folder=tmp_path).decode().strip() == str(EXPECTED)


def test_process_substitution(tmp_path: Path) -> None:
    """As bash does for ``rankscope … <(command)``: a pipe under ``/dev/fd``."""
    code = "print(rs.read_run('/dev/fd/0').to_dict())"
    many = b"".join(b"q%d Q0 d1 1 2.5 t\n" % n for n in range(20_000))  # more than a pipe holds
    printed = python(code, many, folder=tmp_path).decode()
    assert printed.count("d1") == 20_000


def test_closed_standard_input(tmp_path: Path) -> None:
    code = (
        "sys.stdin = None\n"
        "try:\n    rs.read_run('-')\n"
        "except rs.InputError as error:\n    print(error)"
    )
    assert python(code, b"", folder=tmp_path).startswith(b"standard input is closed")
