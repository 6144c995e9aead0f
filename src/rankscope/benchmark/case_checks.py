"""Checks of cases: are expected ids terms, and are words those of the schema?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankscope.benchmark.case_schema import ENUMERATIONS, HPO_ID
from rankscope.collection.qrels import Qrels
from rankscope.collection.queries import Queries
from rankscope.errors import counted, shown
from rankscope.findings import PLACES_SHOWN, Code, Finding, Place, declare

if TYPE_CHECKING:
    from rankscope.ontology.terms import Ontology

MALFORMED_ID = declare(
    "RS224",
    "malformed-term-id",
    "error",
    unit="expected id",
    advice="write ids as the ontology does, with its prefix and all leading zeros",
    meaning="""An expected id is not written as ids of the ontology are: HP:1250 for HP:0001250.""",
)

UNKNOWN_TERM = declare(
    "RS225",
    "unknown-term",
    "error",
    unit="expected id",
    advice="correct the ids, or give the release of the ontology that they are from",
    meaning="""An expected id is not in the ontology, so no system that searches it can find it.""",
)

OBSOLETE_TERM = declare(
    "RS226",
    "obsolete-term",
    "error",
    unit="expected id",
    advice="write the current ids",
    meaning="""An expected id is that of an obsolete term, which systems no longer return; the
    ontology may name what replaces it.""",
)

ALTERNATIVE_ID = declare(
    "RS227",
    "alternative-term-id",
    "warning",
    unit="expected id",
    advice="write the term's own id, as exact matches compare ids as they are written",
    meaning="""An expected id is another id of a current term, left from when terms were merged.""",
)

UNKNOWN_WORD = declare(
    "RS228",
    "unknown-word-in-case",
    "error",
    unit="case",
    advice="use one of the words of the schema (rankscope cases schema), so that strata are what "
    "they say",
    meaning="""A case has a difficulty or category that the schema does not have.""",
)

DOUBTFUL_LANGUAGE = declare(
    "RS229",
    "doubtful-language",
    "warning",
    unit="case",
    advice="name the language by its code, such as de, in the file's metadata or in the case",
    meaning="""Some cases of a set have a language and others have none, or a language is not a code
    or name that is known; languages are reported apart.""",
)

_FORM = re.compile(r"^([A-Za-z][\w.]*):(\d+)$")
_CODE = re.compile(r"[a-z]{2,3}")
_SUSPECT = 0.9
"""If so many ids of an ontology have one form, an id of another is malformed."""


def check_terms(qrels: Qrels, ontology: Ontology, source: str) -> Iterator[Finding]:
    """Yield what is wrong with expected ids, looked up in an ontology."""
    form = _form_of(ontology)
    groups: dict[Code, list[tuple[str, str, str]]] = {}
    for query_id, term_id in _expected(qrels):
        status = ontology.status(term_id)
        if status == "unknown" and form is not None and not form.fullmatch(term_id):
            meant = _meant(term_id, ontology)
            groups.setdefault(MALFORMED_ID, []).append(
                (query_id, term_id, f"{shown(term_id)}{f' for {meant}' if meant else ''}")
            )
        elif status == "unknown":
            groups.setdefault(UNKNOWN_TERM, []).append((query_id, term_id, shown(term_id)))
        elif status in ("obsolete", "replaced"):
            groups.setdefault(OBSOLETE_TERM, []).append(
                (query_id, term_id, f"{shown(term_id)}, {_replacement(ontology, term_id)}")
            )
        elif status == "alternative":
            current = ontology.alternatives[term_id]
            label = ontology[current].label
            groups.setdefault(ALTERNATIVE_ID, []).append(
                (query_id, term_id, f"{shown(term_id)}, which is {current} ({shown(label)[1:-1]})")
            )
    problems = {
        MALFORMED_ID: f"not written as ids of {ontology.source} are",
        UNKNOWN_TERM: f"not in {ontology.source}",
        OBSOLETE_TERM: "obsolete",
        ALTERNATIVE_ID: "not the term's own",
    }
    for code, rows in groups.items():
        texts = list(dict.fromkeys(text for _, _, text in rows))
        more = f"; {len(texts) - PLACES_SHOWN} more" if len(texts) > PLACES_SHOWN else ""
        verb = "is" if len(rows) == 1 else "are"
        yield code.finding(
            f"{counted(len(rows), 'expected id')} {verb} {problems[code]}: "
            f"{'; '.join(texts[:PLACES_SHOWN])}{more}",
            count=len(rows),
            places=_terms_at(source, rows),
        )


def check_form(qrels: Qrels, source: str) -> Iterator[Finding]:
    """Yield ids of HPO that are not written as such, where no ontology is there to look them up."""
    rows = [
        (query_id, term_id)
        for query_id, term_id in _expected(qrels)
        if term_id.upper().startswith("HP:") and not re.fullmatch(HPO_ID, term_id)
    ]
    if rows:
        yield MALFORMED_ID.finding(
            f"{counted(len(rows), 'expected id')} not written as HP: and seven digits, such as "
            f"{shown(rows[0][1])}",
            count=len(rows),
            places=_terms_at(source, rows),
        )


def _expected(qrels: Qrels) -> Iterator[tuple[str, str]]:
    for query_id in qrels.query_ids:
        for term_id, grade in qrels[query_id].items():
            if grade > 0:
                yield query_id, term_id


def _form_of(ontology: Ontology) -> re.Pattern[str] | None:
    """Return how nearly all ids of an ontology are written; None if there is no such form."""
    forms = Counter(
        (match[1], len(match[2])) for match in map(_FORM.match, ontology.ids) if match is not None
    )
    if not forms:
        return None
    (prefix, digits), count = forms.most_common(1)[0]
    if count < _SUSPECT * len(ontology):
        return None
    return re.compile(rf"{re.escape(prefix)}:\d{{{digits}}}")


def _meant(term_id: str, ontology: Ontology) -> str:
    """Return the id that a badly written one may be: with its zeros, in upper case; '' if none."""
    prefix, _, digits = term_id.strip().replace("_", ":").partition(":")
    width = len(ontology.ids[0].rpartition(":")[2])
    candidate = f"{prefix.upper()}:{digits.strip().zfill(width)}"
    return candidate if ontology.status(candidate) == "current" else ""


def _replacement(ontology: Ontology, term_id: str) -> str:
    """Say what replaces an obsolete term."""
    known = [other for other in ontology.obsolete[term_id] if other in ontology]
    if not known:
        return "with no replacement named"
    names = [f"{other} ({shown(ontology[other].label)[1:-1]})" for other in known[:3]]
    return f"replaced by {' or '.join(names)}"


def check_fields(queries: Queries, source: str) -> Iterator[Finding]:
    """Yield words that the schema does not have, and languages that are not known."""
    for field, words in ENUMERATIONS.items():
        wrong = [
            (query_id, fields[field])
            for query_id, fields in queries.metadata.items()
            if fields.get(field) is not None and fields[field] not in words
        ]
        if wrong:
            yield UNKNOWN_WORD.finding(
                f"{counted(len(wrong), 'case')} with the {field} {shown(wrong[0][1])}; the schema "
                f"has {', '.join(words)}",
                count=len(wrong),
                places=_places(source, [query_id for query_id, _ in wrong]),
            )
    languages = {query_id: fields.get("language") for query_id, fields in queries.metadata.items()}
    known = [language for language in languages.values() if language is not None]
    if known and len(known) < len(languages):
        without = [query_id for query_id, language in languages.items() if language is None]
        yield DOUBTFUL_LANGUAGE.finding(
            f"{counted(len(without), 'case')} without a language, beside {len(known):,} with one",
            count=len(without),
            places=_places(source, without),
        )
    odd = [
        query_id
        for query_id, language in languages.items()
        if language is not None and not _CODE.fullmatch(str(language))
    ]
    if odd:
        yield DOUBTFUL_LANGUAGE.finding(
            f"{counted(len(odd), 'case')} in the language {shown(languages[odd[0]])}, which is "
            "neither a code nor a name that is known",
            count=len(odd),
            places=_places(source, odd),
        )


def _terms_at(source: str, rows: Sequence[tuple[str, ...]]) -> tuple[Place, ...]:
    """Return where the first expected ids are; rows begin with query and id."""
    return tuple(Place(source, query_id=row[0], doc_id=row[1]) for row in rows[:PLACES_SHOWN])


def _places(source: str, query_ids: list[str]) -> tuple[Place, ...]:
    return tuple(Place(source, query_id=query_id) for query_id in query_ids[:PLACES_SHOWN])
