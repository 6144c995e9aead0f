"""Learning to rank: a reranker that learns from judged questions which candidates are relevant.

``{rerank: {of: hybrid, depth: 50, ltr: {}}}``: LambdaMART (gradient boosted trees that are fitted
to nDCG), by XGBoost. What it looks at are the scores and ranks of the system below and of others,
and how the words of the query stand in the fields of a document. How it is kept from questions it
is judged on, `learning` says; the features are those of `ltr_features`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError
from rankscope.retrieval.cache import keep, kept, make_folder
from rankscope.retrieval.lexical.words import languages, word_rules
from rankscope.retrieval.options import choice, option, optional, real, whole, words
from rankscope.retrieval.protocol import System, fingerprint
from rankscope.retrieval.python_objects import sentence
from rankscope.retrieval.registry import Context, engine, engine_version
from rankscope.retrieval.stages.fusion import Fuse
from rankscope.retrieval.stages.learning import Folds, refuse_trained
from rankscope.retrieval.stages.ltr_features import (
    SCORE_FEATURES,
    SHARE,
    Pairs,
    WordFeatures,
    score_rows,
)
from rankscope.retrieval.stages.rerank import RERANKERS, Candidates, Rerank, Reranker
from rankscope.retrieval.stages.stage import Stage, training_answers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

__all__ = ["LTR", "LTROptions", "labels_of"]

HIGHEST_LABEL = 10
"""Whole grades up to here are labels as they are."""

STEPS = 4
"""How many steps other grades are brought to."""


def _systems(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError("a list of systems, by name or spec")
    return list(value)


@dataclass(frozen=True, slots=True)
class LTROptions:
    """What the model looks at, and how it grows."""

    systems: list[Any] | None = option(  # noqa: RUF009
        None,
        "other systems whose scores are looked at: a list of names or specs; if not given, the "
        "systems of the fuse below, if there is one",
        optional(_systems),
    )
    fields: tuple[str, ...] | None = option(
        None, "the fields whose words are looked at; if not given, title and text", optional(words)
    )
    language: str = option(
        "english",
        "whose stemmer and stop words are used: one of PyStemmer's languages, or none for neither",
        choice("language", languages),
    )
    pool: int = option(1000, "how many documents the other systems are asked for", whole(1))
    trees: int = option(200, "how many trees", whole(1))
    leaves: int = option(6, "how many leaves a tree has at most", whole(2))
    rate: float = option(0.03, "how far each tree goes, from 0 to 1", real(0, 1))
    shrink: float = option(1.0, "how much the values of leaves are drawn to 0 (L2)", real(0))
    start: float = option(
        4.0, "how much the order of the system below counts before the first tree", real(0)
    )


CHOSEN = ("fields", "language", "pool", "trees", "leaves", "rate", "shrink", "start")
"""The options an identity holds as they are."""


def labels_of(grades: Sequence[float]) -> list[int]:
    """Return whole labels for grades, higher for higher; 0 for a grade of 0 or less.

    Whole grades up to 10 stay as they are. Others are brought to 4 steps of the highest:
    ⌈4 · grade / highest⌉, at least 1.

    >>> labels_of([2, 0, -1, 1]), labels_of([0.5, 0.05, 1.0]), labels_of([100, 30])
    ([2, 0, 0, 1], [2, 1, 4], [4, 2])
    """
    highest = max(grades, default=0.0)
    if highest <= HIGHEST_LABEL and all(
        grade <= 0 or float(grade).is_integer() for grade in grades
    ):
        return [max(int(grade), 0) for grade in grades]
    return [max(math.ceil(STEPS * (grade / highest)), 1) if grade > 0 else 0 for grade in grades]


def _components(system: System) -> list[System]:
    """Return the systems that a fuse mixes, if there is one at the bottom of these stages."""
    while isinstance(system, Stage):
        system = system.inner
    return list(system.systems) if isinstance(system, Fuse) else []


def _xgboost() -> Any:
    """Import XGBoost, or say in one sentence why it cannot be."""
    try:
        return engine("xgboost", package="xgboost-cpu", needed_for="the reranker ltr")
    except (OSError, ValueError) as error:  # XGBoost's own error is a ValueError
        raise InputError(
            f"the reranker ltr needs XGBoost, which is installed but cannot be loaded; a library "
            f"of the machine may be missing, such as libgomp or libomp ({sentence(error)})"
        ) from None


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A training question: the features of its candidates, and their grades (0: not judged)."""

    rows: Matrix
    grades: tuple[float, ...]


