"""The options and arguments that several commands share, declared once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import click

from rankscope.cli.help import Names, Pairs, Part, option, options, rare, under
from rankscope.cli.output import FORMATS, Output
from rankscope.errors import UnknownNameError
from rankscope.scoring.rules import PROFILES
from rankscope.statistics.choices import TESTS

# --- scoring -------------------------------------------------------------------------------------

COLUMNS = ("query", "relevant", "retrieved", "doc", "score", "grade")
DEFAULTS = "[default: nDCG@10 AP@100 RR@10 R@50 R@100 Success@10; less deep for short lists]"


def scoring_of(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options of scoring that were given, as keyword arguments of `evaluate`."""
    given = {name: value for name, value in values.items() if value not in (None, ())}
    relations, annotations = given.pop("relation", ()), given.pop("annotations", None)
    if "ontology" in given:
        from rankscope.ontology.terms import read_ontology

        path = given["ontology"]
        given["ontology"] = read_ontology(path, relations=relations, annotations=annotations)
    elif relations or annotations:
        needy = "--relation" if relations else "--annotations"
        raise click.UsageError(f"{needy} needs --ontology")
    return {**given.pop("columns"), **given}


SCORING = Part("scoring", scoring_of)
LABELS = Pairs("LABEL=NUMBER such as E=3,S=2", float)


def measures_option(default: str = DEFAULTS) -> Callable[..., Any]:
    """Declare the option that names measures; ``default`` says which if none is named."""
    text = f"Measure, repeatable; other tools' names work too {default}"
    return option("-m --measure measures NAME", text, "Scoring", multiple=True)


def _common(declaration: str, text: str, **settings: Any) -> Callable[..., Any]:
    return option(declaration, text, "Scoring", part=SCORING, **settings)


def _reading(declaration: str, text: str, **settings: Any) -> Callable[..., Any]:
    return rare(declaration, text, "Reading", part=SCORING, **settings)


PROFILE = _common(
    "--profile TOOL", "Follow another tool's rules, such as trec_eval-9", type=Names(list(PROFILES))
)
ORDER = _reading("--order WAY", "Rank by score, or as listed", one_of=["score", "given"])
NO_ANSWER = _reading(
    "--no-answer WHICH",
    "Leave questions without expected documents out of the means",
    one_of=["empty"],
)
OVERLAP = _reading(
    "--overlap SHARE",
    "Share of a gold span or text that must be retrieved  [default: 0.5 of a span, all of a text]",
)
RELEVANCE_LEVEL = _reading(
    "--relevance-level GRADE",
    "Lowest grade that counts as relevant where gains don't matter  [default: 1]",
)
ONTOLOGY = options(
    _common("--ontology FILE", "Give partial credit for related terms"),
    _reading(
        "--relation NAME",
        "Relation that puts a term below another, besides is_a (repeatable)",
        multiple=True,
    ),
    _reading("--annotations FILE", "Items and their terms, for ic=annotations"),
)
LANGUAGE = _reading("--language CODE", "Score only this language, such as de; all averages them")
TABLES_BUT_QUERY = options(
    _common(
        "--columns MAP",
        "Name unusual columns: query=q,doc=id,score=s,grade=g",
        type=Pairs("NAME=COLUMN such as doc=pid,score=s", names=COLUMNS),
        default={},
    ),
    _common("--doc-id-from RULE", "Turn chunk ids into document ids, as with '#'"),
    _reading("--relevant NAME", "Column that holds the relevant documents (gold)"),
    _reading("--retrieved NAME", "Column that holds what was retrieved (run)"),
    _reading("--labels MAP", "Grades of labels: E=3,S=2", type=LABELS),
    _reading(
        "--duplicates WHICH",
        "Keep one row of a document listed twice  [default: an error]",
        one_of=["first", "best"],
    ),
)
QUERY_COLUMN = _reading("--query NAME", "Column that holds the query")


TABLES = options(TABLES_BUT_QUERY, QUERY_COLUMN)
JUDGMENTS = options(TABLES, NO_ANSWER, RELEVANCE_LEVEL, ONTOLOGY, LANGUAGE)
"""How judgments and runs are read."""

PIECES = options(ORDER, OVERLAP, JUDGMENTS)
"""The same, where gold may be spans or texts."""

# --- statistics ----------------------------------------------------------------------------------

