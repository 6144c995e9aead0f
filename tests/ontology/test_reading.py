"""Files of terms: what is read of them, and what is said of files that are wrong."""

from __future__ import annotations

import bz2
import gzip
import lzma
import socket
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from ontology.plain import Plain, ontologies
from rankscope.errors import FormatError, InputError, RankscopeError
from rankscope.ontology.graph import CycleError
from rankscope.ontology.term_files import read_terms
from rankscope.ontology.term_table import Synonym, TermTable
from rankscope.ontology.terms import Ontology, read_ontology

OBO = r"""format-version: 1.4
data-version: xx/releases/2026-01-02
! a comment
synonymtypedef: layperson "layperson term"
import: http://127.0.0.1:9/other.obo
ontology: xx

[Term]
id: XX:1
name: All
comment: what is not looked at may break a rule: "
creation_date: someday
xref: with blanks in it

[Term]
id: XX:2 ! the id of a term
name: Brain \{upper\} part ! not of the name
def: "The \"upper\" part,\nwith a \\" [PMID:1 "a \"paper\"", http://x.org/a\,b]
synonym: "cerebrum" EXACT [PMID:2]
synonym: "the \"upper\" brain" NARROW layperson [] {x="y"} ! comment
synonym: "head" BROAD layperson []
synonym: "mind" RELATED []
is_a: XX:1 {source="x", is_inferred="true"} ! All
alt_id: XX:20
alt_id: XX:21 ! another

[Term]
id: http://purl.obolibrary.org/obo/XX_3
name: Cortex {source="z"}
is_a: XX:1!All
relationship: part_of XX:2 ! Brain
relationship: near_to XX:1

[Term]
id: XX:90
name: obsolete Brain
is_obsolete: true
replaced_by: XX:2

[Term]
id: XX:91
name: obsolete parts
is_obsolete: true ! yes
replaced_by: XX:2
replaced_by: XX:3
consider: XX:1

[Typedef]
id: part_of
name: part of
xref: BFO:0000050
what is no line of a term

[Instance]
id: XX:instance
"""


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("something was to be fetched")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refused)


def entries(table: TermTable) -> dict[str, list[Any]]:
    return {
        term_id: [
            entry.label,
            entry.definition,
            entry.synonyms,
            sorted(entry.parents),
            entry.alternatives,
            entry.is_obsolete,
            entry.replaced_by,
        ]
        for term_id, entry in sorted(table.terms.items())
    }


# --- OBO as a whole ------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_network")
def test_what_a_file_says() -> None:
    table = read_terms(OBO.encode(), "xx.obo")
    assert table.version == "xx/releases/2026-01-02"
    assert table.relations == {"part_of", "near_to"}
    synonyms = [
        Synonym("cerebrum", "EXACT"),
        Synonym('the "upper" brain', "NARROW", "layperson"),
        Synonym("head", "BROAD", "layperson"),
        Synonym("mind", "RELATED"),
    ]
    definition = 'The "upper" part,\nwith a \\'
    brain = ["Brain {upper} part", definition, synonyms, ["XX:1"], ["XX:20", "XX:21"], False, []]
    assert entries(table) == {
        "XX:1": ["All", "", [], [], [], False, []],
        "XX:2": brain,
        "XX:3": ["Cortex", "", [], ["XX:1"], [], False, []],
        "XX:90": ["obsolete Brain", "", [], [], [], True, ["XX:2"]],
        "XX:91": ["obsolete parts", "", [], [], [], True, ["XX:2", "XX:3"]],
    }


@pytest.mark.parametrize(
    ("relations", "above"),
    [
        (["is_a", "part_of"], ["XX:1", "XX:2"]),
        (["part_of"], ["XX:2"]),
        (["near_to"], ["XX:1"]),
        (["is_a", "near_to"], ["XX:1", "XX:1"]),
    ],
)
def test_relations(relations: list[str], above: list[str]) -> None:
    table = read_terms(OBO.encode(), "xx.obo", relations)
    assert sorted(table.terms["XX:3"].parents) == above
    assert table.terms["XX:2"].parents == (["XX:1"] if "is_a" in relations else [])


def test_a_relation_that_no_term_has() -> None:
    with pytest.raises(InputError, match=r"'has_part'.*near_to, part_of"):
        read_terms(OBO.encode(), "xx.obo", ["is_a", "has_part"])


