"""Fetch: every system is asked every query, some of them more than once.

Answers are kept as they come (`rankscope.retrieval.fetch`), so what was stopped goes on where it
was. Systems that share a component are asked one after the other, others up to ``jobs`` at a time.
A system that may answer otherwise the next time is asked ``repeat.times`` times: each time it has
components of its own, and an engine that is to be rebuilt has an index of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from rankscope.benchmark.prepare import Benchmark, versions
from rankscope.benchmark.steps import Steps
from rankscope.benchmark.systems import Systems, naming, share_parts
from rankscope.records.origin import Identity, fingerprint
from rankscope.retrieval.cache_entries import make_folder, write_entry
from rankscope.retrieval.fetch import Fetched, fetch
from rankscope.retrieval.protocol import all_parts


@dataclass(frozen=True, slots=True)
class Asking:
    """Some systems of a benchmark, and how often each is asked."""

    benchmark: Benchmark
    attempts: Sequence[Systems]
    """The systems, once for each time."""
    cache: Path
    names: Sequence[str]

    def times(self, name: str) -> int:
        """Return how often a system is asked."""
        repeat = self.benchmark.loaded.config.repeat
        is_repeated = name in repeat.systems or (
            not repeat.systems and may_vary(self.attempts[0], name)
        )
        return min(repeat.times, len(self.attempts)) if is_repeated else 1

    def mark(self, name: str) -> Path:
        """Return the file that says that all answers of a system are cached."""
        info, depth = self.benchmark.collection.info, self.benchmark.loaded.config.depth
        searched = (info.corpus_sha256, info.queries_sha256, depth, self.times(name))
        key = fingerprint("fetch", versions(), name, self.benchmark.keys[name], *searched)
        return self.cache / "fetched" / f"{key}.done"

    def state(self, name: str) -> str:
        """Tell whether the answers of a system are there, or to do."""
        return "there" if self.mark(name).is_file() else "to do"

    def about(self, name: str) -> str:
        """Return a system's kind, and the files of code it names."""
        sources = [source for part in all_parts(self.attempts[0][name]) for source in part.sources]
        code = f" ({', '.join(dict.fromkeys(sources))})" if sources else ""
        return f"{self.benchmark.systems[name].kind}{code}"

    def groups(self) -> list[list[str]]:
        """Return the systems in groups that share no component with each other."""
        systems = self.attempts[0]
        groups: list[list[str]] = []
        for name in self.names:
            joined = [
                group
                for group in groups
                if any(share_parts(systems[name], systems[other]) for other in group)
            ]
            groups = [group for group in groups if group not in joined]
            groups.append([other for group in joined for other in group] + [name])
        return groups


def may_vary(systems: Systems, name: str) -> bool:
    """Tell whether a system may answer otherwise the next time."""
    return any(
        part.sources  # code of the user's promises nothing
        or part.capabilities.remote
        or not (part.capabilities.deterministic and part.capabilities.exact)
        for part in all_parts(systems[name])
    )


def fetch_all(asking: Asking, steps: Steps, *, jobs: int = 1) -> dict[str, list[Fetched]]:
    """Ask systems every query; return by system what it answered, each time it was asked.

    An error, or an interruption, ends what goes on beside it at its next step.
    """
    for name in asking.names:  # so that a system can refuse the corpus at once
        asking.attempts[0].indexed(name)
        for attempt in range(1, asking.times(name)):  # not in several threads at a time
            _ = asking.attempts[attempt][name]
    fetched: dict[str, list[Fetched]] = {name: [] for name in asking.names}
    cancelled = threading.Event() if jobs > 1 else None

    def ask(group: Iterable[str]) -> None:
        for name in group:
            for attempt in range(asking.times(name)):
                fetched[name].append(_fetch(asking, steps, name, attempt, cancelled))
            mark = asking.mark(name)
            if all(answer.is_complete for answer in fetched[name]) and not mark.exists():
                make_folder(mark.parent)
                write_entry(mark, b"")

    if cancelled is None:
        for group in asking.groups():
            ask(group)
        return fetched
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(ask, group) for group in asking.groups()]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            cancelled.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return fetched


def _fetch(
    asking: Asking, steps: Steps, name: str, attempt: int, cancelled: threading.Event | None
) -> Fetched:
    """Ask one system; what it says about itself and its failures is rid of secrets."""
    benchmark = asking.benchmark
    collection, config = benchmark.collection, benchmark.loaded.config
    title = f"fetch {name}" if not attempt else f"fetch {name} again ({attempt + 1})"
    with steps.step(title, cancelled) as progress, naming(name):
        fetched = fetch(
            asking.attempts[attempt].indexed(name),
            collection.queries,
            depth=config.depth,
            **config.fetch.model_dump(exclude={"cache"}),
            store=asking.cache,
            cancel=cancelled,
            progress=progress,
            indexing=lambda done, total: progress(done, total, "indexing"),
            name=name,
            attempt=attempt,
        )
    if collection.chunking is not None:
        fetched = replace(fetched, run=fetched.run.collapsed(collection.chunking))
    hide = benchmark.loaded.secrets.hide
    return replace(
        fetched,
        failures=hide(fetched.failures),
        identity=Identity.model_validate(hide(fetched.identity.to_dict())),
        notes=tuple(hide(list(fetched.notes))),
        facts=tuple(type(fact).model_validate(hide(fact.to_dict())) for fact in fetched.facts),
    )
