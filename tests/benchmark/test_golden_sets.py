"""``rankscope cases validate``: golden sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankscope.benchmark.golden_sets import CasesValidation, validate_cases
from rankscope.cli import main
from rankscope.errors import InputError


def validated(tmp_path: Path, cases: list[dict[str, Any]], **given: Any) -> CasesValidation:
    path = tmp_path / "golden.json"
    path.write_text(json.dumps(cases))
    return validate_cases(path, **given)


def codes(validation: CasesValidation) -> list[str]:
    return [finding.code for finding in validation.findings]


GOOD: list[dict[str, Any]] = [
    {"id": "1", "question": "How do I descale?", "expected_ids": ["a", "b"]},
    {"id": "2", "question": "What is covered?", "expected_ids": ["c"]},
]


def test_a_good_set(tmp_path: Path) -> None:
    result = validated(tmp_path, GOOD, corpus={"a": "x", "b": "y", "c": "z"})
    assert (result.ok, result.questions, result.expected, codes(result)) == (True, 2, 3, [])
    assert result.not_applicable == ()
    assert result.visible is not None
    assert validated(tmp_path, GOOD).not_applicable[0].reason == "no corpus was given"


def test_more_questions_show_smaller_differences(tmp_path: Path) -> None:
    many = [{"question": f"question {n}", "expected_ids": [f"d{n}"]} for n in range(100)]
    few, more = validated(tmp_path, many[:10]).visible, validated(tmp_path, many).visible
    assert few is not None
    assert more is not None
    assert more == pytest.approx(0.0849, abs=1e-3)  # 2.8 · 0.3 / √100
    assert few > 3 * more
    assert validated(tmp_path, many[:1]).visible is None


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    result = validated(tmp_path, GOOD, corpus={"a": "x", "c": "z"})
    [finding] = result.findings
    assert (finding.code, finding.count, finding.places[0].doc_id) == ("RS166", 1, "b")
    assert result.ok
    twice = [*GOOD, {"id": "3", "question": "how do i  DESCALE?", "expected_ids": ["a"]}]
    [finding] = validated(tmp_path, twice).findings
    assert (finding.code, finding.places[0].query_id) == ("RS221", "3")
    alike = [
        {"id": f"{code}-{n}", "text": "Coma", "language": code, "expected_ids": ["a"]}
        for n, code in enumerate(["en", "fr", "fr"])
    ]
    assert codes(validated(tmp_path, alike[:2])) == []  # a word that two languages share
    [finding] = validated(tmp_path, alike).findings
    assert (finding.code, finding.places[0].query_id) == ("RS221", "fr-2")
    same = [{"question": f"question {n}", "expected_ids": ["all"]} for n in range(10)]
    assert codes(validated(tmp_path, same)) == ["RS223"]
    assert codes(validated(tmp_path, same[:9])) == []
    nothing = [*GOOD, {"id": "3", "question": "nothing?", "expected_ids": []}]
    assert codes(validated(tmp_path, nothing)) == ["RS212"]
    marked = [*GOOD, {"id": "3", "question": "nothing?", "expected_ids": [], "no_answer": True}]
    assert codes(validated(tmp_path, marked)) == []


def test_errors(tmp_path: Path) -> None:
    twice = [{"id": "1", "question": "why?", "expected_ids": ["a", "a"]}]
    result = validated(tmp_path, twice)
    assert (result.ok, codes(result)) == (False, ["RS206"])
    with pytest.raises(InputError, match="no text"):
        validated(tmp_path, [{"id": "1", "expected_ids": ["a"]}])
    with pytest.raises(InputError, match="name of a file"):
        validate_cases("-")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(GOOD))
    bad.write_text(json.dumps([{"id": "1", "question": "why?", "expected_ids": ["a", "a"]}]))
    for paths, status in (([good], 0), ([good, bad], 1), ([good, tmp_path / "none.json"], 2)):
        with pytest.raises(SystemExit) as stop:
            main(["cases", "validate", *map(str, paths)])
        assert stop.value.code == status
        printed = " ".join(capsys.readouterr().out.split())
        assert "2 questions, 3 expected documents" in printed
        assert "so few questions" in printed
