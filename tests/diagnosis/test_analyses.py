"""The registry of analyses: what is kept, shown and said of each of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import rankscope as rs
from rankscope.collection.decisions import as_decisions
from rankscope.collection.ratings import as_ratings
from rankscope.diagnosis import analysis as registry
from rankscope.diagnosis.analysis import (
    Analysed,
    Config,
    Inputs,
    all_analyses,
    analyses_model,
)
from rankscope.diagnosis.approximation import Exactness, QueryExactness
from rankscope.diagnosis.languages import LanguagesConfig
from rankscope.diagnosis.repeats import Repeats
from rankscope.diagnosis.segments import SegmentsConfig
from rankscope.diagnosis.stages import StageSpec, stages
from rankscope.diagnosis.swept_options import Swept
from rankscope.document.blocks import Table
from rankscope.findings import CODES, NotApplicable
from rankscope.part import Part
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
    queries=tuple(QueryExactness(query_id=query_id, wanted=2, hits=1) for query_id in QRELS),
)
CORPUS = {
    doc: {"text": f"{doc} is the only document about {doc}", "embedding": [1.0, n]}
    for n, doc in enumerate("abcxy")
}
RATINGS = {"ann": QRELS, "bob": {query_id: {"a": 1, "b": 1, "c": 0} for query_id in QRELS}}


@cache
def inputs() -> Inputs:
    """Return all that an analysis may look at."""
    answers: dict[str, Any] = {name: {**run, NO_ANSWER: {"x": 1.0}} for name, run in RUNS.items()}
    runs: Any = {name: rs.Run(run, name=name) for name, run in answers.items()}
    judgments = Judgments({**QRELS, NO_ANSWER: {}}, no_answer=[NO_ANSWER])
    return Inputs(
        scores=rs.evaluate(judgments, runs, ["nDCG@2", "RR"]),
        runs=runs,
        qrels=judgments,
        queries=QUERIES,
        corpus=rs.Corpus(CORPUS),
        titles=str,
        pipeline=PIPELINE,
        decisions=as_decisions(DECISIONS),
        ratings=as_ratings(RATINGS),
        training=QUERIES[:1],
        costs={name: {"latency_ms": float(place)} for place, name in enumerate(RUNS)},
        exactness={"first": EXACTNESS},
        repeats=Repeats({"first": [runs["second"]]}, is_rebuilt=False),
        sweeps={"first": Swept("it", {"k": 1}), "second": Swept("it", {"k": 2})},
        baseline="first",
        documents=5,
        settings=Settings(resamples=100),
    )


CONFIGS: dict[str, Part] = {
    "segments": SegmentsConfig(fields=("kind",)),
    "languages": LanguagesConfig(field="kind"),
}
"""Where the defaults do not do for so small a world."""


def answer_of(analysis: Any, given: Inputs) -> Any:
    return analysis.answer(CONFIGS.get(analysis.name) or analysis.config(), given)


@cache
def model() -> Any:
    return analyses_model()


@pytest.mark.parametrize("analysis", all_analyses(), ids=lambda analysis: analysis.name)
def test_an_answer_is_kept_in_a_record_and_shown(analysis: Any) -> None:
    found = answer_of(analysis, inputs())
    assert isinstance(found, analysis.result)
    record = model().model_validate({analysis.name: found.to_dict()})
    assert analysis.of(record) == found
    assert analysis.of(model()()) is None
    section = analysis.section(found)
    assert any(isinstance(block, Table) and block.rows for block in section.all_blocks)
    assert set(analysis.codes) <= set(CODES.values())
    assert {finding.code for finding in found.findings} <= {code.code for code in analysis.codes}


@pytest.mark.parametrize("analysis", all_analyses(), ids=lambda analysis: analysis.name)
def test_what_is_not_given_is_said(analysis: Any) -> None:
    for need in analysis.needs:
        given: dict[str, Any] = {need: None}
        answer = answer_of(analysis, replace(inputs(), **given))
        assert isinstance(answer, NotApplicable)
        assert answer.name == analysis.name
        assert answer.reason
        back = model().model_validate({analysis.name: answer.to_dict()})
        assert getattr(back, analysis.name) == answer
        assert analysis.of(back) is None


def test_every_analysis_is_in_the_schema() -> None:
    fields = model().json_schema()["properties"]
    for analysis in all_analyses():
        field = fields[analysis.name]
        assert field["description"].startswith(analysis.summary)
        assert {"$ref": f"#/$defs/{analysis.result.__name__}"} in field["anyOf"]


def test_a_pipeline_of_one_stage_has_nothing_to_compare() -> None:
    alone = stages.answer(Config(), replace(inputs(), pipeline=PIPELINE[:1]))
    assert isinstance(alone, NotApplicable)


def test_a_name_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ANALYSES", {})

    def mine(_: Config, __: Inputs) -> Analysed:
        """Nothing."""
        return Analysed()

    made = registry.analysis(title="Mine", needs=(), place=1)(mine)
    assert (made.name, made.summary, made.result) == ("mine", "Nothing.", Analysed)
    assert made.answer(Config(), Inputs()) == Analysed()
    with pytest.raises(ValueError, match="mine"):
        registry.analysis(title="Mine", needs=(), place=1)(mine)
