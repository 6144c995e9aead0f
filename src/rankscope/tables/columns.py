"""The kinds of tables: what their columns are called and how their files look.

A *role* is our name for a column (`query_id`, `doc_id`, `grade`, `score`, …). A `PairLayout`
describes qrels or runs, a `RecordLayout` queries, corpora or decisions. Names of columns are
compared without case, blanks, dashes, dots and underscores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

from rankscope.errors import FormatError, shown
from rankscope.tables.table_options import named_keys, saw_columns

MOST_COLUMNS = 10_000
LARGEST_GRADE = 2**53
"""The largest grade, and negative the smallest: up to here a float holds each whole number."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from rankscope.tables.record_rows import Origin, Row

Kind = Literal["qrels", "run", "queries", "corpus", "decisions", "costs"]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that the caller named; None: found by known names."""

    query: str | None = None
    relevant: str | None = None  # gold's documents (list or one per row)
    retrieved: str | None = None  # run's documents (list or one per row)
    doc: str | None = None  # the document column of a flat table
    score: str | None = None  # run only
    grade: str | None = None  # gold only


def are_whole(grades: NDArray[np.float64]) -> bool:
    """Tell whether grades are kept as whole numbers, which know no negative 0."""
    return bool(((grades // 1 == grades) & (abs(grades) < LARGEST_GRADE)).all())


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": _words(
        "query_id qid case_id topic_id topic question_id search_id query_no qno query question q "
        "user_input user_query"
    ),
    "doc_id": _words(
        "doc_id corpus_id docno document_id did pid passage_id product_id item_id chunk_id "
        "article_id segment_id result_id asin hpo_id target_id source_recipe_id node_id doc "
        "document item product passage corpus result target"
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
    "no_answer": _words(
        "no_answer unanswerable is_unanswerable is_impossible no_answer_expected expect_no_answer"
    ),
    "answerable": ("answerable", "is_answerable", "has_answer"),
}
"""For each role its names, the most telling first: `query_id` wins over `query`."""

_TEXTS = frozenset(
    _words("answer answers context contexts retrievedcontexts referencecontexts response")
)
"""What golden sets call texts; a text is no document id."""

_ANSWERS = frozenset(_words("groundtruth groundtruths expected gold golden"))
"""What holds ids in some golden sets, and the text of the answer in others."""

_RATER = re.compile(r"(rater|annotator|assessor|judge|worker|user)(id)?\d+")


def folded(name: str) -> str:
    """Return a column name as it is compared."""
    return _folded(name) if len(name) <= 100 else _folded.__wrapped__(name)


@lru_cache(maxsize=10_000)  # records have the same names again and again; long ones are not kept
def _folded(name: str) -> str:
    return re.sub(r"[\s._-]+", "", name).casefold()


# --- pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLayout:
    """A table of query–document pairs; ``value`` is the number of a pair.

    ``formats`` can be read and written, ``read_only`` only read; ``suffixes`` tell those that other
    kinds do not have. ``lists`` are the keys under which a JSON record may hold all documents of
    its query. ``headerless`` gives, by number of columns, the roles in a file without a header
    (None: a column that is ignored). ``keys`` are columns that the user named, by role: they win
    over known names; the roles in ``required`` were named for this very table, which must have
    them.
    """

    kind: Kind
    formats: tuple[str, ...]
    suffixes: Mapping[str, str] = field(hash=False)
    value: str
    optional: tuple[str, ...]
    lists: tuple[str, ...]
    headerless: Mapping[int, tuple[str | None, ...]] = field(hash=False)
    read_only: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict, hash=False)
    required: frozenset[str] = frozenset()

    def keyed(self, **keys: str | None) -> PairLayout:
        """Return the layout with columns that the user names, by role, here or in `reading`."""
        given = {role: key for role, key in keys.items() if key is not None}
        named = {**named_keys(), **self.keys, **given}
        chosen = {role: key for role, key in named.items() if role in self.roles}
        required = self.required | given.keys()
        return replace(self, keys=chosen, required=required) if chosen else self

    @property
    def lenient(self) -> PairLayout:
        """The layout by which a table is recognised, though it may lack what it must have."""
        return replace(self, required=frozenset()) if self.required else self

    def of_lists(self, column: str) -> PairLayout:
        """Return the layout of the documents that this column lists, which may be the one named."""
        if self.keys.get("doc_id") != column:
            return self
        keys = {role: key for role, key in self.keys.items() if role != "doc_id"}
        return replace(self, keys=keys, required=self.required - {"doc_id"})

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles, required first."""
        return ("query_id", "doc_id", self.value, *self.optional)

    def is_header(self, cells: Sequence[str]) -> bool:
        """Tell whether the query and another role are named; one known word may be an id."""
        if are_case_names(cells):
            return True
        roles = find_columns(cells, self.lenient)
        if "query_id" in roles and (len(roles) > 1 or any(map(_is_text, cells))):
            return True
        return find_list(cells, self.lenient, lambda _: False) is not None


