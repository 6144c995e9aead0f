"""Score files: what ``rankscope evaluate --per-query --format json`` writes, and reading it back.

With the means goes their accounting: what they are made of, and what was left out. A file is from
another machine and another day: what does not fit the fields of `ScoreRecord` becomes a
`FormatError` that says where it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, Strict, field_serializer

from rankscope.errors import FormatError, UnknownNameError, shown
from rankscope.files import can_be_read_again, decoded, open_bytes, read_bytes, source_name
from rankscope.findings import Finding
from rankscope.part import Part, Record, checked, left_out
from rankscope.runs.collapsing import Chunks
from rankscope.runs.order import Precision, Ties
from rankscope.scoring.bounds import Bounds
from rankscope.scoring.rules import NoRelevant, QueryPolicy, profile_named
from rankscope.scoring.scored_runs import RunScores, Scores
from rankscope.tables.jsontext import parse_json

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.scoring.bounds import BoundsTable

__all__ = ["Accounting"]

HOW_TO_WRITE = "rankscope evaluate QRELS RUN --per-query --format json -o FILE"
"""The command that writes a score file; messages name it."""

LARGEST = 1e12
"""No value of a measure is larger: sums and squares of values stay finite."""

_BOM = b"\xef\xbb\xbf"
_OURS = re.compile(rb'"schema"\s*:\s*"rankscope/')

LISTED = 100
"""How many missing queries JSON lists; their number is always given."""


class SpanAccounting(Part):
    """How gold that is spans or texts was compared with what was retrieved."""

    unit: Literal["characters", "words", "passages"]
    """What overlaps are counted in; passages match as wholes."""
    overlap: float
    """The share of a gold span that must be covered for it to be found."""
    gold: int
    """Gold spans of all queries."""
    retrieved: int
    """Retrieved pieces of all queries."""


class OntologyAccounting(Part):
    """How documents were found in an ontology."""

    source: str
    """The file of the ontology."""
    version: str
    """What it says its version is."""
    sha256: str
    """The hash of its content and of the relations that count."""
    relations: tuple[str, ...] = ("is_a",)
    """What puts a term below another."""
    terms: int
    """Terms that are not obsolete."""
    depth: int
    """The most steps from a root to a term."""
    expected: int
    """Expected ids of all judged queries."""
    expected_unknown: int
    """Of these, those that are no terms or obsolete without one replacement."""
    retrieved: int
    """Retrieved ids of all queries that are averaged."""
    retrieved_unknown: int
    """Of these, those that are no terms."""
    unknown_ids: tuple[str, ...]
    """The first of them."""


class Accounting(Part):
    """What a mean is made of."""

    queries: int
    """Queries that were averaged."""
    judged: int
    """Queries in the judgments."""
    missing: int
    """Judged queries that the run lacks."""
    missing_queries: tuple[str, ...]
    """Their ids; in JSON the first hundred."""
    missing_policy: QueryPolicy
    """What happens to them: count as 0 (all), left out (both), an error (strict)."""
    unjudged: int
    """Queries of the run that nobody judged; they are left out."""
    no_answer: int | None = left_out()
    """Queries that are marked as having no answer, if there are any; they are left out."""
    without_relevant: int
    """Queries that have no document relevant to some measure."""
    without_relevant_policy: NoRelevant
    """What happens to them: they score 0 (zero), or are left out of the mean (out)."""
    tied_hits: int
    """Judged documents that share their score with another document of the query."""
    tied_across_cutoff: dict[int, int]
    """By cutoff: queries with a tie across it, where the order of equal scores decides."""
    collapsed: Chunks | None = left_out()
    """How chunks became documents, if they did."""
    spans: SpanAccounting | None = left_out()
    """How overlaps were counted, where gold is spans or texts."""
    ontology: OntologyAccounting | None = left_out()
    """How documents were found in an ontology, if there is one."""
    languages: tuple[str, ...] = left_out(())
    """The languages of cases that are averaged together, as was asked for."""

    @field_serializer("missing_queries", when_used="json")
    def _first(self, query_ids: tuple[str, ...]) -> tuple[str, ...]:
        return query_ids[:LISTED]


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
"""A SHA-256 as text."""

Text = Annotated[str, Field(min_length=1)]
"""Text that is not empty."""

Value = Annotated[float, Strict(), Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
"""A measure's value; neither text nor true is taken for a number."""


