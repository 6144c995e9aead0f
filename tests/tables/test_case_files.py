"""Case files: texts with the ids they should find, alone and in folders, as qrels and queries."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankscope as rs
from rankscope.errors import InputError
from rankscope.scoring.judgments import Judgments
from rankscope.tables.cases import case_files_in, folder_language, has_case_files, language_code

CASES: list[dict[str, Any]] = [
    {"text": "Anasarka", "expected_hpo_ids": ["HP:0012050"], "description": "Anasarca"},
    {"text": "Tremor und Klonus", "expected_hpo_ids": ["HP:0002169", "HP:0001337"]},
]
GRADES = {
    "Anasarka": {"HP:0012050": 1},
    "Tremor und Klonus": {"HP:0002169": 1, "HP:0001337": 1},
}


def written(path: Path, data: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        assert isinstance(data, list)
        path.write_text("".join(json.dumps(case) + "\n" for case in data))
    else:
        path.write_text(json.dumps(data))
    return path


def both(path: Path) -> tuple[rs.Qrels, rs.Queries]:
    """Read a golden set twice; the readers agree on the ids and their order."""
    qrels, queries = rs.read_qrels(path), rs.read_queries(path)
    assert qrels.query_ids == queries.ids
    return qrels, queries


# --- forms


def table_of(cases: list[dict[str, Any]]) -> pl.DataFrame:
    """Return cases with lists as text, as a cell has them."""
    return pl.DataFrame(
        [{n: ";".join(v) if n[0] == "e" else v for n, v in c.items()} for c in cases]
    )


def file_of(form: str, folder: Path, cases: list[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"cases.{form if form in ('jsonl', 'csv', 'tsv', 'parquet') else 'json'}"
    if form in ("csv", "tsv"):
        table_of(cases).write_csv(path, separator="," if form == "csv" else "\t")
    elif form == "parquet":
        pl.DataFrame(cases).write_parquet(path)
    elif form == "columns":
        written(path, pl.DataFrame(cases).to_dict(as_series=False))
    else:
        wrapped = {"metadata": {"version": "1"}, form: cases}
        written(path, wrapped if form.endswith("cases") else cases)
    return path


FORMS = ["list", "jsonl", "test_cases", "cases", "columns", "csv", "tsv", "parquet"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form(form: str, tmp_path: Path) -> None:
    for name, folder in (("hpo", "german"), ("mondo", "en"), ("", "other")):
        expected = f"expected_{name}_ids" if name else "expected_ids"
        cases = [{"text": c["text"], expected: c["expected_hpo_ids"]} for c in CASES]
        qrels, queries = both(file_of(form, tmp_path / folder, cases))
        assert qrels.to_dict() == GRADES
        assert list(qrels["Tremor und Klonus"]) == ["HP:0002169", "HP:0001337"]
        assert dict(queries.items()) == {text: text for text in GRADES}
        assert expected in queries.metadata_of("Anasarka")
        code = {"german": "de", "en": "en"}.get(folder)
        assert qrels.languages == (dict.fromkeys(GRADES, code) if code else {})
        assert queries.metadata_of("Anasarka").get("language") == code


@pytest.mark.parametrize("form", FORMS)
def test_ids(form: str, tmp_path: Path) -> None:
    for id_name in ("case_id", "id", "_id", "query_id"):
        cases = [{id_name: number, **case} for number, case in enumerate(CASES, start=7)]
        qrels, queries = both(file_of(form, tmp_path, cases))
        assert queries.ids == ["7", "8"]
        assert queries["7"] == "Anasarka"
        assert queries.metadata_of("7")["description"] == "Anasarca"
        assert id_name not in queries.metadata_of("7")
        assert qrels.questions.texts == {"7": "Anasarka", "8": "Tremor und Klonus"}
        assert qrels.questions.column == "text"


def test_objects() -> None:
    wrapped = {"metadata": {"language": "German"}, "test_cases": CASES}
    for data in (CASES, wrapped, pl.DataFrame(CASES), pd.DataFrame(CASES), tuple(CASES)):
        assert rs.Qrels(data).to_dict() == GRADES
        assert rs.Queries(data).ids == list(GRADES)
        run = {"Anasarka": ["HP:0012050"], "Tremor und Klonus": ["x", "HP:0001337"]}
        assert rs.evaluate(data, run, "RR")["RR"] == 0.75
    assert rs.evaluate_retriever(run.get, wrapped, k=2).means["RR@2"] == 0.75
    assert rs.Qrels(CASES[0]).to_dict() == {"Anasarka": {"HP:0012050": 1}}


def test_case_ids_win_over_what_else_may_be_one(tmp_path: Path) -> None:
    case = {"id": "i", "case_id": "c", "text": "t", "question": "q", "expected_hpo_ids": ["d"]}
    qrels, queries = both(written(tmp_path / "cases.json", [case]))
    assert (qrels.query_ids, queries["c"]) == (["c"], "t")
    assert queries.metadata_of("c")["id"] == "i"
    asked = [{"question": "why?", "expected_term_ids": ["d"]}]
    assert both(written(tmp_path / "cases.json", asked))[1].ids == ["why?"]
    golden = [{"case_id": "c", "question": "why?", "relevant_ids": ["d"]}]
    assert both(written(tmp_path / "golden.json", golden))[1].ids == ["c"]


def test_other_golden_sets_stay_what_they_are(tmp_path: Path) -> None:
    for golden in (
        {"question": "q", "expected_ids": ["a"], "text": "t"},
        {"query": "q", "relevant_ids": ["a"], "text": "t"},
    ):
        qrels, queries = both(written(tmp_path / "de" / "golden.json", [golden]))
        assert qrels.query_ids == ["q"]
        assert list(qrels["q"]) == ["a"]
        assert qrels.languages == {}
        assert "language" not in queries.metadata_of("q")


def test_order_is_that_of_the_file_also_without_a_term(tmp_path: Path) -> None:
    nothing = {"text": "nothing", "expected_hpo_ids": []}
    marked = {"text": "marked", "expected_hpo_ids": [], "no_answer": True}
    unsaid = {"text": "unsaid", "no_answer": True}
    path = written(tmp_path / "cases.json", [nothing, CASES[0], marked, CASES[1], unsaid])
    qrels, _ = both(path)
    assert qrels.query_ids == ["nothing", "Anasarka", "marked", "Tremor und Klonus", "unsaid"]
    assert qrels.to_dict() == {"nothing": {}, **GRADES, "marked": {}, "unsaid": {}}
    assert qrels.no_answer == ("marked", "unsaid")
    judgments = Judgments(qrels)
    assert judgments.query_ids == ("nothing", "Anasarka", "Tremor und Klonus")
    assert judgments.listed == tuple(qrels.query_ids)


def test_keys(tmp_path: Path) -> None:
    cases = [{"case_id": "c", "text": "t", "expected_hpo_ids": ["a"], "expected_mondo_ids": ["b"]}]
    path = written(tmp_path / "cases.json", cases)
    with pytest.raises(InputError, match="relevant='expected_hpo_ids'"):
        rs.read_qrels(path)
    columns: Any = {"query": "text", "relevant": "expected_mondo_ids"}
    assert rs.evaluate(path, {"t": ["b"]}, "RR", **columns)["RR"] == 1
    assert rs.read_qrels(path, **columns).to_dict() == {"t": {"b": 1}}
    with pytest.raises(InputError, match="typo"):
        rs.read_qrels(path, relevant="typo")


def test_what_was_retrieved_may_be_beside_what_is_expected(tmp_path: Path) -> None:
    for id_name in ({}, {"case_id": "c"}):
        case = {**id_name, **CASES[0], "retrieved_ids": ["x", "HP:0012050"]}
        for path in (
            written(tmp_path / "cases.json", {"metadata": {}, "test_cases": [case]}),
            written(tmp_path / "cases.jsonl", [case]),
        ):
            assert rs.evaluate(path, path, "RR")["RR"] == 0.5
    with pytest.raises(InputError, match="retrieved="):
        rs.read_run(written(tmp_path / "cases.json", CASES))


def test_a_run_by_case_id(tmp_path: Path) -> None:
    cases = [{"case_id": f"c{n}", **case} for n, case in enumerate(CASES)]
    run = [{"case_id": f"c{n}", "retrieved_ids": ["HP:0012050"]} for n in range(2)]
    path = written(tmp_path / "cases.json", cases)
    assert rs.evaluate(path, written(tmp_path / "run.json", run), "RR")["RR"] == 0.5
    by_text = {"Anasarka": ["HP:0012050"]}
    assert rs.evaluate(path, by_text, "RR")["RR"] == 0.5, "cases have both, ids and texts"
    assert rs.evaluate(path, by_text, "RR", query="text")["RR"] == 0.5


# --- languages


def test_codes_and_folders_of_languages() -> None:
    codes = {"German": "de", " de_AT ": "de", "zh-Hans-CN": "zh", "Deutsch": "deutsch", "": ""}
    assert {text: language_code(text) for text in codes} == codes
    assert folder_language("cases/German/a.json") == "de"
    assert folder_language(Path("nl") / "a.json") == "nl"
    for path in ("cases/klingon/a.json", "cases/de-DE/a.json", "-"):
        assert folder_language(path) is None


def test_whose_language_counts(tmp_path: Path) -> None:
    cases = [
        {"text": "own", "language": "French", "expected_ids": []},
        {"text": "nested", "metadata": {"language": "es-MX"}, "expected_ids": []},
        {"text": "null", "language": None, "expected_ids": []},
        {"text": "blank", "language": " ", "expected_ids": []},
        {"text": "unsaid", "expected_ids": ["a"]},
    ]
    data = {"metadata": {"language": "DE-de"}, "test_cases": cases}
    expected = {"own": "fr", "nested": "es", "null": "de", "blank": "de", "unsaid": "de"}
    qrels, queries = both(written(tmp_path / "italian" / "cases.json", data))
    assert qrels.languages == expected
    assert {query: queries.metadata_of(query)["language"] for query in queries} == expected
    qrels, queries = both(written(tmp_path / "none" / "cases.json", cases))
    assert qrels.languages == {"own": "fr", "nested": "es"}
    assert "language" not in queries.metadata_of("null")


def test_languages_are_carried_and_not_compared(tmp_path: Path) -> None:
    unanswered = [*CASES, {"text": "none", "expected_hpo_ids": [], "no_answer": True}]
    qrels = rs.read_qrels(written(tmp_path / "german" / "cases.json", unanswered))
    assert qrels == rs.Qrels({**GRADES, "none": {}})
    assert qrels.languages == dict.fromkeys([*GRADES, "none"], "de")
    assert qrels.without({"Anasarka", "none"}).languages == {"Tremor und Klonus": "de"}
    assert pickle.loads(pickle.dumps(qrels)).languages == qrels.languages
    assert Judgments(qrels).languages == qrels.languages
    assert rs.Qrels(GRADES).languages == Judgments(GRADES).languages == {}


# --- folders


def test_a_folder(tmp_path: Path) -> None:
    written(tmp_path / "german" / "b.json", CASES[:1])
    written(tmp_path / "german" / "a.json", CASES[1:])
    written(tmp_path / "z.json", [{"case_id": "c", "text": "t", "expected_hpo_ids": ["d"]}])
    written(tmp_path / "config.json", {"k": 10, "models": ["a"]})
    written(tmp_path / "too" / "deep" / "x.json", CASES)
    written(tmp_path / ".hidden.json", CASES)
    written(tmp_path / ".git" / "x.json", CASES)
    (tmp_path / "notes.txt").write_text("{")
    qrels, queries = both(tmp_path)
    assert qrels.query_ids == ["Tremor und Klonus", "Anasarka", "c"]
    assert qrels.languages == {"Tremor und Klonus": "de", "Anasarka": "de"}
    assert queries.metadata_of("Anasarka")["language"] == "de"
    files = [path.relative_to(tmp_path).as_posix() for path in case_files_in(tmp_path)]
    assert files == ["config.json", "german/a.json", "german/b.json", "z.json"]
    both(tmp_path / "german")
    (tmp_path / "german" / "c.json.gz").write_bytes(
        gzip.compress(json.dumps([{"text": "packed", "expected_hpo_ids": ["d"]}]).encode())
    )
    assert both(tmp_path)[0].query_ids == ["Tremor und Klonus", "Anasarka", "packed", "c"]


def test_two_languages_share_a_text_or_an_id(tmp_path: Path) -> None:
    written(tmp_path / "german" / "a.json", CASES)
    written(
        tmp_path / "german" / "b.json", [{"case_id": "c", "text": "t", "expected_hpo_ids": ["d"]}]
    )
    written(tmp_path / "english" / "a.json", [CASES[0], {"case_id": "c", **CASES[1]}])
    written(tmp_path / "other" / "a.json", [{"text": "x", "expected_hpo_ids": ["a"]}])
    qrels, queries = both(tmp_path)
    ids = ["en:Anasarka", "en:c", "de:Anasarka", "de:Tremor und Klonus", "de:c", "x"]
    assert qrels.query_ids == ids
    assert qrels.languages == dict(zip(ids, ["en", "en", "de", "de", "de"], strict=False))
    assert queries["de:Anasarka"] == "Anasarka"


def test_one_language_twice(tmp_path: Path) -> None:
    written(tmp_path / "german" / "standard_v1.json", CASES)
    written(tmp_path / "german" / "tiny_v1.json", CASES[:1])
    for read in (rs.read_qrels, rs.read_queries):
        with pytest.raises(InputError, match=r"standard_v1.*tiny_v1.*Anasarka"):
            read(tmp_path)
    named = [{"case_id": "c", **case} for case in CASES[:1]]
    written(tmp_path / "german" / "standard_v1.json", named)
    for other in (named, [{"text": "c", "expected_ids": []}]):
        written(tmp_path / "german" / "tiny_v1.json", other)
        with pytest.raises(InputError, match="'c' in one language"):
            rs.read_qrels(tmp_path)


def test_links(tmp_path: Path) -> None:
    home = tmp_path / "cases"
    written(home / "german" / "a.json", CASES)
    for name, target in (("loop", home), ("up", tmp_path), ("again", home / "german")):
        (home / name).symlink_to(target, target_is_directory=True)
    (home / "b.json").symlink_to(home / "german" / "a.json")
    assert len(case_files_in(home)) == 1
    assert both(home)[0].to_dict() == GRADES
    (home / "lost.json").symlink_to(home / "nowhere.json")
    with pytest.raises(InputError, match=r"lost\.json"):
        rs.read_qrels(home)
    (home / "lost.json").unlink()
    (home / "round.json").symlink_to(home / "round.json")
    with pytest.raises(InputError, match=r"round\.json"):
        rs.read_queries(home)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    written(tmp_path / "german" / "a.json", CASES)
    broken = tmp_path / "german" / "broken.json"
    broken.write_text('[{"text": ')
    with pytest.raises(InputError, match=r"broken\.json:1"):
        rs.read_qrels(tmp_path)
    broken.unlink()
    os.mkfifo(broken)
    with pytest.raises(InputError, match=r"broken\.json: .*regular"):
        rs.read_queries(tmp_path)
    broken.unlink()
    empty = tmp_path / "empty"
    empty.mkdir()
    for read in (rs.read_qrels, rs.read_queries):
        with pytest.raises(InputError, match="is a folder"):
            read(empty)
    written(empty / "config.json", {"k": 1})
    assert not has_case_files(empty)
    with pytest.raises(InputError, match="is a folder"):
        rs.read_qrels(empty)


# --- what is wrong


GOOD = CASES[0]
BAD: dict[str, object] = {
    "null id": [{**GOOD, "case_id": None}],
    "empty id": [{**GOOD, "case_id": ""}],
    "nested lists": [{**GOOD, "expected_hpo_ids": [["a"]]}],
    "metadata that are a list": {"metadata": ["de"], "test_cases": [GOOD]},
    "a case's language": [{**GOOD, "language": 3}],
    "no object": [GOOD, "Anasarka"],
    "a text twice": [GOOD, GOOD],
    "an id twice": [{"case_id": 1, **CASES[0]}, {"case_id": "1", **CASES[1]}],
    "an answer to none": [{**GOOD, "no_answer": True}],
    "no case at all": {"metadata": {}, "test_cases": []},
    "no list of cases": {"metadata": {}, "test_cases": None},
    "an odd mark": [{**GOOD, "no_answer": "perhaps"}],
    "a term twice": [{"text": "t", "expected_hpo_ids": ["a", "a"]}],
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused(case: str, tmp_path: Path) -> None:
    path = written(tmp_path / "cases.json", BAD[case])
    with pytest.raises(InputError) as error:
        rs.read_qrels(path)
    assert str(error.value).startswith(f"{path}")
    assert "\n" not in str(error.value)
