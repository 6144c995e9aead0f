"""Scoring: the options of `rankscope.evaluate` and its like, as one frozen object.

It is made once, of keyword arguments, and passed on: to what takes judgments, to what takes runs,
and to what scores. Whatever a call does not use is not loaded for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from rankscope.errors import InputError, UnknownNameError
from rankscope.runs.order import Order, Precision, Ties
from rankscope.scoring.rules import PROFILES, Profile, QueryPolicy, profile_named
from rankscope.tables.columns import NO_COLUMNS, Columns

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rankscope.measures.language import Measure
    from rankscope.ontology.terms import Ontology
    from rankscope.runs.collapsing import Chunking
    from rankscope.scoring.judgments import NoAnswer
    from rankscope.tables.columns import Duplicates


class ScoringOptions(TypedDict, total=False):
    """What `evaluate`, `compare`, `gate` and their like take, each with the same meaning."""

    profile: str | Profile | None
    """Whose rules: a tool's name."""
    ties: Ties | None
    """Among equal scores: ``trec`` (the higher id first), ``id-asc``, or ``given``."""
    precision: Precision | None
    """In what precision scores are compared."""
    queries: QueryPolicy | None
    """Which queries count."""
    relevance_level: float | None
    """The grade from which on binary measures count a document as relevant."""
    order: Order
    """What ranks documents: their scores, or the order in which they are listed."""
    corpus: Any
    """The documents that there are: a path, a table or ids."""
    doc_id_from: Any
    """Which document a chunk is of: ``#``, a regular expression, a dict, a function."""
    no_answer: NoAnswer | None
    """More questions that are meant to have no answer."""
    overlap: float | None
    """The share of a gold span or text that must be retrieved for it to be found."""
    ontology: Any
    """What the documents are terms of."""
    language: str | None
    """Of cases in several languages, those of one; ``all`` averages them together."""
    executor: Executor | None
    """Who does the work, where this process is not to do it alone."""
    duplicates: Duplicates | None
    """Which row counts of a document that a run lists twice; an error if not given."""
    labels: Mapping[str, float] | None
    """What the labels of the judgments mean, as grades."""
    query: str | None
    """The column of the query, where it goes by no known name."""
    relevant: str | None
    """That of the judgments' documents."""
    retrieved: str | None
    """That of the run's documents."""
    doc: str | None
    """That of the document in a table with a row for each."""
    score: str | None
    """That of a run's score."""
    grade: str | None
    """That of a judgment's grade."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scoring:
    """How judgments and runs are read, and by which rules they are scored."""

    profile: Profile = PROFILES["rankscope"]
    changes: tuple[tuple[str, Any], ...] = ()
    """The rules that replace those of the profile: ties, precision, queries."""
    relevance_level: float | None = None
    order: Order = "score"
    corpus: Any = None
    chunking: Chunking | None = None
    """How chunks become documents."""
    no_answer: NoAnswer | None = None
    overlap: float | None = None
    ontology: Ontology | None = None
    language: str | None = None
    executor: Executor | None = None
    duplicates: Duplicates | None = None
    labels: Mapping[str, float] | None = None
    columns: Columns = NO_COLUMNS

    @classmethod
    def of(
        cls, function: str, options: Mapping[str, Any], *, without: Iterable[str] = ()
    ) -> Scoring:
        """Take the keyword arguments of a function, by its name; ``without`` are not for it."""
        known = [name for name in ScoringOptions.__annotations__ if name not in set(without)]
        for option in options:
            if option not in known:
                raise _unknown(function, option, known)
        given = {name: value for name, value in options.items() if value is not None}
        columns = {name: given.pop(name) for name in _COLUMNS if name in given}
        for name, (words, choices) in _CHOICES.items():
            if name in given and given[name] not in choices:
                raise UnknownNameError(words, str(given[name]), choices)
        rules = ("ties", "precision", "queries")
        given["changes"] = tuple((rule, given.pop(rule)) for rule in rules if rule in given)
        doc_id_from = given.pop("doc_id_from", None)
        if "profile" in given:
            given["profile"] = profile_named(given["profile"])
        if columns:
            given["columns"] = Columns(**columns)
        overlap = given.get("overlap", 1)
        if not isinstance(overlap, int | float) or not 0 < overlap <= 1:
            raise InputError(f"overlap must be above 0 and at most 1, not {overlap}")
        if doc_id_from is not None:
            from rankscope.runs.collapsing import Chunking  # noqa: PLC0415

            is_made = isinstance(doc_id_from, Chunking)
            given["chunking"] = doc_id_from if is_made else Chunking.of(doc_id_from)
        if "ontology" in given:
            from rankscope.ontology.terms import as_ontology  # noqa: PLC0415

            given["ontology"] = as_ontology(given["ontology"])
        if not isinstance(given.get("no_answer", ""), str):
            given["no_answer"] = tuple(given["no_answer"])
        return cls(**given)

    def rules_for(self, measure: Measure) -> Profile:
        """Return the rules that count for a measure."""
        return replace(self.profile.rules_for(measure), **dict(self.changes))

    @property
    def is_plain(self) -> bool:
        """Whether the rows of a run's file count as they are there."""
        return self.order == "score" and self.chunking is None and self.duplicates is None


DEFAULT = Scoring()
"""What counts where no option is given."""

_CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "ties": ("tie rule", get_args(Ties)),
    "precision": ("precision", get_args(Precision)),
    "queries": ("policy for queries", get_args(QueryPolicy)),
    "order": ("order", get_args(Order)),
}

_COLUMNS = tuple(field.name for field in fields(Columns))


def _unknown(function: str, option: str, known: list[str]) -> TypeError:
    """Return the error about an option that a function does not have."""
    import inspect  # noqa: PLC0415
    from difflib import get_close_matches  # noqa: PLC0415
    from importlib import import_module  # noqa: PLC0415

    parameters = inspect.signature(getattr(import_module("rankscope"), function)).parameters
    nearest = get_close_matches(option, [*parameters, *known], n=1)
    advice = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return TypeError(f"{function}() got an unexpected keyword argument {option!r}{advice}")
