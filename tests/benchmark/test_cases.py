"""``rankscope cases``: golden sets, with an ontology and without; schema; bundled ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from benchmark.world import cli
from rankscope.benchmark.case_schema import case_schema, size_of
from rankscope.benchmark.case_validation import CasesValidation, validate_cases
from rankscope.errors import InputError


def validated(
    tmp_path: Path, cases: list[dict[str, Any]], language: str = "", **given: Any
) -> CasesValidation:
    data = {"metadata": {"language": language}, "test_cases": cases} if language else cases
    path = tmp_path / "golden.json"
    path.write_text(json.dumps(data))
    return validate_cases(path, **given)


def codes(validation: CasesValidation) -> list[str]:
    return [finding.code for finding in validation.findings]


GOOD: list[dict[str, Any]] = [
    {"id": "1", "question": "How do I descale?", "expected_ids": ["a", "b"]},
    {"id": "2", "question": "What is covered?", "expected_ids": ["c"]},
]


def test_more_questions_show_smaller_differences(tmp_path: Path) -> None:
    many = [{"question": f"question {n}", "expected_ids": [f"d{n}"]} for n in range(100)]
    few, more = validated(tmp_path, many[:10]).visible, validated(tmp_path, many).visible
    assert few is not None
    assert more is not None
    assert more == pytest.approx(0.0849, abs=1e-3)  # 2.8 · 0.3 / √100
    assert few > 3 * more


def asked(question: str, *ids: str, **more: Any) -> dict[str, Any]:
    return {"id": question, "question": question, "expected_ids": [*ids], **more}


COMA = [
    {"id": f"{code}-{n}", "text": "Coma", "language": code, "expected_ids": ["a"]}
    for n, code in enumerate(["en", "fr", "fr"])
]


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    for cases, expected in (
        ([*GOOD, asked("how do i  DESCALE?", "a")], ["RS221"]),
        (COMA[:2], []),  # a word that two languages share
        (COMA, ["RS221"]),
        ([*GOOD, asked("nothing?")], ["RS212"]),
        ([*GOOD, asked("nothing?", no_answer=True)], []),
        ([asked("why?", "a", "a")], ["RS206"]),
    ):
        result = validated(tmp_path, cases)
        assert (codes(result), result.ok) == (expected, expected != ["RS206"])


def test_documents_that_are_not_there_and_sets_that_cannot_be_read(tmp_path: Path) -> None:
    result = validated(tmp_path, GOOD, corpus={"a": "x", "b": "y", "c": "z"})
    assert (result.ok, result.questions, result.expected, codes(result)) == (True, 2, 3, [])
    [finding] = validated(tmp_path, GOOD, corpus={"a": "x", "c": "z"}).findings
    assert (finding.code, finding.count, finding.places[0].doc_id) == ("RS166", 1, "b")
    unreadable = validated(tmp_path, [{"id": "1", "expected_ids": ["a"]}])
    assert (unreadable.ok, codes(unreadable)) == (False, ["RS220"])
    twice = [{"id": name, "text": "t", "expected_ids": ["a"]} for name in ("1", "1", "2")]
    assert codes(validated(tmp_path, [*twice, {"id": "3"}])) == ["RS220", "RS220", "RS221"]
    with pytest.raises(InputError, match="name of a file"):
        validate_cases("-")


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("g.csv", 'id,question,expected_ids\n1,a,x\n1,b,y\n,c,z\n3,d,"[""q"",""q""]"\n', [3, 4, 5]),
        (
            "g.jsonl",
            '{"id": 1, "question": "a", "expected_ids": ["x"]}\n{"id": 2}\n\nno JSON\n',
            [2, 4],
        ),
    ],
)
def test_every_line_that_is_wrong_is_listed(
    tmp_path: Path, name: str, text: str, lines: list[int]
) -> None:
    (tmp_path / name).write_text(text)
    result = validate_cases(tmp_path / name)
    unreadable = [finding for finding in result.findings if finding.code == "RS220"]
    assert [place.line for finding in unreadable for place in finding.places] == lines
    (tmp_path / "no.csv").write_text("foo,bar\n1,a\n2,b\n")
    with pytest.raises(InputError, match="relevant"):
        validate_cases(tmp_path / "no.csv")


# --- with an ontology ----------------------------------------------------------------------------

OBO = """format-version: 1.2
data-version: toy/2026

