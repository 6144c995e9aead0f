"""Score files: what ``rankscope evaluate --per-query --format json`` writes, and reading it back.

Between `evaluate`, whose scores `score_record` puts into a record, and
`rankscope.statistics.sides`, which sets two sides side by side. A file comes from another
machine and another day: what does not fit the fields of `ScoreRecord` becomes a `FormatError` that
says where it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field, Strict

from rankscope.errors import FormatError, UnknownNameError, shown
from rankscope.files import can_be_read_again, open_bytes, read_bytes, source_name
from rankscope.findings import Finding
from rankscope.measures.language import Measure
from rankscope.measures.registry import aggregate
from rankscope.part import FileRef, Part, Record, left_out, left_out_if_empty
from rankscope.scoring.accounting import Accounting
from rankscope.scoring.bounds import Bounds
from rankscope.scoring.rules import PROFILES

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.measures.judged import FloatArray
    from rankscope.measures.language import Parsed
    from rankscope.scoring.bounds import BoundsTable
    from rankscope.scoring.scores import Scores

HOW_TO_WRITE = "rankscope evaluate QRELS RUN --per-query --format json -o FILE"
"""The command that writes a score file; messages name it."""

LARGEST = 1e12
"""No value of a measure is larger: sums and squares of values stay finite."""

SAME_MEAN = 1e-9
"""Means that differ by more, or by more than this share, are not the same."""

_BOM = b"\xef\xbb\xbf"
_OURS = re.compile(rb'"schema"\s*:\s*"rankscope/')


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
"""A SHA-256 as text."""

Text = Annotated[str, Field(min_length=1)]
"""Text that is not empty."""

Value = Annotated[float, Strict(), Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
"""A measure's value; neither text nor true is taken for a number."""


class QrelsRef(Part):
    """The judgments that counted, by content."""

    sha256: Sha256
    """The hash of query ids, document ids and grades."""
    queries: int | None = left_out()
    """How many queries are judged; left out where that is not known."""


class RunRecord(Part):
    """One run's scores."""

    means: dict[str, float]
    """The means by measure."""
    accounting: Accounting | None = None
    """What the means are made of."""
    per_query: dict[str, dict[str, Value | None]] | None = left_out()
    """By query and measure, every value; only if values by query were asked for."""
    findings: tuple[Finding, ...] = left_out_if_empty()
    """What makes the means mean less than they seem, such as queries that the run lacks."""
    bounds: tuple[Bounds, ...] | None = left_out()
    """How far ties and unjudged documents could move the means; only where that was looked at."""


class ScoreRecord(Record):
    """The scores of one or several runs; by query it is what the gate compares with."""

    kind: ClassVar[str] = "scores"
    written_by: ClassVar[str] = HOW_TO_WRITE

    profile: Text
    """Whose rules counted."""
    rules: dict[str, Text] = Field(default_factory=dict)
    """The single rules, which may have been changed from the profile's."""
    qrels: QrelsRef
    """The judgments that counted."""
    measures: dict[str, Text] = Field(min_length=1)
    """The measures by their canonical names, with the names they were asked for."""
    not_promised: dict[str, Text] | None = left_out()
    """Measures that may differ from the numbers of the profile's tool, and why."""
    reading: Text | None = left_out()
    """How the input was read, in one line."""
    runs: dict[str, RunRecord] = Field(min_length=1)
    """The scores by run."""


