"""Systems asked more than once: how far their answers move by themselves.

A system that asks something outside, that searches approximately or that does not promise the same
answer is asked ``repeat.times`` times, and so is code of the user's. Nothing that was kept of one
time is used for another: each has components of its own, and an engine that is to be rebuilt has an
index of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rankscope.benchmark.basis import Benchmark
from rankscope.benchmark.fetching import fetch_stage
from rankscope.benchmark.plan import Stage
from rankscope.benchmark.systems import Systems
from rankscope.retrieval.fetch import Fetched
from rankscope.retrieval.protocol import all_parts


class Attempts:
    """The systems of a config, made once more for each time they are asked again."""

    def __init__(self, first: Systems, make: Callable[[int], Systems]) -> None:
        self._make = make
        self._made = {0: first}

    def __getitem__(self, attempt: int) -> Systems:
        if attempt not in self._made:
            self._made[attempt] = self._make(attempt)
        return self._made[attempt]

    def close(self) -> None:
        """Close every system that was made."""
        for attempt, systems in self._made.items():
            if attempt:  # the first are closed by whoever made them
                systems.close()


def repeat_stages(
    benchmark: Benchmark, attempts: Attempts, cache: Path, fetches: Mapping[str, Stage[Fetched]]
) -> dict[str, list[Stage[Fetched]]]:
    """Make the stages in which systems are asked again, by system: all times but the first."""
    repeat = benchmark.loaded.config.repeat
    if repeat.times == 1:
        return {}
    names = repeat.systems or [name for name in fetches if may_vary(attempts[0], name)]
    stages: dict[str, list[Stage[Fetched]]] = {}
    for name in (name for name in fetches if name in names):
        before = fetches[name]
        for attempt in range(1, repeat.times):
            before = fetch_stage(
                *(benchmark, attempts[attempt], cache, name), after=[before], attempt=attempt
            )
            stages.setdefault(name, []).append(before)
    return stages


def may_vary(systems: Systems, name: str) -> bool:
    """Tell whether a system may answer otherwise the next time."""
    return any(
        part.sources  # code of the user's promises nothing
        or part.capabilities.remote
        or not (part.capabilities.deterministic and part.capabilities.exact)
        for part in all_parts(systems[name])
    )
