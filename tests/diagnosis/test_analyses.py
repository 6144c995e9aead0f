"""The registry of analyses: what follows from a registration, and that no answer is silence."""

from __future__ import annotations

import json
from typing import Any

import pytest

import rankscope as rs
from rankscope.collection.decisions import as_decisions
from rankscope.collection.ratings import as_ratings
from rankscope.diagnosis import registry
from rankscope.diagnosis.languages import LanguagesConfig
from rankscope.diagnosis.registry import (
    Analysed,
    Analysis,
    AnalysisConfig,
    Inputs,
    all_analyses,
    analyses_model,
    register,
)
from rankscope.diagnosis.repeats import Repeats
from rankscope.diagnosis.segments import SEGMENTS, Segments, SegmentsConfig
from rankscope.diagnosis.stages import STAGES, Stages, StagesConfig, StageSpec
from rankscope.diagnosis.swept_options import Swept
from rankscope.document.blocks import Section, Table
from rankscope.findings import NotApplicable, codes
from rankscope.part import Part
from rankscope.records import BenchmarkReport
from rankscope.runs.exactness import Exactness, QueryExactness
from rankscope.scoring.judgments import Judgments
from rankscope.statistics.settings import Settings

QRELS = {f"q{n}": {"a": 1, "b": 2, "c": 1} for n in range(12)}
RUNS = {
    "first": {query_id: {"x": 4.0, "a": 3.0, "b": 2.0, "c": 1.0} for query_id in QRELS},
    "second": {q: {"b": 3.0, "a": n % 3, "x": 1.5, "c": 1.0} for n, q in enumerate(QRELS)},
    **{
        f"more{k}": {q: {"x": k / 2, "b": n % k, "a": 1.2} for n, q in enumerate(QRELS)}
        for k in (2, 3, 4)
    },
}
NO_ANSWER = "none"
QUERIES: list[Any] = [
    (query_id, f"words about {query_id}", {"kind": "even" if n % 2 else "odd"})
    for n, query_id in enumerate(QRELS)
]
PIPELINE = (StageSpec("first", "bm25"), StageSpec("second", "rerank", ("first",), 4))
DECISIONS = [
    {
        "query_id": query_id,
        "route": "a",
        "best": "ab"[n % 2],
        "retrieved": n % 3 > 0,
        "needed": n % 2 > 0,
    }
    for n, query_id in enumerate(QRELS)
]
EXACTNESS = Exactness(
    system="first",
    k=2,
    tolerance=1e-5,
    documents=5,
    filters=False,
    queries=tuple(
        QueryExactness(query_id=query_id, wanted=2, hits=1, filtered=0.0) for query_id in QRELS
    ),
)
RATINGS = {"ann": QRELS, "bob": {query_id: {"a": 1, "b": 1, "c": 0} for query_id in QRELS}}


def inputs(**changed: Any) -> Inputs:
    """Return all that an analysis may look at."""
    answers: dict[str, Any] = {name: {**run, NO_ANSWER: {"x": 1.0}} for name, run in RUNS.items()}
    runs: Any = {name: rs.Run(run, name=name) for name, run in answers.items()}
    judgments = Judgments({**QRELS, NO_ANSWER: {}}, no_answer=[NO_ANSWER])
    given: dict[str, Any] = {
        "scores": rs.evaluate(judgments, runs, ["nDCG@2", "RR"]),
        "runs": runs,
        "qrels": judgments,
        "queries": QUERIES,
        "corpus": rs.Corpus({doc: f"{doc} is the only document about {doc}" for doc in "abcxy"}),
        "titles": str,
        "pipeline": PIPELINE,
        "decisions": as_decisions(DECISIONS),
        "ratings": as_ratings(RATINGS),
        "training": QUERIES[:1],
        "costs": {name: {"latency_ms": float(place)} for place, name in enumerate(RUNS)},
        "exactness": {"first": EXACTNESS},
        "repeats": Repeats({"first": [runs["second"]]}, is_rebuilt=False),
        "sweeps": {"first": Swept("it", {"k": 1}), "second": Swept("it", {"k": 2})},
        "baseline": "first",
        "documents": 5,
        "settings": Settings(resamples=100),
    }
    return Inputs(**given | changed)


CONFIGS: dict[str, Part] = {
    "segments": SegmentsConfig(fields=("kind",)),
    "languages": LanguagesConfig(field="kind"),
}
"""Where the defaults do not do for so small a world."""


def config_of(analysis: Any) -> Any:
    return CONFIGS.get(analysis.name) or analysis.config()


