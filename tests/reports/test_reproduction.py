"""How to repeat it: commands, config, hashes, and what is said without a manifest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rankscope.document.blocks import Code, Section, Sentences, Table
from rankscope.records import ExperimentManifest, GitState, Machine
from rankscope.reports.reproduction import command_of, numbers_section, reproduction_section
from reports.sample import sample

REPORT = sample()


def manifest(**changes: Any) -> ExperimentManifest:
    fields: dict[str, Any] = {
        "experiment": REPORT.experiment,
        "name": REPORT.name,
        "started": "2026-01-01T00:00:00Z",
        "finished": "2026-01-01T00:01:00Z",
        "config": {"name": "recipes", "systems": {"api": {"key": "${API_KEY}"}}},
        "config_sha256": "c" * 64,
        "overrides": {"statistics.seed": 3, "name": "it's"},
        "collection": REPORT.collection,
        "runs": [],
        "versions": {"rankscope": "1.0", "python": "3.12.1"},
        "models": {},
        "snapshots": {},
        "git": GitState(commit="abc123", dirty=True),
        "seed": 3,
        "machine": Machine(system="Linux", release="6", machine="x86_64", cores=2, memory=2**33),
        "seconds": {},
        "artifacts": [],
    }
    return ExperimentManifest(**{**fields, **changes})


def codes(section: Section) -> list[str]:
    return [block.text for block in section.details if isinstance(block, Code)]


def texts(section: Section) -> str:
    blocks = (block for block in section.details if isinstance(block, Sentences))
    return " ".join(line.text for block in blocks for line in block.sentences)


def test_without_a_manifest_its_file_is_named() -> None:
    section = reproduction_section(REPORT)
    first, take, again, *evaluate = codes(section)
    assert first == "rankscope benchmark verify DIR"
    assert "DIR/ExperimentManifest.json" in take
    assert again == "rankscope benchmark run config.yaml --fresh"
    assert len(evaluate) == len(REPORT.systems)
    assert "ExperimentManifest.json in the same folder holds the config" in texts(section)


def test_with_a_manifest_everything_is_shown() -> None:
    section = reproduction_section(REPORT, manifest=manifest())
    found = codes(section)
    changes = "--set statistics.seed=3 --set 'name=\"it'\"'\"'s\"'"
    assert found[1] == f"rankscope benchmark run CONFIG {changes} --fresh"
    assert json.loads(found[-1]) == manifest().config
    tables = [block for block in section.details if isinstance(block, Table)]
    facts = {str(row[0].value): row[1].value for row in tables[-1].rows}
    assert facts["git"] == "abc123, with changes"
    assert facts["seed"] == "3"
    assert facts["python"] == "3.12.1"
    assert facts["machine"] == "Linux 6, x86_64, 2 cores, 8.0 GiB"


@pytest.mark.parametrize(
    ("git", "expected"),
    [
        (None, "the config is in no repository"),
        (GitState(commit="a", dirty=False), "a"),
        (GitState(commit="a"), "a, perhaps with changes"),
    ],
)
def test_git(git: GitState | None, expected: str) -> None:
    section = reproduction_section(REPORT, manifest=manifest(git=git))
    table = section.details[-1]
    assert isinstance(table, Table)
    assert ("git", expected) in [(row[0].value, row[1].value) for row in table.rows]


def test_hashes_of_what_is_there() -> None:
    tables = [block for block in reproduction_section(REPORT).details if isinstance(block, Table)]
    rows = {str(row[0].value): row[1].value for row in tables[0].rows}
    assert rows["judgments"] == REPORT.collection.qrels_sha256
    for system in REPORT.systems:
        assert rows[f"run of {system.name}"] == system.run.run_id
    assert "ontology" not in rows


def test_commands() -> None:
    system = REPORT.systems[0]
    path = system.run.file.path
    assert command_of(REPORT, system, ["nDCG(gain=exp)@10"]) == (
        f"rankscope evaluate DIR/qrels.parquet DIR/{path} -m 'nDCG(gain=exp)@10'"
    )
    other = REPORT.model_copy(update={"profile": "trec_eval-9"})
    assert command_of(other, system, ["R@5"]).endswith("-m R@5 --profile trec_eval-9")
    file = system.run.file.model_copy(update={"path": "runs/k1=2 $(x).run.gz"})
    odd = system.model_copy(update={"run": system.run.model_copy(update={"file": file})})
    assert " 'run=DIR/runs/k1=2 $(x).run.gz' " in command_of(REPORT, odd, ["R@5"])


def test_where_evaluate_may_print_something_else_is_said() -> None:
    rules = {**REPORT.rules, "queries": "both"}
    other = REPORT.model_copy(update={"profile": "trec_eval-9", "rules": rules})
    assert "under the rules of trec_eval-9 evaluate takes it for missing" in texts(
        reproduction_section(other)
    )
    assert "takes it for missing" not in texts(reproduction_section(REPORT))
    lost = REPORT.systems[0].model_copy(update={"measures": []})
    broken = REPORT.model_copy(update={"systems": [lost, *REPORT.systems[1:]]})
    assert f"no number to repeat for {lost.name}" in texts(reproduction_section(broken))


def test_every_number_has_its_command() -> None:
    [table] = numbers_section(REPORT).details
    assert isinstance(table, Table)
    assert len(table.rows) == sum(len(system.measures) for system in REPORT.systems)
    assert all(str(row[3].value).startswith("rankscope evaluate DIR/") for row in table.rows)
