"""What `Scores` hold beside their means."""

from __future__ import annotations

import math
import statistics
import sys
from typing import TYPE_CHECKING

import pytest

import rankscope as rs
from rankscope.errors import InputError, UnknownNameError
from rankscope.tables.native import library

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

GOLD = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}, "q3": {"d": 3, "e": 0}}
RUN = {"q1": ["x", "b", "a"], "q2": ["c"], "q3": ["e", "d"]}
MEASURES = ["nDCG@1,2,3", "P@2", "RR", "AP"]


def test_standard_deviations_are_those_of_the_sample() -> None:
    scores = rs.evaluate(GOLD, RUN, MEASURES)
    assert scores.std["RR"] == statistics.stdev(scores.values("RR").values())
    assert scores.std["recip_rank"] == scores.std["RR"]
    two = rs.evaluate(GOLD, {"a": RUN, "b": RUN}, MEASURES)
    assert two.std["b"]["RR"] == scores.std["RR"]
    assert math.isnan(rs.evaluate({"q1": {"a": 1}}, RUN, "RR").std["RR"])


def test_means_by_cutoff() -> None:
    scores = rs.evaluate(GOLD, RUN, MEASURES)
    assert scores.at_k("nDCG") == {k: scores[f"nDCG@{k}"] for k in (1, 2, 3)}
    assert scores.at_k("ndcg") == scores.at_k("nDCG")
    assert scores.at_k("P") == {2: scores["P@2"]}
    two = rs.evaluate(GOLD, {"a": RUN, "b": RUN}, MEASURES)
    assert two.at_k("P") == dict.fromkeys("ab", scores.at_k("P"))
    for unknown in ("R", "RR", "nonsense"):
        with pytest.raises(UnknownNameError):
            scores.at_k(unknown)


def test_a_pandas_frame_has_a_row_for_each_query() -> None:
    pytest.importorskip("pandas")
    frame = rs.evaluate(GOLD, RUN, MEASURES).to_pandas()
    assert list(frame.columns) == ["nDCG@1", "nDCG@2", "nDCG@3", "P@2", "RR", "AP"]
    assert frame.loc["q2", "RR"] == 1
    two = rs.evaluate(GOLD, {"a": RUN, "b": RUN}, "RR").to_pandas()
    assert list(two.columns) == ["run", "RR"]
    assert two[two["run"] == "b"]["RR"].tolist() == frame["RR"].tolist()


def test_a_single_query_has_no_interval() -> None:
    assert rs.evaluate({"q1": {"a": 1}}, RUN, MEASURES).intervals == {}
    assert "[" not in repr(rs.evaluate({"q1": {"a": 1}}, RUN, "RR")).splitlines()[1]
    assert set(rs.evaluate(GOLD, RUN, "RR").intervals) == {"RR"}


def test_a_relevance_level_is_for_all_measures_that_count_documents() -> None:
    scores = rs.evaluate(GOLD, RUN, [*MEASURES, "R(rel=1)@2", "NumRel"], relevance_level=2)
    strict = {q: {d: int(g >= 2) for d, g in docs.items()} for q, docs in GOLD.items()}
    binary = rs.evaluate(strict, RUN, ["P@2", "RR", "AP", "NumRel"])
    for name in ("P@2", "RR", "AP", "NumRel"):
        assert scores[name] == binary[name]
        assert scores.means[name] == binary[name]
    assert scores["nDCG@3"] == rs.evaluate(GOLD, RUN, "nDCG@3")["nDCG@3"]
    assert scores["R(rel=1)@2"] == rs.evaluate(GOLD, RUN, "R@2")["R@2"]
    assert scores.accounting.without_relevant == 1
    with pytest.raises(InputError, match="highest is 3"):
        rs.evaluate(GOLD, RUN, "P@2", relevance_level=4)


def test_every_door_takes_a_relevance_level() -> None:
    level = rs.evaluate(GOLD, RUN, "RR", relevance_level=2)["RR"]
    two = {"a": RUN, "b": RUN}
    assert rs.compare(GOLD, two, ["RR"], relevance_level=2).mean("a").mean == level
    assert rs.gate(RUN, RUN, "RR", qrels=GOLD, relevance_level=2).checks[0].system_mean == level
    assert rs.bounds(GOLD, RUN, ["RR"], relevance_level=2)[0].value == level
    assert rs.explain(GOLD, RUN, "q1", "RR", relevance_level=2).value == 1 / 3
    power = rs.power(GOLD, RUN, RUN, "RR", relevance_level=2)
    assert list(power.measures) == ["RR(rel=2)"]


def test_scores_say_how_they_were_read() -> None:
    scores = rs.evaluate(GOLD, RUN, "RR")
    assert scores.reading.startswith("gold: 3 questions")
    assert scores.to_dict()["reading"] == scores.reading
    assert scores.reading in repr(scores)


def modules_called(call: Callable[[], object]) -> set[str]:
    call()  # what is loaded, and planned, once
    seen = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("rankscope."):
            seen.add(name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def test_an_evaluation_goes_through_few_modules(tmp_path: Path) -> None:
    """What a call does not ask for is not passed through."""
    gold, run = tmp_path / "gold.txt", tmp_path / "run.trec"
    rs.Qrels(GOLD).write(gold, format="trec")
    rs.Run(RUN).write(run)
    dicts = {query: {doc: 9.0 - at for at, doc in enumerate(RUN[query])} for query in RUN}
    by_dicts = modules_called(lambda: rs.evaluate(GOLD, dicts, ["nDCG@10"]))
    by_files = modules_called(lambda: rs.evaluate(gold, run, ["nDCG@10"]))
    assert len(by_dicts) <= (12 if library() is not None else 32)
    assert len(by_files) <= (25 if library() is not None else 32)
    for unused in ("judged_terms", "coverage"):
        assert f"rankscope.scoring.{unused}" not in by_dicts | by_files
    assert not any("collapsing" in name or "scale" in name for name in by_dicts | by_files)