@pytest.mark.parametrize("analysis", all_analyses(), ids=lambda analysis: analysis.name)
def test_what_follows_from_a_registration(analysis: Any) -> None:
    found = analysis.answer(config_of(analysis), inputs())
    assert isinstance(found, analysis.result)
    # its field in the record, and in the schema
    record = analyses_model().model_validate({analysis.name: found.to_dict()})
    assert analysis.of(record) == found
    assert analysis.of(analyses_model()()) is None
    schema = BenchmarkReport.json_schema()
    field = schema["$defs"]["Analyses"]["properties"][analysis.name]
    assert field["description"].startswith(analysis.summary)
    assert {"$ref": f"#/$defs/{analysis.result.__name__}"} in field["anyOf"]
    # its section
    section = analysis.section(found)
    assert section.title == analysis.title
    assert any(isinstance(block, Table) and block.rows for block in section.all_blocks)
    # its codes
    assert set(analysis.codes) <= set(codes())
    assert {finding.code for finding in found.findings} <= {code.code for code in analysis.codes}
    # its key: everything that decides, and nothing else
    hashes = dict.fromkeys((*analysis.needs, *analysis.uses), "hash")
    key = analysis.key_parts(analysis.config(), inputs(), hashes)
    other = analysis.key_parts(analysis.config(), inputs(), {**hashes, "corpus": "other"})
    assert (key == other) == (not analysis.looks_at("corpus"))
    assert key != analysis.key_parts(analysis.config(), inputs(baseline="second"), hashes)
    assert key != analysis.key_parts(analysis.config(), inputs(settings=Settings(seed=1)), hashes)
    json.dumps(key)


@pytest.mark.parametrize("analysis", all_analyses(), ids=lambda analysis: analysis.name)
def test_what_is_not_given_is_said(analysis: Any) -> None:
    config = config_of(analysis)
    for need in analysis.needs:
        answer = analysis.answer(config, inputs(**{need: None}))
        assert isinstance(answer, NotApplicable)
        assert answer.name == analysis.name
        assert answer.reason
        back = analyses_model().model_validate({analysis.name: answer.to_dict()})
        assert getattr(back, analysis.name) == answer
        assert analysis.of(back) is None


def test_segments() -> None:
    found = SEGMENTS.answer(SegmentsConfig(fields=("kind",)), inputs())
    assert isinstance(found, Segments)
    assert (found.measure, found.baseline) == ("nDCG@2", "first")
    assert [group.label for group in found.segments[0].groups] == ["even", "odd"]
    assert {finding.code for finding in found.findings} == {"RS602"}
    nothing = SEGMENTS.answer(SegmentsConfig(), inputs())
    reason = "without a field that is named it needs at least 20 queries, and there are 12"
    assert nothing == NotApplicable(name="segments", reason=reason)


def test_segments_are_configured_by_a_list() -> None:
    assert SegmentsConfig.model_validate(["a", "words"]) == SegmentsConfig(fields=("a", "words"))
    assert SegmentsConfig.model_validate({"fields": ["a"], "bins": 2}).bins == 2


def test_the_section_of_segments() -> None:
    found = SEGMENTS.answer(SegmentsConfig(fields=("kind",)), inputs())
    assert isinstance(found, Segments)
    _, table = SEGMENTS.section(found).details
    assert isinstance(table, Table)
    assert [column.title for column in table.columns] == ["group", "queries", *RUNS]
    label, size, first, second, *_ = table.rows[0]
    group = found.segments[0].groups[0]
    means = {mean.system: mean for mean in group.means if mean.measure == found.measure}
    assert (label.value, size.value) == ("even", 6)
    assert first.value == means["first"].mean
    assert second.interval == (means["second"].interval.low, means["second"].interval.high)
    assert second.change == means["second"].difference
    assert "difference to first" in " ".join(table.notes)


def test_stages() -> None:
    found = STAGES.answer(StagesConfig(cutoff=2), inputs())
    assert isinstance(found, Stages)
    assert [stage.system for stage in found.stages] == ["first", "second"]
    assert found.stages[1].cutoff == 2
    assert found.findings == ()
    alone = STAGES.answer(StagesConfig(), inputs(pipeline=PIPELINE[:1]))
    assert alone == NotApplicable(name="stages", reason="no system builds on another")


def test_the_section_of_stages() -> None:
    found = STAGES.answer(StagesConfig(cutoff=2), inputs())
    assert isinstance(found, Stages)
    section = STAGES.section(found)
    [changes] = section.blocks
    tables = {block.title: block for block in section.details if isinstance(block, Table)}
    means = tables["What each stage has"]
    rerankers = tables["What rerankers made of their input"]
    tops = tables["The first 2 of each answer"]
    assert isinstance(changes, Table)
    assert [row[0].value for row in means.rows] == ["first (bm25)", "second (rerank of first)"]
    [change] = changes.rows
    assert change[2].value == found.stages[1].changes[0].difference
    [reranker] = rerankers.rows
    assert [cell.value for cell in reranker[:4]] == ["second", 4, 1.0, 1.0]
    assert [column.title for column in tops.columns] == [
        "stage",
        "gained",
        "lost",
        "grade 2",
        "grade 1",
        "unjudged",
    ]


def test_a_name_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ANALYSES", {})
    analysis: Analysis[AnalysisConfig, Analysed] = Analysis(
        name="mine",
        title="Mine",
        summary="Mine.",
        config=AnalysisConfig,
        written="",
        result=Analysed,
        needs=(),
        look=lambda _, __: Analysed(),
        section=lambda _: Section("Mine", ()),
    )
    register(analysis)
    assert analysis.answer(AnalysisConfig(), Inputs()) == Analysed()
    with pytest.raises(ValueError, match="two analyses are called mine"):
        register(analysis)