[Term]
id: HP:0000001
name: All

[Term]
id: HP:0001250
name: Seizure
alt_id: HP:0001275
synonym: "Fits" EXACT layperson []
is_a: HP:0000001

[Term]
id: HP:0001251
name: Ataxia
is_a: HP:0000001

[Term]
id: HP:0000002
name: obsolete Epilepsy
is_obsolete: true
replaced_by: HP:0001250

[Term]
id: HP:0000003
name: obsolete Something
is_obsolete: true
"""


@pytest.fixture(scope="module")
def obo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("obo") / "hp.obo"
    path.write_text(OBO)
    return path


@pytest.fixture(scope="module")
def ontology(obo: Path) -> rs.Ontology:
    return rs.read_ontology(obo)


def case(*ids: str, text: str = "Krampfanfälle", **fields: Any) -> dict[str, Any]:
    return {"text": text, "expected_hpo_ids": list(ids), **fields}


@pytest.mark.parametrize(
    ("term_id", "code", "word"),
    [
        ("HP:0009999", "RS225", "hp.obo"),
        ("hp:0001250", "RS224", "'hp:0001250'"),
        ("HP:0000002", "RS226", "HP:0001250 (Seizure)"),
        ("HP:0000003", "RS226", "no replacement"),
        ("HP:0001275", "RS227", "HP:0001250 (Seizure)"),
    ],
)
def test_ids_are_looked_up(
    tmp_path: Path, ontology: rs.Ontology, term_id: str, code: str, word: str
) -> None:
    result = validated(tmp_path, [case(term_id)], "de", ontology=ontology)
    [finding] = result.findings
    assert finding.code == code
    assert word in finding.message
    assert finding.places[0].doc_id == term_id
    assert result.ok is (code == "RS227")


def test_good_cases(tmp_path: Path, ontology: rs.Ontology) -> None:
    cases = [case("HP:0001250"), case("HP:0001251", text="x")]
    result = validated(tmp_path, cases, "de", ontology=ontology)
    assert (result.ok, result.findings, result.size) == (True, (), "tiny")
    assert result.ontology is not None
    assert result.ontology.endswith("hp.obo toy/2026")
    groups = [(group.field, group.value, group.cases) for group in result.groups]
    assert groups == [("language", "de", 2)]
    assert validated(tmp_path, [case("HP:0009999")], "de").ok, "only the form is known"
    assert codes(validated(tmp_path, [case("HP:12")], "de")) == ["RS224"]


def test_doubtful_cases(tmp_path: Path, ontology: rs.Ontology) -> None:
    plain = case("HP:0001250")
    for language, cases, expected in (
        ("de", [{**plain, "difficulty": "impossible"}], ["RS228"]),
        ("", [plain, {**plain, "text": "b", "language": "de"}], ["RS229"]),
        ("de", [{**plain, "language": "klingonisch"}], ["RS229"]),
        ("de", [{**plain, "description": "having fits"}], []),
    ):
        assert codes(validated(tmp_path, cases, language, ontology=ontology)) == expected


def test_strata_and_sizes(tmp_path: Path, ontology: rs.Ontology) -> None:
    levels = ("easy", "hard")
    cases = [case("HP:0001250", text=f"t{n}", difficulty=levels[n % 2]) for n in range(60)]
    result = validated(tmp_path, cases, "de", ontology=ontology)
    easy = {(group.field, group.value): group for group in result.groups}["difficulty", "easy"]
    assert easy.cases == 30
    assert result.visible is not None
    assert easy.visible is not None
    assert easy.visible > result.visible
    assert result.size == "small"
    assert [size_of(n) for n in (49, 50, 199, 200, 499, 500)] == [
        *("tiny", "small", "small", "standard", "standard", "comprehensive"),
    ]


# --- the commands --------------------------------------------------------------------------------


def test_validate(tmp_path: Path, obo: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(GOOD))
    bad.write_text(json.dumps([case("HP:0000002")]))
    assert cli("cases", "validate", good)[0] == 0
    assert cli("cases", "validate", good, tmp_path / "none.json")[0] == 2
    assert cli("cases", "validate", bad, "--ontology", obo)[0] == 1
    assert cli("cases", "validate", bad, "--ontology", tmp_path / "no.obo")[0] == 2


def test_schema() -> None:
    status, out, _ = cli("cases", "schema")
    assert (status, json.loads(out)) == (0, case_schema())
