"""The door: every input is read right, or refused with the option that would make it right.

The same data goes through every form and function. Names are combined at random from many golden
sets and retrievers; whatever the combination, the number is the right one or there is none.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankscope as rs
from conftest import Rankscope
from rankscope.benchmark.collection import load_collection
from rankscope.benchmark.config.loading import read_config
from rankscope.errors import InputError, InvalidDataError, UnknownNameError
from rankscope.runs.validation import validate_run
from rankscope.tables.shapes import SHAPES

QRELS = {"q1": {"a": 1}, "q2": {"b": 1, "c": 1}}
RUN = {"q1": ["x", "a"], "q2": ["c", "y", "b"]}
RR = (1 / 2 + 1) / 2
RECORDS: list[dict[str, Any]] = [
    {"query_id": q, "question": f"what is {q}", "relevant_ids": list(QRELS[q]), "retrieved": RUN[q]}
    for q in QRELS
]
PAIRS = {
    "qrels": [{"query_id": q, "doc_id": d} for q, documents in QRELS.items() for d in documents],
    "run": [{"query_id": q, "doc_id": d} for q, documents in RUN.items() for d in documents],
}

Form = Callable[[Path, list[dict[str, Any]]], Any]


def _written(suffix: str) -> Form:
    def write(path: Path, rows: list[dict[str, Any]]) -> str:
        path = path.with_suffix(suffix)
        if suffix == ".json":
            path.write_text(json.dumps(rows))
        elif suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif suffix == ".parquet":
            pl.DataFrame(rows).write_parquet(path)
        else:
            with path.open("w", newline="") as file:
                table = csv.DictWriter(file, rows[0], delimiter="," if suffix == ".csv" else "\t")
                table.writeheader()
                table.writerows(rows)
        return str(path)

    return write


OBJECTS: dict[str, Form] = {
    "records": lambda _, rows: rows,
    "polars": lambda _, rows: pl.DataFrame(rows),
    "lazy": lambda _, rows: pl.LazyFrame(rows),
    "pandas": lambda _, rows: pd.DataFrame(rows),
    "arrow": lambda _, rows: pl.DataFrame(rows).to_arrow(),
    "columns": lambda _, rows: pl.DataFrame(rows).to_dict(as_series=False),
}
FILES: dict[str, Form] = {
    suffix: _written(suffix) for suffix in (".json", ".jsonl", ".parquet", ".csv", ".tsv")
}
FORMS = {**OBJECTS, **FILES}


def _validated(qrels: Any, run: Any) -> float:
    validation = validate_run(run, qrels=qrels)
    assert validation.ok, validation.findings
    return RR


DOORS: dict[str, Callable[[Any, Any], float]] = {
    "evaluate": lambda qrels, run: rs.evaluate(qrels, run, "RR")["RR"],
    "several": lambda qrels, run: rs.evaluate(qrels, {"v1": run}, "RR").run("v1").means["RR"],
    "compare": lambda qrels, run: rs.compare(qrels, {"v1": run, "v2": run}, "RR").means[0].mean,
    "gate": lambda qrels, run: rs.gate(run, run, "RR", qrels=qrels).checks[0].system_mean,
    "validate": _validated,
}


def qrels_of(data: Any, **keys: Any) -> rs.Qrels:
    return (rs.read_qrels if isinstance(data, str) else rs.Qrels)(data, **keys)


def run_of(data: Any, **keys: Any) -> rs.Run:
    return (rs.read_run if isinstance(data, str) else rs.Run)(data, **keys)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", ["lists", "pairs"])
def test_one_set_of_rules(form: str, shape: str, tmp_path: Path) -> None:
    tables = {"qrels": RECORDS, "run": RECORDS} if shape == "lists" else PAIRS
    qrels, run = (FORMS[form](tmp_path / kind, rows) for kind, rows in tables.items())
    for name, door in DOORS.items():
        assert door(qrels, run) == RR, name


@pytest.mark.parametrize("form", FILES)
def test_on_the_command_line(form: str, tmp_path: Path, rankscope: Rankscope) -> None:
    golden = FILES[form](tmp_path / "golden", RECORDS)
    again = FILES[form](tmp_path / "again", RECORDS)
    for arguments in (
        ["evaluate", golden, again, "-m", "RR"],
        ["evaluate", golden, "-m", "RR"],
        ["compare", golden, golden, again, "-m", "RR"],
        ["gate", golden, again, "--qrels", golden, "-m", "RR"],
        ["runs", "validate", again, "--qrels", golden, "--queries", golden],
    ):
        done = rankscope(*arguments)
        assert done.returncode == 0, done.stderr
        assert arguments[0] == "runs" or "0.75" in done.stdout


@pytest.mark.parametrize("form", [".json", ".jsonl", ".parquet"])
@pytest.mark.parametrize(("asked", "has_id"), [("question", True), ("user_input", False)])
def test_a_golden_set_is_queries_and_qrels_of_a_config(
    form: str, asked: str, has_id: bool, tmp_path: Path
) -> None:
    """A question without an id is its own, for queries as for qrels."""
    rows = [
        {**({"id": q} if has_id else {}), asked: f"what is {q}", "relevant_ids": list(QRELS[q])}
        for q in QRELS
    ]
    golden = Path(FILES[form](tmp_path / "golden", rows)).name
    config = tmp_path / "bench.yaml"
    config.write_text(
        f"name: doors\ncollection: {{golden: {golden}}}\nsystems: {{a: {{run: a.run}}}}\n"
    )
    (tmp_path / "a.run").write_text("q1 Q0 a 1 1.0 a\n")
    collection = load_collection(read_config(config), tmp_path / "cache")
    ids = list(QRELS) if has_id else [f"what is {q}" for q in QRELS]
    assert [query.query_id for query in collection.queries] == ids
    assert [query.text for query in collection.queries] == [f"what is {q}" for q in QRELS]
    assert collection.judgments.by_query == dict(zip(ids, QRELS.values(), strict=True))


# --- names

ROWS = [("q1", ["a"], ["x", "a"]), ("q2", ["b", "c"], ["c", "y", "b"]), ("q3", ["d"], ["d", "e"])]
MEAN = (1 / 2 + 1 + 1) / 3


def _outcome(gold: Any, run: Any = None, *, expected: float = MEAN, **options: Any) -> str:
    try:
        value = rs.evaluate(gold, run, ["RR"], **options)["RR"]
    except InputError as error:
        return str(error)
    assert value == pytest.approx(expected), (gold, run)
    return "right"


def test_positions_meet_positions_only() -> None:
    gold, found = [g for _, g, _ in ROWS], [r for _, _, r in ROWS]
    forms: dict[str, Callable[[list[Any]], Any]] = {
        "lists": list,
        "tuples": lambda lists: [tuple(each) for each in lists],
        "series": pd.Series,
        "from 0": lambda lists: dict(enumerate(lists)),
        "from 1": lambda lists: dict(enumerate(lists, start=1)),
        "as text": lambda lists: {str(n): each for n, each in enumerate(lists)},
        "by id": lambda lists: {q: each for (q, _, _), each in zip(ROWS, lists, strict=True)},
    }
    lists = ("lists", "tuples", "series")
    for (left, of_gold), (right, of_run) in itertools.product(forms.items(), forms.items()):
        fits = left == right or {left, right} == {"from 0", "as text"}
        fits |= left in lists and right in lists
        assert (_outcome(of_gold(gold), of_run(found)) == "right") == fits, (left, right)
    assert _outcome(["a", "b", "d"], found, expected=(1 / 2 + 1 / 3 + 1) / 3) == "right"
    assert _outcome([set(each) for each in gold], found) == "right"
    for bad in ([set(each) for each in found], found[:2], ["x", "c", "d"]):
        assert _outcome(gold, bad) != "right"
    by_words = [{"question": q, "retrieved_ids": r} for q, _, r in ROWS]
    golden = [{"id": n, "question": q, "gold": g} for n, (q, g, _) in enumerate(ROWS)]
    assert _outcome(golden, by_words) == "right"
    assert _outcome(golden, found) == "right"


FRAMEWORKS: dict[str, dict[str, Any]] = {
    "Ragas": {
        "user_input": "q", "reference": "Forty two.", "reference_contexts": ["Some long text."],
        "reference_context_ids": ["a"], "retrieved_contexts": ["Another text."],
        "retrieved_context_ids": ["x", "a"],
    },
    "DeepEval": {"input": "q", "expected_output": "42", "expected_retrieval_context": ["a"],
                 "retrieval_context": ["x", "a"], "actual_output": "42"},
    "LangSmith": {"inputs": {"question": "q"}, "outputs": {"documents": ["x", "a"]},
                  "reference_outputs": {"doc_ids": ["a"]}},
    "LlamaIndex": {"query": "q", "expected_ids": ["a"], "retrieved_ids": ["x", "a"]},
    "Haystack": {"question": "q", "ground_truth_documents": ["a"],
                 "retrieved_documents": [{"id": "x", "score": 2}, {"id": "a", "score": 1}]},
    "wide": {"question": "q", "expected_id": "a", "Result 1": "x", "Result 2": "a"},
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_what_frameworks_have(name: str) -> None:
    assert _outcome([FRAMEWORKS[name]], expected=1 / 2) == "right"


@pytest.mark.parametrize(
    ("rows", "option"),
    [
        (
            [{"question": "q", "contexts": ["A text in words."], "retrieved_ids": ["a"]}],
            "relevant=",
        ),
        ([{"question": "q", "expected_ids": ["a"], "contexts": ["In words."]}], "retrieved="),
        ([{"question": "q", "gold_ids": ["a"], "expected": ["b"], "hits": ["a"]}], "relevant="),
        ([{"question": "q", "gold": ["a"], "chunk_ids": ["a"], "doc_ids": ["b"]}], "retrieved="),
        ([{"frage": "q", "gold": ["a"], "hits": ["a"]}], "query="),
        ([{"question": "q", "__expected": "contains-all:a,b", "hits": ["a"]}], "relevant="),
        ([{"question": "q", "doc_ids": ["a"]}], "relevant="),
        ([{"qid": "q", "doc_id": "a", "chunk_id": "b", "score": 1}], "relevant="),
        ([{"query": "q", "doc_id": "a", "relevance_score": 1, "score": 0.5}], "relevant="),
    ],
)
def test_what_two_columns_could_be_is_refused(rows: Any, option: str) -> None:
    with pytest.raises(InputError, match=option):
        rs.evaluate(rows, measures="RR")


def test_the_same_is_not_scored_against_itself(tmp_path: Path) -> None:
    rows = [{"question": "q", "expected_ids": ["a"]}]
    path = _written(".csv")(tmp_path / "gold", rows)
    for gold in (rows, path, QRELS):
        with pytest.raises(InputError, match=r"retrieved|same"):
            rs.evaluate(gold, gold, "RR")


def test_a_flat_table_with_grades_and_scores(tmp_path: Path) -> None:
    """Each row is judged and retrieved; the two numbers have names of their own."""
    rows = [{"query": "q", "pid": d, "label": g, "similarity": s}
            for d, g, s in (("x", 0, 0.9), ("a", 1, 0.5), ("b", 2, 0.1))]  # fmt: skip
    for form in FORMS.values():
        assert rs.evaluate(form(tmp_path / "table", rows), measures=["RR"])["RR"] == 0.5
    named = [{"q": "q", "was": "x", "gut": 0, "wie": 2}, {"q": "q", "was": "a", "gut": 1, "wie": 1}]
    assert rs.evaluate(named, measures="RR", doc="was", grade="gut", score="wie")["RR"] == 0.5


def test_a_case_of_quepid_is_no_query(tmp_path: Path) -> None:
    path = tmp_path / "quepid.csv"
    path.write_text(
        "Team Name,Case Name,Case ID,Query Text,Doc ID,Title,Rating\n"
        "t,shoes,7,red shoes,a,A,3\nt,shoes,7,blue shoes,a,A,0\nt,shoes,7,blue shoes,b,B,2\n"
    )
    gold = {"red shoes": {"a": 3}, "blue shoes": {"a": 0, "b": 2}}
    assert rs.read_qrels(path).to_dict() == gold
    rows = [{"query_id": n, "query": q, "docid": d, "rating": g}
            for n, (q, grades) in enumerate(gold.items()) for d, g in grades.items()]  # fmt: skip
    assert rs.Qrels(rows).to_dict() == {"0": gold["red shoes"], "1": gold["blue shoes"]}


def test_docno_is_the_document_of_pyterrier() -> None:
    frame = pd.DataFrame(
        {"qid": ["1", "1"], "docid": [7, 8], "docno": ["x", "a"], "rank": [0, 1], "score": [2, 1]}
    )
    assert rs.evaluate({"1": {"a": 1}}, frame, "RR")["RR"] == 0.5
    assert rs.Run(frame)["1"] == {"x": 2.0, "a": 1.0}


def test_rows_of_a_flat_table_need_no_order() -> None:
    frame = pd.DataFrame({"qid": list("1111"), "docno": list("abcd"), "score": [1, 4, 2, 3]})
    scores = rs.evaluate({"1": {"d": 1}}, frame, "RR")
    assert scores["RR"] == 0.5
    assert "RS114" not in {finding.code for finding in scores.findings}


@pytest.mark.parametrize("form", FORMS)
def test_columns_that_the_caller_names(form: str, tmp_path: Path) -> None:
    rows = [{"frage": "q1", "treffer": "a", "note": 2}, {"frage": "q1", "treffer": "b", "note": 1}]
    data = FORMS[form](tmp_path / "golden", rows)
    keys = {"query": "frage", "doc": "treffer"}
    assert qrels_of(data, **keys, grade="note").to_dict() == {"q1": {"a": 2, "b": 1}}
    assert run_of(data, **keys, score="note").to_dict() == {"q1": {"a": 2.0, "b": 1.0}}
    with pytest.raises(InputError, match="score='note'"):
        run_of(data, **keys)
    data = FORMS[form](tmp_path / "run", [{"query_id": "q1", "doc_id": "a", "score": 2}])
    for key in ("retrieved", "score"):
        with pytest.raises(InputError, match=rf"'typo' \({key}=\) among"):
            run_of(data, **{key: "typo"})


def test_columns_on_the_command_line(tmp_path: Path, rankscope: Rankscope) -> None:
    rows = [{"frage": q, "gut": list(QRELS[q])} for q in QRELS]
    golden = FILES[".jsonl"](tmp_path / "golden", rows)
    run = FILES[".csv"](tmp_path / "run", RECORDS)
    done = rankscope("evaluate", golden, run, "-m", "RR", "--query", "frage", "--relevant", "gut")
    assert "0.75" in done.stdout, done.stderr
    refused = rankscope("evaluate", golden, run, "-m", "RR")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--relevant" in refused.stderr
    pairs = FILES[".csv"](tmp_path / "pairs", [{"q": "q1", "pid": "a", "s": 2}])
    for command in (["runs", "fuse", pairs, pairs, "-o", "out.run"], ["convert", pairs, "o.run"]):
        arguments = [*command, "--columns", "doc=pid,score=s"]
        done = rankscope(*arguments, *(["--kind", "run"] if command[0] == "convert" else []))
        assert done.returncode == 0, done.stderr
    assert rankscope("evaluate", golden, run, "--columns", "typo").returncode == 2


def test_options_name_one_role_of_one_table() -> None:
    gold = [{"question": "q", "ids": ["a"], "expected": ["b"]}]
    run = [{"question": "q", "ids": ["b", "a"]}]
    assert rs.evaluate(gold, run, "RR", relevant="ids")["RR"] == 0.5
    with pytest.raises(InputError, match=r"relevant=, retrieved="):
        rs.evaluate(gold, run, "RR", doc="ids")
    with pytest.raises(InputError, match=r"no column 'typo' \(query=\)"):
        rs.evaluate(gold, run, "RR", query="typo", relevant="ids")


def test_columns_of_a_config(tmp_path: Path) -> None:
    golden = [{"frage": q, "text": "what", "gut": list(QRELS[q])} for q in QRELS]
    _written(".json")(tmp_path / "golden", golden)
    _written(".csv")(tmp_path / "corpus", [{"gut": d, "text": "text"} for d in "abcxy"])
    run = [{"wer": q, "was": d, "wie": n} for q in RUN for n, d in enumerate([*RUN[q], RUN[q][0]])]
    _written(".csv")(tmp_path / "run", run)
    config = tmp_path / "bench.yaml"
    config.write_text(
        "name: doors\ncollection: {corpus: corpus.csv, golden: golden.json,\n"
        "  columns: {query: frage, relevant: gut, doc: gut}}\nmeasures: [RR]\ndiagnosis: [ties]\n"
        "systems:\n  a: {run: {path: run.csv, columns: {query: wer, doc: was, score: wie},"
        " duplicates: best}}\n"
    )
    result = rs.run_benchmark(config, output=tmp_path / "out")
    assert result.report.collection.documents == 5
    assert result.report.systems[0].measures[0].value == RR


# --- lists, documents of frameworks


def test_lists_that_could_be_rows_are_asked_about() -> None:
    assert rs.Qrels([["q1", "a", 2]]).to_dict() == {"q1": {"a": 2}}
    assert rs.Run([["a", "b", "c"]]).to_dict() == {"1": {"a": -1.0, "b": -2.0, "c": -3.0}}
    for lists in ([[1, 2, 3], [4, 5, 6]], [["1", "2", "3"]], [("q1", "a")], [("a", 0.5)]):
        with pytest.raises(InputError, match="may be rows"):
            rs.Run(lists)
    assert rs.Run([[9, 1], [3, 8, 2]]) == rs.Run({"1": ["9", "1"], "2": ["3", "8", "2"]})
    assert rs.Run([["1", "2", 0.5]]) == rs.Run({"1": {"2": 0.5}})
    matrix = {"doc_ids": ["a", "b"], "scores": np.array([[0.1, 0.9], [0.5, 0.2]])}
    assert rs.evaluate([["a"], ["a"]], matrix, "RR")["RR"] == 0.75


def _langchain(own_id: str | None, **metadata: Any) -> Any:
    return SimpleNamespace(id=own_id, page_content="text", metadata=metadata, type="Document")


def _llama_index(doc_id: str, score: float | None) -> Any:
    node = SimpleNamespace(id_=doc_id, node_id=doc_id, text="text", metadata={})
    return SimpleNamespace(node=node, score=score, metadata={}, text="text")


def _haystack(doc_id: str, score: float | None) -> Any:
    return SimpleNamespace(id=doc_id, content="text", meta={}, score=score)


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([_langchain("x"), _langchain("a")], {"x": -1.0, "a": -2.0}),
        ([(_langchain("x"), 0.9), (_langchain("a"), 0.5)], {"x": 0.9, "a": 0.5}),
        ([_langchain("u1", doc_id="x"), _langchain("u2", doc_id="a")], {"x": -1.0, "a": -2.0}),
        ([_llama_index("x", 0.9), _llama_index("a", 0.5)], {"x": 0.9, "a": 0.5}),
        ([_haystack("x", 0.9), _haystack("a", 0.5)], {"x": 0.9, "a": 0.5}),
        ([_haystack("x", None), _haystack("a", None)], {"x": -1.0, "a": -2.0}),
        ([{"id": "x", "score": 0.9}, {"id": "a", "score": 0.5}], {"x": 0.9, "a": 0.5}),
        ([{"page_content": "", "metadata": {"id": "x"}}], {"x": -1.0}),
    ],
)
def test_documents_of_frameworks(documents: Any, expected: dict[str, float]) -> None:
    assert rs.Run({"q1": documents}).to_dict() == {"q1": expected}
    assert rs.Run([{"query_id": "q1", "source_documents": documents}]).to_dict() == {"q1": expected}
    assert rs.Run([documents, documents]).to_dict() == {"1": expected, "2": expected}
    assert rs.Run(documents).to_dict() == {"1": expected}


def test_a_document_without_an_id() -> None:
    documents = [_langchain(None, source="a.pdf", page=3)]
    with pytest.raises(InputError, match=r"'source', 'page'; .*doc="):
        rs.Run({"q1": documents})
    assert rs.Run({"q1": documents}, doc="source").to_dict() == {"q1": {"a.pdf": -1.0}}
    assert rs.evaluate({"q1": ["a.pdf"]}, {"q1": documents}, "RR", doc="source")["RR"] == 1
    with pytest.raises(InputError, match="'q1' has 1 documents without a score among 2"):
        rs.Run({"q1": [_haystack("x", 0.9), _haystack("a", None)]})


# --- duplicates, what is said


@pytest.mark.parametrize("form", ["records", "pandas", ".jsonl", ".csv"])
def test_a_document_twice(form: str, tmp_path: Path) -> None:
    rows = [
        {"query_id": "q1", "doc_id": d, "score": s} for d, s in (("a", 0.2), ("b", 0.5), ("a", 0.7))
    ]
    data = FORMS[form](tmp_path / "run", rows)
    with pytest.raises(InvalidDataError, match="RS106"):
        run_of(data)
    assert run_of(data, duplicates="first").to_dict() == {"q1": {"a": 0.2, "b": 0.5}}
    assert run_of(data, duplicates="best").to_dict() == {"q1": {"b": 0.5, "a": 0.7}}
    assert rs.evaluate({"q1": ["a"]}, data, "RR", duplicates="first")["RR"] == 0.5
    with pytest.raises(UnknownNameError, match="duplicates"):
        run_of(data, duplicates="last")


def test_labels_wherever_judgments_are_read(tmp_path: Path, rankscope: Rankscope) -> None:
    rows = [{"query_id": "q1", "doc_id": "a", "label": "E"}]
    path = FILES[".csv"](tmp_path / "gold", rows)
    for gold in (rows, path, {"q1": {"a": "E"}}):
        scores = rs.evaluate(gold, {"q1": ["a"]}, "RR(rel=3)", labels={"E": 3})
        assert list(scores.means.values()) == [1]
    (tmp_path / "a.run").write_text("q1 Q0 a 1 1.0 t\n")
    assert rankscope("evaluate", path, "a.run", "-m", "RR", "--labels", "E=3").returncode == 0
    assert rankscope("evaluate", path, "a.run", "-m", "RR").returncode == 2


def test_each_shape_has_a_name_and_an_example() -> None:
    assert len({shape.name for shape in SHAPES}) == len(SHAPES)
    assert all(shape.example for shape in SHAPES)


@pytest.mark.parametrize("names", [("id", "question"), ("question",), ("user_input",)])
def test_a_topic_beside_a_question_is_what_it_is_about(names: tuple[str, ...]) -> None:
    records = [
        {**dict.fromkeys(names, text), "topic": "care", "expected_ids": ids, "retrieved_ids": ids}
        for text, ids in (("how?", ["a"]), ("when?", ["b", "c"]))
    ]
    assert rs.Qrels(records).query_ids == ["how?", "when?"]
    assert rs.Run(records).query_ids == ["how?", "when?"]
    assert list(rs.Queries(records)) == ["how?", "when?"]


@pytest.mark.parametrize("single", [True, False])
def test_records_with_an_id_are_no_documents_of_one_query(single: bool) -> None:
    """Of a column that is not known, and an id: neither is the rows' id a document."""
    names = [f"d{at}" for at in range(12)]
    gold = [{"id": n, "input": f"what is {n}?", "right": n if single else [n]} for n in names]
    run = [{"id": n, "input": f"what is {n}?", "offered": ["x", n]} for n in names]
    with pytest.raises(InputError, match="relevant='right'"):
        rs.evaluate(gold, run, "RR")
    with pytest.raises(InputError, match="retrieved='offered'"):
        rs.evaluate(gold, run, "RR", relevant="right")
    assert rs.evaluate(gold, run, "RR", relevant="right", retrieved="offered")["RR"] == 0.5


