"""How long similarities of terms take, as a ratio to hpo3 in the same session.

``python benches/ontologies.py [--rows 500] [--rounds 3]`` takes the Human
Phenotype Ontology that hpo3 carries, with its OMIM annotations, writes it as a table, and prints:
how long each takes to load it, in a process of its own; and some terms with all terms, which is
what scoring needs, beside `HPOTerm.similarity_scores`.
hpo3 is written in Rust and uses every core, rankscope here one. What hpo3 does not have is without
a peer.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankscope.ontology.nearness import Way, all_similarities, to_all
from rankscope.ontology.terms import Ontology, read_ontology

PEERS = {
    "resnik": "resnik",
    "lin": "lin",
    "jiang-conrath": "jc",
    "simgic": "graphic",
    "path": "dist",
}
"""By similarity: what hpo3 calls it."""

LOADS = {
    "hpo3, its own binary": "import pyhpo; pyhpo.Ontology()",
    "from a table": "read_ontology(table, annotations=things)",
    "from a table, without annotations": "read_ontology(table)",
}


@dataclass(frozen=True, slots=True)
class World:
    """Both, with the files they are from."""

    ontology: Ontology
    terms: list[Any]
    """The terms of hpo3, by our number."""
    folder: Path


def world(folder: Path) -> World:
    import pyhpo

    pyhpo.Ontology()
    terms = [term for term in pyhpo.Ontology if not term.is_obsolete]
    rows = [
        f"{term.id}\t{term.name}\t{'|'.join(parent.id for parent in term.parents)}"
        for term in terms
    ]
    (folder / "hpo.tsv").write_text("\n".join(["id\tname\tparents", *rows]), "utf-8")
    things = [
        f"{disease.id}\tHP:{term:07d}"
        for disease in pyhpo.Ontology.omim_diseases
        for term in disease.hpo
    ]
    (folder / "omim.tsv").write_text("\n".join(["thing\tterm", *things]), "utf-8")
    ontology = read_ontology(folder / "hpo.tsv", annotations=folder / "omim.tsv")
    numbered = {term.id: term for term in terms}
    return World(ontology, [numbered[term_id] for term_id in ontology.ids], folder)


def loading(world: World, rounds: int) -> Iterator[tuple[str, float, float | None]]:
    """Yield what loading takes in a new process, imports not included for us or for hpo3."""
    table, things = world.folder / "hpo.tsv", world.folder / "omim.tsv"
    seconds: dict[str, list[float]] = {name: [] for name in LOADS}
    for _ in range(rounds):
        for name, statement in LOADS.items():
            code = "\n".join(
                [
                    "import time, pyhpo",
                    "from rankscope.ontology.terms import read_ontology",
                    f"table, things = {str(table)!r}, {str(things)!r}",
                    "begin = time.perf_counter()",
                    statement,
                    "print(time.perf_counter() - begin)",
                ]
            )
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            )
            seconds[name].append(float(done.stdout))
    peer = statistics.median(seconds["hpo3, its own binary"])
    for name, took in seconds.items():
        is_peer = name.startswith("hpo3")
        yield f"load {name}", statistics.median(took), None if is_peer else peer


def rows(world: World, count: int, rounds: int) -> Iterator[tuple[str, float, float | None]]:
    """Yield what terms with all terms take, each similarity computed anew."""
    numbers = np.random.default_rng(8).integers(0, len(world.ontology), count).tolist()
    some = numbers[: max(1, count // 50)]  # of hpo3, which takes longer
    for similarity in all_similarities():
        way = Way(similarity.name, ic="annotations")
        values = world.ontology.values(way)
        method = PEERS.get(similarity.name)
        ours, peers = [], []
        for _ in range(rounds):
            begin = time.perf_counter()
            for number in numbers:
                to_all(way, world.ontology.graph, values, number)
            ours.append(time.perf_counter() - begin)
            if method:
                begin = time.perf_counter()
                for number in some:
                    term = world.terms[number]
                    term.similarity_scores(world.terms, kind="omim", method=method)
                peers.append((time.perf_counter() - begin) * count / len(some))
        peer = statistics.median(peers) if peers else None
        yield f"{count:,} terms with all, {similarity.name}", statistics.median(ours), peer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        made = world(Path(name))
        print(f"HPO, {len(made.ontology):,} terms; medians of {options.rounds} rounds\n")
        print(f"{'':46}{'rankscope':>11}{'hpo3':>11}   hpo3 / rankscope")
        for job, took, peer in (
            *loading(made, options.rounds),
            *rows(made, options.rows, options.rounds),
        ):
            is_peer = "hpo3" in job
            ours = f"{'':11}" if is_peer else f"{took:9.3f} s"
            theirs = f"{took if is_peer else peer:9.3f} s" if is_peer or peer else f"{'–':>11}"
            ratio = f"{peer / took:9.1f} ×" if peer else ""
            print(f"{job:46}{ours}{theirs}{ratio}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
