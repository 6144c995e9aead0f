"""Scores: the result of `rankscope.evaluate`, and of reading a score file."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from statistics import stdev
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np

from rankscope.document.views import Shown, document_of
from rankscope.errors import (
    FormatError,
    InputError,
    RankscopeError,
    UnknownNameError,
    counted,
    shown,
)
from rankscope.measures.language import Measure, parse_measures
from rankscope.scoring.soundness import Remark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd
    import polars as pl

    from rankscope.findings import Finding
    from rankscope.measures.judged import FloatArray
    from rankscope.measures.language import Parsed
    from rankscope.scoring.bounds import BoundsTable
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.rules import Profile
    from rankscope.scoring.score_files import Accounting, ScoreRecord
    from rankscope.statistics.intervals import Interval
    from rankscope.tables.columns import Reading

__all__ = ["Scores"]

_V = TypeVar("_V")


@dataclass(frozen=True, eq=False)
class RunScores:
    """One run's values: a row for each measure, a column for each query.

    A value is NaN where a measure leaves a query out that another counts (profile beir).
    """

    name: str
    query_ids: tuple[str, ...]
    values: FloatArray
    means: dict[str, float]
    counts: dict[str, Any]
    """The fields of `accounting`, as plain data."""
    remarks: tuple[Remark | Finding, ...] = ()
    """What should be known beside the means; of a file as the findings they became."""
    repeats: tuple[FloatArray, ...] = ()
    """The values of other runs of the same system, where it was asked more than once."""

    @cached_property
    def accounting(self) -> Accounting:
        """What the means are made of.

        Made when it is asked for: loading pydantic takes longer than a small evaluation.
        """
        from rankscope.scoring.score_files import Accounting  # noqa: PLC0415

        return Accounting(**self.counts)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What makes the means mean less than they seem."""
        return tuple(
            remark.finding(self.name) if isinstance(remark, Remark) else remark
            for remark in self.remarks
        )

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """The 95% confidence intervals of the means; see `Scores.intervals`."""
        # statistics come later in the flow, and are loaded by name as views are
        statistics = import_module("rankscope.statistics.intervals")
        intervals: dict[str, Interval] = statistics.run_intervals(
            list(map(Measure.parse, self.means)), self.values
        )
        return intervals

    @property
    def std(self) -> dict[str, float]:
        """The standard deviations over queries; see `Scores.std`."""
        known = (values[~np.isnan(values)].tolist() for values in self.values)
        by_row = (stdev(values) if len(values) > 1 else math.nan for values in known)
        return dict(zip(self.means, by_row, strict=True))

    def by_query(self, measure: str) -> dict[str, float]:
        """Return the values of a measure by its canonical name, of the queries that it counts."""
        values = self.values[list(self.means).index(measure)].tolist()
        pairs = zip(self.query_ids, values, strict=True)
        return {query_id: value for query_id, value in pairs if not math.isnan(value)}

    def complete(self) -> RunScores:
        """Return the values of the queries that every measure counts."""
        return self.only(columns=np.flatnonzero(~np.isnan(self.values).any(axis=0)).tolist())

    def only(
        self, rows: Sequence[int] | None = None, columns: Sequence[int] | None = None
    ) -> RunScores:
        """Return the values of some measures, or of some queries, by their places."""
        names = list(self.means)
        rows = range(len(names)) if rows is None else rows
        columns = range(len(self.query_ids)) if columns is None else columns
        return replace(
            self,
            query_ids=tuple(self.query_ids[column] for column in columns),
            values=self.values[np.ix_(rows, columns)],
            means={names[row]: self.means[names[row]] for row in rows},
            repeats=tuple(values[np.ix_(rows, columns)] for values in self.repeats),
        )

    def with_repeats(self, others: Iterable[RunScores]) -> RunScores:
        """Return these with the values of other runs of the same system, query by query."""
        repeats = []
        for run in others:
            column = {query_id: place for place, query_id in enumerate(run.query_ids)}
            repeats.append(run.values[:, [column[query_id] for query_id in self.query_ids]])
        return replace(self, repeats=tuple(repeats))

    def rows(self) -> pl.DataFrame:
        """Return the values as a long frame: run, query_id, measure, value."""
        import polars as pl  # noqa: PLC0415

        row, column = np.divmod(np.arange(self.values.size), max(len(self.query_ids), 1))
        return pl.DataFrame(
            {
                "run": pl.repeat(self.name, self.values.size, dtype=pl.String, eager=True),
                "query_id": pl.Series(self.query_ids, dtype=pl.String).gather(column),
                "measure": pl.Series(list(self.means), dtype=pl.String).gather(row),
                "value": self.values.ravel().astype(np.float64),
            }
        ).filter(pl.col("value").is_not_nan())


