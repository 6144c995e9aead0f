"""The four kinds of tables: what their columns are called and how their files look.

A *role* is our name for a column (`query_id`, `doc_id`, `grade`, `score`, …). A `PairLayout`
describes qrels or runs, a `RecordLayout` queries or corpora. Names of columns are compared without
case, blanks, dashes, dots and underscores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from rankscope.errors import FormatError, shown

MOST_COLUMNS = 10_000
LARGEST_GRADE = 2**53
"""The largest grade, and negative the smallest: up to here a float holds each whole number."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankscope.tables.record_rows import Origin, Row

Kind = Literal["qrels", "run", "queries", "corpus"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": _words(
        "query_id qid topic_id topic question_id search_id query_no qno query question q"
    ),
    "doc_id": _words(
        "doc_id corpus_id docno document_id did pid passage_id product_id item_id chunk_id "
        "article_id segment_id result_id asin hpo_id doc document item product passage corpus "
        "result target"
    ),
    "grade": _words(
        "grade relevance rel relevance_grade relevance_label relevance_score esci_label rating "
        "label gain judgment judgement qrel score relevant is_relevant final value"
    ),
    "score": _words(
        "score similarity sim relevance_score rsv retrieval_score search_score rel_score "
        "probability prob relevance value"
    ),
    "rank": ("rank", "position", "pos", "place"),
    "tag": ("tag", "run_id", "run_tag", "run_name", "run", "system", "system_id", "system_name"),
    "subtopic": _words(
        "subtopic subtopic_id aspect intent intent_id nugget nugget_id iteration iter"
    ),
}
"""For each role its names, the most telling first: `query_id` wins over `query`."""

_RATER = re.compile(r"(rater|annotator|assessor|judge|worker|user)(id)?\d+")


def folded(name: str) -> str:
    """Return a column name as it is compared."""
    return re.sub(r"[\s._-]+", "", name).casefold()


# --- pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLayout:
    """A table of query–document pairs; ``value`` is the number of a pair.

    ``formats`` can be read and written; ``suffixes`` tell those that other kinds do not have.
    ``lists`` are the keys under which a JSON record may hold all documents of its query.
    ``headerless`` gives, by number of columns, the roles in a file without a header (None: a column
    that is ignored).
    """

    kind: Kind
    formats: tuple[str, ...]
    suffixes: Mapping[str, str] = field(hash=False)
    value: str
    optional: tuple[str, ...]
    lists: tuple[str, ...]
    headerless: Mapping[int, tuple[str | None, ...]] = field(hash=False)

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles, required first."""
        return ("query_id", "doc_id", self.value, *self.optional)

    def is_header(self, cells: Sequence[str]) -> bool:
        """Tell whether the query and another role are named; one known word may be an id."""
        roles = find_columns(cells, self)
        return "query_id" in roles and len(roles) > 1


_TREC_SUFFIXES = dict.fromkeys((".qrel", ".qrels", ".res", ".run", ".trec", ".txt"), "trec")

QRELS = PairLayout(
    kind="qrels",
    formats=("trec", "csv", "tsv", "json", "jsonl", "parquet"),
    suffixes=_TREC_SUFFIXES,
    value="grade",
    optional=("subtopic",),
    lists=_words(
        "relevant relevant_docs relevant_doc_ids relevant_ids positives gold gold_ids gold_docs "
        "expected expected_ids answers judgments"
    ),
    headerless={
        4: ("query_id", "subtopic", "doc_id", "grade"),
        3: ("query_id", "doc_id", "grade"),
    },
)

RUN = PairLayout(
    kind="run",
    formats=("trec", "msmarco", "csv", "tsv", "json", "jsonl", "parquet"),
    suffixes=_TREC_SUFFIXES,
    value="score",
    optional=("rank", "tag"),
    lists=_words(
        "results hits retrieved ranking candidates docs documents doc_ids passages contexts "
        "retrieved_ids retrieved_docs"
    ),
    headerless={
        6: ("query_id", None, "doc_id", "rank", "score", "tag"),
        3: ("query_id", "doc_id", "score"),
    },
)


def find_columns(names: Sequence[str], layout: PairLayout) -> dict[str, str]:
    """Map each role to its column; roles without one are left out."""
    by_folded: dict[str, str] = {}
    for name in names:
        by_folded.setdefault(folded(name), name)
    roles: dict[str, str] = {}
    for role in layout.roles:
        for alias in ALIASES[role]:
            column = by_folded.get(folded(alias))
            if column is not None and column not in roles.values():
                roles[role] = column
                break
    return roles


def missing_roles(names: Sequence[str], layout: PairLayout) -> list[str]:
    """Return the required roles without a column; ranks replace scores, raters replace a grade."""
    roles = find_columns(names, layout)
    replaced = "rank" in roles or ("grade" in layout.roles and rater_columns(names))
    required = ("query_id", "doc_id") if replaced else ("query_id", "doc_id", layout.value)
    return [role for role in required if role not in roles]


def require_columns(
    names: Sequence[str], layout: PairLayout, *, source: str, line: int | None = None
) -> dict[str, str]:
    """Map roles to columns, or say which role has none."""
    for role in missing_roles(names, layout):
        raise FormatError(
            f"no column for the {role} of a {layout.kind} table among {_listed(names)}; "
            f"name one of them {_listed(ALIASES[role][:6])}",
            source=source,
            line=line,
        )
    return find_columns(names, layout)


def rater_columns(names: Iterable[str]) -> list[str]:
    """Return the columns that hold one rater's grade each (`rater_1`, `annotator2`, …)."""
    return [name for name in names if _RATER.fullmatch(folded(name))]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shown(name, 30) for name in names[:8]) + (", …" if len(names) > 8 else "")


