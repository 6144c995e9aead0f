"""What ``rankscope evaluate`` does with workers: the runs are scored elsewhere, one by one."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from rankscope.scale.evaluating import Question
    from rankscope.scale.score_table import ScoreTable
    from rankscope.scoring.options import Scoring
    from rankscope.scoring.scores import Scores

WORKERS = click.option(
    "--workers",
    type=click.IntRange(1, 4096),
    metavar="N",
    help="Score with N processes. A run that is broken is said, and the others go on; exit 2 then.",
)
CLUSTER = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Score on the workers of a Dask scheduler, as tcp://10.0.0.1:8786; they read the files.",
)
PER_QUERY_OUTPUT = click.option(
    "--per-query-output",
    metavar="FILE",
    help="Write the value of every query to this Parquet file, while runs are scored.",
)


def scale_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for many runs, and large ones."""
    return WORKERS(CLUSTER(PER_QUERY_OUTPUT(command)))


class Scaling:
    """Workers for the length of a command, and what they could not score."""

    def __init__(self, workers: int | None, cluster: str | None, output: str | None) -> None:
        if workers is not None and cluster is not None:
            raise click.UsageError("--workers and --cluster exclude each other; give one of them")
        self.is_on = workers is not None or cluster is not None or output is not None
        self._workers, self._cluster, self._output = workers or 1, cluster, output
        self._stack = ExitStack()
        self.executor: Executor | None = None
        self.broken: list[str] = []
        """What is wrong with runs that were left out, in a sentence each."""

    def __enter__(self) -> Scaling:
        if self.is_on:
            from rankscope.scale.executors import workers_of

            pool = workers_of(workers=self._workers, cluster=self._cluster)
            self.executor = self._stack.enter_context(pool)
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def question(self, judgments: Any, scoring: Scoring) -> Question | None:
        """Return what workers are asked about each run; None if there are none."""
        if not self.is_on:
            return None
        from rankscope.scale.evaluating import Question

        return Question(judgments, (), scoring)

    def named(self, runs: Sequence[Any], question: Question) -> dict[str, Any] | None:
        """Return the files of runs by name, if workers can score them from these alone."""
        from rankscope.files import can_be_read_again, is_path
        from rankscope.scale.evaluating import names_of

        are_files = all(is_path(run) and can_be_read_again(run) for run in runs)
        return names_of(runs) if are_files and question.can_be_asked_elsewhere else None

    def scored(self, files: Mapping[str, Any], question: Question) -> dict[str, Any]:
        """Score the runs in files, by name, and write their values if that is asked for."""
        from rankscope.cli.progress import watching
        from rankscope.printing import put_line
        from rankscope.scale.evaluating import score_files

        def broken(name: str, problem: str) -> None:
            self.broken.append(name)
            put_line(f"run {name} is left out: {problem}")

        with self._table() as table, watching() as watcher:
            watcher.begun("score runs")
            runs = score_files(
                files,
                question,
                each=lambda run: table.add(run.scored),
                broken=broken if len(files) > 1 else None,
                step=lambda done, total: watcher.step("score runs", done, total),
            )
            table.finish()
        return runs

    def write(self, scores: Scores) -> None:
        """Write the values of runs that were scored here, if that is asked for."""
        if self._output is None:
            return
        with self._table() as table:
            table.add(*(scores.run(name) for name in scores.runs))
            table.finish()

    def _table(self) -> ScoreTable:
        from rankscope.scale.score_table import ScoreTable

        return ScoreTable(self._output)
