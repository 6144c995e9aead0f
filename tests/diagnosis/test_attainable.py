"""The attainable maximum: every ranking of small worlds tried, copies by hand, planted findings."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import rankscope as rs
from rankscope.diagnosis import attainable_findings
from rankscope.diagnosis.attainable import MAXIMUM, Attainable, AttainableMeasure
from rankscope.diagnosis.ranked_run import ideal_values, is_best_by_grade, without_documents
from rankscope.document.blocks import Notes, Table
from rankscope.measures.language import Measure
from rankscope.measures.registry import all_definitions, compute
from rankscope.scoring.align import align
from rankscope.scoring.inputs import as_judgments
from real import COLLECTIONS


def look(qrels: Any, runs: Any, *measures: str, **given: Any) -> Attainable:
    diagnosis = rs.diagnose(qrels, runs, list(measures), only="maximum", **given)
    json.loads(diagnosis.to_json())  # what is not finite has no place there
    str(diagnosis)
    answer = getattr(diagnosis.analyses, "maximum")  # noqa: B009
    assert isinstance(answer, Attainable)
    return answer


def row(qrels: Any, run: Any, measure: str, **given: Any) -> AttainableMeasure:
    [only] = look(qrels, run, measure, **given).measures
    return only


def codes(result: Attainable) -> list[str]:
    return [finding.code for finding in result.findings]


# --- the maximum ---------------------------------------------------------------------------------

WORLDS: list[dict[str, float]] = [
    {"a": 2, "b": 1, "c": 0},
    {"a": 1, "b": 1, "c": 0, "e": -1},
    {"a": 3, "b": 0.5},
    {"a": 1},
    {"a": 0, "b": 0},
]


@pytest.mark.parametrize("grades", WORLDS, ids=str)
@pytest.mark.parametrize("depth", [None, 2])
def test_no_ranking_is_better_and_one_is_as_good(
    grades: dict[str, float], depth: int | None
) -> None:
    """All rankings of the judged and of two unjudged documents, by every measure."""
    documents = [*grades, "u1", "u2"]
    longest = len(documents) if depth is None else depth
    rankings = [ranking for size in range(longest + 1) for ranking in permutations(documents, size)]
    judgments = as_judgments({str(place): grades for place in range(len(rankings))})
    run = rs.Run({str(place): list(ranking) for place, ranking in enumerate(rankings)})
    judged = align(judgments, run, sound=False).judged
    looked_at = 0
    for definition in all_definitions():
        names = [definition.example]
        if definition.cutoff != "none":
            names += [f"{definition.name}@1", f"{definition.name}@3"]
        for measure in map(Measure.parse, names):
            if definition.aggregate == "sum" or definition.family == "own":
                continue
            if is_best_by_grade(measure, judgments.judged_grade):
                ideal = ideal_values(measure, without_documents(judgments), depth=depth)
                assert ideal[0] == pytest.approx(compute(measure, judged).max(), abs=1e-12), measure
                looked_at += 1
    assert looked_at > 60


def test_three_gold_documents_cannot_all_be_first() -> None:
    qrels = {f"q{number}": dict.fromkeys("abc", 1) for number in range(10)}
    result = look(qrels, {query_id: ["a", "x"] for query_id in qrels}, "R@1")
    [only] = result.measures
    assert only.maximum == pytest.approx(1 / 3)
    [system] = only.systems
    assert system.value == pytest.approx(1 / 3)
    assert (system.share, system.with_room) == (1.0, 0)
    assert only.limits == {"more relevant documents than ranks": 10}
    assert codes(result)[0] == "RS655"
    assert "run has R@1 of 0.3333, and no system could have more" in result.findings[0].message


def test_precision_is_limited_by_how_much_is_relevant() -> None:
    qrels = {"q1": dict.fromkeys("abc", 1), "q2": dict.fromkeys("abcdefghijkl", 1), "q3": {"a": 0}}
    run = {"q1": ["a"], "q2": [*"uvwxyz", *"mnop"], "q3": ["a"]}
    only = row(qrels, run, "P@10")
    assert only.maximum == pytest.approx((0.3 + 1.0 + 0.0) / 3)
    assert only.limits == {"no relevant document": 1, "fewer relevant documents than ranks": 1}
    assert only.systems[0].value == pytest.approx(0.1 / 3)
    assert only.systems[0].share == pytest.approx(0.1 / 1.3)


def test_a_run_cannot_hold_more_than_its_depth() -> None:
    """Two documents a query: of four relevant ones AP is at most a half."""
    qrels = {"q": dict.fromkeys("abcd", 1)}
    assert row(qrels, {"q": ["a", "x"]}, "AP").maximum == 0.5
    assert row(qrels, {"q": ["a", "x"]}, "nDCG@2").maximum == 1.0
    shallow = row(qrels, {"q": ["a", "x"]}, "P@4")
    assert (shallow.maximum, shallow.limits) == (0.5, {"runs shorter than the cutoff": 1})


def test_what_is_not_in_the_corpus_cannot_be_found_unless_a_run_has_it() -> None:
    qrels = {"q1": {"gone": 1, "a": 1}, "q2": {"seen": 1}, "q3": {"a": 0}}
    corpus = {"a": "text", "b": "more"}
    result = look(qrels, {"q1": ["b", "a"], "q2": ["seen"]}, "R@2", corpus=corpus)
    [only] = result.measures
    assert result.outside == 1
    assert only.maximum == pytest.approx((0.5 + 1 + 0) / 3)
    assert only.limits == {"no relevant document": 1, "relevant documents not in the corpus": 1}
    assert row(qrels, {"q1": ["b", "a"], "q2": ["seen"]}, "R@2").maximum == pytest.approx(2 / 3)


def test_a_query_that_is_its_own_answer_cannot_be_found_by_rules_that_drop_it() -> None:
    qrels = {"d1": {"d1": 1, "d2": 1}, "d3": {"d2": 1}}
    run = {"d1": ["d2", "x"], "d3": ["d2"]}
    assert row(qrels, run, "R@10").maximum == 1.0
    assert row(qrels, run, "R@10", profile="beir").maximum == 0.75


def test_each_system_has_the_maximum_of_its_queries() -> None:
    """By rules that leave missing queries out, two systems may be averaged over others."""
    qrels = {"q1": {"a": 1}, "q2": {"a": 1, "b": 1}}
    runs = {"one": {"q1": ["a"]}, "two": {"q2": ["a"]}}
    [only] = look(qrels, runs, "R@1", profile="trec_eval-9").measures
    scores = rs.evaluate(qrels, runs, ["R@1"], profile="trec_eval-9")
    assert [system.maximum for system in only.systems] == [1.0, 0.5]
    assert [system.value for system in only.systems] == list(scores["R@1"].values())


def test_measures_without_a_known_maximum_say_why() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    result = look(qrels, {"q": ["b", "a"]}, "nDCG@2", "FallOut@2", "NumRet", "Judged@2", "DCG@2")
    reasons = {only.measure: only.reason for only in result.measures}
    assert reasons == {
        "nDCG@2": "",
        "FallOut@2": "less of it is better",
        "NumRet": "it is a sum over queries",
        "Judged@2": "it does not look at relevance",
        "DCG@2": "",
    }
    by_name = {only.measure: only for only in result.measures}
    assert by_name["FallOut@2"].maximum is None
    assert (by_name["DCG@2"].maximum, by_name["DCG@2"].highest) == (1.0, None)


def test_a_measure_of_somebody_elses_that_exceeds_the_ideal_has_no_maximum() -> None:
    @rs.measure("ListLength", range=(0.0, float("inf")), example="ListLength")
    def list_length(run: Any) -> Any:
        """How many documents there are."""
        return run.retrieved.astype(float)

    only = row({"q": {"a": 1}}, {"q": ["a", "b", "c"]}, "ListLength")
    assert only.maximum is None
    assert only.reason == "a system has more than the order by grade"


# --- copies --------------------------------------------------------------------------------------

OTHER = {"x": "something else", "y": "and more"}


def by_text(qrels: Any, corpus: Any, measure: str) -> float | None:
    query_id = next(iter(qrels))
    listed = {query_id: [*corpus]}
    return row(qrels, listed, measure, corpus=corpus).by_text


def test_one_of_three_copies_can_only_be_guessed() -> None:
    corpus = {"gold": "Leek Soup", "copy1": "leek  soup", "copy2": "LEEK\nsoup", **OTHER}
    qrels = {"q": {"gold": 1, "x": 0}}
    assert by_text(qrels, corpus, "Success@1") == pytest.approx(1 / 3)
    assert by_text(qrels, corpus, "Success@2") == pytest.approx(2 / 3)
    assert by_text(qrels, corpus, "RR") == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    ranks = np.log2([2, 3, 4])
    assert by_text(qrels, corpus, "nDCG@10") == pytest.approx(float((1 / ranks).mean()))
    result = look(qrels, {"q": ["gold", "x", "y"]}, "RR", corpus=corpus)
    assert result.ambiguous == 1
    [finding] = (finding for finding in result.findings if finding.code == "RS658")
    assert "RR of about 0.6111 can be expected at most, and not 1.0000" in finding.message


def test_copies_behind_a_better_document() -> None:
    """The document of grade 3 is certain and first; of two copies of grade 1 one is meant."""
    corpus = {"best": "the best", "gold": "soup", "copy": "soup", **OTHER}
    qrels = {"q": {"best": 3, "gold": 1}}
    expected = (3 + np.mean([1 / np.log2(3), 1 / np.log2(4)])) / (3 + 1 / np.log2(3))
    assert by_text(qrels, corpus, "nDCG@10") == pytest.approx(expected)
    assert by_text(qrels, corpus, "RR") == 1.0


def test_two_of_four_copies_as_all_orders_have_it() -> None:
    corpus = {"a": "soup", "b": "soup", "c": "soup", "d": "soup", **OTHER}
    qrels = {"q": {"a": 1, "b": 1}}
    orders = {query_id: list(order) for query_id, order in enumerate(permutations("abcd"))}
    every = rs.evaluate(
        {str(query_id): qrels["q"] for query_id in orders},
        {str(query_id): order for query_id, order in orders.items()},
        ["RR", "P@2", "AP"],
    )
    for measure in ("RR", "P@2", "AP"):
        assert by_text(qrels, corpus, measure) == pytest.approx(every[measure], abs=0.05)


def test_two_texts_with_copies() -> None:
    """Each of two texts has a copy: at rank 1 a half is right, and so is a half of the first 2."""
    corpus = {"a": "soup", "a2": "soup", "b": "stew", "b2": "stew", **OTHER}
    qrels = {"q": {"a": 1, "b": 1}}
    assert by_text(qrels, corpus, "P@1") == pytest.approx(0.5, abs=0.1)
    assert by_text(qrels, corpus, "P@2") == pytest.approx(0.5)
    assert by_text(qrels, corpus, "R@4") == 1.0


def test_a_thousand_copies_are_spread_evenly() -> None:
    corpus = {f"d{number}": "the same" for number in range(1000)}
    expected = by_text({"q": {"d7": 1}}, corpus, "Success@500")
    assert expected == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("corpus", "grades"),
    [
        ({"a": "soup", "b": "soup"}, {"a": 1, "b": 1}),  # judged alike
        ({"a": "soup", "b": "stew", "c": "stew"}, {"a": 1}),  # copies of what is not gold
        ({"a": "", "b": ""}, {"a": 1}),  # no words
        ({"a": "soup", "b": "stew"}, {"a": 1}),
    ],
)
def test_no_guess_is_needed(corpus: Any, grades: Any) -> None:
    result = look({"q": grades}, {"q": ["a"]}, "RR", corpus=corpus)
    assert result.ambiguous == 0
    assert result.measures[0].by_text is None


def test_the_same_seed_gives_the_same_expectation() -> None:
    corpus = {"a": "soup", "a2": "soup", "b": "stew", "b2": "stew", **OTHER}
    first, again, other = (
        look({"q": {"a": 1, "b": 1}}, {"q": ["a"]}, "RR", corpus=corpus, seed=seed)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


# --- saturation ----------------------------------------------------------------------------------


def right_for(count: int, of: int, *, length: int = 3) -> Any:
    """Make a run that has the one relevant document first for some queries, and else not."""
    return {
        f"q{number:03}": ["d" if number < count else "w", *(f"x{place}" for place in range(length))]
        for number in range(of)
    }


def one_each(of: int) -> dict[str, dict[str, int]]:
    return {f"q{number:03}": {"d": 1} for number in range(of)}


def test_too_few_queries_have_room() -> None:
    """Five queries could be better, and two-sided sign flips need six: 2/2⁶ < 0.05 < 2/2⁵."""
    result = look(one_each(40), right_for(35, 40), "Success@1")
    room = result.measures[0].room
    assert room is not None
    assert (room.with_room, room.must_differ, room.saturated) == (5, 6, True)
    assert room.room == pytest.approx(5 / 40)
    [finding] = result.findings
    assert (finding.code, finding.severity) == ("RS656", "warning")
    assert "could rise by 0.1250 at most, on 5 queries, and 6 must differ" in finding.message
    assert look(one_each(40), right_for(30, 40), "Success@1").findings == ()


def test_measures_at_their_maximum_are_one_sentence() -> None:
    """Every target is second: Success@2 and @3 are full, and RR is not."""
    qrels = one_each(40)
    run = {query_id: ["w", "d", "x"] for query_id in qrels}
    [finding] = look(qrels, {"s": run}, "RR", "Success@2", "R@2", "Success@3").findings
    assert (finding.code, finding.severity, finding.count) == ("RS656", "note", 3)
    assert finding.message == (
        "Success@2, R@2 and Success@3 of s are at their maximum: they cannot show an improvement"
    )
    [finding] = look(qrels, {"s": run}, "Success@2", "RR").findings
    assert finding.severity == "warning"  # of the main measure
    assert finding.message == ("Success@2 of s is at its maximum: it cannot show an improvement")


def test_few_queries_with_room_are_one_sentence() -> None:
    [finding] = look(one_each(40), right_for(35, 40), "Success@1", "R@1").findings
    assert finding.message == (
        "Success@1 and R@1 of run could rise on at most 5 queries, and 6 must differ for any "
        "outcome to be significant"
    )


def test_the_baseline_is_what_others_must_beat() -> None:
    runs = {"low": right_for(10, 40), "high": right_for(39, 40)}
    for baseline, name, saturated in ((None, "high", True), ("low", "low", False)):
        room = look(one_each(40), runs, "Success@1", baseline=baseline).measures[0].room
        assert room is not None
        assert (room.system, room.saturated) == (name, saturated)


def test_less_room_than_these_queries_show() -> None:
    """The other system has every second answer right, also 4 of the 8 that are left."""
    high = right_for(52, 60)
    low = {query_id: ["w" if number % 2 else "d"] for number, query_id in enumerate(high)}
    result = look(one_each(60), {"high": high, "low": low}, "Success@1")
    room = result.measures[0].room
    assert room is not None
    assert room.detectable is not None
    assert room.room < room.detectable
    [finding] = result.findings
    assert (finding.code, finding.severity) == ("RS656", "note")
    assert "with a power of 0.8" in finding.message


def test_few_queries_show_nothing_anyway() -> None:
    result = look(one_each(5), right_for(5, 5), "Success@1")
    assert result.measures[0].room is None
    assert result.findings == ()


# --- measures that cannot tell -------------------------------------------------------------------


def test_a_cutoff_that_covers_the_corpus_finds_everything() -> None:
    qrels = {f"q{number}": {"a": 1} for number in range(10)}
    run = {query_id: ["b", "a"] if place % 2 else ["b"] for place, query_id in enumerate(qrels)}
    corpus = {"a": "one", "b": "two", "c": "three"}
    result = look(qrels, run, "R@3", "R@2", "nDCG@3", "Success@10", corpus=corpus)
    assert result.whole_corpus == ("R@3", "Success@10")
    # the scores say so already, and it is not said again
    assert "RS134" not in codes(result)
    diagnosis = rs.diagnose(qrels, run, ["R@3"], only="maximum", corpus=corpus)
    assert [finding.code for finding in diagnosis.findings].count("RS134") == 1


@pytest.mark.parametrize(
    ("documents", "seen"),
    [
        (1, "R@3 looks at the only document there is: whatever returns it has 1"),
        (2, "R@3 looks at all of the 2 documents there are: whatever returns them in any order"),
    ],
)
def test_a_cutoff_beyond_the_corpus_in_words(documents: int, seen: str) -> None:
    corpus = {f"d{number}": "words" for number in range(documents)}
    result = look({"q": {"d0": 1}}, {"s": {"q": ["d0"]}}, "R@3", corpus=corpus)
    assert result.whole_corpus == ("R@3",)
    [finding] = attainable_findings._trivial(result, ())
    assert finding.message.startswith(seen)


def test_rerankers_of_one_list_have_the_same_recall() -> None:
    qrels = {f"q{number}": {"a": 1, "b": 1} for number in range(10)}
    one = {query_id: ["a", "x", "y"] for query_id in qrels}
    two = {query_id: ["y", "x", "a"] for query_id in qrels}
    other = {**two, "q3": ["y", "x", "b"]}
    names = ("R@3", "nDCG@3", "R@2", "P@5", "SetR")
    result = look(qrels, {"one": one, "two": two}, *names)
    assert result.same_documents == ("R@3", "P@5", "SetR")
    assert "RS657" in codes(result)
    assert look(qrels, {"one": one, "other": other}, *names).same_documents == ()
    assert look(qrels, {"one": one}, *names).same_documents == ()


# --- what is shown, odd data ---------------------------------------------------------------------


def test_what_is_shown() -> None:
    qrels = {f"q{number}": dict.fromkeys("abc", 1) for number in range(10)} | {"none": {"a": 0}}
    runs = {"good": {query_id: ["a", "x"] for query_id in qrels}, "bad": {"q1": ["x", "a"]}}
    result = look(qrels, runs, "R@1", "nDCG@2", "FallOut@2")
    section = MAXIMUM.section(result)
    [table] = section.blocks
    assert isinstance(table, Table)
    assert [column.title for column in table.columns] == ["measure", "at most", "good", "bad"]
    assert [cell.value for cell in table.rows[0]] == ["R@1", *(pytest.approx(v) for v in (
        10 / 33, 10 / 33, 0.0))]  # fmt: skip
    assert table.rows[0][2].note == "100%"
    assert table.rows[2][1].value is None
    assert table.notes[-1] == "FallOut@2 has no maximum: less of it is better"
    [why] = section.details
    assert isinstance(why, Notes)
    assert why.texts == (
        (
            "R@1 cannot be 1 for 11 queries of 11: no relevant document (1), more relevant "
            "documents than ranks (10)"
        ),
        "nDCG@2 cannot be 1 for 1 query of 11: no relevant document (1)",
    )


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        ({"q": {"a": 1}}, {"q": ["a"]}),
        ({"q": {"a": 1}, "p": {"a": 1}}, {"q": ["a"], "p": []}),
        ({"q": {"a": 1}, "p": {"a": 0}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}),
        ({"q": {"a": 1, "b": -1, "c": 0}}, {"q": ["b", "c", "a"]}),
        ({"q": {"a": 0.5, "b": 1}}, {"q": ["a", "b"]}),
    ],
)
def test_odd_data(qrels: Any, run: Any) -> None:
    names = ("nDCG", "RR@1", "NumRet", "DCG@3", "Utility", "GMAP", "AUC", "Bpref", "FallOut@2")
    for corpus in (None, {}, {"a": "b", "b": "b"}):
        result = look(qrels, run, *names, corpus=corpus)
        for only in result.measures:
            for system in only.systems:
                assert system.value <= system.maximum + 1e-12


ELECTRONICS = COLLECTIONS / "electronics"


@pytest.mark.skipif(not ELECTRONICS.exists(), reason="the collection of products is not here")
def test_products_without_a_relevant_one_lower_the_maximum() -> None:
    """Of 135 queries 19 have no product that is relevant, so no mean is above 116/135."""
    qrels = rs.read_qrels(ELECTRONICS / "qrels" / "test.tsv")
    run = {query_id: list(grades)[:10] for query_id, grades in qrels.to_dict().items()}
    only = row(qrels, run, "Success@10", corpus=ELECTRONICS / "corpus.jsonl.gz")
    assert only.maximum == 116 / 135
    assert only.limits == {"no relevant document": 19}
