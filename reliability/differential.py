"""Other tools' answers: the same random rankings scored by them, by naive twins and by rankscope.

    python -m reliability.differential [--inputs 20000] [--seed 1]

Rankings are full of ties: few distinct scores, some equal in single precision only, both zeros,
subnormals, infinities of single precision; one small pool of documents for all queries; negative
and zero grades, unjudged documents, queries on one side only, empty answers. pytrec_eval,
ir_measures and ranx are compared query by query under the profile that bears their name, twins of
all measures under each rule for ties. Where a tool has no answer is decided by cause, before it is
asked; there is one tolerance, for rounding.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import rankscope as rs
from measures.naive import TWINS, Query
from measures.test_oracles import SHARED
from measures.variants import IR_MEASURES, VARIANTS
from rankscope.measures.language import Measure, parse_trec_measures
from rankscope.measures.registry import computation
from scoring.worlds import naive_ranking

ALIKE = 1e-9
DOCS = ["D1", "D10", "D2", "D9", "d", "Z", "é", "e\u0301", "日本", "😀", "\uffee", "0", "10", "-1",
        "D1 ".strip() + "_", "q1", "q2"]  # fmt: skip
"""Bytes, code points and UTF-16 units sort these differently; two are ids of queries too."""
QUERIES = ["q1", "q10", "q2", "Q", "é", "9"]
SCORES: list[list[float]] = [
    [1.0],
    [0.0, -0.0],
    [0.5, 1.0, 2.0],
    [20000000.0, 20000001.0, 20000002.0],
    [0.1, 0.1 + 1e-10, 0.1 - 1e-10],
    [5e-324, 1e-310, 1e-46, 1.4e-45, 0.0, -0.0, -5e-324],
    [1e300, 2e300, -1e300, 3.4e38, 3.5e38],
    [-1.0, -2.0, 0.0, 3.0],
]
"""Each query takes its scores from one or two of these."""
GRADES = [[0, 1], [1], [0], [-1, 0, 1, 1], [0, 0, 1, 2, 3], [-2, -1, 0, 5], [1, 1, 1, 2]]

Grades = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Input:
    """Judgments and a run."""

    qrels: Grades
    run: Scores

    def refused(self) -> str:
        """Say why rankscope refuses it; '' if it does not."""
        if highest(self.qrels) <= 0:
            return "no grade is above 0"
        if self.run.keys().isdisjoint(self.qrels):
            return "no query in common"
        judged = {doc for docs in self.qrels.values() for doc in docs}
        shared = self.run.keys() & self.qrels.keys()
        found = any(doc in judged for docs in self.run.values() for doc in docs)
        if len(shared) >= 10 and not found:
            return "no document in common"
        return ""

    def answered(self) -> Scores:
        """Return the run without empty answers, which no run file can hold."""
        return {query: docs for query, docs in self.run.items() if docs}

    def smaller(self) -> Iterator[Input]:
        """Yield this with one query, judgment or answer less."""
        for side, data in (("qrels", self.qrels), ("run", self.run)):
            for query, docs in data.items():
                without = {q: d for q, d in data.items() if q != query}
                yield Input(**{**vars(self), side: without})
                for doc in docs:
                    fewer = {**data, query: {d: v for d, v in docs.items() if d != doc}}
                    yield Input(**{**vars(self), side: fewer})


def random_input(source: random.Random) -> Input:
    """Return judgments and a run; the documents of an answer come in any order."""

    def some(of: list[str], most: int) -> list[str]:
        return source.sample(of, source.randint(0, min(most, len(of))))

    def judged() -> dict[str, int]:
        grades = source.choice(GRADES)
        return {doc: source.choice(grades) for doc in some(DOCS, 12) or [source.choice(DOCS)]}

    def answer() -> dict[str, float]:
        scores = [*source.choice(SCORES), *(source.choice(SCORES) if source.random() < 0.3 else [])]
        return {doc: source.choice(scores) for doc in some(DOCS, 15)}

    names = some(QUERIES, 4) or ["q1"]
    qrels = {query: judged() for query in names}
    run = {query: answer() for query in source.sample(names, len(names)) if source.random() < 0.9}
    if source.random() < 0.2:
        run["unjudged"] = answer()
    return Input(qrels, run)


@dataclass(frozen=True)
class Difference:
    """One value that is not the same."""

    tool: str
    measure: str
    query: str
    ours: float
    theirs: float
    where: Input | None = None

    def __str__(self) -> str:
        shown = (
            ""
            if self.where is None
            else f"\n  qrels = {self.where.qrels}\n  run = {self.where.run}"
        )
        return (
            f"{self.tool}: {self.measure} of {self.query}: {self.ours}, theirs {self.theirs}{shown}"
        )


@dataclass
class Tally:
    """What was compared and what was left out."""

    inputs: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def differences(
        self, tool: str, measure: str, ours: dict[str, float], theirs: dict[str, float]
    ) -> Iterator[Difference]:
        """Compare the values of queries."""
        if set(ours) != set(theirs):
            query = min(set(ours) ^ set(theirs))
            yield Difference(
                tool, measure, query, ours.get(query, math.nan), theirs.get(query, math.nan)
            )
        for query in ours.keys() & theirs.keys():
            self.compared[tool] += 1
            if not math.isclose(ours[query], theirs[query], rel_tol=ALIKE, abs_tol=ALIKE):
                yield Difference(tool, measure, query, ours[query], theirs[query])


def highest(qrels: Grades) -> int:
    """Return the highest grade."""
    return max(grade for docs in qrels.values() for grade in docs.values())


def unreachable(measure: Measure, qrels: Grades) -> bool:
    """Tell whether a measure's relevance level is above every grade, which rankscope refuses."""
    if measure.options.get("gain", "binary") != "binary" or "rel" not in measure.options:
        return False
    return 0 < highest(qrels) < float(str(measure.options["rel"]))