_TREC_SUFFIXES = dict.fromkeys((".qrel", ".qrels", ".res", ".run", ".trec", ".txt"), "trec")

QRELS = PairLayout(
    kind="qrels",
    formats=("trec", "csv", "tsv", "json", "jsonl", "parquet"),
    suffixes=_TREC_SUFFIXES,
    value="grade",
    optional=("subtopic", "no_answer", "answerable"),
    lists=_words(
        "relevant_ids relevant_doc_ids relevant_document_ids relevant_chunk_ids relevant_docs "
        "relevant_documents relevant_chunks relevant_passages relevant positive_ids positive_docs "
        "positive_passages positives gold_ids gold_doc_ids gold_docs gold golden_ids golden_docs "
        "golden expected_ids expected_doc_ids expected_docs expected_documents expected_chunks "
        "expected reference_context_ids reference_ids reference_docs ground_truth_ids "
        "ground_truths ground_truth judgments judgements target_ids targets hpo_ids chunk_ids "
        "doc_ids document_ids ids"
    ),
    headerless={
        4: ("query_id", "subtopic", "doc_id", "grade"),
        3: ("query_id", "doc_id", "grade"),
    },
)

RUN = PairLayout(
    kind="run",
    formats=("trec", "msmarco", "csv", "tsv", "json", "jsonl", "parquet"),
    read_only=("traces",),
    suffixes=_TREC_SUFFIXES,
    value="score",
    optional=("rank", "tag"),
    lists=_words(
        "retrieved_ids retrieved_doc_ids retrieved_document_ids retrieved_chunk_ids "
        "retrieved_context_ids retrieved_docs retrieved_documents retrieved_chunks retrieved_nodes "
        "retrieved results hits matches ranking ranked_ids predicted_ids predictions candidates "
        "source_documents source_nodes docs documents passages passage_ids chunks nodes doc_ids "
        "document_ids chunk_ids ids"
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
    _leave_subject(by_folded)
    roles = {role: key for role, key in layout.keys.items() if key in names}
    named = roles.copy()
    for role in layout.roles:
        if role in roles or role in layout.required:
            continue
        for alias in ALIASES[role]:
            column = by_folded.get(folded(alias))
            if column is not None and column not in roles.values():
                roles[role] = column
                break
    if layout.keys and roles:
        saw_columns(names, named)
    return roles


def find_list(
    names: Sequence[str], layout: PairLayout, holds_list: Callable[[str], bool]
) -> tuple[str, str] | None:
    """Return the columns of the query and of its list, if a row is a query and not a pair.

    ``holds_list`` tells of a column whether its values are lists (or dicts). Beside an ``id``, a
    column such as ``question`` is the query's text and no id.
    """
    roles = find_columns(names, layout)
    plain = next((name for name in names if folded(name) == "id"), None)
    query = roles.get("query_id", None if "query_id" in layout.required else plain)
    if query is None:
        return None
    if plain is not None and query != layout.keys.get("query_id") and folded(query) in _ASKED:
        query = plain
    documents, value = roles.get("doc_id"), roles.get(layout.value)
    if documents is not None:
        is_pair = value is not None and not holds_list(value)
        if is_pair or (documents == layout.keys.get("doc_id") and not holds_list(documents)):
            return None
    by_folded = {folded(name): name for name in names if name != query}
    listed = [by_folded[folded(key)] for key in layout.lists if folded(key) in by_folded]
    if documents is not None:
        listed.insert(0 if documents == layout.keys.get("doc_id") else len(listed), documents)
    column = next(filter(holds_list, listed), None)
    if column is None and documents is None:  # one document, or none, in the place of a list
        column = next(iter(listed), None)
    return None if column is None else (query, column)


class Questions(NamedTuple):
    """What the queries of a table ask, where it has ids and words: by id, and by what column."""

    column: str = ""
    texts: Mapping[str, str] = {}


NO_QUESTIONS = Questions()


def find_question(names: Sequence[str], query: str, layout: PairLayout) -> str | None:
    """Return the column of what is asked beside the query's id.

    None if the question is the id, or if the user said which column is.
    """
    if "query_id" in layout.keys or folded(query) in _ASKED - {"id", "topic"}:
        return None
    return find_name(names, ("question", "query", "user_input", "user_query", "query_text"))


_EXPECTED = re.compile(r"(?i:expected)(?:(?i:ids)|.*(?:[\s._-](?i:ids)|I[dD]s))", re.S)


def expected_names(names: Iterable[object]) -> list[str]:
    """Return the names that promise the expected ids of a case: ``expected_hpo_ids`` and so on.

    Those that any golden set may have (``expected_ids``) go first.
    """
    texts = (name for name in names if isinstance(name, str))
    expected = [name for name in texts if _EXPECTED.fullmatch(name)]
    return sorted(expected, key=lambda name: not names_list(name, QRELS))


def are_case_names(names: Iterable[object]) -> bool:
    """Tell whether the fields of a record, or the columns of a table, are those of cases.

    A name such as ``expected_hpo_ids`` is enough. One that other golden sets have too
    (``expected_ids``) needs a ``case_id``, or a ``text`` that nothing else could be the query of.
    """
    texts = [name for name in names if isinstance(name, str)]
    expected = expected_names(texts)
    if not expected:
        return False
    if not all(names_list(name, QRELS) for name in expected):
        return True
    known = {folded(name) for name in texts}
    return "caseid" in known or ("text" in known and known.isdisjoint(_NOT_OF_CASES))


_NOT_OF_CASES = frozenset(map(folded, ALIASES["query_id"])) - {"queryid", "caseid"}


def names_list(name: str, layout: PairLayout) -> bool:
    """Tell whether a column's name promises all documents of a query, and not one."""
    return folded(name) in map(folded, layout.lists)


_ASKED = frozenset({"query", "question", "q", "id", "topic", "userinput", "userquery"})
_QUESTIONS = frozenset({"question", "userinput", "userquery"})


def _leave_subject(by_folded: dict[str, str]) -> None:
    """Remove a ``topic`` beside a question: it says what this is about, and is no id as in TREC."""
    if not _QUESTIONS.isdisjoint(by_folded):
        by_folded.pop("topic", None)


def require_columns(
    names: Sequence[str],
    layout: PairLayout,
    *,
    source: str,
    line: int | None = None,
    nested: tuple[str, str] | None = None,
) -> dict[str, str]:
    """Map roles to columns, or say which role has none, and what would have been one.

    Without a grade all documents are relevant, without a score they are in order; but a value that
    the user named for this table must be there. ``nested`` are the columns of the query and of its
    list, if each row names one document there.
    """
    roles = find_columns(names, layout)
    if nested is not None:
        roles = {role: column for role, column in roles.items() if column not in nested}
        roles["query_id"], roles["doc_id"] = nested
    required = ("query_id", "doc_id", *layout.required & {layout.value})
    for role in (role for role in required if role not in roles):
        if role in layout.required:
            problem = f"no column {shown(layout.keys[role])} among {_listed(names)}"
        else:
            problem = f"no column for the {role} of a {layout.kind} table among {_listed(names)}; "
            problem += _remedy(names, role, layout)
        raise FormatError(problem, source=source, line=line)
    return roles


def _remedy(names: Sequence[str], role: str, layout: PairLayout) -> str:
    """Say what names would have been understood."""
    texts = [name for name in names if _is_text(name)]
    option = f"--{role.removesuffix('_id')}-key"
    known = f"name one of them {_listed(ALIASES[role][:6])}"
    if role != "doc_id":
        return f"{known}, or say which it is ({option})"
    lists = f"or, for a query's whole list, {_listed(layout.lists[:4])}"
    hint = f"{known}, {lists}, or say which it is ({option})"
    verb = "holds" if len(texts) == 1 else "hold"
    return f"{_listed(texts)} {verb} texts, not ids; {hint}" if texts else hint


def _is_text(name: str) -> bool:
    return folded(name) in _TEXTS


_SENTENCE = r"(?s)^\s*\S+\s.*[.!?][\"'”’)\]]*\s*$|^\s*(\S+\s+){7}\S"
"""Two words or more that end as a sentence does, or eight words."""


def refuse_answers(doc_ids: pl.Series, column: str, layout: PairLayout, *, source: str) -> None:
    """Refuse answers in words where ids are expected, under a name that is used for both."""
    if layout.kind != "qrels" or folded(column) not in _ANSWERS or str(doc_ids.dtype) != "String":
        return
    sentences = doc_ids.drop_nulls()
    sentences = sentences.filter(sentences.str.contains(_SENTENCE))
    if len(sentences) and 2 * len(sentences) >= len(doc_ids):
        raise FormatError(
            f"{shown(column, 30)} holds texts such as {shown(sentences[0], 60)}, expected the ids "
            f"of documents; name a question's relevant documents {_listed(layout.lists[:3])}, or "
            "the texts of its passages 'reference_contexts'",
            source=source,
        )


def refuse_unnamed_value(
    columns: Iterable[str], roles: Mapping[str, str], layout: PairLayout, *, source: str
) -> None:
    """Refuse a table without a grade or score in which another column holds numbers.

    ``columns`` are those that hold numbers only: one of them may be the value, misspelled.
    """
    if layout.value in roles or "rank" in roles:
        return
    numbers = [name for name in columns if name not in roles.values()]
    if numbers:
        raise FormatError(
            f"no column for the {layout.value} of a {layout.kind} table, and {_listed(numbers)} "
            f"may hold it; name it {_listed(ALIASES[layout.value][:3])}, say which it is "
            f"(--{layout.value}-key), or leave the column out",
            source=source,
        )


def rater_columns(names: Iterable[str]) -> list[str]:
    """Return the columns that hold one rater's grade each (`rater_1`, `annotator2`, …)."""
    return [name for name in names if _RATER.fullmatch(folded(name))]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shown(name, 30) for name in names[:8]) + (", …" if len(names) > 8 else "")


# --- records


class TextFormat(NamedTuple):
    """A format that only some kinds of records have; reading gives rows with their lines.

    ``begins`` is how its first line begins, as a regular expression. None of them is written.
    """

    begins: str
    read: Callable[[BinaryIO, Origin], Iterator[tuple[int, Row]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLayout:
    """A table of records by id; of several names, the first is the one written.

    ``formats`` can be read and written; ``suffixes`` tell those that other kinds do not have.
    ``columns`` are the fields kept as text; all others are kept as JSON. ``headerless`` gives, by
    their number, the columns of a file without a header. ``key`` is the id's field, if the user
    named it. ``markup`` are formats of these records alone; ``read_only`` are not written.
    """

    kind: Kind | Literal["ratings"]
    formats: tuple[str, ...]
    suffixes: Mapping[str, str] = field(hash=False)
    noun: str
    id_column: str
    id_names: tuple[str, ...]
    text_names: tuple[str, ...]
    columns: tuple[str, ...]
    headerless: Mapping[int, tuple[str, ...]] = field(hash=False)
    needs_text: bool = False
    key: str | None = None
    read_only: tuple[str, ...] = ()
    markup: Mapping[str, TextFormat] = field(default_factory=dict, hash=False)

    @property
    def nouns(self) -> str:
        """What the table holds, in the plural."""
        return "queries" if self.noun == "query" else f"{self.noun}s"

    def is_header(self, cells: Sequence[str]) -> bool:
        """Tell whether the id is named first, or the id and a text are named anywhere.

        A question may be its own id; then it is named first, or with the ids that it expects.
        """
        names = [folded(cell) for cell in cells]
        ids = set(map(folded, self.id_names))
        texts = set(map(folded, self.text_names))
        first = ids | ({*_QUESTIONS, "query"} if self.needs_text else set())
        if not first.isdisjoint(names[:1]) or (self.needs_text and are_case_names(cells)):
            return True
        return not (ids.isdisjoint(names) or texts.isdisjoint(names))

    def keyed(self) -> RecordLayout:
        """Return the layout with the id that the user names; see `reading`."""
        key = named_keys().get(self.id_column)
        if key in (None, self.key):
            return self
        return replace(self, id_names=(str(key), *self.id_names), key=key)


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
    if exact is not None and exact != "topic":
        return exact
    by_folded = {folded(str(name)): name for name in names}
    _leave_subject(by_folded)
    return next((by_folded[folded(name)] for name in known if folded(name) in by_folded), None)
