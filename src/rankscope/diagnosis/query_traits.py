"""Traits: what can be derived about a query, and the groups that queries fall into by it.

Beside metadata, ``words`` and ``characters`` (`labels`) these fields are always there, if what they
need is given; metadata of such a name wins:

- ``complexity``: how many constraints the query has (`constraints`): simple 1–2, medium 3–4,
  complex 5 and more.
- ``question word``: who, what, which, when, where, why, how, ``other question`` or ``none``
  (`question_word`).
- ``rarity``: how rare its words are: their mean IDF, in three groups of about equal size.
- ``relevant documents``: how many the qrels have for it; needs the qrels.
- ``overlap``: the share of its words in the best relevant document; needs qrels and corpus.

Words are those of `words_of`: as they are written but for case, no stems. Rarity and overlap look
at words that are about something; function words count only where there are no others.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankscope.collection.corpus import document_text
from rankscope.diagnosis.function_words import FunctionWords, languages_of
from rankscope.diagnosis.labels import (
    DERIVED,
    Labels,
    Query,
    grouped_values,
    labels_of,
    metadata_fields,
    number_ranges,
)
from rankscope.diagnosis.ranked_run import RELEVANT
from rankscope.scoring.text_words import words_of

if TYPE_CHECKING:
    from rankscope.collection.corpus import Corpus
    from rankscope.scoring.judgments import Judgments

SAMPLED = 10_000
"""Of a larger corpus so many documents, evenly spaced, tell how rare words are."""

MOST_RELEVANT = 20
"""The overlap looks at so many of a query's best documents at most."""

OTHER_QUESTION, NO_QUESTION = "other question", "none"

COMPLEXITIES = ((1, "simple (1–2)"), (3, "medium (3–4)"), (5, "complex (5+)"))
"""From how many constraints on; the classes of the tutorial on query types."""

RARITIES = ("common", "medium", "rare")
"""Each with its range of mean IDF, as in ``rare (4.57+)``."""

OVERLAPS = ("no word", "less than half", "half or more", "all words")


@dataclass(frozen=True, eq=False)
class Known:
    """What is known about queries: texts and metadata, what is relevant, and the documents."""

    queries: Sequence[Query]
    qrels: Judgments | None = None
    corpus: Corpus | None = None

    @cached_property
    def fields(self) -> dict[str, int]:
        """The fields of the metadata, with how many queries have each."""
        return metadata_fields(self.queries)

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """By query: its words; a query without any is not here."""
        pairs = ((query_id, words_of(text)) for query_id, text, _ in self.queries)
        return {query_id: words for query_id, words in pairs if words}

    @cached_property
    def languages(self) -> dict[str, FunctionWords]:
        """By query with words: the language it is read in."""
        return dict(zip(self.words, languages_of(self.words.values()), strict=True))

    @cached_property
    def content(self) -> dict[str, frozenset[str]]:
        """By query with words: those that are about something, or all if none is."""
        content = {}
        for query_id, words in self.words.items():
            distinct = frozenset(words)
            content[query_id] = distinct - self.languages[query_id].all or distinct
        return content


# --- the rules of single queries -----------------------------------------------------------------

_SENTENCE = re.compile(r"[.?!;:\n。？！]+")
_QUESTION_MARK = re.compile(r"[?？؟]")


def question_word(text: str, language: FunctionWords) -> str:
    """Return which question a query asks, in English, whatever its language.

    The first sentence decides that begins with a question word; prepositions and conjunctions
    before it do not count ("For how long", "Mit welchem Mehl"). Without such a sentence it is
    ``other question`` if there is a question mark ("Can I freeze it?"), else ``none``.

    >>> [english, german] = languages_of([["the"], ["der"]])
    >>> question_word("I have a pan. In which oven does it fit?", english)
    'which'
    >>> question_word("Wie lange backt das Brot", german), question_word("rye bread", english)
    ('how', 'none')
    """
    for sentence in _SENTENCE.split(text):
        words = words_of(sentence)
        for place, word in enumerate(words):
            pair = " ".join(words[place : place + 2])
            asked = language.questions.get(pair) or language.questions.get(word)
            if asked:
                return asked
            if word not in language.joints:
                break
    return OTHER_QUESTION if _QUESTION_MARK.search(text) else NO_QUESTION


