"""The roles of columns, and the names by which they are known. Nothing here looks at values.

`relevant` (what should be found) and `retrieved` (what was) are different roles with disjoint
names: each is a word for the role before or behind a word for documents (``expected_chunk_ids``,
``docs_retrieved``), or the word alone. Names of documents without such a word (``doc_ids``,
``passages``) are *neutral*: `rankscope.tables.table_rows` takes them for the argument they are
given as, if no other column competes. Names are compared without case, blanks, dashes, dots and
underscores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

from rankscope.errors import FormatError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


MOST_COLUMNS = 10_000
LARGEST_GRADE = 2**53
"""The largest grade, and negative the smallest: up to here a float holds each whole number."""

Kind = Literal["qrels", "run", "queries", "corpus", "decisions", "costs"]
Duplicates = Literal["first", "best"]
"""Which of several rows of one query and document counts."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that the caller named; None: found by known names."""

    query: str | None = None
    relevant: str | None = None  # gold's documents (list or one per row)
    retrieved: str | None = None  # run's documents (list or one per row)
    doc: str | None = None  # the document column of a flat table
    score: str | None = None  # run only
    grade: str | None = None  # gold only


NO_COLUMNS = Columns()


@dataclass(frozen=True, slots=True)
class Reading:
    """How a table was read: by which shape, and in which of its columns the roles are."""

    shape: str = ""
    query: str = ""
    documents: str = ""
    value: str = ""
    names: tuple[str, ...] = ()
    """All columns of the table."""
    by_position: bool = False
    """Whether queries have no ids, and are known by their place, from 1 on."""
    id_field: str = ""
    """Where records in lists have their id, if the caller named it and there are records."""
    others: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)
    """What the first rows hold in columns that could have been meant instead, as text."""
    doubtful: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Texts in the column of documents that were taken for one id, and may list several."""

    def sentence(self, word: str) -> str:
        """Say it in a few words; ``word`` is relevant or retrieved."""
        return f"{word} in {self.documents}" if self.documents else self.shape


UNREAD = Reading()
FLAT = "a flat table"
QUERY_ROWS = "a table with a row per query"
"""The shape whose queries are in the order of their rows."""


class Questions(NamedTuple):
    """What the queries of a table ask, where it has ids and words: by id, and by what column."""

    column: str = ""
    texts: Mapping[str, str] = {}


NO_QUESTIONS = Questions()


def are_whole(grades: NDArray[np.float64]) -> bool:
    """Tell whether grades are kept as whole numbers, which know no negative 0."""
    return bool(((grades // 1 == grades) & (abs(grades) < LARGEST_GRADE)).all())


# --- ids and names


def id_text(value: object) -> str:
    """Return an id as text, exactly as given; a whole number becomes its decimal digits.

    Raises:
        ValueError: it can be no id; says what it is.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        given = "null" if value is None else f"{shown(value)} ({type(value).__name__})"
        raise ValueError(f"{given}; expected text or a whole number")
    try:
        return str(value.__index__())
    except ValueError:  # Python refuses to print such a number
        raise ValueError("a number of thousands of digits; expected text") from None


