"""Gold as spans or texts: coverage, measures of spans, ranking measures, and every form of data."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.errors import InputError
from rankscope.measures.language import Measure

Span = tuple[str, int, int]
SPAN_MEASURES = ["SpanRecall", "SpanPrecision", "SpanIoU"]
RANKED = ["R@3", "P@3", "RR", "AP", "nDCG@3", "nDCG", "Success@2", "Q", "ERR@5", "RBP",
          "nDCG(gain=exp)@3"]  # fmt: skip

spans = st.builds(
    lambda document, start, length: (document, start, start + length),
    st.sampled_from("ab"),
    st.integers(0, 20),
    st.integers(1, 12),
)


def record(span: Span, **more: Any) -> dict[str, Any]:
    return dict(zip(("doc", "start", "end"), span, strict=True)) | more


def golden(gold: Sequence[Span]) -> list[dict[str, Any]]:
    return [{"question": "q", "spans": [record(span) for span in gold]}]


def answer(retrieved: Sequence[Span]) -> list[dict[str, Any]]:
    return [{"question": "q", "chunks": [record(span) for span in retrieved]}]


def characters(pieces: Sequence[Span]) -> set[tuple[str, int]]:
    return {(document, at) for document, start, end in pieces for at in range(start, end)}


def naive(gold: Sequence[Span], retrieved: Sequence[Span], measure: str) -> float:
    """Compute a measure of spans from sets of characters."""
    wanted, shown = characters(gold), characters(retrieved)
    both = len(wanted & shown)
    below = {
        "SpanRecall": len(wanted),
        "SpanPrecision": len(shown),
        "SpanIoU": len(wanted | shown),
    }[measure]
    return both / below if below else 0.0


def found_at(gold: Sequence[Span], retrieved: Sequence[Span], overlap: float) -> list[int]:
    """Return the ranks that the gold spans found take, from sets of characters."""
    ranks: list[int] = []
    left = dict.fromkeys(gold)
    for rank in range(1, len(retrieved) + 1):
        above, shown = characters(retrieved[: rank - 1]), characters(retrieved[:rank])
        for span in list(left):
            mine = characters([span])
            assert len(mine & above) / len(mine) < overlap
            if len(mine & shown) / len(mine) >= overlap:
                del left[span]
                ranks.append(max(rank, ranks[-1] + 1 if ranks else 1))
    return ranks


@settings(max_examples=40, deadline=None)
@given(st.lists(spans, min_size=1, max_size=4), st.lists(spans, max_size=6), st.integers(1, 7))
def test_measures_of_spans_equal_sets_of_characters(
    gold: list[Span], retrieved: list[Span], cutoff: int
) -> None:
    if not characters(gold) & characters(retrieved):
        return  # what shares nothing is refused, or 0
    scores = rs.evaluate(
        golden(gold), answer(retrieved), [*SPAN_MEASURES, *(f"{m}@{cutoff}" for m in SPAN_MEASURES)]
    )
    for measure in SPAN_MEASURES:
        assert math.isclose(scores[measure], naive(gold, retrieved, measure))
        at_cutoff = naive(gold, retrieved[:cutoff], measure)
        assert math.isclose(scores[f"{measure}@{cutoff}"], at_cutoff)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(spans, min_size=1, max_size=4, unique=True),
    st.lists(spans, min_size=1, max_size=6),
    st.sampled_from([0.1, 0.5, 1.0]),
)
def test_a_ranking_finds_each_gold_span_once(
    gold: list[Span], retrieved: list[Span], overlap: float
) -> None:
    if not characters(gold) & characters(retrieved):
        return
    ranks = found_at(gold, retrieved, overlap)
    scores = rs.evaluate(golden(gold), answer(retrieved), RANKED, overlap=overlap)
    assert scores["RR"] == (1 / ranks[0] if ranks else 0.0)
    assert scores["R@3"] == sum(rank <= 3 for rank in ranks) / len(gold)
    assert scores["Success@2"] == float(any(rank <= 2 for rank in ranks))
    for measure, value in scores.means.items():
        low, high = Measure.parse(measure).definition.range
        assert low <= value <= high + 1e-12, measure


@settings(max_examples=40, deadline=None)
@given(st.lists(spans, min_size=1, max_size=4, unique=True), st.data())
def test_cutting_otherwise_changes_no_gold(gold: list[Span], data: st.DataObject) -> None:
    """The same text retrieved in other chunks, that overlap or not, has the same span recall."""
    length = 40
    cuts = st.lists(st.integers(1, length - 1), max_size=8, unique=True)
    recalls = []
    for overlapping in (0, 3):
        edges = [0, *sorted(data.draw(cuts)), length]
        pairs = pairwise(edges)
        pieces = [("a", max(start - overlapping, 0), end) for start, end in pairs]
        retrieved = data.draw(st.permutations(pieces))
        everywhere = [span for span in gold if span[0] == "a"]
        if not everywhere:
            return
        scores = rs.evaluate(golden(gold), answer(retrieved), ["SpanRecall", "SpanIoU", "SetR"])
        recalls.append(scores.means)
    assert recalls[0] == recalls[1]
    assert recalls[0]["SetR"] == len(everywhere) / len(gold)


def test_the_worked_example() -> None:
    """Two halves of a gold span, then the first half again, then a piece that holds two others."""
    gold = [("a", 100, 200), ("b", 0, 50), ("b", 300, 400)]
    retrieved = [("a", 0, 150), ("a", 150, 300), ("a", 90, 160), ("b", 0, 500)]
    scores = rs.evaluate(
        golden(gold), answer(retrieved), ["R@4", "R@5", "RR", "nDCG", *SPAN_MEASURES]
    )
    assert scores["R@4"] == 2 / 3  # the second span of a piece takes the next rank
    assert scores["R@5"] == 1.0
    assert scores["RR"] == 1.0  # half of it is enough
    assert scores["SpanRecall"] == 1.0
    assert scores["SpanPrecision"] == 250 / 800
    gains = {1: 0.5, 2: 0.5, 4: 1.0, 5: 1.0}
    ideal = sum(1 / math.log2(rank + 1) for rank in (1, 2, 3))
    expected = sum(gain / math.log2(rank + 1) for rank, gain in gains.items()) / ideal
    assert math.isclose(scores["nDCG"], expected)
    whole = rs.evaluate(golden(gold), answer(retrieved), ["RR", "R@4"], overlap=1.0)
    assert (whole["RR"], whole["R@4"]) == (0.5, 2 / 3)
    assert whole.accounting.spans.to_dict() == {
        "unit": "characters",
        "overlap": 1.0,
        "gold": 3,
        "retrieved": 4,
    }


# --- texts


FOX = "The quick brown fox jumps over the lazy dog near the river bank."


def test_texts_cover_words_in_their_order() -> None:
    easy = "something else that is easy to find"
    gold = [{"user_input": "q", "reference_contexts": [FOX]},
            {"user_input": "r", "reference_contexts": [easy]}]  # fmt: skip
    for retrieved, recall in (
        ([FOX], 1.0),
        (["So: the  QUICK brown\nfox jumps over — the lazy dog, near the river bank!"], 1.0),
        (["The quick brown fox jumps over"], 6 / 13),
        (["The quick brown fox jumps over", "over the lazy dog near the river bank"], 1.0),
        (["The quick brown fox jumps over", "brown fox jumps over the lazy"], 8 / 13),
        (["the lazy fox jumps quick over the brown river bank near dog"], 0.0),
        (["The quick brown cat jumps over the lazy dog"], 5 / 13),
    ):
        run = {"q": retrieved, "r": [easy]}
        scores = rs.evaluate(gold, run, ["SpanRecall"], relevant="reference_contexts", overlap=0.5)
        assert math.isclose(scores.values("SpanRecall")["q"], recall), retrieved
        assert scores.accounting.spans.unit == "words"


def test_texts_match_as_wholes_unless_an_overlap_is_given() -> None:
    gold = {"q": [{"text": FOX}, {"text": "Cafe\u0301  au lait"}], "r": [{"text": "Port 8080"}]}
    run = {
        "q": ["The quick brown fox", f" {FOX.upper()}\n", "CAF\u00c9 au\tLAIT", FOX],
        "r": ["use port 8080 here"],
    }
    scores = rs.evaluate(gold, run, ["RR", "R@2", "R@9", "SpanRecall", "SpanPrecision"])
    assert scores.values("RR") == {"q": 0.5, "r": 0.0}
    assert scores.values("R@2") == {"q": 0.5, "r": 0.0}
    assert scores.values("SpanRecall") == {"q": 1.0, "r": 0.0}
    assert scores.values("SpanPrecision")["q"] == 16 / 20
    assert rs.evaluate(gold, run, "RR", overlap=1).values("RR") == {"q": 0.5, "r": 1.0}


def test_passages_of_one_template_are_said() -> None:
    text = "the monthly price of plan {} for a team of ten people in Europe"
    gold = {"q": [{"text": text.format(name)} for name in "abcd"]}
    scores = rs.evaluate(gold, {"q": [text.format("a")]}, "R@9", overlap=0.5)
    assert "RS137" in {finding.code for finding in scores.findings}
    assert scores["R@9"] == 1
    whole = rs.evaluate(gold, {"q": [text.format("a")]}, "R@1")
    assert (whole["R@1"], whole.findings) == (0.25, ())


def test_short_passages_must_be_whole_and_other_scripts_count_by_sign() -> None:
    gold = {
        "q1": [{"text": "Port 8080"}],
        "q2": [{"text": "東京タワーは日本の塔です"}],
        "q3": [{"text": "Cafe\u0301 au lait"}],
    }
    run = {
        "q1": ["use port 8080 here"],
        "q2": ["東京タワーは日本のものだ"],
        "q3": ["CAF\u00c9 au LAIT"],
    }
    values = rs.evaluate(gold, run, ["SpanRecall"], overlap=0.5).values("SpanRecall")
    assert values == {"q1": 1.0, "q2": 9 / 12, "q3": 1.0}
    assert (
        rs.evaluate(gold, {**run, "q1": ["port 80 80"]}, ["SpanRecall"]).values("SpanRecall")["q1"]
        == 0
    )


# --- forms


GOLD: list[dict[str, Any]] = [
    {"id": "q1", "question": "How?", "spans": [{"doc": "a", "start": 100, "end": 200}]},
    {"id": "q2", "question": "Why?", "spans": [{"doc": "b", "start": 0, "end": 50}]},
    {"id": "q3", "question": "What?", "spans": [], "no_answer": True},
]
ANSWERS: list[dict[str, Any]] = [
    {
        "id": "q1",
        "chunks": [{"doc": "c", "start": 0, "end": 9}, {"doc": "a", "start": 0, "end": 300}],
    },
    {"id": "q2", "chunks": [{"doc": "b", "start": 0, "end": 40}]},
]
ROWS = "query_id,doc_id,start,end\nq1,a,100,200\nq2,b,0,50\n"
ANSWER_ROWS = "query_id,doc_id,start,end,score\nq1,c,0,9,2\nq2,b,0,40,1\nq1,a,0,300,1\n"


def test_every_file_says_the_same(tmp_path: Path) -> None:
    for name, text in {
        "gold.json": json.dumps(GOLD),
        "gold.jsonl": "\n".join(map(json.dumps, GOLD)),
        "gold.csv": ROWS,
        "gold.tsv": ROWS.replace(",", "\t"),
        "run.json": json.dumps(ANSWERS),
        "run.jsonl": "\n".join(map(json.dumps, ANSWERS)),
        "run.csv": ANSWER_ROWS,
    }.items():
        (tmp_path / name).write_text(text)
    pl.DataFrame(GOLD).write_parquet(tmp_path / "gold.parquet")
    pl.DataFrame(ANSWERS).write_parquet(tmp_path / "run.parquet")
    for gold in tmp_path.glob("gold.*"):
        for run in tmp_path.glob("run.*"):
            scores = rs.evaluate(gold, [run], ["RR", "SpanRecall"])
            assert scores.run().means == {"RR": 0.75, "SpanRecall": 0.9}, (gold, run)


def test_every_object_says_the_same() -> None:
    by_query = {r["id"]: r["chunks"] for r in ANSWERS}
    langchain = {
        "q1": [
            SimpleNamespace(page_content="x" * 9, metadata={"source": "c", "start_index": 0}),
            SimpleNamespace(page_content="x" * 300, metadata={"source": "a", "start_index": 0}),
        ],
        "q2": [SimpleNamespace(page_content="x" * 40, metadata={"source": "b", "start_index": 0})],
    }
    node = SimpleNamespace(ref_doc_id="b", start_char_idx=0, end_char_idx=40, text="…")
    llama = {**by_query, "q2": [SimpleNamespace(node=node, score=0.3)]}
    golds = [GOLD, pl.DataFrame(GOLD), {r["id"]: r["spans"] for r in GOLD if r["spans"]}]
    for gold in golds:
        for run in (ANSWERS, pl.DataFrame(ANSWERS), by_query, langchain, llama):
            assert rs.evaluate(gold, run, ["RR", "SpanRecall"]).means == {
                "RR": 0.75,
                "SpanRecall": 0.9,
            }


def test_chunks_may_be_named_by_id_and_looked_up_in_the_corpus(tmp_path: Path) -> None:
    corpus = [
        {"_id": "c1", "doc": "a", "start": 0, "end": 300, "text": "…"},
        {"_id": "c2", "doc": "b", "start": 0, "end": 40, "text": "…"},
        {"_id": "c3", "doc": "c", "start": 0, "end": 9, "text": "…"},
    ]
    path = tmp_path / "bm25.run"
    path.write_text("q1 Q0 c3 1 2 t\nq1 Q0 c1 2 1 t\nq2 Q0 c2 1 1 t\n")
    scores = rs.evaluate(GOLD, [path], ["RR", "SpanRecall"], corpus=corpus)
    assert scores.run().means == {"RR": 0.75, "SpanRecall": 0.9}
    with pytest.raises(InputError, match="'c3'"):
        rs.evaluate(GOLD, [path], corpus=corpus[:2])


def test_marked_questions_are_left_out() -> None:
    scores = rs.evaluate(GOLD, ANSWERS, ["RR"])
    assert (scores.accounting.queries, scores.accounting.no_answer) == (2, 1)
    unmarked = [{**record, "no_answer": False} for record in GOLD]
    assert rs.evaluate(unmarked, ANSWERS, ["RR"]).accounting.without_relevant == 1
    assert rs.evaluate(unmarked, ANSWERS, ["RR"], no_answer="empty").accounting.no_answer == 1


def test_compare_and_gate_take_spans() -> None:
    worse = [{**record, "chunks": record["chunks"][:1]} for record in ANSWERS]
    result = rs.compare(GOLD, {"all": ANSWERS, "first": worse}, ["SpanRecall"])
    assert {mean.run: mean.mean for mean in result.means} == {"all": 0.9, "first": 0.4}
    assert rs.gate(ANSWERS, ANSWERS, "SpanRecall", qrels=GOLD).answer == "no regression"


def test_a_list_of_records_says_more_than_one_of_texts() -> None:
    run = [{**record, "contexts": ["a text"] * len(record["chunks"])} for record in ANSWERS]
    assert rs.evaluate(GOLD, run, ["SpanRecall"])["SpanRecall"] == 0.9


def test_ids_win_over_texts_beside_them() -> None:
    gold = [{"question": "q", "expected_ids": ["d1"], "reference_contexts": ["some text"]}]
    assert rs.evaluate(gold, {"q": ["d1"]}, ["RR"])["RR"] == 1.0
    answers = [{"question": "q", "ground_truth": "An answer.", "reference_contexts": [FOX]}]
    scores = rs.evaluate(answers, {"q": [FOX]}, ["RR"], relevant="reference_contexts")
    assert scores.accounting.spans.unit == "passages"


def test_scores_are_kept_with_how_they_were_made() -> None:
    one, other = (rs.evaluate(GOLD, ANSWERS, ["RR"], overlap=share) for share in (0.5, 0.9))
    assert one.judgments.fingerprint != other.judgments.fingerprint
    assert one.to_dict()["runs"]["run"]["accounting"]["spans"]["overlap"] == 0.5


def test_scores_order_pieces_unless_the_list_is_to_count() -> None:
    run = {"q1": [record(("c", 0, 9), score=0.1), record(("a", 0, 300), score=0.9)], "q2": []}
    assert rs.evaluate(GOLD, run, ["RR"]).values("RR")["q1"] == 1.0
    assert rs.evaluate(GOLD, run, ["RR"], order="given").values("RR")["q1"] == 0.5
    ranked = {"q1": [record(("c", 0, 9), rank=2), record(("a", 0, 300), rank=1)]}
    assert rs.evaluate(GOLD, ranked, ["RR"]).values("RR")["q1"] == 1.0


def test_pieces_may_have_grades_that_are_fractions() -> None:
    gold = {"q": [record(("a", 0, 9), grade=0.5)]}
    assert rs.evaluate(gold, {"q": [record(("a", 0, 9))]}, "nDCG")["nDCG"] == 1


def test_one_table_holds_passages_and_what_was_retrieved() -> None:
    row = {"user_input": "q", "reference_contexts": [FOX], "retrieved_contexts": ["no", FOX]}
    gold, found = "reference_contexts", "retrieved_contexts"
    for run in (None, [row]):
        scores = rs.evaluate([row], run, "RR", relevant=gold, retrieved=found)
        assert scores["RR"] == 0.5
        assert gold in scores.reading
        assert found in scores.reading


def test_pieces_come_in_the_shapes_of_ids() -> None:
    gold = {"t1": [{"text": "some words"}]}
    names = ("id", "score", "content")
    values = ("x", 0.9, "no"), ("y", 0.8, "some words")
    documents = [dict(zip(names, each, strict=True)) for each in values]
    attributes = {"retrieval.documents": [{"document": each} for each in documents]}
    for run in (
        [{"name": "retrieve", "trace_id": "t1", "span_id": "s", "attributes": attributes}],
        {"query_id": ["t1"], "retrieved_contexts": [["no", "some words"]]},
        [{"query_id": "t1", "hits": documents}],
    ):
        assert rs.evaluate(gold, run, "RR")["RR"] == 0.5
    with pytest.raises(InputError, match="list"):
        rs.evaluate(gold, [["some words"]], "RR")
    with pytest.raises(InputError, match="typo"):
        rs.evaluate(gold, [{"query_id": "t1", "hits": documents}], "RR", retrieved="typo")


def test_what_cannot_be_compared_is_refused() -> None:
    def piece(**fields: Any) -> list[dict[str, Any]]:
        return [{"q": "x", "spans": [fields]}]

    some_scored = {"q1": [record(("c", 0, 9)), record(("a", 0, 300), score=0.9)]}
    refused: list[tuple[Any, Any, dict[str, Any], str]] = [
        (GOLD, {"q1": ["a text"]}, {}, "without a document"),
        (piece(doc="a", start=9, end=9), {"x": []}, {}, "start before end"),
        (piece(start=1, end=9), {"x": []}, {}, "a document with start"),
        (piece(doc="a", start=1), {"x": []}, {}, "start and end"),
        (piece(doc="a", start=-1, end=9), {"x": []}, {}, "start and end"),
        ([{"q": "x", "spans": [record(("a", 0, 9)), "text"]}], {"x": []}, {}, "all of it a text"),
        (GOLD, {"q1": 5}, {}, "'q1' has '5'"),
        (GOLD, {"q1": [record(("a", 0, 10**400))]}, {}, "finite number"),
        (GOLD, {"q1": [{"doc": "a", "start": 0, "end": math.inf}]}, {}, "finite number"),
        (GOLD, [{"who": 1}], {}, "'who'"),
        (GOLD, {"z": [record(("a", 0, 9))]}, {}, "no query id in common"),
        (GOLD, some_scored, {}, "give all pieces"),
        (GOLD, ANSWERS, {"doc_id_from": "#"}, "doc_id_from"),
        (GOLD, ANSWERS, {"overlap": 2}, "overlap"),
        ({"q": ["d"]}, {"q": ["d"]}, {"measures": ["SpanRecall"]}, "spans or texts"),
    ]
    for gold, run, options, word in refused:
        with pytest.raises(InputError, match=word):
            rs.evaluate(gold, run, **options)
    with pytest.raises(InputError, match="spans or texts"):
        rs.Qrels(GOLD)
