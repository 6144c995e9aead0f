"""Gzip in blocks: one member that everything can read, the same bytes however it is written."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

import numpy as np
import pytest

from rankscope.errors import InputError
from rankscope.files import replacing
from rankscope.gzipping import BLOCK, SMALL, GzipWriter


def content(size: int) -> bytes:
    numbers = np.random.default_rng(3).integers(0, 10**7, size // 8 + 1)
    return b"".join(b"%07d\n" % number for number in numbers.tolist())[:size]


LARGE = content(SMALL + 3 * BLOCK + 12345)


def packed(data: bytes, step: int) -> bytes:
    sink = io.BytesIO()
    with GzipWriter(sink) as stream:
        for low in range(0, len(data), step):
            assert stream.write(memoryview(data)[low : low + step]) == len(data[low : low + step])
    return sink.getvalue()


@pytest.mark.parametrize("size", [0, 1, 1000, SMALL])
def test_small_content_is_compressed_as_ever(size: int) -> None:
    data = LARGE[:size]
    expected = io.BytesIO()
    with gzip.GzipFile("", "wb", 6, expected, mtime=0) as stream:
        stream.write(data)
    assert packed(data, 1 << 16) == expected.getvalue()


@pytest.mark.parametrize(
    "size", [SMALL + 1, SMALL + BLOCK - 1, SMALL + BLOCK, SMALL + BLOCK + 1, len(LARGE)]
)
def test_large_content_is_one_member(size: int) -> None:
    data = LARGE[:size]
    made = packed(data, len(data))
    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert member.decompress(made) == data
    assert member.eof
    assert member.unused_data == b""
    assert gzip.decompress(made) == data, "with the right checksum and size"


@pytest.mark.parametrize("step", [4097, BLOCK - 1, BLOCK, 3 * BLOCK + 1])
@pytest.mark.parametrize("cores", [1, 2, 5])
def test_the_bytes_follow_from_the_content(
    step: int, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = packed(LARGE, len(LARGE))
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert packed(LARGE, step) == expected


def test_what_is_handed_over_may_change_afterwards() -> None:
    sink, buffer = io.BytesIO(), bytearray(LARGE)
    with GzipWriter(sink) as stream:
        stream.write(buffer)
        buffer[:] = bytes(len(buffer))
    assert gzip.decompress(sink.getvalue()) == LARGE


def test_a_full_disk_is_an_error_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(b"old")

    class Full(io.BytesIO):
        def write(self, _: object, /) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(
        "rankscope.gzipping.GzipWriter.__init__",
        lambda self, _sink, made=GzipWriter.__init__: made(self, Full()),
    )
    with pytest.raises(InputError, match="No space left"), replacing(path) as stream:
        stream.write(LARGE)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.gz"]
