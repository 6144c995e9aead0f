"""Fields of queries: groups hold the queries they say, and each rule on examples."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import rankscope as rs
from rankscope.diagnosis.query_fields import QueryFields, constraints
from rankscope.errors import InputError
from rankscope.scoring.inputs import as_judgments


def known(*texts: str, **given: Any) -> QueryFields:
    return QueryFields([(f"q{number}", text, {}) for number, text in enumerate(texts)], **given)


def groups(values: list[Any], *cuts: float) -> dict[str, list[str]]:
    """Group queries by what each has in one field; ... stands for no field at all."""
    queries = [
        (str(n), "", {} if value is ... else {"field": value}) for n, value in enumerate(values)
    ]
    return QueryFields(queries).groups("field", cuts)


def sizes(values: list[Any], *cuts: float) -> dict[str, int]:
    return {label: len(members) for label, members in groups(values, *cuts).items()}


# --- groups


def test_lengths_and_constraints_have_the_cuts_of_the_tutorial() -> None:
    about = known("w " * 7, "w " * 8, "w " * 15, "w " * 16, "")
    assert about.groups("length") == {
        "up to 7": ["q0", "q4"],
        "8–15": ["q1", "q2"],
        "16+": ["q3"],
    }
    assert about.groups("length", [16]) == {"up to 15": ["q0", "q1", "q2", "q4"], "16+": ["q3"]}
    own = QueryFields([("a", "one", {}), ("b", "", {"length": "many"})])  # metadata wins
    assert own.groups("length") == {"many": ["b"]}


def test_few_numbers_are_groups_in_their_order() -> None:
    assert sizes([10, 2, 2, 30.0, "4"]) == {"2": 2, "4": 1, "10": 1, "30": 1}
    assert list(groups([0.5, -1.25, 3])) == ["-1.25", "0.5", "3"]


def test_many_numbers_fall_into_ranges() -> None:
    assert sizes(list(range(1, 13))) == {"up to 3": 3, "4–6": 3, "7–9": 3, "10+": 3}
    # half are 1; a range never parts equal numbers
    assert sizes([1] * 8 + list(range(2, 10))) == {"up to 1": 8, "2–5": 4, "6+": 4}
    values = [0.113, 0.187, 0.2391, 0.2618, 0.40001, 0.48, 0.5102, 0.7]
    assert sizes(values) == {"below 0.2": 2, "0.2–0.3": 2, "0.3–0.5": 2, "0.5+": 2}
    assert sizes(values, 0.5, 0.2) == {"below 0.2": 2, "0.2–0.5": 4, "0.5+": 2}
    assert sizes([1, 2, 3, 4], 2.0, 3.0, 9.0) == {"up to 1": 1, "2": 1, "3–8": 2}
    assert list(groups([0.5, 10**400])) == ["0.5", str(10**400)]  # too large to reckon with


def test_text_goes_by_size_then_name() -> None:
    assert sizes(["b", "a", "c", "c", " a "]) == {"a": 2, "c": 2, "b": 1}
    assert sizes([1, "x", True, 2.5]) == {"1": 1, "2.5": 1, "x": 1, "yes": 1}
    assert sizes([False, True, False]) == {"no": 2, "yes": 1}
    assert list(groups(["007", "12"])) == ["007", "12"]  # an id, no number


def test_a_list_puts_a_query_in_several_groups() -> None:
    found = groups([["hard", "de"], ["de", "de"], [], "de", ["x", None, 3, ["y"]]])
    assert found == {"de": ["0", "1", "3"], "3": ["4"], "hard": ["0"], "x": ["4"]}


def test_what_says_nothing_has_no_label() -> None:
    nothing: list[Any] = [None, "", "  ", [], [[]], {"b": 1}, float("nan"), float("inf"), ...]
    assert groups(["a", *nothing]) == {"a": ["0"]}
    assert groups(nothing) == {}


def test_fields_inside_objects() -> None:
    deep: Any = "x"
    for _ in range(2000):
        deep = {"a": deep}
    queries: list[Any] = [
        ("1", "", {"style": {"level": {"name": "hard"}}}),
        ("2", "", {"style.level": {"name": "easy"}}),
        ("3", "", {"style": "none", "style.level.name": "dotted"}),
        ("4", "", deep),
    ]
    found = QueryFields(queries).groups("style.level.name")
    assert found == {"dotted": ["3"], "easy": ["2"], "hard": ["1"]}


NUMBERS = st.one_of(
    st.integers(-1000, 1000), st.floats(-1e6, 1e6, allow_nan=False), st.integers(0, 10**30)
)


@examples(max_examples=60, deadline=None)
@given(
    values=st.lists(NUMBERS, min_size=1, max_size=60),
    cuts=st.lists(st.floats(-1000, 1000), max_size=4, unique=True),
)
def test_ranges_are_in_order_and_hold_every_number(values: list[Any], cuts: list[float]) -> None:
    found = groups(values, *cuts)
    place = {int(query): at for at, members in enumerate(found.values()) for query in members}
    assert len(place) == len(values)
    assert all(found.values())  # no range is empty
    assert len(found) <= len(cuts) + 1 if cuts else len(found) <= 5
    pairs = sorted((value, place[n]) for n, value in enumerate(values))
    assert [at for _, at in pairs] == sorted(at for _, at in pairs)
    assert len(set(pairs)) == len({value for value, _ in pairs})  # equal numbers are together


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"numbers.*'x'"):
        groups([1, "x"], 5)
    about = QueryFields([("1", "", {"lang": "de", "style": {"level": 1}})])
    for field, nearest in (
        ("langs", "nearest: lang"),
        ("style", "nearest: style.level"),
        ("constraint", "nearest: constraints"),
        ("zzz", "constraints, lang, length, overlap, style.level"),
    ):
        with pytest.raises(InputError, match=nearest):
            about.check(field, "segments")


# --- constraints


@pytest.mark.parametrize(
    ("text", "count"),
    [
        # the examples of the tutorial
        ("What air fryer temperature for crispy vegetables?", 2),
        ("How long to marinate Korean bulgogi?", 1),
        # parts between joints
        ("bread", 1),
        ("bread with seeds and honey", 3),
        ("bread, rolls; cake", 3),
        # what is left out
        ("bread without wheat", 2),
        ("dough that doesn't stick", 2),
        # numbers and quotations
        ("32 gb usb stick", 2),
        ("under 2.5 hours", 1),
        ('songs like "let it be"', 2),
        # nothing about anything
        ("how", 1),
        ("", 1),
    ],
)
def test_constraints(text: str, count: int) -> None:
    assert constraints(text) == count


# --- overlap

QRELS = {
    "q0": {"a": 2, "b": 1, "c": 0},
    "q1": {"a": 1},
    "q2": {"a": 0},
    "q3": {"gone": 1},
    "q4": {"b": 3, "a": 1},
}


def test_overlap_is_with_the_best_relevant_document() -> None:
    corpus = rs.Corpus(
        {"a": {"title": "Rye bread", "steps": ["Knead."]}, "b": "spelt cake", "c": "wheat"}
    )
    texts = ["the RYE bread", "knead some cake", "rye", "rye", "rye bread", "rye"]
    about = known(*texts, qrels=as_judgments(QRELS), corpus=corpus)
    assert about.groups("overlap") == {
        "none": ["q4"],  # its best document is b
        "half or more": ["q1"],
        "all": ["q0"],  # function words do not count, fields of the document do
        # q2 has no relevant document, that of q3 is not in the corpus, q5 is not judged
    }
    about = known("rye", "rye oats spelt", qrels=as_judgments(QRELS), corpus=corpus)
    assert about.groups("overlap") == {"less than half": ["q1"], "all": ["q0"]}


def test_what_is_lacking() -> None:
    about = known("the rye", "bread")
    assert "qrels" in about.lacking("overlap")
    judged = known("rye", qrels=as_judgments({"q0": {"a": 1}}))
    assert "corpus" in judged.lacking("overlap")
    assert about.lacking("constraints") == about.lacking("kind") == ""
    assert "English" in known("Brot", "Kuchen", "the rye").lacking("constraints")
    own = QueryFields([("q0", "rye", {"overlap": "high", "constraints": 3})])
    assert own.lacking("overlap") == own.lacking("constraints") == ""
    assert own.groups("overlap") == {"high": ["q0"]}
