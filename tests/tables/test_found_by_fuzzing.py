"""What fuzzing found, each in the smallest form in which it failed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rankscope as rs
from rankscope.benchmark.changes import read_values
from rankscope.benchmark.config.loading import read_config
from rankscope.errors import RankscopeError
from rankscope.part import FileRef, dotted
from rankscope.records.report import SystemRecord


@pytest.mark.parametrize("name", ["*", "^.*$", "^score$", "", "[0]"])
def test_a_column_whose_name_means_something_to_polars(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text(f"query_id,doc_id,score,{name}\n\nq1,d1,2,x\nq1,d2,high,x\n")
    with pytest.raises(RankscopeError, match=r"run\.csv:4.*'high'"):
        rs.read_run(path)
    path.write_text(f"query_id,doc_id,score,{name}\nq1,d1,2,x\nq1,d2,1,x\n")
    assert rs.read_run(path).to_dict() == {"q1": {"d1": 2.0, "d2": 1.0}}


@pytest.mark.parametrize("key", ["\n", "a" * 200_000])
def test_a_key_in_a_message_is_short_and_on_one_line(key: str, tmp_path: Path) -> None:
    assert len(dotted(("pairs", key))) < 100
    assert "\n" not in dotted(("pairs", key))
    (tmp_path / "c.yaml").write_text("name: x\n")
    with pytest.raises(RankscopeError) as refused:
        read_config(tmp_path / "c.yaml", settings=[f"a.{key}=1"])
    assert len(str(refused.value)) < 500
    assert "\n" not in str(refused.value)


def test_a_file_whose_name_is_too_long(tmp_path: Path) -> None:
    recorded = FileRef(path="a" * 5_000, sha256="", bytes=0)
    system = SystemRecord.model_construct(name="a", measures=(), per_query=recorded)
    with pytest.raises(RankscopeError) as refused:
        read_values(system, tmp_path)
    assert len(str(refused.value)) < 500


def test_a_column_of_lists_is_no_distance() -> None:
    frame = pl.DataFrame({"qid": ["q"], "doc_id": ["d"], "distances": [["0.5"]]})
    with pytest.raises(RankscopeError, match="expected numbers"):
        rs.Run(frame)
