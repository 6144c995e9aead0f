"""No silent zero: broken questions are refused at every door, and what means less is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankscope as rs
from rankscope.errors import InvalidDataError
from rankscope.integrations.asserting import DataWarning
from rankscope.integrations.pytest_plugin import Gatekeeper
from rankscope.scoring.rules import PROFILES

Pairs = dict[str, dict[str, float]]

QRELS: Pairs = {f"q{n}": {f"d{n}": 1, f"d{n}9": 0} for n in range(1, 7)}
RUN: Pairs = {query: {"x": 3.0, **dict.fromkeys(docs, 2.0)} for query, docs in QRELS.items()}
GOOD: Pairs = {
    query: {doc: 9.0 - at for at, doc in enumerate([*docs, "x", "y"])}
    for query, docs in QRELS.items()
}


MANY: Pairs = {f"q{n}": {f"d{n}": 1, f"d{n}9": 0} for n in range(1, 13)}
FULL: Pairs = {
    query: {doc: 9.0 - at for at, doc in enumerate([*docs, "x", "y"])}
    for query, docs in MANY.items()
}


def renamed(change: Callable[[str], str], run: Pairs = FULL) -> Pairs:
    return {query: {change(doc): s for doc, s in docs.items()} for query, docs in run.items()}


BROKEN: dict[str, tuple[Pairs, Pairs, str]] = {
    "empty run": (MANY, {}, "empty"),
    "empty answers": (MANY, {q: {} for q in MANY}, "no document"),
    "all zero": ({q: dict.fromkeys(docs, 0) for q, docs in MANY.items()}, FULL, "RS214"),
    "query case": (MANY, {q.upper(): d for q, d in FULL.items()}, "case"),
    "query prefix": (MANY, {f"s:{q}": d for q, d in FULL.items()}, "a prefix"),
    "swapped": (
        MANY,
        {doc: {query: 1.0} for query, docs in MANY.items() for doc in docs},
        "swapped",
    ),
    "document prefix": (MANY, renamed("doc:{}".format), "doc_id_from='^doc:(.+)$'"),
    "leading zeros": (MANY, renamed(lambda d: d.replace("d", "d0")), "zeros"),
    "chunks": (MANY, renamed("{}#3".format), "doc_id_from='#'"),
    "blanks": (MANY, renamed(" {}".format), "blanks"),
    "fractions": (MANY, renamed("{}.0".format), "fraction"),
    "nothing alike": (MANY, renamed(lambda d: d.replace("d", "ä").replace("x", "ä")), "RS172"),
}
"""Judgments, a run, and a word of what is said: guesses are tested in `runs/test_checks.py`."""

DOORS: dict[str, Callable[[Pairs, Pairs], Any]] = {
    "evaluate": rs.evaluate,
    "table": lambda qrels, run: rs.evaluate(rs.Qrels(qrels), rs.Run(run)),
    "compare": lambda qrels, run: rs.compare(qrels, {"good": FULL, "broken": run}, ["RR"]),
    "gate": lambda qrels, run: rs.gate(FULL, run, "RR", qrels=qrels),
    "baseline": lambda qrels, run: rs.gate(run, FULL, "RR", qrels=qrels),
    "plugin": lambda qrels, run: Gatekeeper().assert_no_regression(FULL, run, "RR", qrels=qrels),
    "power": lambda qrels, run: rs.power(qrels, FULL, run, "RR"),
    "why": lambda qrels, run: rs.why(qrels, run, "RR"),
    "bounds": lambda qrels, run: rs.bounds(qrels, run, ["RR"]),
    "explain": lambda qrels, run: rs.explain(qrels, run, "q1", "RR"),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_broken_question_is_refused_at_every_door(door: str) -> None:
    for fault, (qrels, run, word) in BROKEN.items():
        with pytest.raises(InvalidDataError) as caught:
            DOORS[door](qrels, run)
        assert word in str(caught.value), fault
        [finding] = caught.value.findings
        assert finding.severity == "error"


def test_no_profile_hides_that_nothing_is_in_common() -> None:
    for profile in PROFILES:
        with pytest.raises(InvalidDataError, match="RS171"):
            rs.evaluate(MANY, BROKEN["query case"][1], "nDCG@10", profile=profile)


def test_a_poor_run_is_not_broken() -> None:
    """Its documents are judged, for other queries; nothing says that ids do not meet."""
    poor = {"q1": {"d2": 1.0}, "q2": {"d1": 1.0}}
    scores = rs.evaluate(QRELS, poor, "RR")
    assert scores["RR"] == 0
    assert ("RS172", "warning") in {(one.code, one.severity) for one in scores.findings}
    assert rs.explain(QRELS, GOOD | {"q1": {"y": 1.0}}, "q1", "RR").value == 0


def test_a_corpus_shows_that_ids_are_right() -> None:
    blind = {query: {"z1": 2.0, "z2": 1.0} for query in MANY}
    with pytest.raises(InvalidDataError, match="RS172"):
        rs.evaluate(MANY, blind, "RR")
    documents = ["z1", "z2", *(doc for docs in MANY.values() for doc in docs)]
    assert rs.evaluate(MANY, blind, "RR", corpus=documents)["RR"] == 0
    for useless in (["z1", "z2"], documents[2:]):
        with pytest.raises(InvalidDataError, match="RS172"):
            rs.evaluate(MANY, blind, "RR", corpus=useless)


@pytest.mark.parametrize("queries", [1, 9, 10])
def test_a_few_queries_without_a_hit_are_normal(queries: int) -> None:
    gold = {query: MANY[query] for query in list(MANY)[:queries]}
    chunks = {query: renamed("{}#3".format)[query] for query in gold}
    if queries == 10:
        with pytest.raises(InvalidDataError, match=r"doc_id_from='#'.*RS172"):
            rs.evaluate(gold, chunks, "RR")
        return
    scores = rs.evaluate(gold, chunks, "RR")
    assert scores["RR"] == 0
    [finding] = scores.findings
    assert (finding.code, finding.severity) == ("RS172", "warning")
    assert "doc_id_from='#'" in finding.message


def test_ids_that_differ_name_the_option_as_it_is_typed(tmp_path: Path, rankscope: Any) -> None:
    qrels, run = str(tmp_path / "gold.json"), str(tmp_path / "run.json")
    rs.Qrels(MANY).write(qrels)
    rs.Run(renamed("{}#3".format)).write(run)
    done = rankscope("evaluate", qrels, run, "-m", "RR")
    assert done.returncode == 2
    assert "give --doc-id-from '#'" in done.stderr
    assert rankscope("evaluate", qrels, run, "-m", "RR", "--doc-id-from", "#").returncode == 0


def test_judgments_and_run_that_are_swapped(tmp_path: Path, rankscope: Any) -> None:
    for ending in ("trec", "csv"):
        qrels, run = str(tmp_path / f"gold.{ending}"), str(tmp_path / f"run.{ending}")
        rs.Qrels(MANY).write(qrels)
        rs.Run(FULL).write(run)
        done = rankscope("evaluate", run, qrels, "-m", "RR")
        assert done.returncode == 2
        assert "swapped" in done.stderr
        with pytest.raises(rs.InputError, match="swapped"):
            rs.evaluate(run, qrels, "RR")
    scores = {query: {f"d{n}": 1 / (n + 2) for n in range(9)} for query in MANY}
    with pytest.raises(rs.InputError, match="swapped"):
        rs.evaluate(scores, MANY, "nDCG@10")
    labels, answers = tmp_path / "labels.csv", tmp_path / "answers.csv"
    labels.write_text("query,doc,esci_label\nq1,a,E\nq1,b,S\nq2,c,I\n")
    answers.write_text("query,doc,score\nq1,a,0.9\nq1,b,0.5\nq2,c,0.4\n")
    with pytest.raises(rs.InputError, match="swapped"):
        rs.evaluate(answers, labels, "nDCG@10")
    with pytest.raises(rs.InputError, match="labels E=3"):  # gold is gold, though it lacks grades
        rs.evaluate(labels, answers, "nDCG@10")


# --- warnings


def codes(scores: Any) -> list[str]:
    return [finding.code for finding in scores.findings]


def warned(qrels: Any, run: Any, measures: Any = "RR", **options: Any) -> dict[str, str]:
    for form in (run, rs.Run(run)):
        scores = rs.evaluate(qrels, form, measures, **options)
        assert {finding.severity for finding in scores.findings} <= {"warning"}
        messages = {finding.code: finding.message for finding in scores.findings}
    return messages


def test_a_healthy_run_is_not_warned_about() -> None:
    assert warned(QRELS, GOOD, ["RR", "nDCG@3", "R@4", "Judged@2"]) == {}


def test_queries_that_a_run_lacks_are_named() -> None:
    some = {query: GOOD[query] for query in ("q1", "q2")}
    for queries in ("all", "both"):
        told = warned(QRELS, some, queries=queries)
        assert list(told) == ["RS161"]
        assert "4 of 6" in told["RS161"]
        assert "'q3', 'q4', 'q5', …" in told["RS161"]


def distances(run: Pairs) -> Pairs:
    return {query: {doc: -score for doc, score in docs.items()} for query, docs in run.items()}


def test_scores_that_rise_down_the_list() -> None:
    assert "distances" in warned(QRELS, distances(GOOD))["RS114"]
    stale = {q: dict(zip(docs, [4.0, 5.0, 1.0, 3.0], strict=True)) for q, docs in GOOD.items()}
    assert "6 of 6" in warned(QRELS, stale)["RS114"]
    assert rs.evaluate(QRELS, stale, "RR")["RR"] == 0.5
    assert rs.evaluate(QRELS, stale, "RR", order="given")["RR"] == 1
    assert warned(QRELS, stale, order="given") == {}
    half = {q: stale[q] if n < 3 else GOOD[q] for n, q in enumerate(QRELS)}
    assert warned(QRELS, half) == {}


def test_the_order_in_which_a_dict_was_filled_is_no_order() -> None:
    """Only scores that never fall are taken for distances; anything else is how it was filled."""
    qrels = {f"q{number}": {"d1": 1, "d2": 1} for number in range(6)}
    mixed = {query_id: {"d2": 0.3, "d1": 0.9, "d0": 0.1} for query_id in qrels}
    assert codes(rs.evaluate(qrels, mixed, "nDCG@3")) == []
    rising = {query_id: {"d2": 0.1, "d1": 0.3, "d0": 0.9} for query_id in qrels}
    assert codes(rs.evaluate(qrels, rising, "nDCG@2")) == ["RS114"]


def test_equal_scores_everywhere() -> None:
    level = {query: dict.fromkeys(docs, 1.0) for query, docs in GOOD.items()}
    assert list(warned(QRELS, level)) == ["RS123"]
    assert warned(QRELS, level, ties="given") == {}
    assert warned(QRELS, level, order="given") == {}
    assert warned(QRELS, {**level, "q1": GOOD["q1"]}) == {}
    assert warned(QRELS, {query: {next(iter(docs)): 1.0} for query, docs in GOOD.items()}) == {}


def test_measures_that_look_deeper_than_the_run() -> None:
    measures = ["nDCG@4", "R@5", "P@1000", "AP"]
    assert warned(QRELS, GOOD, measures)["RS133"].startswith("R@5, P@1000")
    deep = {f"e{n}": -float(n) for n in range(5)}
    once, twice = {**GOOD, "q1": deep}, {**GOOD, "q1": deep, "q2": deep}
    assert warned(QRELS, twice, measures)["RS133"].startswith("P@1000")
    assert warned(QRELS, once, measures) == {}, "it is not cut: answers end at different depths"


def test_a_cutoff_that_covers_all_documents() -> None:
    docs = [doc for judged in QRELS.values() for doc in judged]
    whole = {query: {doc: -float(n) for n, doc in enumerate(docs)} for query in QRELS}
    told = warned(QRELS, whole, ["Success@12", "R@20", "nDCG@20", "R@11"], corpus=docs)
    assert told["RS133"].startswith("R@20, nDCG@20 ")


def test_gold_outside_the_corpus() -> None:
    corpus = [doc for docs in GOOD.values() for doc in docs if doc not in ("d2", "d3", "d39")]
    assert "'d2', 'd3'" in warned(QRELS, GOOD, corpus=corpus)["RS166"]
    assert warned(QRELS, GOOD, corpus=[*corpus, "d2", "d3"]) == {}, "d39 is not relevant"


def test_grades_that_no_measure_counts() -> None:
    low = {
        query: {doc: grade * 0.7 for doc, grade in docs.items()} for query, docs in QRELS.items()
    }
    for door in (
        lambda: rs.evaluate(low, GOOD, ["P@2", "RR"]),
        lambda: rs.explain(low, GOOD, "q1", "RR"),
        lambda: rs.why(low, GOOD, "RR"),
    ):
        with pytest.raises(InvalidDataError, match=r"RR.*0\.7"):
            door()
    assert list(warned(low, GOOD, ["nDCG@2", "RR"])) == ["RS215"]
    assert warned(low, GOOD, ["nDCG@2", "P(rel=0.5)@2", "Judged@2"]) == {}
    mixed = {**low, "q1": {"d1": 1}}
    assert "5 judgments" in warned(mixed, GOOD, "P@2")["RS215"]
    assert warned(mixed, GOOD, ["P@2", "nDCG@2"]) == {}


def test_gold_under_ids_that_are_nearly_the_same() -> None:
    gold = {f"q{n}": {f"doc{n}": 1} for n in range(10)}
    for change in ("doc{}#1", "DOC{}", "doc{} ", "doc0{}"):
        run = {f"q{n}": [change.format(n) if n % 3 else f"doc{n}"] for n in range(10)}
        [finding] = [f for f in rs.evaluate(gold, run, ["RR"]).findings if f.code == "RS167"]
        assert "6 of 10" in finding.message
        assert "'doc1'" in finding.message
    numbered = {f"q{n}": {f"doc_{n}": 1} for n in range(10)}
    run = {f"q{n}": ["doc_0", f"other_{n}", "doc_77"] for n in range(10)}
    assert "RS167" not in codes(rs.evaluate(numbered, run, ["RR"])), "different documents"


def test_warnings_are_part_of_every_answer() -> None:
    part = {query: GOOD[query] for query in ("q1", "q2", "q3")}
    scores = rs.evaluate(QRELS, {"part": part}, "RR")
    [written] = scores.to_dict()["runs"]["part"]["findings"]
    assert (written["code"], written["system"], written["count"]) == ("RS161", "part", 3)
    assert "3 of 6" in repr(scores)
    comparison = rs.compare(QRELS, {"good": GOOD, "part": part}, ["RR"])
    gate = rs.gate({"part": part}, {"good": GOOD}, "RR", qrels=QRELS)
    good = rs.evaluate(QRELS, {"good": GOOD}, "RR")
    recorded = rs.gate(scores.to_dict(per_query=True), good, "RR")
    power = rs.power(QRELS, {"good": GOOD}, {"part": part}, "RR")
    for result in (comparison, gate, recorded, power):
        assert [(one.code, one.system) for one in result.findings] == [("RS161", "part")]
        assert result.to_dict()["findings"][0]["code"] == "RS161"
    assert codes(rs.why(QRELS, part, "RR")) == ["RS161"]
    with pytest.warns(UserWarning, match="queries") as heard:
        Gatekeeper().assert_no_regression({"part": part}, {"good": GOOD}, "RR", qrels=QRELS)
    [about] = [warning for warning in heard if warning.category is DataWarning]
    assert "part: 3 of 6" in str(about.message)


# --- order


def put(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_the_order_of_a_file_with_ranks(tmp_path: Path) -> None:
    """Lines in no order are no list where ranks say what the scores say; stale scores are."""
    lines = [
        f"{query} Q0 {doc} {{}} {score} tag\n"
        for query, docs in GOOD.items()
        for doc, score in docs.items()
    ]
    ranked = [line.format(1 + n % 4) for n, line in enumerate(lines)]
    shuffled = put(tmp_path, "shuffled.run", "".join(reversed(ranked)))
    assert codes(rs.evaluate(QRELS, shuffled, "RR")) == []
    without = put(tmp_path, "constant.run", "".join(reversed([line.format(1) for line in lines])))
    assert codes(rs.evaluate(QRELS, without, "RR")) == ["RS114"]
    old = [1, 4, 3, 2]
    reranked = [(q, *pair) for q in QRELS for pair in zip(GOOD[q], old, strict=True)]
    lines = [f"{q} Q0 {doc} {1 + n % 4} {s} t\n" for n, (q, doc, s) in enumerate(reranked)]
    stale = put(tmp_path, "stale.run", "".join(lines))
    scores = rs.evaluate(QRELS, stale, "RR")
    assert codes(scores) == ["RS114"]
    assert scores["RR"] == 0.25
    assert rs.evaluate(QRELS, stale, "RR", order="given")["RR"] == 1


def test_given_order_at_every_door() -> None:
    far = distances(GOOD)
    options: Any = {"order": "given"}
    assert rs.evaluate(QRELS, rs.Run(far), "RR", **options)["RR"] == 1
    comparison = rs.compare(QRELS, {"far": far, "good": GOOD}, ["RR"], **options)
    assert comparison.mean("far").mean == 1
    assert rs.gate(GOOD, far, "RR", qrels=QRELS, **options).passed
    assert rs.power(QRELS, GOOD, far, "RR", **options).measures["RR"].observed == 0
    assert rs.explain(QRELS, far, "q1", "RR", **options).value == 1
    assert rs.why(QRELS, far, "RR", **options).outcomes[0].value == 1
    assert rs.bounds(QRELS, far, ["RR"], **options)[0].value == 1
    with pytest.raises(rs.UnknownNameError, match="'listed'"):
        rs.evaluate(QRELS, far, "RR", order="listed")  # type: ignore[arg-type]


# --- pairs judged twice


def test_a_pair_judged_twice_under_another_second_column(tmp_path: Path) -> None:
    qrels = put(tmp_path, "a.qrels", "q 0 a 1\nq 0 b 0\nq 1 a 1\np 0 a 1\n")
    run = {"q": {"a": 1.0}, "p": {"b": 1.0}}
    said = r"a\.qrels:3, query 'q', document 'a': .* \[RS208\]"
    for measures in (["RR"], ["nDCG@10", "AP"]):
        with pytest.raises(InvalidDataError, match=said):
            rs.evaluate(qrels, run, measures)
    with pytest.raises(InvalidDataError, match=said):
        rs.explain(qrels, run, "q", "RR")
    assert rs.evaluate(qrels, run, ["RR", "alpha_nDCG@10"])["RR"] == 0.5
    apart = put(tmp_path, "b.qrels", "q 1 a 1\nq 2 b 1\np 1 a 1\n")
    assert rs.evaluate(apart, run, ["RR"])["RR"] == 0.5


GOLDEN = [
    {"id": number, "question": f"What is {number}?", "expected_ids": [f"d{number}"]}
    for number in range(1, 5)
]


def _answers(words: dict[int, str]) -> list[dict[str, Any]]:
    return [
        {"id": number, "question": text, "retrieved_ids": ["d1", "d2", "d3", "d4"]}
        for number, text in words.items()
    ]


def test_ids_that_belong_to_other_questions_are_refused() -> None:
    swapped = _answers({1: "what is  2?", 2: "What is 1?", 3: "What is 3?", 4: "What is 4?"})
    with pytest.raises(InvalidDataError, match=r"2 ids .*query='question'.*RS173"):
        rs.evaluate(GOLDEN, swapped, "RR")
    by_words = _answers({1: "What is 2?", 2: "What is 1?"})
    assert rs.evaluate(GOLDEN, by_words, "RR", query="question").means["RR"] == (1 + 1 / 2) / 4
    assert rs.evaluate(GOLDEN, swapped, "RR", query="id").means["RR"] > 0


@pytest.mark.parametrize(
    "words",
    [
        {1: "rewritten: 1", 2: "rewritten: 2", 3: "WHAT is 3?", 4: "What is 4?"},
        {1: "What is 2?", 2: "What is 2?", 3: "What is 3?", 4: "What is 4?"},
    ],
)
def test_other_words_are_no_contradiction(words: dict[int, str]) -> None:
    assert rs.evaluate(GOLDEN, _answers(words), "RR").means["RR"] > 0.5


def test_words_as_ids_on_one_side_are_the_same_questions() -> None:
    by_words = [{"question": "What is 1?", "retrieved_ids": ["d1"]}]
    assert rs.evaluate(GOLDEN, by_words, "RR").means["RR"] == 1 / 4
    golden = [{"question": "What is 1?", "expected_ids": ["d1"]}]
    numbered = pl.DataFrame(_answers({1: "What is 1?"}))
    assert rs.evaluate(golden, numbered, "RR").means == {"RR": 1}
    assert rs.evaluate(golden, numbered, "RR", query="question").means == {"RR": 1}
