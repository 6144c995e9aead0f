"""What a Chroma collection answers, as a run, also without the ids of queries."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from rankscope.errors import InputError
from rankscope.runs.validation import validate_run
from rankscope.scoring.bounds import bounds

CASES: list[dict[str, Any]] = [
    {"text": "nothing", "expected_hpo_ids": [], "no_answer": True},
    {"text": "Anasarka", "expected_hpo_ids": ["HP:1"]},
    {"text": "Klonus", "expected_hpo_ids": ["HP:2", "HP:3"]},
]
TERMS = [["HP:9"], ["HP:9", "HP:1", "HP:9", "HP:4"], ["HP:2"]]
RR = (1 / 2 + 1) / 2


def entries(terms: list[str], key: str = "hpo_id") -> list[dict[str, Any]]:
    return [{key: term, "label": f"about {term}"} for term in terms]


def answer(*lists: list[str], key: str = "hpo_id", **parts: Any) -> dict[str, Any]:
    return {"metadatas": [entries(terms, key) for terms in lists], **parts}


BATCH = answer(*TERMS)
ONE_EACH = [answer(terms) for terms in TERMS]
EXPECTED = {"1": {"HP:9": -1.0}, "2": {"HP:9": -1.0, "HP:1": -2.0, "HP:4": -3.0}, "3": {"HP:2": -1}}
BY_TEXT = {case["text"]: EXPECTED[str(n)] for n, case in enumerate(CASES, start=1)}


# --- forms


@pytest.mark.parametrize(
    "data",
    [
        BATCH,
        ONE_EACH,
        [answer(*TERMS[:2]), answer(TERMS[2])],
        {"k": 5, "results": ONE_EACH},
        {**BATCH, "documents": None, "embeddings": None, "included": ["metadatas"]},
    ],
)
def test_without_ids_queries_are_numbered(data: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(data))
    for run in (rs.Run(data), rs.read_run(path)):
        assert run.to_dict() == EXPECTED
        assert run.is_numbered
        assert run.in_given_order().is_numbered
        assert run.named("x").is_numbered
        assert pickle.loads(pickle.dumps(run)).is_numbered
    lines = tmp_path / "run.jsonl"
    if isinstance(data, list):
        lines.write_text("".join(json.dumps(each) + "\n" for each in data))
        assert rs.read_run(lines).to_dict() == EXPECTED


@pytest.mark.parametrize("held", ["results", "hits", "response"])
@pytest.mark.parametrize("name", ["case_id", "text", "question"])
def test_with_ids(name: str, held: str, tmp_path: Path) -> None:
    by_query = dict(zip(BY_TEXT, ONE_EACH, strict=True))
    records = [{name: text, held: each, "seconds": 0.1} for text, each in by_query.items()]
    lines = tmp_path / "run.jsonl"
    lines.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert rs.read_run(lines).to_dict() == BY_TEXT
    for data in (by_query, records, {"model": "m", "answers": records}):
        assert rs.Run(data).to_dict() == BY_TEXT
        assert not rs.Run(data).is_numbered
    assert rs.Run(records[1]).to_dict() == {"Anasarka": EXPECTED["2"]}
    assert rs.evaluate({"Anasarka": ["HP:1"]}, records[1], "RR")["RR"] == 0.5


def test_ids_and_texts() -> None:
    records = [
        {"case_id": f"c{n}", "text": case["text"], "results": ONE_EACH[n]}
        for n, case in enumerate(CASES)
    ]
    run = rs.Run([*records, {"case_id": "c3", "text": "t", "results": None}])
    assert run.query_ids == ["c0", "c1", "c2", "c3"]
    assert run.to_dict()["c3"] == {}
    assert (run.questions.column, run.questions.texts["c1"]) == ("text", "Anasarka")
    assert rs.Run(records, query="text").to_dict() == BY_TEXT


def test_distances() -> None:
    """The smaller, the better; of a term that is there twice, the smallest counts."""
    distances = [[0.5], [0.4, 0.3, 0.2, 0.1], [0]]
    run = rs.Run({**BATCH, "distances": distances})
    assert run.to_dict() == {
        "1": {"HP:9": -0.5},
        "2": {"HP:9": -0.2, "HP:1": -0.3, "HP:4": -0.1},
        "3": {"HP:2": 0.0},
    }


# --- which field is the id


def test_names_of_ids() -> None:
    for key in ("HPO-ID", "mondo_id", "term_id", "chunk_id", "my_id", "id"):
        assert rs.Run(answer(*TERMS, key=key)).to_dict() == EXPECTED


def test_terms_win_over_entries() -> None:
    ids = [[f"e{n}" for n, _ in enumerate(terms)] for terms in TERMS]
    assert rs.Run({**BATCH, "ids": ids}).to_dict() == EXPECTED
    assert rs.Run({**answer(*TERMS, key="onto_id"), "ids": ids}).to_dict() == EXPECTED
    # whatever else has an id is something about an entry
    other = [[{"user_id": "u1", "doc_id": "d"} for _ in terms] for terms in TERMS]
    assert list(rs.Run({"ids": ids, "metadatas": other})["2"]) == ids[1]
    assert rs.Run({"ids": ids, "metadatas": other}, doc="doc_id")["2"] == {"d": -1.0}
    some = [*BATCH["metadatas"][:2], [None]]
    with pytest.raises(InputError, match="hpo_id"):
        rs.Run({"ids": ids, "metadatas": some})  # ids of entries would be taken for terms
    twice = {"ids": [["e", "e"]], "metadatas": [[None, None]]}
    with pytest.raises(InputError, match="RS106"):
        rs.Run(twice)


def test_several_fields() -> None:
    plain = {"metadatas": [[{"a_id": "x", "b_id": "1"}, {"a_id": "y", "b_id": "2"}]]}
    with pytest.raises(InputError, match="'a_id', 'b_id'"):
        rs.Run(plain)
    assert list(rs.Run(plain, doc="a_id")["1"]) == ["x", "y"]
    with pytest.raises(InputError, match="typo"):
        rs.Run(plain, doc="typo")


# --- what is wrong

BAD: dict[str, tuple[Any, str]] = {
    "no id": ({"metadatas": [[{"label": "x"}]]}, "'label'"),
    "an object as the id": ({"metadatas": [[{"hpo_id": {"a": 1}}]]}, "expected text"),
    "some without": (
        {"metadatas": [entries(["a"]), [*entries(["b"]), {"label": "x"}]]},
        "hpo_id",
    ),
    "nan": ({**answer(["a"]), "distances": [[float("nan")]]}, "'nan'"),
    "null": ({**answer(["a"]), "distances": [[None]]}, "'None'"),
    "unequal": ({**answer(["a", "b"]), "distances": [[0.1]]}, "do not fit together"),
    "unequal queries": ({**answer(["a"], ["b"]), "distances": [[0.1]]}, "do not fit together"),
    "pairs for metadata": (
        {"metadatas": [[[("hpo_id", "a")]]], "distances": [[0.1]]},
        "do not fit together",
    ),
    "no list": ({"metadatas": [entries(["a"])], "distances": 3}, "do not fit together"),
    "a batch by query": ({"q": answer(["a"], ["b"])}, "query 'q': has 2 lists"),
    "others in a list": ([answer(["a"]), "a"], "cannot make"),
    "some with ids": (
        [{"text": "t", "results": answer(["a"])}, answer(["a"])],
        "retrieved=",
    ),
    "a null query": ([{"text": None, "results": answer(["a"])}], "a query is missing"),
    "a query twice": ([{"text": "t", "results": answer(["a"])}] * 2, "'t' appears twice"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused(case: str, tmp_path: Path) -> None:
    data, message = BAD[case]
    path = tmp_path / "run.json"
    path.write_text(json.dumps(data))
    for make, given in ((rs.Run, data), (rs.read_run, path)):
        with pytest.raises(InputError, match=message) as error:
            make(given)
        assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))


def test_nothing_was_retrieved() -> None:
    for lists, expected in (([[], entries(["a"])], {"1": {}, "2": {"a": -1.0}}), ([], {"1": {}})):
        assert rs.Run({"metadatas": lists}).to_dict() == expected


# --- in the order of the questions


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(CASES))
    return path


@pytest.mark.parametrize("data", [BATCH, ONE_EACH, dict(zip(BY_TEXT, ONE_EACH, strict=True))])
def test_every_door(data: Any, golden: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(data))
    for qrels in (golden, CASES, rs.read_qrels(golden)):
        for run in (data, path, rs.Run(data)):
            scores = rs.evaluate(qrels, run, "RR")
            assert scores["RR"] == RR
            assert scores.run("run").query_ids == ("Anasarka", "Klonus")
    assert rs.compare(golden, {"a": rs.Run(data), "b": path}, "RR").means[0].mean == RR
    assert rs.gate(data, path, "RR", qrels=golden).checks[0].system_mean == RR
    assert rs.explain(golden, data, "Klonus", "RR").value == 1
    assert [bound.value for bound in bounds(golden, data, ["RR"])] == [RR]
    assert validate_run(path, qrels=golden).ok
    assert rs.evaluate(golden, data, "RR", order="given")["RR"] == RR


def test_batches_by_name(golden: Path) -> None:
    scores = rs.evaluate(golden, {"a": BATCH, "b": answer(["HP:9"], ["HP:9"], ["HP:3"])}, "RR")
    assert [scores.run(name).means["RR"] for name in "ab"] == [RR, 0.5]


def test_answers_go_to_a_table_of_questions_in_its_order(golden: Path) -> None:
    questions: list[dict[str, Any]] = [
        {"question": case["text"], "relevant": case["expected_hpo_ids"]} for case in CASES
    ]
    questions[0]["no_answer"] = True
    assert rs.evaluate(questions, BATCH, "RR")["RR"] == RR
    with pytest.raises(InputError, match="2 answers without query ids to 3 questions"):
        rs.evaluate(golden, ONE_EACH[:2], "RR")
    numbered = [{"case_id": number, **case} for number, case in zip((3, 1, 2), CASES, strict=True)]
    with pytest.raises(InputError, match="another order"):
        rs.evaluate(numbered, BATCH, "RR")
    for by_id in ({"a": ["x"], "b": ["HP:1"], "c": ["HP:2"]}, {"1": {"HP:9": 1}, "2": {"HP:1": 1}}):
        with pytest.raises(InputError, match="by position"):
            rs.evaluate(by_id, BATCH, "RR")


ENGINES: dict[str, Any] = {
    "elasticsearch": {
        "hits": {"hits": [{"_id": "b", "_score": 2.0}, {"_id": "a", "_score": 1.0}]},
    },
    "qdrant": {"points": [{"id": "b", "score": 2.0, "payload": {}}, {"id": "a", "score": 1.0}]},
    "qdrant over http": {"result": {"points": [{"id": "b", "score": 2}, {"id": "a", "score": 1}]}},
    "pinecone": {"matches": [{"id": "b", "score": 2}, {"id": "a", "score": 1}], "namespace": ""},
    "openai": {
        "object": "vector_store.search_results.page",
        "data": [{"file_id": "b", "score": 2.0}, {"file_id": "a", "score": 1.0}],
    },
}


@pytest.mark.parametrize("engine", ENGINES)
def test_what_other_engines_answer(engine: str) -> None:
    given = ENGINES[engine]
    records = [{"question": "q", "results": given}]
    for data in ({"q": given}, records, {"q": given, "r": None}):
        assert rs.Run(data)["q"] == {"b": 2.0, "a": 1.0}
    expected = {"b": 2.0, "a": 1.0}
    assert rs.Run([given, given]).to_dict() == {"1": expected, "2": expected}
    assert rs.evaluate([["a"]], given, "RR")["RR"] == 0.5


@pytest.mark.parametrize(
    "data", [{"ids": None, "metadatas": None}, {"ids": [["a"]], "metadatas": [["text"]]}]
)
def test_broken_answers_are_one_sentence(data: Any) -> None:
    with pytest.raises(InputError, match="metadatas"):
        rs.Run(data)


def test_a_retriever_may_answer_so() -> None:
    by_text = dict(zip(BY_TEXT, (answer(terms, key="source") for terms in TERMS), strict=True))
    result = rs.evaluate_retriever(by_text.get, CASES, k=3, measures="RR", id_field="source")
    assert result.means == {"RR": RR}
    assert list(result.answers["Anasarka"]) == ["HP:9", "HP:1", "HP:4"]
