"""The bundled clinical phrases: as many as they should be, and in the form of cases.

That their ids are current terms of HPO: `slow/test_hpo.py`.
"""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

from rankscope.benchmark.case_schema import ENUMERATIONS, CaseFile

FILES = {
    "german/standard_v1.json": 200,
    "english/standard_v1.json": 200,
    "french/small_v1.json": 50,
    "spanish/small_v1.json": 50,
    "dutch/small_v1.json": 50,
}


def cases_of(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(
        (files("rankscope") / "data" / "hpo").joinpath(*name.split("/")).read_text("utf-8")
    )
    return data


@pytest.mark.parametrize(("name", "size"), FILES.items())
def test_sizes_and_cells(name: str, size: int) -> None:
    data = cases_of(name)
    cases = data["test_cases"]
    assert len(cases) == size
    categories = Counter(case["category"] for case in cases)
    assert categories == dict.fromkeys(ENUMERATIONS["category"], size // 5)
    cells = Counter((case["category"], case["difficulty"]) for case in cases)
    assert len(cells) == 15, "every category has easy, medium and hard cases"
    assert len({case["text"].casefold() for case in cases}) == len(cases)
    ids = [case["case_id"] for case in cases]
    language = data["metadata"]["language"]
    assert len(set(ids)) == len(ids)
    assert all(case_id.startswith(f"{language}_") for case_id in ids)
    CaseFile.model_validate(data, strict=True)
