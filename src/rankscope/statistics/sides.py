"""The two sides of a gate, made on different days perhaps: can they be compared, query by query?

Between `rankscope.scoring.score_files` and what compares two sides (`gate`, `power`, experiments):
values are paired by query id once judgments, rules, queries and measures were found to be the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import InputError, InvalidDataError, counted, shown
from rankscope.files import is_path
from rankscope.measures.language import Measure, parse_measures
from rankscope.scoring.evaluate import score
from rankscope.scoring.inputs import as_judgments
from rankscope.scoring.rules import profile_named
from rankscope.scoring.score_files import ScoreRecord, is_score_file, read_scores
from rankscope.scoring.scored_runs import RunScores, Scores
from rankscope.scoring.scoring_options import DEFAULT
from rankscope.statistics.matrix import Matrix

if TYPE_CHECKING:
    from rankscope.findings import Finding
    from rankscope.measures.language import Parsed
    from rankscope.scoring.rules import Profile
    from rankscope.scoring.scoring_options import Scoring

Sides = tuple[Scores, Scores]
"""The baseline and the candidate."""

Runs = tuple["RunScores", "RunScores"]
"""Their runs."""

RunNames = tuple[str | None, str | None]
"""Which run of each side is meant; None where it has only one."""

_ROLES = ("the baseline", "the candidate")


@dataclass(frozen=True, slots=True)
class Lost:
    """Judged queries that the baseline answers and the candidate does not."""

    count: int
    query_ids: tuple[str, ...]
    """Their ids, as far as they are known."""
    source: str

    def __str__(self) -> str:
        names = _few(self.query_ids) if self.query_ids else "not listed in the file"
        queries = counted(self.count, "query")
        return f"{self.source} lacks {queries} that the baseline answers ({names})"


@dataclass(frozen=True, slots=True, eq=False)
class PairedRuns:
    """Two runs side by side."""

    matrix: Matrix
    sides: Sides
    measures: dict[str, str]
    """The measures to compare, the first of the matrix, with the names they were asked for."""
    left_out: dict[str, str]
    """Measures of either side that cannot be compared, and why; only where none were named."""
    lost: Lost
    findings: tuple[Finding, ...]
    """What makes the values of either run mean less than they seem."""


def paired_runs(
    baseline: Any,
    candidate: Any,
    measures: Sequence[Parsed] | None,
    *,
    default: Sequence[Parsed] = (),
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
    hold are compared; of two runs ``default``. The matrix holds those ``needed`` too, behind the
    others. `InputError` ("not comparable") if judgments, queries or rules differ, or if a measure
    or a value is missing.
    """
    given = dict(zip(_ROLES, (baseline, candidate), strict=True))
    recorded = {role: _recorded(side, role, qrels is not None) for role, side in given.items()}
    to_score = measures
    if to_score is None:
        known = next((side for side in recorded.values() if side), None)
        to_score = default if known is None else parse_measures(list(known.asked.values()))
    sides = _sides(given, recorded, [*to_score, *needed], qrels, profile=profile, scoring=scoring)
    both = sides[0].run(runs[0]), sides[1].run(runs[1])
    if measures is None:
        chosen, left_out = _shared(sides, both)
    else:
        chosen, left_out = {_measure(sides, parsed): parsed.asked for parsed in measures}, {}
    others = [_measure(sides, parsed) for parsed in needed]
    matrix = _paired(sides, both, list(dict.fromkeys([*chosen, *others])))
    named = zip(both, matrix.systems, strict=True)
    return PairedRuns(
        matrix=matrix,
        sides=sides,
        measures=chosen,
        left_out=left_out,
        lost=_lost(sides, both, matrix),
        findings=tuple(
            finding.model_copy(update={"system": system})
            for run, system in named
            for finding in run.findings
        ),
    )


def paired(sides: Sides, measures: Sequence[Parsed], runs: RunNames = (None, None)) -> Matrix:
    """Pair one run of each side; `InputError` that says "not comparable" if that cannot be."""
    chosen = dict.fromkeys(_measure(sides, parsed) for parsed in measures)
    return _paired(sides, (sides[0].run(runs[0]), sides[1].run(runs[1])), list(chosen))


def _paired(sides: Sides, runs: Runs, measures: Sequence[str]) -> Matrix:
    obstacles = list(_what_differs(sides, runs))
    if obstacles:
        raise InputError(
            f"not comparable: {'; '.join(obstacles)}; score both against the same judgments, "
            "by the same rules"
        )
    for measure in measures:
        problem = _problem(sides, runs, measure)
        if problem:
            raise InputError(f"not comparable: {measure}: {problem}; choose another measure")
    names = [run.name for run in runs]
    if names[0] == names[1] and sides[0].source != sides[1].source:
        names = [f"{run.name} ({side.source})" for run, side in zip(runs, sides, strict=True)]
    rows = [[side.measures.index(measure) for measure in measures] for side in sides]
    parts = [run.only(chosen) for run, chosen in zip(runs, rows, strict=True)]
    return Matrix.of(list(zip(names, parts, strict=True)), measures)


def _lost(sides: Sides, runs: Runs, matrix: Matrix) -> Lost:
    """Return the judged queries that the candidate lacks and the baseline does not.

    A score file lists the first hundred that are missing. What the baseline's list does not reach
    was answered if its values differ from the candidate's, which count as 0.
    """
    before, after = (run.accounting for run in runs)
    lost = set(after.missing_queries) - set(before.missing_queries)
    if before.missing > len(set(before.missing_queries)):
        differ = (matrix.values[:, 0] != matrix.values[:, 1]).any(axis=0)
        lost &= {matrix.query_ids[place] for place in np.flatnonzero(differ)}
    count = max(len(lost), after.missing - before.missing)
    return Lost(count, tuple(sorted(lost)), sides[1].source)