def score_record(
    scores: Scores, *, per_query: bool, bounds: Mapping[str, BoundsTable]
) -> ScoreRecord:
    """Put scores into a record; ``bounds`` are those of some runs, by name."""
    runs = {}
    for name in scores.runs:
        run = scores.run(name)
        columns = zip(run.query_ids, run.values.T.tolist(), strict=True)
        # not validated: these are our own numbers, and there may be millions
        runs[name] = RunRecord.model_construct(
            means=dict(run.means),
            accounting=run.accounting,
            per_query={
                query_id: {
                    measure: value
                    for measure, value in zip(scores.measures, column, strict=True)
                    if not math.isnan(value)
                }
                for query_id, column in columns
            }
            if per_query
            else None,
            findings=run.findings,
            bounds=tuple(bounds[name]) if name in bounds else None,
        )
    return ScoreRecord.model_construct(
        profile=scores.profile.name,
        rules=scores.rules,
        qrels=QrelsRef(
            sha256=scores.judgments.fingerprint, queries=len(scores.judgments.query_ids)
        ),
        measures=scores.asked,
        not_promised=scores.not_promised or None,
        reading=scores.reading or None,
        runs=runs,
    )


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRun:
    """One run's values: ``values[m, n]``, NaN where there is none."""

    query_ids: tuple[str, ...]
    values: FloatArray
    accounting: Accounting | None = None
    """What the means are made of; None if the record does not say."""
    findings: tuple[Finding, ...] = ()
    """What makes its values mean less than they seem."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedScores:
    """Scores by query with what is needed to know whether others can be compared with them."""

    source: str
    """How messages call it: the file as the user named it."""
    profile: str
    """Whose rules it was scored by."""
    rules: dict[str, str]
    """The single rules, which may have been changed from the profile's; empty if not recorded."""
    qrels: str
    """The SHA-256 of the judgments' content."""
    measures: dict[str, str]
    """The measures by their canonical names, with what they were asked for as."""
    runs: dict[str, RecordedRun]

    def name_of(self, run: str | None = None) -> str:
        """Return the name of a run; it may be left out where there is only one."""
        if run is not None and run not in self.runs:
            raise UnknownNameError(f"run in {self.source}", run, self.runs)
        if run is None and len(self.runs) > 1:
            names = ", ".join(shown(name, 40) for name in list(self.runs)[:5])
            raise FormatError(
                f"contains {len(self.runs)} runs ({names}); name the one to compare "
                "with --baseline-run or --candidate-run",
                source=self.source,
            )
        return next(iter(self.runs)) if run is None else run

    def find(self, asked: Parsed) -> str | None:
        """Return the name a measure has here, which depends on the rules; None if it is not here.

        >>> from rankscope.measures.language import parse_measures
        >>> scores = RecordedScores("a.json", "ranx", {}, "0" * 64, {"AP@5": "map@5"}, {})
        >>> scores.find(parse_measures("map_cut_5")[0])
        'AP@5'
        """
        rules = PROFILES.get(self.profile)
        meant = str(asked.measure if rules is None else rules.meaning(asked.measure))
        if meant in self.measures:
            return meant
        return next((name for name, text in self.measures.items() if text == asked.asked), None)

    @classmethod
    def of(cls, scores: Scores, *, source: str) -> RecordedScores:
        """Take scores that were just computed."""
        by_name = {name: scores.run(name) for name in scores.runs}
        runs = {
            name: RecordedRun(run.query_ids, run.values, run.accounting, run.findings)
            for name, run in by_name.items()
        }
        return cls(
            source=source,
            profile=scores.profile.name,
            rules=scores.rules,
            qrels=scores.judgments.fingerprint,
            measures=scores.asked,
            runs=runs,
        )

    @classmethod
    def from_data(cls, data: object, *, source: str) -> RecordedScores:
        """Check what a file holds, or what `Scores.to_dict` with ``per_query=True`` returned."""
        record = ScoreRecord.from_data(data, source=source)
        runs = {}
        for name, run in record.runs.items():
            if not run.per_query:
                raise FormatError(
                    f"run {shown(name, 40)} has no values by query, which a comparison needs; "
                    f"write the file again with {HOW_TO_WRITE!r}",
                    source=source,
                )
            rows = [
                [values.get(measure) for values in run.per_query.values()]
                for measure in record.measures
            ]
            values = np.array(rows, np.float64)
            runs[name] = RecordedRun(tuple(run.per_query), values, run.accounting, run.findings)
        return cls(
            source=source,
            profile=record.profile,
            rules=record.rules,
            qrels=record.qrels.sha256,
            measures=record.measures,
            runs=runs,
        )


def is_score_file(path: PathLike) -> bool:
    """Tell a score file from a run by its first bytes; what can be read only once is a run."""
    if not can_be_read_again(path):
        return False
    with open_bytes(path) as stream:
        head = stream.read(4096).removeprefix(_BOM).lstrip()
    return head.startswith(b"{") and _OURS.search(head) is not None


def read_scores(path: PathLike) -> RecordedScores:
    """Read a file written by ``evaluate --per-query --format json``."""
    from rankscope.files import decoded  # noqa: PLC0415
    from rankscope.tables.jsontext import parse_json  # noqa: PLC0415

    source = source_name(path)
    content = read_bytes(path).removeprefix(_BOM)
    if not content.lstrip().startswith(b"{"):
        raise FormatError(
            f"expected a score file, which {HOW_TO_WRITE!r} writes; to compare run files, name "
            "their judgments with --qrels",
            source=source,
        )
    data = parse_json(decoded(content, source=source), source=source)
    return RecordedScores.from_data(data, source=source)


def read_values(
    path: Path,
    recorded: FileRef,
    means: Mapping[str, float],
    accounting: Accounting | None,
    *,
    source: str,
) -> RecordedRun:
    """Read values by query from an experiment's Parquet file: query_id, measure, value.

    The file must be the one ``recorded``, byte for byte, and its values must give ``means``, which
    also say which measures are read.
    """
    import polars as pl  # noqa: PLC0415

    from rankscope.tables.parquet import recorded_frame  # noqa: PLC0415

    try:
        frame = recorded_frame(path, recorded.sha256, source=path.name)
        long = frame.select("query_id", "measure", "value")
        wide = long.pivot(on="measure", index="query_id", values="value", maintain_order=True)
        query_ids = tuple(wide["query_id"].cast(pl.String))
        rows = [wide[name].cast(pl.Float64).fill_null(math.nan).to_numpy() for name in means]
    except (FormatError, pl.exceptions.PolarsError) as error:
        problem = error.problem if isinstance(error, FormatError) else str(error)
        reason = problem.partition("\n")[0]
        raise FormatError(
            f"its values by query cannot be read from {shown(path.name)} ({reason})", source=source
        ) from None
    for (name, mean), row in zip(means.items(), rows, strict=True):
        counted = aggregate(Measure.parse(name), row[~np.isnan(row)])
        if not math.isclose(mean, counted, rel_tol=SAME_MEAN, abs_tol=SAME_MEAN):
            raise FormatError(
                f"{shown(path.name)}: the recorded mean of {name} is {mean:.6g}, but its values by "
                f"query give {counted:.6g}: the file was changed; run the benchmark again",
                source=source,
            )
    return RecordedRun(query_ids, np.array(rows), accounting)
