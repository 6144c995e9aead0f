"""Every measure under every profile, by query; measures of spans; what `trec-eval` prints."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import rankscope as rs
from frozen.paired_worlds import QRELS, RUNS
from frozen.subjects import subject
from measures.variants import EXAMPLES, VARIANTS
from rankscope.cli.app import app
from rankscope.scoring.rules import PROFILES
from real import COLLECTIONS

DEFAULT = "rankscope"


def under_profiles(qrels: Any, run: Any, measures: list[str], **options: Any) -> dict[str, Any]:
    """Return values under our own rules, and under each profile those that differ from these."""
    found = {DEFAULT: scored(qrels, run, measures, DEFAULT, **options)}
    for profile in PROFILES:
        if profile != DEFAULT:
            theirs = scored(qrels, run, measures, profile, **options)
            found[profile] = {
                measure: value
                for measure, value in theirs.items()
                if value != found[DEFAULT].get(measure) or measure == "queries"
            }
    return found


def scored(
    qrels: Any, run: Any, measures: list[str], profile: str, **options: Any
) -> dict[str, Any]:
    """Return the query ids, and each measure's values in their order, followed by the mean."""
    found: dict[str, Any] = {"queries": []}
    for group in (measures, *([measure] for measure in measures)):
        try:
            scores = rs.evaluate(qrels, run, group, profile=profile, **options)
        except rs.RankscopeError as error:
            found[group[0]] = f"refused: {type(error).__name__}"
            continue
        if len(scores.measures) != len(group):
            continue  # two of them mean the same under this profile: one at a time
        columns = {
            name[0]: frame.sort("query_id")
            for name, frame in scores.per_query.partition_by("measure", as_dict=True).items()
        }
        for text, name in zip(group, scores.measures, strict=True):
            found["queries"] = columns[name]["query_id"].to_list()
            found[text] = [*columns[name]["value"].to_list(), scores.means[name]]
        if len(group) == len(measures):
            break
    refusals = {value for measure, value in found.items() if isinstance(value, str)}
    return found if found["queries"] else {"queries": [], "all": sorted(refusals)}


SEEDS = "hit@5 MRR@10 P@5 R@50 R@100 nDCG@10 AP@100 Success@5 nDCG(gain=exp)@10"


@subject
def measures_bundled() -> dict[str, Any]:
    """Every measure on the bundled collection: our rules, and where those of other tools differ.

    Oracles: trec_eval 9 through pytrec_eval, ir_measures, and NIST's own program
    (cli/test_trec_eval.py, measures/test_oracles.py, scoring/test_rules.py).
    """
    usual = [str(rs.Measure.parse(text)) for text in SEEDS.split()]
    examples = [str(measure) for measure in EXAMPLES if not measure.needs]
    measures = list(dict.fromkeys([*usual, *examples]))
    qrels = rs.read_qrels(QRELS)
    return {name: under_profiles(qrels, rs.read_run(path), measures) for name, path in RUNS.items()}


