"""``rankscope evaluate``."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli import shared
from rankscope.cli.help import Part, command, option, rare
from rankscope.cli.output import METRICS, Output, page_contents, print_warnings, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Executor

    from rankscope.scale.evaluating import Question
    from rankscope.scale.score_table import ScoreTable
    from rankscope.scoring.options import Scoring
    from rankscope.scoring.scores import RunScores, Scores


class Scaling:
    """Workers for the length of a command, and what they could not score."""

    def __init__(
        self, *, workers: int | None, cluster: str | None, per_query_output: str | None
    ) -> None:
        if workers is not None and cluster is not None:
            raise click.UsageError("--workers and --cluster exclude each other; give one of them")
        self.is_on = workers is not None or cluster is not None or per_query_output is not None
        self._workers, self._cluster, self._output = workers or 1, cluster, per_query_output
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
            return score_files(
                files,
                question,
                each=lambda run: table.add(run.scored),
                broken=broken if len(files) > 1 else None,
                step=lambda done, total: watcher.step("score runs", done, total),
            )

    def write(self, scores: Scores) -> None:
        """Write the values of runs that were scored here, if that is asked for."""
        if self._output is None:
            return
        with self._table() as table:
            table.add(*(scores.run(name) for name in scores.runs))

    def _table(self) -> AbstractContextManager[ScoreTable]:
        from rankscope.scale.score_table import score_table

        return score_table(self._output)


SCALING = Part("scaling", lambda values: Scaling(**values))


@command(
    "rankscope evaluate demo/qrels.tsv demo/lexical.run -m nDCG@10 --worst 5",
    "rankscope evaluate demo/qrels.tsv old=demo/lexical.run new=demo/hybrid.run",
)
@click.argument("qrels")
@click.argument("run", nargs=-1)
@shared.measures_option()
@shared.PROFILE
@option("--worst N", "List the N lowest-scoring questions", "Output")
@option("--queries FILE", "Show question texts", "Output")
@option("--corpus FILE", "Show document titles and texts; check expected ids", "Output")
@option("--per-query", "Print every question's score", "Output")
@option(
    "--fail-under M=VALUE",
    "Exit 1 if a mean is below VALUE, as in nDCG@10=0.6",
    "Output",
    multiple=True,
)
@rare(
    "--intervals/--no-intervals",
    "Print 95% intervals of the means  [default: up to 2,000 questions]",
    "Output",
    default=None,
)
@rare(
    "--ties RULE",
    "Order equal scores by id, high first or low first, or as given",
    "Scoring",
    one_of=["trec", "id-asc", "given"],
)
@rare("--intersect", "Leave questions that a run lacks out of its means", "Scoring")
@rare("--bounds", "Show how far ties and unjudged documents could move a mean", "Scoring")
@rare("--hole-grade GRADE", "Grade of unjudged documents, with --bounds", "Scoring", default=1.0)
@rare(
    "--workers N",
    "Score in N processes; report broken runs, continue, and exit 2",
    "Scoring",
    type=click.IntRange(1, 4096),
    part=SCALING,
)
@rare(
    "--cluster ADDRESS",
    "Score on a Dask cluster, such as tcp://10.0.0.1:8786, whose workers read the files",
    "Scoring",
    part=SCALING,
)
@rare(
    "--per-query-output FILE",
    "Write every question's score to a Parquet file while runs are scored",
    "Output",
    part=SCALING,
)
@shared.ORDER
@shared.OVERLAP
@shared.JUDGMENTS
@shared.output_options("trec", METRICS)
@shared.TOP
@shared.TEXT
@shared.MAX_SYSTEMS
def evaluate(
    *,
    qrels: str,
    run: tuple[str, ...],
    measures: tuple[str, ...],
    worst: int | None,
    queries: str | None,
    corpus: str | None,
    per_query: bool,
    fail_under: tuple[str, ...],
    intervals: bool | None,
    ties: str | None,
    intersect: bool,
    bounds: bool,
    hole_grade: float,
    max_systems: int | None,
    scaling: Scaling,
    scoring: dict[str, Any],
    output: Output,
) -> int:
    """Score one or more RUN files against judgments or a golden set.

    A judged question missing from a run scores 0, and we tell you. Name a run with NAME=RUN. A
    folder or a pattern in quotes is one run in several files; one table may hold gold and run.
    """
    from rankscope.cli import ANSWER_IS_NO, CANNOT_ANSWER
    from rankscope.document.views import document_of
    from rankscope.integrations.limits import read_limits
    from rankscope.measures.language import DEFAULT_MEASURES
    from rankscope.reports.scores import scores_as_trec
    from rankscope.scoring.bounds import bounds_of
    from rankscope.scoring.evaluate import score
    from rankscope.scoring.inputs import as_judgments, read_inputs
    from rankscope.scoring.options import Scoring

    shared.check_standard_input(qrels, *run, corpus, queries)
    for name, is_given in (("--worst", worst is not None), ("--intervals", bool(intervals))):
        if is_given and output.format in ("csv", "json", "trec"):
            raise click.UsageError(f"{name} is for tables; {output.format} takes --per-query")
    more = (("--worst", worst is not None), ("--per-query", per_query), ("--bounds", bounds))
    for name, is_given in more:
        if is_given and output.format == METRICS:
            raise click.UsageError(f"{name} is not for metrics, which are means and intervals")
    wanted = list(measures or DEFAULT_MEASURES)
    with scaling:
        rules = Scoring.of("evaluate", {
            **scoring, "ties": ties, "corpus": corpus, "queries": "both" if intersect else None,
            "executor": scaling.executor,
        })  # fmt: skip
        given = shared.named_runs(run) or None
        gold: Any = as_judgments(qrels, rules) if scaling.is_on else qrels
        question = scaling.question(gold, rules)
        files = None if question is None or not given else scaling.named(given, question)
        judgments, runs, _ = (gold, files, 0) if files else read_inputs(gold, given, rules)
        limits = read_limits(fail_under, runs, profile=scoring.get("profile", "rankscope"))
        wanted += [limit.asked for limit in limits]
        if files and question is not None:
            wants_bounds = bounds or output.format not in ("csv", METRICS, "trec")
            holes = {"holes": bounds, "hole_grade": hole_grade} if wants_bounds else None
            runs = scaling.scored(files, replace(question, measures=tuple(wanted), bounds=holes))
        scored = score(judgments, runs, wanted, rules)
        scores = scored.scores
        if not files:
            scaling.write(scores)
    means = {name: scores.run(name).means for name in scores.runs}
    missed = [sentence for limit in limits for sentence in limit.missed(means)]
    status = CANNOT_ANSWER if scaling.broken else ANSWER_IS_NO if missed else 0
    if output.format == "trec":
        print_warnings(document_of(scores, intervals=False).warnings)
        write_text(scores_as_trec(scores, per_query=per_query), output.target)
        print_warnings(missed)
        return status
    bounds_by_run = {
        name: getattr(system, "bounds", None)
        or bounds_of(
            as_judgments(judgments, rules),
            system,
            wanted,
            rules,
            holes=bounds,
            hole_grade=hole_grade,
        )
        for name, system in runs.items()
        if bounds or (output.format not in ("csv", METRICS) and _has_ties(scores.run(name)))
    }
    output.write(
        scores,
        data=lambda: scores.record(per_query=per_query, bounds=bounds_by_run).to_dict(),
        metrics={"intervals": intervals is not False},
        per_query=per_query,
        bounds=bounds_by_run,
        intervals=False if output.format == "csv" else intervals,
        worst=worst or 0,
        max_systems=max_systems,
        texts=_texts(queries, qrels) if worst and output.with_text else None,
        contents=lambda: page_contents(scored, output, queries=queries or qrels, corpus=corpus),
        answers=runs,
    )
    print_warnings(missed)
    return status


def _has_ties(run_scores: RunScores) -> bool:
    return bool(run_scores.accounting.tied_hits)


def _texts(queries: str | None, qrels: str) -> dict[str, str]:
    """Return the texts of queries: from their file, or from a golden set."""
    from rankscope.collection.queries import read_queries
    from rankscope.retrieval.golden import texts_in

    if queries is None:
        return texts_in(qrels)
    table = read_queries(queries)
    return {query_id: table[query_id] for query_id in table}