# --- the tools -----------------------------------------------------------------------------------


@cache
def trec_measures(level: int) -> dict[str, Measure]:
    """Return our measure for each of pytrec_eval's values at a relevance level."""
    found = {}
    for text in SHARED:
        for parsed in parse_trec_measures(text):
            measure = parsed.measure
            if level != 1 and measure.definition.parameter("rel"):
                if measure.definition.parameter("gain") is None:
                    measure = measure.replaced(rel=level)
                elif measure.name == "RnDCG":  # trec_eval gives up without a document of the level
                    continue
            found[parsed.asked] = measure
    return found


def against_pytrec_eval(given: Input, tally: Tally, level: int) -> Iterator[Difference]:
    """trec_eval 9.0.8, at a relevance level."""
    import pytrec_eval

    # It reads memory it did not write for a query whose grades are all negative.
    qrels = {query: {"never": 0, **docs} for query, docs in given.qrels.items()}
    names = {
        name: str(measure)
        for name, measure in trec_measures(level).items()
        if not unreachable(measure, qrels)
    }
    oracle = pytrec_eval.RelevanceEvaluator(qrels, set(SHARED), relevance_level=level)
    run = given.answered()
    if Input(qrels, run).refused():
        return
    theirs = oracle.evaluate(run)
    scores = rs.evaluate(qrels, run, list(names.values()), profile="trec_eval-9")
    for name, measure in names.items():
        values = {query: row[name] for query, row in theirs.items()}
        yield from tally.differences("pytrec_eval", measure, scores.values(measure), values)


def against_ir_measures(given: Input, tally: Tally) -> Iterator[Difference]:
    """Its trec_eval, its own RR@k and Judged."""
    import ir_measures

    qrels = {query: {"never": 0, **docs} for query, docs in given.qrels.items()}
    run = given.answered()
    if Input(qrels, run).refused():
        return
    parsed = {ir_measures.parse_measure(text): text for text in IR_MEASURES}
    values: dict[str, dict[str, float]] = {text: {} for text in IR_MEASURES}
    for metric in ir_measures.iter_calc(list(parsed), qrels, run):
        values[parsed[metric.measure]][metric.query_id] = metric.value
    asked = [text for text in IR_MEASURES if "rel=2" not in text or highest(qrels) >= 2]
    scores = rs.evaluate(qrels, run, asked, profile="ir_measures")
    for text in asked:
        theirs = values[text]
        if text in ("NumQ", "NumRel"):
            # counts are of the queries of the run: 0 is what it fills in for the others
            theirs = {query: value for query, value in theirs.items() if query in run}
        yield from tally.differences("ir_measures", text, scores.values(text), theirs)


RANX = ["ndcg@5", "ndcg", "ndcg_burges@5", "map@5", "map", "mrr@5", "mrr", "precision@5",
        "recall@5", "hit_rate@5", "f1@5", "r-precision", "bpref", "map@5-l2", "ndcg@5-l2",
        "rbp.95", "rbp@5", "rbp.95-l2"]  # fmt: skip


