"""How good the systems are on real collections: the tables in benches/search-quality.md.

``python -m benches.quality --collections FOLDER [--table NAME] [--write]`` fetches every run,
scores it, and prints Markdown tables with 95 % intervals; with ``--write`` they replace those in
the docs. Every system has the same options on every collection, but for the fields.

``quality``: all systems. Trained ones learn from the split for training where a collection has one
that is larger than the test split. Elsewhere they learn from the test questions in five folds, and
each question is answered by a model that has not seen its fold.

``deals``: ltr with the questions dealt to folds in other ways.

``case``: the vector search with texts in lower case and as they are.

``left-out``: ltr trained on the questions of the other collections, beside what it reranks and
beside ltr trained on the collection's own questions. So that features mean the same everywhere, it
looks at title and text of every collection.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import rankscope as rs
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.protocol import Query, System, queries_of
from rankscope.retrieval.registry import build_system
from rankscope.retrieval.stages.training import Training
from rankscope.statistics.intervals import mean_intervals

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "benches" / "search-quality.md"

FIELDS = {"recipes": ["title", "text", "ingredients", "steps"]}
COLLECTIONS = ("recipes", "electronics", "scifact", "cranfield")
MEASURES = ("nDCG@10", "Success@5", "RR@10", "R@100")


def systems(fields: list[str] | None) -> dict[str, dict[str, Any]]:
    """Return the specs, in order; a later one may name an earlier one."""
    ltr = {} if fields is None else {"fields": fields}
    return {
        "bm25, title only": {"bm25": {"fields": ["title"]}},
        "bm25": {"bm25": {"fields": fields}},
        "bm25, k1=0.9 b=0.4": {"bm25": {"fields": fields, "k1": 0.9, "b": 0.4}},
        "bm25 + keywords": {"rewrite": {"of": "bm25", "keywords": {}}},
        "vector, wordllama": {"vector": {"fields": fields}},
        "hybrid, rrf": {"fuse": {"of": ["bm25", "vector, wordllama"]}},
        "hybrid, min-max": {
            "fuse": {
                "of": ["bm25", "vector, wordllama"],
                "method": "minmax",
                "weights": [0.5, 0.5],
            }
        },
        "keywords + hybrid": {"rewrite": {"of": "hybrid, min-max", "keywords": {}}},
        "reranked, ltr": {"rerank": {"of": "hybrid, min-max", "depth": 50, "ltr": ltr}},
    }


@dataclass(frozen=True)
class Collection:
    """One collection: its documents, its test questions, and what is learnt from."""

    folder: Path
    cache: Path

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def fields(self) -> list[str] | None:
        """What is searched; None: title and text."""
        return FIELDS.get(self.name)

    @cached_property
    def corpus(self) -> rs.Corpus:
        """All documents."""
        return rs.read_corpus(self.folder / "corpus.jsonl.gz")

    @cached_property
    def test(self) -> tuple[list[Query], rs.Qrels]:
        """The test questions and their judgments."""
        test = self.split("test")
        assert test is not None, f"{self.folder} has no test split"
        return test

    def training(self, deal: int = 0) -> Training:
        """Return what trained systems learn from, its questions dealt to folds in some way."""
        train = self.split("train")
        taught = train if train is not None and len(train[0]) > len(self.test[0]) else self.test
        return Training(tuple(taught[0]), taught[1], seed=deal)

    def split(self, name: str) -> tuple[list[Query], rs.Qrels] | None:
        """Return the judged questions of a split, with their judgments; None without such."""
        path = self.folder / "qrels" / f"{name}.tsv"
        if not path.is_file():
            return None
        qrels = rs.read_qrels(path)
        judged = set(qrels.query_ids)
        queries = queries_of(rs.read_queries(self.folder / "queries.jsonl"))
        return [query for query in queries if query.query_id in judged], qrels

    def made(self, specs: dict[str, Any], deal: int = 0) -> dict[str, System]:
        """Make systems over this collection; a later one may name an earlier one."""
        systems: dict[str, System] = {}
        training = self.training(deal)
        for name, spec in specs.items():
            systems[name] = build_system(spec, systems=systems, cache=self.cache, training=training)
            systems[name].index(self.corpus)
        return systems

    def scores(self, system: System, queries: Sequence[Query] | None = None) -> rs.Scores:
        """Ask the test questions, perhaps in other words, and score the answers."""
        fetched = fetch(system, queries or self.test[0])
        assert not fetched.failures, fetched.failures
        return rs.evaluate(self.test[1], fetched.run, MEASURES)


def mean_cell(values: Sequence[float], *, signed: bool = False) -> str:
    """Return a mean with its interval."""
    bounds = (-1, 1) if signed else (0, 1)
    (interval,) = mean_intervals([list(values)], seed=7, bounds=bounds)
    sign = "+" if signed else ""
    mean = sum(values) / len(values)
    return f"{mean:{sign}.3f} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"


def difference_cell(scores: rs.Scores, base: rs.Scores, measure: str) -> str:
    """Return the mean difference over the questions, with its interval."""
    above, below = scores.values(measure), base.values(measure)
    return mean_cell([above[query_id] - below[query_id] for query_id in above], signed=True)


def quality_table(collections: Sequence[Collection]) -> list[str]:
    """Return the table of all systems."""
    lines = [
        f"| collection | system | {' | '.join(MEASURES)} |",
        "|---|---|" + "---|" * len(MEASURES),
    ]
    for collection in collections:
        for name, system in collection.made(systems(collection.fields)).items():
            scores = collection.scores(system)
            cells = [mean_cell(list(scores.values(measure).values())) for measure in MEASURES]
            lines.append(f"| {collection.name} | {name} | {' | '.join(cells)} |")
    return lines


def deals_table(collections: Sequence[Collection]) -> list[str]:
    """Return how far ltr depends on how the questions are dealt to folds."""
    lines = ["| collection | measure | the table's deal | five others |", "|---|---|---|---|"]
    for collection in collections:
        if collection.split("train") is not None:
            continue  # its test questions are answered by the model of all training questions
        by_deal = []
        for deal in range(6):
            made = collection.made(systems(collection.fields), deal)
            by_deal.append(collection.scores(made["reranked, ltr"]))
        for measure in MEASURES[:3]:
            first, *others = (scores[measure] for scores in by_deal)
            span = f"{min(others):.3f} to {max(others):.3f}"
            lines.append(f"| {collection.name} | {measure} | {first:.3f} | {span} |")
    return lines


def case_table(collections: Sequence[Collection]) -> list[str]:
    """Return what lower case does to the vector search and to what is built on it."""
    lines = [
        "| collection | system | keep | lower | difference | keep, CAPITALS | lower, CAPITALS |",
        "|---|---|---|---|---|---|---|",
    ]
    for collection in collections:
        capitals = [replace(query, text=query.text.upper()) for query in collection.test[0]]
        specs: dict[str, Any] = {"bm25": {"bm25": {"fields": collection.fields}}}
        for case in ("keep", "lower"):
            embedder = {"wordllama": {"case": case}}
            specs[f"vector {case}"] = {
                "vector": {"fields": collection.fields, "embedder": embedder}
            }
            specs[f"hybrid {case}"] = {
                "fuse": {
                    "of": ["bm25", f"vector {case}"],
                    "method": "minmax",
                    "weights": [0.5, 0.5],
                }
            }
        made = collection.made(specs)
        for title, name in {"vector, wordllama": "vector", "hybrid, min-max": "hybrid"}.items():
            keep = collection.scores(made[f"{name} keep"])
            lower = collection.scores(made[f"{name} lower"])
            cells = [
                f"{keep['nDCG@10']:.3f}",
                f"{lower['nDCG@10']:.3f}",
                difference_cell(lower, keep, "nDCG@10"),
                *(
                    f"{collection.scores(made[f'{name} {case}'], capitals)['nDCG@10']:.3f}"
                    for case in ("keep", "lower")
                ),
            ]
            lines.append(f"| {collection.name} | {title} | {' | '.join(cells)} |")
    return lines


class OneModel:
    """The same model for every question, in place of those of the folds."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __getitem__(self, folds: object) -> Any:
        return self.model