@pytest.mark.parametrize("separator", ";|,")
def test_several_ids_under_the_name_of_one_are_refused(separator: str) -> None:
    rows = [{"question": "q", "target_id": separator.join(["d1", "d2"]), "retrieved": ["d2"]}]
    with pytest.raises(InputError, match="may be one id or several"):
        rs.evaluate(rows, measures="RR")
    named = [{**rows[0], "target_id": '["d1", "d2"]'}]
    assert rs.evaluate(named, measures="RR")["RR"] == 1


def test_rows_of_a_query_that_goes_by_no_known_name_are_refused() -> None:
    """They are neither the documents of one query, nor a query each."""
    pairs = [(f"request {at}", f"{kind}{at}") for at in range(6) for kind in "de"]
    gold = [{"request": text, "doc_id": doc, "grade": 1} for text, doc in pairs]
    run = [{"request": text, "doc_id": doc, "score": 1.0} for text, doc in pairs]
    with pytest.raises(InputError, match="query='request'"):
        rs.evaluate(gold, run, "RR")
    assert rs.evaluate(gold, run, "RR", query="request")["RR"] == 1
    numbered = [{"id": at, **row} for at, row in enumerate(gold)]
    with pytest.raises(InputError, match="'id' may identify the query or the row"):
        rs.evaluate(numbered, {text: [doc] for text, doc in pairs}, "RR")


