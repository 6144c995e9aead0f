"""Two runs side by side, query by query, or the reasons why they cannot be.

Between `scorefiles` and what compares scores that were made on different days: values are paired by
query id, whatever their order, after judgments, rules, queries and measures were found the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError, shown
from rankscope.files import is_path
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate
from rankscope.scoring.evaluate import Scores, evaluate
from rankscope.scoring.inputs import as_judgments, as_runs
from rankscope.scoring.score_files import ScoreRecord, is_score_file, read_scores

if TYPE_CHECKING:
    from rankscope.measures.judged import FloatArray
    from rankscope.measures.language import Parsed
    from rankscope.scoring.score_files import RecordedRun

__all__ = ["Pairs", "take_records"]

_ROLES = ("the baseline", "the candidate")


def take_records(
    baseline: Any,
    candidate: Any,
    measures: list[Parsed],
    *,
    qrels: Any = None,
    profile: str | None = None,
) -> tuple[ScoreRecord, ScoreRecord]:
    """Return both sides as records.

    A side may be a score file, what `Scores.to_dict` returned, `Scores` or a record. With ``qrels``
    it may also be a run, which is scored by the rules of ``profile``, else of the other side.
    """
    sides = dict(zip(_ROLES, (baseline, candidate), strict=True))
    found = {role: _recorded(side, role, qrels is not None) for role, side in sides.items()}
    rules = profile or next((one.profile for one in found.values() if one), "rankscope")
    judgments = None if qrels is None else as_judgments(qrels)
    records = []
    for role, side in sides.items():
        record = found[role]
        if record is None:
            runs, _ = as_runs([side] if is_path(side) else side)
            scores = evaluate(judgments, runs, [one.measure for one in measures], profile=rules)
            record = ScoreRecord.of(scores, source=os.fspath(side) if is_path(side) else role)
        elif judgments is not None and record.qrels != judgments.fingerprint:
            raise InputError(
                f"not comparable: {record.source} was scored against other judgments (sha256 "
                f"{record.qrels[:12]}…) than those given ({judgments.fingerprint[:12]}…); score it "
                "again against these"
            )
        elif record.profile != rules and profile is not None:
            raise InputError(
                f"not comparable: {record.source} was scored by the rules of "
                f"{shown(record.profile, 40)}, not {profile}; score it again by these"
            )
        records.append(record)
    return records[0], records[1]


def _recorded(data: Any, role: str, with_qrels: bool) -> ScoreRecord | None:
    """Return a side as a record; None if it is a run and there are judgments to score it."""
    if isinstance(data, ScoreRecord):
        return data
    if isinstance(data, Scores):
        return ScoreRecord.of(data, source=role)
    if isinstance(data, Mapping) and isinstance(data.get("schema"), str):
        return ScoreRecord.from_dict(data, source=role)
    if is_path(data) and (not with_qrels or is_score_file(data)):
        return read_scores(data)
    if not with_qrels:
        raise InputError(f"{role} is a run, and nothing says what is relevant; give qrels too")
    return None


def _what_differs(
    records: tuple[ScoreRecord, ScoreRecord], runs: tuple[RecordedRun, RecordedRun]
) -> list[str]:
    """Say what stands against comparing two runs query by query; nothing if they can be."""
    one, other = records
    said = []
    if one.profile != other.profile:
        said.append(
            f"the rules differ ({shown(one.profile, 40)} in {one.source}, "
            f"{shown(other.profile, 40)} in {other.source})"
        )
    elif one.rules and other.rules and one.rules != other.rules:
        changed = sorted(rule for rule in one.rules if one.rules[rule] != other.rules.get(rule))
        said.append(
            f"the rules differ ({', '.join(changed) or 'more rules in one than in the other'} in "
            f"{one.source} and {other.source})"
        )
    if one.qrels != other.qrels:
        said.append(
            f"the judgments differ (sha256 {one.qrels[:12]}… in {one.source}, "
            f"{other.qrels[:12]}… in {other.source})"
        )
    mine, theirs = (run.missing_policy for run in runs)
    if mine and theirs and mine != theirs:
        said.append(
            f"judged queries a run lacks are treated differently ({shown(mine, 40)} in "
            f"{one.source}, {shown(theirs, 40)} in {other.source})"
        )
    here, there = (set(run.query_ids) for run in runs)
    only = [
        f"{len(ids):,} only in {record.source}: {_listed(ids)}"
        for ids, record in ((here - there, one), (there - here, other))
        if ids
    ]
    if only:
        said.append(f"the queries differ ({'; '.join(only)})")
    return said


def _listed(query_ids: Iterable[str], most: int = 3) -> str:
    """Name the first few queries.

    >>> _listed(["q3", "q1", "q2", "q4"])
    "'q1', 'q2', 'q3', …"
    """
    ordered = sorted(query_ids)
    more = ", …" if len(ordered) > most else ""
    return ", ".join(shown(one, 40) for one in ordered[:most]) + more


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Values of two runs: a row for each measure, a column for each query, queries by id."""

    names: tuple[str, str]
    """Of the runs; with their files where two are called the same."""
    measures: tuple[Measure, ...]
    query_ids: tuple[str, ...]
    baseline: FloatArray
    candidate: FloatArray

    @property
    def differences(self) -> FloatArray:
        """Candidate minus baseline."""
        return self.candidate - self.baseline

    @property
    def means(self) -> tuple[list[float], list[float]]:
        """The mean of each measure, by run."""
        baseline, candidate = (
            [aggregate(one, row) for one, row in zip(self.measures, values, strict=True)]
            for values in (self.baseline, self.candidate)
        )
        return baseline, candidate

    @classmethod
    def of(
        cls,
        baseline: ScoreRecord,
        candidate: ScoreRecord,
        asked: list[Parsed],
        *,
        runs: tuple[str | None, str | None] = (None, None),
    ) -> Pairs:
        """Pair one run of each record; `InputError` that says "not comparable" if it cannot be."""
        both = baseline.run(runs[0]), candidate.run(runs[1])
        against = _what_differs((baseline, candidate), both)
        if against:
            raise InputError(
                f"not comparable: {'; '.join(against)}; score both against the same judgments, "
                "by the same rules"
            )
        query_ids = tuple(sorted(both[0].query_ids))
        measures: dict[Measure, None] = {}
        for parsed in asked:
            name = _found(baseline, parsed)
            if _found(candidate, parsed) != name:
                raise InputError(
                    f"not comparable: {parsed.asked} means {name} in {baseline.source} and "
                    f"{_found(candidate, parsed)} in {candidate.source}"
                )
            measures[_averaged(Measure.parse(name))] = None
        sides = [
            _values(record, run, list(map(str, measures)), query_ids)
            for record, run in zip((baseline, candidate), both, strict=True)
        ]
        names = both[0].name, both[1].name
        if names[0] == names[1] and baseline.source != candidate.source:
            names = f"{names[0]} ({baseline.source})", f"{names[1]} ({candidate.source})"
        return cls(names, tuple(measures), query_ids, sides[0], sides[1])


