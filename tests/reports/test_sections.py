"""What a report says of its means: what they cover, how they are defined, how to repeat them."""

from __future__ import annotations

from typing import Any

import rankscope as rs
from rankscope.document.blocks import Notes, Sentences
from rankscope.measures.language import Measure
from rankscope.measures.registry import all_definitions
from rankscope.records.report import ExperimentManifest, Machine
from rankscope.reports.definitions import coverage_section, meanings
from rankscope.reports.what_ran import repeat_section
from reports.sample import sample

QRELS = {"q1": {"d1": 1}, "q2": {"d2": 0}, "q3": {"d3": 1}}
RUN = {"q1": {"d1": 1.0, "d2": 1.0}, "q2": {"d2": 0.5}, "q9": {"d1": 1.0}}
REPORT = sample()


# --- what each mean covers -----------------------------------------------------------------------


def test_every_count_is_said() -> None:
    accounting = rs.evaluate(QRELS, RUN, ["R@1"]).accounting
    whole = rs.evaluate(QRELS, {**RUN, "q3": {"d3": 1.0}}, ["R@1"]).accounting
    section = coverage_section({"a": accounting, "b": whole}, {"a": ["odd"]})
    [said] = section.details
    assert isinstance(said, Sentences)
    assert [each.text for each in said.sentences] == [
        "a: 3 questions",
        "a: 1 missing from the run, counted as 0",
        "1 without a relevant document, scored 0",
        "1 of the run not judged, left out",
        "a: odd",
        "b: 3 questions, none missing",
    ]
    assert section.finding == "Each mean covers 3 questions; up to 1 are missing from a run."


# --- definitions ---------------------------------------------------------------------------------


def test_every_measure_is_defined() -> None:
    examples = {str(Measure.parse(each.example)): each for each in all_definitions()}
    shown = list(meanings(examples, "rankscope"))
    assert shown == [f"{name}: {examples[name].summary}" for name in examples]
    assert list(meanings(["Mine@3"], "theirs")) == ["rules of theirs"], "none that is installed"


# --- how to repeat it ----------------------------------------------------------------------------


def manifest() -> ExperimentManifest:
    fields: dict[str, Any] = {
        "experiment": REPORT.experiment,
        "name": REPORT.name,
        "started": "2026-01-01T00:00:00Z",
        "finished": "2026-01-01T00:01:00Z",
        "config": {"name": "recipes", "systems": {"api": {"key": "${API_KEY}"}}},
        "config_sha256": "c" * 64,
        "overrides": {"statistics.seed": 3, "name": "it's"},
        "collection": REPORT.collection,
        "versions": {"rankscope": "1.0", "python": "3.12.1"},
        "models": {},
        "keys": {},
        "targets": {},
        "seed": 3,
        "machine": Machine(system="Linux", release="6", machine="x86_64", cores=2, memory=2**33),
        "seconds": {},
        "artifacts": [],
    }
    return ExperimentManifest(**fields)


def test_hashes_versions_and_machine_are_named() -> None:
    section = repeat_section(REPORT, manifest=manifest())
    [notes] = [block for block in section.details if isinstance(block, Notes)]
    shown = " ".join(notes.texts)
    for text in (REPORT.collection.qrels_sha256[:12], "python 3.12.1", "8.0 GiB"):
        assert text in shown
    assert REPORT.collection.qrels_sha256[:12] in str(repeat_section(REPORT))