def test_documents_of_one_query_are_known_by_their_fields() -> None:
    found = [{"id": "x", "score": 0.9}, {"id": "a", "score": 0.5}]
    assert rs.evaluate([["a"]], found, "RR")["RR"] == 0.5
    named = [{"id": "a", "metadata": {}, "kind": "recipe"}]
    assert rs.evaluate([["a"]], named, "RR")["RR"] == 1


def test_scores_that_rise_down_the_ranks_are_refused(tmp_path: Path) -> None:
    """A distance beside ranks is no score, unless the caller says so."""
    rows = [
        {"query_id": query, "rank": place, "chunk_id": doc_id, "score": place / 10}
        for query, first in (("q1", "a"), ("q2", "b"))
        for place, doc_id in enumerate((first, "x", "y"), start=1)
    ]
    gold = {"q1": ["a"], "q2": ["b"]}
    with pytest.raises(InputError, match="score='rank' or score='score'"):
        rs.evaluate(gold, rows, ["RR"])
    files = tmp_path / "gold.json", tmp_path / "results.csv"
    files[0].write_text(json.dumps(gold))
    pd.DataFrame(rows).to_csv(files[1], index=False)
    with pytest.raises(InputError, match="score='rank' or score='score'"):  # and not: swapped
        rs.evaluate(str(files[0]), str(files[1]), ["RR"])
    assert rs.evaluate(gold, rows, ["RR"], score="rank")["RR"] == 1
    without = [{name: row[name] for name in ("query_id", "rank", "chunk_id")} for row in rows]
    scores = rs.evaluate(gold, without[::-1], ["RR"])
    assert (scores["RR"], scores.findings) == (1, ())