def _sides(
    given: Mapping[str, Any],
    recorded: Mapping[str, Scores | None],
    measures: Sequence[Parsed],
    qrels: Any,
    *,
    profile: Profile | None,
    scoring: Scoring,
) -> Sides:
    """Score what is a run, and check that what is recorded fits the judgments and the rules."""
    known = next((side.profile.name for side in recorded.values() if side), "rankscope")
    judgments = None if qrels is None else as_judgments(qrels, scoring)
    rules = profile or profile_named(known)
    scoring = replace(scoring, profile=rules, ontology=None)  # which the judgments know
    sides = []
    for role, side in recorded.items():
        if side is None:
            side = _scored(given[role], role, judgments, measures, scoring)  # noqa: PLW2901
        elif judgments is not None and side.fingerprint != judgments.fingerprint:
            raise InputError(
                f"not comparable: {side.source} was scored against other judgments (sha256 "
                f"{side.fingerprint[:12]}…) than those given ({judgments.fingerprint[:12]}…); "
                "score it again against these"
            )
        elif profile is not None and side.profile.name != profile.name:
            raise InputError(
                f"not comparable: {side.source} was scored by the rules of "
                f"{side.profile.name}, not {profile.name}; score it again by these"
            )
        sides.append(side)
    return sides[0], sides[1]


def _scored(
    run: Any, role: str, judgments: Any, measures: Sequence[Parsed], scoring: Scoring
) -> Scores:
    """Score a run; what is wrong with it is said with its name."""
    source = os.fspath(run) if is_path(run) else role
    try:
        wanted = [parsed.measure for parsed in measures]
        return score(judgments, [run] if is_path(run) else run, wanted, scoring).scores.named(
            source
        )
    except InvalidDataError as error:
        if source in str(error):
            raise
        raise InvalidDataError(f"{source}: {error}", error.findings) from None


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


def _what_differs(sides: Sides, runs: Runs) -> Iterator[str]:
    """Say what rules out comparing two runs query by query; nothing if they can be compared."""
    base, candidate = sides

    def differ(what: str, before: str, after: str) -> str:
        return f"{what} ({before} in {base.source}, {after} in {candidate.source})"

    if base.profile.name != candidate.profile.name:
        yield differ("the rules differ", base.profile.name, candidate.profile.name)
    elif base.rules != candidate.rules:
        changed = [rule for rule in base.rules if base.rules[rule] != candidate.rules[rule]]
        yield f"the rules differ ({', '.join(changed)} in {base.source} and {candidate.source})"
    if base.fingerprint != candidate.fingerprint:
        hashes = [f"sha256 {side.fingerprint[:12]}…" for side in sides]
        yield differ("the judgments differ", hashes[0], hashes[1].removeprefix("sha256 "))
    policies = [run.accounting.missing_policy for run in runs]
    if policies[0] != policies[1]:
        yield differ("judged queries a run lacks are treated differently", *policies)
    before, after = (set(run.query_ids) for run in runs)
    extra = [
        f"{len(query_ids):,} only in {side.source}: {_few(query_ids)}"
        for query_ids, side in ((before - after, base), (after - before, candidate))
        if query_ids
    ]
    if extra:
        yield f"the queries differ ({'; '.join(extra)})"


def _few(query_ids: Iterable[str], most: int = 3) -> str:
    """Name the first few queries.

    >>> _few(["q3", "q1", "q2", "q4"])
    "'q1', 'q2', 'q3', …"
    """
    ordered = sorted(query_ids)
    more = ", …" if len(ordered) > most else ""
    return ", ".join(shown(query_id, 40) for query_id in ordered[:most]) + more


def _measure(sides: Sides, parsed: Parsed) -> str:
    """Return the name that a measure has on both sides."""
    names = []
    for side in sides:
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
            f"not comparable: {parsed.asked} means {names[0]} in {sides[0].source} and "
            f"{names[1]} in {sides[1].source}"
        )
    return names[0]


def _shared(sides: Sides, runs: Runs) -> tuple[dict[str, str], dict[str, str]]:
    """Return the measures of both sides that can be compared, and why others cannot."""
    chosen, left_out = {}, {}
    for measure, asked in (sides[0].asked | sides[1].asked).items():
        alone = [side.source for side in sides if measure not in side.measures]
        problem = f"{alone[0]} does not have it" if alone else _problem(sides, runs, measure)
        if problem:
            left_out[measure] = problem
        else:
            chosen[measure] = asked
    if not chosen:
        reasons = "; ".join(f"{measure}: {problem}" for measure, problem in left_out.items())
        raise InputError(f"not comparable: no measure can be compared ({reasons})")
    return chosen, left_out


def _problem(sides: Sides, runs: Runs, measure: str) -> str:
    """Return why a measure of both sides cannot be compared; '' if it can."""
    kind = Measure.parse(measure).definition.aggregate
    if kind != "mean":
        how = {"sum": "summed", "pooled": "pooled"}.get(kind, "averaged geometrically")
        return f"it is {how} over queries, and the tests are about means"
    for side, run in zip(sides, runs, strict=True):
        row = run.values[side.measures.index(measure)]
        missing = np.flatnonzero(np.isnan(row))
        if len(missing):
            queries = _few(run.query_ids[place] for place in missing)
            count = f"{len(missing):,} of {len(row):,} queries"
            return f"{side.source} has no value for {count} ({queries})"
    return ""
