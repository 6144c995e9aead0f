"""Gold as spans or texts: what retrieved pieces cover of it, rank by rank.

Every gold piece is one thing to find. Going down the answer, each retrieved piece *adds* what it
covers of a gold piece and no piece above it has covered: nothing is counted twice, and how the
documents were cut decides neither how much there is to find nor, once all of it is retrieved, how
much was found.

- Spans cover each other by characters of one document.
- Texts match as wholes: a passage is found where the same text was retrieved, up to case, blanks
  and Unicode's forms.
- Where ``overlap`` is given, a text covers the words of a passage that it holds in the same order,
  in stretches of at least `STRETCH` words (or of the whole passage, if that is shorter); words are
  compared without case and punctuation.

A text covers spans of the words of a passage, so all three are spans of something (`_Answer`).

For measures of rankings the gold pieces become the relevant documents. A gold piece is *found* at
the first rank at which at least ``overlap`` of it is covered; there it has its grade. Measures that
are sums of gains (DCG, nDCG, RBP with a gain) see each addition instead: its share of the grade.
One rank finds one gold piece: where a retrieved piece finds several, the further ones take the next
ranks, so no measure exceeds its range. Measures of spans (`rankscope.measures.spans`) see the units
themselves.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rankscope.errors import InputError, shown
from rankscope.measures.judged import Spans
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.scans import Hits

if TYPE_CHECKING:
    from rankscope.runs.piece_run import PieceRun
    from rankscope.scoring.judgments import NoAnswer
    from rankscope.tables.pieces import Piece, PieceRows

OVERLAP = 0.5
"""How much of a gold span must be retrieved for it to be found, if nobody says."""

TEMPLATED = 3
"""A passage that finds so many gold passages at once may share only a template with them."""

STRETCH = 5
"""How many words in a row a text and a passage must share for them to count."""

Unit = Literal["characters", "words", "passages"]


_WORD = re.compile(r"\w+")
_ASCII = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
"""What is no part of a word, for text in which that is quickly said."""
_UNSPACED = re.compile(
    r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
)
"""Signs of scripts without blanks between words: each counts as a word."""


def words_of(text: str) -> list[str]:
    """Return the words of a text: in Unicode's composed form, without case and punctuation.

    One rule for all that is said about texts; systems that retrieve have rules of their own.

    >>> words_of("Don't, Straße! 東京")
    ['don', 't', 'strasse', '東', '京']
    """
    if text.isascii():
        return text.lower().translate(_ASCII).split()
    text = _UNSPACED.sub(r" \1 ", unicodedata.normalize("NFC", text))
    return _WORD.findall(text.casefold())


# --- gold ----------------------------------------------------------------------------------------


class Gold:
    """What is to be found: pieces by query, each once."""

    def __init__(self, pieces: Mapping[str, tuple[Piece, ...]], overlap: float | None) -> None:
        listed = [piece for each in pieces.values() for piece in each]
        self.pieces = pieces
        self.given_overlap = overlap
        self.are_spans = all(piece.is_span for piece in listed)
        """Whether it is known of every piece where it is."""
        self.are_texts = all(piece.text for piece in listed)
        """Whether it is known of every piece what it says."""
        self.documents = [piece.document for piece in listed if piece.document is not None]
        """The documents that the pieces are of, where that is known."""
        self.overlap = overlap or (OVERLAP if self.are_spans else 1.0)
        """The share of a piece that must be retrieved for it to be found."""

    def lines(self) -> list[str]:
        """Return the content as text, for a fingerprint."""
        needed = self.overlap if self.are_spans else self.given_overlap
        rows = (
            [query_id, piece.document, piece.start, piece.end, piece.text, needed]
            for query_id, pieces in self.pieces.items()
            for piece in pieces
        )
        return sorted(json.dumps(row, ensure_ascii=False) for row in rows)


def gold_judgments(
    pieces: PieceRows, *, no_answer: NoAnswer | None, overlap: float | None
) -> Judgments:
    """Make judgments of gold pieces, each of which is one thing to find."""
    by_query, named = {}, {}
    for query_id, each in pieces.by_query.items():
        once = {
            (piece.document, piece.start, piece.end) if piece.is_span else piece.text: piece
            for piece in each
        }
        by_query[query_id] = tuple(once.values())
        named[query_id] = {
            f"{piece.document}[{piece.start}:{piece.end}]"
            if piece.is_span
            else f"passage {place}": _grade(piece)
            for place, piece in enumerate(once.values(), start=1)
        }
    if no_answer == "empty":
        no_answer = [query_id for query_id, each in by_query.items() if not each]
    judgments = Judgments(named, no_answer=[*pieces.no_answer, *(no_answer or ())])
    judgments.gold = gold = Gold(by_query, overlap)
    if not gold.are_spans and not gold.are_texts:
        raise InputError("give all of the gold a document, start and end, or all of it a text")
    return judgments


def _grade(piece: Piece) -> float:
    return 1.0 if piece.number is None else piece.number


# --- spans ---------------------------------------------------------------------------------------


class Span(NamedTuple):
    """A part of a document in characters, or of a passage in words."""

    of: Hashable
    start: int
    end: int

    @property
    def size(self) -> int:
        """How many units it is."""
        return self.end - self.start


class _Covered(dict[Hashable, list[Span]]):
    """Parts that do not overlap, by what they are of."""

    def add(self, span: Span) -> list[Span]:
        """Add a span; return the parts of it that are new."""
        known, new = self.setdefault(span.of, []), [span]
        for part in known:
            new = [
                rest
                for each in new
                for rest in (
                    each._replace(end=min(each.end, part.start)),
                    each._replace(start=max(each.start, part.end)),
                )
                if rest.size > 0
            ]
        known += new
        return new


def _shared(parts: Sequence[Span], span: Span) -> int:
    return sum(max(0, min(span.end, part.end) - max(span.start, part.start)) for part in parts)


def _span(piece: Piece) -> Span:
    return Span(piece.document, int(piece.start or 0), int(piece.end or 0))


# --- texts ---------------------------------------------------------------------------------------


def _as_whole(text: object) -> Span:
    """Return all of a passage, which is known by its text without case and superfluous blanks."""
    folded = " ".join(unicodedata.normalize("NFKC", str(text)).casefold().split())
    return Span(folded, 0, max(len(words_of(str(text))), 1))


def _in_words(text: object) -> Span:
    """Return all of a passage, which is known by its words."""
    words = tuple(words_of(str(text)))
    return Span(words, 0, len(words))


def _stretches(passage: Span, width: int) -> list[tuple[str, ...]]:
    """Return all stretches of so many words, by where they begin."""
    words: Any = passage.of
    return list(zip(*(words[at:] for at in range(width)), strict=False))


class _Passages:
    """The gold passages of a question, and where a text holds words of them."""

    def __init__(self, passages: Sequence[Span]) -> None:
        widths = {passage: min(STRETCH, passage.size) for passage in passages}
        self._parts = [(each, width, _stretches(each, width)) for each, width in widths.items()]
        self._different = {passage: set(stretches) for passage, _, stretches in self._parts}

    def held_by(self, text: Span) -> Iterator[Span]:
        """Yield the spans of passages whose words a text holds in stretches."""
        held = {width: set(_stretches(text, width)) for _, width, _ in self._parts}
        for passage, width, stretches in self._parts:
            if self._different[passage].isdisjoint(held[width]):
                continue
            is_held = np.zeros(passage.size + 2, np.int8)  # with a 0 at both ends
            for place, stretch in enumerate(stretches, start=1):
                if stretch in held[width]:
                    is_held[place : place + width] = 1
            edges = np.flatnonzero(np.diff(is_held)).reshape(-1, 2)
            yield from (Span(passage.of, start, end) for start, end in edges.tolist())


# --- what is found -------------------------------------------------------------------------------


class _Answer:
    """What an answer covers of the gold of its question, rank by rank."""

    def __init__(self, gold: Sequence[Piece], retrieved: Sequence[Piece], unit: Unit) -> None:
        if unit == "characters":
            self.gold, self.retrieved = (list(map(_span, each)) for each in (gold, retrieved))
        else:
            whole = _as_whole if unit == "passages" else _in_words
            self.gold, self.retrieved = (
                [whole(piece.text) for piece in each] for each in (gold, retrieved)
            )
        self._passages = _Passages(self.gold) if unit == "words" else None
        self._once = _Covered()  # gold that overlaps counts once
        self.units = sum(part.size for span in self.gold for part in self._once.add(span))
        """How many units there are to find."""

    def added(self) -> Iterator[tuple[dict[int, float], int, int]]:
        """Yield what each retrieved piece adds to what those above it cover.

        It is the share of each gold piece by its number, units of all gold, and units that were
        not retrieved before.
        """
        covered, seen = _Covered(), _Covered()
        for piece in self.retrieved:
            new = fresh = seen.add(piece)
            if fresh and self._passages is not None:
                held = self._passages.held_by(piece)
                new = [part for span in held for part in covered.add(span)]
            shares = {}
            for number, span in enumerate(self.gold):
                share = _shared([part for part in new if part.of == span.of], span)
                if share:
                    shares[number] = share / span.size
            units = sum(_shared(self._once.get(part.of, ()), part) for part in new)
            yield shares, units, sum(part.size for part in fresh)


class Found(NamedTuple):
    """What is found, query by query; queries are numbered as in the judgments."""

    unit: Unit
    whole: Hits
    """Each gold piece that is found, with its grade."""
    gained: Hits
    """Each addition, with its gain."""
    spans: Spans
    templated: int
    """Retrieved passages that find `TEMPLATED` gold passages or more at once, where texts overlap
    in part."""


def found_in(judgments: Judgments, run: PieceRun, name: str, cutoffs: tuple[int, ...]) -> Found:
    """Find what a run covers of the gold."""
    gold = judgments.gold
    assert gold is not None
    unit = _unit(gold, run, name)
    needed = 1.0 if unit == "passages" else gold.overlap
    whole: list[tuple[int, int, float]] = []
    gained: list[tuple[int, int, float]] = []
    ranks: list[int] = []
    rows: list[tuple[int, int, int, int]] = []
    totals = []
    templated = 0
    for number, query_id in enumerate(judgments.query_ids):
        pieces = gold.pieces[query_id]
        answer = _Answer(pieces, run.pieces.get(query_id, ()), unit)
        totals.append(answer.units)
        share = [0.0] * len(pieces)
        last_found = last_gained = units = retrieved = 0
        for rank, (shares, more_units, more_retrieved) in enumerate(answer.added(), start=1):
            units, retrieved = units + more_units, retrieved + more_retrieved
            rows.append((number, rank, units, retrieved))
            found_before = len(whole)
            for at in sorted(shares, key=lambda at: (-shares[at], at)):
                grade = _grade(pieces[at])
                last_gained = max(rank, last_gained + 1)
                gained.append((number, last_gained, grade * shares[at]))
                before, share[at] = share[at], share[at] + shares[at]
                # 1e-9: shares that add up to all of it may lack a bit of rounding
                if before < needed - 1e-9 <= share[at]:
                    last_found = max(rank, last_found + 1)
                    whole.append((number, last_found, grade))
            templated += unit == "words" and len(whole) - found_before >= TEMPLATED
        ranks.append(max(len(answer.retrieved), last_found, last_gained))
    table = np.array(rows, np.int64).reshape(-1, 4).T
    spans = Spans(table[0], table[1], table[2], table[3], np.array(totals, np.int64))
    sizes = np.array(ranks, np.int64)
    found_whole, found_in_parts = (
        Hits.untied(np.array(each).reshape(-1, 3), sizes, cutoffs) for each in (whole, gained)
    )
    return Found(unit, found_whole, found_in_parts, spans, templated)


def _unit(gold: Gold, run: PieceRun, name: str) -> Unit:
    """Say in what gold and answers are compared: where both are, or what both say."""
    answers = [piece for pieces in run.pieces.values() for piece in pieces]
    if gold.are_spans and all(piece.is_span for piece in answers):
        return "characters"
    if gold.are_texts and all(piece.text is not None for piece in answers):
        return "passages" if gold.given_overlap is None else "words"
    wanted = "a document, start and end" if gold.are_spans else "a text"
    lacking = next(
        query_id
        for query_id, pieces in run.pieces.items()
        for piece in pieces
        if not (piece.is_span if gold.are_spans else piece.text is not None)
    )
    raise InputError(
        f"run {shown(name)}: query {shown(lacking)} has a piece without {wanted}; give it"
    )
