"""The options and arguments that several commands share, declared once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rankscope.cli.output import FORMATS, FULL, PAGE, RAW
from rankscope.errors import UnknownNameError
from rankscope.scoring.rules import PROFILES

if TYPE_CHECKING:
    from rankscope.runs.collapsing import Chunking
    from rankscope.tables.columns import Columns

    Choice = click.Choice[str]
    ParamType = click.ParamType[str]
else:  # of click before 8.4 they cannot be subscripted
    Choice = click.Choice
    ParamType = click.ParamType

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Command], Command]


class Names(Choice):
    """A choice of names that says which is nearest to an unknown one."""

    def __init__(self, kind: str, names: Iterable[str]) -> None:
        super().__init__(list(names))
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return a name that is known."""
        if value not in self.choices:
            self.fail(str(UnknownNameError(self.kind, str(value), self.choices)), param, ctx)
        return str(value)


def measures_option(text: str) -> Callable[[Command], Command]:
    """Make the option that names measures."""
    return click.option("-m", "--measure", "measures", multiple=True, metavar="MEASURE", help=text)


def format_option(*more: str) -> Callable[[Command], Command]:
    """Make the options that say how the result is written; ``more`` are formats of one command."""
    chosen = click.option(
        "--format",
        type=click.Choice([*FORMATS, *more]),
        default="table",
        show_default=True,
        help="How the result is written.",
    )
    raw = click.option(
        "--raw",
        is_flag=True,
        expose_value=False,
        callback=_keep(RAW),
        help="Don't escape formulas in csv.",
    )
    full = click.option(
        "--full",
        is_flag=True,
        expose_value=False,
        callback=_keep(FULL),
        help="Print all tables and notes, not only the answer.",
    )
    page = click.option(
        "--html",
        type=OutputName(),
        metavar="FILE",
        expose_value=False,
        callback=_keep(PAGE),
        help="Also write a page you can click through.",
    )
    return lambda command: full(page(chosen(raw(command))))