def test_a_named_column_of_one_side_leaves_the_words_of_the_other() -> None:
    """Gold with ids and words meets a run with words alone, also where its column is named."""
    gold = [{"id": "Q1", "question": "how to reset it?", "expected_ids": ["a"]}]
    run = [{"frage": "how to reset it?", "treffer": ["x", "a"]}]
    assert rs.evaluate(gold, run, ["RR"], query="frage", retrieved="treffer")["RR"] == 0.5


def test_a_run_in_the_place_of_measures_is_told() -> None:
    with pytest.raises(InputError, match="several runs as one"):
        rs.compare({"q": ["a"]}, {"q": ["a"]}, {"q": ["b"]})


def test_a_column_of_lists_written_as_text_is_named() -> None:
    """Texts beside expected ids are no gold, also where the ids are joined with commas."""
    gold = [
        {"question": f"what of {n}?", "known_relevant": f"file {n}.pdf,file {n + 9}.pdf",
         "ground_truth": f"It is {n} that holds here"}
        for n in range(3)
    ]  # fmt: skip
    run = [{"question": f"what of {n}?", "retrieved_ids": [f"file {n}.pdf"]} for n in range(3)]
    with pytest.raises(InputError, match="relevant='known_relevant'"):
        rs.evaluate(gold, run, ["RR"])