@lru_cache(maxsize=10_000)  # records have the same names again and again
def folded(name: str) -> str:
    """Return a column name as it is compared."""
    return re.sub(r"[\s._-]+", "", name).casefold()


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text: a list of names."""
    return tuple(text.split())


QUERY_IDS = words(
    "query_id qid q_id case_id topic_id question_id search_id query_no qno query_number "
    "example_id sample_id test_id"
)
ROW_IDS = ("id", "_id", "uid", "uuid")
"""What identifies a row, and with it the query, where a row is a query."""
QUESTIONS = words(
    "query question q user_input user_query user_question query_text question_text search_query "
    "search_term input prompt utterance inputs_question inputs_query inputs_input inputs_text "
    "vars_question vars_query"
)
WEAK_QUESTIONS = ("text", "phrase", "sentence", "term", "topic")
"""What is a question only where nothing else can be one, and a row is a query."""

ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": (*QUERY_IDS, *QUESTIONS[:5]),
    "doc_id": words(
        "doc_id corpus_id docno document_id did pid passage_id product_id item_id chunk_id "
        "article_id segment_id result_id asin hpo_id target_id source_recipe_id node_id doc "
        "document item product passage corpus result target"
    ),
    "grade": words(
        "grade grades relevance rel relevance_grade relevance_grades relevance_label "
        "relevance_score relevance_scores esci_label rating ratings label gain gains judgment "
        "judgement qrel relevant is_relevant final score value"
    ),
    "score": words(
        "score scores similarity sim relevance_score rsv retrieval_score search_score rel_score "
        "probability prob relevance value distance distances"
    ),
    "rank": ("rank", "position", "pos", "place"),
    "tag": ("tag", "run_id", "run_tag", "run_name", "run", "system", "system_id", "system_name"),
    "subtopic": words(
        "subtopic subtopic_id aspect intent intent_id nugget nugget_id iteration iter"
    ),
    "no_answer": words(
        "no_answer unanswerable is_unanswerable is_impossible no_answer_expected expect_no_answer"
    ),
    "answerable": ("answerable", "is_answerable", "has_answer"),
}
"""For each role its names, the most telling first."""


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


_ALONE = {
    "relevant": _any(
        "relevant expected gold golden goldstandard groundtruth groundtruths gt reference "
        "references target targets positive positives truth truths oracle ideal judgments "
        "judgements qrels"
    ),
    "retrieved": _any(
        "retrieved retrieval predicted prediction predictions pred preds returned result results "
        "searchresult searchresults ranked reranked ranking rankings rankedlist topk hits matches "
        "candidates found neighbors neighbours nearest recommendations suggestions"
    ),
}
"""Words for a role that stand alone, before or behind a word for documents."""
_BEFORE = {
    "relevant": _any(
        "expect ref pos correct true answer answers desired wanted required supporting evidence "
        "judged known referenceoutputs? expectedoutputs"
    ),
    "retrieved": _any(
        "search top actual outputs? responses? hit match candidate system model run recommended "
        "suggested fetched selected"
    ),
}
"""Words that say a role only before a word for documents."""
_NOUN = _any(
    "documents? docs? docnos? docids? chunks? passages? contexts? nodes? sources? urls? uris? "
    "links? pages? filenames? files? items? articles? products? segments? sections? records? "
    "entity entities terms? hpo mondo concepts? corpus paragraphs? snippets? paths? keys? codes? "
    "asins? skus? pids? recipes? results? hits? match matches labels? list set references? facts? "
    "spans? retrievalcontexts?"
)
_IDS = "(?:ids?|nos?|numbers?|uuids?|list|set)"
_STEM = rf"(?:{_NOUN}{{1,2}}{_IDS}?|{_IDS})"
Role = Literal["relevant", "retrieved", "neutral", "text"]


def _of_role(role: str, others: str) -> re.Pattern[str]:
    alone = _ALONE[role]
    before = rf"(?:{alone}|{_BEFORE[role]})\d*{_STEM}"
    return re.compile(rf"{alone}|{before}|{_STEM}{alone}|{others}")


_ROLES: dict[Role, re.Pattern[str]] = {
    "relevant": _of_role("relevant", r"expected\w{1,40}ids?"),
    "retrieved": _of_role("retrieved", r"sourcedocuments|sourcenodes|retrievalcontext|top\d+"),
    "neutral": re.compile(rf"{_NOUN}{{1,2}}{_IDS}?|ids|did"),
    "text": re.compile(
        r"\w*(?:(?<!con)texts?|answers?|outputs?|responses?|completions?|summary|summaries|"
        r"contents?|titles?)"
    ),
}
"""The names of each role, first come first served; LangChain, LlamaIndex and DeepEval have some of
their own for what was retrieved."""
_SAYS_IDS = re.compile(rf".*(?:ids?|nos?|uuids?)|(?:{_NOUN})?(?:asins?|skus?|pids?|docnos?)")
_WEAK = re.compile(r"(?:urls?|uris?|links?|sources?|pages?|files?|filenames?|paths?)+")
_NEVER = frozenset(words("id no number list set run system model"))


@lru_cache(maxsize=10_000)
def role_of(name: str) -> Role | None:
    """Return what a name says of the documents in its column; None if it says nothing of them.

    >>> [role_of(name) for name in ("Expected IDs", "top_10_chunks", "doc_ids", "answer", "year")]
    ['relevant', 'retrieved', 'neutral', 'text', None]
    """
    plain = folded(name)
    if name.startswith("__") or len(plain) > 60 or plain in _NEVER:
        return None  # promptfoo's __expected is an assertion
    inner = role_of(name.rpartition(".")[2]) if "." in name else None
    if inner in ("relevant", "retrieved"):
        return inner  # of a nested record, as LangSmith's reference_outputs.relevant_ids
    return next((role for role, known in _ROLES.items() if known.fullmatch(plain)), None)


def role_of_numbered(name: str) -> Role | None:
    """Return what a name says, or the name of a list of which it is one column (``Result 1``)."""
    return role_of(name) or role_of(name.rstrip("0123456789 "))


def says_ids(name: str) -> bool:
    """Tell whether a name says that the column holds ids, and not perhaps texts."""
    return _SAYS_IDS.fullmatch(folded(name)) is not None


def is_weak(name: str) -> bool:
    """Tell whether a neutral name more often says where a document is from than which it is."""
    return _WEAK.fullmatch(folded(name)) is not None


def may_list(name: str) -> bool:
    """Tell whether a text in a column of this name may name several documents."""
    plain = folded(name)
    return not plain.endswith(("id", "no", "asin", "url", "uri", "path", "file"))


_RATER = re.compile(r"(rater|annotator|assessor|judge|worker|user)(id)?\d+")


def rater_columns(names: Iterable[str]) -> list[str]:
    """Return the columns that hold one rater's grade each (`rater_1`, `annotator2`, …)."""
    return [name for name in names if _RATER.fullmatch(folded(name))]


