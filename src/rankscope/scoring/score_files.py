"""Score files: what ``rankscope evaluate --per-query --format json`` wrote, read back and checked.

An EvaluationReport of a benchmark, with the table of values beside it, is one too.

Between `evaluation`, which writes them, and `pairing`, which sets two side by side. A file comes
from another machine and another day, so nothing in it is believed unseen: a wrong schema, a missing
part, a value that is no number each become a `FormatError` that says where it stands.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from rankscope.errors import FormatError, UnknownNameError, shown
from rankscope.files import can_be_read_again, open_bytes, read_bytes, source_name
from rankscope.scoring.evaluate import SCHEMA, Scores
from rankscope.scoring.rules import PROFILES

if TYPE_CHECKING:
    from rankscope.files import PathLike
    from rankscope.measures.judged import FloatArray
    from rankscope.measures.language import Parsed

__all__ = [
    "HOW_TO_WRITE",
    "RecordedRun",
    "ScoreRecord",
    "is_score_file",
    "read_scores",
]

HOW_TO_WRITE = "rankscope evaluate QRELS RUN --per-query --format json -o FILE"
"""The command that writes a score file; messages name it."""

LARGEST = 1e12
"""No value of a measure is larger: sums and squares of values stay finite."""

_EVALUATION = "rankscope/evaluation/"
_BOM = b"\xef\xbb\xbf"
_OURS = re.compile(rb'"schema"\s*:\s*"rankscope/')
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRun:
    """One run's values by measure, in the order of ``query_ids``; NaN where there is none."""

    name: str
    query_ids: tuple[str, ...]
    values: dict[str, FloatArray]
    missing_policy: str
    """What happened to judged queries the run lacks; '' if the record does not say."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRecord:
    """Scores by query with what is needed to know whether others can be compared with them."""

    source: str
    """How messages call it: the file as the user named it."""
    profile: str
    """Whose rules it was scored by."""
    qrels: str
    """The SHA-256 of the judgments' content."""
    measures: dict[str, str]
    """The measures by their canonical names, with what they were asked for as."""
    runs: dict[str, RecordedRun]
    rules: dict[str, str] = field(default_factory=dict)
    """The single rules, which may have been changed from the profile's; empty if not recorded."""

    def run(self, name: str | None = None) -> RecordedRun:
        """Return one run; the name may be left out where there is only one."""
        if name is not None and name not in self.runs:
            raise UnknownNameError(f"run in {self.source}", name, self.runs)
        if name is None and len(self.runs) > 1:
            held = ", ".join(shown(one, 40) for one in list(self.runs)[:5])
            raise FormatError(
                f"holds {len(self.runs)} runs ({held}); name the one to compare "
                "with --baseline-run or --candidate-run",
                source=self.source,
            )
        return self.runs[name] if name is not None else next(iter(self.runs.values()))

    def find(self, asked: Parsed) -> str | None:
        """Return the name a measure has here, which depends on the rules; None if it is not here.

        >>> from rankscope.measures.language import parse_measures
        >>> record = ScoreRecord("a.json", "ranx", "0" * 64, {"AP@5": "map@5"}, {})
        >>> record.find(parse_measures("map_cut_5")[0])
        'AP@5'
        """
        rules = PROFILES.get(self.profile)
        meant = str(asked.measure if rules is None else rules.meaning(asked.measure))
        if meant in self.measures:
            return meant
        return next((own for own, name in self.measures.items() if name == asked.asked), None)

    @classmethod
    def of(cls, scores: Scores, *, source: str) -> ScoreRecord:
        """Make a record of scores that were just computed."""
        return cls(
            source=source,
            profile=scores.profile.name,
            qrels=scores.judgments.fingerprint,
            measures=scores.asked,
            runs={name: _computed(scores, name) for name in scores.runs},
            rules=scores.rules,
        )

    @classmethod
    def from_dict(cls, data: object, *, source: str) -> ScoreRecord:
        """Check what a file holds, or what `Scores.to_dict` with ``per_query=True`` returned."""
        return _Reader(source).record(data)


