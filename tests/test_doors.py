"""The same data through every door: objects, frames, files, config; evaluate, compare, gate."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankscope as rs
from conftest import Rankscope
from rankscope.benchmark.collection import load_collection
from rankscope.benchmark.config.loading import read_config
from rankscope.errors import InputError, InvalidDataError, UnknownNameError
from rankscope.runs.validation import validate_run

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
    assert validation.queries == 2
    return RR


DOORS: dict[str, Callable[[Any, Any], float]] = {
    "evaluate": lambda qrels, run: rs.evaluate(qrels, run, "RR")["RR"],
    "several": lambda qrels, run: rs.evaluate(qrels, {"v1": run}, "RR").run("v1").means["RR"],
    "compare": lambda qrels, run: rs.compare(qrels, {"v1": run, "v2": run}, "RR").means[0].mean,
    "gate": lambda qrels, run: rs.gate(run, run, "RR", qrels=qrels).checks[0].candidate,
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
        f"name: doors\ncollection: {{queries: {golden}, qrels: {golden}}}\n"
        "systems: {a: {run: a.run}}\n"
    )
    (tmp_path / "a.run").write_text("q1 Q0 a 1 1.0 a\n")
    collection = load_collection(read_config(config), tmp_path / "cache")
    ids = list(QRELS) if has_id else [f"what is {q}" for q in QRELS]
    assert [query.query_id for query in collection.queries] == ids
    assert [query.text for query in collection.queries] == [f"what is {q}" for q in QRELS]
    assert collection.judgments.by_query == dict(zip(ids, QRELS.values(), strict=True))


# --- names


@pytest.mark.parametrize("form", FORMS)
def test_names_of_relevant_and_retrieved_documents(form: str, tmp_path: Path) -> None:
    for name in (
        *("relevant", "ground_truth", "expected_docs", "reference_context_ids", "chunk_ids"),
        *("ids", "golden", "positives", "target_id", "source_recipe_id", "gold_ids", "targets"),
    ):
        rows = [{"user_input": q, name: list(QRELS[q])} for q in QRELS]
        assert qrels_of(FORMS[form](tmp_path / "golden", rows)).to_dict() == QRELS, name
    for name in (
        *("retrieved_doc_ids", "retrieved_context_ids", "source_documents", "matches", "ids"),
        *("chunk_ids", "results", "hits"),
    ):
        rows = [{"id": q, "question": "what", name: RUN[q]} for q in RUN]
        run = run_of(FORMS[form](tmp_path / "run", rows))
        assert {q: list(documents) for q, documents in run.to_dict().items()} == RUN, name
    rows = [{"query": "q1", "target_id": target, "lang": "de"} for target in "ab"]
    data = FORMS[form](tmp_path / "single", rows)
    assert qrels_of(data).to_dict() == {"q1": {"a": 1, "b": 1}}, "one expected document a row"


@pytest.mark.parametrize("form", [form for form in FORMS if form != "columns"])
def test_texts_are_no_ids(form: str, tmp_path: Path) -> None:
    rows = [{"query_id": "q1", "contexts": ["Some text."], "answers": ["Some text."]}]
    data = FORMS[form](tmp_path / "golden", rows)
    for make in (qrels_of, run_of):
        with pytest.raises(InputError, match=r"'contexts', 'answers'.*--doc-key"):
            make(data)


@pytest.mark.parametrize("form", FORMS)
def test_keys_for_the_rest(form: str, tmp_path: Path) -> None:
    rows = [{"frage": "q1", "treffer": "a", "note": 2}, {"frage": "q1", "treffer": "b", "note": 1}]
    data = FORMS[form](tmp_path / "golden", rows)
    keys = {"query_key": "frage", "doc_key": "treffer"}
    assert qrels_of(data, **keys, grade_key="note").to_dict() == {"q1": {"a": 2, "b": 1}}
    assert run_of(data, **keys, score_key="note").to_dict() == {"q1": {"a": 2.0, "b": 1.0}}
    with pytest.raises(InputError, match="'note' may hold it"):
        run_of(data, **keys)
    data = FORMS[form](tmp_path / "run", [{"query_id": "q1", "doc_id": "a", "score": 2}])
    for key in ("query_key", "doc_key", "score_key"):
        with pytest.raises(InputError, match="'typo' among 'query_id', 'doc_id', 'score'"):
            run_of(data, **{key: "typo"})


def test_keys_on_the_command_line(tmp_path: Path, rankscope: Rankscope) -> None:
    rows = [{"frage": q, "gut": list(QRELS[q])} for q in QRELS]
    golden = FILES[".jsonl"](tmp_path / "golden", rows)
    run = FILES[".csv"](tmp_path / "run", RECORDS)
    keys = ("--query-key", "frage", "--doc-key", "gut")
    assert "0.75" in rankscope("evaluate", golden, run, "-m", "RR", *keys).stdout
    assert golden in rankscope("evaluate", golden, run, "-m", "RR").stderr
    pairs = FILES[".csv"](tmp_path / "pairs", PAIRS["qrels"])
    for key in ("--query-key", "--doc-key", "--grade-key"):
        for command in (["evaluate", pairs, pairs], ["convert", pairs, "out", "--kind", "qrels"]):
            done = rankscope(*command, key, "typo")
            assert (done.returncode, done.stdout) == (2, "")
            assert f"'typo' ({key}," in done.stderr
        done = rankscope("evaluate", "no-such-file", pairs, key, "typo")
        assert "no-such-file" in done.stderr, "the first error, not that nothing had the key"


OPTIONS: dict[str, Callable[..., float]] = {
    "evaluate": lambda qrels, run, **o: rs.evaluate(qrels, run, "RR", **o)["RR"],
    "compare": lambda qrels, run, **o: (
        rs.compare(qrels, {"a": run, "b": run}, "RR", **o).means[0].mean
    ),
    "gate": lambda qrels, run, **o: rs.gate(run, run, "RR", qrels=qrels, **o).checks[0].candidate,
}


@pytest.mark.parametrize("door", OPTIONS)
def test_keys_and_duplicates_through_every_door(door: str, tmp_path: Path) -> None:
    golden = [{"frage": q, "gut": list(QRELS[q])} for q in QRELS]
    pairs = [{"frage": q, "treffer": d, "wert": 9 - n} for q in RUN for n, d in enumerate(RUN[q])]
    run = FILES[".csv"](tmp_path / "run", [*pairs, pairs[-1]])
    keys = {"query": "frage", "score": "wert", "duplicates": "first"}
    qrels = rs.Qrels(golden, query_key="frage", doc_key="gut")
    assert OPTIONS[door](qrels, run, **keys, doc="treffer") == RR
    with pytest.raises(InvalidDataError, match="RS106"):
        OPTIONS[door](qrels, run, **{**keys, "duplicates": None}, doc="treffer")
    with pytest.raises(TypeError, match="treffer_key"):
        OPTIONS[door](qrels, run, treffer_key="treffer")


def test_keys_of_a_config(tmp_path: Path) -> None:
    golden = [{"frage": q, "text": "what", "gut": list(QRELS[q])} for q in QRELS]
    _written(".json")(tmp_path / "golden", golden)
    _written(".csv")(tmp_path / "corpus", [{"gut": d, "text": "text"} for d in "abcxy"])
    run = [{"wer": q, "was": d, "wie": n} for q in RUN for n, d in enumerate([*RUN[q], RUN[q][0]])]
    _written(".csv")(tmp_path / "run", run)
    config = tmp_path / "bench.yaml"
    config.write_text(
        "name: doors\ncollection: {corpus: corpus.csv, queries: golden.json, qrels: golden.json,\n"
        "  query_key: frage, doc_key: gut}\nmeasures: [RR]\ndiagnosis: [ties]\nsystems:\n"
        "  a: {run: {path: run.csv, query_key: wer, doc_key: was, score_key: wie,"
        " duplicates: best}}\n"
    )
    result = rs.run_benchmark(config, output=tmp_path / "out")
    assert result.report.collection.documents == 5
    assert result.report.systems[0].measures[0].value == RR
    config.write_text(config.read_text().replace("frage", "typo"))
    with pytest.raises(InputError, match="name one of them typo"):
        rs.run_benchmark(config, output=tmp_path / "out2")


def test_a_field_of_documents_that_is_not_there() -> None:
    documents = [_langchain("x", source="a.pdf")]
    assert rs.evaluate({"q1": ["a.pdf"]}, {"q1": documents}, "RR", doc="source")["RR"] == 1
    with pytest.raises(InputError, match=r"a document has no 'typo', .* holds 'source'"):
        rs.Run({"q1": documents}, doc_key="typo")
    with pytest.raises(InputError, match=r"'typo'.*; there are 'source'"):
        rs.evaluate({"q1": ["a.pdf"]}, {"q1": documents}, "RR", doc="typo")
    with pytest.raises(InputError, match="expected documents with a field 'typo'"):
        rs.Run([{"query_id": "q1", "retrieved": ["a", "b"]}], doc_key="typo")


# --- lists of lists, sets, documents


@pytest.mark.parametrize("door", [name for name in DOORS if name != "validate"])
def test_lists_of_lists_and_one_query_as_two_lists(door: str) -> None:
    for lists in ([["a"], ["b", "c"]], [{"a"}, {"b", "c"}], ({"a"}, ["b", "c"])):
        assert DOORS[door](lists, [["x", "a"], ["c", "y", "b"]]) == RR
    for relevant in (["a"], {"a"}, ("a", "b")):
        assert DOORS[door](relevant, ["x", "a"]) == 1 / 2


def test_rows_are_not_lists() -> None:
    assert rs.Qrels([["q1", "a", 2]]).to_dict() == {"q1": {"a": 2}}
    assert rs.Qrels([("q1", "a"), ("q1", "b")]).to_dict() == {"q1": {"a": 1, "b": 1}}
    assert rs.Run([["a", "b", "c"]]).to_dict() == {"1": {"a": -1.0, "b": -2.0, "c": -3.0}}
    assert rs.Run([("a", 0.5), ("b", 0.4)]).to_dict() == {"1": {"a": 0.5, "b": 0.4}}


def _langchain(own_id: str, **metadata: Any) -> Any:
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
    assert list(rs.Qrels({"q1": [item for item in documents if not isinstance(item, tuple)]})) == [
        "q1"
    ]


def test_a_document_without_an_id() -> None:
    documents = [SimpleNamespace(id=None, page_content="", metadata={"source": "a.pdf", "page": 3})]
    with pytest.raises(InputError, match=r"metadata, which holds 'source', 'page'; .*doc_key"):
        rs.Run({"q1": documents})
    assert rs.Run({"q1": documents}, doc_key="source").to_dict() == {"q1": {"a.pdf": -1.0}}


@pytest.mark.parametrize("door", ["evaluate", "several", "compare", "gate"])
def test_chroma(door: str) -> None:
    answer = {
        "ids": [["x", "a"], ["c", "y", "b"]],
        "distances": [[0.1, 0.4], [0.2, 0.3, 0.9]],
        "documents": None,
        "metadatas": [[None, None], [None, None, None]],
        "included": ["distances", "metadatas"],
    }
    assert DOORS[door]([["a"], ["b", "c"]], answer) == RR
    assert rs.Run(answer)["1"] == {"x": -0.1, "a": -0.4}
    assert rs.Run({**answer, "distances": None})["1"] == {"x": -1.0, "a": -2.0}


def test_scores_for_all_or_none() -> None:
    with pytest.raises(InputError, match="'q1' has 1 documents without a score among 2"):
        rs.Run({"q1": [_haystack("x", 0.9), _haystack("a", None)]})


@pytest.mark.parametrize(
    ("scores", "codes"), [((0.9, 0.5), set()), ((0.1, 0.5), {"RS114"}), ((0.5, 0.5), {"RS123"})]
)
def test_rising_and_equal_scores_are_said(scores: tuple[float, float], codes: set[str]) -> None:
    run = [[_haystack("x", scores[0]), _haystack("a", scores[1])]]
    findings = rs.evaluate([["a"]], run, "RR").findings
    assert {finding.code for finding in findings} & {"RS114", "RS123"} == codes


# --- duplicates


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
    with pytest.raises(UnknownNameError, match="duplicates"):
        run_of(data, duplicates="last")


def test_duplicates_on_the_command_line(tmp_path: Path, rankscope: Rankscope) -> None:
    (tmp_path / "a.run").write_text(
        "q1 Q0 x 1 0.9 t\nq1 Q0 a 2 0.5 t\nq1 Q0 x 3 0.4 t\nq2 Q0 c 1 1.0 t\n"
    )
    qrels = FILES[".json"](tmp_path / "golden", RECORDS)
    for arguments, code in (
        (["evaluate", qrels, "a.run", "-m", "RR"], 2),
        (["compare", qrels, "a.run", qrels, "-m", "RR"], 2),
        (["runs", "validate", "a.run"], 1),
    ):
        done = rankscope(*arguments)
        assert done.returncode == code
        assert "RS106" in done.stdout + done.stderr
        assert rankscope(*arguments, "--duplicates", "first").returncode == 0


@pytest.mark.parametrize("names", [("id", "question"), ("question",), ("user_input",)])
def test_a_topic_beside_a_question_is_what_it_is_about(names: tuple[str, ...]) -> None:
    records = [
        {**dict.fromkeys(names, text), "topic": "care", "expected_ids": ids, "retrieved_ids": ids}
        for text, ids in (("how?", ["a"]), ("when?", ["b", "c"]))
    ]
    assert rs.Qrels(records).query_ids == ["how?", "when?"]
    assert rs.Run(records).query_ids == ["how?", "when?"]
    assert list(rs.Queries(records)) == ["how?", "when?"]
    trec = [{"topic": "301", "query": "text", "expected_ids": ["a"]}]
    assert list(rs.Qrels(trec).query_ids) == list(rs.Queries(trec)) == ["301"]


def test_a_query_without_documents_must_be_text_too() -> None:
    with pytest.raises(rs.InputError, match="lone surrogate"):
        rs.Run({"\udc80": [], "q": ["d"]})


def test_lists_of_three_whole_numbers_are_asked_about() -> None:
    for lists in ([[1, 2, 3], [4, 5, 6]], [["1", "2", "3"]]):
        with pytest.raises(InputError, match="may be rows"):
            rs.Run(lists)
        with pytest.raises(InputError, match="may be rows"):
            rs.Qrels(lists)
    assert rs.Run([[9, 1], [3, 8, 2]]) == rs.Run({"1": ["9", "1"], "2": ["3", "8", "2"]})
    assert rs.Run([(1, 2, 3)]) == rs.Run({"1": {"2": 3.0}})
    assert rs.Run([["1", "2", 0.5]]) == rs.Run({"1": {"2": 0.5}})
