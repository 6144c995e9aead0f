"""What a benchmark ran: systems, engines, models, time; and how to repeat it.

The page of a benchmark is drawn before its manifest is written: what only the manifest holds is
named then, and shown where it is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Code,
    Column,
    Notes,
    Section,
    Table,
    Value,
    plain_rows,
    sentences,
    shortened,
    text_columns,
)
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.records.origin import EngineFacts, ModelUsage
    from rankscope.records.report import BenchmarkReport, ExperimentManifest

_LONGEST_SPEC = 300
"""A spec longer than this is cut; the JSON has all of it."""

_MANIFEST = "ExperimentManifest.json"
_TAKE_CONFIG = (
    "python -c \"import json; print(json.dumps(json.load(open('DIR/ExperimentManifest.json', "
    "encoding='utf-8'))['config']))\" > config.yaml"
)


def systems_section(report: BenchmarkReport) -> Section:
    """Show systems, and the engines and language models that were asked."""
    systems = report.systems
    engines = {each.name: [_engine(facts) for facts in each.run.engines] for each in systems}
    rows: list[Sequence[Value]] = [
        (
            *(each.name, each.kind, ", ".join(each.of) or None),
            shortened(json.dumps(each.spec, ensure_ascii=False, default=str), _LONGEST_SPEC),
            "; ".join(engines[each.name]) or None,
        )
        for each in systems
    ]
    usage = [
        (f"{system.name}, {facts.part}: {facts.model}", facts)
        for system in systems
        for run in (system.run, *system.again)
        for facts in run.usage
    ]
    source = report.collection.training
    learnt = f"what is trained learnt from {source}, not from these queries"
    if source == "cross-validation":
        learnt = (
            "what is trained learnt from the same queries, in folds: each was answered by a model "
            "that had not seen it"
        )
    table = Table(
        text_columns("system", "kind", "builds on", "spec", "engine"),
        plain_rows(rows),
        notes=() if source is None else (learnt,),
    )
    counts = {
        "system": len(systems),
        "engine": sum(map(len, engines.values())),
        "language model": len(usage),
    }
    asked = ", ".join(counted(count, noun) for noun, count in counts.items() if count)
    return Section(
        "What was run",
        (table, *([usage_table(usage)] if usage else [])),
        part="method",
        finding=f"{asked}; {counted(report.depth, 'document')} a question.",
    )


def _engine(facts: EngineFacts) -> str:
    settings = (f"{name}: {value}" for name, value in facts.settings.items() if value is not None)
    parts = [f"{facts.engine} {facts.version or ''}".strip(), *settings]
    if facts.documents is not None:
        parts.insert(1, counted(facts.documents, "document"))
    return ", ".join(parts)


def usage_table(usages: Sequence[tuple[str, ModelUsage]]) -> Table:
    """Show what asking language models took, each with its name; what is nothing is left out."""
    figures = [
        {
            "requests": usage.requests,
            "of them repeated": usage.retried,
            "answered": usage.answered,
            "of them from the cache": usage.cached,
            "no usable answer": usage.failed,
            "unreadable": usage.unreadable,
            "order or query taken as it was": usage.fallen_back,
            "tokens sent": usage.prompt_tokens,
            "tokens received": usage.completion_tokens,
            "cost": usage.cost,
            "cost of the cached": None if usage.kept is None else usage.kept.cost,
            "seconds in all": usage.seconds,
            "p50, s": usage.p50,
            "p95, s": usage.p95,
        }
        for _, usage in usages
    ]
    titles = [title for title in figures[0] if any(each[title] for each in figures)]
    rows = [
        (name, *map(each.__getitem__, titles))
        for (name, _), each in zip(usages, figures, strict=True)
    ]
    return Table(
        (Column("language model", "text"), *(Column(title, digits=4) for title in titles)),
        plain_rows(rows),
        notes=("tokens, cost and times are of what was asked in this run",),
        columns_are="figure",
    )


# --- how to repeat it ----------------------------------------------------------------------------


def repeat_section(
    report: BenchmarkReport, *, manifest: ExperimentManifest | None = None
) -> Section:
    """Say how to repeat a benchmark; DIR is the folder of its page."""
    return Section(
        "Repeat this",
        details=(
            sentences(["Check the files and what follows from them; DIR is this page's folder:"]),
            Code("rankscope benchmark verify DIR", "sh"),
            sentences([f"Make all of it anew; {_MANIFEST} says where paths in the config start:"]),
            Code(f"{_TAKE_CONFIG}\nrankscope benchmark run config.yaml --fresh", "sh"),
            Notes(tuple(_facts(report, manifest))),
        ),
        part="method",
        finding="One command checks these files, one makes them anew.",
    )


def _facts(report: BenchmarkReport, manifest: ExperimentManifest | None) -> Iterator[str]:
    """Give hashes of what went in, and where it ran."""
    hashes = {
        name.removesuffix("_sha256"): str(value)[:12]
        for name, value in report.collection
        if name.endswith("_sha256") and value
    }
    listed = ", ".join(f"{name} {digest}" for name, digest in hashes.items())
    yield f"SHA-256 of what went in: {listed}; in full in {_MANIFEST}"
    if manifest is None:
        yield f"{_MANIFEST} holds the config, versions, models and the machine"
        return
    machine = manifest.machine
    memory = "" if machine.memory is None else f", {machine.memory / 2**30:.1f} GiB"
    yield f"machine: {machine.system}, {machine.machine}, {machine.cores} cores{memory}"
    yield f"versions: {', '.join(f'{name} {each}' for name, each in manifest.versions.items())}"
