"""Config files: YAML as version 1.2 means it, TOML and JSON, and whatever else a file can hold."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankscope.benchmark.config.loading import read_config
from rankscope.benchmark.config.syntax import (
    LARGEST,
    ConfigFile,
    parse_config,
    parse_value,
    read_config_file,
)
from rankscope.errors import FormatError, InputError, RankscopeError
from rankscope.retrieval.options import Keys

LAW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def parsed(text: str | bytes, suffix: str = ".yaml") -> ConfigFile:
    data = text.encode() if isinstance(text, str) else text
    return parse_config(data, source="c", suffix=suffix)


def refused(text: str | bytes, suffix: str = ".yaml") -> str:
    with pytest.raises(FormatError) as caught:
        parsed(text, suffix)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("yes", "yes"),
        ("null", None),
        ("", None),
        ("0x1F", 31),
        ("1e3", 1000.0),
        ("'7'", "7"),
        ("[1, a, [b]]", [1, "a", ["b"]]),
        ("{a: {b: 1}, 5: x}", {"a": {"b": 1}, "5": "x"}),
        ("a: 1\nb:\n- 2\n", {"a": 1, "b": [2]}),
        (r'"\ud83d\ude00"', "😀"),
    ],
)
def test_values_are_those_of_yaml_1_2(text: str, value: Any) -> None:
    found = parse_value(text, source="--set x")
    assert found == value
    assert type(found) is type(value)


def test_every_key_and_item_knows_its_line() -> None:
    file = parsed("# first\nname: a\nsystems:\n  x:\n    bm25:\n      k1: 1\nlist:\n- a\n- b: 1\n")
    expected: dict[Keys, int] = {
        ("name",): 2,
        ("systems", "x", "bm25", "k1"): 6,
        ("systems", "x", "bm25", "none", "below"): 5,
        ("list", 1): 9,
        ("list", 1, "b"): 9,
    }
    assert {keys: file.line(keys) for keys in expected} == expected


def test_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    text = "name: a\nsystems:\n  x: bm25\n"
    for other in (text.replace("\n", "\r\n"), text.replace("\n", "\r"), "\ufeff" + text):
        file = parsed(other)
        assert (file.data["systems"], file.line(("systems", "x"))) == ({"x": "bm25"}, 3)
    for mark in ("\x85", "\u2028", "\r"):
        assert refused(f"a: 1{mark}name").startswith("c:2: ")


@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        (b"", "c: ", "empty"),
        (b"\n- a\n", "c:2: ", "got a list"),
        (b"a: 1\nb: !!python/object:os.system x", "c:2: ", "the tag '!!python/object:os.system'"),
        (b"a: 1\nb: 2\na: 3", "c:3: ", "'a' appears twice, first on line 1"),
        (b"a: &a [x, x]\nb: [*a, *a]", "c:1: ", "anchors"),
        (b"a: 1\nb: \xff", "c:2: ", "0xff"),
        (b"a:\n\tb: 1", "c:2: ", "tab"),
        (b"a: b: c", "c:1: ", "':'; quote"),
        (b"name x\ncollection:\n", "c:2: ", "line above"),
        (b"a: x\n  b: 1", "c:2: ", "line above"),
        (b"name: x\ncollection: {path: a\nsystems:\n", "c:3: ", "bracket"),
        (b"a: 1\nb: .nan", "c:2: ", "'.nan' is not a finite number"),
        (b"a: " + b"9" * 5000, "c:1: ", "the number '9999"),
        (rb'a: "\UFFFFFFFF"', "c:1: ", "escape"),
        (rb'a: "\ud800"', "c:1: ", "surrogate"),
        (b"? [a]\n: b", "c:1: ", "key must be text"),
        (b"a: 1\n" + b"- " * 9999, "c:2: ", ""),
        (b"[" * 9999, "c:1: ", "50 deep"),
        (b"a" * (LARGEST + 1), "c: ", "256 KB"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(text: bytes, place: str, word: str) -> None:
    message = refused(text)
    assert message.startswith(place)
    assert word in message


TOML = """
name = "soup"   # words
[systems."a.b"]
fields = [
  "title",
]
[[list]]
a = 2024-01-31
"""


def test_toml() -> None:
    file = parsed(TOML, ".toml")
    assert file.data == {
        "name": "soup",
        "systems": {"a.b": {"fields": ["title"]}},
        "list": [{"a": "2024-01-31"}],
    }
    assert file.line(("systems", "a.b", "fields")) is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("x = 1\n" + "a." * 99999 + "b = 1", "50 parts"),
        ("a = " + "[" * 60 + "]" * 60, "50 deep"),
    ],
)
def test_toml_that_cannot_be_read(text: str, word: str) -> None:
    assert word in refused(text, ".toml")


def test_what_is_not_toml_is_yaml_or_json() -> None:
    assert parsed("a: 1", "").data == parsed("a: 1", ".conf").data == {"a": 1}
    tabs = parsed('{\n\t"name": "a\\/b",\n\t"depth": 1.5e1\n}', ".json")
    assert tabs.data == {"name": "a/b", "depth": 15.0}


def test_files(tmp_path: Path) -> None:
    (tmp_path / "c.toml.gz").write_bytes(gzip.compress(b"a = 1"))
    assert read_config_file(tmp_path / "c.toml.gz").data == {"a": 1}
    (tmp_path / "benchmark.yaml").write_text("a: 1")
    with pytest.raises(InputError, match=r"is a folder; .*benchmark.yaml"):
        read_config_file(tmp_path)
    with pytest.raises(InputError, match=r"did you mean .*benchmark.yaml\?"):
        read_config_file(tmp_path / "benchmrk.yaml")


# --- laws ----------------------------------------------------------------------------------------


SIGNS = r""": [ ] { } , ' " &a *a !!x ${X} $${ -.5 .nan | > ? # % = \ --- ... @ ` << \ud800 <"""
WORDS = (
    *("name", "systems", "collection", "measures", "targets", "bm25", "fuse", "of", "k1", "x"),
    *(":\n  ", ":\n    ", "\n", "- ", "nDCG@10", "1", "null", "true", "\t", "\ufeff", "\x85"),
    *("\u2028", "[a]\n", "|\n ", *(sign + " " for sign in SIGNS.split())),
)


