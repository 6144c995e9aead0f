"""Cases in several languages: each by itself, and together only where that is asked for.

A mean over languages says nothing about any of them: how many cases each has decides it, and not
how good a system is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.scoring.judgments import Judgments
from rankscope.tables.language_codes import language_code

if TYPE_CHECKING:
    from collections.abc import Mapping

Languages = Literal["apart", "together"]
"""What becomes of cases in several languages."""

NO_LANGUAGE = "(none)"
"""What cases without a language are called, beside others with one."""


def languages_in(judgments: Judgments) -> dict[str, list[str]]:
    """Return the queries of each language, where there are several; nothing otherwise."""
    known: Mapping[str, str] = judgments.languages
    if not known:
        return {}
    groups: dict[str, list[str]] = {}
    for query_id in (*judgments.query_ids, *judgments.no_answer):
        groups.setdefault(known.get(query_id, NO_LANGUAGE), []).append(query_id)
    return groups if len(groups) > 1 else {}


def in_one_language(
    judgments: Judgments, language: str | None = None, languages: Languages | None = None
) -> Judgments:
    """Return judgments that may be averaged: those of one language, or of all as was asked for.

    Raises:
        InputError: there are several languages, and nobody said which, or that all count together.
    """
    _check(language, languages)
    groups = languages_in(judgments)
    if language is not None:
        return _of_language(judgments, groups, language)
    if not groups or languages == "together":
        return judgments
    codes = list(groups)
    raise InputError(
        f"the cases are in {len(codes)} languages ({', '.join(map(shown, codes))}), which are not "
        f"averaged unasked; take one (language={codes[0]!r}, --language {codes[0]}), or all "
        "together (languages='together', --languages together)"
    )


def by_language(
    judgments: Judgments, language: str | None = None, languages: Languages | None = None
) -> dict[str, Judgments]:
    """Return the judgments of each language that is to be looked at by itself.

    Under '' where there is one set: of one language, or of all together.
    """
    _check(language, languages)
    groups = languages_in(judgments)
    if language is not None or languages == "together" or not groups:
        return {"": in_one_language(judgments, language, languages)}
    parts = {code: _only(judgments, query_ids) for code, query_ids in groups.items()}
    return {code: part for code, part in parts.items() if part.query_ids}


def _check(language: str | None, languages: str | None) -> None:
    if languages not in (None, "apart", "together"):
        raise UnknownNameError("way to take languages", str(languages), ["apart", "together"])
    if language is not None and languages == "together":
        raise InputError("one language cannot be taken together with others; leave one of them out")


def _of_language(judgments: Judgments, groups: Mapping[str, list[str]], language: str) -> Judgments:
    code = language_code(language)
    known = list(groups) or list(dict.fromkeys(judgments.languages.values()))
    if not known:
        raise InputError(
            f"language {shown(language)}: the questions have no language; cases have one by the "
            "field language, or by a folder such as german/"
        )
    if code not in known:
        raise UnknownNameError("language", language, known)
    return _only(judgments, groups[code]) if groups else judgments


def _only(judgments: Judgments, query_ids: list[str]) -> Judgments:
    """Return the judgments of some queries."""
    stays = frozenset(query_ids)
    others = [query_id for query_id in judgments.query_ids if query_id not in stays]
    unanswered = [query_id for query_id in judgments.no_answer if query_id in stays]
    part = Judgments(
        judgments.table.without(others),
        remember=judgments.alignments is not None,
        no_answer=unanswered,
    )
    part.ontology = judgments.ontology
    return part