def test_the_names_of_relations_are_shown_safely() -> None:
    lines = "".join(f"relationship: r{n}\\n\\x1b A\n" for n in range(100))
    with pytest.raises(InputError) as caught:
        read_terms(f"[Term]\nid: A\n{lines}".encode(), "x.obo", ["q"])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "xx.obo").write_bytes(pack(OBO.encode()))
    assert len(read_ontology(tmp_path / "xx.obo")) == 3


def test_a_byte_order_mark_and_line_ends() -> None:
    plain = entries(read_terms(OBO.encode(), "xx.obo"))
    marked = b"\xef\xbb\xbf" + OBO.replace("\n", "\r\n").encode()
    assert entries(read_terms(marked, "xx.obo")) == plain


# --- OBO -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "field", "expected"),
    [
        (r"name: a \{b\} \"c\" \! d", "label", 'a {b} "c" ! d'),
        ("name: a {b", "label", "a {b"),
        ('name: a {b="c d", e="f"}', "label", "a"),
        ("name:a", "label", "a"),
        (r"def: " + r'"a\tb\Wc\:d"', "definition", "a\tb c:d"),
        ('synonym: "x"', "synonyms", [Synonym("x", "RELATED")]),
        ('synonym: "x" exact []', "synonyms", [Synonym("x", "EXACT")]),
        ('synonym: "x" EXACT HP:0034334 []', "synonyms", [Synonym("x", "EXACT", "HP:0034334")]),
        ('exact_synonym: "x" []', "synonyms", [Synonym("x", "EXACT")]),
        (r"is_a: heart\ disease ! x", "parents", ["heart disease"]),
        ("is_a: http://example.org/x#y", "parents", ["http://example.org/x#y"]),
        ("is_a: https://purl.obolibrary.org/obo/HP_0000001", "parents", ["HP:0000001"]),
        ("is_obsolete: TRUE", "is_obsolete", True),
        ("intersection_of: B", "parents", []),
    ],
)
def test_lines_of_obo(line: str, field: str, expected: object) -> None:
    table = read_terms(f"[Term]\nid: A\n{line}\n[Term]\nid: B\n".encode(), "x.obo")
    assert getattr(table.terms["A"], field) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "x.obo:1: .*'abc'"),
        ("[Term]\nid: A\nis_a: B C", "x.obo:3: .*'B C'"),
        ("[Term]\nid: A\nis_a:", "x.obo:3: "),
        ("[Term]\nid: A\nrelationship: r", "x.obo:3: .*2 ids"),
        ("[Term]\nid: A\ndef: a", "x.obo:3: .*quotation"),
        ('[Term]\nid: A\ndef: "a\\" []', "x.obo:3: .*quotation"),
        ('[Term]\nid: A\nsynonym: "a" FOO []', "x.obo:3: .*EXACT"),
        ("[Term]\nid: A\nid: B", "x.obo:3: .*'A'"),
        ("[Term]\nname: a\nid: A", "x.obo:2: "),
        ("\n[Term]\n\n[Term]\nid: A", "x.obo:2: .*no id"),
        ("[Term]\nid: A\n[Term]\nid: A", "x.obo:3: .*twice"),
        ("[Term]\nid: A\nis_obsolete: true", "obsolete"),
        ("format-version: 1.2", "no terms"),
        ("\n\n", "no terms"),
    ],
)
def test_what_is_wrong_with_obo(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.obo").write_text(text, "utf-8")
    with pytest.raises(InputError, match=message):
        read_ontology(tmp_path / "x.obo")


# --- tables --------------------------------------------------------------------------------------


def parents_of(text: str, name: str = "x.tsv") -> dict[str, list[str]]:
    table = read_terms(text.encode(), name)
    return {term_id: entry.parents for term_id, entry in table.terms.items()}


@pytest.mark.parametrize(
    "text",
    [
        "B\tA\nC\tA\nC\tB\n",
        "child\tparent\nB\tA\nC\tA\nC\tB\n",
        "id\tlabel\tparent_id\nB\tb\tA\nC\tc\tA\nC\tc\tB\n",
        "Term ID\tParents\nB\tA\nC\tA|B\n",
        "# a comment\n#child\tparent\nB\tA\n# another\nC\tA\nC\tB\nC\tB\n",
        "is_a\tterm\nA\tB\n\nA\tC\nB\tC\n",
        "B\tA\t\nC\tA\t\nC\tB",
        "A\nB\tA\nC\tA\nC\tB\n",
    ],
)
def test_tables(text: str) -> None:
    assert parents_of(text) == {"A": [], "B": ["A"], "C": ["A", "B"]}


def test_all_columns_of_a_table() -> None:
    text = (
        "id\tparent\tname\tdef\tsynonyms\talt_id\tobsolete\treplaced_by\n"
        "A\t\tAll\tEverything\teach| every |each\tA1|A2\t\t\n"
        "A\tB\tother\tother\tevery\tA1\t\t\n"
        "O\t\told\t\t\t\ttrue\tA|B\n"
    )
    table = read_terms(text.encode(), "x.tsv")
    names = [Synonym("each", "EXACT"), Synonym("every", "EXACT")]
    assert entries(table) == {
        "A": ["All", "Everything", names, ["B"], ["A1", "A2"], False, []],
        "B": ["", "", [], [], [], False, []],
        "O": ["old", "", [], [], [], True, ["A", "B"]],
    }


def test_a_bar_in_the_only_parent_is_part_of_its_id() -> None:
    assert parents_of("child\tparent\nB\tA|C\n") == {"B": ["A|C"], "A|C": []}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A\tis_a\tB\nC\tis_a\tB\n", "x.tsv:1: .*child"),
        ("A\tbelow\tB\n", "x.tsv:1: .*parent"),
        ("id\tname\nA\ta\n", "x.tsv:1: .*no column parent"),
        ("hpo_id\tparent\nA\tB\n", "x.tsv:1: .*no column child"),
        ("child\tparent\n\tA\n", "x.tsv:2: "),
        ("child\tparent\n", "no terms"),
    ],
)
def test_what_is_wrong_with_a_table(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_terms(text.encode(), "x.tsv")


@settings(max_examples=20, deadline=None)
@given(plain=ontologies())
def test_a_table_of_an_ontology_is_that_ontology(
    tmp_path_factory: pytest.TempPathFactory, plain: Plain
) -> None:
    folder = tmp_path_factory.mktemp("table")
    rows = [f"[Term]\nid: X:{term}\nname: a\\tb\nalt_id: Y:{term}" for term in plain.terms]
    for term, parents in enumerate(plain.parents):
        rows[term] += "".join(f"\nis_a: X:{parent}" for parent in parents)
    rows += ["[Term]\nid: O\nis_obsolete: true\nreplaced_by: X:0\nreplaced_by: Q"]
    (folder / "x.obo").write_text("\n".join(rows), "utf-8")
    things = "\n".join(f"{t}\tX:{term}" for t, terms in plain.annotated.items() for term in terms)
    (folder / "things.tsv").write_text(things, "utf-8")
    ours = read_ontology(folder / "x.obo", annotations=folder / "things.tsv")
    (folder / "again.tsv").write_text(ours.table(), "utf-8")
    (folder / "things.tsv").write_text(ours.annotation_table(), "utf-8")
    again = read_ontology(folder / "again.tsv", annotations=folder / "things.tsv")
    assert again.ids == ours.ids
    assert again.graph.ancestors.of.tolist() == ours.graph.ancestors.of.tolist()
    assert again.graph.parents.of.tolist() == ours.graph.parents.of.tolist()
    assert (again.alternatives, again.obsolete) == (ours.alternatives, ours.obsolete)
    assert again.annotations == ours.annotations


# --- what is wrong with any file -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.obo", b"[Term]\nid: A\nname: \xff\n", "x.obo:3: byte 0xff"),
        ("x.tsv", b"A\tB\n\xff\tB\n", "x.tsv:2: byte 0xff"),
        ("x.obo", b"[Term]\nid: A\0\n", "x.obo:2: a NUL"),
        ("x.tsv", b"A\tB\0\n", "x.tsv:1: a NUL"),
        ("x.json", b"", "no terms"),
        ("x.json", b'{"graphs": []}', "robot convert"),
        ("x.owl", b'<?xml version="1.0"?><rdf:RDF/>', "OWL"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=message) as caught:
        read_ontology(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder"):
        read_ontology(tmp_path)
    with pytest.raises(InputError, match="not found"):
        read_ontology(tmp_path / "x.obo")


def test_parents_that_are_not_defined_are_left_out_and_named(tmp_path: Path) -> None:
    text = "[Term]\nid: A\nis_a: Z:1\nis_a: B\n[Term]\nid: B\nis_a: Z:1\n"
    (tmp_path / "x.obo").write_text(text, "utf-8")
    assert read_ontology(tmp_path / "x.obo").undefined == ("Z:1",)


def test_relations_in_any_order_are_the_same_ontology(tmp_path: Path) -> None:
    (tmp_path / "xx.obo").write_text(OBO, "utf-8")
    by_is_a, by_both, again = (
        read_ontology(tmp_path / "xx.obo", relations=relations).sha256
        for relations in ((), ["is_a", "part_of"], ["part_of", "is_a", "is_a"])
    )
    assert by_is_a != by_both == again


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("A\tA\n", 1),
        ("A\tB\nB\tA\n", 2),
        ("X\tA\nA\tB\nB\tC\nC\tA\nA\tR\n", 3),
        ("".join(f"t{n}\tt{(n + 1) % 20}\n" for n in range(20)), 20),
    ],
)
def test_cycles(tmp_path: Path, text: str, steps: int) -> None:
    (tmp_path / "x.tsv").write_text(text, "utf-8")
    with pytest.raises(CycleError, match=f"{steps} step") as caught:
        read_ontology(tmp_path / "x.tsv")
    path = caught.value.path
    assert path[0] == path[-1]
    assert len(path) == steps + 1
    rows = text.split("\n")
    assert all(f"{child}\t{parent}" in rows for child, parent in pairwise(path))


