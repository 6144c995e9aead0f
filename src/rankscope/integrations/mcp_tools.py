"""What an assistant may ask of a folder: list, evaluate, compare, explain, diagnose.

A `Workspace` is the folder the user named. Every file that a tool reads goes through
`Workspace.file`, which refuses whatever leads out of it; nothing is written, no code of a config is
run, and answers have an end. `rankscope.integrations.mcp_server` speaks the protocol.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rankscope.document.markdown import as_markdown
from rankscope.document.views import document_of
from rankscope.errors import InputError, counted, shown
from rankscope.files import max_size
from rankscope.integrations.metrics import metrics_of
from rankscope.measures.language import DEFAULT_MEASURES
from rankscope.part import DocumentedSchema, dotted
from rankscope.tables.columns import Columns

LONGEST_ANSWER = 20_000
"""Characters of an answer; what is longer is cut, and says so."""

MOST_FILES = 500
"""How many files of a folder are listed."""

MOST_METRICS = 500
"""How many numbers an answer holds beside its text."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder that may be read; the process works in it, so that names are relative to it."""

    root: Path
    """With all links resolved."""
    max_bytes: int
    """The size of the largest file that is read, also when it is unpacked."""

    def file(self, name: str) -> str:
        """Return a file's name relative to the folder; refuse what is not a file within it."""
        if os.path.isabs(name) or name.strip() in ("", "-"):
            raise InputError(f"{shown(name)} is not the name of a file within the folder")
        try:
            place = (self.root / name).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # missing, a loop of links, an embedded NUL
            place = None
        if place is None or not place.is_relative_to(self.root):
            # nothing outside is looked at, and whether it exists is not said
            near = get_close_matches(name, [listed for listed, _ in self.files()], n=1)
            hint = f"did you mean {near[0]}?" if near else "list_files says which there are"
            raise InputError(f"{shown(name)}: file not found in the folder; {hint}")
        if not place.is_file():
            raise InputError(f"{shown(name)} is not a file; list_files says which there are")
        size = place.stat().st_size
        if size > self.max_bytes:
            raise InputError(
                f"{shown(name)} has {size:,} bytes, and up to {self.max_bytes:,} are read; "
                "start the server with a larger --max-size"
            )
        name = os.path.relpath(place, self.root)
        return os.path.join(os.curdir, name) if name == "-" else name  # and no standard input

    def files(self) -> list[tuple[str, int]]:
        """List the files of the folder with their sizes, by name; no hidden ones, no links."""
        listed: list[tuple[str, int]] = []
        for folder, below, names in os.walk(self.root):
            below[:] = sorted(name for name in below if not name.startswith("."))
            for name in sorted(names):
                place = Path(folder, name)
                if not name.startswith(".") and place.is_file() and not place.is_symlink():
                    listed.append((str(place.relative_to(self.root)), place.stat().st_size))
                if len(listed) > MOST_FILES:
                    return listed
        return listed


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answers: Markdown to read, and numbers by name."""

    text: str
    metrics: dict[str, float]


class Arguments(BaseModel):
    """What a tool takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Runs = Annotated[list[Name], Field(min_length=1, max_length=20)]
Measures = Annotated[list[Name], Field(max_length=20)]


class ListFiles(Arguments):
    """List the files that can be named in the other tools, with their sizes."""


class Scored(Arguments):
    """What every tool takes that scores runs: judgments, and the columns of tables."""

    qrels: Name
    """The judgments: a file of the folder (TREC qrels, tsv, csv, JSON, Parquet, golden set)."""
    query: Name | None = None
    """The column of the query, where a table calls it by no known name."""
    relevant: Name | None = None
    """The column of the judgments' documents."""
    retrieved: Name | None = None
    """The column of the run's documents."""
    doc: Name | None = None
    """The column of the document in tables with a row for each."""
    score: Name | None = None
    """The column of a run's score."""
    grade: Name | None = None
    """The column of a judgment's grade."""

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that are named."""
        named = {column.name: getattr(self, column.name) for column in fields(Columns)}
        return {name: column for name, column in named.items() if column is not None}


class Evaluate(Scored):
    """Score retrieval runs against relevance judgments: means with 95% confidence intervals."""

    runs: Runs
    """The runs: files of the folder (TREC runs, csv, JSON, Parquet)."""
    measures: Measures = list(DEFAULT_MEASURES)
    """What to measure, such as nDCG@10, MRR@10, R@100."""
    worst: Annotated[int, Field(ge=0, le=50)] = 0
    """How many of the queries with the worst values of the first measure to list."""


class Compare(Scored):
    """Say whether retrieval runs differ by more than chance: differences, intervals, verdicts."""

    runs: Annotated[list[Name], Field(min_length=2, max_length=20)]
    """The runs: two files of the folder or more."""
    measures: Measures = ["nDCG@10"]
    """What to measure, such as nDCG@10."""
    baseline: Name | None = None
    """The run to compare the others with, by its name in the tables; without it, all pairs."""


class Explain(Scored):
    """Explain one query's score: every rank, the document there, and what it adds."""

    run: Name
    """The run: a file of the folder."""
    query_id: Name
    """The query."""
    measure: Name = "nDCG@10"
    """The measure."""
    depth: Annotated[int, Field(ge=1, le=100)] = 20
    """List all ranks down to here, and below it those that add something."""


