"""Why the ids of two files do not meet: what a person would see at a glance, as a guess."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from rankscope.errors import InputError, counted, shown
from rankscope.tables.documents import looks_like_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Set

    from rankscope.tables.columns import Reading

LOOKED_AT = 100_000
"""How many ids a guess is made from."""

_TEXTS_LOOKED_AT = 20

_CHUNK = re.compile(r"(?<=.)(?:[#:@/_.-]+|[ _-]*(?:chunk|part|passage|p)[ _-]*)[0-9]+$")
_SUFFIX = "a suffix, as that of a chunk"

_WAYS: dict[str, Callable[[str], str]] = {
    "blanks around an id": str.strip,
    "upper and lower case": str.casefold,
    "leading zeros": lambda text: re.sub(r"(?<![0-9])0+(?=[0-9])", "", text),
    "a number written with a fraction": lambda text: re.sub(r"\.0+$", "", text),
    _SUFFIX: lambda text: _CHUNK.sub("", text),
    "a prefix": lambda text: re.sub(r"^[^0-9]*(?=[0-9])", "", text),
    "a folder or namespace before the id": lambda text: re.split(r"[/:#]", text)[-1],
    "a file ending": lambda text: re.sub(r"\.[A-Za-z]{1,5}$", "", text),
}
"""In what ids of one thing may differ, and the change that makes them the same."""

_NEAR = tuple(_WAYS)[:5]
"""The ways that make two ids of one corpus the same by chance least often."""


def _differ(way: str, ours: str, theirs: str) -> str:
    return f"they differ in {way}, as {shown(ours, 30)} and {shown(theirs, 30)}"


def _leading_to(theirs: str, ours: str) -> str:
    """Return the option that leads from an id of a run to that of its document, if there is one."""
    before, within, behind = ours.partition(theirs)
    separator = re.fullmatch(r"([#:@/_.-]{1,3})[0-9]+", behind)
    if not within or bool(before) == bool(behind):
        return ""
    rule = f"^{re.escape(before)}(.+)$"
    if behind:
        stem = re.escape(re.sub(r"[0-9]+$", "", behind))
        rule = separator[1] if separator else f"^(.+){stem}[0-9]+$"
    return f"; give doc_id_from={rule!r}"


def _alike(way: str, ours: Collection[str], theirs: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs, one of each side, that are the same but for this.

    A suffix counts where one of the two is the other with something behind it: ``doc_1`` and
    ``doc_2`` are two documents.
    """
    change = _WAYS[way]
    changed = {change(id_): id_ for id_ in reversed(list(theirs))}
    if way != _SUFFIX:
        return [(id_, changed[change(id_)]) for id_ in ours if change(id_) in changed]
    known = set(theirs)
    longer = [(id_, changed[id_]) for id_ in ours if changed.get(id_, id_) != id_]
    return longer + [(id_, stem) for id_ in ours if (stem := change(id_)) in known and stem != id_]


def near_misses(retrieved: Collection[str], gold: Collection[str]) -> dict[str, list[str]]:
    """Return gold that was found only under an id nearly the same, by how that differs."""
    lost = [doc_id for doc_id in gold if doc_id not in retrieved]
    misses: dict[str, list[str]] = {}
    for way in _NEAR:
        pairs = _alike(way, lost, retrieved)
        if pairs:
            wanted, got = pairs[0]
            reason = _differ(way, wanted, got) + _leading_to(wanted, got)
            misses[reason] = [doc_id for doc_id, _ in pairs]
    return misses