def test_a_term_below_another_id_of_its_own_is_below_itself(tmp_path: Path) -> None:
    (tmp_path / "x.obo").write_text("[Term]\nid: A\nalt_id: B\nis_a: B\n", "utf-8")
    with pytest.raises(CycleError, match="A → A"):
        read_ontology(tmp_path / "x.obo")


def test_an_ontology_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "xx.obo").write_text(OBO, "utf-8")
    ontology = read_ontology(tmp_path / "xx.obo")
    assert list(ontology) == ["XX:1", "XX:2", "XX:3"]
    brain = ontology["XX:21"]
    assert (brain.term_id, brain.parents, brain.alternatives) == (
        "XX:2",
        ("XX:1",),
        ("XX:20", "XX:21"),
    )
    assert [term.label for term in ontology.terms()] == ["All", "Brain {upper} part", "Cortex"]
    with pytest.raises(RankscopeError, match="XX:404"):
        ontology["XX:404"]


# --- annotations ---------------------------------------------------------------------------------

HPOA = """#description: "HPO annotations for rare diseases"
#version: 2026-01-02
database_id\tdisease_name\tqualifier\thpo_id\treference
OMIM:1\tOne\t\tXX:2\tPMID:1
OMIM:1\tOne\t\tXX:3\tPMID:1
OMIM:2\tTwo\tNOT\tXX:2\tPMID:1
OMIM:2\tTwo\t\tXX:90\tPMID:1
OMIM:3\tThree\t\tXX:404\tPMID:1
"""