def _found(record: ScoreRecord, parsed: Parsed) -> str:
    name = record.find(parsed)
    if name is None:
        held = ", ".join(list(record.measures)[:6])
        raise InputError(
            f"not comparable: {record.source} does not hold {parsed.measure}, only {held}; "
            f"evaluate again with -m '{parsed.measure}'"
        )
    return name


def _averaged(measure: Measure) -> Measure:
    """Refuse measures whose values do not become a mean: a test of means is not about them."""
    kind = measure.definition.aggregate
    if kind != "mean":
        how = "summed" if kind == "sum" else "averaged geometrically"
        raise InputError(
            f"{measure} is {how} over queries, and the tests are about means; "
            "choose a measure that is averaged, such as AP or R@100"
        )
    return measure


def _values(
    record: ScoreRecord, run: RecordedRun, measures: list[str], query_ids: tuple[str, ...]
) -> FloatArray:
    order = np.argsort(np.array(run.query_ids, dtype=object), kind="stable")
    values = np.stack([run.values[measure][order] for measure in measures])
    for measure, row in zip(measures, values, strict=True):
        missing = np.flatnonzero(np.isnan(row))
        if len(missing):
            raise InputError(
                f"not comparable: {record.source} has no value of {measure} for {len(missing):,} "
                f"of {len(row):,} queries ({_listed(query_ids[place] for place in missing)}); "
                "evaluate again"
            )
    return values
