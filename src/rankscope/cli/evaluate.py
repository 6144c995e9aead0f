"""``rankscope evaluate``."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import click

from rankscope.cli import ANSWER_IS_NO, CANNOT_ANSWER, shared
from rankscope.cli.help import command, option, rare, under
from rankscope.cli.output import METRICS, Output, described, page_contents, print_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rankscope.scale.score_table import ScoreTable

_APART = ("workers", "cluster", "per_query_output")
"""With any of these, files are scored one by one, and broken ones left out."""


@command(
    "rankscope evaluate demo/qrels.tsv demo/lexical.run -m nDCG@10 --worst 5",
    "rankscope evaluate demo/qrels.tsv old=demo/lexical.run new=demo/hybrid.run",
)
@click.argument("qrels")
@click.argument("run", nargs=-1)
@shared.measures_option()
@shared.PROFILE
@under(
    "Output",
    option("--worst N", "List the N lowest-scoring questions"),
    option("--queries FILE", "Show question texts"),
    option("--corpus FILE", "Show document titles and texts; check expected ids"),
    option("--per-query", "Print every question's score"),
    shared.FAIL_UNDER,
    rare(
        "--intervals/--no-intervals",
        "Print 95% intervals of the means  [default: up to 2,000 questions]",
        default=None,
    ),
    rare(
        "--per-query-output FILE",
        "Write every question's score to a Parquet file while runs are scored",
    ),
)
@under(
    "Scoring",
    rare(
        "--ties RULE",
        "Order equal scores by id, high first or low first, or as given",
        one_of=["trec", "id-asc", "given"],
    ),
    rare("--intersect", "Leave questions that a run lacks out of its means"),
    rare("--bounds", "Show how far ties and unjudged documents could move a mean"),
    rare("--hole-grade GRADE", "Grade of unjudged documents, with --bounds", default=1.0),
    rare(
        "--workers N",
        "Score in N processes; report broken runs, continue, and exit 2",
        type=click.IntRange(1, 4096),
    ),
    rare(
        "--cluster ADDRESS",
        "Score on a Dask cluster, such as tcp://10.0.0.1:8786, whose workers read the files",
    ),
)
@shared.PIECES
@shared.output_options("trec", METRICS)
@shared.PAGE
def evaluate(
    *,
    qrels: str,
    run: tuple[str, ...],
    measures: tuple[str, ...],
    queries: str | None,
    corpus: str | None,
    scoring: dict[str, Any],
    output: Output,
    **options: Any,
) -> int:
    """Score one or more RUN files against judgments or a golden set.

    A judged question missing from a run scores 0, and we tell you. Runs are called by their tags,
    or by their files if two tags are equal; NAME=RUN names one. A folder or a pattern in quotes is
    one run in several files; one table may hold gold and run.
    """
    from rankscope.document.views import document_of
    from rankscope.integrations.limits import read_limits
    from rankscope.reports.scores import scores_as_trec
    from rankscope.scoring.bounds import bounds_of
    from rankscope.scoring.evaluate import score
    from rankscope.scoring.inputs import as_judgments, read_inputs
    from rankscope.scoring.plans import usual_measures
    from rankscope.scoring.scoring_options import Scoring

    _check_format(output.format, options)
    per_query, given = options["per_query"], shared.named_runs(run) or None
    holes = {"holes": options["bounds"], "hole_grade": options["hole_grade"]}
    is_apart, broken = any(options[name] is not None for name in _APART), list[str]()
    with ExitStack() as stack:
        executor, table = _workers(options, stack)
        changed = {
            "ties": options["ties"],
            "corpus": corpus,
            "queries": "both" if options["intersect"] else None,
            "executor": executor,
        }
        rules = Scoring.of("evaluate", {**scoring, **changed})
        gold: Any = as_judgments(qrels, rules) if is_apart else qrels
        files = _files(gold, given, rules) if is_apart else None
        judgments, runs, _ = (gold, files, 0) if files else read_inputs(gold, given, rules)
        limits = read_limits(
            options["fail_under"], runs, profile=scoring.get("profile", "rankscope")
        )
        usual = () if measures else _usual_in(gold, files, rules) if files else usual_measures(runs)
        wanted = [*(measures or usual), *(limit.asked for limit in limits)]
        if files:
            wants_bounds = options["bounds"] or output.format not in ("csv", METRICS, "trec")
            asked = (gold, tuple(wanted), rules, holes if wants_bounds else None)
            runs = _scored_by_workers(files, asked, table, broken)
        scored = score(judgments, runs, wanted, rules)
        scores = scored.scores
        if table is not None and not files:
            table.add(*map(scores.run, scores.runs))
    means = {name: scores.run(name).means for name in scores.runs}
    missed = [sentence for limit in limits for sentence in limit.missed(means)]
    status = CANNOT_ANSWER if broken else ANSWER_IS_NO if missed else 0
    if output.format == "trec":
        print_warnings(document_of(scores, intervals=False).warnings)
        output.put([scores_as_trec(scores, per_query=per_query)])
    else:
        bounds_by_run = {
            name: getattr(system, "bounds", None)
            or bounds_of(as_judgments(judgments, rules), system, wanted, rules, **holes)
            for name, system in runs.items()
            if options["bounds"]
            or (output.format not in ("csv", METRICS) and scores.run(name).accounting.tied_hits)
        }
        is_told = options["worst"] and output.with_text
        output.write(
            scores,
            data=lambda: scores.record(per_query=per_query, bounds=bounds_by_run).to_dict(),
            metrics={"intervals": options["intervals"] is not False},
            per_query=per_query,
            bounds=bounds_by_run,
            intervals=False if output.format == "csv" else options["intervals"],
            worst=options["worst"] or 0,
            texts={each: text for each, text, _ in described(queries, qrels)} if is_told else None,
            contents=lambda: page_contents(
                scored, output, golden=qrels, queries=queries, corpus=corpus
            ),
        )
    print_warnings(missed)
    return status


def _check_format(format: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a format has no place for."""
    for name in ("worst", "intervals", "per_query", "bounds"):
        typed = f"--{name.replace('_', '-')}"
        if options[name] and name in ("worst", "intervals") and format in ("csv", "json", "trec"):
            raise click.UsageError(f"{typed} is for tables; {format} takes --per-query")
        if options[name] and name != "intervals" and format == METRICS:
            raise click.UsageError(f"{typed} is not for metrics, which are means and intervals")


