"""Numbers and names beyond what can be computed with: refused, with the range."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankscope as rs
from conftest import Rankscope
from rankscope.retrieval.protocol import check_depth
from rankscope.retrieval.registry import build_system

RUN = {"q1": {"d1": 2.0}, "q2": {"d1": 1.0}}


@pytest.mark.parametrize("grade", [2**63, 1e308, -1e308, 2.0**53 + 2])
def test_grades_too_large_to_add_up(grade: float, tmp_path: Path) -> None:
    with pytest.raises(rs.InputError, match="9,007,199,254,740,992"):
        rs.evaluate({"q2": {"d0": 0, "d1": grade}}, RUN, ["nDCG@10"])
    with pytest.raises(rs.InvalidDataError, match="grade") as refusal:
        rs.Qrels({"q1": {"d1": grade}})
    assert refusal.value.findings[0].code == "RS209"
    (tmp_path / "qrels.txt").write_text(f"q1 0 d0 1\nq1 0 d1 {grade}\n")
    with pytest.raises(rs.InvalidDataError, match=r"qrels\.txt:2"):
        rs.read_qrels(tmp_path / "qrels.txt")


def test_the_largest_grade_is_a_grade() -> None:
    assert rs.Qrels({"q1": {"d1": 2**53, "d2": -(2**53)}}).to_dict()["q1"]["d1"] == 2**53
    assert rs.evaluate({"q1": {"d1": 2**53}}, RUN, ["nDCG@10"])["nDCG@10"] == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"alpha": 1e-17}, "alpha must be .* at least 1e-09 away from both, not 1e-17"),
        ({"alpha": 1 - 1e-16}, "alpha must be .* at least 1e-09 away from both"),
        ({"level": 1 - 1e-16}, "level must be .* at least 1e-09 away from both"),
        ({"resamples": 10**12}, "resamples must be a whole number from 100 to 100,000,000"),
    ],
)
def test_settings_of_tests(options: dict[str, float], problem: str) -> None:
    qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    with pytest.raises(rs.InputError, match=problem):
        rs.compare(qrels, {"a": RUN, "b": RUN}, ["RR@10"], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("depth", [0, 2**63, True, 1.5])
def test_depth(depth: float) -> None:
    with pytest.raises(rs.InputError, match="depth must be a whole number from 1 to 10,000,000"):
        check_depth(depth)


def test_bm25() -> None:
    with pytest.raises(rs.InputError, match=r"k1.* 1000"):
        build_system({"bm25": {"k1": 1e308}})


@pytest.mark.parametrize(
    "command",
    [
        ["runs", "validate", "a.run", "--output", ""],
        ["evaluate", "qrels", "a.run", "-o", ""],
        ["runs", "fuse", "a.run", "a.run", "-o", ""],
        ["demo", "--output", " "],
        ["benchmark", "run", "a.yaml", "--output", ""],
    ],
    ids=lambda command: command[0],
)
def test_an_empty_name_to_write_to(
    command: list[str], rankscope: Rankscope, tmp_path: Path
) -> None:
    for name in ("a.run", "qrels", "a.yaml"):
        (tmp_path / name).touch()
    done = rankscope(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the name is empty; name where to write" in done.stderr


def test_convert_to_an_empty_name(rankscope: Rankscope, tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 1.0 tag\n")
    done = rankscope("convert", "a.run", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert "empty" in done.stderr


def test_depth_of_a_validation(rankscope: Rankscope) -> None:
    done = rankscope("runs", "validate", "a.run", "--depth", str(2**63))
    assert done.returncode == 2
    assert "1<=x<=10000000" in done.stderr
