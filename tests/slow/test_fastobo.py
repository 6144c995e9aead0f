"""OBO files beside fastobo, another reader of them."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ontology.test_reading import OBO
from rankscope.ontology.terms import read_terms

fastobo = pytest.importorskip("fastobo")
PURL = "http://purl.obolibrary.org/obo/"


def test_obo_as_fastobo_reads_it() -> None:
    """Without what it refuses: dates, references and lines that break a rule, a final backslash."""
    text = OBO.replace("! a comment\n", "").replace(r"with a \\", "with it")
    for line in ("creation_date: someday\n", "xref: with blanks in it\n", "what is no line of"):
        text = text.replace(line, "! " if line.startswith("what") else "")
    text = text.replace("!  a term\n", "")
    table = read_terms(text.encode(), "xx.obo")
    checked = 0
    for frame in fastobo.load(io.BytesIO(text.encode())):
        if type(frame).__name__ != "TermFrame":
            continue
        entry = table.terms[str(frame.id).replace(f"{PURL}XX_", "XX:")]
        clauses: dict[str, list[Any]] = {}
        for clause in frame:
            clauses.setdefault(type(clause).__name__, []).append(clause)
        assert [entry.label] == [each.name.strip() for each in clauses["NameClause"]]
        assert entry.definition == "".join(
            str(each.definition) for each in clauses.get("DefClause", ())
        )
        assert list(entry.parents) == [str(each.term) for each in clauses.get("IsAClause", ())]
        assert list(entry.alternatives) == [
            str(each.alt_id) for each in clauses.get("AltIdClause", ())
        ]
        assert list(entry.replaced_by) == [
            str(each.term) for each in clauses.get("ReplacedByClause", ())
        ]
        assert [(each.text, each.scope, each.kind) for each in entry.synonyms] == [
            (each.synonym.desc, each.synonym.scope, str(each.synonym.type or ""))
            for each in clauses.get("SynonymClause", ())
        ]
        checked += 1
    assert checked == len(table.terms)
