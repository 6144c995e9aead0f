"""Files that were made to do harm: each is one sentence, soon; nothing is fetched or printed."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontology.test_reading import FILES
from rankscope.errors import InputError, RankscopeError
from rankscope.ontology import graph as graph_module
from rankscope.ontology.graph import MOST_ANCESTORS
from rankscope.ontology.term_files import read_terms
from rankscope.ontology.terms import read_ontology

NAMESPACES = (
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" '
    'xmlns:owl="http://www.w3.org/2002/07/owl#" '
    'xmlns:oboInOwl="http://www.geneontology.org/formats/oboInOwl#"'
)


def owl(content: str, doctype: str = "") -> str:
    return f'<?xml version="1.0"?>{doctype}<rdf:RDF {NAMESPACES}>{content}</rdf:RDF>'


def labelled(label: str) -> str:
    return f'<owl:Class rdf:about="http://x.org/A"><rdfs:label>{label}</rdfs:label></owl:Class>'


def laughs() -> str:
    letters = "abcdefghij"
    inner = "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise(letters)
    )
    return owl(labelled("&j;"), f'<!DOCTYPE rdf:RDF [<!ENTITY a "ha">{inner}]>')


def entity(declared: str, label: str = "&x;") -> str:
    return owl(labelled(label), f"<!DOCTYPE rdf:RDF [{declared}]>")


LONG = 10_000_000
SYNONYMS = 1_000_000

HOSTILE: dict[str, tuple[str, Callable[[], str], str]] = {
    "chain": (
        "x.tsv",
        lambda: "".join(f"{n}\t{n + 1}\n" for n in range(60_000)),
        "more than 20,000,000 ancestors together",
    ),
    "cycle": (
        "x.tsv",
        lambda: "".join(f"{n}\t{(n + 1) % 60_000}\n" for n in range(60_000)),
        "a cycle of 60,000 steps: 0 → 1 → 2 → 3 → 4 → 5 → 6 → … → 0; take one",
    ),
    "long ids in a cycle": (
        "x.tsv",
        lambda: f"{'a' * LONG}\t{'a' * LONG}\n",
        "a cycle of 1 step: a{30,40}… → a{30,40}…; take one",
    ),
    "synonyms": (
        "x.obo",
        lambda: "[Term]\nid: A\n" + 'synonym: "a" EXACT []\n' * SYNONYMS,
        "x.obo:10003: the term 'A' has more than 10,000 synonyms",
    ),
    "synonyms in a cell": (
        "x.tsv",
        lambda: "id\tparent\tsynonyms\nA\t\t" + "|".join(map(str, range(SYNONYMS))),
        "x.tsv:2: the term 'A' has more than 10,000 synonyms",
    ),
    "synonyms in OWL": (
        "x.owl",
        lambda: owl(
            labelled("").replace(
                "</owl",
                "<oboInOwl:hasExactSynonym>a</oboInOwl:hasExactSynonym>" * 100_000 + "</owl",
            )
        ),
        "the term 'http://x.org/A' has more than 10,000 synonyms",
    ),
    "synonyms in JSON": (
        "x.json",
        lambda: json.dumps(
            {
                "graphs": [
                    {
                        "nodes": [
                            {
                                "id": "A",
                                "meta": {
                                    "synonyms": [{"pred": "hasExactSynonym", "val": "a"}] * 100_000
                                },
                            }
                        ]
                    }
                ]
            }
        ),
        "the term 'A' has more than 10,000 synonyms",
    ),
    "billion laughs": ("x.owl", laughs, "declares the entity 'b', which is not a short text"),
    "a file as entity": (
        "x.owl",
        lambda: entity('<!ENTITY x SYSTEM "file:///etc/passwd">'),
        "declares the entity 'x', which is not a short text",
    ),
    "an address as entity": (
        "x.owl",
        lambda: entity('<!ENTITY x PUBLIC "x" "http://127.0.0.1:9/x">'),
        "declares the entity 'x'",
    ),
    "an entity after a long comment": (
        "x.owl",
        lambda: entity(f'<!--{"x" * 3_000_000}--><!ENTITY x SYSTEM "file:///etc/passwd">'),
        "declares the entity 'x'",
    ),
    "a parameter entity": (
        "x.owl",
        lambda: entity('<!ENTITY % x SYSTEM "http://127.0.0.1:9/x"> %x;'),
        "declares the entity 'x'",
    ),
    "a long entity": (
        "x.owl",
        lambda: entity(f'<!ENTITY x "{"a" * 1000}">'),
        "declares the entity 'x'",
    ),
    "many entities": (
        "x.owl",
        lambda: entity(f'<!ENTITY x "{"a" * 200}">', "&x;" * SYNONYMS),
        "its entities make it more than 10 times as large",
    ),
    "an entity that is not declared": (
        "x.owl",
        lambda: owl(labelled("&x;"), '<!DOCTYPE rdf:RDF SYSTEM "http://127.0.0.1:9/x.dtd">'),
        r"cannot be read as OWL in RDF/XML \(undefined entity &x;\)",
    ),
    "deep XML": ("x.owl", lambda: owl("<owl:Class>" * 200_000), r"RDF/XML \(mismatched tag\)"),
    "deep JSON": ("x.json", lambda: '{"graphs":' + "[" * SYNONYMS, "nested too deeply"),
    "deep JSON that is closed": (
        "x.json",
        lambda: '{"graphs":[{"nodes":' + '{"a":' * 400 + "1" + "}" * 401 + "]}",
        "expected a list at graphs",
    ),
    "a long number": ("x.json", lambda: '{"graphs":[' + "9" * 5000 + "]}", "too many digits"),
    "one long line": ("x.obo", lambda: "x" * LONG, "x.obo:1: .*, got 'x{50,60}…$"),
    "one long tag": ("x.owl", lambda: "<" + "x" * LONG, "x.owl:1: .*unclosed token"),
    "escapes without end": (
        "x.obo",
        lambda: '[Term]\nid: A\ndef: "' + '\\"' * (LONG // 2),
        "x.obo:3: .* expected a text in quotation marks",
    ),
    "many cells": ("x.tsv", lambda: "A\tB\n" + "x\t" * LONG, "x.tsv:2: expected child and parent"),
    "a line break in an id": (
        "x.json",
        lambda: json.dumps({"graphs": [{"nodes": [{"id": "A\n\x1b[31mB"}]}]}),
        r"the id 'A\\n\\x1b\[31mB' holds a line break or another control character",
    ),
    "a line break in an OBO id": ("x.obo", lambda: "[Term]\nid: A\\nB", "holds a line break"),
    "escapes in ids of a cycle": (
        "x.tsv",
        lambda: "\x1b[31m\t\x1b[31m\n",
        "holds a line break or another control character",
    ),
    "an expression as name of the ontology": (
        "x.owl",
        lambda: owl(f'<owl:Ontology rdf:about="(a+)+"/><owl:Foo rdf:about="{PURL}{"a" * 60}"/>'),
        "it has no terms",
    ),
    "an address that is none": (
        "x.owl",
        lambda: owl('<owl:Class rdf:about="//["/>').replace(
            "<rdf:RDF ", '<rdf:RDF xml:base="http://x.org" '
        ),
        "Invalid IPv6 URL",
    ),
}
PURL = "http://purl.obolibrary.org/obo/"


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
        read_ontology(tmp_path / name, cache=tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert capfd.readouterr() == ("", "")
    assert not (tmp_path / "cache").exists()


def test_a_chain_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    """A chain of 60,000 terms has 1.8 thousand million ancestors: 14 GB."""
    (tmp_path / "x.tsv").write_text(HOSTILE["chain"][1](), "utf-8")
    with (
        patch.object(graph_module, "_joined", side_effect=AssertionError),
        pytest.raises(InputError, match="ancestors together"),
    ):
        read_ontology(tmp_path / "x.tsv", cache=tmp_path)


def test_many_ancestors_without_a_chain_are_refused_on_the_way(tmp_path: Path) -> None:
    """A term with 8,000 parents and 8,000 children: 64 million ancestors at a depth of 2."""
    rows = [f"hub\tp{n}\nc{n}\thub\n" for n in range(8_000)]
    (tmp_path / "x.tsv").write_text("".join(rows), "utf-8")
    with pytest.raises(InputError, match=f"more than {MOST_ANCESTORS:,} ancestors together"):
        read_ontology(tmp_path / "x.tsv", cache=tmp_path)


def test_a_declared_prefix_is_no_harm() -> None:
    """Protégé writes prefixes as entities."""
    text = owl(
        '<owl:Class rdf:about="&hp;0000001"/>',
        f'<!DOCTYPE rdf:RDF [<!ENTITY hp "{PURL}HP_"><!ENTITY owl "{PURL}owl#">]>',
    )
    assert list(read_terms(text.encode(), "x.owl").terms) == ["HP:0000001"]


def test_an_external_dtd_is_not_fetched() -> None:
    text = owl(labelled("a"), '<!DOCTYPE rdf:RDF SYSTEM "http://127.0.0.1:9/x.dtd">')
    assert list(read_terms(text.encode(), "x.owl").terms) == ["http://x.org/A"]


def test_a_term_in_very_many_rows(tmp_path: Path) -> None:
    """What is said of a term 200,000 times is not looked through each time."""
    names = "|".join(f"s{n}" for n in range(9_000))
    rows = [f"id\tparent\tsynonyms\nA\t\t{names}\n", *("A\tB\ts1\n" for _ in range(200_000))]
    (tmp_path / "x.tsv").write_text("".join(rows), "utf-8")
    ontology = read_ontology(tmp_path / "x.tsv", cache=tmp_path)
    assert ontology["A"].parents == ("B",)
    assert len(ontology["A"].synonyms) == 9_000


PIECES = st.sampled_from(
    [b"\0", b"\t", b"\n", b'"', b"\\", b"[", b"{", b"}", b":", b"<", b"&", b"\xff"]
)


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=60, deadline=None)
@given(changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), PIECES), max_size=4))
def test_damaged_files(name: str, changes: list[tuple[float, int, bytes]]) -> None:
    data = FILES[name].encode()
    for where, cut, piece in changes:
        place = int(where * len(data))
        data = data[:place] + piece + data[place + cut :]
    message = ""
    try:
        read_terms(data, name)
    except RankscopeError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 300


def test_a_list_of_cases_is_no_ontology(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text('[\n  {"text": "a", "expected_hpo_ids": ["HP:0000001"]}\n]')
    with pytest.raises(InputError, match="OBO graph"):
        read_ontology(path, cache=tmp_path)