def left_out_table(collections: Sequence[Collection]) -> list[str]:
    """Return how ltr does on a collection that it knows nothing of."""
    below, within = "hybrid, min-max", "reranked, ltr"
    made: dict[str, dict[str, System]] = {}
    for collection in collections:
        specs = systems(collection.fields)
        specs[within] = {"rerank": {"of": below, "depth": 50, "ltr": {}}}
        wanted = ("bm25", "vector, wordllama", below, within)
        made[collection.name] = collection.made({name: specs[name] for name in wanted})
    learners: dict[str, Any] = {}
    examples = {}
    for name, of_collection in made.items():
        stage: Any = of_collection[within]
        stage.prepare()
        learners[name] = learner = stage.part
        examples[name] = list(learner.examples().values())
    lines = [
        "| collection | measure | input | by others | difference | by its own | difference |",
        "|---|---|---|---|---|---|---|",
    ]
    for collection in collections:
        name = collection.name
        learner = learners[name]
        base = collection.scores(made[name][below])
        own = collection.scores(made[name][within])
        others = [example for other in made if other != name for example in examples[other]]
        learner._models = OneModel(learner._loaded(learner.learnt_from(others)))
        moved = collection.scores(made[name][within])
        for measure in ("nDCG@10", "RR@10"):
            cells = [
                f"{base[measure]:.3f}",
                f"{moved[measure]:.3f}",
                difference_cell(moved, base, measure),
                f"{own[measure]:.3f}",
                difference_cell(own, base, measure),
            ]
            lines.append(f"| {name} | {measure} | {' | '.join(cells)} |")
    return lines


TABLES: dict[str, Callable[[Sequence[Collection]], list[str]]] = {
    "quality": quality_table,
    "deals": deals_table,
    "case": case_table,
    "left-out": left_out_table,
}


def write(name: str, table: str) -> None:
    """Put a table into the docs, in place of the one that is there."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    assert after, f"{PAGE} has no place for the table {name}"
    PAGE.write_text(f"{before}{begin}\n{table}\n{end}{after}", "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    known = os.environ.get("RANKSCOPE_COLLECTIONS")
    parser.add_argument("--collections", type=Path, default=known, required=known is None)
    parser.add_argument("--table", choices=TABLES, action="append", help="only this one")
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        collections = [Collection(options.collections / name, Path(cache)) for name in COLLECTIONS]
        for name in options.table or TABLES:
            table = "\n".join(TABLES[name](collections))
            print(table, flush=True)
            if options.write:
                write(name, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
