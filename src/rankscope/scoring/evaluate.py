"""Evaluate: from qrels, runs and measures to scores with their accounting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.document.views import Shown
from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.measures.language import DEFAULT_MEASURES, Measure, parse_measures
from rankscope.measures.registry import aggregate, compute
from rankscope.scoring.align import align, only_queries
from rankscope.scoring.inputs import as_judgments, as_runs, without_identical
from rankscope.scoring.ranking import lengths_by_rank
from rankscope.scoring.rules import profile_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from rankscope.measures.judged import FloatArray
    from rankscope.measures.language import Parsed
    from rankscope.scoring.accounting import Accounting
    from rankscope.scoring.align import Judgments, Precision, QueryPolicy, Ties
    from rankscope.scoring.bounds import BoundsTable
    from rankscope.scoring.rules import Profile
    from rankscope.scoring.score_files import ScoreRecord

__all__ = ["Scores", "evaluate"]


@dataclass(frozen=True, eq=False)
class RunScores:
    """One run's values: a row for each measure, a column for each query."""

    name: str
    query_ids: tuple[str, ...]
    values: FloatArray
    means: dict[str, float]
    counts: dict[str, Any]
    """The fields of `accounting`, as plain data."""

    @cached_property
    def accounting(self) -> Accounting:
        """What the means are made of.

        Made when it is asked for: loading pydantic takes longer than a small evaluation.
        """
        from rankscope.scoring.accounting import Accounting  # noqa: PLC0415

        return Accounting(**self.counts)