class Rules(Part):
    """The rules that counted, which may have been changed from the profile's."""

    ties: Ties
    """Who goes first among equal scores."""
    precision: Precision
    """In which precision scores are compared."""
    queries: QueryPolicy
    """Which queries count."""
    no_relevant: NoRelevant
    """What happens to queries without a relevant document."""


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
    accounting: Accounting
    """What the means are made of."""
    per_query: dict[str, dict[str, Value | None]] | None = left_out()
    """By query and measure, every value; only if values by query were asked for."""
    findings: tuple[Finding, ...] = left_out(())
    """What makes the means mean less than they seem, such as queries that the run lacks."""
    bounds: tuple[Bounds, ...] | None = left_out()
    """How far ties and unjudged documents could move the means; only where that was looked at."""


class ScoreRecord(Record):
    """The scores of one or several runs; by query it is what the gate compares with."""

    kind: ClassVar[str] = "scores"
    written_by: ClassVar[str] = HOW_TO_WRITE

    profile: Text
    """Whose rules counted."""
    rules: Rules
    """The single rules, which may have been changed from the profile's."""
    qrels: QrelsRef
    """The judgments that counted."""
    measures: dict[str, Text] = Field(min_length=1)
    """The measures by their canonical names, with the names they were asked for."""
    reading: Text | None = left_out()
    """How the input was read, in one line."""
    runs: dict[str, RunRecord] = Field(min_length=1)
    """The scores by run."""

    @classmethod
    def of(
        cls, scores: Scores, *, per_query: bool, bounds: Mapping[str, BoundsTable]
    ) -> ScoreRecord:
        """Put scores into a record; ``bounds`` are those of some runs, by name."""

        def by_query(run: RunScores) -> dict[str, dict[str, float]]:
            columns = (
                zip(scores.measures, column, strict=True) for column in run.values.T.tolist()
            )
            known = ({name: v for name, v in column if not math.isnan(v)} for column in columns)
            return dict(zip(run.query_ids, known, strict=True))

        # not validated: these are our own numbers, and there may be millions
        return cls.model_construct(
            profile=scores.profile.name,
            rules=Rules(**scores.rules),
            qrels=QrelsRef(sha256=scores.fingerprint, queries=len(scores.judgments.query_ids)),
            measures=scores.asked,
            reading=scores.reading or None,
            runs={
                run.name: RunRecord.model_construct(
                    means=run.means,
                    accounting=run.accounting,
                    per_query=by_query(run) if per_query else None,
                    findings=run.findings,
                    bounds=bounds.get(run.name),
                )
                for run in scores.scored
            },
        )

    def scores(self, *, source: str) -> Scores:
        """Return the values by query as `Scores`; ``source`` is what messages call them."""
        runs = []
        for name, run in self.runs.items():
            if not run.per_query:
                raise FormatError(
                    f"run {shown(name, 40)} has no values by query, which a comparison needs; "
                    f"write the file again with {HOW_TO_WRITE!r}",
                    source=source,
                )
            by_query = run.per_query.values()
            rows = [[values.get(measure) for values in by_query] for measure in self.measures]
            means = {measure: run.means.get(measure, math.nan) for measure in self.measures}
            values, counts = np.array(rows, np.float64), run.accounting.model_dump()
            runs.append(RunScores(name, tuple(run.per_query), values, means, counts, run.findings))
        rules = self.rules.model_dump()
        return recorded_scores(
            runs, self.measures, self.profile, rules, fingerprint=self.qrels.sha256, source=source
        )


def recorded_scores(
    runs: list[RunScores],
    measures: dict[str, str],
    profile: str,
    rules: Mapping[str, Any],
    *,
    fingerprint: str,
    source: str,
) -> Scores:
    """Make scores of what a file holds: the profile's name, and the rules that counted."""
    try:
        known = profile_named(profile)
    except UnknownNameError as error:
        raise FormatError(str(error), source=source) from None
    by_rules = replace(known, **checked(Rules, dict(rules), source=source).model_dump())
    return Scores(runs, measures, by_rules, recorded=fingerprint, source=source)


def is_score_file(path: PathLike) -> bool:
    """Tell a score file from a run by its first bytes; what can be read only once is a run."""
    if not can_be_read_again(path):
        return False
    with open_bytes(path) as stream:
        head = stream.read(4096).removeprefix(_BOM).lstrip()
    return head.startswith(b"{") and _OURS.search(head) is not None


def read_scores(path: PathLike) -> Scores:
    """Read a file written by ``evaluate --per-query --format json``."""
    source = source_name(path)
    content = read_bytes(path).removeprefix(_BOM)
    if not content.lstrip().startswith(b"{"):
        raise FormatError(
            f"expected a score file, which {HOW_TO_WRITE!r} writes; to compare run files, name "
            "their judgments with --qrels",
            source=source,
        )
    data = parse_json(decoded(content, source=source), source=source)
    return ScoreRecord.from_data(data, source=source).scores(source=source)