NUMBERS = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0[xo].*")
"""What YAML 1.2 takes for a number; some of it PyYAML, which speaks 1.1, writes without quotes."""

plain_text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).filter(
    lambda text: not NUMBERS.fullmatch(text)
)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | plain_text
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_text, inner, max_size=3),
    max_leaves=8,
)


@LAW
@given(data=st.dictionaries(plain_text, plain, min_size=1, max_size=4))
def test_what_was_written_is_read(data: dict[str, Any]) -> None:
    """YAML with everything quoted that could be taken for something else reads back."""
    written = yaml.safe_dump(data, default_style=None, allow_unicode=True, sort_keys=False)
    if "!!" in written or "\n? " in f"\n{written}":
        return  # a text that begins so, or a long key
    assert parsed(written).data == data


KEYS = ["name", "collection", "systems", "depth", "measures", "targets", "statistics"]
values = plain | st.sampled_from(["soup", {"path": "x"}, {"a": "bm25"}, {"a": {"bm25": {"k1": 1}}}])
files = (
    st.binary(max_size=60)
    | st.lists(st.sampled_from(WORDS), max_size=25).map("".join).map(str.encode)
    | st.dictionaries(st.sampled_from(KEYS), values, max_size=7).map(yaml.safe_dump).map(str.encode)
)


@LAW
@given(data=files, suffix=st.sampled_from([".yaml", ".toml", ".json", ""]))
def test_any_file_is_a_config_or_one_sentence(tmp_path: Path, data: bytes, suffix: str) -> None:
    path = tmp_path / f"c{suffix}"
    path.write_bytes(data)
    message = ""
    try:
        read_config(path, environment={})
    except RankscopeError as error:
        message = str(error)
    assert "\n" not in message
