"""Parquet files with a changed bit: a table or one sentence, and the process goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import rankscope

TABLE = pl.DataFrame(
    {
        "query_id": ["q1", "q2"] * 50,
        "doc_id": [f"d{number}" for number in range(100)],
        "score": [number / 7 for number in range(100)],
        "tag": ["t", None] * 50,
    }
)

# Run in a process of its own: an abort there is a failure here, not the end of all tests.
MUTATIONS = """
import random, sys
from pathlib import Path
from rankscope.errors import RankscopeError
from rankscope.tables.frames import ParquetFile

original = Path(sys.argv[1]).read_bytes()
chosen = random.Random(7)
for _ in range(200):
    changed = bytearray(original)
    changed[chosen.randrange(len(original))] ^= 1 << chosen.randrange(8)
    try:
        assert ParquetFile(bytes(changed), source="changed").frame().height == 100
    except RankscopeError as error:
        assert "\\n" not in str(error), error
print("done")
"""


@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed"])
def test_no_changed_bit_ends_the_process(tmp_path: Path, compression: str) -> None:
    file = tmp_path / "a.parquet"
    TABLE.write_parquet(file, compression=compression, row_group_size=50)  # type: ignore[arg-type]
    source = Path(rankscope.__file__).parents[1]
    child = subprocess.run(
        [sys.executable, "-c", MUTATIONS, str(file)],
        env={"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (child.returncode, child.stdout, child.stderr) == (0, "done\n", "")
