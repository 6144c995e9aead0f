"""What the columns of a table mean, under whatever names the field gives them.

A *role* is our name for a column (`query_id`, `doc_id`, `grade`, `score`, …). A `Layout` says which
roles a kind of table has, and in which order they stand in files without a header. Names are
compared without case, blanks, dashes, dots and underscores.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankscope.errors import FormatError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "ALIASES",
    "QRELS",
    "RUN",
    "Layout",
    "find_columns",
    "folded",
    "is_header",
    "rater_columns",
]

ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": (
        *("query_id", "qid", "topic_id", "topic", "question_id", "search_id", "query_no", "qno"),
        *("query", "question", "q"),
    ),
    "doc_id": (
        *("doc_id", "corpus_id", "docno", "document_id", "did", "pid", "passage_id", "product_id"),
        *("item_id", "chunk_id", "article_id", "segment_id", "result_id", "asin", "hpo_id"),
        *("doc", "document", "item", "product", "passage", "corpus", "result", "target"),
    ),
    "grade": (
        *("grade", "relevance", "rel", "relevance_grade", "relevance_label", "relevance_score"),
        *("esci_label", "rating", "label", "gain", "judgment", "judgement", "qrel", "score"),
        *("relevant", "is_relevant", "final", "value"),
    ),
    "score": (
        *(
            "score",
            "similarity",
            "sim",
            "relevance_score",
            "rsv",
            "retrieval_score",
            "search_score",
        ),
        *("rel_score", "probability", "prob", "relevance", "value"),
    ),
    "rank": ("rank", "position", "pos", "place"),
    "tag": ("tag", "run_id", "run_tag", "run_name", "run", "system", "system_id", "system_name"),
    "subtopic": (
        *("subtopic", "subtopic_id", "aspect", "intent", "intent_id", "nugget", "nugget_id"),
        *("iteration", "iter"),
    ),
}
"""For each role the names it goes by, the most telling first: `query_id` wins over `query`."""

_RATER = re.compile(r"(rater|annotator|assessor|judge|worker|user)(id)?\d+")


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one kind of table.

    ``value`` is the number a pair carries; ``headerless`` tells, by number of columns, what stands
    where in a file without a header (None: a column that is passed over). ``lists`` are the keys
    under which a JSON record may hold all documents of its query.
    """

    kind: str
    value: str
    optional: tuple[str, ...]
    lists: tuple[str, ...]
    headerless: Mapping[int, tuple[str | None, ...]] = field(hash=False)

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles, required first."""
        return ("query_id", "doc_id", self.value, *self.optional)


QRELS = Layout(
    kind="qrels",
    value="grade",
    optional=("subtopic",),
    lists=(
        *("relevant", "relevant_docs", "relevant_doc_ids", "relevant_ids", "positives"),
        *("gold", "gold_ids", "gold_docs", "expected", "expected_ids", "answers", "judgments"),
    ),
    headerless={
        4: ("query_id", "subtopic", "doc_id", "grade"),
        3: ("query_id", "doc_id", "grade"),
    },
)

RUN = Layout(
    kind="run",
    value="score",
    optional=("rank", "tag"),
    lists=(
        *("results", "hits", "retrieved", "ranking", "candidates", "docs", "documents"),
        *("doc_ids", "passages", "contexts", "retrieved_ids", "retrieved_docs"),
    ),
    headerless={
        6: ("query_id", None, "doc_id", "rank", "score", "tag"),
        3: ("query_id", "doc_id", "score"),
    },
)


def folded(name: str) -> str:
    """Return a column name as it is compared."""
    return re.sub(r"[\s._-]+", "", name).casefold()


def find_columns(names: Sequence[str], layout: Layout) -> dict[str, str]:
    """Map each role to the column that plays it; roles nobody plays are left out."""
    by_folded: dict[str, str] = {}
    for name in names:
        by_folded.setdefault(folded(name), name)
    found: dict[str, str] = {}
    for role in layout.roles:
        for alias in ALIASES[role]:
            column = by_folded.get(folded(alias))
            if column is not None and column not in found.values():
                found[role] = column
                break
    return found


def is_header(cells: Sequence[str], layout: Layout) -> bool:
    """Tell whether a first line names columns; one known word alone may be an id."""
    found = find_columns(cells, layout)
    return "query_id" in found and len(found) > 1


def require_columns(
    names: Sequence[str], layout: Layout, *, source: str, line: int | None = None
) -> dict[str, str]:
    """Map roles to columns, or say which role has none."""
    found = find_columns(names, layout)
    enough = (layout.value, "rank") if "rank" in layout.optional else (layout.value,)
    for role, choices in (
        ("query_id", ("query_id",)),
        ("doc_id", ("doc_id",)),
        (layout.value, enough),
    ):
        by_raters = role == "grade" and rater_columns(names)
        if not by_raters and not any(choice in found for choice in choices):
            raise FormatError(
                f"no column for the {role} of a {layout.kind} table among {_listed(names)}; "
                f"name one of them {_listed(ALIASES[role][:6])}",
                source=source,
                line=line,
            )
    return found


def rater_columns(names: Iterable[str]) -> list[str]:
    """Return the columns that hold one rater's grade each (`rater_1`, `annotator2`, …)."""
    return [name for name in names if _RATER.fullmatch(folded(name))]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shown(name, 30) for name in names[:8]) + (", …" if len(names) > 8 else "")
