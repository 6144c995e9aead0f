"""The section that defines measures: names, formulas, parameters, edges, rules."""

from __future__ import annotations

import pytest

from rankscope.document.blocks import Document, Entries, Entry, Section
from rankscope.document.html import fragment
from rankscope.document.markdown import as_markdown
from rankscope.document.pages import page
from rankscope.document.terminal import as_text
from rankscope.measures.language import Measure
from rankscope.measures.registry import all_definitions
from rankscope.reports.measure_definitions import definitions_section, parameters_of

DEFINITIONS = all_definitions()


def entries(*measures: str, profile: str = "rankscope", **rules: str) -> list[Entry]:
    section = definitions_section(measures, asked={}, profile=profile, rules=rules or None)
    [block, _] = section.details
    assert section.blocks == ()
    assert isinstance(block, Entries)
    return list(block.entries)


def test_an_entry() -> None:
    section = definitions_section(["AP@100"], asked={"AP@100": "map_cut_100"}, profile="rankscope")
    [block, _] = section.details
    assert isinstance(block, Entries)
    [entry] = block.entries
    assert (entry.name, entry.note) == ("AP@100", "asked for as map_cut_100")
    assert entry.text == "Mean of the precision at each relevant document."
    assert "Σ over relevant documents" in entry.formula
    facts = dict(entry.facts)
    assert facts["parameters"].startswith("k = 100: only the first 100 documents count; rel = 1")
    assert facts["range"] == "0 to 1, higher is better"
    assert facts["no relevant document"] == "0"
    assert facts["query missing from a run"] == "counts as 0"
    assert facts["reference"].startswith("Harman 1992")


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda definition: definition.name)
def test_every_measure_is_defined(definition: object) -> None:
    name = getattr(definition, "example", "")
    [entry] = entries(str(Measure.parse(name)))
    assert entry.text == getattr(definition, "summary", None)
    assert entry.formula
    assert {"range", "over queries", "query missing from a run"} <= dict(entry.facts).keys()


def test_parameters_that_play_no_part_are_left_out() -> None:
    def names(measure: str) -> list[str]:
        return [text.split(" ")[0] for text in parameters_of(Measure.parse(measure))]

    assert names("nDCG@10") == ["k", "gain"]
    assert names("nDCG(gain=binary)@10") == ["k", "gain", "rel"]
    assert names("nDCG(least=2)@10") == ["k", "gain", "least"]
    assert names("nDCG(sim=hybrid)@10") == ["k", "gain", "sim", "depth"]
    assert names("nDCG(sim=lin)@10") == ["k", "gain", "sim", "ic"]
    assert names("AP(judged_only=True)") == ["no", "rel", "norm", "judged_only"]
    assert names("ERR@5") == ["k", "max_rel"]


@pytest.mark.parametrize(
    ("profile", "measure", "missing", "nothing_relevant"),
    [
        ("rankscope", "nDCG@5", "counts as 0", "0"),
        ("trec_eval-9", "nDCG@5", "is left out of the mean", "0"),
        ("trec_eval-10", "nDCG@5", "is an error", "0"),
        ("beir", "nDCG@5", "is left out of the mean", "0"),
        ("beir", "RR@5", "counts as 0", "0"),
        ("sentence-transformers", "R@5", "counts as 0", "the query is left out of the mean"),
    ],
)
def test_edges_follow_the_rules(
    profile: str, measure: str, missing: str, nothing_relevant: str
) -> None:
    facts = dict(entries(measure, profile=profile)[0].facts)
    assert facts["query missing from a run"] == missing
    assert facts["no relevant document"] == nothing_relevant


def test_single_rules_may_be_others() -> None:
    [entry] = entries("R@5", queries="both")
    assert dict(entry.facts)["query missing from a run"] == "is left out of the mean"


def test_what_a_profile_does_not_promise_is_said() -> None:
    [entry] = entries("ERR@5", profile="beir")
    assert dict(entry.facts)["doubt"] == "may differ from that of beir: it has no such measure"


def test_a_measure_that_is_not_here_and_unknown_rules() -> None:
    [entry] = entries("Mine@3", profile="theirs")
    assert entry.text == "a measure of another package, which is not installed here"
    [known] = entries("R@5", profile="theirs")
    assert "query missing from a run" not in dict(known.facts)


def test_no_measure_no_section() -> None:
    assert definitions_section([], asked={}, profile="rankscope").all_blocks == ()


def test_forms() -> None:
    section = definitions_section(["R@5"], asked={}, profile="rankscope")
    document = Document("x", (Section("first", ()), section))
    assert '<p class="formula"><code>(relevant in the first k) / R</code></p>' in page(document)
    assert '<details class="entry" open>' in page(document)
    assert '<details class="entry">' in fragment(document)
    text = as_markdown(document)
    assert "| R@5     | Share of all relevant documents" in text
    assert "(relevant in the first k) / R" in text
    assert "Definitions" not in as_text(document)
