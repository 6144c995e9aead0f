"""Thousands of plain inputs, made by combination: each is read right, or refused with a remedy.

The world is small and every wrong reading of it has another number: gold against itself is 1, a
list read backwards, one row for another or a merged question changes the reciprocal rank.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pytest

import rankscope as rs
from rankscope.errors import RankscopeError

GOLD = [["a"], ["b", "c"], ["d"], ["e", "f", "a"], ["g"]]
RETRIEVED = [["x", "a", "y"], ["c", "x", "b"], ["p", "q", "x"], ["q", "a", "r"], ["s", "t", "g"]]
FIRST = [gold[0] for gold in GOLD]
GRADES = [
    {doc_id: 3 - place for place, doc_id in enumerate(gold)} | {"x": 0, "y": 0} for gold in GOLD
]
QUESTIONS = [f"what is meant by number {n}?" for n in range(len(GOLD))]
OPTIONS = ("relevant", "retrieved", "query", "doc", "score", "grade")
"""What a refusal names, one of them at least; where lists meet ids, the form to give."""


def reciprocal_rank(gold: list[list[str]], retrieved: list[list[str]]) -> float:
    def first(relevant: list[str], ranking: list[str]) -> float:
        ranks = (1 / rank for rank, doc_id in enumerate(ranking, 1) if doc_id in relevant)
        return next(ranks, 0.0)

    return sum(map(first, gold, retrieved)) / len(gold)


MANY = reciprocal_rank(GOLD, RETRIEVED)
ONE = reciprocal_rank([[doc_id] for doc_id in FIRST], RETRIEVED)

GOLD_NAMES = [
    "relevant_ids", "relevant_doc_ids", "relevant_docs", "relevant", "relevant_documents",
    "relevantDocIds", "expected_ids", "expected", "expected_doc_ids", "expected_chunks",
    "expected_chunk_ids", "gold", "gold_ids", "gold_docs", "gold_doc_ids", "golden_ids",
    "ground_truth", "ground_truth_ids", "ground_truth_doc_ids", "reference_context_ids",
    "reference_ids", "target_ids", "targets", "positive_ids", "positives", "positive_passages",
    "correct_ids", "correct_doc_ids", "answer_ids", "judgments",
]  # fmt: skip
RETRIEVED_NAMES = [
    "retrieved_ids", "retrieved_doc_ids", "retrieved_context_ids", "retrieved", "results",
    "retrieved_docs", "retrieved_documents", "retrieved_chunks", "retrieved_chunk_ids", "hits",
    "matches", "ranking", "ranked_ids", "predicted_ids", "predictions", "candidates",
    "search_results", "returned_ids", "result_ids", "chunk_ids", "doc_ids", "documents",
    "passages", "nodes", "sources",
]  # fmt: skip
QUERY_NAMES = ["question", "query", "query_id", "user_input", "qid", "input", "topic_id"]

Table = list[dict[str, Any]]


Form = Callable[[Path, Any], Any]


class Case(NamedTuple):
    """One input: what it is called, the tables and their form, options, and the right answer."""

    name: str
    form: Form
    tables: tuple[Any, ...]
    answer: float
    options: Mapping[str, Any] = MappingProxyType({})


def as_given(_: Path, data: Any) -> Any:
    return data


def table(query: str, columns: dict[str, list[Any]]) -> Table:
    asked = QUESTIONS if query in ("question", "query", "user_input", "input") else range(101, 106)
    return [
        {query: asked[n], **{name: values[n] for name, values in columns.items()}}
        for n in range(len(GOLD))
    ]


def _json_file(folder: Path, rows: Table, lines: bool) -> str:
    path = folder / f"{abs(hash(str(rows)))}.{'jsonl' if lines else 'json'}"
    texts = [json.dumps(row) for row in rows]
    path.write_text("\n".join(texts) if lines else "[" + ",".join(texts) + "]")
    return str(path)


def _csv_file(folder: Path, rows: Table) -> str:
    path = folder / f"{abs(hash(str(rows)))}.csv"
    flat = [{k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in row.items()}
            for row in rows]  # fmt: skip
    pl.DataFrame(flat).write_csv(path)
    return str(path)


FORMS: dict[str, Form] = {
    "records": as_given,
    "pandas": lambda _, rows: pd.DataFrame(rows),
    "polars": lambda _, rows: pl.DataFrame(rows),
    "arrow": lambda _, rows: pl.DataFrame(rows).to_arrow(),
    "columns": lambda _, rows: {name: [row[name] for row in rows] for name in rows[0]},
    "json": lambda folder, rows: _json_file(folder, rows, lines=False),
    "jsonl": lambda folder, rows: _json_file(folder, rows, lines=True),
    "csv": _csv_file,
}


def named_cases() -> Iterator[Case]:
    """Yield tables whose columns go by names of the field."""
    forms = list(FORMS)
    for number, gold in enumerate(GOLD_NAMES):
        for place, retrieved in enumerate(RETRIEVED_NAMES):
            query = QUERY_NAMES[(number + place) % len(QUERY_NAMES)]
            for kind, values, answer in (("lists", GOLD, MANY), ("single ids", FIRST, ONE)):
                form = forms[(number * 3 + place + (kind == "lists")) % len(forms)]
                both = table(query, {gold: list(values), retrieved: list(RETRIEVED)})
                turned = table(query, {retrieved: list(RETRIEVED), gold: list(values)})
                apart = tuple(table(query, {name: [row[name] for row in both]})
                              for name in (gold, retrieved))  # fmt: skip
                label = f"{kind} {form} {query} {gold} {retrieved}"
                yield Case(f"one table, {label}", FORMS[form], (both,), answer)
                yield Case(f"one table twice, {label}", FORMS[form], (turned, turned), answer)
                yield Case(f"two tables, {label}", FORMS[form], apart, answer)


def _numbered(values: Any, first: int, as_text: bool) -> dict[Any, Any]:
    return {str(n) if as_text else n: value for n, value in enumerate(values, start=first)}


def positional_cases() -> Iterator[Case]:
    """Yield lists by position, and dicts whose keys look like positions."""
    golds: dict[str, tuple[Any, float]] = {
        "lists": (GOLD, MANY),
        "tuples": ([tuple(gold) for gold in GOLD], MANY),
        "sets": ([set(gold) for gold in GOLD], MANY),
        "flat": (FIRST, ONE),
        "grades": (GRADES, MANY),
    }
    runs: dict[str, Any] = {
        "lists": RETRIEVED,
        "tuples": [tuple(ranking) for ranking in RETRIEVED],
        "scores": [{d: -float(n) for n, d in enumerate(r)} for r in RETRIEVED],
        "records": [[{"id": d, "score": -n} for n, d in enumerate(r)] for r in RETRIEVED],
    }
    for gold_kind, (gold, answer) in golds.items():
        for run_kind, run in runs.items():
            label = f"{gold_kind} against {run_kind}"
            yield Case(f"positions, {label}", as_given, (gold, run), answer)
            for start, as_text in product((0, 1), (False, True)):
                keys = f"from {start}{' as text' * as_text}, {label}"
                by_id = _numbered(gold, start, as_text), _numbered(run, start, as_text)
                yield Case(f"dicts {keys}", as_given, by_id, answer)
                yield Case(f"list against dict {keys}", as_given, (gold, by_id[1]), answer)
                yield Case(f"dict against list {keys}", as_given, (by_id[0], run), answer)


def odd_cases() -> Iterator[Case]:
    """Yield ids beside equal texts, unknown names, and flat tables by many names."""
    pairs = [
        {"query_id": f"q{n}", "doc_id": d, "relevance": g}
        for n in range(len(GOLD))
        for d, g in GRADES[n].items()
    ]
    results = [
        {"query_id": f"q{n}", "doc_id": d, "score": 10.0 - place}
        for n in range(len(GOLD))
        for place, d in enumerate(RETRIEVED[n])
    ]
    unknown = [
        {"frage": QUESTIONS[n], "richtig": GOLD[n], "gefunden": RETRIEVED[n]}
        for n in range(len(GOLD))
    ]
    named = {"query": "frage", "relevant": "richtig", "retrieved": "gefunden"}

    def by(name: str) -> Table:
        return [{name if k == "doc_id" else k: v for k, v in row.items()} for row in results]

    for number, form in enumerate(FORMS.values()):
        gold, retrieved = GOLD_NAMES[number], RETRIEVED_NAMES[number]
        rows = [
            {"id": f"case-{n}", "question": "the same", gold: GOLD[n], retrieved: RETRIEVED[n]}
            for n in range(len(GOLD))
        ]
        yield Case(f"id beside equal texts {gold}", form, (rows,), MANY)
        yield Case("unknown names, named", form, (unknown,), MANY, named)
        yield Case("unknown names, not named", form, (unknown,), MANY)
        yield Case("flat tables", form, (pairs, results), MANY)
        yield Case("flat tables, rows turned", form, (pairs, results[::-1]), MANY)
        for name in ("docno", "pid", "passage_id", "chunk_id", "product_id", "corpus-id"):
            yield Case(f"flat run by {name}", form, (pairs, by(name)), MANY)
        two = [{**row, "docid": n} for n, row in enumerate(by("docno"))]
        yield Case("PyTerrier's docid and docno", form, (pairs, two), MANY)


def _spaced(lists: list[list[str]]) -> list[str]:
    return [" ".join(each) for each in lists]


def _in_words(lists: list[list[str]]) -> list[list[str]]:
    return [[f"passage{doc_id * 4}" for doc_id in each] for each in lists]


def cell_cases() -> Iterator[Case]:
    """Yield ids between blanks under names that promise ids, and passages of a single word."""
    named = {"relevant": "reference_contexts", "retrieved": "retrieved_contexts"}
    for form, query in product(("csv", "records", "polars"), QUERY_NAMES):
        for gold, retrieved in product(GOLD_NAMES, RETRIEVED_NAMES):
            if gold.endswith("_ids") and retrieved.endswith("_ids") and len(gold) % 3 == 0:
                both = table(query, {gold: _spaced(GOLD), retrieved: _spaced(RETRIEVED)})
                yield Case(f"blanks, {form} {gold} {retrieved}", FORMS[form], (both,), MANY)
        words = table(query, {"expected_ids": _in_words(GOLD), "retrieved_ids": RETRIEVED})
        spoilt = [{**row, "expected_ids": "Marie Curie"} for row in words]
        yield Case(f"words between blanks, {form}", FORMS[form], (spoilt,), MANY)
        passages = {
            "reference_contexts": _in_words(GOLD),
            "retrieved_contexts": _in_words(RETRIEVED),
        }
        both = table(query, passages)
        yield Case(f"passages of one word, {form}", FORMS[form], (both,), MANY)
        yield Case(f"passages, named, {form}", FORMS[form], (both,), MANY, named)
        mixed = table(query, {"expected_ids": GOLD, "retrieved_contexts": _in_words(RETRIEVED)})
        yield Case(f"passages beside ids, {form}", FORMS[form], (mixed,), MANY)


BESIDE: dict[str, Callable[[int], Any]] = {
    "reference": lambda n: f"Because of number {n} as text",
    "ground_truth": lambda n: f"It is {n} that holds here",
    "source": lambda _: "wiki",
    "score": lambda n: n % 2,
    "contexts": lambda n: [f"some passage about {n} and more", f"another one of {n}"],
    "notes": lambda _: "",
}
"""What stands beside ids in tables of answers, and is none of them."""


def misleading_cases() -> Iterator[Case]:
    """Yield unknown names beside known ones that hold no ids, and lists written without brackets.

    What the other side holds tells which reading is wrong.
    """
    ids: list[Callable[[str], str]] = [
        str, lambda d: f"doc-{ord(d)}", lambda d: str(ord(d)), lambda d: f"x.org/{d}"
    ]  # fmt: skip
    names = list(product(("must_have", "labels", "source_id", "expected_ids"), BESIDE))
    for (number, (gold, beside)), form in product(enumerate(names), ("records", "csv", "polars")):
        name_of = ids[number % len(ids)]
        columns = {
            gold: [name_of(doc_id) for doc_id in FIRST],
            beside: [BESIDE[beside](n) for n in range(len(GOLD))],
            ("rag_results", "retrieved_chunks")[number % 2]: [
                [name_of(doc_id) for doc_id in ranking] for ranking in RETRIEVED
            ],
        }
        both = table("question", columns)
        yield Case(f"{beside} beside {gold}, {form}", FORMS[form], (both,), ONE)
    for separator, name_of, form in product(" ;|", ids, ("records", "csv")):
        cells = [
            [separator.join(map(name_of, each)) for each in lists] for lists in (GOLD, RETRIEVED)
        ]
        both = table("question", {"gold_doc": cells[0], "retrieved_chunks": cells[1]})
        yield Case(f"lists by {separator!r}, {form}", FORMS[form], (both,), MANY)


def all_cases() -> list[Case]:
    makers = named_cases, positional_cases, odd_cases, cell_cases, misleading_cases
    return [case for make in makers for case in make()]


def outcome(case: Case, folder: Path) -> tuple[str, str]:
    gold, *run = (case.form(folder, data) for data in case.tables)
    try:
        value = rs.evaluate(gold, run[0] if run else None, ["RR"], **case.options)["RR"]
    except RankscopeError as error:
        return "refused", str(error)
    return ("right" if abs(value - case.answer) < 1e-12 else "wrong"), f"{value}"


PARTS = 6
"""Tests that share the cases, so that they run beside each other."""


def test_there_are_thousands() -> None:
    assert len(all_cases()) >= 3_000


@pytest.mark.parametrize("part", range(PARTS))
def test_none_is_wrong(part: int, tmp_path: Path) -> None:
    cases = all_cases()[part::PARTS]
    outcomes = [(case.name, *outcome(case, tmp_path)) for case in cases]
    wrong = [line for line in outcomes if line[1] == "wrong"]
    assert not wrong, wrong[:20]
    refused = [line for line in outcomes if line[1] == "refused"]
    sentences = Counter(sentence for _, _, sentence in refused)
    assert len(refused) <= 0.15 * len(cases), sentences.most_common(10)
    remedies = (*(f"{name}=" for name in OPTIONS), "{query: [doc, …]}", "JSON list")
    mute = [line for line in refused if not any(remedy in line[2] for remedy in remedies)]
    assert not mute, mute[:20]