def _keep(key: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        ctx.meta[key] = value

    return keep


DEFAULTS = "[default: nDCG@10 AP@100 RR@10 R@50 R@100 Success@10]"


class OutputName(ParamType):
    """The name of a file or folder to write; an empty one would be the current folder."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name unless it is empty."""
        if not value.strip():
            self.fail("the name is empty; name where to write", param, ctx)
        return value


TARGET = click.option(
    "-o", "--output", "target", type=OutputName(), metavar="FILE", help="Write there instead."
)


def page_options(command: Command) -> Command:
    """Add the options of pages that show documents."""
    top = click.option(
        "--top",
        type=click.IntRange(1),
        metavar="N",
        help="In html, show the first N documents of each answer  [default: 20]",
    )
    text = click.option(
        "--text/--no-text",
        default=True,
        help="In html, show the texts of queries and documents, or leave them out: they may be "
        "private.  [default: show them]",
    )
    return top(text(command))


def _limited(ctx: click.Context, _: click.Parameter, size: str | None) -> None:
    if size is not None:
        from rankscope.files import max_size, size_in_bytes

        size_in_bytes(size, "--max-size")
        ctx.with_resource(max_size(size))


MAX_SIZE = click.option(
    "--max-size",
    metavar="SIZE",
    expose_value=False,
    callback=_limited,
    help="What a compressed file may expand to, such as 10GB (also RANKSCOPE_MAX_BYTES).",
)


_GIVEN = "rankscope.options"


def _give(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Keep an option of scoring for `given_options`."""
    if value is not None:
        ctx.meta.setdefault(_GIVEN, {})[str(param.name)] = value


def given_options() -> dict[str, Any]:
    """Return the options of scoring that the present command was given, by their Python names."""
    given: dict[str, Any] = dict(click.get_current_context().meta.get(_GIVEN, {}))
    if "collapse" in given and "doc_id_from" not in given:
        raise click.UsageError("--collapse needs --doc-id-from: which document is a chunk of?")
    return given


def given_chunking() -> Chunking | None:
    """Return how chunks become documents, if the present command was told."""
    given = given_options()
    if "doc_id_from" not in given:
        return None
    from rankscope.runs.collapsing import Chunking

    return Chunking.of(given["doc_id_from"], given.get("collapse", "best"))


COLUMNS = ("query", "relevant", "retrieved", "doc", "score", "grade")


def given_columns() -> Columns:
    """Return the columns that the present command was told."""
    from rankscope.tables.columns import Columns

    given = given_options()
    return Columns(**{name: given.get(name) for name in COLUMNS})


def _give_columns(ctx: click.Context, _: click.Parameter, text: str | None) -> None:
    """Keep what --columns names: doc=pid,score=s."""
    for part in () if text is None else text.split(","):
        role, sign, name = part.strip().partition("=")
        if not sign or not name or role not in COLUMNS:
            raise click.UsageError(
                f"--columns: expected ROLE=NAME such as doc=pid,score=s, of the roles "
                f"{', '.join(COLUMNS)}; got {part!r}"
            )
        ctx.meta.setdefault(_GIVEN, {})[role] = name


def _give_labels(ctx: click.Context, param: click.Parameter, text: str | None) -> None:
    if text is not None:
        from rankscope.collection.qrels import parse_labels

        _give(ctx, param, parse_labels(text))


NO_ANSWER = click.option(
    "--no-answer",
    type=click.Choice(["empty"]),
    expose_value=False,
    callback=_give,
    help="Questions without expected documents are meant to have no answer, as those with "
    "the mark no_answer are, and left out of all means.",
)
OVERLAP = click.option(
    "--overlap",
    type=float,
    metavar="SHARE",
    expose_value=False,
    callback=_give,
    help="Where gold is spans or texts: the share of one that must be retrieved for it to "
    "be found.  [default: 0.5 of a span, a text as a whole]",
)
RELEVANCE_LEVEL = click.option(
    "--relevance-level",
    type=float,
    metavar="GRADE",
    expose_value=False,
    callback=_give,
    help="The grade from which on measures that do not look at gains count a document as "
    "relevant.  [default: 1]",
)


_RELATIONS, _ANNOTATIONS = "rankscope.relations", "rankscope.annotations"


def _ontology(ctx: click.Context, _: click.Parameter, path: str | None) -> Any:
    relations, annotations = ctx.meta.get(_RELATIONS) or (), ctx.meta.get(_ANNOTATIONS)
    if path is None:
        for option, is_given in (("--relation", relations), ("--annotations", annotations)):
            if is_given:
                raise click.UsageError(f"{option} needs --ontology")
        return None
    from rankscope.ontology.terms import read_ontology

    return read_ontology(path, relations=relations, annotations=annotations)


def ontology_options(command: Command) -> Command:
    """Add the options that say what ontology the documents are terms of."""
    options = [
        click.option(
            "--relation",
            multiple=True,
            is_eager=True,
            expose_value=False,
            callback=_keep(_RELATIONS),
            metavar="NAME",
            help="With --ontology: what puts a term below another, besides is_a (repeatable).",
        ),
        click.option(
            "--annotations",
            metavar="FILE",
            is_eager=True,
            expose_value=False,
            callback=_keep(_ANNOTATIONS),
            help="With --ontology: a thing and a term on each line (or phenotype.hpoa), for "
            "information content by ic=annotations.",
        ),
        click.option(
            "--ontology",
            metavar="FILE",
            callback=_ontology,
            help="The ontology (OBO, or child and parent in a table) that the "
            "documents are terms of: nearness counts too, beside exact matches.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


LANGUAGE = click.option(
    "--language",
    metavar="CODE",
    expose_value=False,
    callback=_give,
    help="Of cases in several languages, those of one, such as de; all averages them together.",
)


def table_options_but_query(command: Command) -> Command:
    """Add `table_options` to a command of which --query is something else."""
    return table_options(command, with_query=False)


def table_options(command: Command, *, with_query: bool = True) -> Command:
    """Add the options that say how the tables of a command are read."""
    options = [
        click.option(
            "--collapse",
            type=click.Choice(["best", "first", "sum"]),
            expose_value=False,
            callback=_give,
            help="With --doc-id-from, what a document scores: the best of its chunks, by the rank "
            "of the first, or their sum.  [default: best]",
        ),
        click.option(
            "--doc-id-from",
            metavar="RULE",
            expose_value=False,
            callback=_give,
            help="Runs hold chunks of documents: '#' or '::' (what is before the last one), a "
            "regular expression (its first group), or a table file from chunk to document.",
        ),
        click.option(
            "--duplicates",
            type=click.Choice(["first", "best"]),
            expose_value=False,
            callback=_give,
            help="Keep one of a document that a run lists twice.  [default: an error]",
        ),
    ]
    options += [
        click.option(
            "--labels",
            metavar="E=3,S=2,…",
            expose_value=False,
            callback=_give_labels,
            help="Grades of the labels in the judgments.",
        ),
        click.option(
            "--columns",
            metavar="ROLE=NAME,…",
            expose_value=False,
            callback=_give_columns,
            help="Columns by role, as in doc=pid,score=s,grade=g.",
        ),
    ]
    for name, what in (
        ("retrieved", "what was retrieved (run)"),
        ("relevant", "the relevant documents (gold)"),
        ("query", "the query"),
    ):
        if name != "query" or with_query:
            options.append(
                click.option(
                    f"--{name}",
                    metavar="NAME",
                    expose_value=False,
                    callback=_give,
                    help=f"Column that holds {what}.",
                )
            )
    for option in options:
        command = option(command)
    return command


PROFILE = click.option(
    "--profile",
    type=Names("profile", PROFILES),
    default="rankscope",
    show_default=True,
    help="Whose rules: ties, precision, missing queries, definitions.",
)
ORDER = click.option(
    "--order",
    type=click.Choice(["score", "given"]),
    default="score",
    show_default=True,
    help="What ranks documents: their scores, or the order in which they are listed.",
)
ALPHA = click.option(
    "--alpha", type=float, default=0.05, show_default=True, help="A p-value up to this counts."
)
RESAMPLES = click.option(
    "--resamples",
    type=int,
    default=10_000,
    show_default=True,
    help="How often permutations and bootstraps are drawn.",
)
SEED = click.option(
    "--seed", type=int, default=0, show_default=True, help="Of everything that is random."
)
MAX_SYSTEMS = click.option(
    "--max-systems",
    type=click.IntRange(min=0),
    metavar="N",
    help="Show the N best runs, and the baseline; 0: all. JSON and csv hold all. [default: 50]",
)
SYSTEMS = click.option(
    "--system", "systems", multiple=True, metavar="NAME", help="Only this system (repeatable)."
)
CONFIG = click.argument("config", type=click.Path(), metavar="CONFIG")
SET = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change the config, as in depth=50 or systems.lexical.bm25.k1=1.2 (repeatable).",
)
CACHE = click.option(
    "--cache",
    type=OutputName(),
    metavar="DIR",
    help="Where indexes, embeddings and finished stages are kept (.cache in the output folder).",
)
JOBS = click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Stages done at a time."
)
NO_PYTHON = click.option(
    "--no-python",
    is_flag=True,
    help="Refuse a config that names Python code; nothing of it is imported or run.",
)
QUIET = click.option("--quiet", is_flag=True, help="Print nothing but errors.")


def check_standard_input(*paths: str | None) -> None:
    """Refuse to read standard input twice."""
    if sum(path == "-" or path.endswith("=-") for path in paths if path is not None) > 1:
        raise click.UsageError("standard input (-) can be read once only; name files for the rest")


def named_run(argument: str) -> Any:
    """Take NAME=FILE as a run of that name, or score file of such a run; all else as it is."""
    name, sign, path = argument.partition("=")
    if not sign or not name or not path or os.path.lexists(argument):
        return argument
    from rankscope.scoring.inputs import is_several
    from rankscope.scoring.score_files import is_score_file, read_scores

    if path != "-" and not is_several(path) and is_score_file(path):
        return read_scores(path).renamed(name)
    from rankscope.runs.run_files import NamedFile

    return NamedFile.of(path, name)


def named_runs(arguments: Iterable[str]) -> list[Any]:
    """Take several runs, those given as NAME=FILE under their names."""
    return [named_run(argument) for argument in arguments]


def query_field_options(command: Command) -> Command:
    """Add the options that name fields of a file of queries."""
    for option in (
        click.option(
            "--weights", metavar="FIELD", help="Queries count by this number (traffic, say)."
        ),
        click.option(
            "--cluster",
            metavar="FIELD",
            help="Queries that share it belong together (paraphrases, sessions).",
        ),
        click.option(
            "--queries",
            "queries_file",
            metavar="FILE",
            help="Queries with metadata, for options that name a field; the gate shows texts.",
        ),
    ):
        command = option(command)
    return command


def query_fields(path: str | None, *, texts: bool = False, **fields: str | None) -> dict[str, Any]:
    """Return, for each option that names a field of the queries, its value by query id, or None.

    With ``texts`` these are among the answers, and the file may be given for them alone.
    """
    named = {option: field for option, field in fields.items() if field is not None}
    if path is None or not (named or texts):
        if path is not None or named:
            options = " or ".join(f"--{option} FIELD" for option in named or fields)
            raise click.UsageError(f"--queries FILE and {options} belong together")
        return dict.fromkeys([*fields, "texts"])
    from rankscope.collection.queries import read_queries

    queries = read_queries(path)
    metadata = queries.metadata if named else {}
    known = dict.fromkeys(name for values in metadata.values() for name in values)
    answers: dict[str, Any] = dict.fromkeys(fields)
    answers["texts"] = dict(queries.items()) if texts else None
    for option, field in named.items():
        if field not in known:
            raise UnknownNameError(f"field of {path}", field, known)
        values = {query_id: metadata[query_id].get(field) for query_id in metadata}
        answers[option] = {
            query_id: ", ".join(map(str, value)) if isinstance(value, list) else value
            for query_id, value in values.items()
        }
    return answers
