"""Files that were made to do harm: each is one sentence, soon; nothing is fetched or printed."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology.test_reading import OBO
from rankscope.errors import InputError, RankscopeError
from rankscope.ontology.graph import MOST_ANCESTORS
from rankscope.ontology.terms import read_ontology, read_terms

LONG = 1_000_000
CHAIN = 7_000  # 24 million ancestors

HOSTILE: dict[str, tuple[str, Callable[[], str], str]] = {
    "chain": (
        "x.tsv",
        lambda: "".join(f"{n}\t{n + 1}\n" for n in range(CHAIN)),
        "20,000,000 ancestors",
    ),
    "cycle": (
        "x.tsv",
        lambda: "".join(f"{n}\t{(n + 1) % CHAIN}\n" for n in range(CHAIN)),
        "a cycle of 7,000 steps",
    ),
    "long ids in a cycle": ("x.tsv", lambda: f"{'a' * LONG}\t{'a' * LONG}\n", "a cycle of 1 step"),
    "billion laughs": (
        "x.owl",
        lambda: '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>',
        "OWL",
    ),
    "deep JSON": ("x.json", lambda: '{"graphs":' + "[" * LONG, "OBO graphs"),
    "one long line": ("x.obo", lambda: "x" * LONG, "x.obo:1: "),
    "escapes without end": (
        "x.obo",
        lambda: '[Term]\nid: A\ndef: "' + '\\"' * (LONG // 2),
        "x.obo:3: ",
    ),
    "many cells": ("x.tsv", lambda: "A\tB\n" + "x\t" * LONG, "x.tsv:2: "),
    "escapes in ids of a cycle": ("x.tsv", lambda: "\x1b[31m\t\x1b[31m\n", "control character"),
    "a list of cases": (
        "x.json",
        lambda: '[\n{"text": "a", "expected_ids": ["X:1"]}]',
        "OBO graph",
    ),
}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("something was to be fetched")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refused)


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_files(tmp_path: Path, capfd: pytest.CaptureFixture[str], what: str) -> None:
    name, content, message = HOSTILE[what]
    (tmp_path / name).write_text(content(), "utf-8")
    with pytest.raises(InputError, match=message) as caught:
        read_ontology(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert capfd.readouterr() == ("", "")


def test_what_a_file_imports_is_not_fetched() -> None:
    assert "import: http://" in OBO
    assert len(read_terms(OBO.encode(), "xx.obo").terms) == 5


def test_many_ancestors_without_a_chain_are_refused_on_the_way(tmp_path: Path) -> None:
    """A term with 5,000 parents and 5,000 children: 25 million ancestors at a depth of 2."""
    rows = [f"hub\tp{n}\nc{n}\thub\n" for n in range(5_000)]
    (tmp_path / "x.tsv").write_text("".join(rows), "utf-8")
    with pytest.raises(InputError, match=f"more than {MOST_ANCESTORS:,} ancestors together"):
        read_ontology(tmp_path / "x.tsv")


def test_a_term_in_very_many_rows(tmp_path: Path) -> None:
    """What is said of a term 20,000 times is not looked through each time."""
    names = "|".join(f"s{n}" for n in range(9_000))
    rows = [f"id\tparent\tsynonyms\nA\t\t{names}\n", *("A\tB\ts1\n" for _ in range(20_000))]
    (tmp_path / "x.tsv").write_text("".join(rows), "utf-8")
    ontology = read_ontology(tmp_path / "x.tsv")
    assert ontology["A"].parents == ("B",)
    assert len(ontology["A"].synonyms) == 9_000


PIECES = st.sampled_from(
    [b"\0", b"\t", b"\n", b'"', b"\\", b"[", b"{", b"}", b":", b"<", b"&", b"\xff"]
)


@settings(max_examples=40, deadline=None)
@given(changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), PIECES), max_size=4))
def test_damaged_files(changes: list[tuple[float, int, bytes]]) -> None:
    data = OBO.encode()
    for where, cut, piece in changes:
        place = int(where * len(data))
        data = data[:place] + piece + data[place + cut :]
    message = ""
    try:
        read_terms(data, "xx.obo")
    except RankscopeError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 300
