"""What stages do, drop, improve and harm: planted cases, naive twins, and chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import rankscope as rs
from rankscope.diagnosis.placement import Trial, ceilings, recalls, reranked_at
from rankscope.diagnosis.ranked_run import RankedRun
from rankscope.diagnosis.rankings import Rankings
from rankscope.diagnosis.registry import Inputs
from rankscope.diagnosis.stage_advice import shallower
from rankscope.diagnosis.stage_roles import Lookup, Seen, Step
from rankscope.diagnosis.stages import STAGES, StageRow, Stages, StagesConfig, StageSpec
from rankscope.errors import InputError
from rankscope.measures.language import Measure
from rankscope.scoring.inputs import as_judgments
from rankscope.statistics.settings import Settings

Lists = Mapping[str, list[str]]
Grades = Mapping[str, Mapping[str, float]]

IDS = [f"q{number:03}" for number in range(40)]
DOCS = [f"d{number:02}" for number in range(20)]


def looked(
    qrels: Grades,
    runs: Mapping[str, Lists],
    stages: str | list[StageSpec],
    measures: Any = ("nDCG@10",),
    *,
    config: StagesConfig | None = None,
    queries: Any = None,
    **rules: Any,
) -> Stages:
    """Ask about stages; names separated by commas each build on the one before."""
    if isinstance(stages, str):
        names = stages.split(",")
        stages = [
            StageSpec(name, "stage" if place else "retrieval", tuple(names[place - 1 : place]))
            for place, name in enumerate(names)
        ]
    made: Any = {name: rs.Run(dict(run), name=name) for name, run in runs.items()}
    judgments = as_judgments(qrels)
    inputs = Inputs(
        scores=rs.evaluate(judgments, made, list(measures), **rules),
        runs=made,
        qrels=judgments,
        queries=queries,
        pipeline=stages,
        settings=Settings(resamples=999),
    )
    answer = STAGES.answer(config or StagesConfig(), inputs)
    assert isinstance(answer, Stages)
    assert Stages.model_validate(answer.to_dict()) == answer
    return answer


def row_of(result: Stages, system: str) -> StageRow:
    return next(row for row in result.stages if row.system == system)


def same(*docs: str) -> dict[str, list[str]]:
    """Return the same documents for every query."""
    return {query_id: list(docs) for query_id in IDS}


def shuffled(seed: int, *, depth: int, whole: int = 20) -> dict[str, list[str]]:
    """Return other orders of the first documents, those below as they were."""
    random = np.random.default_rng(seed)
    return {
        query_id: [*random.permutation(DOCS[:depth]).tolist(), *DOCS[depth:whole]]
        for query_id in IDS
    }


BELOW = dict.fromkeys(IDS, DOCS)
QRELS = {query_id: {"d03": 2, "d08": 1, "d15": 1, "elsewhere": 1} for query_id in IDS}


# --- what a stage does ---------------------------------------------------------------------------


def seen(below: Lists, above: Lists) -> Seen | None:
    judgments = as_judgments({query_id: {"d03": 1} for query_id in {**below, **above}})
    runs: Any = {"below": rs.Run(dict(below)), "above": rs.Run(dict(above))}
    systems = Rankings.of(judgments, runs).systems
    return Step(Lookup(systems["below"]), Lookup(systems["above"])).seen()


FAILED = [(query_id, ["other", "d00"]) for query_id in IDS[:3]]


@pytest.mark.parametrize(
    ("above", "does"),
    [
        (shuffled(1, depth=12), Seen("rerank", 12, "seen")),
        (shuffled(1, depth=20), Seen("rerank", 20, "seen")),
        (shuffled(1, depth=5, whole=5), Seen("rerank", 5, "seen")),
        # two queries may be exceptions, three may not
        (
            shuffled(1, depth=12) | {"q000": ["other"], "q001": ["d05"]},
            Seen("rerank", 12, "seen", 2),
        ),
        (shuffled(1, depth=12) | dict(FAILED), Seen("other")),
        (same(*DOCS[1::2]), Seen("filter")),
        (same(*DOCS[:7]), Seen("filter")),
        ({**BELOW, "q000": DOCS[1:]}, Seen("filter")),
        (same("new", *DOCS), Seen("other")),
        (BELOW, Seen("same")),
        ({"nobody": ["d00"]}, None),
        (same(), None),
    ],
)
def test_what_a_stage_does(above: Lists, does: Seen | None) -> None:
    assert seen(BELOW, above) == does


def test_short_answers_are_reranked_whole() -> None:
    few = {"q000": DOCS[:3], "q001": DOCS[:1]}
    turned = {"q000": ["d02", "d00", "d01"], "q001": DOCS[:1]}
    above = {**shuffled(1, depth=12), **turned}
    assert seen({**BELOW, **few}, above) == Seen("rerank", 12, "seen")


def test_a_reranker_that_returns_a_few_of_what_it_looks_at() -> None:
    """Each query has three documents of the first 18, and the 18th is among them once."""
    above = {query_id: ["d10", "d02", DOCS[place % 9]] for place, query_id in enumerate(IDS)}
    above = {query_id: list(dict.fromkeys(docs)) for query_id, docs in above.items()}
    above["q003"] = ["d17", "d01"]
    assert seen(BELOW, above) == Seen("rerank and cut", 18, "at least")


ORDERS = st.lists(st.lists(st.sampled_from("abcdef"), unique=True), min_size=1, max_size=4)


@settings(max_examples=30, deadline=None)
@given(below=ORDERS, above=ORDERS)
def test_the_common_depth_has_a_naive_twin(below: list[list[str]], above: list[list[str]]) -> None:
    """Of up to four queries none may be an exception."""
    count = min(len(below), len(above))
    one, two = (
        {f"q{place}": answer for place, answer in enumerate(answers[:count])}
        for answers in (below, above)
    )
    judgments = as_judgments({query_id: {"a": 1} for query_id in one})
    systems = Rankings.of(judgments, {"one": rs.Run(one), "two": rs.Run(two)}).systems
    step = Step(Lookup(systems["one"]), Lookup(systems["two"]))
    both = [query_id for query_id in one if one[query_id] and two[query_id]]
    longest = max((len(answer) for answer in two.values()), default=0)
    fitting = [
        depth
        for depth in range(1, longest + 1)
        if both and all(set(one[q][:depth]) == set(two[q][:depth]) for q in both)
    ]
    if both:
        assert step.common_depth == max(fitting, default=0)
    answer = step.seen()
    if not both:
        assert answer is None
    elif any(set(two[q]) - set(one[q]) for q in both) and not fitting:
        assert answer == Seen("other")
    elif all(one[q] == two[q] for q in both):
        assert answer == Seen("same")


# --- what it was given, kept and dropped ---------------------------------------------------------


def test_kept_lost_and_promoted() -> None:
    """Up to rank 4 there are d03 before, and d08 and d15 after."""
    above = {query_id: ["d08", "d00", "d15", "d01", "d03"] for query_id in IDS}
    result = looked(QRELS, {"a": BELOW, "b": above}, "a,b", config=StagesConfig(cutoff=4))
    first, second = result.stages
    assert (first.kept, first.role, first.improvements) == (None, None, ())
    assert (second.kept, second.lost, second.promoted) == (0, 40, 80)
    wider = looked(QRELS, {"a": BELOW, "b": above}, "a,b", config=StagesConfig(cutoff=9))
    assert (wider.stages[1].kept, wider.stages[1].lost, wider.stages[1].promoted) == (80, 0, 40)


def test_a_filter_drops_relevant_documents() -> None:
    """Without d03 the best that is left is d08, d15: (1 + 1/log2(3)) of the ideal."""
    random = np.random.default_rng(2)
    kept = {
        query_id: [doc for doc in DOCS if doc != "d03" and (doc == "d08" or random.random() < 0.9)]
        for query_id in IDS
    }
    result = looked(QRELS, {"a": BELOW, "b": kept}, "a,b")
    row = row_of(result, "b")
    missing = sum(doc not in kept[q] for q in IDS for doc in ("d03", "d15"))
    assert (row.role, row.depth) == ("filter", None)
    assert (row.dropped, row.dropped_queries) == (missing, 40)
    assert row.input_recall == pytest.approx(3 / 4)
    assert row.output_recall == pytest.approx((3 * 40 - missing) / 160)
    first, second, third, fourth = (1 / np.log2(rank + 1) for rank in range(1, 5))
    ideal = 2 * first + second + third + fourth
    assert row.ceiling["nDCG@10"] == pytest.approx((2 * first + second + third) / ideal)
    assert row.headroom is not None
    assert row.headroom["nDCG@10"] == pytest.approx(
        row.ceiling["nDCG@10"] - row.measures["nDCG@10"]
    )
    left = np.mean([first + (second if "d15" in kept[q] else 0) for q in IDS]) / ideal
    assert row.dropped_ceiling == pytest.approx(row.ceiling["nDCG@10"] - left)
    codes = {finding.code: finding for finding in result.findings}
    assert codes["RS712"].severity == "warning"
    assert codes["RS712"].places[0].doc_id == "d03"
    better = looked(QRELS, {"a": BELOW, "b": kept, "c": same("d08", "d15")}, "a,b,c")
    assert [advice.gain for advice in better.advice] == [row.dropped_ceiling]


def test_a_reranker_that_cuts_is_noted() -> None:
    above = {query_id: ["d08", "d00", "d02"] for query_id in IDS}
    result = looked(QRELS, {"a": BELOW, "b": above}, "a,b")
    row = row_of(result, "b")
    assert (row.role, row.depth, row.depth_source, row.dropped) == (
        *("rerank and cut", 9, "at least"),
        80,
    )
    assert row.input_recall == pytest.approx(2 / 4)  # d03 and d08 are in the first 9
    [finding] = [finding for finding in result.findings if finding.code == "RS712"]
    assert finding.severity == "note"


def test_the_ceiling_of_a_fusion_is_all_that_its_inputs_have() -> None:
    qrels = {query_id: {"a": 2, "b": 1, "c": 1} for query_id in IDS}
    runs = {
        "first": same("x", "a"),
        "second": same("y", "b", "a"),
        "both": same("x", "b"),
    }
    stages = [
        StageSpec("first", "bm25"),
        StageSpec("second", "vector"),
        StageSpec("both", "fuse", ("first", "second")),
    ]
    row = row_of(looked(qrels, runs, stages, ["RR", "nDCG@2", "SetP", "P@2"]), "both")
    assert (row.role, row.depth) == ("fuse", None)
    ideal = 2 + 1 / np.log2(3)
    assert row.ceiling == {"RR": 1.0, "nDCG@2": pytest.approx(ideal / ideal), "P@2": 1.0}
    assert row.headroom is not None
    assert row.headroom["RR"] == 0.5
    assert row.input_recall == pytest.approx(2 / 3)
    assert row.output_recall == pytest.approx(1 / 3)
    assert row.dropped == 40  # a, which both inputs have
    assert {change.of for change in row.improvements} == {"first", "second"}
    deeper = {**runs, "both": same("x", "b", "new")}
    row = row_of(looked(qrels, deeper, stages), "both")
    assert (row.ceiling, row.input_recall, row.dropped) == ({}, None, None)


def test_a_reranker_that_is_not_said_to_be_one_has_the_same_ceiling() -> None:
    runs = {"a": BELOW, "b": shuffled(4, depth=10)}
    said = [StageSpec("a", "bm25"), StageSpec("b", "rerank", ("a",), 10)]
    measures = ["nDCG@10", "AP", "RR"]
    unsaid, known = (row_of(looked(QRELS, runs, s, measures), "b") for s in ("a,b", said))
    assert (unsaid.depth, unsaid.depth_source) == (10, "seen")
    assert (known.depth, known.depth_source) == (10, "given")
    assert unsaid.ceiling == known.ceiling
    assert unsaid.input_recall == known.input_recall == unsaid.output_recall == pytest.approx(0.5)


# --- improvements --------------------------------------------------------------------------------


def test_an_improvement_by_hand() -> None:
    """RR is 1/2 before; of ten queries two get 1 after: 0.6, which is 20 % more."""
    qrels = {query_id: {"d01": 1} for query_id in IDS}
    turned = ["d01", "d00", *DOCS[2:]]
    above = {q: turned if place % 5 == 0 else DOCS for place, q in enumerate(IDS)}
    result = looked(qrels, {"a": BELOW, "b": above}, "a,b", ["RR"])
    by_rank, by_gain = row_of(result, "b").improvements
    assert (by_rank.measure, by_rank.of) == ("RR", "a")
    assert by_rank.base_mean == 0.5
    assert by_rank.mean == pytest.approx(0.6)
    assert by_rank.percent == pytest.approx(20)
    assert by_rank.interval is not None
    assert by_rank.interval.low < 20 < by_rank.interval.high
    before = 1 / np.log2(3)
    assert by_gain.measure == "nDCG@10"
    assert by_gain.percent == pytest.approx(100 * (0.2 + 0.8 * before - before) / before)
    change = row_of(result, "b").changes[0]
    assert (change.p <= 0.05) == (by_rank.interval.low > 0)
    # of nothing there is no percentage
    ends = {query_id: {"d19": 1, "x": 0} for query_id in IDS}
    [change_of_0] = row_of(
        looked(ends, {"a": same("x"), "b": same("d19")}, "a,b"), "b"
    ).improvements
    assert (change_of_0.percent, change_of_0.interval, change_of_0.mean) == (None, None, 1.0)


# --- a stage that loses --------------------------------------------------------------------------


def test_a_stage_that_loses_is_named() -> None:
    good = {query_id: ["d03", "d08", "d15", *DOCS[:3]] for query_id in IDS}
    bad = {query_id: [*DOCS[:3], "d15", "d08", "d03"] for query_id in IDS}
    result = looked(QRELS, {"a": good, "b": bad}, "a,b")
    [finding] = result.findings
    assert (finding.code, finding.severity) == ("RS711", "warning")
    [advice] = result.advice
    assert advice.gain == pytest.approx(-finding.evidence["difference"])
    # a later stage makes up for it: the finding stays, and nothing is advised
    mended = looked(QRELS, {"a": good, "b": bad, "c": good}, "a,b,c")
    assert [finding.code for finding in mended.findings] == ["RS711"]
    assert mended.advice == ()
    assert looked(QRELS, {"a": bad, "b": good}, "a,b").advice == ()


def test_chance_is_no_loss() -> None:
    named = 0
    for seed in range(10):
        runs = {"a": shuffled(seed, depth=20), "b": shuffled(100 + seed, depth=20)}
        result = looked(QRELS, runs, "a,b")
        named += any(finding.code == "RS711" for finding in result.findings)
    assert named <= 1  # of 10 worlds half of 5 % are expected


# --- groups that a stage makes worse -------------------------------------------------------------


def kinds(**sizes: int) -> list[Any]:
    names = [name for name, size in sizes.items() for _ in range(size)]
    return [
        (query_id, "some words", {"kind": name, "id": query_id, "style": {"loud": place % 2 == 0}})
        for place, (query_id, name) in enumerate(zip(IDS, names, strict=True))
    ]


def planted(worse: int) -> dict[str, list[str]]:
    """Return a reranking that gains on all queries but the last, on which it loses."""
    gain, loss = ["d03", "d08", *DOCS[:3]], [*DOCS[4:8], "d10", "d11", "d00", "d08", "d03"]
    return {q: loss if place >= 40 - worse else gain for place, q in enumerate(IDS)}


def test_a_group_that_a_reranker_makes_worse_is_named() -> None:
    runs = {"a": BELOW, "b": planted(12)}
    result = looked(QRELS, runs, "a,b", queries=kinds(soup=15, cake=13, fish=12))
    [group] = result.harmed
    assert (group.system, group.of, group.field, group.label, group.n) == (
        "b",
        "a",
        "kind",
        "fish",
        12,
    )
    scores = rs.evaluate(QRELS, runs, ["nDCG@10"])
    above, below = (scores.values("nDCG@10", name) for name in ("b", "a"))
    assert group.difference == pytest.approx(np.mean([above[q] - below[q] for q in IDS[28:]]))
    assert group.overall == pytest.approx(np.mean([above[q] - below[q] for q in IDS]))
    assert group.interval.high < 0
    assert group.p_corrected <= 0.05
    assert result.group_fields == ("kind", "style.loud")  # an id of its own groups nothing
    assert result.group_tests == 5
    [finding] = [finding for finding in result.findings if finding.code == "RS713"]
    assert finding.severity == "warning"
    [advice] = result.advice
    assert advice.gain == pytest.approx(-group.difference * 12 / 40)
    other = looked(
        QRELS,
        runs,
        "a,b",
        queries=kinds(soup=15, cake=13, fish=12),
        config=StagesConfig(fields=("style.loud",)),
    )
    assert (other.harmed, other.group_tests) == ((), 2)
    # nine queries are too few, and where all are worse it is a note
    few = looked(QRELS, {"a": BELOW, "b": planted(9)}, "a,b", queries=kinds(soup=31, fish=9))
    assert few.harmed == ()
    every = looked(QRELS, {"a": BELOW, "b": planted(40)}, "a,b", queries=kinds(soup=28, fish=12))
    harms = [finding.severity for finding in every.findings if finding.code == "RS713"]
    assert set(harms) == {"note"}


def test_groups_by_chance_are_not_named() -> None:
    random = np.random.default_rng(5)
    named = 0
    for _ in range(8):
        swap = {
            q: ["d03", *[doc for doc in DOCS if doc != "d03"]]
            if random.random() < 0.5
            else [doc for doc in DOCS if doc != "d03"] + ["d03"]
            for q in IDS
        }
        labels = random.permutation(["soup"] * 20 + ["fish"] * 20).tolist()
        queries = [(q, "words", {"kind": label}) for q, label in zip(IDS, labels, strict=True)]
        start = {q: [*DOCS[:1], "d03", *[d for d in DOCS[1:] if d != "d03"]] for q in IDS}
        result = looked(QRELS, {"a": start, "b": swap}, "a,b", ["RR"], queries=queries)
        named += len(result.harmed)
    assert named <= 1  # 5 % of 8 worlds at most are expected


def test_a_field_that_is_not_there() -> None:
    queries = kinds(soup=40)
    assert STAGES.check is not None
    with pytest.raises(InputError, match="nearest: kind"):
        STAGES.check(StagesConfig(fields=("kinds",)), queries)
    STAGES.check(StagesConfig(fields=("kind", "words")), queries)
    with pytest.raises(ValidationError, match="depths"):
        StagesConfig(depths=(0,))


# --- depth and placement -------------------------------------------------------------------------


def naive_trial(below: Lists, above: Lists, depth: int) -> dict[str, list[str]]:
    """Rerank the first documents only, with lists."""
    run = {}
    for query_id, docs in below.items():
        first = docs[:depth]
        answer = above.get(query_id, [])
        run[query_id] = [
            *(doc for doc in answer if doc in first),
            *(doc for doc in first if doc not in answer),
            *docs[depth:],
        ]
    return run


def naive_best(qrels: Grades, below: Lists, depth: int) -> dict[str, list[str]]:
    """Sort the first documents by grade."""
    run = {}
    for query_id, docs in below.items():
        grades = qrels[query_id]
        order = sorted(-max(grades.get(doc, 0), 0) for doc in docs[:depth])
        by_grade: dict[float, list[str]] = {}
        for doc in docs[:depth]:
            by_grade.setdefault(-max(grades.get(doc, 0), 0), []).append(doc)
        run[query_id] = [by_grade[grade].pop(0) for grade in order] + docs[depth:]
    return run


LETTERS = list("abcdefgh")
GRADED = st.dictionaries(
    st.sampled_from(LETTERS), st.sampled_from([-1.0, 0.0, 1.0, 2.0]), min_size=1
)
TRIED = (1, 2, 3, 5, 8)


@settings(max_examples=30, deadline=None)
@given(
    data=st.data(),
    count=st.integers(1, 3),
    measure=st.sampled_from(["nDCG@3", "AP", "RR@2", "P(judged_only=True)@2", "Bpref"]),
)
def test_placement_has_a_naive_twin(data: st.DataObject, count: int, measure: str) -> None:
    ids = [f"q{place}" for place in range(count)]
    qrels: dict[str, dict[str, float]] = {"sound": {"a": 1}}
    qrels |= {query_id: data.draw(GRADED) for query_id in ids}
    below, above = {"sound": ["a"]}, {"sound": ["a"]}
    for query_id in ids:
        docs = data.draw(st.permutations(LETTERS))[: data.draw(st.integers(0, 8))]
        below[query_id] = docs
        above[query_id] = [*data.draw(st.permutations(docs))]
        if data.draw(st.integers(0, 4)) == 0:  # a reranker that fails drops some
            above[query_id] = above[query_id][data.draw(st.integers(0, 3)) :]
    judgments = as_judgments(qrels)
    runs: Any = {"below": rs.Run(below), "above": rs.Run(above)}
    systems = Rankings.of(judgments, runs).systems
    step = Step(Lookup(systems["below"]), Lookup(systems["above"]))
    judged = RankedRun.of(judgments, runs["below"]).judged
    trial = Trial(Measure.parse(measure), np.ones(len(qrels), bool))
    trials: Any = {f"trial {n}": naive_trial(below, above, n) for n in TRIED}
    trials |= {f"best {n}": naive_best(qrels, below, n) for n in TRIED}
    expected = rs.evaluate(qrels, trials, [measure]).means
    relevant = {q: {doc for doc, grade in qrels[q].items() if grade >= 1} for q in qrels}
    best, known = ceilings(judged, TRIED, trial), recalls(judged, TRIED, trial.counted)
    for place, depth in enumerate(TRIED):
        values = reranked_at(step, judged, depth, trial)
        assert trial.mean(values) == pytest.approx(expected[f"trial {depth}"][measure])
        assert best[place] == pytest.approx(expected[f"best {depth}"][measure])
        shares = [
            len(relevant[q] & set(below[q][:depth])) / max(len(relevant[q]), 1) for q in qrels
        ]
        assert known[place] == pytest.approx(sum(shares) / len(shares))


def test_a_placement_by_hand() -> None:
    """The relevant document is fourth of six; the reranker, which looks at five, puts it first."""
    qrels = {query_id: {"d03": 1} for query_id in IDS}
    runs = {"a": same(*DOCS[:6]), "b": same("d03", "d04", "d02", "d01", "d00", "d05")}
    config = StagesConfig(depths=(2, 4, 100))
    [placement] = looked(qrels, runs, "a,b", ["RR"], config=config).placements
    assert (placement.of, placement.reranker, placement.value) == ("a", "b", 0.25)
    rows = [(row.depth, row.recall, row.ceiling, row.value, row.loss) for row in placement.rows]
    assert rows == [
        (2, 0.0, 0.25, 0.25, 0.75),
        (4, 1.0, 1.0, 1.0, 0.0),
        (5, 1.0, 1.0, 1.0, 0.0),
        (6, 1.0, 1.0, None, None),
    ]
    assert [row.gain_kept for row in placement.rows] == [0.0, 1.0, 1.0, None]


def test_where_the_gain_saturates() -> None:
    """Everything relevant is in the first ten, so to look at more is of no use."""
    random = np.random.default_rng(0)
    qrels = {q: {"d03": 1, "d08": 1} for q in IDS}
    order = {q: random.permutation([doc for doc in DOCS if doc not in ("d03", "d08")]) for q in IDS}
    above = {q: ["d03", "d08", *order[q].tolist()] for q in IDS}
    config = StagesConfig(depths=(5, 10, 15))
    result = looked(qrels, {"a": BELOW, "b": above}, "a,b", config=config)
    [placement] = result.placements
    by_depth = {row.depth: row for row in placement.rows}
    assert list(by_depth) == [5, 10, 15, 20]
    assert by_depth[5].gain_kept is not None
    assert by_depth[5].gain_kept < 0.9
    assert (by_depth[10].value, by_depth[10].gain_kept, by_depth[10].loss) == (1.0, 1.0, 0.0)
    rows = shallower(placement)
    assert rows is not None
    assert [row.depth for row in rows] == [10, 20]
    [finding] = result.findings
    assert (finding.code, finding.severity) == ("RS714", "note")
    assert result.advice == ()
    # no part of a gain that is not shown
    [placement] = looked(QRELS, {"a": BELOW, "b": shuffled(3, depth=3)}, "a,b").placements
    assert all(row.gain_kept is None for row in placement.rows)
    assert shallower(placement) is None


def test_every_system_that_could_be_reranked_is_placed() -> None:
    runs = {"a": BELOW, "b": shuffled(1, depth=20), "c": shuffled(2, depth=10), "d": BELOW}
    stages = [
        StageSpec("a", "bm25"),
        StageSpec("d", "bm25"),
        StageSpec("b", "fuse", ("a", "d")),
        StageSpec("c", "rerank", ("b",), 10),
    ]
    result = looked(QRELS, runs, stages)
    assert [(p.of, p.reranker) for p in result.placements] == [("a", None), ("d", None), ("b", "c")]
    assert {row.value for row in result.placements[0].rows} == {None}


@pytest.mark.parametrize("profile", ["beir", "trec_eval-9"])
def test_profiles(profile: str) -> None:
    """With beir a document that has its query's id is left out, and so it is here."""
    qrels = {**QRELS, "d00": {"d03": 1}}
    runs = {
        "a": {**BELOW, "d00": ["d00", "d01", "d03"]},
        "b": {**shuffled(1, depth=12), "d00": ["d03", "d00", "d01"]},
    }
    result = looked(qrels, runs, "a,b", profile=profile)
    row = row_of(result, "b")
    assert (row.role, row.depth) == ("rerank", 12)
    [placement] = result.placements
    whole = next(entry for entry in placement.rows if entry.depth == 12)
    assert whole.value == pytest.approx(row.measures["nDCG@10"])
    assert placement.value == pytest.approx(row_of(result, "a").measures["nDCG@10"])
