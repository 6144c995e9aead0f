"""Cases in several languages: each by itself, and together only where that is asked for.

A mean over languages says nothing about any of them: how many cases each has decides it, and not
how good a system is.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, UnknownNameError, counted, shown
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.soundness import Remark
from rankscope.tables.language_codes import language_code

if TYPE_CHECKING:
    from rankscope.scoring.evaluate import Judge
    from rankscope.scoring.options import Languages
    from rankscope.scoring.scores import RunScores

NO_LANGUAGE = "(none)"
"""What cases without a language are called, beside others with one."""


def in_language(
    judgments: Judgments, language: str | None, languages: Languages | None
) -> Judgments:
    """Return the judgments of one language, or of all together."""
    if language is not None:
        return _of_language(judgments, language)
    if languages == "together" and languages_in(judgments):
        judgments = copy.copy(judgments)
        judgments.may_mix_languages = True
    return judgments


def languages_in(judgments: Judgments) -> dict[str, list[str]]:
    """Return the queries of each language, where there are several that are not to be mixed."""
    known: Mapping[str, str] = judgments.languages
    if not known or judgments.may_mix_languages:
        return {}
    groups: dict[str, list[str]] = {}
    for query_id in (*judgments.query_ids, *judgments.no_answer):
        groups.setdefault(known.get(query_id, NO_LANGUAGE), []).append(query_id)
    return groups if len(groups) > 1 else {}


def refuse_mixed(judgments: Judgments) -> None:
    """Raise if a mean over these judgments would be one over several languages, unasked."""
    codes = list(languages_in(judgments))
    if codes:
        raise InputError(
            f"the cases are in {len(codes)} languages ({', '.join(codes)}), which are not averaged "
            f"unasked; take one with language={codes[0]!r}, or all with languages='together'"
        )


def by_language(judgments: Judgments) -> dict[str, Judgments]:
    """Return the judgments of each language; under '' where there is nothing to keep apart."""
    groups = languages_in(judgments)
    if not groups:
        return {"": judgments}
    parts = {code: _only(judgments, query_ids) for code, query_ids in groups.items()}
    return {code: part for code, part in parts.items() if part.query_ids}


def rows_by_language(
    judgments: Judgments, parts: Mapping[str, Judgments], named: Mapping[str, Any], judge: Judge
) -> list[RunScores]:
    """Return the scores of each run, for each language that it has.

    A run of one language is one, and not a bad run of five.
    """
    rows: list[RunScores] = []
    for code, part in parts.items():
        for name, run in named.items():
            if getattr(run, "scored", None) is not None:
                rows += judge.scored(part, run, f"{name} ({code})")
                continue
            known = frozenset(map(str, run if isinstance(run, Mapping) else run.query_ids))
            lacking = [each for each in parts if known.isdisjoint(parts[each].query_ids)]
            if code in lacking and len(lacking) < len(parts):
                continue
            [row] = judge.scored(part, run, f"{name} ({code})")
            # what is asked in other languages is judged there
            unjudged = len(known - {*judgments.query_ids, *judgments.no_answer})
            row = replace(row, counts={**row.counts, "unjudged": unjudged})
            if lacking and code not in lacking:
                count = sum(len(parts[each].query_ids) for each in lacking)
                message = (
                    f"the run has no case in {', '.join(lacking)} ({counted(count, 'case')}); it "
                    "is not scored there"
                )
                row = replace(row, remarks=(*row.remarks, Remark("RS161", message, count)))
            rows.append(row)
    return rows


def _of_language(judgments: Judgments, language: str) -> Judgments:
    code = language_code(language)
    known = list(dict.fromkeys(judgments.languages.values()))
    if not known:
        raise InputError(
            f"language {shown(language)}: the questions have no language; cases have one by the "
            "field language, or by a folder such as german/"
        )
    if code not in known:
        raise UnknownNameError("language", language, known)
    wanted = [query_id for query_id, of in judgments.languages.items() if of == code]
    return _only(judgments, wanted) if languages_in(judgments) else judgments


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
