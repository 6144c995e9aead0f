"""Paths into answers: what they lead to, and what is said if they lead nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.retrieval.remote.json_paths import JsonPath, NoPathError, Step

ANSWER: dict[str, Any] = {
    "took": 3,
    "hits": {
        "total": {"value": 2},
        "hits": [
            {"_id": "a", "_score": 2.5, "_source": {"secret": "hush"}},
            {"_id": "b", "_score": 1.5, "_source": {}},
        ],
    },
    "ids": [["x", "y"], ["z"]],
    "@odata.count": 7,
    "value": [{"@search.score": 1.0}],
    "none": None,
    "empty": [],
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("hits.hits[*]._id", ["a", "b"]),
        ("hits.total.value", [2]),
        ("hits.hits[1]._id", ["b"]),
        ("ids[0][*]", ["x", "y"]),
        ("ids[*][*]", ["x", "y", "z"]),
        ('["@odata.count"]', [7]),
        ('value[*]["@search.score"]', [1.0]),
        ("empty[*].x.y", []),
        ("missing?[*].id", []),
        ("hits.missing?.x", []),
        ("none[*]?", []),  # null, where a list may be
        ("", [ANSWER]),
    ],
)
def test_paths(path: str, values: list[Any]) -> None:
    assert JsonPath.parse(path).find(ANSWER) == values
    assert JsonPath.parse(path).find_some(ANSWER) == values
    assert str(JsonPath.parse(path)) == path


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("hits.hits[*].id", "_score"),
        ("results[*].id", "took"),
        ("took.x", "a number"),
        ("hits[*]", "total"),
        ("ids[2]", "a list of 2"),
        ("none.x", "null"),
        ("empty[0]", "an empty list"),
    ],
)
def test_a_path_that_leads_nowhere_names_keys_and_no_values(path: str, word: str) -> None:
    with pytest.raises(NoPathError) as caught:
        JsonPath.parse(path).find(ANSWER)
    assert word in str(caught.value)
    assert "hush" not in str(caught.value)
    assert JsonPath.parse(path).find_some(ANSWER) == []


def test_no_names_without_end() -> None:
    for answer in ({f"k{n}" * 9: n for n in range(100)}, {"a\n" * 500: 1}):
        with pytest.raises(NoPathError) as caught:
            JsonPath.parse("x").find(answer)
        assert len(str(caught.value)) < 300


def test_what_is_no_path() -> None:
    for path in (".a", "a..b", "a.", "a[", "a[x]", "a[-1]", "a b", '["a]', "[*]a"):
        with pytest.raises(InputError, match="expected a"):
            JsonPath.parse(path)


@given(
    st.lists(
        st.builds(
            Step, st.none() | st.integers(0, 999) | st.text(min_size=1, max_size=5), st.booleans()
        ),
        max_size=5,
    )
)
def test_a_path_reads_as_it_is_written(steps: list[Step]) -> None:
    path = JsonPath(tuple(steps))
    assert JsonPath.parse(str(path)) == path
