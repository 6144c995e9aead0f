"""What a file of cases holds: the models its JSON schema is made of.

A case is a phrase with the terms of an ontology that it should find. `rankscope cases schema`
prints the schema, for editors; files are read more leniently (`rankscope.tables.cases`), and
`rankscope cases validate` checks them against what is said here.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Difficulty = Literal["easy", "medium", "hard"]
Category = Literal["exact_match", "synonym", "abbreviation", "layperson", "complex"]

ENUMERATIONS: dict[str, tuple[str, ...]] = {
    "difficulty": get_args(Difficulty),
    "category": get_args(Category),
}
"""Fields of a case that take one of a few words."""

HPO_ID = r"^HP:\d{7}$"
"""How an id of the Human Phenotype Ontology is written."""

STRATA = ("language", "difficulty", "category", "hpo_domain", "domain")
"""Fields of cases by which results are reported apart."""

SIZES = (("tiny", 9), ("small", 50), ("standard", 200), ("comprehensive", 500))
"""What sets are called from so many cases on."""


def size_of(cases: int) -> str:
    """Return what a set of so many cases is called.

    >>> [size_of(cases) for cases in (5, 70, 200, 1000)]
    ['tiny', 'small', 'standard', 'comprehensive']
    """
    return next((name for name, least in reversed(SIZES) if cases >= least), SIZES[0][0])


class Case(BaseModel):
    """A phrase and the terms it should find."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    case_id: str | None = None
    """What the case is called in runs and reports; if not given, its text."""
    text: str = Field(min_length=1)
    """The phrase, as it is asked."""
    expected_hpo_ids: list[str] = Field(json_schema_extra={"items": {"pattern": HPO_ID}})
    """The terms that answer it, all equally; other ontologies write expected_<name>_ids."""
    description: str | None = None
    """What is meant, for readers."""
    difficulty: Difficulty | None = None
    """How hard the case is, in the author's judgment."""
    category: Category | None = None
    """What matching it takes: the label itself, a synonym, an abbreviation, everyday words, or
    inference."""
    hpo_domain: str | None = None
    """The branch of the ontology, such as 'Abnormality of the nervous system'."""
    language: str | None = None
    """The language of the text, such as de, where a file holds several."""


class CaseMetadata(BaseModel):
    """What is known of all cases of a file."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    dataset_id: str | None = None
    """What the set is called."""
    version: str | None = None
    """Its version."""
    language: str | None = None
    """The language of all texts that do not name their own: de, en, fr, es, nl, …; if not given,
    the name of the folder (german/standard_v1.json)."""
    description: str | None = None
    """What it is for, who wrote it and how."""


class CaseFile(BaseModel):
    """Cases with what is known of all of them."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    metadata: CaseMetadata = CaseMetadata()
    """About the whole file."""
    test_cases: list[Case]
    """The cases."""


def case_schema() -> dict[str, Any]:
    """Return the JSON schema of a file of cases: a plain list, or an object with metadata."""
    schema: dict[str, Any] = TypeAdapter(CaseFile | list[Case]).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Cases: phrases and the ontology terms they should find",
        **schema,
    }