GRADES: dict[str, dict[str, float]] = {
    "ties": {"a": 3, "b": 0, "c": 1, "d": 2, "e": 1},
    "nearly": {"a": 1, "b": 2, "c": 0, "z": 3},
    "negative": {"a": -2, "b": -1, "c": 1, "d": 0, "e": 3},
    "fractions": {"a": 0.5, "b": 1.5, "c": 2.25, "d": 0},
    "itself": {"itself": 1, "b": 1, "c": 0},
    "nothing": {"a": 0, "b": 0},
    "missed": {"x": 1, "y": 2, "z": 3},
    "missing": {"a": 1, "b": 2},
    "short": {"a": 2, "b": 1, "c": 1, "d": 0},
    "long": {f"{number:03}": number % 4 for number in range(0, 60, 3)},
}
RUN = {
    "ties": {"e": 1.0, "d": 1.0, "c": 1.0, "b": 1.0, "a": 1.0, "f": 0.5, "g": 0.5},
    "nearly": {"a": 20000001.0, "b": 20000000.0, "c": 20000002.0, "u": 1.0, "z": 0.5},
    "negative": {"a": 5.0, "e": 4.0, "b": 3.0, "c": -3.0, "d": -7.0, "u": 0.0},
    "fractions": {"d": 4.0, "a": 3.0, "u": 2.5, "c": 2.0, "b": 1.0},
    "itself": {"itself": 9.0, "c": 8.0, "b": 7.0, "u": 6.0},
    "nothing": {"b": 2.0, "a": 1.0, "u": 0.0},
    "missed": {"a": 3.0, "b": 2.0, "c": 1.0},
    "short": {"a": 1.0},
    "long": {f"{number:03}": 1.0 / (1 + number * 7 % 83) for number in range(80)},
    "unjudged": {"a": 1.0, "b": 0.5},
}
ASPECTS = {
    "one": {"a": {"1": 1, "2": 1}, "b": {"1": 1}, "c": {"3": 1}, "d": {"2": 0}},
    "two": {"a": {"1": 0}, "b": {"2": 1}, "e": {"1": 1, "2": 1, "3": 1}},
    "none": {"a": {"1": 0}, "b": {"2": 0}},
}
RANKED = {
    "one": {"b": 4.0, "u": 3.0, "a": 2.0, "c": 2.0, "d": 1.0},
    "two": {"a": 3.0, "b": 2.0, "v": 1.5, "e": 1.0},
    "none": {"a": 1.0, "b": 0.5},
}


@subject
def measures_hostile() -> dict[str, Any]:
    """Every parameter of every measure, on a run that makes them stumble.

    Ties (also in single precision only), negative and fractional grades, a document with its
    query's own id, no relevant document, a query the run lacks, one that nobody judged. Oracles:
    the naive twins (measures/test_twins.py) and other tools (measures/test_oracles.py).
    """
    plain = [str(measure) for measure in VARIANTS if measure.needs != "subtopics"]
    whole = {q: {d: int(g) for d, g in grades.items()} for q, grades in GRADES.items()}
    answered = {query: RUN[query] for query in GRADES if query in RUN}
    judged = {query: GRADES[query] for query in answered}
    by_aspect = [str(measure) for measure in VARIANTS if measure.needs == "subtopics"]
    return {
        "any grades": under_profiles(GRADES, RUN, plain),
        "each query judged and answered": under_profiles(judged, answered, plain),
        "whole grades, by id": {
            "id-asc": under_profiles(whole, RUN, ["nDCG@5", "AP", "RR"], ties="id-asc")[
                "rankscope"
            ],
            "given": under_profiles(whole, RUN, ["nDCG@5", "AP", "RR"], ties="given")["rankscope"],
        },
        "aspects": under_profiles(ASPECTS, RANKED, by_aspect)["rankscope"],
    }


OFFICIAL = [
    *("AP", "P@5", "P@10", "P@30", "R@100", "R@1000", "nDCG", "nDCG@10", "nDCG(gain=exp)@20", "RR"),
    *("Rprec", "Bpref", "infAP", "GMAP", "11pt", "IPrec(recall=0.2)", "Success@10", "ERR@20"),
    *("RBP(p=0.8)", "Q", "SetF", "NumRelRet", "Judged@10", "INST", "AP@100"),
]