def find_name(names: Collection[str], known: tuple[str, ...]) -> str | None:
    """Return the first of the known names that is among the names; an exact one wins."""
    exact = next((name for name in known if name in names), None)
    if exact is not None:
        return exact
    by_folded = {folded(str(name)): name for name in names}
    return next((by_folded[folded(name)] for name in known if folded(name) in by_folded), None)


# --- layouts

_TREC_SUFFIXES = dict.fromkeys((".qrel", ".qrels", ".res", ".run", ".trec", ".txt"), "trec")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLayout:
    """A table of query–document pairs; ``value`` is the number of a pair.

    ``formats`` can be read and written, ``read_only`` only read; ``suffixes`` tell those that other
    kinds do not have. ``headerless`` gives, by number of columns, the roles in a file without a
    header (None: a column that is ignored).
    """

    kind: Literal["qrels", "run"]
    value: Literal["grade", "score"]
    word: Literal["relevant", "retrieved"]
    optional: tuple[str, ...]
    headerless: Mapping[int, tuple[str | None, ...]] = field(hash=False)
    formats: tuple[str, ...] = ("trec", "csv", "tsv", "json", "jsonl", "parquet")
    read_only: tuple[str, ...] = ("xlsx",)
    suffixes: Mapping[str, str] = field(default_factory=lambda: _TREC_SUFFIXES, hash=False)

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles, required first."""
        return ("query_id", "doc_id", self.value, *self.optional)

    def is_header(self, cells: Sequence[str], columns: Columns = NO_COLUMNS) -> bool:
        """Tell whether the query and something of its documents are named."""
        named = {columns.query, columns.doc, columns.relevant, columns.retrieved} - {None}
        if named.intersection(cells):
            return True
        plain = {folded(cell) for cell in cells}
        known = {folded(name) for name in (*QUERY_IDS, *ROW_IDS, *QUESTIONS, *WEAK_QUESTIONS)}
        if plain.isdisjoint(known):
            return False
        values = {folded(name) for role in (self.value, "rank") for name in ALIASES[role]}
        roles = set(map(role_of_numbered, cells)) - {None, "text"}
        return bool(roles) or not plain.isdisjoint(values - known)


QRELS = PairLayout(
    kind="qrels",
    value="grade",
    word="relevant",
    optional=("subtopic", "no_answer", "answerable"),
    headerless={
        4: ("query_id", "subtopic", "doc_id", "grade"),
        3: ("query_id", "doc_id", "grade"),
    },
)

RUN = PairLayout(
    kind="run",
    value="score",
    word="retrieved",
    optional=("rank", "tag"),
    headerless={
        6: ("query_id", None, "doc_id", "rank", "score", "tag"),
        3: ("query_id", "doc_id", "score"),
    },
)


class TextFormat(NamedTuple):
    """A format that only some kinds of records have, and that is not written.

    ``begins`` is how its first line begins, as a regular expression; ``read`` takes the file and
    its name for messages, and yields rows with their lines.
    """

    begins: str
    read: Callable[[BinaryIO, str], Iterator[tuple[int, dict[str, object]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLayout:
    """A table of records by id; of several names, the first is the one written.

    ``formats`` can be read and written; ``suffixes`` tell those that other kinds do not have.
    ``columns`` are the fields kept as text; all others are kept as JSON. ``headerless`` gives, by
    their number, the columns of a file without a header. ``key`` is the id's field, if the user
    named it. ``markup`` are formats of these records alone; ``read_only`` are not written.
    """

    kind: Kind | Literal["ratings"]
    noun: str
    id_column: str
    id_names: tuple[str, ...]
    text_names: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    headerless: Mapping[int, tuple[str, ...]] = field(default_factory=dict, hash=False)
    needs_text: bool = False
    key: str | None = None
    formats: tuple[str, ...] = ("jsonl", "json", "tsv", "csv")
    read_only: tuple[str, ...] = ("parquet", "xlsx")
    suffixes: Mapping[str, str] = field(default_factory=dict, hash=False)
    markup: Mapping[str, TextFormat] = field(default_factory=dict, hash=False)

    @property
    def nouns(self) -> str:
        """What the table holds, in the plural."""
        return "queries" if self.noun == "query" else f"{self.noun}s"

    def is_header(self, cells: Sequence[str]) -> bool:
        """Tell whether the id is named, or a question or its documents: it may be its own id."""
        asked = ("question", "query", "user_input", "user_query") if self.needs_text else ()
        is_golden = self.needs_text and "relevant" in map(role_of, cells)
        return is_golden or find_name(list(cells), (*self.id_names, *asked)) is not None

    def needed(self, names: Collection[str]) -> set[str | None]:
        """Return the names of which an empty cell is an error: the id's, and a needed text's."""
        texts = self.text_names if self.needs_text else ()
        return {self.key, find_name(names, self.id_names), find_name(names, texts)}

    def keyed(self, key: str | None) -> RecordLayout:
        """Return the layout with the id's column that the caller named."""
        if key is None:
            return self
        return replace(self, id_names=(key, *self.id_names), key=key)


Layout = PairLayout | RecordLayout


def check_columns(count: int, *, source: str, line: int | None = None) -> None:
    """Refuse a table of so many columns that its width, not its rows, fills the memory."""
    if count > MOST_COLUMNS:
        raise FormatError(
            f"has {count:,} columns, and at most {MOST_COLUMNS:,} are read; keep those needed",
            source=source,
            line=line,
        )