def _computed(scores: Scores, name: str) -> RecordedRun:
    run = scores.run(name)
    values = dict(zip(scores.measures, run.values, strict=True))
    return RecordedRun(name, run.query_ids, values, run.accounting.missing_policy)


def is_score_file(path: PathLike) -> bool:
    """Tell a score file from a run by its first bytes; what can be read only once is a run."""
    if not can_be_read_again(path):
        return False
    with open_bytes(path) as stream:
        head = stream.read(4096).removeprefix(_BOM).lstrip()
    return head.startswith(b"{") and _OURS.search(head) is not None


def read_scores(path: PathLike) -> ScoreRecord:
    """Read a file written by ``evaluate --per-query --format json``, or an EvaluationReport."""
    from rankscope.tables.delimited import decoded  # noqa: PLC0415
    from rankscope.tables.jsontext import parse_json  # noqa: PLC0415

    source = source_name(path)
    data = read_bytes(path).removeprefix(_BOM)
    if not data.lstrip().startswith(b"{"):
        raise FormatError(
            f"expected a score file, which {HOW_TO_WRITE!r} writes; to compare run files, name "
            "their judgments with --qrels",
            source=source,
        )
    found = parse_json(decoded(data, source=source), source=source)
    if isinstance(found, Mapping) and str(found.get("schema", "")).startswith(_EVALUATION):
        return _Reader(source).evaluation(found, Path(os.fspath(path)).parent)
    return ScoreRecord.from_dict(found, source=source)