@RERANKERS.add("ltr", LTROptions, summary="a model trained on judged questions (LambdaMART)")
class LTR(Reranker):
    """LambdaMART over scores, ranks and words.

    Where there is nothing to learn from, that is no question with candidates both relevant and not,
    the order stays as it was.
    """

    trained = True

    def __init__(self, options: LTROptions, context: Context) -> None:
        self._engine = _xgboost()
        self._training = context.taught("ltr")
        self._options = options
        self._cache = context.cache
        given = options.systems
        self._given = None if given is None else [context.system(one) for one in given]
        self._others: list[System] = []
        self._words = WordFeatures(options.fields, options.language)
        self._stage: Rerank | None = None
        self._corpus: Corpus | None = None
        self._snapshot: str | None = None
        self._examples: dict[str, Example] = {}
        self._models: dict[Folds, Any] = {}

    def over(self, stage: Rerank) -> None:
        """Take the stage, whose system is asked the training questions."""
        self._stage = stage
        self._others = _components(stage.inner) if self._given is None else self._given
        refuse_trained("ltr", [stage.inner, *self._others])

    def index(self, corpus: Corpus) -> None:
        """Take the corpus, for what is known about its words."""
        for system in self._others:
            system.index(corpus)
        if corpus is self._corpus:
            return
        for name in self._options.fields or ():
            corpus.field(name)  # refuses a field that no document has
        self._corpus = corpus
        self._snapshot = self._words.snapshot(corpus)
        self._examples, self._models, self.notes = {}, {}, ()

    def prepare(self) -> None:
        """Load or train a model for each fold, and one of all questions."""
        if self._models:
            return
        for system in self._others:
            system.prepare()
        if self._corpus is not None:
            self._words.count(self._corpus)
        made = [self._model(folds) for folds in self._training.models()]
        without = sum(model is None for model in made)
        if without:
            note = (
                f"ltr: {without} of {len(made)} models had nothing to learn from, as no question "
                "has candidates both relevant and not; where they answer, the order stays"
            )
            self.notes = (note,)

    @property
    def names(self) -> list[str]:
        """The names of the features, in order."""
        kinds = [system.identity().kind for system in self._others]
        labels = ["of", *(f"{kind} {number}" for number, kind in enumerate(kinds, start=1))]
        by_score = [f"{label}: {one}" for label in labels for one in SCORE_FEATURES]
        return by_score + self._words.names

    def described(self) -> dict[str, Any]:
        """Say what was learnt from, by what, and what it looks at."""
        options = self._options
        return {
            "reranker": "ltr",
            "version": f"ltr 1, xgboost {self._engine.__version__}, {engine_version('bm25s')}, "
            f"{engine_version('PyStemmer')}, {word_rules()}",
            "training": self._training.key,
            "systems": [system.identity().key for system in self._others],
            "features": self.names,
            "corpus": self._snapshot,
            **{name: getattr(options, name) for name in CHOSEN},
        }

    def scores(self, batch: Sequence[Candidates]) -> list[Sequence[float] | str]:
        """Score candidates, each query's by a model that has not seen it."""
        self.prepare()
        asked = [one.query for one in batch]
        answers = [system.search(asked, self._options.pool) for system in self._others]
        found: list[Sequence[float] | str] = []
        for at, candidates in enumerate(batch):
            others = [several[at] for several in answers]
            errors = [one.error for one in others if one.error is not None]
            if errors:
                found.append(errors[0])
                continue
            model = self._model(self._training.kept_from(candidates.query))
            if model is None:
                found.append(candidates.scores)
            else:
                rows = self._rows(candidates, [one.pairs() for one in others])
                found.append(model.predict(self._matrix(rows)).tolist())
        return found

    def _rows(self, candidates: Candidates, others: Sequence[Pairs]) -> Matrix:
        """Return one row of features for each candidate."""
        doc_ids = [document.doc_id for document in candidates.documents]
        own = list(zip(doc_ids, candidates.scores, strict=True))
        blocks = [score_rows(doc_ids, pairs) for pairs in (own, *others)]
        blocks.append(self._words.rows(candidates.query, candidates.documents))
        return np.hstack([np.array(block, np.float32) for block in blocks])

    def _matrix(self, rows: Matrix, **more: Any) -> Any:
        margin = np.float32(self._options.start) * rows[:, SHARE]
        return self._engine.DMatrix(rows, base_margin=margin, nthread=1, **more)

    def _model(self, folds: Folds) -> Any:
        """Return the model that has not seen these folds; None if it had nothing to learn from."""
        if folds not in self._models:
            path = self._path(folds)
            content = None if path is None else kept(path)
            try:
                model = None if content is None else self._loaded(content)
            except self._engine.core.XGBoostError:  # of another version
                content = None
            if content is None:
                content = self._learnt(folds)
                model = self._loaded(content)
                if path is not None:
                    keep(path, content)
            self._models[folds] = model
        return self._models[folds]

    def _path(self, folds: Folds) -> Path | None:
        if self._cache is None or self._stage is None:
            return None
        below = self._stage.inner.identity().key
        key = fingerprint("ltr", below, self._stage.depth, self.described(), sorted(folds))
        return make_folder(self._cache / "models") / f"{key}.ltr"

    def _loaded(self, content: bytes) -> Any:
        if not content:
            return None
        model = self._engine.Booster({"nthread": 1, "verbosity": 0})
        model.load_model(bytearray(content))
        return model

    def _learnt(self, folds: Folds) -> bytes:
        """Train on the questions of all other folds; nothing, if they teach nothing."""
        if not self._examples:
            self._examples = self._asked()
        queries = self._training.without(folds)
        examples = [self._examples[query.query_id] for query in queries]
        labels = iter(labels_of([grade for one in examples for grade in one.grades]))
        labelled = [(one.rows, [next(labels) for _ in one.grades]) for one in examples]
        taught = [(rows, told) for rows, told in labelled if len({*told}) > 1]
        if not taught:
            return b""
        matrix = self._matrix(
            np.vstack([rows for rows, _ in taught]),
            label=np.array([label for _, told in taught for label in told]),
            group=[len(told) for _, told in taught],
        )
        model = self._engine.train(self._parameters(), matrix, self._options.trees)
        return bytes(model.save_raw("ubj"))

    def _parameters(self) -> dict[str, Any]:
        return {
            "objective": "rank:ndcg",
            "lambdarank_pair_method": "topk",
            "lambdarank_num_pair_per_sample": 10,
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_depth": 0,
            "max_leaves": self._options.leaves,
            "eta": self._options.rate,
            "reg_lambda": self._options.shrink,
            "nthread": 1,
            "seed": 0,
            "verbosity": 0,
        }

    def _asked(self) -> dict[str, Example]:
        """Ask the training questions, and make features of the candidates."""
        stage, queries = self._stage, self._training.queries
        if stage is None:
            raise InputError("ltr stands in a rerank; it has no candidates of its own")
        own = training_answers("ltr", stage.inner, queries, stage.depth)
        others = [
            training_answers("ltr", system, queries, self._options.pool) for system in self._others
        ]
        examples = {}
        for query in queries:
            query_id = query.query_id
            candidates = stage.candidates(query, own[query_id])
            rows = self._rows(candidates, [answers[query_id] for answers in others])
            grades = self._training.grades(query)
            told = tuple(grades.get(one.doc_id, 0.0) for one in candidates.documents)
            examples[query_id] = Example(rows, told)
        return examples
