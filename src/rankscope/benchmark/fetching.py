"""Runs as stages of a benchmark: what systems answer, and how that is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from rankscope.benchmark.artifacts import Content
from rankscope.benchmark.basis import Benchmark, versions
from rankscope.benchmark.plan import Output, Results, Stage, Step
from rankscope.benchmark.systems import Systems, naming, share_parts
from rankscope.records.origin import EngineFacts, Identity, ModelUsage, Timings, fingerprint
from rankscope.retrieval.fetch import Fetched, fetch
from rankscope.retrieval.protocol import all_parts
from rankscope.runs.collapsing import Chunks
from rankscope.runs.table import Run


def fetch_stages(
    benchmark: Benchmark, systems: Systems, cache: Path, *, only: Sequence[str] | None = None
) -> dict[str, Stage[Fetched]]:
    """Make a stage for each system, or for those named, in which it is asked every query."""
    stages: dict[str, Stage[Fetched]] = {}
    for name in benchmark.systems if only is None else only:
        shared = [stages[other] for other in stages if share_parts(systems[name], systems[other])]
        stages[name] = fetch_stage(benchmark, systems, cache, name, after=shared)
    return stages


@dataclass(frozen=True, slots=True)
class FetchedForm:
    """A fetched run is kept as its columns, best first, and the sizes of its queries.

    Where a system holds its answers itself, ``held`` gives them, and the run's hash is kept alone.
    """

    held: Callable[[], Run | None] | None = None

    def pack(self, made: Fetched, /) -> Content:
        """Return what is kept."""
        run = made.run
        data = {
            "name": run.name,
            "fingerprint": run.fingerprint(),
            "failures": made.failures,
            "timings": made.timings.to_dict(),
            "identity": made.identity.to_dict(),
            "notes": list(made.notes),
            "engines": [fact.to_dict() for fact in made.facts if isinstance(fact, EngineFacts)],
            "usage": [fact.to_dict() for fact in made.facts if isinstance(fact, ModelUsage)],
            "chunks": None if run.chunks is None else asdict(run.chunks),
        }
        if self.held is not None:
            return Content(data)
        rows = run.trec_columns().select("doc_id", "score")
        queries = pl.DataFrame(
            {"query_id": pl.Series(run.query_ids, dtype=pl.String), "size": run.sizes}
        )
        return Content(data, {"rows": rows, "queries": queries})

    def unpack(self, content: Content, /) -> Fetched:
        """Make the run again; it was checked when it was made."""
        data = content.data
        run = self._run(data, content.tables)
        chunks = data["chunks"]
        return Fetched(
            run if chunks is None else run.collapsed_from(Chunks(**chunks)),
            data["failures"],
            Timings.model_validate(data["timings"]),
            Identity.model_validate(data["identity"]),
            tuple(data["notes"]),
            (
                *map(EngineFacts.model_validate, data["engines"]),
                *map(ModelUsage.model_validate, data["usage"]),
            ),
        )

    def _run(self, data: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> Run:
        if not tables:
            held = None if self.held is None else self.held()
            if held is None or held.fingerprint() != data["fingerprint"]:
                raise ValueError("the system holds other answers now")
            return held.named(data["name"])
        rows, queries = tables["rows"], tables["queries"]
        return Run.trusted(
            queries["query_id"],
            queries["size"].to_numpy(),
            rows["doc_id"],
            rows["score"],
            name=data["name"],
            is_best_first=True,
            fingerprint=data["fingerprint"],
        )


def fetch_stage(
    benchmark: Benchmark,
    systems: Systems,
    cache: Path,
    name: str,
    *,
    after: Sequence[Stage[Any]],
    attempt: int = 0,
) -> Stage[Fetched]:
    """Make the stage of one run; ``attempt`` is which time the system is asked again.

    What the system says about itself and its failures is rid of secrets before it goes anywhere.
    """
    config, collection = benchmark.loaded.config, benchmark.collection

    def work(_: Results, step: Step) -> Output[Fetched]:
        with naming(name):
            fetched = fetch(
                systems.indexed(name),
                collection.queries,
                depth=config.depth,
                batch=config.fetch.batch,
                jobs=config.fetch.jobs,
                retries=config.fetch.retries,
                timeout=config.fetch.timeout,
                stage_timeout=config.fetch.stage_timeout,
                rate=config.fetch.rate,
                store=cache,
                progress=step,
                indexing=lambda done, total: step(done, total, "indexing"),
                name=name,
                attempt=attempt,
            )
        if collection.chunking is not None:
            fetched = replace(fetched, run=fetched.run.collapsed(collection.chunking))
        hide = benchmark.loaded.secrets.hide
        identity = Identity.model_validate(hide(fetched.identity.to_dict()))
        hidden = replace(
            fetched,
            failures=hide(fetched.failures),
            identity=identity,
            notes=tuple(hide(list(fetched.notes))),
            facts=tuple(type(fact).model_validate(hide(fact.to_dict())) for fact in fetched.facts),
        )
        return Output(hidden, complete=fetched.is_complete)

    info = collection.info
    searched: tuple[Any, ...] = (info.corpus_sha256, info.queries_sha256, config.depth)
    if info.chunks_sha256 is not None:
        searched = (*searched, info.chunks_sha256)
    if attempt:
        searched = (*searched, "attempt", attempt, config.repeat.rebuild)
    key = fingerprint("fetch", versions(), name, benchmark.keys[name], *searched)
    sources = [source for part in all_parts(systems[name]) for source in part.sources]
    code = f" ({', '.join(dict.fromkeys(sources))})" if sources else ""
    about = f"{benchmark.systems[name].kind}{code}"
    title = f"fetch {name}" if not attempt else f"fetch {name} again ({attempt + 1})"
    form = FetchedForm()
    if systems[name].holds_answers and collection.chunking is None:
        form = FetchedForm(lambda: systems[name].ready_run(collection.queries, config.depth))
    return Stage(title, key, work, form, after=tuple(after), about=about)