def against_ranx(given: Input, tally: Tally) -> Iterator[Difference]:
    """Its compiled functions, all queries at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ranx

        qrels = {query: {"never": 0, **docs} for query, docs in given.qrels.items()}
        run = {query: given.run.get(query, {}) for query in qrels}  # it refuses missing queries
        if Input(qrels, run).refused():
            return
        theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), RANX, return_mean=False)
    asked = [name for name in RANX if not name.startswith("map@5-l2") or highest(qrels) >= 2]
    scores = rs.evaluate(qrels, run, asked, profile="ranx")
    for name in asked:
        values = dict(zip(sorted(qrels), map(float, theirs[name]), strict=True))
        if name == "bpref" and any(max(docs.values()) < 1 for docs in qrels.values()):
            # its division by 0 relevant documents ends the compiled loop: all values stay 0
            tally.left_out["ranx: bpref of an input with a query without relevant documents"] += 1
            continue
        yield from tally.differences("ranx", name, scores.values(name), values)


PLAIN = [measure for measure in VARIANTS if not measure.definition.needs]


def against_twins(
    given: Input, tally: Tally, rules: dict[str, Any], form: str
) -> Iterator[Difference]:
    """The naive twin of every measure, ranked naively, through the whole of `evaluate`."""
    top = float(highest(given.qrels))
    queries = {}
    for query, grades in given.qrels.items():
        docs = naive_ranking(given.run.get(query, {}), **rules)
        ranking = [None if doc not in grades else float(grades[doc]) for doc in docs]
        queries[query] = Query(
            ranking, sorted(map(float, grades.values()), reverse=True), top, docs
        )
    qrels, run = (
        (given.qrels, given.run) if form == "dicts" else (rs.Qrels(given.qrels), rs.Run(given.run))
    )
    measures = [measure for measure in PLAIN if not unreachable(measure, given.qrels)]
    scores = rs.evaluate(qrels, run, measures, **rules)
    for measure in measures:
        options = {k: v for k, v in computation(measure).options.items() if k != "cutoff"}
        condense = measure.options["judged_only"]
        theirs = {
            name: TWINS[measure.name](
                query.condensed() if condense else query, measure.cutoff, **options
            )
            for name, query in queries.items()
        }
        yield from tally.differences(
            f"twins, {form}", str(measure), scores.values(str(measure)), theirs
        )


RULES: list[dict[str, Any]] = [
    {"ties": ties, "precision": precision}
    for ties in ("trec", "id-asc", "given")
    for precision in ("double", "single")
]


def differences(given: Input, tally: Tally, number: int) -> Iterator[Difference]:
    """Put one input to all tools; ``number`` picks the relevance level and the rules for ties."""
    if given.refused():
        try:
            rs.evaluate(given.qrels, given.run, "AP")
        except rs.InputError:
            tally.left_out[f"refused: {given.refused()}"] += 1
        else:
            yield Difference("refusal", "AP", "", 0.0, math.nan)
        return
    yield from against_pytrec_eval(given, tally, (1, 1, 2, 3)[number % 4])
    yield from against_ir_measures(given, tally)
    yield from against_ranx(given, tally)
    form = ("dicts", "tables")[number // len(RULES) % 2]
    yield from against_twins(given, tally, RULES[number % len(RULES)], form)


def smallest(given: Input, differs: Callable[[Input], Difference | None]) -> Difference:
    """Take away what can be taken away while the tools still differ."""
    found = differs(given)
    assert found is not None
    shrinking = True
    while shrinking:
        shrinking = False
        for smaller in given.smaller():
            if smaller.qrels and all(smaller.qrels.values()) and not smaller.refused():
                less = differs(smaller)
                if less is not None and less.tool == found.tool:
                    given, found, shrinking = smaller, less, True
                    break
    return Difference(**{**vars(found), "where": given})


def compare(
    inputs: int, seed: int, *, stop: int = 5, seconds: float = math.inf, say: bool = False
) -> tuple[list[Difference], Tally]:
    """Compare ``inputs`` random inputs; stop after some differences, or when time is up."""
    tally, found = Tally(), list[Difference]()
    started = time.monotonic()
    for number in range(inputs):
        if time.monotonic() - started > seconds:
            break
        tally.inputs += 1
        given = random_input(random.Random(f"{seed} {number}"))

        def differs(world: Input, number: int = number) -> Difference | None:
            return next(differences(world, Tally(), number), None)

        if next(differences(given, tally, number), None) is not None:
            found.append(smallest(given, differs))
            if len(found) >= stop:
                break
        if say and (number + 1) % 1000 == 0:
            print(f"{number + 1} inputs, {sum(tally.compared.values()):,} values", flush=True)
    return found, tally


def main() -> None:
    """Run as described at the top; exit code 1 if any value differs."""
    parser = argparse.ArgumentParser(prog="python -m reliability.differential", description=__doc__)
    parser.add_argument("--inputs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so long")
    options = parser.parse_args()
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    started = time.monotonic()
    found, tally = compare(options.inputs, options.seed, seconds=options.seconds, say=True)
    for difference in found:
        print(difference)
    print(f"seed {options.seed}, {tally.inputs} inputs, {time.monotonic() - started:.0f} s")
    for title, counts in (("values compared", tally.compared), ("left out", tally.left_out)):
        for name, count in sorted(counts.items()):
            print(f"{title}: {name}: {count:,}")
    print(f"differences: {len(found)}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
