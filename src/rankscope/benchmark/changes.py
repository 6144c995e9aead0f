"""Two experiments side by side: each system they share, query by query.

They are comparable under the gate's rules: the same judgments, queries, profile and rules. p-values
are corrected (Holm) over all systems and measures together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankscope.benchmark.verify import inside, open_experiment
from rankscope.errors import FormatError, InputError, UnknownNameError
from rankscope.measures.language import Measure, parse_measures
from rankscope.records import BenchmarkReport, ExperimentManifest
from rankscope.scoring.score_files import RecordedRun, ScoreRecord
from rankscope.statistics.comparable import Pairs
from rankscope.statistics.correction import corrected
from rankscope.statistics.intervals import Interval, mean_intervals
from rankscope.statistics.paired import paired_tests

__all__ = ["Change", "ExperimentComparison", "compare_experiments"]

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Change:
    """One system's measure, before and after."""

    system: str
    measure: str
    before: float
    after: float
    difference: float
    interval: Interval
    p: float
    p_corrected: float
    higher_is_better: bool

    @property
    def verdict(self) -> str:
        """better, worse, or no difference shown."""
        if self.p_corrected > ALPHA or not self.difference:
            return "no difference shown"
        return "better" if (self.difference > 0) == self.higher_is_better else "worse"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {**asdict(self), "interval": self.interval.to_dict(), "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class ExperimentComparison:
    """What changed from one experiment to another."""

    before: str
    after: str
    queries: int
    changes: tuple[Change, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    differs: tuple[str, ...]
    """What is different about the experiments themselves: config, corpus, versions."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "queries": self.queries,
            "correction": "holm",
            "differs": list(self.differs),
            "only_before": list(self.only_before),
            "only_after": list(self.only_after),
            "changes": [one.to_dict() for one in self.changes],
        }


def compare_experiments(
    before: Path,
    after: Path,
    *,
    systems: Sequence[str] = (),
    measures: Sequence[str] = (),
    resamples: int = 10_000,
    seed: int = 0,
) -> ExperimentComparison:
    """Compare the systems that two experiments share, or those that are named.

    Raises:
        InputError: "not comparable", and why.
    """
    (old_manifest, old), (new_manifest, new) = open_experiment(before), open_experiment(after)
    names = [[one.name for one in report.systems] for report in (old, new)]
    shared = [name for name in names[0] if name in names[1]]
    for name in systems:
        if name not in shared:
            raise UnknownNameError("system of both experiments", name, shared)
    if not shared:
        raise InputError(
            f"not comparable: {before} has the systems {', '.join(names[0])}, {after} has "
            f"{', '.join(names[1])}, and none in common"
        )
    chosen = list(systems) or shared
    records = _record(before, old), _record(after, new)
    asked = parse_measures(list(measures) or _shared_measures(old, new))
    pairs = [Pairs.of(*records, asked, runs=(name, name)) for name in chosen]
    rows = np.concatenate([one.differences for one in pairs])
    kinds = [measure for one in pairs for measure in one.measures]
    tests = paired_tests(rows, resamples=resamples, seed=seed)
    adjusted = corrected([one.p for one in tests], "holm").tolist()
    intervals = mean_intervals(
        rows, resamples=resamples, seed=seed, bounds=[_spread(one) for one in kinds]
    )
    before_means = [mean for one in pairs for mean in one.means[0]]
    after_means = [mean for one in pairs for mean in one.means[1]]
    owners = [name for name, one in zip(chosen, pairs, strict=True) for _ in one.measures]
    changes = [
        Change(
            system=owners[at],
            measure=str(measure),
            before=before_means[at],
            after=after_means[at],
            difference=float(rows[at].mean()),
            interval=intervals[at],
            p=tests[at].p,
            p_corrected=adjusted[at],
            higher_is_better=measure.definition.higher_is_better,
        )
        for at, measure in enumerate(kinds)
    ]
    return ExperimentComparison(
        before=old.experiment,
        after=new.experiment,
        queries=rows.shape[1],
        changes=tuple(changes),
        only_before=tuple(name for name in names[0] if name not in names[1]),
        only_after=tuple(name for name in names[1] if name not in names[0]),
        differs=tuple(_differences(old_manifest, new_manifest)),
    )


def _spread(measure: Measure) -> tuple[float, float]:
    low, high = measure.definition.range
    return (low - high, high - low)


def _shared_measures(old: BenchmarkReport, new: BenchmarkReport) -> list[str]:
    """Return the measures of both that are means."""
    held = {one.measure for one in new.measures}
    found = [one.measure for one in old.measures if one.measure in held]
    averaged = [one for one in found if Measure.parse(one).definition.aggregate == "mean"]
    if not averaged:
        raise InputError("not comparable: the experiments have no averaged measure in common")
    return averaged


def _record(folder: Path, report: BenchmarkReport) -> ScoreRecord:
    """Return the values by query of all systems."""
    runs = {}
    for system in report.systems:
        path = inside(folder, system.per_query.path)
        try:
            table = pl.read_parquet(path).with_columns(
                pl.col("query_id", "measure").cast(pl.String), pl.col("value").cast(pl.Float64)
            )
            wide = table.pivot(on="measure", index="query_id", values="value", maintain_order=True)
            values = {one.measure: wide[one.measure].to_numpy() for one in report.measures}
            query_ids = tuple(wide["query_id"].to_list())
        except (OSError, pl.exceptions.PolarsError) as error:
            raise FormatError(f"cannot be read ({error})", source=str(path)) from None
        policy = system.accounting.missing_policy
        runs[system.name] = RecordedRun(system.name, query_ids, values, policy)
    return ScoreRecord(
        source=str(folder),
        profile=report.profile,
        qrels=report.collection.qrels_sha256,
        measures={one.measure: one.asked for one in report.measures},
        runs=runs,
        rules=report.rules,
    )


def _differences(old: ExperimentManifest, new: ExperimentManifest) -> list[str]:
    """Say what is different about two experiments themselves."""
    said = []
    if old.collection.corpus_sha256 != new.collection.corpus_sha256:
        said.append("the corpus")
    if old.collection.queries_sha256 != new.collection.queries_sha256:
        said.append("the queries' texts or metadata")
    keys = dict.fromkeys([*old.config, *new.config])
    changed = [key for key in keys if old.config.get(key) != new.config.get(key)]
    if changed:
        said.append(f"{', '.join(changed)} in the config")
    for name in dict.fromkeys([*old.versions, *new.versions]):
        one, other = old.versions.get(name, "none"), new.versions.get(name, "none")
        if one != other:
            said.append(f"{name} ({one}, then {other})")
    return said