class _Reader:
    """Checks one record, part by part."""

    def __init__(self, source: str) -> None:
        self.source = source

    def fail(self, problem: str) -> NoReturn:
        raise FormatError(problem, source=self.source)

    def part(self, whole: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
        """Return an object inside an object."""
        found = whole.get(key)
        if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
            came = "nothing" if key not in whole else shown(found, 40)
            self.fail(f"{where}{key}: expected an object, came {came}; write the file again")
        return found

    def text(self, whole: Mapping[str, Any], key: str, where: str) -> str:
        found = whole.get(key)
        if not isinstance(found, str) or not found:
            came = "nothing" if key not in whole else shown(found, 40)
            self.fail(f"{where}{key}: expected text, came {came}; write the file again")
        return found

    def record(self, data: object) -> ScoreRecord:
        if not isinstance(data, Mapping):
            self.fail(f"expected an object with the schema {SCHEMA!r}, came {shown(data, 40)}")
        self.schema(data.get("schema"))
        qrels = self.text(self.part(data, "qrels", ""), "sha256", "qrels.")
        if not _SHA256.fullmatch(qrels):
            self.fail(f"qrels.sha256: expected 64 hexadecimal digits, came {shown(qrels, 40)}")
        measures = self.part(data, "measures", "")
        asked = {name: self.text(measures, name, "measures.") for name in measures}
        if not asked:
            self.fail(f"measures: there is none; write the file again with {HOW_TO_WRITE!r}")
        rules = self.part(data, "rules", "") if "rules" in data else {}
        runs = self.part(data, "runs", "")
        if not runs:
            self.fail(f"runs: there is none; write the file again with {HOW_TO_WRITE!r}")
        return ScoreRecord(
            source=self.source,
            profile=self.text(data, "profile", ""),
            qrels=qrels,
            measures=asked,
            runs={name: self.run(self.part(runs, name, "runs."), name, asked) for name in runs},
            rules={name: self.text(rules, name, "rules.") for name in rules},
        )

    def evaluation(self, data: Mapping[str, Any], folder: Path) -> ScoreRecord:
        """Take the report of one system; its values by query stand in the Parquet file it names."""
        qrels = self.text(self.part(data, "collection", ""), "qrels_sha256", "collection.")
        name = self.text(self.part(data, "run", ""), "system", "run.")
        rules = self.part(data, "rules", "")
        measures = data.get("measures")
        if not isinstance(measures, list) or not all(isinstance(one, Mapping) for one in measures):
            self.fail("measures: expected a list of objects; run the benchmark again")
        asked = {
            self.text(one, "measure", "measures."): self.text(one, "asked", "measures.")
            for one in measures
        }
        place = self.text(self.part(data, "per_query", ""), "path", "per_query.")
        policy = self.part(data, "accounting", "").get("missing_policy")
        return ScoreRecord(
            source=self.source,
            profile=self.text(data, "profile", ""),
            qrels=qrels,
            measures=asked,
            runs={name: self.table(folder, place, name, asked, str(policy or ""))},
            rules={rule: self.text(rules, rule, "rules.") for rule in rules},
        )

    def table(
        self, folder: Path, place: str, name: str, measures: dict[str, str], policy: str
    ) -> RecordedRun:
        """Read values by query from Parquet: query_id, measure, value."""
        import polars as pl  # noqa: PLC0415

        path = folder / place
        if not path.resolve().is_relative_to(folder.resolve()):
            self.fail(f"per_query.path: {shown(place)} lies outside the report's folder")
        try:
            long = pl.read_parquet(path).select("query_id", "measure", "value")
            wide = long.pivot(on="measure", index="query_id", values="value", maintain_order=True)
            found = wide.select("query_id", *measures).cast(dict.fromkeys(measures, pl.Float64))
        except (OSError, pl.exceptions.PolarsError) as error:
            first = str(error).partition("\n")[0]
            self.fail(f"its values by query cannot be read from {shown(place)} ({first})")
        values = {
            measure: found[measure].fill_null(float("nan")).to_numpy() for measure in measures
        }
        if not all(np.nanmax(np.abs(row), initial=0.0) <= LARGEST for row in values.values()):
            self.fail(f"{shown(place)} holds values that are no numbers; run the benchmark again")
        return RecordedRun(name, tuple(found["query_id"].to_list()), values, policy)

    def schema(self, schema: object) -> None:
        family = SCHEMA.rpartition("/")[0]
        if schema == SCHEMA:
            return
        if isinstance(schema, str) and schema.startswith(f"{family}/"):
            self.fail(
                f"has the schema {shown(schema)} and this version of rankscope reads {SCHEMA!r}; "
                "evaluate again with this version, or use the one that wrote it"
            )
        came = "none" if schema is None else shown(schema)
        self.fail(f"expected the schema {SCHEMA!r}, which {HOW_TO_WRITE!r} writes; came {came}")

    def run(self, run: Mapping[str, Any], name: str, measures: dict[str, str]) -> RecordedRun:
        where = f"run {shown(name, 40)}"
        if "per_query" not in run:
            self.fail(
                f"{where} has no values by query, which a comparison needs; write the file again "
                f"with {HOW_TO_WRITE!r}"
            )
        by_query = self.part(run, "per_query", f"{where}: ")
        if not by_query:
            self.fail(f"{where} has values for no query; there is nothing to compare")
        values = np.full((len(measures), len(by_query)), np.nan)
        for column, (query_id, row) in enumerate(by_query.items()):
            if not isinstance(row, Mapping):
                self.fail(f"{where}, query {shown(query_id)}: expected values by measure")
            for place, measure in enumerate(measures):
                if row.get(measure) is not None:
                    values[place, column] = self.value(
                        row[measure], f"{where}, query {shown(query_id)}: {shown(measure)}"
                    )
        accounting = run.get("accounting")
        policy = accounting.get("missing_policy") if isinstance(accounting, Mapping) else None
        return RecordedRun(
            name,
            tuple(by_query),
            dict(zip(measures, values, strict=True)),
            policy if isinstance(policy, str) else "",
        )

    def value(self, value: object, where: str) -> float:
        usable = isinstance(value, int | float) and not isinstance(value, bool)
        if not usable or not -LARGEST <= value <= LARGEST:  # type: ignore[operator]
            self.fail(f"{where} is {shown(value, 40)}; expected a number")
        return float(value)  # type: ignore[arg-type]
