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
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankscope.errors import InputError, shown
from rankscope.measures.judged import Spans
from rankscope.scoring.judgments import Judgments

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
        raise InputError(
            "some of the gold has a document, start and end and some has a text only; give all of "
            "it one or the other"
        )
    return judgments


def _grade(piece: Piece) -> float:
    return 1.0 if piece.number is None else piece.number


# --- coverage ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Added:
    """What one retrieved piece adds to what the pieces above it cover."""

    shares: Mapping[int, float]
    """By number of the gold piece: the share of it."""
    units: int
    """Of all gold: so many units, gold that overlaps counted once."""
    retrieved: int
    """So many units that were not retrieved before."""


def gold_units(gold: Sequence[Piece], unit: Unit) -> int:
    """Return how many units there are to find, gold that overlaps counted once."""
    if unit != "characters":
        return sum(len(words) for words in {tuple(words_of(str(piece.text))) for piece in gold})
    return sum(sum(known.ends) - sum(known.starts) for known in _merged(gold).values())


def _span(piece: Piece) -> tuple[str, int, int]:
    return str(piece.document), int(piece.start or 0), int(piece.end or 0)


def _merged(pieces: Sequence[Piece]) -> dict[str, _Covered]:
    """Return the spans of each document, those that overlap made one."""
    covered: dict[str, _Covered] = {}
    for document, start, end in map(_span, pieces):
        covered.setdefault(document, _Covered()).add(start, end)
    return covered


class _Covered:
    """Characters of one document: spans that do not overlap, in order."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, start: int, end: int) -> list[tuple[int, int]]:
        """Add a span; return the parts of it that are new."""
        low = bisect_left(self.ends, start)
        high = bisect_right(self.starts, end)
        new, at = [], start
        for begin, stop in zip(self.starts[low:high], self.ends[low:high], strict=True):
            if at < begin:
                new.append((at, min(begin, end)))
            at = max(at, stop)
        if at < end:
            new.append((at, end))
        if low < high:
            start, end = min(start, self.starts[low]), max(end, self.ends[high - 1])
        self.starts[low:high], self.ends[low:high] = [start], [end]
        return new


def _shared(parts: Sequence[tuple[int, int]], start: int, end: int) -> int:
    return sum(max(0, min(end, stop) - max(start, begin)) for begin, stop in parts)


def _by_characters(gold: Sequence[Piece], retrieved: Sequence[Piece]) -> Iterator[Added]:
    wanted: dict[str, list[tuple[int, int, int]]] = {}
    for number, (document, start, end) in enumerate(map(_span, gold)):
        wanted.setdefault(document, []).append((number, start, end))
    merged, covered = _merged(gold), dict[str, _Covered]()
    for document, start, end in map(_span, retrieved):
        new = covered.setdefault(document, _Covered()).add(start, end)
        shares = {
            number: share / (stop - begin)
            for number, begin, stop in wanted.get(document, ())
            if (share := _shared(new, begin, stop))
        }
        known = merged.get(document, _Covered())
        units = sum(_shared(new, *span) for span in zip(known.starts, known.ends, strict=True))
        yield Added(shares, units, sum(stop - begin for begin, stop in new))


# --- texts ---------------------------------------------------------------------------------------


def _as_wholes(gold: Sequence[Piece], retrieved: Sequence[Piece]) -> Iterator[Added]:
    wanted: dict[str, list[int]] = {}
    for number, piece in enumerate(gold):
        wanted.setdefault(_folded(str(piece.text)), []).append(number)
    seen: set[str] = set()
    for piece in retrieved:
        text = _folded(str(piece.text))
        size = 0 if text in seen else len(words_of(text))
        numbers = () if text in seen else wanted.get(text, ())
        seen.add(text)
        yield Added(dict.fromkeys(numbers, 1.0), size if numbers else 0, size)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class _Passage:
    """A gold passage, and which of its words are covered."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.width = min(STRETCH, len(words))
        self.covered = [False] * len(words)
        self.vocabulary = frozenset(words)
        stretches = (words[at : at + self.width] for at in range(len(words) - self.width + 1))
        self.least = min(len(set(stretch)) for stretch in stretches)
        """Different words that any stretch has: a text with fewer in common holds none."""

    def cover(self, line: str, known: set[str]) -> int:
        """Cover what a text holds; return how many words are new."""
        words, width, new = self.words, self.width, 0
        if len(self.vocabulary & known) < self.least:
            return 0
        run = 0  # so many words up to here occur in the text at all
        for at, word in enumerate(words):
            run = run + 1 if word in known else 0
            if run < width:
                continue
            begin = at - width + 1
            if all(self.covered[begin : at + 1]):
                continue
            if f" {' '.join(words[begin : at + 1])} " in line:
                new += width - sum(self.covered[begin : at + 1])
                self.covered[begin : at + 1] = [True] * width
        return new


