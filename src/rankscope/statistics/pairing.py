"""Pairing: a baseline and a candidate, made on different days perhaps, compared query by query.

Between `rankscope.scoring.score_files` and what compares two systems (`gate`, `power`,
experiments): values are paired by query id once judgments, rules, queries and measures were found
to be the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError, InvalidDataError, counted, shown
from rankscope.files import is_path
from rankscope.measures.language import Measure, parse_measures, strict_and_soft
from rankscope.scoring.evaluate import score
from rankscope.scoring.inputs import as_judgments, as_runs
from rankscope.scoring.plans import longest, usual_to
from rankscope.scoring.rules import profile_named
from rankscope.scoring.score_files import ScoreRecord, is_score_file, read_scores
from rankscope.scoring.scored_runs import Scores
from rankscope.scoring.scoring_options import DEFAULT
from rankscope.statistics.matrix import Matrix

if TYPE_CHECKING:
    from rankscope.findings import Finding
    from rankscope.measures.language import Parsed
    from rankscope.scoring.rules import Profile
    from rankscope.scoring.scored_runs import RunScores
    from rankscope.scoring.scoring_options import Scoring

Sides = tuple[Scores, Scores]
"""The baseline and the candidate."""

RunNames = tuple[str | None, str | None]
"""Which run of each side is meant; None where it has only one."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedRuns:
    """Two runs side by side."""

    matrix: Matrix
    sides: Sides
    measures: dict[str, str]
    """The measures to compare, the first of the matrix, with the names they were asked for."""
    left_out: dict[str, str]
    """Measures of either side that cannot be compared, and why; only where none were named."""
    lost: int
    """How many judged queries the baseline answers and the candidate does not."""
    lost_queries: tuple[str, ...]
    """Their ids, as far as they are known."""
    findings: tuple[Finding, ...]
    """What makes the values of either run mean less than they seem."""

    @property
    def lost_text(self) -> str:
        """What the candidate lacks, in words."""
        names = _few(self.lost_queries) if self.lost_queries else "not listed in the file"
        queries = counted(self.lost, "query")
        return f"{self.sides[1].source} lacks {queries} that the baseline answers ({names})"


def paired_runs(
    baseline: Any,
    candidate: Any,
    measures: Sequence[Parsed] | None,
    *,
    needed: Sequence[Parsed] = (),
    qrels: Any = None,
    profile: Profile | None = None,
    runs: RunNames = (None, None),
    scoring: Scoring = DEFAULT,
) -> PairedRuns:
    """Return a matrix of two systems, baseline and candidate, and both as they were recorded.

    A side may be a score file, what `Scores.to_dict` returned, or `Scores`. With ``qrels`` it may
    also be a run, which is scored by the rules of ``profile``, else of the other side. ``runs``
    names the run of each side where it holds several. Without ``measures``, those that both sides
    hold are compared; of two runs the usual ones. The matrix holds those ``needed`` too, behind the
    others. `InputError` ("not comparable") if judgments, queries or rules differ, or if a measure
    or a value is missing.
    """
    given: dict[str, Any] = {"the baseline": baseline, "the candidate": candidate}
    sources = {role: os.fspath(run) if is_path(run) else role for role, run in given.items()}
    recorded = {role: _recorded(side, role, qrels is not None) for role, side in given.items()}
    known = next((side for side in recorded.values() if side), None)
    judgments: Any = None if qrels is None else as_judgments(qrels, scoring)
    rules = profile or profile_named("rankscope" if known is None else known.profile.name)
    scoring = replace(scoring, profile=rules, ontology=None)  # which the judgments know
    if measures is not None:
        to_score = measures
    elif known is not None:
        to_score = parse_measures(list(known.asked.values()))
    else:
        for role, side in given.items():
            given[role], _ = as_runs([side] if is_path(side) else side, judgments, scoring)
        usual = usual_to(longest(run) for side in given.values() for run in side.values())
        to_score = strict_and_soft(parse_measures(usual), of_terms=judgments.ontology is not None)
    first, second = (
        _scored(given[role], sources[role], judgments, [*to_score, *needed], scoring)
        if side is None
        else _fitting(side, judgments, profile)
        for role, side in recorded.items()
    )
    pairing = _Pairing((first, second), (first.run(runs[0]), second.run(runs[1])))
    left_out: dict[str, str] = {}
    if measures is None:
        chosen, left_out = pairing.shared()
    else:
        chosen = {pairing.name_of(parsed): parsed.asked for parsed in measures}
    others = [pairing.name_of(parsed) for parsed in needed]
    matrix = pairing.matrix(list(dict.fromkeys([*chosen, *others])))
    lost, lost_queries = pairing.lost(matrix)
    return PairedRuns(
        matrix=matrix,
        sides=pairing.sides,
        measures=chosen,
        left_out=left_out,
        lost=lost,
        lost_queries=lost_queries,
        findings=tuple(
            finding.model_copy(update={"system": system})
            for run, system in zip(pairing.runs, matrix.systems, strict=True)
            for finding in run.findings
        ),
    )


