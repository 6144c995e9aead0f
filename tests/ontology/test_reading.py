"""Files of terms: what is read of them, and what is said of files that are wrong."""

from __future__ import annotations

import gzip
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from ontology.plain import Plain, ontologies
from rankscope.errors import InputError, RankscopeError
from rankscope.ontology.term import Synonym, TermFile
from rankscope.ontology.terms import Ontology, read_ontology, read_terms

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


def entries(table: TermFile) -> dict[str, list[Any]]:
    return {
        term_id: [
            entry.label,
            entry.definition,
            list(entry.synonyms),
            sorted(entry.parents),
            list(entry.alternatives),
            entry.is_obsolete,
            list(entry.replaced_by),
        ]
        for term_id, entry in sorted(table.terms.items())
    }


# --- OBO as a whole ------------------------------------------------------------------------------


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


def test_relations() -> None:
    for relations, above in (
        (["is_a", "part_of"], ["XX:1", "XX:2"]),
        (["part_of"], ["XX:2"]),
        (["is_a", "near_to"], ["XX:1", "XX:1"]),
    ):
        table = read_terms(OBO.encode(), "xx.obo", relations)
        assert sorted(table.terms["XX:3"].parents) == above
        assert table.terms["XX:2"].parents == (("XX:1",) if "is_a" in relations else ())


def test_a_relation_that_no_term_has() -> None:
    with pytest.raises(InputError, match=r"'has_part'.*near_to, part_of"):
        read_terms(OBO.encode(), "xx.obo", ["is_a", "has_part"])
    lines = "".join(f"relationship: r{n}\\n\\x1b A\n" for n in range(100))
    with pytest.raises(InputError) as caught:
        read_terms(f"[Term]\nid: A\n{lines}".encode(), "x.obo", ["q"])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_compression_a_byte_order_mark_and_line_ends(tmp_path: Path) -> None:
    plain = entries(read_terms(OBO.encode(), "xx.obo"))
    marked = b"\xef\xbb\xbf" + OBO.replace("\n", "\r\n").encode()
    assert entries(read_terms(marked, "xx.obo")) == plain
    (tmp_path / "xx.obo").write_bytes(gzip.compress(OBO.encode()))
    assert len(read_ontology(tmp_path / "xx.obo")) == 3


# --- OBO -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "field", "expected"),
    [
        (r"name: a \{b\} \"c\" \! d", "label", 'a {b} "c" ! d'),
        ("name: a {b", "label", "a {b"),
        ('name: a {b="c d", e="f"}', "label", "a"),
        (r"def: " + r'"a\tb\Wc\:d"', "definition", "a\tb c:d"),
        ('synonym: "x"', "synonyms", [Synonym("x", "RELATED")]),
        ('synonym: "x" exact []', "synonyms", [Synonym("x", "EXACT")]),
        ('synonym: "x" EXACT HP:0034334 []', "synonyms", [Synonym("x", "EXACT", "HP:0034334")]),
        (r"is_a: heart\ disease ! x", "parents", ["heart disease"]),
        ("is_a: https://purl.obolibrary.org/obo/HP_0000001", "parents", ["HP:0000001"]),
        ("intersection_of: B", "parents", []),
    ],
)
def test_lines_of_obo(line: str, field: str, expected: object) -> None:
    table = read_terms(f"[Term]\nid: A\n{line}\n[Term]\nid: B\n".encode(), "x.obo")
    got = getattr(table.terms["A"], field)
    assert (got if isinstance(got, str) else list(got)) == expected