def _by_words(gold: Sequence[Piece], retrieved: Sequence[Piece]) -> Iterator[Added]:
    passages: dict[tuple[str, ...], _Passage] = {}
    numbers: list[_Passage] = []
    for piece in gold:
        words = words_of(str(piece.text))
        numbers.append(passages.setdefault(tuple(words), _Passage(words)))
    seen: set[str] = set()
    for piece in retrieved:
        words = words_of(str(piece.text))
        line = f" {' '.join(words)} "
        if line in seen:
            yield Added({}, 0, 0)
            continue
        seen.add(line)
        known = set(words)
        new = {id(passage): passage.cover(line, known) for passage in passages.values()}
        shares = {
            number: new[id(passage)] / len(passage.words)
            for number, passage in enumerate(numbers)
            if new[id(passage)]
        }
        yield Added(shares, sum(new.values()), len(words))


_ADDITIONS: dict[Unit, Callable[[Sequence[Piece], Sequence[Piece]], Iterator[Added]]] = {
    "characters": _by_characters,
    "words": _by_words,
    "passages": _as_wholes,
}
"""What each retrieved piece adds, best first."""


# --- hits ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SpanHits:
    """What is found, query by query; queries are numbered as in the judgments."""

    unit: Unit
    whole: list[tuple[int, int, float]]
    """Query, rank and grade of each gold piece that is found."""
    gained: list[tuple[int, int, float]]
    """Query, rank and gain of each addition."""
    retrieved: list[int]
    """By query: how many ranks its answer takes."""
    spans: Spans
    templated: int
    """Retrieved passages that find `TEMPLATED` gold passages or more at once, where texts overlap
    in part."""


def span_hits(judgments: Judgments, run: PieceRun, name: str) -> SpanHits:
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
        pieces, answer = gold.pieces[query_id], run.pieces.get(query_id, ())
        totals.append(gold_units(pieces, unit))
        share = [0.0] * len(pieces)
        last_found = last_gained = units = retrieved = 0
        for rank, added in enumerate(_ADDITIONS[unit](pieces, answer), start=1):
            units += added.units
            retrieved += added.retrieved
            rows.append((number, rank, units, retrieved))
            before_piece = len(whole)
            by_share = sorted(added.shares, key=lambda at: (-added.shares[at], at))
            for at in by_share:
                grade = _grade(pieces[at])
                last_gained = max(rank, last_gained + 1)
                gained.append((number, last_gained, grade * added.shares[at]))
                before, share[at] = share[at], share[at] + added.shares[at]
                # 1e-9: shares that add up to all of it may lack a bit of rounding
                if before < needed - 1e-9 <= share[at]:
                    last_found = max(rank, last_found + 1)
                    whole.append((number, last_found, grade))
            templated += unit == "words" and len(whole) - before_piece >= TEMPLATED
        ranks.append(max(len(answer), last_found, last_gained))
    table = np.array(rows, np.int64).reshape(-1, 4).T
    spans = Spans(table[0], table[1], table[2], table[3], np.array(totals, np.int64))
    return SpanHits(unit, whole, gained, ranks, spans, templated)


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
        f"run {shown(name)}: query {shown(lacking)} has a piece without {wanted}, which the gold "
        "has; give it to every piece that was retrieved"
    )