def annotated(folder: Path, text: str) -> Ontology:
    (folder / "xx.obo").write_text(OBO, "utf-8")
    (folder / "things.tsv").write_text(text, "utf-8")
    return read_ontology(folder / "xx.obo", annotations=folder / "things.tsv")


@pytest.mark.parametrize(
    "text",
    [
        HPOA,
        HPOA.replace("database_id", "#DatabaseID").replace("hpo_id", "HPO_ID"),  # before 2023
        "OMIM:1\tXX:2\nOMIM:1\tXX:3\nOMIM:2\tXX:2\nOMIM:3\tXX:404\n",
        "gene_symbol\thpo_id\nOMIM:1\tXX:20\nOMIM:1\tXX:3\n\nOMIM:2\tXX:2\n",
    ],
)
def test_annotations(tmp_path: Path, text: str) -> None:
    """XX:90 is replaced by XX:2, and what is not known is left out."""
    ontology = annotated(tmp_path, text)
    assert ontology.annotations == {"OMIM:1": {1, 2}, "OMIM:2": {1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("OMIM:1\n", "things.tsv:1: "),
        ("OMIM:1\tXX:2\n\tXX:2\n", "things.tsv:2: "),
        ("OMIM:1\tHP:1\nOMIM:2\tHP:2\n", "none of its 2"),
        ("a\0b\tXX:1\n", "things.tsv:1: a NUL"),
    ],
)
def test_what_is_wrong_with_annotations(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        annotated(tmp_path, text)


def test_information_content_needs_two_things(tmp_path: Path) -> None:
    ontology = annotated(tmp_path, "OMIM:1\tXX:2\n")
    with pytest.raises(InputError, match="two things, not 1"):
        ontology.similarity("XX:1", "XX:2", "lin", ic="annotations")
    (tmp_path / "plain.tsv").write_text("B\tA\n", "utf-8")
    plain = read_ontology(tmp_path / "plain.tsv")
    with pytest.raises(InputError, match="annotations"):
        plain.similarity("A", "B", "lin", ic="annotations")
