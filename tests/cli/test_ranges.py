"""Numbers and names beyond what can be computed with: refused, with the range."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

import rankscope as rs
from rankscope.cli.shared import LABELS
from rankscope.retrieval.protocol import check_depth
from rankscope.retrieval.registry import build_system

RUN = {"q1": {"d1": 2.0}, "q2": {"d1": 1.0}}


@pytest.mark.parametrize("grade", [2**63, -1e308, 2.0**53 + 2])
def test_grades_too_large_to_add_up(grade: float, tmp_path: Path) -> None:
    with pytest.raises(rs.InputError, match="9,007,199,254,740,992"):
        rs.evaluate({"q2": {"d0": 0, "d1": grade}}, RUN, ["nDCG@10"])
    with pytest.raises(rs.InvalidDataError) as refusal:
        rs.Qrels({"q1": {"d1": grade}})
    assert refusal.value.findings[0].code == "RS205"
    (tmp_path / "qrels.txt").write_text(f"q1 0 d0 1\nq1 0 d1 {grade}\n")
    with pytest.raises(rs.InvalidDataError, match=r"qrels\.txt:2"):
        rs.read_qrels(tmp_path / "qrels.txt")


def test_the_largest_grade_is_a_grade() -> None:
    assert rs.evaluate({"q1": {"d1": 2**53}}, RUN, ["nDCG@10"])["nDCG@10"] == 1


def test_depths_and_parameters() -> None:
    for depth in (0, 2**63, True, 1.5):
        with pytest.raises(rs.InputError, match="10,000,000"):
            check_depth(depth)
    with pytest.raises(rs.InputError, match=r"k1.* 1000"):
        build_system({"bm25": {"k1": 1e308}})


def test_labels() -> None:
    def read(text: str) -> dict[str, float]:
        return LABELS.convert(text, None, None)

    assert read("E=3, S=2,C=1,I=0") == {"E": 3.0, "S": 2.0, "C": 1.0, "I": 0.0}
    assert read("yes=0.5") == {"yes": 0.5}
    for wrong in ("E", "E=", "=3", "E=x", "", "E=1,E=2"):
        with pytest.raises(click.UsageError, match="LABEL=NUMBER"):
            read(wrong)
