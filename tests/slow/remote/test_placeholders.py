"""Templates: values are put in by structure, and nothing in a value is read as a template."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.errors import InputError
from rankscope.retrieval.remote.placeholders import (
    MissingValueError,
    filled,
    filled_path,
    placeholders,
    read_template,
    with_variables,
)

VALUES: dict[str, Any] = {
    "query": 'say "{{depth}}" \\ \n ${KEY}',
    "depth": 10,
    "vector": [0.5, -1.0],
    "metadata.year": 2024,
    "metadata.lang": "de",
    "metadata.tags": ["a", "b"],
    "metadata.quoted": 'it\'s `x` "y"',
    "metadata.no": False,
}


FILLED: list[tuple[Any, Any]] = [
    ("{{query}}", VALUES["query"]),
    ("{{ depth }}", 10),
    ("top {{depth}}!", "top 10!"),
    ("f:({{vector}})", "f:([0.5,-1.0])"),
    ("{{metadata.no}}!", "false!"),
    ({"t": ["{{metadata.tags}}", 1, None, {}]}, {"t": [["a", "b"], 1, None, {}]}),
    ("{{metadata.quoted|json}}", '"it\'s `x` \\"y\\""'),
    ("{{metadata.quoted|odata}}", "'it''s `x` \"y\"'"),
    ("{{metadata.year|odata}}", "2024"),
    ("l:={{metadata.lang|backticks}}", "l:=`de`"),
    ("{one} {{{depth}}}", "{one} {10}"),
    # what has no value is left out, with what is empty then
    ({"a": 1, "filter": [{"term": {"l": "{{metadata.x?}}"}}]}, {"a": 1}),
    ({"f": [{"l": "{{metadata.x?}}"}, {"y": "{{metadata.year?}}"}]}, {"f": [{"y": 2024}]}),
    ({"a": "year {{metadata.year}} of {{metadata.x?}}", "b": {}}, {"b": {}}),
    ("{{metadata.x?}}", None),
]


def test_values() -> None:
    for template, expected in FILLED:
        assert filled(template, VALUES.get) == expected


def test_what_must_have_a_value() -> None:
    with pytest.raises(MissingValueError, match="metadata 'x'"):
        filled({"a": ["x {{metadata.x}}"]}, VALUES.get)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.text(), plain)
def test_no_value_breaks_out_of_its_place(text: str, value: Any) -> None:
    values = {"query": text, "metadata.x": value}
    body = filled({"q": "{{query}}", "f": "a {{query}} b", "m": "{{metadata.x?}}"}, values.get)
    assert body["q"] == text
    assert body["f"] == f"a {text} b"
    assert body.get("m") == value
    assert json.loads(filled("[{{query|json}}]", values.get)) == [text]
    assert "/" not in filled_path("{{query}}", values.get)
    assert "?" not in filled_path("{{query}}", values.get)


def test_paths_of_addresses_are_quoted() -> None:
    assert filled_path("/{{query}}/_search", {"query": "a/b?c#d é %2F"}.get) == (
        "/a%2Fb%3Fc%23d%20%C3%A9%20%252F/_search"
    )
    with pytest.raises(MissingValueError):
        filled_path("/{{metadata.x?}}", VALUES.get)


def test_variables_come_first_and_may_hold_placeholders() -> None:
    template = {
        "fields": "{{fields}}",
        "f": "{{filter?}}",
        "{{field}}": "{{query}}",
        "g": "{{no?}}",
    }
    variables = {
        "fields": ["title", "text"],
        "filter": [{"l": "{{metadata.lang?}}"}],
        "field": "body",
    }
    once = with_variables(template, variables)
    assert once == {
        "fields": ["title", "text"],
        "f": [{"l": "{{metadata.lang?}}"}],
        "body": "{{query}}",
    }
    assert filled(once, {"query": "x"}.get) == {"fields": ["title", "text"], "body": "x"}
    with pytest.raises(InputError, match="must become a text"):
        with_variables({"{{fields}}": 1}, variables)


def test_what_is_no_placeholder() -> None:
    for template in ("{{query", "{{}}", "{{a b}}", "{{a|sql}}"):
        with pytest.raises(InputError, match="expected"):
            list(placeholders({"x": [template]}))


def test_json_with_bare_placeholders() -> None:
    text = '{"size": {{depth}}, "q": "a {{query}} \\" {{x}}", "v": [{{vector}}]}'
    assert read_template(text) == {
        "size": "{{depth}}",
        "q": 'a {{query}} " {{x}}',
        "v": ["{{vector}}"],
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1,\n "b" 2}', "line 2, column 6"),
        ('{"a": {{query}}, "b": {{depth}},\n  "c": {{x}} "d"}', "line 2, column 14"),
        ("{", "not JSON"),
        ("[NaN]", "NaN"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_what_is_not_json(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_template(text)
