"""Files: standard input stays open, and only errors of reading are damage."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from rankscope.collection.corpus import stream_doc_ids
from rankscope.errors import FormatError, InputError
from rankscope.files import open_bytes, read_bytes, replacing

CONTENT = b'{"_id": "d1", "text": "a"}\n{"_id": "d2", "text": "b"}\n'

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}


class Pipe(io.BytesIO):
    """Bytes that come once, as from another process."""

    def seekable(self) -> bool:
        return False


@pytest.fixture(params=["file", "pipe"])
def feed(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[bytes], None]:
    """Return a function that puts bytes on standard input, as `< file` or as `|` does."""

    def give(data: bytes) -> None:
        (tmp_path / "stdin").write_bytes(data)
        raw = (tmp_path / "stdin").open("rb") if request.param == "file" else Pipe(data)
        stdin = io.TextIOWrapper(raw)
        monkeypatch.setattr(sys, "stdin", stdin)
        request.addfinalizer(stdin.close)

    return give


@pytest.mark.parametrize("packing", PACKED)
def test_standard_input_stays_open(feed: Callable[[bytes], None], packing: str) -> None:
    feed(PACKED[packing](CONTENT))
    assert read_bytes("-") == CONTENT
    assert not sys.stdin.buffer.closed
    with pytest.raises(InputError, match="read once only"):
        read_bytes("-")
    feed(PACKED[packing](CONTENT))
    ids = stream_doc_ids("-")
    assert next(ids) == "d1"
    del ids
    assert not sys.stdin.buffer.closed, "its reader stopped early"


def test_standard_input_survives_damage(feed: Callable[[bytes], None]) -> None:
    feed(gzip.compress(CONTENT)[:-9])
    with pytest.raises(FormatError, match="standard input: cannot be read to its end"):
        read_bytes("-")
    assert not sys.stdin.buffer.closed


def test_a_file_is_closed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(CONTENT)
    with open_bytes(tmp_path / "a") as stream:
        assert stream.read() == CONTENT
    assert stream.closed


def test_standard_input_that_others_closed(feed: Callable[[bytes], None]) -> None:
    feed(CONTENT)
    sys.stdin.close()
    with pytest.raises(InputError, match="standard input is closed"):
        read_bytes("-")


@pytest.mark.parametrize("packing", PACKED)
def test_an_error_of_the_caller_is_no_damage(packing: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(PACKED[packing](CONTENT))

    def use(mistake: type[Exception]) -> None:
        with open_bytes(tmp_path / "a") as stream:
            stream.readline()
            raise mistake("of the caller")

    for mistake in (ValueError, OSError, EOFError, BrokenPipeError):
        with pytest.raises(mistake) as raised:
            use(mistake)
        assert raised.type is mistake


@pytest.mark.parametrize("read", ["read", "readline", "readlines"])
def test_an_error_of_the_disk_is_damage(
    read: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Disk(io.BytesIO):
        """Gives one block, then fails."""

        def readinto(self, buffer: Any) -> int:
            if self.tell():
                raise OSError(5, "Input/output error")
            return super().readinto(buffer[:20])

        def read(self, _: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("rankscope.files.open_raw", lambda _: Disk(CONTENT))
    with (
        open_bytes(tmp_path / "a") as stream,
        pytest.raises(FormatError, match=r"cannot be read to its end \(.*Input/output error"),
    ):
        getattr(stream, read)()


@pytest.mark.parametrize(
    ("missing", "proposed"),
    [
        ("nope.tsv", None),
        ("d.tsv", None),
        ("elsewhere/c.tsv", None),
        ("qrel.tsv", "qrels.tsv"),
        ("QRELS.tsv", "qrels.tsv"),
        ("qrels.txt", "qrels.tsv"),
        ("bm52.run.gz", "bm25.run.gz"),
        ("query.jsonl", "queries.jsonl"),
    ],
)
def test_only_a_near_name_is_proposed(missing: str, proposed: str | None, tmp_path: Path) -> None:
    for name in ("c.tsv", "qrels.tsv", "bm25.run", "bm25.run.gz", "queries.jsonl"):
        (tmp_path / name).touch()
    with pytest.raises(InputError) as raised:
        read_bytes(tmp_path / missing)
    hint = str(raised.value).partition(str(tmp_path / missing))[2]
    assert (str(tmp_path / proposed) in hint) if proposed else (str(tmp_path) not in hint)


def test_gzip_holds_neither_name_nor_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"q1 Q0 d1 1 0.5 run\n" * 10_000
    for time, name in enumerate(("a.run.gz", "b.run.gz")):
        monkeypatch.setattr("time.time", lambda time=time: 1e9 + time)
        with replacing(tmp_path / name) as stream:
            for _ in range(10):
                stream.write(content)
    first, second = ((tmp_path / name).read_bytes() for name in ("a.run.gz", "b.run.gz"))
    assert first == second
    assert gzip.decompress(first) == read_bytes(tmp_path / "a.run.gz") == 10 * content
