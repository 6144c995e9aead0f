"""Damaged Parquet files: one sentence, whatever byte is changed. Never an abort or a backtrace."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import rankscope
from rankscope.errors import FormatError, RankscopeError
from rankscope.tables import parquet_trial
from rankscope.tables.columns import MOST_COLUMNS
from rankscope.tables.parquet import parquet_frame
from rankscope.tables.parquet_pages import check_parquet

TABLE = pl.DataFrame(
    {
        "query_id": ["q1", "q2"] * 50,
        "doc_id": [f"d{number}" for number in range(100)],
        "score": [number / 7 for number in range(100)],
        "tag": ["t", None] * 50,
    }
)


def written(table: pl.DataFrame, **options: object) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, **options)  # type: ignore[arg-type]
    return buffer.getvalue()


# Run in a process of its own: an abort there is a failure here, not the end of all tests.
MUTATIONS = """
import random, sys
from pathlib import Path
from rankscope.errors import RankscopeError
from rankscope.tables.parquet import parquet_frame

original = Path(sys.argv[1]).read_bytes()
chosen = random.Random(int(sys.argv[2]))
flips = [(position, 1 << bit) for position in range(4, 40) for bit in range(8)]
flips += [(chosen.randrange(len(original)), chosen.randrange(1, 256)) for _ in range(120)]
for position, change in flips:
    changed = bytearray(original)
    changed[position] ^= change
    try:
        parquet_frame(bytes(changed), source="changed")
    except RankscopeError as error:
        assert "\\n" not in str(error), error
    print(position, change, flush=True)
print("done")
"""


@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed"])
def test_no_changed_byte_ends_the_process(tmp_path: Path, compression: str) -> None:
    file = tmp_path / "a.parquet"
    file.write_bytes(written(TABLE, compression=compression, row_group_size=50))
    source = Path(rankscope.__file__).parents[1]
    child = subprocess.run(
        [sys.executable, "-c", MUTATIONS, str(file), "7"],
        env={"PYTHONPATH": str(source), "POLARS_MAX_THREADS": "2", "RUST_BACKTRACE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    last = child.stdout.splitlines()[-1:]
    assert (child.returncode, last, child.stderr) == (0, ["done"], "")


def test_a_page_with_a_negative_number_of_values_is_refused_before_polars_sees_it() -> None:
    """The field is the first of the data page's header: 0x2c opens it, 0x15 is an integer."""
    original = written(TABLE.select("score"), compression="uncompressed", statistics=False)
    values = re.search(rb"\x2c\x15\xc8\x01", original)  # 100, zigzag
    assert values is not None
    changed = bytearray(original)
    changed[values.start() + 2] |= 1  # the lowest bit is the sign
    with pytest.raises(FormatError, match="number of values in a page is -101"):
        check_parquet(bytes(changed), source="a.parquet")


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "uncompressed"])
@pytest.mark.parametrize("rows", [0, 1, 100])
def test_sound_files_pass(compression: str, rows: int) -> None:
    nested = TABLE.with_columns(
        lists=pl.concat_list("doc_id", "tag"), struct=pl.struct("doc_id", pl.concat_list("score"))
    ).head(rows)
    data = written(nested, compression=compression, row_group_size=30)
    assert parquet_frame(data, source="a").equals(nested)


@pytest.mark.parametrize("options", [{}, {"data_page_version": "2.0"}, {"data_page_size": 64}])
@pytest.mark.parametrize("rows", [0, 100])
def test_files_of_arrow_pass(options: dict[str, object], rows: int) -> None:
    arrow = pytest.importorskip("pyarrow.parquet")
    buffer = io.BytesIO()
    arrow.write_table(TABLE.head(rows).to_arrow(), buffer, **options)
    assert parquet_frame(buffer.getvalue(), source="a").equals(TABLE.head(rows))


def test_a_table_that_expands_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(pl.DataFrame({"a": pl.repeat(1.0, 1_000_000, eager=True)}))
    assert parquet_frame(data, source="a").height == 1_000_000
    monkeypatch.setenv("RANKSCOPE_MAX_BYTES", "999999")
    with pytest.raises(FormatError, match=r"more than 999,999 bytes.*RANKSCOPE_MAX_BYTES"):
        parquet_frame(data, source="a")


def test_too_many_columns_are_refused() -> None:
    data = written(pl.DataFrame({f"c{number}": [1] for number in range(MOST_COLUMNS + 1)}))
    with pytest.raises(FormatError, match="10,001 columns"):
        parquet_frame(data, source="a")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1PAR1", b"PAR1\xff\xff\xff\x7fPAR1"])
def test_what_is_cut_short_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(data)
    for place in (data, str(tmp_path / "a.parquet")):
        with pytest.raises(RankscopeError, match="not a parquet file"):
            parquet_frame(place, source="a")


def test_only_one_module_gives_parquet_to_polars() -> None:
    package = Path(rankscope.__file__).parent
    users = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"pl\.(read|scan)_parquet", path.read_text())
    }
    assert users == {"tables/parquet.py"}


SELDOM = {"use_dictionary": False, "column_encoding": {"query_id": "DELTA_BYTE_ARRAY"}}


def of_arrow(table: pl.DataFrame, **options: object) -> bytes:
    arrow = pytest.importorskip("pyarrow.parquet")
    buffer = io.BytesIO()
    arrow.write_table(table.to_arrow(), buffer, **options)
    return buffer.getvalue()


def test_an_unusual_file_is_tried_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = TABLE.with_columns(lists=pl.concat_list("doc_id", "tag"))
    file = tmp_path / "a.parquet"
    for data in (
        of_arrow(TABLE, **SELDOM),
        of_arrow(nested),
        of_arrow(TABLE, compression="brotli"),
    ):
        file.write_bytes(data)
        assert check_parquet(data, source="a")
        for place in (data, str(file)):
            assert parquet_frame(place, source="a").head(1)["doc_id"].to_list() == ["d0"]
            with monkeypatch.context() as patch:
                patch.setattr(parquet_trial, "_PROGRAM", "import os; os.abort()")
                with pytest.raises(FormatError, match=r"a: not a parquet .*the engine breaks down"):
                    parquet_frame(place, source="a")


def test_a_trial_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_trial, "_PROGRAM", "import time; time.sleep(60)")
    monkeypatch.setattr(parquet_trial, "_SECONDS", 0.2)
    with pytest.raises(FormatError, match="the engine breaks down"):
        parquet_frame(of_arrow(TABLE, **SELDOM), source="a")


def test_usual_files_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of Polars, nested or not, and flat ones of other writers."""
    monkeypatch.setattr(parquet_trial, "_PROGRAM", "import os; os.abort()")
    nested = TABLE.with_columns(lists=pl.concat_list("doc_id", "tag"))
    for table, data in (
        (TABLE, written(TABLE)),
        (nested, written(nested)),
        (TABLE, of_arrow(TABLE)),
    ):
        assert parquet_frame(data, source="a").equals(table)
    for version in ("1.0", "2.4", "2.6"):
        assert not check_parquet(of_arrow(TABLE, version=version), source="a")
