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

SIZES = {"german": 200, "english": 200, "french": 50, "spanish": 50, "dutch": 50}


def cases_of(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(
        (files("rankscope") / "data" / "hpo").joinpath(*name.split("/")).read_text("utf-8")
    )
    return data


ALL = {name: cases_of(name) for name in CASE_FILES}


@pytest.mark.parametrize("name", CASE_FILES)
def test_sizes_and_cells(name: str) -> None:
    folder, _, _ = name.partition("/")
    cases = ALL[name]["test_cases"]
    assert len(cases) == SIZES[folder]
    categories = Counter(case["category"] for case in cases)
    assert categories == dict.fromkeys(ENUMERATIONS["category"], SIZES[folder] // 5)
    cells = Counter((case["category"], case["difficulty"]) for case in cases)
    assert len(cells) == 15, "every category has easy, medium and hard cases"
    assert len({case["text"].casefold() for case in cases}) == len(cases)
    ids = [case["case_id"] for case in cases]
    language = ALL[name]["metadata"]["language"]
    assert len(set(ids)) == len(ids)
    assert all(case_id.startswith(f"{language}_") for case_id in ids)
    CaseFile.model_validate(ALL[name], strict=True)