@subject
def measures_robust03() -> dict[str, Any]:
    """Eight official runs of the TREC 2003 robust track: means by two profiles, AP by topic.

    Oracle: trec_eval 9 through pytrec_eval (scoring/test_on_collections.py).
    """
    folder = COLLECTIONS / "robust03"
    if not folder.is_dir():
        raise FileNotFoundError("the runs of robust03 are not here")
    qrels = rs.read_qrels(folder / "qrels.txt.gz")
    found = {}
    for path in sorted(folder.glob("*.run.gz")):
        ours = rs.evaluate(qrels, path, OFFICIAL)
        nist = rs.evaluate(qrels, path, OFFICIAL, profile="trec_eval-9")
        ap = ours.values("AP")
        found[path.name.removesuffix(".run.gz")] = {
            "means": [ours.means[measure] for measure in ours.measures],
            "means as trec_eval-9": [nist.means[measure] for measure in nist.measures],
            "AP": [ap[query] for query in sorted(ap)],
        }
    return {"measures": OFFICIAL, "runs": found}


OF_SPANS = [
    *("SpanRecall", "SpanPrecision@2", "SpanIoU", "SpanRecall@1", "R@3", "P@3", "RR", "AP"),
    *("nDCG@3", "Success@2", "Q", "ERR@5", "RBP"),
]


def _piece(document: str, start: int, end: int) -> dict[str, Any]:
    return {"doc": document, "start": start, "end": end}


GOLD: list[dict[str, Any]] = [
    {"question": "one", "spans": [_piece("a", 0, 10), _piece("b", 5, 30)]},
    {"question": "two", "spans": [_piece("a", 8, 20), _piece("a", 15, 40)]},
    {"question": "three", "spans": [_piece("c", 0, 5)]},
]
RETRIEVED = [
    {"question": "one", "chunks": [_piece("b", 0, 12), _piece("a", 4, 20), _piece("b", 12, 40)]},
    {"question": "two", "chunks": [_piece("a", 30, 50), _piece("a", 0, 31), _piece("c", 0, 5)]},
    {"question": "three", "chunks": [_piece("c", 4, 9)]},
]


@subject
def spans() -> dict[str, Any]:
    """Measures where gold is spans; oracle: sets of characters (scoring/test_spans.py)."""
    found = {}
    for overlap in (0.1, 0.5, 1.0):
        scores = rs.evaluate(GOLD, RETRIEVED, OF_SPANS, overlap=overlap)
        found[f"overlap {overlap}"] = {
            measure: [scores.values(measure)[q["question"]] for q in GOLD] for measure in OF_SPANS
        }
    return found


MODES = [
    *(
        "",
        "-q",
        "-n -q",
        "-c -q",
        "-M 10 -q",
        "-l 2 -q",
        "-J -q",
        "-N 200 -m utility.1,-1,0,0.1 -q",
    ),
    *("-m all_trec", "-m all_trec -q -c -l 3", "-m official -q", "-m set -q", "-m relstring.20 -q"),
    "-q -m iprec_at_recall..10,.20,.75 -m P.5,7,3 -m Rprec_mult.5.0,0.2 -m ndcg.1=3,2=9,3=4.5",
    "-q -m ndcg_cut.10,20 -m success.2,5 -m 11pt_avg..25,.5,.75 -m utility.2,-1,0,0 -m infAP",
    *("-m rbp.p=0.5 -q", "-m prefs_simp -R qrels_prefs -q", "-m unj -m dcg -q"),
]


@subject
def trec_eval() -> dict[str, Any]:
    """What each mode prints for the bundled runs, as a SHA-256 of all its bytes.

    What it prints for small inputs is compared with NIST's program (cli/test_trec_eval.py).
    """
    with tempfile.TemporaryDirectory() as folder:
        qrels = Path(folder) / "qrels.trec"
        rs.convert(QRELS, qrels)
        return {
            name: {
                mode.strip(): _digest(mode.split(), qrels, path)
                for mode in [*MODES, *(f"--9 {mode}" for mode in MODES)]
            }
            for name, path in RUNS.items()
        }


def _digest(options: list[str], qrels: Path, run: Path) -> str:
    done = CliRunner().invoke(app, ["trec-eval", *options, str(qrels), str(run)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"refused: {type(done.exception).__name__}"
    return hashlib.sha256(done.stdout_bytes).hexdigest()