# --- records


class TextFormat(NamedTuple):
    """A format that only one kind of records has; reading gives rows with their lines."""

    read: Callable[[str, Origin], Iterator[tuple[int, Row]]]
    write: Callable[[Iterable[Row]], Iterator[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLayout:
    """A table of records by id; of several names, the first is the one written.

    ``formats`` can be read and written; ``suffixes`` tell those that other kinds do not have.
    ``columns`` are the fields kept as text; all others are kept as JSON. ``headerless`` gives, by
    their number, the columns of a file without a header. ``markup`` are the formats that begin with
    a tag.
    """

    kind: Kind
    formats: tuple[str, ...]
    suffixes: Mapping[str, str] = field(hash=False)
    noun: str
    id_column: str
    id_names: tuple[str, ...]
    text_names: tuple[str, ...]
    columns: tuple[str, ...]
    headerless: Mapping[int, tuple[str, ...]] = field(hash=False)
    needs_text: bool = False
    markup: Mapping[str, TextFormat] = field(default_factory=dict, hash=False)

    @property
    def nouns(self) -> str:
        """What the table holds, in the plural."""
        return "queries" if self.noun == "query" else f"{self.noun}s"

    def is_header(self, cells: Sequence[str]) -> bool:
        """Tell whether the id is named first, or the id and a text are named anywhere."""
        names = [folded(cell) for cell in cells]
        ids = set(map(folded, self.id_names))
        texts = set(map(folded, self.text_names))
        return not ids.isdisjoint(names[:1]) or not (
            ids.isdisjoint(names) or texts.isdisjoint(names)
        )


Layout = PairLayout | RecordLayout


def check_columns(count: int, *, source: str, line: int | None = None) -> None:
    """Refuse a table of so many columns that its width, not its rows, fills the memory."""
    if count > MOST_COLUMNS:
        raise FormatError(
            f"has {count:,} columns, and at most {MOST_COLUMNS:,} are read; keep those needed",
            source=source,
            line=line,
        )


def find_name(names: Collection[str], known: tuple[str, ...]) -> str | None:
    """Return the first of the known names that is among the names; an exact one wins."""
    exact = next((name for name in known if name in names), None)
    if exact is not None:
        return exact
    by_folded = {folded(str(name)): name for name in names}
    return next((by_folded[folded(name)] for name in known if folded(name) in by_folded), None)