class Diagnose(Scored):
    """Look into runs beyond their means: every analysis that the files given allow."""

    runs: Runs
    """The runs: files of the folder."""
    measures: Measures = list(DEFAULT_MEASURES)
    """What to measure; the first is what analyses look at."""
    baseline: Name | None = None
    """The run that others are compared with, by its name in the tables."""
    queries: Name | None = None
    """Queries with texts and metadata: a file of the folder."""
    corpus: Name | None = None
    """The documents: a file of the folder."""


def _list_files(folder: Workspace, _: ListFiles) -> Answer:
    files = folder.files()
    more = f"\nthere are more than {MOST_FILES}" if len(files) > MOST_FILES else ""
    lines = [
        f"- {shown(name, 1_000)}: {counted(size, 'byte')}" for name, size in files[:MOST_FILES]
    ]
    return Answer("\n".join(lines) + more if lines else "the folder holds no files", {})


def _evaluate(folder: Workspace, asked: Evaluate) -> Answer:
    from rankscope.scoring.evaluate import evaluate  # noqa: PLC0415

    runs = [folder.file(name) for name in asked.runs]
    scores = evaluate(folder.file(asked.qrels), runs, asked.measures, **asked.columns)
    return Answer(_markdown(scores, worst=asked.worst), metrics_of(scores))


def _compare(folder: Workspace, asked: Compare) -> Answer:
    from rankscope.statistics.comparison import compare  # noqa: PLC0415

    runs = [folder.file(name) for name in asked.runs]
    options = {"baseline": asked.baseline, **asked.columns}
    comparison = compare(folder.file(asked.qrels), runs, asked.measures, **options)
    return Answer(_markdown(comparison), metrics_of(comparison))


def _explain(folder: Workspace, asked: Explain) -> Answer:
    from rankscope.scoring.explain import explain  # noqa: PLC0415

    files = folder.file(asked.qrels), folder.file(asked.run)
    options = {"depth": asked.depth, **asked.columns}
    explanation = explain(*files, asked.query_id, asked.measure, **options)
    return Answer(_markdown(explanation), {})


def _diagnose(folder: Workspace, asked: Diagnose) -> Answer:
    from rankscope.records.diagnosis import diagnose  # noqa: PLC0415

    diagnosis = diagnose(
        folder.file(asked.qrels),
        [folder.file(name) for name in asked.runs],
        asked.measures,
        baseline=asked.baseline,
        queries=None if asked.queries is None else folder.file(asked.queries),
        corpus=None if asked.corpus is None else folder.file(asked.corpus),
        **asked.columns,
    )
    return Answer(_markdown(diagnosis), {})


def _markdown(result: object, **options: Any) -> str:
    return as_markdown(document_of(result, **options), names_as_code=True, full=True)


TOOLS: dict[str, tuple[type[Arguments], Callable[[Workspace, Any], Answer]]] = {
    "list_files": (ListFiles, _list_files),
    "evaluate": (Evaluate, _evaluate),
    "compare": (Compare, _compare),
    "explain": (Explain, _explain),
    "diagnose": (Diagnose, _diagnose),
}
"""By name: what a tool takes, and what it does."""


def described() -> list[dict[str, Any]]:
    """Return every tool as the protocol describes it."""
    return [
        {
            "name": name,
            "description": (arguments.__doc__ or "").strip(),
            "inputSchema": _schema(arguments),
            "annotations": {
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
        for name, (arguments, _) in TOOLS.items()
    ]


def _schema(arguments: type[Arguments]) -> dict[str, Any]:
    schema = arguments.model_json_schema(schema_generator=DocumentedSchema)
    for unused in ("title", "description"):
        schema.pop(unused, None)
    for argument in schema.get("properties", {}).values():
        argument.pop("title", None)
    return schema


def answer(folder: Workspace, tool: str, given: object) -> Answer:
    """Run a tool; what cannot be answered is a `RankscopeError`."""
    arguments, function = TOOLS[tool]
    try:
        asked = arguments.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        known = ", ".join(arguments.model_fields) or "nothing"
        raise InputError(
            f"{dotted(first['loc'])}: {first['msg'][:1].lower()}{first['msg'][1:]}; "
            f"{tool} takes {known}"
        ) from None
    with max_size(str(folder.max_bytes)):
        result = function(folder, asked)
    text = result.text
    if len(text) > LONGEST_ANSWER:
        whole, _, _ = text[:LONGEST_ANSWER].rpartition("\n")
        text = f"{whole}\n\n(cut: this is the first part of {len(text):,} characters)"
    metrics = result.metrics if len(result.metrics) <= MOST_METRICS else {}
    return Answer(text, metrics)