ALPHA = rare(
    "--alpha P", "Largest p-value that counts as a difference", default=0.05, heading="Statistics"
)
RESAMPLES = rare("--resamples N", "Number of resamples", default=10_000, heading="Statistics")
SEED = rare("--seed N", "Random seed", "Statistics", type=int, default=0)
_TEST: Any = {
    "declaration": "--test NAME",
    "text": "Paired test; t is the sign test for values of 0 and 1",
    "heading": "Statistics",
    "one_of": TESTS,
    "default": "t",
}
TEST, RARE_TEST = option(**_TEST), rare(**_TEST)


# --- output --------------------------------------------------------------------------------------

WRITING = Part("output", lambda values: Output(**values))


def _writing(declaration: str, text: str, **settings: Any) -> Callable[..., Any]:
    return option(declaration, text, "Output", part=WRITING, **settings)


TARGET = _writing("-o --output target FILE", "Write to FILE instead of the terminal")
HTML = _writing("--html FILE", "Write a page you can click through")
OPEN = _writing("--open is_opened", "Open the page in the browser")
_TOP = _writing("--top N", "Documents of each answer on the page  [default: 20]", rare=True)
_TEXT = _writing(
    "--text/--no-text with_text",
    "Show texts of queries and documents on the page (they may be private)",
    rare=True,
    default=True,
)
PAGE = options(_TOP, _TEXT)
"""What a page holds."""


def formats(*more: str) -> Callable[..., Any]:
    """Declare how a result is printed; ``more`` are formats of one command."""
    known = [*FORMATS, *more]
    return options(
        _writing("--full", "Print all tables and notes"),
        _writing("--format FORMAT", "Print as", one_of=known, default="table"),
        _writing("--raw", "Don't escape formulas in CSV", rare=True),
    )


def output_options(*more: str) -> Callable[..., Any]:
    """Declare how a result is printed, or written to a file or page."""
    return options(formats(*more), HTML, OPEN, TARGET)


FAIL_UNDER = option(
    "--fail-under M=VALUE",
    "Exit 1 if a mean is below VALUE, as in nDCG@10=0.6",
    "Output",
    multiple=True,
)

# --- benchmarks ----------------------------------------------------------------------------------

SYSTEMS = option("--system systems NAME", "Only this system (repeatable)", multiple=True)
QUIET = rare("--quiet", "Print only errors", "Output")
CONFIG = click.argument("config", type=click.Path(), metavar="CONFIG")
CONFIG_OPTIONS = options(
    option(
        "--set settings KEY=VALUE",
        "Change the config, such as depth=50 or systems.lexical.bm25.k1=1.2 (repeatable)",
        multiple=True,
    ),
    option(
        "--cache DIR",
        "Keep indexes, embeddings and answers here  [default: .cache in the output]",
    ),
    option("--no-python", "Refuse a config that names Python code"),
    QUIET,
)

# --- arguments -----------------------------------------------------------------------------------


def named_run(argument: str) -> Any:
    """Take NAME=FILE as a run of that name; all else as it is."""
    name, sign, path = argument.partition("=")
    if not sign or not name or not path or os.path.lexists(argument):
        return argument
    from rankscope.runs.run_files import NamedFile

    return NamedFile.of(path, name)


def named_runs(arguments: Iterable[str]) -> list[Any]:
    """Take several runs, those given as NAME=FILE under their names."""
    return [named_run(argument) for argument in arguments]


QUERY_FIELDS = under(
    "Statistics",
    option("--queries queries_file FILE", "Queries with texts and metadata"),
    rare(
        "--cluster FIELD",
        "Field of --queries: those that share it belong together (paraphrases, sessions)",
    ),
    rare("--weights FIELD", "Field of --queries: how much each counts (traffic)"),
)


def query_fields(path: str | None, **fields: str | None) -> dict[str, Any]:
    """Return the values of fields of the queries by query id; None for one that is not named."""
    from rankscope.collection.queries import read_queries

    named = {name: field for name, field in fields.items() if field is not None}
    if named and path is None:
        raise click.UsageError(f"--{next(iter(named))} FIELD needs --queries FILE")
    metadata = read_queries(str(path)).metadata if named else {}
    known = dict.fromkeys(name for values in metadata.values() for name in values)
    by_query: dict[str, Any] = dict.fromkeys(fields)
    for name, field in named.items():
        if field not in known:
            raise UnknownNameError(f"field of {path}", field, known)
        values = {query_id: row.get(field) for query_id, row in metadata.items()}
        by_query[name] = {
            query_id: ", ".join(map(str, value)) if isinstance(value, list) else value
            for query_id, value in values.items()
        }
    return by_query
