"""Real runs from files, per query, against pytrec_eval (trec_eval 9.0.8)."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
import pytrec_eval

import rankscope as rs
from real import COLLECTIONS

MEASURES = [
    *("map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P", "recall"),
    *("infAP", "Rprec_mult", "utility", "11pt_avg", "binG", "G", "ndcg"),
    *("ndcg_rel", "Rndcg", "ndcg_cut", "map_cut", "relative_P", "success", "set_P"),
    *("set_relative_P", "set_recall", "set_map", "set_F", "num_ret", "num_rel", "num_rel_ret"),
    *("num_nonrel_judged_ret",),
]
"""All that pytrec_eval gives by query, but the texts."""

ROBUST = ["aplrob03a", "pircRBa1", "uic0301"]


def lines(path: Path) -> io.StringIO:
    data = path.read_bytes()
    return io.StringIO((gzip.decompress(data) if path.suffix == ".gz" else data).decode())


def collection(name: str) -> Path:
    folder = COLLECTIONS / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    return folder


def check(qrels_file: Path, run_file: Path) -> None:
    qrels = pytrec_eval.parse_qrel(lines(qrels_file))
    run = pytrec_eval.parse_run(lines(run_file))
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES)).evaluate(run)
    names = sorted({name for values in theirs.values() for name in values} - {"runid", "num_q"})
    names = [name for name in names if not name.startswith(("gm_", "relstring"))]
    ours = rs.evaluate(qrels_file, run_file, names, profile="trec_eval-9")
    assert set(ours.run().query_ids) == set(theirs)
    assert len(names) == 90
    for name in names:
        expected = {query: values[name] for query, values in theirs.items()}
        assert ours.values(name) == pytest.approx(expected, abs=1e-9), name
    from_dicts = rs.evaluate(qrels, run, names, profile="trec_eval-9")
    assert from_dicts.means == pytest.approx(ours.means, abs=1e-12)


@pytest.mark.parametrize("name", ROBUST)
def test_robust_2003(name: str) -> None:
    folder = collection("robust03")
    check(folder / "qrels.txt.gz", folder / f"{name}.run.gz")


@pytest.mark.parametrize("qrels", ["qrels.test", "qrels.rel_level"])
def test_files_of_trec_eval(qrels: str) -> None:
    folder = collection("trec_eval")
    check(folder / qrels, folder / "results.test")


def test_fusion_beats_both_official_runs() -> None:
    """TREC 2003 Robust, average precision: the two runs have .3101 and .2998."""
    folder = collection("robust03")
    runs = [rs.read_run(folder / f"{name}.run.gz") for name in ("pircRBa1", "aplrob03a")]
    qrels = rs.read_qrels(folder / "qrels.txt.gz")
    scored = {"first": runs[0], "second": runs[1], "fused": rs.fuse(runs)}
    ap = rs.evaluate(qrels, scored, ["AP"])["AP"]
    assert ap["first"] == pytest.approx(0.3101, abs=5e-5)
    assert ap["fused"] > ap["first"] > ap["second"]
    assert ap["fused"] == pytest.approx(0.3265, abs=5e-5)
