"""The frozen numbers of retrieval are right: bm25s and wordllama, asked directly, say the same."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frozen.freezing import written
from frozen.paired_worlds import DATA, bundled
from frozen.subjects.retrieval import APART, FIELDS, means


def texts(fields: list[str]) -> dict[str, str]:
    """Return the fields of each document of the bundled corpus, a line each."""
    found = {}
    for line in (DATA / "recipes" / "corpus.jsonl").read_text().splitlines():
        document = json.loads(line)
        parts = [document[field] for field in fields]
        found[document["_id"]] = "\n".join(
            part if isinstance(part, str) else "\n".join(part) for part in parts
        )
    return found


def questions() -> dict[str, str]:
    lines = (DATA / "recipes" / "queries.jsonl").read_text().splitlines()
    return {row["_id"]: row["text"] for row in map(json.loads, lines)}


def check(frozen: Any, query_id: str, scores: dict[str, float], away: float) -> None:
    """Check that the frozen list holds the best, in their order, with these scores."""
    listed = frozen["first ten"][query_id]
    assert [scores[doc_id] for doc_id, _ in listed] == pytest.approx(
        [score for _, score in listed], abs=away
    )
    named = {doc_id for doc_id, _ in listed}
    others = [score for doc_id, score in scores.items() if doc_id not in named and score > 0]
    assert len(listed) == 10 or not others
    assert all(score <= listed[-1][1] + away for score in others)


@pytest.mark.parametrize(
    ("system", "fields", "k1", "b"),
    [
        ("title", ["title"], 1.5, 0.75),
        ("words", FIELDS, 1.5, 0.75),
        ("words, k1 0.9, b 0.4", FIELDS, 0.9, 0.4),
        ("title three times", ["title", "title", "title", "text"], 1.5, 0.75),
    ],
)
def test_words(system: str, fields: list[str], k1: float, b: float) -> None:
    bm25s: Any = pytest.importorskip("bm25s")
    stemmer = pytest.importorskip("Stemmer").Stemmer("english")
    options: Any = {"stopwords": "en", "stemmer": stemmer, "show_progress": False}
    documents, asked = texts(fields), questions()
    engine = bm25s.BM25(method="lucene", k1=k1, b=b)
    engine.index(bm25s.tokenize(list(documents.values()), **options), show_progress=False)
    frozen = written("retrieval_lexical")[system]
    for query_id in frozen["first ten"]:
        [tokens] = bm25s.tokenize([asked[query_id]], return_ids=False, **options)
        scores = dict(zip(documents, engine.get_scores(tokens).tolist(), strict=True))
        check(frozen, query_id, scores, 1e-5)


@pytest.mark.parametrize(
    ("system", "fields"), [("whole", FIELDS), ("title and text", ["title", "text"])]
)
def test_vectors(system: str, fields: list[str]) -> None:
    level = logging.getLogger().level
    wordllama: Any = pytest.importorskip("wordllama")
    home = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=home, disable_download=True)
    logging.getLogger().setLevel(level)
    documents, asked = texts(fields), questions()
    rows = model.embed([text.lower() for text in documents.values()], norm=True)
    frozen = written("retrieval_vector")[system]
    for query_id in APART:
        [query] = model.embed([asked[query_id].lower()], norm=True)
        cosines = np.asarray(rows, np.float64) @ query
        check(frozen, query_id, dict(zip(documents, cosines.tolist(), strict=True)), 1e-4)


def test_the_bundled_runs_are_the_demos() -> None:
    _, runs = bundled()
    demo, words = written("retrieval_demo"), written("retrieval_lexical")["words"]
    for name in ("lexical", "hybrid"):
        assert demo[name] == pytest.approx(means(runs[name]), abs=1e-12)
    for query_id, pairs in words["first ten"].items():
        best = list(runs["lexical"][query_id].items())[:10]
        assert [doc_id for doc_id, _ in pairs] == [doc_id for doc_id, _ in best]
        assert [score for _, score in pairs] == pytest.approx(
            [score for _, score in best], rel=1e-12
        )