class ByMeasure(dict[str, _V]):
    """Values by measure, found under the canonical name and under any other of the measure."""

    def __init__(self, values: Mapping[str, _V], find: Callable[[str], str]) -> None:
        super().__init__(values)
        self._find = find

    def __missing__(self, measure: str) -> _V:
        name = self._find(measure)
        if not super().__contains__(name):
            raise UnknownNameError("measure here", measure, self)
        return self[name]

    def __contains__(self, measure: object) -> bool:
        with suppress(RankscopeError):
            return super().__contains__(measure) or super().__contains__(self._find(str(measure)))
        return False

    def get(self, measure: str, default: Any = None) -> Any:
        """Return the value of a measure, or ``default`` if it is not there."""
        return self[measure] if measure in self else default  # noqa: SIM401

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Shown):
    """The result of `evaluate`: means, values by query, and the accounting.

    With one run ``scores["nDCG@10"]`` is a number and ``means`` a dict by measure; with several,
    both go by run first.
    """

    view_in: ClassVar[str] = "rankscope.reports.scores"

    scored: Sequence[RunScores]
    asked: dict[str, str]
    """For each measure, by its canonical name, the name it was asked for."""
    profile: Profile
    judgments: Judgments = cast("Any", None)  # noqa: RUF009
    """What the runs were scored against; scores that were read from a file have none."""
    single: bool = False
    """Whether there is one run, which goes without a name."""
    readings: Sequence[Reading] = ()
    """How each run was read."""
    recorded: str = ""
    """The hash of the judgments, where a file says it."""
    source: str = ""
    """How messages call them: the file as the user named it; '' where they were just made."""

    def named(self, source: str) -> Scores:
        """Return the same scores under what messages are to call them."""
        return replace(self, source=source)

    def only(self, measures: Iterable[str]) -> Scores:
        """Return the same scores with some of the measures, by their canonical names."""
        asked = {measure: self.asked[measure] for measure in measures}
        rows = [self.measures.index(measure) for measure in asked]
        return replace(self, scored=[run.only(rows) for run in self.scored], asked=asked)

    @cached_property
    def reading(self) -> str:
        """How the input was read, in one line; '' where that is not known."""
        if not self.readings:
            return ""
        gold = self.judgments.reading
        words = f"gold: {counted(len(self.judgments.query_ids), 'question')}"
        words += f", {gold.sentence('relevant')}" if gold.shape else ""
        ways = dict.fromkeys(reading.sentence("retrieved") for reading in self.readings)
        runs = ", ".join(filter(None, ways))
        return f"{words}; run: {runs}" if runs else words

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the judgments' content: the same for the same judgments."""
        return self.recorded or self.judgments.fingerprint

    @property
    def runs(self) -> list[str]:
        """The names of the runs."""
        return [run.name for run in self.scored]

    @property
    def measures(self) -> list[str]:
        """The measures, by their canonical names."""
        return list(self.asked)

    @property
    def rules(self) -> dict[str, Any]:
        """The rules that counted: the profile's, or what replaced them."""
        names = ("ties", "precision", "queries", "no_relevant")
        return {name: getattr(self.profile, name) for name in names}

    def run(self, name: str | None = None) -> RunScores:
        """Return one run's scores; the name may be left out where there is only one."""
        if name is None and len(self.scored) == 1:
            return self.scored[0]
        where = self.source or "these scores"
        if name is None:
            names = ", ".join(shown(name, 40) for name in self.runs[:5])
            options = " with --baseline-run or --candidate-run" if self.source else ""
            raise FormatError(
                f"contains {len(self.runs)} runs ({names}); name one{options}", source=where
            )
        if name not in self._by_name:
            raise UnknownNameError(f"run in {where}", str(name), self.runs)
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, RunScores]:
        return {run.name: run for run in self.scored}

    def name_of(self, measure: str | Measure) -> str:
        """Find a measure by its canonical name, as it was asked for, or as the profile reads it.

        >>> from rankscope import evaluate
        >>> evaluate({"q": {"d": 1}}, {"q": ["d"]}, ["map@5"]).name_of("map_cut_5")
        'AP@5'
        """
        text = str(measure)
        if text in self.asked:
            return text
        for name, asked in self.asked.items():
            if asked == text:
                return name
        [parsed] = parse_measures([measure])
        known = self.find(parsed)
        if known is None:
            raise UnknownNameError("measure in these scores", text, self.asked)
        return known

    def find(self, parsed: Parsed) -> str | None:
        """Return the name that a measure has here by these rules; None if it is not here."""
        for measure in (self.profile.meaning(parsed.measure), parsed.measure):
            if str(measure) in self.asked:
                return str(measure)
        return next((name for name, asked in self.asked.items() if asked == parsed.asked), None)

    def _each(self, of: Callable[[RunScores], Any]) -> Any:
        """Return something of every run, by run; with a single one, that of it alone."""
        return of(self.scored[0]) if self.single else {run.name: of(run) for run in self.scored}

    def __getitem__(self, measure: str | Measure) -> Any:
        """Return a measure's mean; with several runs, by run."""
        key = self.name_of(measure)
        return self._each(lambda run: run.means[key])

    @property
    def means(self) -> dict[str, Any]:
        """The means by measure, under any of its names; with several runs by run, then measure."""
        return cast("dict[str, Any]", self._each(lambda run: ByMeasure(run.means, self.name_of)))

    @property
    def std(self) -> dict[str, Any]:
        """The standard deviation over queries (n - 1), as `means` has these; NaN of one query."""
        return cast("dict[str, Any]", self._each(lambda run: ByMeasure(run.std, self.name_of)))

    @property
    def intervals(self) -> dict[str, Any]:
        """The 95% confidence intervals of the means, as `means` has these.

        Those of `rankscope.compare`: Student's t below 25 queries, BCa bootstrap (10,000 resamples,
        seed 0) from there on, Wilson for values 0 and 1. Measures that are summed or averaged
        geometrically over queries have none, and neither has a single query.
        """
        return cast("dict[str, Any]", self._each(lambda run: self.intervals_of(run.name)))

    def intervals_of(self, run: str | None = None) -> dict[str, Interval]:
        """Return the intervals of one run's means, by measure; see `intervals`."""
        return ByMeasure(self.run(run).intervals, self.name_of)

    def at_k(self, measure: str) -> dict[Any, Any]:
        """Return the means of a measure by cutoff, for those measured; with several runs, by run.

        >>> from rankscope import evaluate
        >>> scores = evaluate({"q": {"d": 1}}, {"q": ["e", "d"]}, ["nDCG@1", "Success@1,2"])
        >>> scores.at_k("Success")
        {1: 0.0, 2: 1.0}
        """
        cut = {name: Measure.parse(name).cutoff for name in self.asked}
        names = {}
        for cutoff in sorted(filter(None, cut.values())):
            with suppress(UnknownNameError):
                names[cutoff] = self.name_of(f"{measure}@{cutoff}")
        if not names:
            known = filter(cut.get, cut)
            raise UnknownNameError("measure with a cutoff in these scores", measure, known)
        by_cutoff: dict[Any, Any] = self._each(
            lambda run: {cutoff: run.means[name] for cutoff, name in names.items()}
        )
        return by_cutoff

    def worst(
        self, count: int = 10, *, measure: str | Measure | None = None, run: str | None = None
    ) -> dict[str, float]:
        """Return the queries with the worst values of a measure (the first), worst first.

        Among equal values the order of the queries counts.
        """
        if count < 1:
            raise InputError(f"the number of worst queries must be at least 1, not {count}")
        name = self.measures[0] if measure is None else self.name_of(measure)
        sign = 1 if Measure.parse(name).definition.higher_is_better else -1
        ranked = sorted(self.values(name, run).items(), key=lambda item: sign * item[1])
        return dict(ranked[:count])

    @property
    def accounting(self) -> Any:
        """What the means are made of; with several runs, by run."""
        return self._each(lambda run: run.accounting)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What makes the means mean less than they seem: warnings about each run."""
        return tuple(finding for run in self.scored for finding in run.findings)

    def values(self, measure: str | Measure, run: str | None = None) -> dict[str, float]:
        """Return one run's values of one measure, by query."""
        return self.run(run).by_query(self.name_of(measure))

    @cached_property
    def per_query(self) -> pl.DataFrame:
        """All values as a long Polars frame: run, query_id, measure, value."""
        import polars as pl  # noqa: PLC0415

        schema = dict.fromkeys(("run", "query_id", "measure"), pl.String)
        empty = pl.DataFrame(schema={**schema, "value": pl.Float64})
        return pl.concat([empty, *(run.rows() for run in self.scored)])

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas frame: a row for each query, a column for each measure.

        With several runs there is a column ``run`` too.
        """
        from rankscope.tables.frames import to_pandas  # noqa: PLC0415

        index = ["run", "query_id"]
        wide = self.per_query.pivot("measure", index=index, values="value", maintain_order=True)
        frame = to_pandas(wide, needed_for="Scores.to_pandas").set_index("query_id")
        return frame.drop(columns="run") if self.single else frame

    def record(
        self, *, per_query: bool = True, bounds: Mapping[str, BoundsTable] | None = None
    ) -> ScoreRecord:
        """Return the scores as a record; by query it is one to compare with later.

        ``bounds`` are those of some runs, by name.
        """
        from rankscope.scoring.score_files import ScoreRecord  # noqa: PLC0415

        return ScoreRecord.of(self, per_query=per_query, bounds=bounds or {})

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Return plain data, ready for JSON; by query it is a record to compare with later."""
        return self.record(per_query=per_query).to_dict()

    def __repr__(self) -> str:
        from rankscope.document.terminal import as_text  # noqa: PLC0415

        return as_text(document_of(self)).rstrip()


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Scores, and what they are of: scores alone do not keep runs, which may be large."""

    scores: Scores
    judgments: Judgments
    runs: Mapping[str, Any]