class Scores(Shown):
    """The result of `evaluate`: means, values by query, and the accounting.

    With one run ``scores["nDCG@10"]`` is a number and ``means`` a dict by measure; with several,
    both go by run first.
    """

    def __init__(
        self,
        runs: Iterable[RunScores],
        measures: Iterable[Parsed],
        profile: Profile,
        *,
        judgments: Judgments,
        single: bool,
    ) -> None:
        self._runs = {run.name: run for run in runs}
        self._asked = {str(parsed.measure): parsed.asked for parsed in measures}
        self.profile = profile
        self.judgments = judgments
        self._single = single

    @property
    def runs(self) -> list[str]:
        """The names of the runs."""
        return list(self._runs)

    @property
    def measures(self) -> list[str]:
        """The measures, by their canonical names."""
        return list(self._asked)

    @property
    def asked(self) -> dict[str, str]:
        """For each measure the name it was asked for."""
        return dict(self._asked)

    @property
    def rules(self) -> dict[str, str]:
        """The rules that counted: the profile's, or what replaced them."""
        return {
            "ties": self.profile.ties,
            "precision": self.profile.precision,
            "queries": self.profile.queries,
            "no_relevant": self.profile.no_relevant,
        }

    def run(self, name: str | None = None) -> RunScores:
        """Return one run's scores; the name may be left out where there is only one."""
        if name is None and len(self._runs) == 1:
            return next(iter(self._runs.values()))
        if name not in self._runs:
            raise UnknownNameError("run", str(name), self._runs)
        return self._runs[name]

    def only(self, measures: Iterable[str]) -> Scores:
        """Return the same scores with some of the measures, by their canonical names."""
        wanted = list(measures)
        rows = [self.measures.index(measure) for measure in wanted]
        part = Scores([], [], self.profile, judgments=self.judgments, single=self._single)
        part._asked = {measure: self._asked[measure] for measure in wanted}
        part._runs = {
            name: replace(
                run,
                values=run.values[rows],
                means={measure: run.means[measure] for measure in wanted},
            )
            for name, run in self._runs.items()
        }
        return part

    def _key(self, measure: str | Measure) -> str:
        """Find a measure by its canonical name, as it was asked for, or as the profile reads it."""
        text = str(measure)
        if text in self._asked:
            return text
        if text in self._asked.values():
            return next(name for name, asked in self._asked.items() if asked == text)
        parsed = Measure.parse(measure)
        for name in (str(parsed), str(self.profile.meaning(parsed))):
            if name in self._asked:
                return name
        raise UnknownNameError("measure in these scores", text, self._asked)

    def __getitem__(self, measure: str | Measure) -> Any:
        """Return a measure's mean; with several runs, by run."""
        key = self._key(measure)
        if self._single:
            return self.run().means[key]
        return {name: run.means[key] for name, run in self._runs.items()}

    @property
    def means(self) -> dict[str, Any]:
        """The means by measure; with several runs by run, then measure."""
        if self._single:
            return dict(self.run().means)
        return {name: dict(run.means) for name, run in self._runs.items()}

    @property
    def accounting(self) -> Any:
        """What the means are made of; with several runs, by run."""
        if self._single:
            return self.run().accounting
        return {name: run.accounting for name, run in self._runs.items()}

    def values(self, measure: str | Measure, run: str | None = None) -> dict[str, float]:
        """Return one run's values of one measure, by query."""
        row = self.measures.index(self._key(measure))
        scores = self.run(run)
        return dict(zip(scores.query_ids, scores.values[row].tolist(), strict=True))

    @cached_property
    def per_query(self) -> pl.DataFrame:
        """All values as a long Polars frame: run, query_id, measure, value."""
        import polars as pl  # noqa: PLC0415

        names = pl.Series(self.measures, dtype=pl.String)
        parts = []
        for name, run in self._runs.items():
            queries = pl.Series(run.query_ids, dtype=pl.String)
            row, column = np.divmod(np.arange(run.values.size), max(len(queries), 1))
            parts.append(
                pl.DataFrame(
                    {
                        "run": pl.repeat(name, run.values.size, dtype=pl.String, eager=True),
                        "query_id": queries.gather(column),
                        "measure": names.gather(row),
                        "value": run.values.ravel(),
                    }
                )
            )
        return pl.concat(parts)

    def record(
        self, *, per_query: bool = True, bounds: Mapping[str, BoundsTable] | None = None
    ) -> ScoreRecord:
        """Return the scores as a record; by query it is one to compare with later.

        ``bounds`` are those of some runs, by name.
        """
        from rankscope.scoring.score_files import score_record  # noqa: PLC0415

        return score_record(self, per_query=per_query, bounds=bounds or {})

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Return plain data, ready for JSON; by query it is a record to compare with later."""
        return self.record(per_query=per_query).to_dict()

    def __repr__(self) -> str:
        wide = max((len(name) for name in self.measures), default=0)
        lines = []
        for name, run in self._runs.items():
            lines.append(f"Scores of {name!r} over {run.accounting.queries} queries")
            lines += [f"  {measure:<{wide}}  {value:.4f}" for measure, value in run.means.items()]
        return "\n".join(lines)


def evaluate(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    profile: str | Profile = "rankscope",
    ties: Ties | None = None,
    precision: Precision | None = None,
    queries: QueryPolicy | None = None,
    lengths: Mapping[str, float] | None = None,
) -> Scores:
    """Score one run or several.

    ``qrels`` and each run may be a table, plain dicts, a frame or a path; several runs are a dict
    by name or a list. ``profile`` names a tool's rules; ``ties``, ``precision`` and ``queries``
    change single rules of it. ``lengths`` gives the number of words of each document, for measures
    that need it (TBG).

    >>> scores = evaluate({"q1": {"d1": 1}}, {"q1": {"d2": 0.9, "d1": 0.8}}, ["RR@10", "P@1"])
    >>> scores["RR@10"], scores.accounting.queries
    (0.5, 1)
    """
    rules = profile_named(profile)
    asked = meant(measures, rules)
    judgments = as_judgments(qrels)
    if not judgments.query_ids:
        raise InputError("the qrels are empty; give judgments to score against")
    named, single = as_runs(runs)
    changed = {"ties": ties, "precision": precision, "queries": queries}
    changes: Any = {rule: choice for rule, choice in changed.items() if choice is not None}
    main = replace(rules, **changes) if changes else rules
    apart = rules.apart and replace(rules.apart, **changes)
    words = lengths if any(p.measure.definition.needs == "lengths" for p in asked) else None
    wanted = [parsed.measure for parsed in asked]
    results = []
    for name, run in named.items():
        usual = [measure for measure in wanted if rules.rules_for(measure) is rules]
        scored = _scored(name, judgments, run, usual, main, lengths=words)
        if apart and len(usual) < len(wanted):
            rest = [measure for measure in wanted if measure not in usual]
            scored = _joined(
                scored, _scored(name, judgments, run, rest, apart), usual + rest, wanted
            )
        results.append(scored)
    return Scores(results, asked, main, judgments=judgments, single=single)


def _joined(
    usual: RunScores, rest: RunScores, computed: list[Measure], wanted: list[Measure]
) -> RunScores:
    """Put measures together that were computed under different rules; the first set the queries."""
    at = {query_id: place for place, query_id in enumerate(rest.query_ids)}
    columns = np.array([at[query_id] for query_id in usual.query_ids], np.int64)
    values = np.concatenate([usual.values, rest.values[:, columns]])
    means = {**usual.means, **rest.means}
    tied = {**usual.counts["tied_across_cutoff"], **rest.counts["tied_across_cutoff"]}
    return replace(
        usual,
        values=values[[computed.index(measure) for measure in wanted]],
        means={str(measure): means[str(measure)] for measure in wanted},
        counts={
            **usual.counts,
            "tied_hits": max(usual.counts["tied_hits"], rest.counts["tied_hits"]),
            "tied_across_cutoff": dict(sorted(tied.items())),
        },
    )


def meant(measures: str | Measure | Iterable[str | Measure], rules: Profile) -> list[Parsed]:
    """Return what a profile means by the measures asked for, each once."""
    asked: dict[Measure, Parsed] = {}
    for parsed in parse_measures(measures):
        measure = rules.meaning(parsed.measure)
        changed = measure is not parsed.measure
        asked.setdefault(measure, replace(parsed, measure=measure) if changed else parsed)
    if not asked:
        raise InputError("no measure was asked for; name one such as nDCG@10")
    return list(asked.values())


def _scored(
    name: str,
    judgments: Judgments,
    run: Any,
    measures: list[Measure],
    rules: Profile,
    *,
    lengths: Mapping[str, float] | None = None,
) -> RunScores:
    aligned = align(
        judgments,
        run if rules.identical_ids else without_identical(run),
        ties=rules.ties,
        precision=rules.precision,
        queries=rules.queries,
        cutoffs=tuple(sorted({m.cutoff for m in measures if m.cutoff is not None})),
    )
    judged = aligned.judged
    if lengths is not None:
        by_rank = lengths_by_rank(judged.query_ids, run, lengths, rules.ties, rules.precision)
        judged = replace(judged, lengths=by_rank)
    levels = {*map(relevance_level_of, measures)} or {1.0}
    without = max(int(np.count_nonzero(judged.graded(level) == 0)) for level in levels)
    if without and rules.no_relevant == "out":
        judged = only_queries(judged, judged.graded(1.0) > 0)
    if not len(judged):
        raise InputError(
            f"run {shown(name)} leaves no query to average over; check that it uses the query ids "
            "of the qrels, and that these hold relevant documents"
        )
    values = np.empty((len(measures), len(judged)))
    means = {}
    for row, measure in enumerate(measures):
        values[row] = compute(measure, judged)
        means[str(measure)] = aggregate(measure, values[row])
    counts = {
        "queries": len(judged),
        "judged": len(judgments.query_ids),
        "missing": len(aligned.missing),
        "missing_queries": aligned.missing,
        "missing_policy": rules.queries,
        "unjudged": aligned.unjudged,
        "without_relevant": without,
        "without_relevant_policy": rules.no_relevant,
        "tied_hits": 0 if aligned.found is None else int((aligned.found.tie_size > 1).sum()),
        "tied_across_cutoff": aligned.tied_at,
    }
    return RunScores(name, judged.query_ids, values, means, counts)


@lru_cache(maxsize=1024)
def relevance_level_of(measure: Measure) -> float:
    """Return the grade from which on a measure counts a document as relevant."""
    options = measure.options
    by_gain = options.get("gain", "binary") != "binary"
    rel = options.get("rel", 1.0)
    return _ABOVE_ZERO if by_gain or not isinstance(rel, float) else rel


_ABOVE_ZERO = float(np.nextafter(0.0, 1.0))