def _workers(options: Mapping[str, Any], stack: ExitStack) -> tuple[Any, ScoreTable | None]:
    """Return workers, and the file of values by question, for as long as they are needed."""
    workers, cluster, path = (options[name] for name in _APART)
    if workers is not None and cluster is not None:
        raise click.UsageError("--workers and --cluster exclude each other; give one of them")
    if (workers, cluster, path) == (None, None, None):
        return None, None
    from rankscope.scale.executors import workers_of
    from rankscope.scale.score_table import score_table

    executor = stack.enter_context(workers_of(workers=workers or 1, cluster=cluster))
    return executor, None if path is None else stack.enter_context(score_table(path))


def _files(gold: Any, runs: Sequence[Any] | None, rules: Any) -> Mapping[str, Any] | None:
    """Return runs in files that workers can score alone, by name; None if there are others."""
    from rankscope.files import can_be_read_again, is_path
    from rankscope.scale.evaluating import Question, names_of

    are_files = all(is_path(run) and can_be_read_again(run) for run in runs or ())
    is_enough = runs and are_files and Question(gold, (), rules).can_be_asked_elsewhere
    return names_of(runs or ()) if is_enough else None


def _usual_in(gold: Any, files: Mapping[str, Any], rules: Any) -> tuple[str, ...]:
    """Return what is measured of runs in files when nothing is asked for; broken ones don't count.

    They are read for that until one has long lists, mostly the first.
    """
    from rankscope.errors import RankscopeError
    from rankscope.scoring.inputs import read_inputs
    from rankscope.scoring.plans import longest, usual_to

    def lengths() -> Iterator[int | None]:
        for path in files.values():
            with suppress(RankscopeError):
                yield from map(longest, read_inputs(gold, path, rules)[1].values())

    return usual_to(lengths())


def _scored_by_workers(
    files: Mapping[str, Any], asked: tuple[Any, ...], table: ScoreTable | None, broken: list[str]
) -> dict[str, Any]:
    """Score runs in files; of several, one that is broken is named and left out."""
    from rankscope.cli.progress import watching
    from rankscope.printing import put_line
    from rankscope.scale.evaluating import Question, score_files

    def leave_out(name: str, problem: str) -> None:
        broken.append(name)
        put_line(f"run {name} is left out: {problem}")

    with watching() as watcher:
        watcher.begun("score runs")
        return score_files(
            files,
            Question(*asked),
            each=lambda run: None if table is None else table.add(run.scored),
            broken=leave_out if len(files) > 1 else None,
            step=lambda done, total: watcher.step("score runs", done, total),
        )
