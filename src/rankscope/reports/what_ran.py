"""What a benchmark ran: systems, engines, models, time; and how to repeat it.

The page of a benchmark is drawn before its manifest is written: what only the manifest holds is
named then, and shown where it is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankscope.document.blocks import (
    Block,
    Code,
    Column,
    Notes,
    Section,
    Table,
    Value,
    plain_rows,
    sentences,
    text_columns,
)
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.records.manifest import ExperimentManifest
    from rankscope.records.origin import EngineFacts, ModelUsage
    from rankscope.records.report import BenchmarkReport

_LONGEST_SPEC = 300
"""A spec longer than this is cut; the JSON has all of it."""

_MANIFEST = "ExperimentManifest.json"
_TAKE_CONFIG = (
    "python -c \"import json; print(json.dumps(json.load(open('DIR/ExperimentManifest.json', "
    "encoding='utf-8'))['config']))\" > config.yaml"
)

_USAGE = (
    "cached: answers of an earlier run; fallen back: the incoming order or the plain query was "
    "taken; tokens, cost and times are of what was asked in this run, the cost at the prices of "
    "the config"
)


def systems_section(report: BenchmarkReport) -> Section:
    """Show systems, and the engines and language models that were asked."""
    systems = report.systems
    rows: list[Sequence[Value]] = [
        (each.name, each.kind, ", ".join(each.of) or None, _spec(each.spec), each.run.run_id[:12])
        for each in systems
    ]
    source = report.collection.training
    learnt = f"what is trained learnt from {source}, not from these queries"
    if source == "cross-validation":
        learnt = (
            "what is trained learnt from the same queries, in folds: each was answered by a model "
            "that had not seen it"
        )
    notes = () if source is None else (learnt,)
    columns = text_columns("system", "kind", "builds on", "spec", "run")
    blocks = [Table(columns, plain_rows(rows), notes=notes)]
    engines = [(system.name, facts) for system in systems for facts in system.run.engines]
    usage = [
        (system.name, facts)
        for system in systems
        for run in (system.run, *system.again)
        for facts in run.usage
    ]
    blocks += [_engines(engines)] if engines else []
    blocks += [_usage(usage)] if usage else []
    counts = [counted(len(systems), "system"), counted(len(engines), "engine")]
    counts += [counted(len(usage), "language model")]
    asked = ", ".join(each for each in counts if not each.startswith("0"))
    finding = f"{asked}; {counted(report.depth, 'document')} a question."
    return Section("What was run", tuple(blocks), part="method", finding=finding)


def _spec(spec: Any) -> str:
    try:
        text = json.dumps(spec, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = str(spec)
    return text if len(text) <= _LONGEST_SPEC else f"{text[:_LONGEST_SPEC]}…"


def _engines(rows: Sequence[tuple[str, EngineFacts]]) -> Table:
    return Table(
        (
            *text_columns("system", "engine", "version"),
            *map(Column, ("documents", "loaded")),
            *text_columns("settings", "snapshot"),
        ),
        plain_rows(
            (
                *(name, facts.engine, facts.version or None, facts.documents, facts.loaded),
                *(settings_text(facts.settings), facts.snapshot and facts.snapshot[:16]),
            )
            for name, facts in rows
        ),
        title="Engines",
        notes=("loaded: documents that were sent to the engine; 0: it held them already",),
    )


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings in one line, as a config writes them.

    >>> settings_text({"search": "vector", "ef_search": 64, "lists": None})
    'search: vector, ef_search: 64'
    """
    return ", ".join(f"{name}: {value}" for name, value in settings.items() if value is not None)


def _usage(rows: Sequence[tuple[str, ModelUsage]]) -> Table:
    counts = {
        "requests": "requests",
        "answered": "answered",
        "cached": "cached",
        "failed": "failed",
        "fallen back": "fallen_back",
        "tokens sent": "prompt_tokens",
        "received": "completion_tokens",
    }
    table = []
    for name, facts in rows:
        past = facts.kept
        before = None if past is None or not past.requests else past.cost
        numbers = (getattr(facts, field) for field in counts.values())
        costs = (facts.cost, before, facts.p50, facts.p95)
        table.append([name, facts.part, facts.model, *numbers, *costs])
    return Table(
        (
            *text_columns("system", "part", "model"),
            *map(Column, counts),
            *(Column(title, digits=4) for title in ("cost", "cost of cached")),
            *(Column(title, digits=2) for title in ("p50, s", "p95, s")),
        ),
        plain_rows(table),
        title="Language models",
        notes=(_USAGE,),
        name_columns=3,
    )


# --- time ----------------------------------------------------------------------------------------


def milliseconds(seconds: float) -> str:
    """Write a latency, which was measured once.

    >>> milliseconds(0.00002), milliseconds(0.0123), milliseconds(0.5)
    ('<0.1 ms', '12.3 ms', '500 ms')
    """
    if seconds < 0.0001:
        return "<0.1 ms"
    return f"{1000 * seconds:,.0f} ms" if seconds >= 0.1 else f"{1000 * seconds:.1f} ms"


# --- how to repeat it ----------------------------------------------------------------------------


def repeat_section(
    report: BenchmarkReport, *, manifest: ExperimentManifest | None = None
) -> Section:
    """Say how to repeat a benchmark; DIR is the folder of its page."""
    return Section(
        "Repeat this",
        details=tuple(_repeated(report, manifest)),
        part="method",
        finding="One command checks these files, one makes them anew.",
    )


def _repeated(report: BenchmarkReport, manifest: ExperimentManifest | None) -> Iterator[Block]:
    yield sentences(["Check the files and what follows from them; DIR is the folder of this page:"])
    yield Code("rankscope benchmark verify DIR", "sh")
    text = f"Make all of it anew; paths in the config start from where it was ({_MANIFEST}):"
    yield sentences([text])
    yield Code(f"{_TAKE_CONFIG}\nrankscope benchmark run config.yaml --fresh", "sh")
    yield Notes(tuple(_facts(report, manifest)))


def _facts(report: BenchmarkReport, manifest: ExperimentManifest | None) -> Iterator[str]:
    """Give hashes of what went in, and where it ran."""
    collection = report.collection
    hashes = {
        "corpus": collection.corpus_sha256,
        "queries": collection.queries_sha256,
        "judgments": collection.qrels_sha256,
        "ontology": collection.ontology and collection.ontology.sha256,
        "chunks": collection.chunks_sha256,
        "decisions": collection.decisions_sha256,
        "ratings": collection.ratings_sha256,
    }
    listed = ", ".join(f"{name} {digest[:12]}" for name, digest in hashes.items() if digest)
    yield f"SHA-256 of what went in: {listed}; in full in {_MANIFEST}"
    if manifest is None:
        yield f"{_MANIFEST} holds the config, versions, models and the machine"
        return
    machine = manifest.machine
    memory = "" if machine.memory is None else f", {machine.memory / 2**30:.1f} GiB"
    yield f"machine: {machine.system}, {machine.machine}, {machine.cores} cores{memory}"
    yield f"versions: {', '.join(f'{name} {each}' for name, each in manifest.versions.items())}"
