"""``cases validate --ontology``: expected ids, words of the schema, strata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rankscope as rs
from rankscope.benchmark.case_schema import case_schema, size_of
from rankscope.benchmark.golden_sets import CasesValidation, validate_cases
from rankscope.cli import main

OBO = """format-version: 1.2
data-version: toy/2026

[Term]
id: HP:0000001
name: All

[Term]
id: HP:0000118
name: Phenotypic abnormality
is_a: HP:0000001

[Term]
id: HP:0001250
name: Seizure
alt_id: HP:0001275
synonym: "Fits" EXACT layperson []
is_a: HP:0000118

[Term]
id: HP:0001251
name: Ataxia
is_a: HP:0000118

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


def status_of(*arguments: object) -> Any:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


@pytest.fixture(scope="module")
def obo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("obo") / "hp.obo"
    path.write_text(OBO)
    return path


@pytest.fixture(scope="module")
def ontology(obo: Path) -> rs.Ontology:
    return rs.read_ontology(obo)


def validated(
    tmp_path: Path, cases: list[dict[str, Any]], ontology: rs.Ontology | None = None
) -> CasesValidation:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"metadata": {"language": "de"}, "test_cases": cases}))
    return validate_cases(path, ontology=ontology)


def case(*ids: str, text: str = "Krampfanfälle", **fields: Any) -> dict[str, Any]:
    return {"text": text, "expected_hpo_ids": list(ids), **fields}


@pytest.mark.parametrize(
    ("term_id", "code", "message"),
    [
        ("HP:0009999", "RS225", "1 expected id is not in"),
        ("HP:1250", "RS224", "not written as ids of"),
        ("hp:0001250", "RS224", "'hp:0001250'"),
        ("HP:0000002", "RS226", "'HP:0000002', replaced by HP:0001250 (Seizure)"),
        ("HP:0000003", "RS226", "with no replacement named"),
        ("HP:0001275", "RS227", "'HP:0001275', which is HP:0001250 (Seizure)"),
    ],
)
def test_ids_are_looked_up(
    tmp_path: Path, ontology: rs.Ontology, term_id: str, code: str, message: str
) -> None:
    result = validated(tmp_path, [case(term_id)], ontology)
    [finding] = result.findings
    assert finding.code == code
    assert message in finding.message
    assert finding.places[0].doc_id == term_id
    assert result.ok is (code == "RS227")


def test_good_cases(tmp_path: Path, ontology: rs.Ontology) -> None:
    result = validated(tmp_path, [case("HP:0001250"), case("HP:0001251", text="x")], ontology)
    assert (result.ok, result.findings, result.size) == (True, (), "tiny")
    assert result.ontology is not None
    assert result.ontology.endswith("hp.obo toy/2026")
    assert [(group.field, group.value, group.cases) for group in result.groups] == [
        ("language", "de", 2)
    ]


def test_without_an_ontology_only_the_form_is_known(tmp_path: Path) -> None:
    assert validated(tmp_path, [case("HP:0009999")]).ok
    [finding] = validated(tmp_path, [case("HP:12")]).findings
    assert finding.code == "RS224"


def test_words_of_the_schema(tmp_path: Path, ontology: rs.Ontology) -> None:
    cases = [
        case("HP:0001250", difficulty="impossible"),
        case("HP:0001250", text="b", category="exact_match", difficulty="easy"),
    ]
    [finding] = validated(tmp_path, cases, ontology).findings
    assert finding.code == "RS228"
    assert "'impossible'; the schema has easy, medium, hard" in finding.message


def test_doubtful_languages(tmp_path: Path, ontology: rs.Ontology) -> None:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([case("HP:0001250"), case("HP:0001250", text="b", language="de")]))
    assert [f.code for f in validate_cases(path, ontology=ontology).findings] == ["RS229"]
    odd = [case("HP:0001250", language="klingonisch")]
    [finding] = validated(tmp_path, odd, ontology).findings
    assert finding.code == "RS229"


def test_a_mistyped_id_is_another_term(tmp_path: Path, ontology: rs.Ontology) -> None:
    wrong = case("HP:0001250", "HP:0001251", description="Epilepsy with seizures")
    result = validated(tmp_path, [wrong], ontology)
    [finding] = result.findings
    assert (finding.code, finding.severity) == ("RS230", "note")
    assert "'Epilepsy with seizures' expects HP:0001251 (Ataxia)" in finding.message
    assert result.ok
    right = case("HP:0001250", description="having fits")
    assert validated(tmp_path, [right], ontology).findings == ()


def test_strata_and_sizes(tmp_path: Path, ontology: rs.Ontology) -> None:
    cases = [
        case("HP:0001250", text=f"t{n}", difficulty=("easy", "hard")[n % 2]) for n in range(60)
    ]
    result = validated(tmp_path, cases, ontology)
    groups = {(group.field, group.value): group for group in result.groups}
    assert groups["difficulty", "easy"].cases == 30
    visible = groups["difficulty", "easy"].visible
    assert result.visible is not None
    assert visible is not None
    assert visible > result.visible
    assert result.size == "small"
    assert [size_of(n) for n in (0, 9, 49, 50, 199, 200, 499, 500)] == [
        *("tiny", "tiny", "tiny", "small", "small", "standard", "standard", "comprehensive"),
    ]


def test_command(tmp_path: Path, obo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([case("HP:0000002")]))
    status = status_of("cases", "validate", path, "--ontology", obo)
    out = capsys.readouterr().out
    assert status == 1
    assert "replaced by HP:0001250 (Seizure)" in " ".join(out.split())
    assert status_of("cases", "validate", path, "--ontology", tmp_path / "no.obo") == 2


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("cases", "schema") == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema == case_schema()
    fields = schema["$defs"]["Case"]["properties"]
    assert fields["difficulty"]["anyOf"][0]["enum"] == ["easy", "medium", "hard"]
    assert fields["expected_hpo_ids"]["items"]["pattern"] == r"^HP:\d{7}$"
    assert schema["$defs"]["Case"]["required"] == ["text", "expected_hpo_ids"]
