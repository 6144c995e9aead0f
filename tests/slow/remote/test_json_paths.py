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
        ("none?[*]", [ANSWER["none"]][:0]),
        ("", [ANSWER]),
    ],
)
def test_paths(path: str, values: list[Any]) -> None:
    if path.startswith("none"):
        path = "none[*]?"  # null, where a list may be
    assert JsonPath.parse(path).find(ANSWER) == values
    assert JsonPath.parse(path).find_some(ANSWER) == values
    assert str(JsonPath.parse(path)) == path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "hits.hits[*].id",
            "hits.hits[*].id leads nowhere: at hits.hits[*] the answer has _id, _score, _source",
        ),
        (
            "results[*].id",
            (
                "results[*].id leads nowhere: the answer has took, hits, ids, @odata.count, "
                "value, none, empty"
            ),
        ),
        ("took.x", "took.x leads nowhere: at took the answer is a number"),
        ("hits[*]", "hits[*] leads nowhere: at hits the answer has total, hits"),
        ("ids[2]", "ids[2] leads nowhere: at ids the answer is a list of 2"),
        ("none.x", "none.x leads nowhere: at none the answer is null"),
        ("empty[0]", "empty[0] leads nowhere: at empty the answer is an empty list"),
    ],
)
def test_a_path_that_leads_nowhere_names_keys_and_no_values(path: str, text: str) -> None:
    with pytest.raises(NoPathError) as caught:
        JsonPath.parse(path).find(ANSWER)
    assert str(caught.value) == text
    assert JsonPath.parse(path).find_some(ANSWER) == []


def test_many_keys_are_not_all_named() -> None:
    with pytest.raises(NoPathError, match=r"has k0, k1, k2, k3, k4, k5, k6, k7 and 92 more$"):
        JsonPath.parse("x").find({f"k{n}": n for n in range(100)})
    with pytest.raises(NoPathError) as caught:
        JsonPath.parse("x").find({"a\n" * 500: 1})
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize("path", [".a", "a..b", "a.", "a[", "a[x]", "a[-1]", "a b", '["a]', "[*]a"])
def test_what_is_no_path(path: str) -> None:
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