def paired(sides: Sides, measures: Sequence[Parsed], runs: RunNames = (None, None)) -> Matrix:
    """Pair one run of each side; `InputError` that says "not comparable" if that cannot be."""
    pairing = _Pairing(sides, (sides[0].run(runs[0]), sides[1].run(runs[1])))
    return pairing.matrix(list(dict.fromkeys(map(pairing.name_of, measures))))


def _recorded(data: Any, role: str, with_qrels: bool) -> Scores | None:
    """Return a side as recorded scores; None if it is a run and there are judgments to score it."""
    if isinstance(data, Scores):
        return data if data.source else data.named(role)
    if isinstance(data, Mapping) and isinstance(data.get("schema"), str):
        return ScoreRecord.from_data(data, source=role).scores(source=role)
    if is_path(data) and (not with_qrels or is_score_file(data)):
        return read_scores(data)
    if not with_qrels:
        raise InputError(f"{role} is a run, and nothing says what is relevant; give qrels too")
    return None


def _fitting(side: Scores, judgments: Any, profile: Profile | None) -> Scores:
    """Return recorded scores; refuse those of other judgments or rules than those given."""
    if judgments is not None and side.fingerprint != judgments.fingerprint:
        raise InputError(
            f"not comparable: {side.source} was scored against other judgments (sha256 "
            f"{side.fingerprint[:12]}…) than those given ({judgments.fingerprint[:12]}…); "
            "score it again against these"
        )
    if profile is not None and side.profile.name != profile.name:
        raise InputError(
            f"not comparable: {side.source} was scored by the rules of "
            f"{side.profile.name}, not {profile.name}; score it again by these"
        )
    return side


def _scored(
    run: Any, source: str, judgments: Any, measures: Sequence[Parsed], scoring: Scoring
) -> Scores:
    """Score a run; what is wrong with it is said with its name."""
    wanted = [parsed.measure for parsed in measures]
    try:
        scored = score(judgments, [run] if is_path(run) else run, wanted, scoring)
    except InvalidDataError as error:
        if source in str(error):
            raise
        raise InvalidDataError(f"{source}: {error}", error.findings) from None
    return scored.scores.named(source)


