"""What is asked about a file with the native library and without it, for `reliability.native_fuzz`.

An answer is a tuple of plain values that are equal only if everything is: floats are their bits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

import rankscope as rs
from rankscope.errors import RankscopeError
from rankscope.scoring.align import align
from rankscope.scoring.inputs import as_runs
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.rules import OURS
from rankscope.tables import native_files

MEASURES = (
    *(["nDCG@10"], ["AP", "RR"], ["nDCG", "P@5", "R@3", "RBP(p=0.8)"], ["RR@1", "Success@2"]),
    *(["nDCG(gain=exp)@3", "Bpref"], ["infAP", "SetP", "NumRet"], ["ERR@4", "AP@2"]),
    *(["Judged@5", "P(rel=2)@3"], ["Rprec", "IPrec@0.1"], ["R@1", "R@2", "R@4", "R@8"]),
)
PROFILES = ("rankscope", "trec_eval-9", "trec_eval-10", "ranx", "ir_measures")
BLOCKS = ((1 << 22, 1 << 20, 1 << 17), (200, 0, 64), (60, 0, 16), (1000, 100, 300), (1, 0, 2))
"""Size of a block, of what is read at once, and of the window in which a cut is looked for."""

Answer = tuple[Any, ...]


@contextmanager
def pure() -> Iterator[None]:
    """Switch the native scan off."""
    before = os.environ.get("RANKSCOPE_NATIVE")
    os.environ["RANKSCOPE_NATIVE"] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["RANKSCOPE_NATIVE"]
        else:
            os.environ["RANKSCOPE_NATIVE"] = before


@contextmanager
def blocks(sizes: tuple[int, int, int]) -> Iterator[None]:
    """Cut files into blocks of another size, of which several threads scan the smaller ones."""
    threads = 2 if sizes[0] == 200 else 1
    values = (*sizes, lambda: threads)
    names = ("LARGEST", "SMALLEST", "_WINDOW", "workers")
    before = [getattr(native_files, name) for name in names]
    for name, value in zip(names, values, strict=True):
        setattr(native_files, name, value)
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(native_files, name, value)


def answer(ask: Callable[[], Answer]) -> Answer:
    """Return what is answered, or how it is refused."""
    try:
        return ask()
    except RankscopeError as error:
        findings = tuple(map(repr, getattr(error, "findings", ())))
        return "refused", type(error).__name__, str(error), findings
    except Exception as error:  # a crash differs from anything, a crash too
        return "crashed", type(error).__name__, str(error), time.monotonic_ns()


def judged(judgments: Judgments) -> Answer:
    """Return all that judgments hold."""
    table = judgments.table
    return (
        judgments.query_ids,
        *(judgments.query.tolist(), _bits(judgments.grade), judgments.judged_query.tolist()),
        *(_bits(judgments.judged_grade), judgments.max_grade, judgments.fingerprint),
        *(repr(judgments.by_query), judgments.listed, judgments.no_answer, judgments.languages),
        *(repr(table), table.fingerprint() if hasattr(table, "fingerprint") else ""),
        *(table.grades.dtype, judgments.packed.doc_text, judgments.packed.doc_ends.tolist()),
    )


def _bits(values: Any) -> bytes:
    return np.asarray(values, np.float64).tobytes()


@dataclass(frozen=True)
class Question:
    """What a run is asked: under which rules, by which measures, in blocks of which size."""

    measures: list[str]
    rules: dict[str, Any]
    sizes: tuple[int, int, int]
    closer: str
    """What else is asked: ranks, rows or checks; or nothing."""

    @classmethod
    def drawn(cls, source: Random) -> Question:
        rules: dict[str, Any] = {"profile": source.choice(PROFILES)}
        if source.random() < 0.6:
            rules["ties"] = source.choice(["trec", "id-asc", "given"])
        if source.random() < 0.4:
            rules["precision"] = source.choice(["single", "double"])
        if source.random() < 0.3:
            rules["queries"] = source.choice(["all", "both", "both", "both", "both", "strict"])
        if source.random() < 0.02:
            rules["order"] = "given"
        closer = source.choice(["ranks", "rows", "checks", *[""] * 5])
        return cls(source.choice(MEASURES), rules, source.choice(BLOCKS), closer)

    def scores(self, judgments: Any, run: Any) -> Answer:
        """Return the scores of a run, and whatever is said about them."""
        scores = rs.evaluate(judgments, run, self.measures, **self.rules)
        result = scores.run()
        return (
            "scored",
            *(result.name, result.query_ids, list(result.means), _bits([*result.means.values()])),
            *(_bits(result.values), repr(result.counts), result.remarks),
        )

    def ranks(self, judgments: Judgments, run: Any) -> Answer:
        """Return the ranks of judged documents, and what is known of ties and of the run."""
        (taken,) = as_runs(run, judgments)[0].values()
        ties = self.rules.get("ties", "trec")
        precision = self.rules.get("precision", "double")
        hits = align(
            judgments,
            taken,
            replace(OURS, ties=ties, precision=precision),
            cutoffs=(1, 2, 3, 5, 10),
            sound=False,
        ).hits
        return (
            *(
                hits.query.tolist(),
                hits.rank.tolist(),
                _bits(hits.grade),
                judgments.doc_ids_of(hits.pair),
            ),
            *(hits.tie_first.tolist(), hits.tie_size.tolist(), hits.retrieved.tolist()),
            *(
                hits.tied_at,
                hits.rises.tolist(),
                hits.falls.tolist(),
                list(taken.query_ids),
                taken.sizes.tolist(),
                len(taken),
            ),
            *(taken.name, taken.is_list, "q1" in taken, taken.fingerprint()),
        )

    def rows(self, _: Judgments, run: Any) -> Answer:
        """Return the run as a table."""
        table = rs.read_run(run)
        return (
            *(list(table.query_ids), table.offsets.tolist(), table.doc_ids.to_list()),
            *(_bits(table.scores.to_numpy()), table.is_list, table.name),
            *(table.fingerprint(), table.to_polars().schema),
        )

    def checks(self, _: Judgments, run: Any) -> Answer:
        """Return what `runs validate` says."""
        return (repr(rs.validate_run(run)),)

    def others(self, qrels: Any, runs: dict[str, Any]) -> Answer:
        """Return what is made of scores: a comparison, a gate, bounds."""
        options: dict[str, Any] = {"profile": self.rules["profile"], "resamples": 20}
        first, second = runs.values()
        measures = self.measures[:1]
        return (
            answer(lambda: (repr(rs.compare(qrels, runs, measures, **options)),)),
            answer(lambda: (repr(rs.gate(first, second, measures, qrels=qrels, resamples=20)),)),
            answer(lambda: (repr(rs.bounds(qrels, first, measures)),)),
        )
