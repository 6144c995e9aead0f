"""Load a system: ask it at a rate that does not depend on its answers, and measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from rankscope.errors import InputError
from rankscope.hiding import hidden_in_errors
from rankscope.retrieval.fetch import REMOTE_TIMEOUT, refusal
from rankscope.retrieval.llm.llm_options import LlmOptions
from rankscope.retrieval.load.arrivals import check_settings, make_schedule
from rankscope.retrieval.load.histograms import check_histograms
from rankscope.retrieval.load.measuring import Loaded, measured
from rankscope.retrieval.load.open_loop import Asking, Clock, Crew, Log, RealClock, send
from rankscope.retrieval.progress import Progress, asking_anew, watched
from rankscope.retrieval.protocol import (
    _TIME_LIMIT,
    Query,
    Ranking,
    System,
    all_parts,
    contained,
    without_secrets,
)
from rankscope.runs.load_record import LoadRecord, LoadSettings

_REAL = RealClock()


def load_system(
    system: System,
    queries: Sequence[Query],
    settings: LoadSettings,
    *,
    name: str = "",
    timeout: float | None = None,
    progress: Progress | None = None,
    indexing: Progress | None = None,
    clock: Clock = _REAL,
) -> LoadRecord:
    """Ask a system at a given rate, and return how long it took to answer.

    ``system`` has its corpus already. Nothing is asked twice because it failed, and no answer that
    was kept is used. ``timeout`` is how many seconds a query may take (None: 60 for a remote
    system, any time for a local one): one that takes longer has failed. Ctrl-C ends the test, and
    the record says what was measured until then.

    Raises:
        InputError: a setting out of bounds, no queries, or a system that answers nothing.
    """
    check_settings(settings)
    check_histograms()
    if not queries:
        raise InputError("there are no queries to ask; name a file of queries in the config")
    if timeout is None and system.capabilities.remote:
        timeout = REMOTE_TIMEOUT
    schedule = make_schedule(settings, len(queries))
    is_alone = not system.capabilities.concurrent
    log = Log(len(schedule))
    asked = [queries[place] for place in schedule.places.tolist()]
    most = 1 if is_alone else settings.most_in_flight

    def hide(text: str) -> str:
        return without_secrets(text, system)

    def ask(number: int) -> Callable[[], str | None]:
        began = clock.now()
        rankings = _searched(system, asked[number], settings.depth)
        spent = clock.now() - began
        return lambda: _failure(rankings, settings.depth, spent, timeout, hide)

    token = _TIME_LIMIT.set(timeout)
    try:
        with hidden_in_errors(hide), contained():
            with watched(indexing):
                system.prepare()
            loaded = Loaded(
                name or system.name,
                system.identity(),
                settings,
                one_at_a_time=is_alone,
                created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                limits=_limits(system),
            )
            with asking_anew():  # inherited by the threads that ask
                crew: Asking = Crew(ask, log, most, clock)
                send(schedule, log, crew, grace=settings.grace, clock=clock, progress=progress)
    finally:
        _TIME_LIMIT.reset(token)
    return measured(loaded, schedule, log)


def _limits(system: System) -> tuple[tuple[str, int], ...]:
    """Return the language models that a system asks, and how many requests at a time."""
    asked = (part.options for part in all_parts(system))
    limits = ((each.model, each.jobs) for each in asked if isinstance(each, LlmOptions))
    return tuple(dict.fromkeys(limits))


def _searched(system: System, query: Query, depth: int) -> list[Ranking]:
    """Ask one query; whatever goes wrong is its failure."""
    try:
        with contained():
            return system.search([query], depth)
    except Exception as error:
        return [Ranking.failed_by(error)]


def _failure(
    rankings: Sequence[Ranking],
    depth: int,
    spent: float,
    timeout: float | None,
    hide: Callable[[str], str],
) -> str | None:
    """Say how a query failed; None if it was answered."""
    if timeout is not None and spent > timeout:
        return f"no answer within {timeout:g} s"
    if len(rankings) != 1:
        return f"the system gave {len(rankings)} answers to 1 query"
    problem = rankings[0].error or refusal(rankings[0], depth)
    return None if problem is None else hide(problem)