@dataclass(frozen=True, slots=True, eq=False)
class _Pairing:
    """A run of each side, and what rules out comparing them."""

    sides: Sides
    runs: tuple[RunScores, RunScores]

    def matrix(self, measures: Sequence[str]) -> Matrix:
        """Put both runs side by side, if they can be compared by these measures."""
        obstacles = list(self.obstacles())
        if obstacles:
            raise InputError(
                f"not comparable: {'; '.join(obstacles)}; score both against the same judgments, "
                "by the same rules"
            )
        for measure in measures:
            problem = self.problem(measure)
            if problem:
                raise InputError(f"not comparable: {measure}: {problem}; choose another measure")
        named = list(zip(self.sides, self.runs, strict=True))
        names = [run.name for run in self.runs]
        if names[0] == names[1] and self.sides[0].source != self.sides[1].source:
            names = [f"{run.name} ({side.source})" for side, run in named]
        parts = [
            run.only([side.measures.index(measure) for measure in measures]) for side, run in named
        ]
        return Matrix.of(list(zip(names, parts, strict=True)), measures)

    def obstacles(self) -> Iterator[str]:
        """Say what rules out comparing the runs query by query; nothing if they can be compared."""
        base, candidate = self.sides

        def differ(what: str, before: str, after: str) -> str:
            return f"{what} ({before} in {base.source}, {after} in {candidate.source})"

        if base.profile.name != candidate.profile.name:
            yield differ("the rules differ", base.profile.name, candidate.profile.name)
        elif base.rules != candidate.rules:
            changed = [rule for rule in base.rules if base.rules[rule] != candidate.rules[rule]]
            yield f"the rules differ ({', '.join(changed)} in {base.source} and {candidate.source})"
        if base.fingerprint != candidate.fingerprint:
            before, after = (f"{side.fingerprint[:12]}…" for side in self.sides)
            yield differ("the judgments differ", f"sha256 {before}", after)
        policies = [run.accounting.missing_policy for run in self.runs]
        if policies[0] != policies[1]:
            yield differ("judged queries a run lacks are treated differently", *policies)
        first, second = (set(run.query_ids) for run in self.runs)
        extra = [
            f"{len(query_ids):,} only in {side.source}: {_few(query_ids)}"
            for query_ids, side in ((first - second, base), (second - first, candidate))
            if query_ids
        ]
        if extra:
            yield f"the queries differ ({'; '.join(extra)})"

    def name_of(self, parsed: Parsed) -> str:
        """Return the name that a measure has on both sides."""
        names = []
        for side in self.sides:
            name = side.find(parsed)
            if name is None:
                held = ", ".join(side.measures[:6])
                raise InputError(
                    f"not comparable: {side.source} does not have {parsed.measure}, only {held}; "
                    f"evaluate again with -m '{parsed.measure}'"
                )
            names.append(name)
        if names[0] != names[1]:
            raise InputError(
                f"not comparable: {parsed.asked} means {names[0]} in {self.sides[0].source} and "
                f"{names[1]} in {self.sides[1].source}"
            )
        return names[0]

    def shared(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the measures of both sides that can be compared, and why others cannot."""
        chosen, left_out = {}, {}
        for measure, asked in (self.sides[0].asked | self.sides[1].asked).items():
            alone = [side.source for side in self.sides if measure not in side.measures]
            problem = f"{alone[0]} does not have it" if alone else self.problem(measure)
            if problem:
                left_out[measure] = problem
            else:
                chosen[measure] = asked
        if not chosen:
            reasons = "; ".join(f"{measure}: {problem}" for measure, problem in left_out.items())
            raise InputError(f"not comparable: no measure can be compared ({reasons})")
        return chosen, left_out

    def problem(self, measure: str) -> str:
        """Return why a measure of both sides cannot be compared; '' if it can."""
        kind = Measure.parse(measure).definition.aggregate
        if kind != "mean":
            how = {"sum": "summed", "pooled": "pooled"}.get(kind, "averaged geometrically")
            return f"it is {how} over queries, and the tests are about means"
        for side, run in zip(self.sides, self.runs, strict=True):
            row = run.values[side.measures.index(measure)]
            missing = np.flatnonzero(np.isnan(row))
            if len(missing):
                queries = _few(run.query_ids[place] for place in missing)
                count = f"{len(missing):,} of {len(row):,} queries"
                return f"{side.source} has no value for {count} ({queries})"
        return ""

    def lost(self, matrix: Matrix) -> tuple[int, tuple[str, ...]]:
        """Return how many judged queries the candidate alone lacks, and which.

        A score file lists the first hundred that are missing. What the baseline's list does not
        reach was answered if its values differ from the candidate's, which count as 0.
        """
        before, after = (run.accounting for run in self.runs)
        lost = set(after.missing_queries) - set(before.missing_queries)
        if before.missing > len(set(before.missing_queries)):
            differ = (matrix.values[:, 0] != matrix.values[:, 1]).any(axis=0)
            lost &= {matrix.query_ids[place] for place in np.flatnonzero(differ)}
        return max(len(lost), after.missing - before.missing), tuple(sorted(lost))


def _few(query_ids: Iterable[str], most: int = 3) -> str:
    """Name the first few queries.

    >>> _few(["q3", "q1", "q2", "q4"])
    "'q1', 'q2', 'q3', …"
    """
    ordered = sorted(query_ids)
    more = ", …" if len(ordered) > most else ""
    return ", ".join(shown(query_id, 40) for query_id in ordered[:most]) + more