def nothing_in_common(
    what: str,
    ours: Iterable[str],
    theirs: Iterable[str],
    our_others: Iterable[str],
    their_others: Iterable[str],
) -> str:
    """Say that run and qrels share no id of a kind, with two examples of each and a guess why.

    ``ours`` are the run's ids, ``theirs`` those of the qrels; the others are of the other kind,
    queries or documents, and tell whether the columns are swapped. The guess is the one change that
    would make most ids meet.
    """
    mine, judged = (list(dict.fromkeys(islice(ids, LOOKED_AT))) for ids in (ours, theirs))
    few = [", ".join(shown(id_, 30) for id_ in ids[:2]) for ids in (mine, judged)]
    guess, most = "", 0
    for way in _WAYS:
        pairs = _alike(way, mine, judged)
        overlap = len({other for _, other in pairs})
        if overlap > most:
            id_, other = pairs[0]
            remedy = _leading_to(other, id_) if what == "document" else ""
            guess, most = f"; {_differ(way, id_, other)}{remedy}", overlap
    others = set(islice(our_others, LOOKED_AT))
    crossed = min(len(set(mine).intersection(their_others)), len(others.intersection(judged)))
    if crossed and crossed >= most:
        guess = "; query and document columns seem to be swapped"
    return (
        f"no {what} id in common with the qrels: the run has {few[0]}, the qrels have {few[1]}"
        f"{guess}"
    )


def refuse_misread(
    gold: Reading, run: Reading, judged: Iterable[str], retrieved: Iterable[str]
) -> None:
    """Refuse a column whose reading the ids of the other side contradict.

    A text that was taken for one id holds an id of the other side; or no document is shared, and
    one would be if another column were read.
    """
    judged, retrieved = set(judged), set(retrieved)
    sides = [
        ("gold", "relevant", gold, run, judged, retrieved),
        ("run", "retrieved", run, gold, retrieved, judged),
    ]
    for role, _, mine, other, _, theirs in sides:
        known = theirs.union(*map(_parts, other.doubtful))
        for text in mine.doubtful[:_TEXTS_LOOKED_AT]:
            if text not in theirs and _lists_several(text, known):
                raise InputError(
                    f"{role}: {shown(text, 60)} in {shown(mine.documents)} seems to list several "
                    'ids; write a JSON list there, such as ["a", "b"]'
                )
    if not judged.isdisjoint(retrieved):
        return
    for role, word, mine, other, ours, theirs in sides:
        known = theirs.union(*map(_parts, other.doubtful))
        are_words = not any(map(looks_like_id, ours))
        for name, ids in mine.others.items():
            if name == other.documents or (not are_words and all(map(str.isdigit, ids))):
                continue  # numbers, as ranks, meet those of documents by chance
            shares = not ids.isdisjoint(known)
            shares = shares or any(_lists_several(text, known) for text in ids)
            texts = other.doubtful[:_TEXTS_LOOKED_AT]
            if shares or any(_lists_several(text, ids) for text in texts):
                raise InputError(
                    f"{role}: nothing in {shown(mine.documents)} is on the other side, and "
                    f"{shown(name)} holds ids that are; say which column is meant "
                    f"({word}={shown(name)})"
                )


def _parts(text: str) -> list[str]:
    """Return the ids that a text lists, if all its parts look like ids."""
    parts = re.split(r"[\s,;|]+", text.strip())
    return parts if all(map(looks_like_id, parts)) else []


def _lists_several(text: str, known: Set[str]) -> bool:
    """Tell several ids from one that holds blanks or commas, as titles do.

    One known id between separators is enough where all parts look like ids, or are between signs
    that no title has; else it takes two.
    """
    if not known.isdisjoint((*_parts(text), *re.split(r"\s*[;|]\s*|,(?=\S)", text))):
        return True
    within = r"(?:^|[\s,])(?:{})(?:[\s,]|$)"
    held = (id_ for id_ in islice(known, LOOKED_AT) if id_ in text)
    return sum(re.search(within.format(re.escape(id_)), text) is not None for id_ in held) > 1


def empty_message(queries: int) -> str:
    """Say that a run is empty, or that all its answers are."""
    if not queries:
        return "the run is empty"
    return f"the run is empty: {counted(queries, 'query')} and no document for any of them"


def gold_outside_message(doc_ids: Collection[str], relevant: int) -> str:
    """Say which documents nobody can find; ``doc_ids`` has one for each relevant pair outside."""
    outside = list(dict.fromkeys(doc_ids))
    few = ", ".join(shown(doc_id, 30) for doc_id in outside[:3]) + (", …" if outside[3:] else "")
    are = "is" if len(outside) == 1 else "are"
    return (
        f"{counted(len(outside), 'relevant document')} of the qrels {are} not in the corpus ({few})"
        f": {len(doc_ids):,} of {counted(relevant, 'relevant judgment')}"
    )
