"""Similarities of terms in a small ontology, and measures of nearness.

Ten terms with a diamond, two parents, a second root and things annotated with them: every
similarity of every pair, by depth and by information content from structure and from annotations.
Then MaxOntSim, MeanOntSim, soft precision, recall and F, and nDCG, DCG and RR with a similarity for
a grade, for expected terms, with ids that the ontology lacks.

Checked by the formulas as they are printed, over sets in plain Python (`tests/ontology/plain.py`,
asked by `test_oracles_diagnosis`).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import rankscope as rs

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


def read(folder: Path) -> rs.Ontology:
    """Write the ontology down and read it."""
    rows = [f"{t}\t{parent}" for t, parents in PARENTS.items() for parent in parents.split(",")]
    (folder / "terms.tsv").write_text("\n".join(rows))
    (folder / "things.tsv").write_text("\n".join("\t".join(row) for row in THINGS.items()))
    return rs.read_ontology(folder / "terms.tsv", annotations=folder / "things.tsv")


def numbers() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        ontology = read(Path(folder))
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
