"""Damaged Parquet files: one sentence, whatever bit is changed. Never an abort or a backtrace.

`tests/slow/test_damaged_parquet.py` changes single bits, in a process of its own.
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
from pathlib import Path

import polars as pl
import pyarrow.parquet
import pytest

import rankscope as rs
from rankscope.errors import FormatError, MissingExtraError, RankscopeError
from rankscope.tables.columns import MOST_COLUMNS
from rankscope.tables.frames import ParquetFile, recorded_frame

TABLE = pl.DataFrame(
    {
        "query_id": ["q1", "q2"] * 50,
        "doc_id": [f"d{number}" for number in range(100)],
        "score": [number / 7 for number in range(100)],
        "tag": ["t", None] * 50,
    }
)
NESTED = TABLE.with_columns(
    lists=pl.concat_list("doc_id", "tag"), struct=pl.struct("doc_id", pl.concat_list("score"))
)


def written(table: pl.DataFrame, **options: object) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, **options)  # type: ignore[arg-type]
    return buffer.getvalue()


def test_a_page_with_a_negative_number_of_values_is_refused() -> None:
    """Polars would end the process: 0x2c opens the header of a data page, 0x15 is an integer."""
    original = written(TABLE.select("score"), compression="uncompressed", statistics=False)
    values = re.search(rb"\x2c\x15\xc8\x01", original)  # 100, zigzag
    assert values is not None
    changed = bytearray(original)
    changed[values.start() + 2] |= 1  # the lowest bit is the sign
    with pytest.raises(FormatError, match=r"a\.parquet"):
        ParquetFile(bytes(changed), source="a.parquet").frame()


def test_text_that_is_no_utf8_is_refused() -> None:
    buffers = [None, pyarrow.py_buffer(b"\0\0\0\0\x01\0\0\0"), pyarrow.py_buffer(b"\xff")]
    broken = pyarrow.Array.from_buffers(pyarrow.string(), 1, buffers)
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"doc_id": broken}), sink)
    with pytest.raises(FormatError, match=r"a\.parquet: .*UTF8"):
        ParquetFile(sink.getvalue(), source="a.parquet").frame()


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "uncompressed"])
def test_sound_files_are_read(compression: str) -> None:
    for rows in (0, 1, 100):
        data = written(NESTED.head(rows), compression=compression, row_group_size=30)
        assert ParquetFile(data, source="a").frame().equals(NESTED.head(rows))


@pytest.mark.parametrize(
    "options",
    [
        {"data_page_version": "2.0", "compression": "brotli"},
        {"use_dictionary": False, "column_encoding": {"query_id": "DELTA_BYTE_ARRAY"}},
    ],
)
def test_files_of_arrow_are_read(options: dict[str, object]) -> None:
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(NESTED.to_arrow(), buffer, **options)
    assert ParquetFile(buffer.getvalue(), source="a").frame().equals(NESTED)


@pytest.mark.parametrize(("low", "high"), [(0, 100), (0, 0), (29, 31), (30, 60), (95, 200)])
def test_rows_from_the_middle(low: int, high: int) -> None:
    file = ParquetFile(written(TABLE, row_group_size=30), source="a")
    assert file.rows == 100
    assert file.frame(low=low, high=high).equals(TABLE[low:high])
    batches = list(file.batches(["doc_id"], low=low, high=high, size=7))
    assert all(0 < batch.height <= 7 for batch in batches)
    assert [doc_id for batch in batches for doc_id in batch["doc_id"]] == [
        *TABLE["doc_id"][low:high]
    ]


def test_a_table_that_expands_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(pl.DataFrame({"a": pl.repeat(1.0, 1_000_000, eager=True)}))
    assert ParquetFile(data, source="a").frame().height == 1_000_000
    monkeypatch.setattr("rankscope.files._LARGEST", 999_999)
    with pytest.raises(FormatError, match="999,999"):
        ParquetFile(data, source="a").frame()


def test_too_many_columns_are_refused() -> None:
    data = written(pl.DataFrame({f"c{number}": [1] for number in range(MOST_COLUMNS + 1)}))
    with pytest.raises(FormatError, match="10,001 columns"):
        ParquetFile(data, source="a").frame()


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1PAR1", b"PAR1\xff\xff\xff\x7fPAR1"])
def test_what_is_cut_short_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(data)
    for place in (data, str(tmp_path / "a.parquet")):
        with pytest.raises(RankscopeError, match="not a parquet file"):
            ParquetFile(place, source="a").frame()


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files from outside need it; what rankscope recorded itself does not."""
    data = written(TABLE)
    (tmp_path / "a.parquet").write_bytes(data)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="frames"):
        ParquetFile(data, source="a").frame()
    digest = hashlib.sha256(data).hexdigest()
    assert recorded_frame(tmp_path / "a.parquet", digest, source="a").equals(TABLE)


def test_what_was_recorded_must_be_unchanged(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(written(TABLE.head(3)))
    digest = hashlib.sha256(written(TABLE)).hexdigest()
    with pytest.raises(FormatError, match="changed"):
        recorded_frame(tmp_path / "a.parquet", digest, source="a")
    with pytest.raises(FormatError, match="b: "):
        recorded_frame(tmp_path / "b.parquet", digest, source="b")


def test_metadata_that_is_no_text_is_passed_over(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    columns = {"query_id": ["q"], "doc_id": ["d"], "grade": [1]}
    table = pyarrow.table(columns).replace_schema_metadata({b"AR\xffOW": b"\xff"})
    pyarrow.parquet.write_table(table, tmp_path / "q.parquet")
    assert rs.read_qrels(tmp_path / "q.parquet")["q"] == {"d": 1}
    assert capfd.readouterr() == ("", "")
