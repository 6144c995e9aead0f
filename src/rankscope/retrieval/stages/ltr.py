"""Learning to rank: a reranker that learns from judged questions which candidates are relevant.

``{rerank: {of: hybrid, depth: 50, ltr: {}}}``: LambdaMART (gradient boosted trees that are fitted
to nDCG), by XGBoost. What it looks at are the scores and ranks of the system below, those of the
systems that a fuse mixes there, and how the words of the query occur in the fields of a document.
`training` keeps it from questions it is judged on; the features are those of `ltr_features`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from importlib import metadata
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from rankscope.collection.corpus import Corpus
from rankscope.errors import InputError, shown
from rankscope.retrieval.cache_entries import make_folder, read_entry, write_entry
from rankscope.retrieval.fetch import fetch
from rankscope.retrieval.lexical.words import Language, word_rules
from rankscope.retrieval.options import Options, TextList
from rankscope.retrieval.protocol import (
    System,
    fingerprint,
    sentence,
)
from rankscope.retrieval.registry import Context, check_engine, engine, engine_version
from rankscope.retrieval.stages.fusion import Fuse
from rankscope.retrieval.stages.ltr_features import (
    SCORE_FEATURES,
    SHARE,
    Pairs,
    WordFeatures,
    score_rows,
)
from rankscope.retrieval.stages.rerank import RERANKERS, Candidates, Rerank, Reranker
from rankscope.retrieval.stages.stage import Stage, ask
from rankscope.retrieval.stages.training import Folds
from rankscope.runs.table import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

HIGHEST_LABEL = 10
"""Whole grades up to here are labels as they are."""

STEPS = 4
"""How many steps other grades are brought to."""


class LTROptions(Options):
    """What the model looks at, and how it grows."""

    fields: TextList | None = None
    """The fields whose words are looked at. If not given, title and text."""
    language: Language = "english"
    """Whose stemmer and stop words are used: one of PyStemmer's languages, or none for neither."""
    trees: int = Field(default=200, ge=1)
    """How many trees."""
    leaves: int = Field(default=6, ge=2)
    """How many leaves a tree has at most."""
    rate: float = Field(default=0.03, ge=0, le=1)
    """How far each tree goes, from 0 to 1."""
    shrink: float = Field(default=1.0, ge=0)
    """How much the values of leaves are drawn to 0 (L2)."""
    start: float = Field(default=4.0, ge=0)
    """How much the order of the system below counts before the first tree."""


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


def _xgboost_version() -> str:
    """Return the version of XGBoost, whose distribution goes by one of two names."""
    try:
        return metadata.version("xgboost-cpu")
    except metadata.PackageNotFoundError:
        return metadata.version("xgboost")