# --- tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "B\tA\nC\tA\nC\tB\n",
        "child\tparent\nB\tA\nC\tA\nC\tB\n",
        "id\tlabel\tparent_id\nB\tb\tA\nC\tc\tA\nC\tc\tB\n",
        "Term ID\tParents\nB\tA\nC\tA|B\n",
        "# a comment\nchild\tparent\nB\tA\n# another\nC\tA\nC\tB\nC\tB\n",
        "is_a\tterm\nA\tB\n\nA\tC\nB\tC\n",
        "B\tA\t\nC\tA\t\nC\tB",
        "A\nB\tA\nC\tA\nC\tB\n",
    ],
)
def test_tables(text: str) -> None:
    terms = read_terms(text.encode(), "x.tsv").terms
    parents = {term_id: list(entry.parents) for term_id, entry in terms.items()}
    assert parents == {"A": [], "B": ["A"], "C": ["A", "B"]}


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
    ("name", "text", "message"),
    [
        ("x.obo", "abc", "x.obo:1: .*'abc'"),
        ("x.obo", "[Term]\nid: A\nis_a: B C", "x.obo:3: .*'B C'"),
        ("x.obo", "[Term]\nid: A\nrelationship: r", "x.obo:3: .*2 ids"),
        ("x.obo", "[Term]\nid: A\ndef: a", "x.obo:3: .*quotation"),
        ("x.obo", '[Term]\nid: A\nsynonym: "a" FOO []', "x.obo:3: .*EXACT"),
        ("x.obo", "[Term]\nid: A\nid: B", "x.obo:3: .*one id"),
        ("x.obo", "[Term]\nname: a\nid: A", "x.obo:2: "),
        ("x.obo", "\n[Term]\n\n[Term]\nid: A", "x.obo:2: .*no id"),
        ("x.obo", "[Term]\nid: A\n[Term]\nid: A", "x.obo:3: .*twice"),
        ("x.obo", "[Term]\nid: A\nis_obsolete: true", "obsolete"),
        ("x.obo", "[Term]\nid: A\nname: \udcff\n", "x.obo:3: byte 0xff"),
        ("x.obo", "[Term]\nid: A\nalt_id: B\nis_a: B\n", "A → A"),
        ("x.obo", "\n\n", "no terms"),
        ("x.tsv", "A\tis_a\tB\nC\tis_a\tB\n", "x.tsv:1: .*child"),
        ("x.tsv", "id\tname\nA\ta\n", "x.tsv:1: .*no column parent"),
        ("x.tsv", "child\tparent\n\tA\n", "x.tsv:2: "),
        ("x.tsv", "child\tparent\n", "no terms"),
        ("x.tsv", "A\tB\0\n", "x.tsv:1: a NUL"),
        ("x.json", '{"graphs": []}', "robot convert"),
        ("x.owl", '<?xml version="1.0"?><rdf:RDF/>', "OWL"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=message) as caught:
        read_ontology(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "x.obo"):
        with pytest.raises(InputError, match=r"folder|not found"):
            read_ontology(path)


def test_a_parent_by_its_other_id_is_that_parent(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("child\tparent\talt_id\nX:1\tX:0\tX:11\nX:3\tX:11\t\n")
    ontology = read_ontology(path)
    assert sorted(ontology.ids) == ["X:0", "X:1", "X:3"]
    assert ontology.similarity("X:3", "X:1") > 0


def test_parents_that_are_not_defined_are_left_out_and_named(tmp_path: Path) -> None:
    text = "[Term]\nid: A\nis_a: Z:1\nis_a: B\n[Term]\nid: B\nis_a: Z:1\n"
    (tmp_path / "x.obo").write_text(text, "utf-8")
    assert read_ontology(tmp_path / "x.obo").undefined == ("Z:1",)


@pytest.mark.parametrize(
    ("text", "steps"),
    [("A\tA\n", 1), ("A\tB\nB\tA\n", 2), ("X\tA\nA\tB\nB\tC\nC\tA\nA\tR\n", 3)],
)
def test_cycles(tmp_path: Path, text: str, steps: int) -> None:
    (tmp_path / "x.tsv").write_text(text, "utf-8")
    with pytest.raises(InputError, match=f"a cycle of {steps} step") as caught:
        read_ontology(tmp_path / "x.tsv")
    path, rows = re.findall(r"\b[A-Z]\b", str(caught.value)), text.split("\n")
    assert (path[0], len(path)) == (path[-1], steps + 1)
    assert all(f"{child}\t{parent}" in rows for child, parent in pairwise(path))


def test_an_ontology_has_terms(tmp_path: Path) -> None:
    (tmp_path / "xx.obo").write_text(OBO, "utf-8")
    ontology = read_ontology(tmp_path / "xx.obo")
    assert list(ontology) == ["XX:1", "XX:2", "XX:3"]
    brain = ontology["XX:21"]
    assert (brain.term_id, brain.parents) == ("XX:2", ("XX:1",))
    assert brain.alternatives == ("XX:20", "XX:21")
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
        "OMIM:1\tXX:2\nOMIM:1\tXX:3\nOMIM:2\tXX:2\nOMIM:3\tXX:404\n",
        "gene_symbol\thpo_id\nOMIM:1\tXX:20\nOMIM:1\tXX:3\n\nOMIM:2\tXX:2\n",
    ],
)
def test_annotations(tmp_path: Path, text: str) -> None:
    """XX:90 is replaced by XX:2, and what is not known is left out."""
    ontology = annotated(tmp_path, text)
    assert ontology.annotations == {"OMIM:1": {1, 2}, "OMIM:2": {1}}


def test_what_is_wrong_with_annotations(tmp_path: Path) -> None:
    for text, message in (
        ("OMIM:1\n", "things.tsv:1: "),
        ("#DatabaseID\tName\nOMIM:1\tOne\t\tXX:2\n", "things.tsv:2: .*header"),
        ("OMIM:1\tXX:2\n\tXX:2\n", "things.tsv:2: "),
        ("OMIM:1\tHP:1\nOMIM:2\tHP:2\n", "none of its 2"),
    ):
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
