"""Report lint: each pitfall planted alone is found alone, and a good report yields nothing."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.diagnosis.report_lint import LINT, Lint
from rankscope.document.blocks import Table
from real import COLLECTIONS

QUERIES = 100


def world(queries: int = QUERIES, documents: int = 400, seed: int = 0) -> tuple[Any, Any]:
    """Make qrels with one target a query, and two systems of which the second is much better."""
    random = np.random.default_rng(seed)
    names = [f"d{n}" for n in range(documents)]
    qrels, runs = {}, {"weak": {}, "strong": {}}  # type: ignore[var-annotated]
    for n in range(queries):
        order = random.permutation(documents)
        target = names[order[0]]
        qrels[f"q{n}"] = {target: 1}
        for name, best in (("weak", 12), ("strong", 3)):
            ranking = [names[at] for at in random.permutation(order[1:])[:20]]
            ranking.insert(int(random.integers(0, best)), target)
            runs[name][f"q{n}"] = ranking
    return qrels, runs


QRELS, RUNS = world()
ASKED = {query_id: {"text": f"what is {query_id}", "kind": "fact"} for query_id in QRELS}
MEASURES = ["RR@10", "R@1", "R@5"]


def look(qrels: Any, runs: Any, measures: Any = MEASURES, **given: Any) -> Lint:
    diagnosis = rs.diagnose(qrels, runs, measures, only="lint", **{"queries": ASKED} | given)
    answer = getattr(diagnosis.analyses, "lint")  # noqa: B009
    assert isinstance(answer, Lint)
    json.dumps(answer.to_dict(), allow_nan=False)
    [table] = LINT.section(answer).all_blocks
    assert isinstance(table, Table)
    assert len(table.rows) == len(answer.answers) == 5
    signs = [str(row[0].value)[0] for row in table.rows]
    assert signs.count("!") == len(answer.findings)
    return answer


def codes(result: Lint) -> list[str]:
    return [finding.code for finding in result.findings]


def text(result: Lint, question: str) -> str:
    return next(answer.text for answer in result.answers if answer.question == question)


def test_a_good_report_yields_nothing() -> None:
    result = look(QRELS, RUNS)
    assert result.findings == ()
    assert result.advice == ()
    assert all(answer.good for answer in result.answers)
    assert text(result, "several cutoffs") == "measured in the first 1, 5 and 10 documents"
    assert text(result, "segments") == "queries can be grouped by kind and words (segments)"
    assert "show that strong is better than weak by RR@10" in text(result, "enough queries")
    corpus = {f"d{n}": "words" for n in range(400)}
    result = look(QRELS, RUNS, corpus=corpus)
    assert result.findings == ()
    assert text(result, "the same collection").endswith("their documents on top are in the corpus")


# --- cutoffs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        (["R@1"], "R@1 is the only measure"),
        (["RR"], "RR is the only measure"),
        (["R@5", "RR@5", "nDCG@5"], "all 3 measures look at the first 5 documents"),
        (["AP", "RR"], "all 2 measures look at all documents"),
    ],
)
def test_one_cutoff_only(measures: list[str], said: str) -> None:
    result = look(QRELS, RUNS, measures)
    assert codes(result) == ["RS665"]
    assert text(result, "several cutoffs") == said
    assert result.findings[0].severity == "note"


def test_a_measure_of_all_documents_is_another_depth() -> None:
    result = look(QRELS, RUNS, ["R@1", "RR"])
    assert text(result, "several cutoffs") == "measured in the first 1 and all documents"


# --- baseline ------------------------------------------------------------------------------------


def test_one_system_only() -> None:
    qrels, runs = world(400)
    asked = dict.fromkeys(qrels, "words")
    result = look(qrels, {"strong": runs["strong"]}, queries=asked)
    assert codes(result) == ["RS666"]
    assert "±0.0" in text(result, "enough queries")
    assert text(result, "the same collection") == "one system: nothing is compared"


def test_with_a_corpus_plain_search_is_the_baseline() -> None:
    qrels, runs = world(400)
    corpus = {f"d{n}": "words" for n in range(400)}
    asked = dict.fromkeys(qrels, "words")
    result = look(qrels, {"strong": runs["strong"]}, corpus=corpus, queries=asked)
    assert codes(result) == []
    assert text(result, "a baseline") == "plain BM25 over the corpus is beside strong"


# --- segments ------------------------------------------------------------------------------------


def test_nothing_is_known_of_the_queries() -> None:
    result = look(QRELS, RUNS, queries=None)
    assert codes(result) == ["RS667"]
    assert result.findings[0].count == QUERIES


# --- enough queries ------------------------------------------------------------------------------


def nearly(runs: Any, seed: int = 1) -> dict[str, Any]:
    """Make a system as good as another on average: documents of some queries change places."""
    random = np.random.default_rng(seed)
    changed = {}
    for query_id, ranking in runs["strong"].items():
        moved = list(ranking)
        if random.random() < 0.5:
            moved[0], moved[1] = moved[1], moved[0]
        changed[query_id] = moved
    return {"strong": runs["strong"], "like": changed}


def test_too_few_queries_for_the_difference() -> None:
    qrels, runs = world(30)
    asked = dict.fromkeys(qrels, "words")
    result = look(qrels, nearly(runs), queries=asked)
    [finding] = result.findings
    assert (finding.code, finding.severity) == ("RS668", "warning")
    assert "30 queries do not show that" in finding.message
    claim = result.needed
    assert claim is not None
    assert claim.detectable is not None
    assert claim.difference < claim.detectable
    assert claim.detectable > 0.05
    assert claim.needed is not None
    assert claim.needed > 30
    [advice] = result.advice
    assert advice.text == f"Queries: {finding.message}"
    assert advice.gain == claim.difference


def test_enough_queries_for_what_matters_are_a_note() -> None:
    qrels, runs = world(600)
    asked = dict.fromkeys(qrels, "words")
    result = look(qrels, nearly(runs), queries=asked)
    [finding] = result.findings
    assert (finding.code, finding.severity) == ("RS668", "note")
    assert result.needed is not None
    assert result.needed.detectable is not None
    assert result.needed.detectable <= 0.05
    assert result.advice == ()
    strict = look(qrels, nearly(runs), queries=asked, configs={"lint": {"difference": 0.001}})
    assert strict.findings[0].severity == "warning"


def test_nearly_the_same_runs_need_no_more_queries() -> None:
    """One query of 30 has its target one rank lower: nothing to gain by more queries."""
    qrels = {f"q{n}": {"a": 1} for n in range(30)}
    first = {query_id: ["a", "b"] for query_id in qrels}
    result = look(qrels, {"a": first, "b": {**first, "q3": ["b", "a"]}})
    [finding] = result.findings
    assert (finding.code, finding.severity, result.advice) == ("RS668", "note", ())
    assert finding.message.endswith("; only 1 of them has another value")
    assert result.needed is not None
    assert result.needed.differing == 1


def test_a_lead_that_hardly_matters_needs_no_more_queries() -> None:
    """Of 31 queries 15 go up by 1/2, 15 down, and one from 1/4 to 1/3."""
    qrels = {f"q{n}": {"a": 1} for n in range(31)}
    runs: dict[str, Any] = {"first": {"q30": [*"bca"]}, "second": {"q30": [*"bcda"]}}
    for n in range(30):
        ahead, behind = ("first", "second") if n % 2 else ("second", "first")
        runs[ahead][f"q{n}"], runs[behind][f"q{n}"] = [*"ab"], [*"ba"]
    result = look(qrels, runs)
    assert result.needed is not None
    assert result.needed.difference == pytest.approx(1 / 12 / 31)
    assert result.needed.differing == 31
    [finding] = result.findings
    assert (finding.code, finding.severity, result.advice) == ("RS668", "note", ())
    assert finding.message.endswith("; so small a lead hardly matters")
    strict = look(qrels, runs, configs={"lint": {"difference": 0.001}})
    assert [finding.severity for finding in strict.findings] == ["warning"]


def test_one_query_agrees_with_its_verb() -> None:
    result = look({"q": {"a": 1}}, {"s": {"q": [*"ba"]}}, queries={"q": "words"})
    assert text(result, "enough queries").startswith("1 query gives the mean RR@10 of s to ±")


def test_the_same_means_claim_nothing() -> None:
    result = look(QRELS, {"a": RUNS["strong"], "b": RUNS["strong"]})
    assert codes(result) == []
    assert text(result, "enough queries") == "no difference is claimed: RR@10 is the same"


def test_the_claim_is_about_the_baseline() -> None:
    like = nearly(RUNS)
    runs = {"weak": RUNS["weak"], **like}
    result = look(QRELS, runs, baseline="weak")
    assert codes(result) == []
    assert result.needed is not None
    assert result.needed.against == "weak"
    assert codes(look(QRELS, runs)) == ["RS668"]


def test_one_system_with_few_queries() -> None:
    """±t·s/√n of 10 values 0 and 1 is far above 0.05, and shrinks with √n."""
    qrels = {f"q{n}": {"a": 1} for n in range(10)}
    run = {f"q{n}": ["a", "b"] if n % 2 else ["b", "a"] for n in range(10)}
    result = look(qrels, {"s": run}, ["R@1", "R@2"], queries=dict.fromkeys(qrels, "words"))
    assert codes(result) == ["RS666", "RS668"]
    half = 2.2621571628 * np.sqrt(10 / 9 * 0.25) / np.sqrt(10)
    assert result.needed is not None
    assert result.needed.difference == pytest.approx(half)
    assert result.needed.needed == int(np.ceil(10 * (half / 0.05) ** 2))


# --- the same collection -------------------------------------------------------------------------


def test_other_queries() -> None:
    first = {name: RUNS["weak"][name] for name in list(QRELS)[:80]}
    second = {name: RUNS["strong"][name] for name in list(QRELS)[20:]}
    result = look(QRELS, {"weak": first, "strong": second})
    assert "RS669" in codes(result)
    message = next(finding.message for finding in result.findings if finding.code == "RS669")
    assert message == "40 judged queries (40%) are answered by only one of weak and strong"


def test_a_few_queries_without_an_answer_are_no_other_collection() -> None:
    """Lexical search has no document for a query whose words occur nowhere."""
    lexical = {name: RUNS["strong"][name] for name in list(QRELS)[5:]}
    assert codes(look(QRELS, {"weak": RUNS["weak"], "strong": lexical})) == []


def test_other_documents() -> None:
    foreign = {query_id: [f"other-{query_id}-{n}" for n in range(20)] for query_id in QRELS} | {
        "q0": list(QRELS["q0"])
    }
    result = look(QRELS, {"weak": RUNS["weak"], "strong": RUNS["strong"], "foreign": foreign})
    assert codes(result) == ["RS669"]
    assert "documents that foreign has in the first 10" in result.findings[0].message
    assert result.findings[0].evidence["systems"] == ["foreign"]


def test_documents_that_are_not_in_the_corpus() -> None:
    corpus = {f"d{n}": "words" for n in range(200)}  # half of what the systems return
    result = look(QRELS, RUNS, corpus=corpus)
    assert codes(result) == ["RS669"]
    assert result.findings[0].count == 2
    assert result.findings[0].message.count("are not in the corpus") == 2


def test_systems_that_agree_on_nothing_but_the_collection() -> None:
    """Lexical and vector search may share few documents of a query: no false alarm."""
    random = np.random.default_rng(4)
    names = [f"d{n}" for n in range(50_000)]
    qrels, runs = {}, {"lexical": {}, "vector": {}}  # type: ignore[var-annotated]
    for n in range(100):
        pool = random.choice(50_000, 60, replace=False)
        qrels[f"q{n}"] = {names[pool[0]]: 1}
        # one in ten documents is the same, and neither finds the target often
        runs["lexical"][f"q{n}"] = [names[at] for at in pool[1:31]]
        runs["vector"][f"q{n}"] = [names[at] for at in pool[28:58]]
        if n % 5 == 0:
            for run in runs.values():
                run[f"q{n}"].insert(2, names[pool[0]])
    result = look(qrels, runs, queries=dict.fromkeys(qrels, "words"))
    assert "RS669" not in codes(result)


# --- edges ---------------------------------------------------------------------------------------


def test_odd_inputs() -> None:
    qrels = {"q1": {"a": 1, "b": -1}, "q2": {"a": 0}}
    runs = {"s": rs.Run({"q1": ["a"], "q2": []}), "t": {"q1": {"a": 1.0, "b": 1.0}}}
    for measures in (["NumRet", "GMAP"], ["nDCG@3", "FallOut@2"], ["DCG"], ["Bpref", "SetP"]):
        look(qrels, runs, measures, queries=None)
        look(qrels, {"s": runs["s"]}, measures, queries=None)
    result = look(qrels, runs, ["NumRet", "P@1"], queries=None)
    assert result.needed is not None
    result = look(qrels, runs, ["NumRet"], queries=None)
    assert result.needed is None
    assert "no measure is a mean" in text(result, "enough queries")
    result = look(qrels, {"s": runs["s"]}, ["DCG"], queries=None)
    assert "has no highest value" in text(result, "enough queries")


CRANFIELD = COLLECTIONS / "cranfield"


@pytest.mark.skipif(not CRANFIELD.exists(), reason="Cranfield is not here")
def test_lexical_and_vector_search_on_cranfield() -> None:
    from rankscope.retrieval.fetch import fetch
    from rankscope.retrieval.registry import build_system

    corpus = rs.read_corpus(CRANFIELD / "corpus.jsonl.gz")
    queries = rs.read_queries(CRANFIELD / "queries.jsonl")
    runs = {}
    for name, options in (("titles", {"fields": "title"}), ("texts", {"fields": "text"})):
        system = build_system({"bm25": options})
        system.index(corpus)
        runs[name] = fetch(system, queries, depth=20).run
    qrels = rs.read_qrels(CRANFIELD / "qrels" / "test.tsv")
    assert codes(look(qrels, runs, ["nDCG@10", "R@20"], queries=queries)) == []
