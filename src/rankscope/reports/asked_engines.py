"""What was asked outside this process: engines as they were, and what language models took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankscope.document.blocks import Block, Cell, Column, Section, Table
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.records.origin import EngineFacts, KeptUsage, ModelUsage
    from rankscope.records.report import BenchmarkReport

TITLE = "Engines and models"


def asked_section(report: BenchmarkReport) -> Section:
    """Show the engines and language models that were asked; an empty section if there were none."""
    systems = report.systems
    engines = [(system.name, facts) for system in systems for facts in system.run.engines]
    usage = [
        (system.name, facts)
        for system in systems
        for run in (system.run, *system.again)
        for facts in run.usage
    ]
    blocks: list[Block] = []
    if engines:
        blocks.append(_engines(engines))
    if usage:
        blocks += [_usage(usage), *_kept(usage)]
    asked = [
        counted(len(each), noun) for each, noun in ((engines, "engine"), (usage, "model")) if each
    ]
    finding = f"{' and '.join(asked)} asked." if asked else ""
    return Section(TITLE, details=tuple(blocks), part="method", finding=finding)


def _engines(rows: list[tuple[str, EngineFacts]]) -> Table:
    return Table(
        (
            Column("system", "text"),
            Column("engine", "text"),
            Column("version", "text"),
            Column("documents", digits=0),
            Column("loaded", digits=0),
            Column("settings", "text"),
            Column("snapshot", "text"),
        ),
        tuple(
            (
                Cell(name),
                Cell(facts.engine),
                Cell(facts.version or None),
                Cell(facts.documents),
                Cell(facts.loaded),
                Cell(settings_text(facts.settings)),
                Cell(None if facts.snapshot is None else facts.snapshot[:16]),
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


def _usage(rows: list[tuple[str, ModelUsage]]) -> Table:
    counts = {
        "requests": "requests",
        "answered": "answered",
        "of these kept": "cached",
        "repeated": "retried",
        "unreadable": "unreadable",
        "failed": "failed",
        "unanswered": "unanswered",
        "fallen back": "fallen_back",
        "tokens sent": "prompt_tokens",
        "received": "completion_tokens",
    }
    return Table(
        (
            Column("system", "text"),
            Column("part", "text"),
            Column("model", "text"),
            *(Column(title, digits=0) for title in counts),
            Column("cost", digits=4),
            Column("p50, s", digits=2),
            Column("p95, s", digits=2),
        ),
        tuple(
            (
                Cell(name),
                Cell(facts.part),
                Cell(facts.model),
                *(Cell(getattr(facts, field)) for field in counts.values()),
                Cell(facts.cost),
                Cell(facts.p50),
                Cell(facts.p95),
            )
            for name, facts in rows
        ),
        title="Language models: asked in this run",
        notes=(
            (
                "kept: answers of an earlier run; fallen back: the incoming order or the plain "
                "query was taken; tokens, cost and times are of what was asked in this run, the "
                "cost at the prices stated in the config"
            ),
        ),
    )


def _kept(rows: list[tuple[str, ModelUsage]]) -> list[Table]:
    """Show what kept replies had taken, where any were used."""
    kept = [
        (name, facts, facts.kept)
        for name, facts in rows
        if facts.kept is not None and facts.kept.requests
    ]
    if not kept:
        return []
    notes = (
        (
            "what these replies took when they were made; each counts once, and in the latency of "
            "a query with its time; in all: together with what was asked in this run"
        ),
        (
            "no tokens: replies whose tokens the endpoint did not count; no sum holds them, so "
            "what is in all is not known"
        ),
    )
    is_partly_unknown = any(past.uncounted for _, _, past in kept)
    table = Table(
        (
            *(Column(title, "text") for title in ("system", "part", "model")),
            *(
                Column(title, digits=0)
                for title in ("requests", "tokens sent", "received", "tokens in all")
            ),
            *(Column(title, digits=4) for title in ("cost", "cost in all")),
            *(Column(title, digits=2) for title in ("p50, s", "p95, s")),
            Column("no tokens", digits=0),
        ),
        tuple(
            (
                *(Cell(text) for text in (name, facts.part, facts.model)),
                Cell(past.requests),
                Cell(past.prompt_tokens),
                Cell(past.completion_tokens),
                Cell(_in_all(past, *_tokens(facts), *_tokens(past))),
                Cell(past.cost),
                Cell(_in_all(past, facts.cost, past.cost)),
                Cell(past.p50),
                Cell(past.p95),
                Cell(past.uncounted),
            )
            for name, facts, past in kept
        ),
        title="Language models: kept from before",
        notes=notes if is_partly_unknown else notes[:1],
    )
    return [table]


def _tokens(usage: ModelUsage | KeptUsage) -> tuple[int | None, int | None]:
    return usage.prompt_tokens, usage.completion_tokens


def _in_all(kept: KeptUsage, *numbers: float | None) -> float | None:
    """Add up numbers; None if one of them, or what a kept reply took, is not known."""
    known = [number for number in numbers if number is not None]
    is_known = len(known) == len(numbers) and not kept.uncounted
    return sum(known) if is_known else None
