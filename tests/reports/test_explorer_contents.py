"""What the explorer of a page shows: gathered, packed, cut, and without texts."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import polars as pl

from rankscope.collection.corpus import Corpus
from rankscope.document.blocks import Document, Section, sentences
from rankscope.reports.explorer.contents import Contents, contents_of_scored
from rankscope.reports.explorer.packing import blocks, report_page, unpacked
from rankscope.scoring.evaluate import score
from rankscope.scoring.scoring_options import DEFAULT

TYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4", "i1": "<i1"}


def qrels_and_runs(systems: int = 3, queries: int = 20) -> tuple[Any, dict[str, Any]]:
    chance = random.Random(7)
    docs = [f"d{number}" for number in range(40)]
    qrels = {
        f"q{number}": {doc: chance.choice([0, 1, 2]) for doc in chance.sample(docs, 8)}
        for number in range(queries)
    }
    runs = {
        f"s{system}": {
            query_id: {doc: chance.random() for doc in chance.sample(docs, chance.randint(0, 25))}
            for query_id in qrels
        }
        for system in range(systems)
    }
    return qrels, runs


def made(systems: int = 3, **options: Any) -> tuple[Contents, Any, dict[str, Any], Any]:
    qrels, runs = qrels_and_runs(systems)
    scored = score(qrels, runs, ["nDCG@10", "RR"], DEFAULT)
    return contents_of_scored(scored, **options), qrels, runs, scored.scores


def decoded(block: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take a block apart, as the page's script does."""
    head, _, rest = unpacked(block).partition(b"\n")
    texts = json.loads(head)
    columns = {
        name: np.frombuffer(rest, TYPES[kind], count=length, offset=offset)
        for name, (kind, offset, length) in texts["columns"].items()
    }
    return texts, columns


def test_values_and_rankings_are_those_of_the_runs() -> None:
    contents, qrels, runs, scores = made()
    doc_ids = contents.documents["doc_id"]
    for system in contents.systems:
        for row, measure in enumerate(("nDCG@10", "RR")):
            values = scores.values(measure, system.name)
            assert dict(zip(contents.query_ids, system.values[row].tolist(), strict=True)) == values
        for number, query_id in enumerate(contents.query_ids):
            ranked = sorted(runs[system.name][query_id].items(), key=lambda pair: -pair[1])[:20]
            held = system.results.filter(pl.col("query") == number)
            assert [doc_ids[doc] for doc in held["doc"]] == [doc for doc, _ in ranked]
            assert held["score"].to_list() == [score for _, score in ranked]
            for doc, grade in zip(held["doc"], held["grade"], strict=True):
                expected = qrels[query_id].get(doc_ids[doc])
                assert np.isnan(grade) if expected is None else grade == expected
        holes = [
            sum(doc not in qrels[q] for doc in sorted(run, key=lambda d: -run[d])[:10])
            for q, run in runs[system.name].items()
        ]
        assert contents.unjudged(system).tolist() == holes
    assert contents.relevant.tolist() == [
        sum(grade > 0 for grade in qrels[query_id].values()) for query_id in contents.query_ids
    ]
    assert contents.focus == max(runs, key=lambda name: scores.run(name).means["nDCG@10"])


def test_blocks_hold_everything_once() -> None:
    contents, _, _, _ = made()
    packed = dict(blocks(contents))
    assert list(packed) == ["overview", "answers-0", "documents-0"]
    overview, columns = decoded(packed["overview"])
    assert overview["queries"] == list(contents.query_ids)
    assert overview["systems"] == ["s0", "s1", "s2"]
    for at, system in enumerate(contents.systems):
        np.testing.assert_array_equal(columns[f"value-{at}-1"], system.values[1])
    documents, _ = decoded(packed["documents-0"])
    assert documents["ids"] == contents.documents["doc_id"].to_list()
    assert sorted(documents["ids"]) == sorted(set(documents["ids"]))
    _, answers = decoded(packed["answers-0"])
    first = contents.systems[0]
    np.testing.assert_array_equal(answers["doc-0"], first.results["doc"])
    np.testing.assert_array_equal(answers["score-0"], first.results["score"])
    assert answers["offsets-0"].tolist() == [
        int((first.results["query"] < number).sum()) for number in range(21)
    ]


def test_fewer_documents_and_no_texts() -> None:
    corpus = Corpus({f"d{n}": {"title": f"Secret {n}", "text": f"furtive {n}"} for n in range(40)})
    rows = [
        (f"q{n}", f"discreet {n}", {"kind": n % 2, "note": f"concealed {n}"}) for n in range(20)
    ]
    contents, _, _, _ = made(queries=rows, corpus=corpus)
    assert contents.documents["title"][0] is not None
    less, _, _, _ = made(queries=rows, corpus=corpus, top=3, with_text=False)
    assert max(system.results["rank"].to_list()[-1] for system in less.systems) <= 3
    assert less.cutoff == 3, "on top is what is shown"
    assert less.fields == {}
    shown = {doc for system in less.systems for doc in system.results["doc"]} | {*less.ideal["doc"]}
    assert shown == set(range(len(less.documents)))
    page = report_page(Document("d", (Section("", (sentences(["x"]),)),)), less)
    held = page + "".join(unpacked(block).decode("latin-1") for _, block in blocks(less))
    for word in ("Secret", "furtive", "discreet", "concealed"):
        assert word not in held


def test_texts_too_long_for_anybody_are_cut() -> None:
    rows = [("q1", "x" * 1_000_000, {"m": "y" * 1_000_000})]
    contents, _, _, _ = made(queries=rows, corpus=Corpus({"d1": {"title": "t" * 1_000_000}}))
    assert all(len(block) < 100_000 for _, block in blocks(contents))
    overview, _ = decoded(dict(blocks(contents))["overview"])
    assert max(len(text or "") for text in overview["texts"]) == 2_000
