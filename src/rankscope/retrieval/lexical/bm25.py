"""Lexical search: BM25 in Lucene's variant, with the scores of bm25s.

The score of a document d is the sum over the words t of the query, repeated ones counted again, of
idf(t) · tf / (tf + k1 · (1 − b + b · |d| / average length)), with tf how often t occurs in d and
idf(t) = ln(1 + (N − n + 0.5) / (n + 0.5)), where n of N documents hold t. Documents that share no
word with the query are not returned. With ``ngrams``, all of this is about parts of words.
"""

from __future__ import annotations

import time
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import Field, model_validator

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError
from rankscope.retrieval.cache_entries import make_folder, read_arrays, write_arrays
from rankscope.retrieval.lexical.postings import Postings
from rankscope.retrieval.lexical.words import Analyzer, Language, Ngrams
from rankscope.retrieval.options import Options, SpecError, TextList
from rankscope.retrieval.protocol import (
    Capabilities,
    Identity,
    Query,
    Ranking,
    System,
    check_depth,
    fingerprint,
)
from rankscope.retrieval.registry import SYSTEMS, Context, check_engine, engine_version
from rankscope.retrieval.texts import Fields, Texts, without_text
from rankscope.runs.order import best_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BM25Options(Options):
    """How documents and queries are read and scored."""

    fields: Fields | None = None
    """What is searched: a list of fields, or a table of whole weights, where a field counts as if
    it were written that often. If not given, title and text, under whatever name the corpus has
    them."""
    k1: float = Field(default=1.5, ge=0, le=1000)
    """How much it counts that a word is repeated, from 0 to 1000."""
    b: float = Field(default=0.75, ge=0, le=1)
    """How much long documents are held back, from 0 to 1."""
    language: Language = "english"
    """Whose stemmer and stop words are used: one of PyStemmer's languages, or none for neither.
    With ngrams it is none."""
    stopwords: TextList | None = None
    """A list of words to drop instead of the language's own; [] to drop none."""
    ngrams: Ngrams | None = None
    """Search character n-grams instead of words, for compounds, related languages and misspelt
    words: their lowest and highest length, as in [3, 5], or one number for both, from 1 to 10."""

    @model_validator(mode="before")
    @classmethod
    def _without_language(cls, data: Any) -> Any:
        """Make none the default beside n-grams, so that an identity says what is done."""
        if isinstance(data, Mapping) and data.get("ngrams") is not None:
            return {"language": "none", **data}
        return data

    @model_validator(mode="after")
    def _no_stemming(self) -> Self:
        # either may still be the name of a variable, about which nothing is known yet
        is_known = isinstance(self.ngrams, tuple) and "${" not in self.language
        if is_known and self.language != "none":
            raise SpecError(
                "character n-grams are not stemmed, and a language's stop words are not dropped; "
                "leave out language beside ngrams, and list words to drop as stopwords",
                ("language",),
            )
        return self

    def plain(self) -> dict[str, Any]:
        """Return the options as an identity holds them.

        Without n-grams it is as it was before there were any: what is kept under it stays valid.
        """
        parameters = super().plain()
        if self.ngrams is None:
            del parameters["ngrams"]
        return parameters


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Scores by term, as bm25s computes them: of term t, ``[starts[t]:starts[t + 1]]``."""

    terms: dict[str, int]
    scores: NDArray[np.float32]
    positions: NDArray[np.int32]
    starts: NDArray[np.int64]


@SYSTEMS.add("bm25", BM25Options, summary="lexical search: BM25 in Lucene's variant, by bm25s")
class BM25(System):
    """BM25 over the words of some fields."""

    batch_size = 256
    needs_corpus = True
    capabilities = Capabilities(ties="trec", concurrent=True)
    packages = ("bm25s", "PyStemmer")

    def __init__(self, options: BM25Options, context: Context) -> None:
        check_engine("bm25s", package="bm25s", needed_for="the system bm25")
        self.options: BM25Options = options
        dropped = options.stopwords if options.ngrams is None else options.stopwords or ()
        self.analyzer = Analyzer(options.language, dropped, ngrams=options.ngrams)
        self._cache = context.cache
        self._corpus: Corpus | None = None
        self._texts: Texts | None = None
        self._index: Index | None = None

    def index(self, corpus: Corpus) -> None:
        """Take the corpus; the work is done in `prepare`."""
        if corpus is self._corpus:  # shared by several stages, each of which hands it down
            return
        self._texts = Texts.of(corpus, self.options.fields)
        self._corpus = corpus
        self._index = None
        self.notes = without_text(self._texts)

    def identity(self) -> Identity:
        """Say what exactly answers."""
        versions = [engine_version(package) for package in self.packages]
        return Identity(
            kind="bm25",
            name=self.name,
            version=", ".join([*versions, self.analyzer.rules]),
            parameters=self.options.plain(),
            snapshot=self._texts.snapshot if self._texts is not None else None,
        )

    def prepare(self) -> None:
        """Count words and compute scores, or load what was computed before."""
        if self._index is not None or self._texts is None or not self._texts.doc_ids:
            return
        began = time.perf_counter()
        if self._cache is None:
            self._index = self._indexed(self._texts)
        else:
            path = make_folder(self._cache / "indexes") / f"{fingerprint(self.identity().key)}.bm25"
            self._index = _loaded(path)
            if self._index is None:
                self._index = self._indexed(self._texts)
                _store(path, self._index)
        self.seconds_indexing = time.perf_counter() - began

    def _indexed(self, texts: Texts) -> Index:
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__  # a new term gets the next number
        terms, postings = self.analyzer.terms, Postings()
        done, total = 0, len(texts.doc_ids)
        for part in texts.parts():
            tokens, ends = array("i"), []
            for text in part:
                tokens.extend([numbers[term] for term in terms(text)])
                ends.append(len(tokens))
            postings.add(np.frombuffer(tokens, np.int32), np.diff(ends, prepend=0))
            done += len(part)
            self.work.report(done, total)
        numbers.default_factory = None
        if not numbers:
            raise InputError(
                "no document has a word left to search for; name other fields, or fewer stop words"
            )
        scores = postings.scores(len(numbers), k1=self.options.k1, b=self.options.b)
        return Index(numbers, *scores)

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        """Answer each query with the documents that hold its words."""
        self.prepare()
        depth = check_depth(depth)
        return [self._answer(self.analyzer.terms(query.text), depth) for query in queries]

    def _answer(self, terms: Sequence[str], depth: int) -> Ranking:
        began = time.perf_counter()
        index, texts = self._index, self._texts
        if index is None or texts is None:
            return Ranking()
        scores = np.zeros(len(texts.doc_ids), np.float32)
        for term in terms:
            number = index.terms.get(term)
            if number is not None:
                low, high = index.starts[number], index.starts[number + 1]
                scores[index.positions[low:high]] += index.scores[low:high]
        best = best_positions(scores, depth)
        values = scores[best]
        count = int(np.searchsorted(-values, 0.0))  # only what shares a word with the query
        doc_ids = texts.doc_ids
        return Ranking(
            tuple([doc_ids[at] for at in best[:count].tolist()]),
            tuple(values[:count].tolist()),
            time.perf_counter() - began,
        )


def _store(path: Path, index: Index) -> None:
    vocabulary = "\n".join(index.terms).encode()
    write_arrays(
        path,
        {
            "terms": np.frombuffer(vocabulary, np.uint8),
            "scores": index.scores,
            "positions": index.positions,
            "starts": index.starts,
        },
    )


def _loaded(path: Path) -> Index | None:
    stored = read_arrays(path)
    if stored is None:
        return None
    names = stored["terms"].tobytes().decode().split("\n")
    terms = {term: number for number, term in enumerate(names)}
    return Index(terms, stored["scores"], stored["positions"], stored["starts"])