_TOKEN = re.compile(
    r"""(?P<quoted>["“„«][^"“”„«»]+["”“»])"""
    r"""|(?P<word>\d+(?:[.,/]\d+)+\w*|\w+(?:['’-]\w+)*)"""  # 2.5, 1/2, yeast-based, don't
    r"""|(?P<cut>[,.;:?!()\[\]/|\n、。，；：？！])"""
)
_NUMBER = re.compile(r"\d+(?:[.,/]\d+)*[^\W\d]{0,4}")
_NEGATED = re.compile(r"non-.+|.+-(?:free|less|frei)")


def constraints(text: str, language: FunctionWords) -> int:
    """Count the constraints of a query: the conditions that an answer has to meet.

    A deterministic rule, not an understanding:

    1. The text is cut at punctuation, prepositions, conjunctions, negations and question words.
       Each part that holds a word about something is one constraint.
    2. A number, with the word behind it, is one of its own; so is a phrase in quotation marks.
    3. A word that leaves something out ("gluten-free", "non-stick") is one of its own.

    >>> [english] = languages_of([["the"]])
    >>> constraints("how long to marinate Korean bulgogi?", english)  # one part
    1
    >>> constraints("What air fryer temperature for crispy vegetables?", english)  # cut at "for"
    2
    >>> constraints("gluten-free bread without eggs in 30 minutes", english)  # free, bread, eggs, 30
    4
    >>> constraints("oven temperature and time for a sweet, yeast-based bread with raisins", english)
    5

    Each query has at least one.
    """  # noqa: E501
    count, filled, after_number = 0, False, False
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match.group()
        if kind == "quoted":
            count += 1
        elif kind == "cut":
            count, filled = count + filled, False
        elif _NUMBER.fullmatch(token):
            count += 1
            after_number = True
            continue
        else:
            word = token.casefold().replace("’", "'")
            stem = word.partition("'")[0]
            if word.endswith("n't") or stem in language.splits:
                count, filled = count + filled, False
            elif _NEGATED.fullmatch(word):
                count += 1
            elif stem not in language.all and not after_number:
                filled = True
        after_number = False
    return max(count + filled, 1)


# --- groups --------------------------------------------------------------------------------------


def field_labels(known: Known, field: str, *, bins: int) -> Labels:
    """Group queries by a field of their metadata, or by a derived one.

    A derived field whose needs are not given labels no query.
    """
    trait = _TRAITS.get(field)
    if trait is None or field in known.fields:
        return labels_of(known.queries, field, bins=bins)
    if lacking(known, field):
        return Labels(field, False, (), {}, len(known.queries))
    return trait(known, bins)


def lacking(known: Known, field: str) -> str:
    """Say what a derived field needs and is not given; '' if nothing is lacking."""
    if field not in DERIVED or field in known.fields:
        return ""
    if field in ("relevant documents", "overlap") and known.qrels is None:
        return "no qrels were given"
    if field == "overlap" and known.corpus is None:
        return "no corpus was given"
    return ""


def _complexity(known: Known, _: int) -> Labels:
    starts = [start for start, _ in COMPLEXITIES]
    texts = {query_id: text for query_id, text, _ in known.queries}
    labels = {
        query_id: COMPLEXITIES[bisect_right(starts, constraints(texts[query_id], language)) - 1][1]
        for query_id, language in known.languages.items()
    }
    return _in_order(known, "complexity", labels, [name for _, name in COMPLEXITIES])


def _question_words(known: Known, _: int) -> Labels:
    texts = {query_id: text for query_id, text, _ in known.queries}
    labels = {
        query_id: question_word(texts[query_id], language)
        for query_id, language in known.languages.items()
    }
    sizes = Counter(labels.values())
    order = sorted(sizes, key=lambda label: (label == NO_QUESTION, -sizes[label], label))
    return _in_order(known, "question word", labels, order)