@RERANKERS.add("ltr", LTROptions, summary="a model trained on judged questions (LambdaMART)")
class LTR(Reranker):
    """LambdaMART over scores, ranks and words.

    Where there is nothing to learn from, that is no question with candidates both relevant and not,
    the order stays as it was.
    """

    times_each = False
    trained = True
    packages = ("xgboost-cpu", "bm25s", "PyStemmer")

    def __init__(self, options: LTROptions, context: Context) -> None:
        check_engine("xgboost", package="xgboost-cpu", needed_for="the reranker ltr")
        self._training = context.training_for("ltr")
        self.options: LTROptions = options
        self._memory = context.memory
        self._words = WordFeatures(options.fields, options.language)
        self._corpus: Corpus | None = None
        self._snapshot: str | None = None
        self._examples: dict[str, tuple[Matrix, list[float]]] = {}
        self._cache = context.cache
        self._models: dict[Folds, Any] = {}
        self._lock = RLock()

    @cached_property
    def _engine(self) -> Any:
        try:
            return engine("xgboost", package="xgboost-cpu", needed_for="the reranker ltr")
        except (OSError, ValueError) as error:  # XGBoost's own error is a ValueError
            raise InputError(
                "the reranker ltr needs XGBoost, which is installed but cannot be loaded; a "
                f"library of the machine may be missing, such as libgomp ({sentence(error)})"
            ) from error

    def over(self, stage: Rerank) -> None:
        """Take the stage, whose system is asked the training questions."""
        if stage.inner.trained:
            raise InputError(
                f"ltr cannot learn over {stage.inner.identity().name}, which is trained itself: "
                "its answers carry judgments that must not be seen; use what it is made of"
            )
        self._stage = stage
        bottom = stage.inner
        while isinstance(bottom, Stage):
            bottom = bottom.inner
        self._fuse = bottom if isinstance(bottom, Fuse) else None

    @property
    def _mixed(self) -> list[System]:
        """The systems that a fuse at the bottom of the stages mixes, if there is one."""
        return [] if self._fuse is None else self._fuse.systems

    @property
    def _pool(self) -> int:
        """How many documents these are asked for: as many as they were for the fuse."""
        return 1 if self._fuse is None else self._fuse.options.depth

    def index(self, corpus: Corpus) -> None:
        """Take the corpus, for what is known about its words."""
        if corpus is self._corpus:
            return
        for name in self.options.fields or ():
            corpus.field(name)  # refuses a field that no document has
        self._corpus = corpus
        self._snapshot = self._words.snapshot(corpus)
        self._examples, self.notes = {}, ()
        self._models = {}

    def prepare(self) -> None:
        """Load or train the models that the questions need."""
        if self._models:
            return
        if self._corpus is not None:
            self._words.count(self._corpus)
        models = [self._model(folds) for folds in self._training.models()]
        without = sum(model is None for model in models)
        if without:
            note = (
                f"ltr: {without} of {len(models)} models had nothing to learn from, as no question "
                "has candidates both relevant and not; where they answer, the order stays"
            )
            self.notes = (note,)

    def described(self) -> dict[str, Any]:
        """Say what was learnt from, by what, and what it looks at."""
        kinds = [system.identity().kind for system in self._mixed]
        labels = ["of", *(f"{kind} {number}" for number, kind in enumerate(kinds, start=1))]
        by_score = [f"{label}: {feature}" for label in labels for feature in SCORE_FEATURES]
        return {
            "reranker": "ltr",
            "version": f"ltr 1, xgboost {_xgboost_version()}, {engine_version('bm25s')}, "
            f"{engine_version('PyStemmer')}, {word_rules()}",
            "training": self._training.key,
            "features": by_score + self._words.names,
            "corpus": self._snapshot,
            **self.options.plain(),
        }

    def scores(self, batch: Sequence[Candidates]) -> list[Sequence[float] | str]:
        """Score candidates, each query's by a model that has not seen it."""
        self.prepare()
        queries = [candidates.query for candidates in batch]
        answers = [ask(system, queries, self._pool, self._memory) for system in self._mixed]
        scores: list[Sequence[float] | str] = []
        for at, candidates in enumerate(batch):
            mixed = [rankings[at] for rankings in answers]
            errors = [ranking.error for ranking in mixed if ranking.error is not None]
            model = self._model(self._training.unseen_folds(candidates.query))
            if errors:
                scores.append(errors[0])
            elif model is None:
                scores.append(candidates.scores)
            else:
                rows = self._rows(candidates, [ranking.pairs() for ranking in mixed])
                scores.append(model.predict(self._matrix(rows)).tolist())
        return scores

    def _rows(self, candidates: Candidates, mixed: Sequence[Pairs]) -> Matrix:
        """Return one row of features for each candidate."""
        doc_ids = [document.doc_id for document in candidates.documents]
        below = list(zip(doc_ids, candidates.scores, strict=True))
        blocks = [score_rows(doc_ids, pairs) for pairs in (below, *mixed)]
        blocks.append(self._words.rows(candidates.query, candidates.documents))
        return np.hstack([np.array(block, np.float32) for block in blocks])

    def _matrix(self, rows: Matrix, **more: Any) -> Any:
        margin = np.float32(self.options.start) * rows[:, SHARE]
        return self._engine.DMatrix(rows, base_margin=margin, nthread=1, **more)

    def _model(self, folds: Folds) -> Any:
        """Return the model that has not seen these folds; None if there was nothing to learn."""
        with self._lock:
            if folds not in self._models:
                self._models[folds] = self._loaded(folds)
            return self._models[folds]

    def _loaded(self, folds: Folds) -> Any:
        """Load a model where it is cached, or else train it."""
        if self._cache is None:
            return self._opened(self._learnt(folds))
        stage = self._stage
        key = fingerprint(
            *("ltr", stage.inner.identity().key, stage.depth, self.described(), sorted(folds))
        )
        path = make_folder(self._cache / "models") / f"{key}.model"
        content = read_entry(path)
        try:
            if content is not None:
                return self._opened(content)
        except ValueError:  # of another version
            pass
        content = self._learnt(folds)
        write_entry(path, content)
        return self._opened(content)

    def _opened(self, content: bytes) -> Any:
        if not content:
            return None
        model = self._engine.Booster({"nthread": 1, "verbosity": 0})
        model.load_model(bytearray(content))
        return model

    def _learnt(self, folds: Folds) -> bytes:
        """Train on the questions of all other folds; nothing, if they teach nothing."""
        if not self._examples:
            self._examples = self._training_rows()
        examples = [self._examples[query.query_id] for query in self._training.without(folds)]
        all_labels = iter(labels_of([grade for _, grades in examples for grade in grades]))
        labelled = [(rows, [next(all_labels) for _ in grades]) for rows, grades in examples]
        useful = [(rows, labels) for rows, labels in labelled if len({*labels}) > 1]
        if not useful:
            return b""
        matrix = self._matrix(
            np.vstack([rows for rows, _ in useful]),
            label=np.array([label for _, labels in useful for label in labels]),
            group=[len(labels) for _, labels in useful],
        )
        parameters = {
            "objective": "rank:ndcg",
            "lambdarank_pair_method": "topk",
            "lambdarank_num_pair_per_sample": 10,
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_depth": 0,
            "max_leaves": self.options.leaves,
            "eta": self.options.rate,
            "reg_lambda": self.options.shrink,
            "nthread": 1,
            "seed": 0,
            "verbosity": 0,
        }
        model = self._engine.train(parameters, matrix, self.options.trees)
        return bytes(model.save_raw("ubj"))

    def _training_rows(self) -> dict[str, tuple[Matrix, list[float]]]:
        """Return for each training question the features of its candidates, and their grades."""
        stage = self._stage
        below = self._answers(stage.inner, stage.depth)
        mixed = [self._answers(system, self._pool) for system in self._mixed]
        examples = {}
        for query in self._training.queries:
            query_id = query.query_id
            candidates = stage.candidates(query, list(below[query_id].items()))
            rows = self._rows(candidates, [list(run[query_id].items()) for run in mixed])
            by_id = self._training.grades(query)
            grades = [by_id.get(document.doc_id, 0.0) for document in candidates.documents]
            examples[query_id] = rows, grades
        return examples

    def _answers(self, system: System, depth: int) -> Run:
        """Ask a system the training questions; what is learnt would depend on one it fails on."""
        fetched = fetch(system, self._training.queries, depth=depth)
        for query_id, problem in fetched.failures.items():
            raise InputError(
                f"ltr: the training question {shown(query_id)} could not be answered ({problem})"
            )
        return fetched.run
