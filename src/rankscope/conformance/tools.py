"""Tools the cases are put to: for each, a function from a question to its values.

An adapter hands over what the tool's own documentation shows and leaves its options alone, so that
the answer is the one a user gets; where an option names what is asked for (grades, recall of all
documents), it is taken. It imports the tool when it is asked, never before. What a tool cannot be
asked (a measure it lacks, ties where it takes a ranked list) is a `CannotAskError` and not an
answer. Tools that score one query at a time are averaged here.

Adapters are in `trec_tools`, `rag_tools` and `learning_tools`; each registers itself with `@tool`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal

import rankscope
from rankscope.errors import UnknownNameError
from rankscope.measures.language import Measure

if TYPE_CHECKING:
    from collections.abc import Iterable

Values = Mapping[str, float | None]
"""The value of each measure asked for; None or NaN where the tool says it has none."""


class CannotAskError(Exception):
    """The question cannot be put to this tool."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is handed to a tool; made anew for each, so that none can spoil it for the next."""

    qrels: dict[str, dict[str, int]]
    run: dict[str, list[tuple[str, float]]]
    measures: tuple[str, ...]
    times: int = 1
    about: Literal["ranking", "scores", "queries"] = "ranking"

    @property
    def parsed(self) -> dict[str, Measure]:
        """The measures, by the text they were asked for as."""
        return {text: Measure.parse(text) for text in self.measures}

    @property
    def has_duplicates(self) -> bool:
        """Whether a document is returned twice for a query."""
        return any(len(dict(pairs)) < len(pairs) for pairs in self.run.values())

    @property
    def longest(self) -> int:
        """The length of the longest answer."""
        return max(map(len, self.run.values()))

    def scored(self) -> dict[str, dict[str, float]]:
        """Return the scores by query and document, for tools that take such dicts."""
        if self.has_duplicates:
            raise CannotAskError("takes scores by document: a document cannot be returned twice")
        return {query_id: dict(pairs) for query_id, pairs in self.run.items()}

    def lists(self) -> dict[str, tuple[dict[str, int], list[str]]]:
        """Return grades and ranked documents by query, for tools that take ranked lists."""
        if self.about == "scores":
            raise CannotAskError("takes ranked lists: scores are not handed over")
        return {
            query_id: (grades, [doc_id for doc_id, _ in pairs])
            for query_id, (grades, pairs) in self.pairs().items()
        }

    def pairs(self) -> dict[str, tuple[dict[str, int], list[tuple[str, float]]]]:
        """Return grades and scored documents by query, for tools that take one query at a time."""
        if self.about == "queries" or self.qrels.keys() != self.run.keys():
            raise CannotAskError(
                "takes one query at a time: which are averaged is up to the caller"
            )
        return {query_id: (grades, self.run[query_id]) for query_id, grades in self.qrels.items()}


Adapter = Callable[[Question], Values]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the cases can be put to."""

    name: str
    package: str
    answer: Adapter
    """From a question to values; raises what the tool raises."""

    def version(self) -> str | None:
        """Return the version installed; None if it is not."""
        if self.package == "rankscope":  # also where it runs from its source
            return rankscope.__version__
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


_TOOLS: dict[str, Tool] = {}
_HOMES = ("trec_tools", "rag_tools", "learning_tools")


def tool(name: str, *, package: str) -> Callable[[Adapter], Adapter]:
    """Register an adapter under the name of its tool and the package it is installed with."""

    def register(adapter: Adapter) -> Adapter:
        _TOOLS[name] = Tool(name, package, adapter)
        return adapter

    return register


def all_tools() -> dict[str, Tool]:
    """Return every tool by name, in the order they are asked."""
    for home in _HOMES:
        import_module(f"rankscope.conformance.{home}")
    homes = [f"rankscope.conformance.{home}" for home in _HOMES]
    # by their homes, whichever of these was imported first
    return dict(sorted(_TOOLS.items(), key=lambda item: homes.index(item[1].answer.__module__)))


def tool_named(name: str) -> Tool:
    """Return a tool by its name, in any case."""
    tools = all_tools()
    for known, tool in tools.items():
        if known.casefold() == name.casefold():
            return tool
    raise UnknownNameError("tool", name, tools)


# --- what adapters share -------------------------------------------------------------------------


def names_for(
    question: Question, known: Mapping[str, str], *, uncut: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Translate the measures into a tool's names: ``{"nDCG": "ndcg@{k}"}``.

    ``uncut`` holds names the tool has without a cutoff only; they will do where nothing is cut.
    """
    names = {}
    for text, measure in question.parsed.items():
        cutoff = measure.cutoff
        if uncut and measure.name in uncut and (cutoff is None or cutoff >= question.longest):
            names[text] = uncut[measure.name]
        elif measure.name in known and cutoff is not None:
            names[text] = known[measure.name].format(k=cutoff)
        else:
            raise CannotAskError(f"has no {text}")
    return names


def cutoffs(question: Question) -> list[int]:
    """Return the cutoffs asked for, ascending."""
    return sorted({measure.cutoff or 1000 for measure in question.parsed.values()})


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of one value per query; None if one of them is."""
    numbers = list(values)
    if any(number is None for number in numbers):
        return None
    return sum(float(number) for number in numbers if number is not None) / len(numbers)


def by_query(
    question: Question, functions: Mapping[str, Callable[[dict[str, int], list[str], int], Any]]
) -> Values:
    """Average a tool's functions of one query: of its grades, its ranked documents and a cutoff."""
    lists = question.lists()
    values: dict[str, float | None] = {}
    for text, measure in question.parsed.items():
        if measure.name not in functions:
            raise CannotAskError(f"has no {text}")
        function = functions[measure.name]
        values[text] = mean(
            function(grades, ranking, measure.cutoff or max(len(ranking), 1))
            for grades, ranking in lists.values()
        )
    return values


def relevant(grades: Mapping[str, int]) -> list[str]:
    """Return the relevant documents, for tools that take no grades."""
    if any(grade < 0 for grade in grades.values()):
        raise CannotAskError("takes the relevant documents: grades are not handed over")
    return [doc_id for doc_id, grade in grades.items() if grade > 0]