def _rarity(known: Known, _: int) -> Labels:
    """Cut the mean IDF of the queries' words into thirds.

    IDF is ln(1 + (N − n + 0.5) / (n + 0.5)) for a word in n of N documents, or, without a corpus,
    of N queries.
    """
    wanted = frozenset().union(*known.content.values())
    texts = known.content.values() if known.corpus is None else _document_words(known.corpus)
    total, counts = 0, Counter[str]()
    for words in texts:
        total += 1
        counts.update(wanted.intersection(words))
    rarity = {
        word: math.log1p((total - counts[word] + 0.5) / (counts[word] + 0.5)) for word in wanted
    }
    means = {
        query_id: math.fsum(sorted(rarity[word] for word in words)) / len(words)
        for query_id, words in known.content.items()
    }
    rounded = {query_id: round(mean, 2) for query_id, mean in means.items()}
    if not rounded:
        return _in_order(known, "rarity", {}, [])
    starts, names = number_ranges(list(rounded.values()), 3)
    if len(names) == 3:
        names = [f"{kind} ({name})" for kind, name in zip(RARITIES, names, strict=True)]
    labels = {query_id: names[bisect_right(starts, mean) - 1] for query_id, mean in rounded.items()}
    return _in_order(known, "rarity", labels, names)


def _document_words(corpus: Corpus) -> Iterable[list[str]]:
    """Yield the words of a corpus, or of a sample of a large one."""
    if len(corpus) <= SAMPLED:
        documents = corpus.documents()
    else:
        ids = corpus.ids
        places = np.linspace(0, len(ids) - 1, SAMPLED).astype(np.int64)
        documents = (corpus[ids[place]] for place in places)
    for document in documents:
        yield words_of(document_text(document, document.fields))


def _relevant_documents(known: Known, bins: int) -> Labels:
    assert known.qrels is not None
    qrels = known.qrels
    grades = qrels.pairs["grade"].cast(pl.Float64).to_numpy()
    sizes = np.bincount(qrels.query[grades >= RELEVANT], minlength=len(qrels.query_ids))
    counts = dict(zip(qrels.query_ids, sizes.tolist(), strict=True))
    values: dict[str, Any] = {
        query_id: counts[query_id] for query_id, _, _ in known.queries if query_id in counts
    }
    unlabelled = len(known.queries) - len(values)
    return grouped_values(values, "relevant documents", bins, unlabelled)


def _overlap(known: Known, _: int) -> Labels:
    """Group by the share of the query's words in that of its best documents that has most of them.

    The best are the relevant ones of the highest grade, the first `MOST_RELEVANT` of them.
    """
    assert known.corpus is not None
    content = known.content
    vocabulary: dict[str, set[str]] = {}
    labels = {}
    for query_id, doc_ids in _best_documents(known).items():
        words = content.get(query_id)
        shares = []
        for doc_id in doc_ids if words else ():
            if doc_id not in vocabulary:
                document = known.corpus[doc_id]
                vocabulary[doc_id] = {*words_of(document_text(document, document.fields))}
            shares.append(len(words & vocabulary[doc_id]) / len(words) if words else 0.0)
        if shares:
            best = max(shares)
            labels[query_id] = OVERLAPS[0 if not best else 1 if best < 0.5 else 2 + (best == 1)]
    return _in_order(known, "overlap", labels, OVERLAPS)


def _best_documents(known: Known) -> dict[str, list[str]]:
    """Return by query its relevant documents of the highest grade, if the corpus has them."""
    assert known.qrels is not None
    assert known.corpus is not None
    qrels = known.qrels
    grades = qrels.pairs["grade"].cast(pl.Float64).to_numpy()
    highest = np.full(len(qrels.query_ids), RELEVANT)
    np.maximum.at(highest, qrels.query, grades)
    rows = np.flatnonzero(grades >= highest[qrels.query])
    doc_ids = qrels.pairs["doc_id"].cast(pl.String).gather(rows).to_list()
    best: dict[str, list[str]] = {query_id: [] for query_id, _, _ in known.queries}
    for query, doc_id in zip(qrels.query[rows].tolist(), doc_ids, strict=True):
        documents = best.get(qrels.query_ids[query])
        if documents is not None and len(documents) < MOST_RELEVANT and doc_id in known.corpus:
            documents.append(doc_id)
    return best


def _in_order(known: Known, field: str, labels: Mapping[str, str], order: Sequence[str]) -> Labels:
    """Return labels, one for each query, whose groups come in a given order."""
    present = {*labels.values()}
    return Labels(
        field,
        False,
        tuple(label for label in order if label in present),
        {query_id: (label,) for query_id, label in labels.items()},
        len(known.queries) - len(labels),
    )


_TRAITS: dict[str, Callable[[Known, int], Labels]] = {
    "complexity": _complexity,
    "question word": _question_words,
    "rarity": _rarity,
    "relevant documents": _relevant_documents,
    "overlap": _overlap,
}
