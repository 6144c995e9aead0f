"""``rankscope trec-eval`` prints what trec_eval prints, byte for byte."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytrec_eval

from real import COLLECTIONS

NIST = COLLECTIONS / "trec_eval"
PARAMETERS = (
    "-q -m iprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 "
    "-m Rprec_mult.5.0,0.2,0.35 -m utility.2,-1,0,0 -m 11pt_avg..25,.5,.75 "
    "-m ndcg.1=3,2=9,4=4.5 -m ndcg_cut.10,20,23.4 -m success.2,5,20"
)

Rankscope = Callable[..., Any]


@pytest.mark.parametrize(
    ("expected", "options", "qrels", "results"),
    [
        ("out.test", "", "qrels.test", "results.test"),
        ("out.test", "", "qrels.test.with-comments", "results.test"),
        ("out.comment.test", "", "qrels.comment.test", "results.comment.test"),
        ("out.test.a", "-m all_trec", "qrels.test", "results.test"),
        ("out.test.aq", "-m all_trec -q", "qrels.test", "results.test"),
        ("out.test.aqc", "-m all_trec -q -c", "qrels.test", "results.trunc"),
        ("out.test.aqcM", "-m all_trec -q -c -M100", "qrels.test", "results.trunc"),
        ("out.test.aql", "-m all_trec -m relstring.20 -q -l2", "qrels.rel_level", "results.test"),
        ("out.test.meas_params", PARAMETERS, "qrels.test", "results.test"),
        ("out.test.aqZ", f"-q -m all_trec -Z {NIST}/zscores_file", "qrels.test", "results.test"),
    ],
)
def test_nist_files(
    rankscope: Rankscope, expected: str, options: str, qrels: str, results: str
) -> None:
    if not NIST.is_dir():
        pytest.skip(f"{NIST} is not here")
    done = rankscope("trec-eval", *shlex.split(options), f"{NIST}/{qrels}", f"{NIST}/{results}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (NIST / expected).read_text()


# --- what NIST's program printed for inputs of our own (tests/data/golden/SOURCE.md) -------------

GOLDEN = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data/golden/trec_eval.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("version", [10, 9])
@pytest.mark.parametrize("case", range(1, len(GOLDEN) + 1))
def test_golden_outputs(rankscope: Rankscope, tmp_path: Path, case: int, version: int) -> None:
    golden = GOLDEN[case - 1]
    (tmp_path / "qrels").write_text(golden["qrels"])
    (tmp_path / "run").write_text(golden["run"])
    flags = ["--9"] if version == 9 else []
    done = rankscope("trec-eval", *flags, *golden["options"], "qrels", "run")
    expected = golden[f"v{version}"]
    assert (done.returncode == 0, done.stdout) == (expected["exit"] == 0, expected["stdout"])


# --- our own files -------------------------------------------------------------------------------

MEASURES = [
    *("map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P", "recall", "infAP", "binG"),
    *("11pt_avg", "ndcg", "ndcg_cut", "map_cut", "success", "set_P", "set_F", "num_ret", "num_rel"),
    *("num_rel_ret", "Rndcg", "ndcg_rel", "G", "utility", "relative_P"),
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Write a made-up collection with ties, float32 ties, negative grades and comments."""
    random = Random(11)
    docs = [f"DOC-{n}" for n in range(60)]
    queries = [f"{n}" for n in (301, 9, 10, 45)]
    qrels = {
        q: {d: random.choice([-1, 0, 0, 0, 1, 1, 2]) for d in random.sample(docs, 30)}
        for q in queries
    }
    run = {
        q: {
            d: random.choice([0.5, 1.25, 20000000, 20000001, -3.0]) for d in random.sample(docs, 40)
        }
        for q in queries
    }
    (tmp_path / "qrels").write_text(
        "".join(f"{q}\t0  {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items())
    )
    lines = [f"{q} Q0 {d} 0 {s!r} made-up\n" for q, docs in run.items() for d, s in docs.items()]
    random.shuffle(lines)
    (tmp_path / "run").write_text("".join(lines))
    return qrels, run


def options(*measures: str) -> list[str]:
    return [part for measure in measures for part in ("-m", measure)]


def shown(name: str, query: str, value: float) -> str:
    number = f"{value:.0f}" if name.startswith("num_") else f"{value:6.4f}"
    return f"{name:<22}\t{query}\t{number}"


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("judged_only", [False, True])
def test_version_9_prints_what_pytrec_eval_computes(
    rankscope: Rankscope, files: Any, level: int, judged_only: bool
) -> None:
    qrels, run = files
    oracle = pytrec_eval.RelevanceEvaluator(
        qrels, set(MEASURES), relevance_level=level, judged_docs_only_flag=judged_only
    )
    expected = oracle.evaluate(run)
    flags = ["-J"] if judged_only else []
    done = rankscope("trec-eval", "--9", "-q", "-n", f"-l{level}", *flags, *options(*MEASURES),
                     "qrels", "run")  # fmt: skip
    lines = done.stdout.splitlines()
    assert set(lines) == {
        shown(name, query, value) for query in run for name, value in expected[query].items()
    }
    queries = [line.split("\t")[1] for line in lines]
    assert list(dict.fromkeys(queries)) == ["10", "301", "45", "9"]  # by bytes, together


def test_the_summary_is_the_mean_over_queries(rankscope: Rankscope, files: Any) -> None:
    qrels, run = files
    expected = pytrec_eval.RelevanceEvaluator(qrels, {"map", "num_rel_ret"}).evaluate(run).values()
    done = rankscope(
        "trec-eval", "--9", *options("num_rel_ret", "runid", "map", "num_q"), "qrels", "run"
    )
    assert done.stdout.splitlines() == [
        "runid                 \tall\tmade-up",
        "num_q                 \tall\t4",
        shown("num_rel_ret", "all", sum(values["num_rel_ret"] for values in expected)),
        shown("map", "all", sum(values["map"] for values in expected) / 4),
    ]


def test_the_depth_cuts_after_sorting(rankscope: Rankscope, files: Any) -> None:
    qrels, run = files
    ranked = {
        q: sorted(docs, key=lambda doc: (docs[doc], doc.encode()), reverse=True)
        for q, docs in run.items()
    }
    found = sum(qrels[q].get(doc, 0) >= 1 for q, docs in ranked.items() for doc in docs[:7])
    done = rankscope("trec-eval", "-M", "7", *options("num_ret", "num_rel_ret"), "qrels", "run")
    assert done.stdout.splitlines() == [
        "num_ret               \tall\t28",
        f"num_rel_ret           \tall\t{found}",
    ]


def test_the_default_is_the_official_list(rankscope: Rankscope, files: Any) -> None:  # noqa: ARG001
    names = [
        line.split("\t")[0].strip()
        for line in rankscope("trec-eval", "qrels", "run").stdout.splitlines()
    ]
    assert names[:9] == [
        *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"),
    ]
    assert names[-1] == "P_1000"
    assert len(names) == 30


# --- every option, on one small collection; expected: what trec_eval 9.0.8 prints ----------------

SMALL_QRELS = "q1 0 a 1\nq1 0 b 0\nq1 0 c 2\nq2 0 a 3\nq2 0 d -1\nq3 0 e 1\n"
SMALL_RUN = (
    "q1 Q0 a 1 3 first\nq1 Q0 x 2 2 first\nq1 Q0 c 3 1 first\n"
    "q2 Q0 d 1 2 other\nq2 Q0 a 2 1 last\n\n# a comment\n"
)
SMALL_ZSCORES = (
    "q1 map 0.5 0.25\nq1 gm_map -1 0.5\nq2 map 0.5 0.5\nq2 gm_map -2 2\n"
    "q1 num_rel 1 1\nq2 num_rel 1 1\n"
)


@pytest.fixture
def small(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(SMALL_QRELS)
    (tmp_path / "run").write_text(SMALL_RUN)
    (tmp_path / "zscores").write_text(SMALL_ZSCORES)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-m runid", ["runid all last"]),  # the last line's
        ("-m num_q.3 -m map.5", ["num_q all 2", "map all 0.6667"]),  # parameters nobody reads
        ("-m utility.1,-1,0,0.5 -N 10", ["utility_1,-1,0,0.5 all 4.2500"]),
        ("-N10 -m utility", ["utility all 0.5000"]),
        ("-M0 -m num_ret -m num_rel -m map", ["num_ret all 0", "num_rel all 3", "map all 0.0000"]),
        ("-c -l2 -m num_rel -m num_q", ["num_q all 3", "num_rel all 4"]),
        ("-l2 -m num_rel", ["num_rel all 2"]),
        ("-Z zscores -m map -m gm_map", ["Zmap all 0.6667", "Zgm_map all 3.1405"]),
        ("-c -Z zscores -m num_rel", ["Znum_rel all 4.0000"]),
        ("-qn -m relstring.2x", ["relstring_2x q1 '1-'", "relstring_2x q2 '.3'"]),
        ("-qcM1 -m map", ["map q1 0.5000", "map q2 0.0000", "map all 0.1667"]),
        ("-m set_F.4", ["set_F_4 all 0.8712"]),
        ("-o --measure map --nosummary -q -J", ["map q1 1.0000", "map q2 1.0000"]),
        ("-m P.2 -m P.1", ["P_2 all 0.5000"]),  # the first parameters count
        ("-m P -m P.1", ["P_1 all 0.5000"]),
        ("--Max_retrieved_per_topic 1 -m recip_rank", ["recip_rank all 0.5000"]),
    ],
)
def test_options(rankscope: Rankscope, options: str, expected: list[str]) -> None:
    # -c and version 10 would add a row for the third query
    done = rankscope("trec-eval", "--9", *shlex.split(options), "qrels", "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert [" ".join(line.split()) for line in done.stdout.splitlines()] == expected
    after = rankscope("trec-eval", "qrels", "run", "--9", *shlex.split(options))
    assert after.stdout == done.stdout


@pytest.mark.usefixtures("small")
def test_lists_of_each_version(rankscope: Rankscope) -> None:
    nine = rankscope("trec-eval", "--9", "-m", "all_trec", "qrels", "run").stdout.splitlines()
    ten = rankscope("trec-eval", "-c", "-m", "all_trec", "qrels", "run").stdout.splitlines()
    roots = {line.split("\t")[0].strip() for line in nine}
    assert len(nine) == len(roots) == 94
    assert [line.split("\t")[0].strip() for line in ten[len(nine) :]] == [
        *("rbp", "rbp_resid", "unj_5", "unj_10", "unj_20"),
    ]
    sets = rankscope("trec-eval", "--9", "-m", "set", "qrels", "run").stdout.splitlines()
    assert sets[0] == "runid                 \tall\tlast"
    assert len(sets) == 11


@pytest.mark.usefixtures("small")
def test_results_from_standard_input_and_the_version(rankscope: Rankscope) -> None:
    done = rankscope("trec-eval", "-c", "-m", "map", "qrels", "-", given=SMALL_RUN)
    assert done.stdout == shown("map", "all", (5 / 6 + 1 / 2) / 3) + "\n"
    for option in ("-v", "--version"):
        version = rankscope("trec-eval", option)
        assert (version.returncode, version.stdout) == (0, "")
        assert version.stderr.startswith("trec_eval version 10.0")
    assert rankscope("trec-eval", "-h").returncode == 0


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("reason", "arguments"),
    [
        ("version 9 has no dcg; leave out --9", ["--9", "-m", "dcg"]),
        ("version 9 has no rbp; leave out --9", ["--9", "-m", "rbp"]),
        ("write P.5, not P_5", ["-m", "P_5"]),
        ("expected each parameter of P once, got '5,5'", ["-m", "P.5,5"]),
        ("expected each parameter of recall once, got '3,3.7'", ["-m", "recall.3,3.7"]),
        ("expected parameters after the dot of 'P.'", ["-m", "P."]),
        ("the cutoff must be a whole number between 1", ["-m", "P.0"]),
        ("-D 2 is not supported", ["-D", "2"]),
    ],
)
def test_what_it_refuses(rankscope: Rankscope, reason: str, arguments: list[str]) -> None:
    done = rankscope("trec-eval", *arguments, "qrels", "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr


@pytest.mark.parametrize("grade", ["1e19", "99999999999999999999", "-1e300"])
def test_a_grade_that_is_too_large(rankscope: Rankscope, tmp_path: Path, grade: str) -> None:
    missing_query(tmp_path)
    (tmp_path / "qrels").write_text(f"q1 0 a {grade}\n")
    done = rankscope("trec-eval", "qrels", "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert "qrels:1, query 'q1', document 'a': the grade is" in done.stderr


def missing_query(folder: Path) -> None:
    (folder / "qrels").write_text("q1 0 a 1\nq2 0 a 1\n")
    (folder / "run").write_text("q1 Q0 a 1 1.0 r\n")


def test_missing_queries(rankscope: Rankscope, tmp_path: Path) -> None:
    missing_query(tmp_path)
    ten = rankscope("trec-eval", "-m", "map", "qrels", "run")
    assert (ten.returncode, ten.stdout) == (2, "")
    assert "1 judged query is missing from the results, 'q2' first" in ten.stderr
    for arguments, value in ((["--9"], 1.0), (["--9", "-c"], 0.5), (["-c"], 0.5)):
        done = rankscope("trec-eval", *arguments, "-m", "map", "qrels", "run")
        assert done.stdout == shown("map", "all", value) + "\n", arguments
    done = rankscope("trec-eval", "-c", "-q", "-m", "map", "qrels", "run")
    assert [line.split("\t")[1] for line in done.stdout.splitlines()] == ["q1", "q2", "all"]


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("unknown trec_eval measure 'mapp'; nearest: map", ["-m", "mapp", "qrels", "run"]),
        ("all_prefs needs -R prefs", ["-m", "all_prefs", "qrels", "run"]),
        ("prefs_simp needs -R prefs", ["-m", "prefs_simp", "qrels", "run"]),
        ("unknown measure for -R prefs 'official'", ["-R", "prefs", "qrels", "run"]),
        ("'nugget' is not one of 'qrels'", ["-R", "nugget", "qrels", "run"]),
        ("'zip' is not 'trec_results'", ["-T", "zip", "qrels", "run"]),
        ("hold none of the judged queries", ["--9", "qrels", "other"]),
        ("nowhere", ["nowhere", "run"]),
        ("Missing argument", ["qrels"]),
        ("zscores:1: expected a query, a measure, a mean", ["-Z", "zscores", "qrels", "run"]),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(
    rankscope: Rankscope, tmp_path: Path, said: str, arguments: list[str]
) -> None:
    missing_query(tmp_path)
    (tmp_path / "other").write_text("q7 Q0 a 1 1.0 r\n")
    (tmp_path / "zscores").write_text("q1 map 0.5\n")
    done = rankscope("trec-eval", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
