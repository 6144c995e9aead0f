r"""The desk: what a rater sees and does, apart from how it travels.

`Desk.answer` takes a request of the page, a dict, and returns a dict. No rank, score or system is
in any answer, and no grade of another rater. The page puts texts in as text and never as HTML;
here control characters and marks that change the direction of writing are spelt out, and what is
far too long is cut.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rankscope.collection.ratings import FINAL
from rankscope.errors import InputError, counted, shown
from rankscope.reports.judging.judging_pool import (
    DocumentText,
    JudgingOrder,
    JudgingPool,
    QueryText,
    ordered,
)
from rankscope.reports.judging.judgment_exports import export_bytes, write_export
from rankscope.reports.judging.judgment_log import Judgment, JudgmentLog, Pair
from rankscope.tables.columns import folded

if TYPE_CHECKING:
    from rankscope.reports.judging.judgment_log import Judgments

GRADES = {0: "not relevant", 1: "related", 2: "relevant", 3: "perfect"}
"""The grades if nothing else is said."""

LONGEST_RATER, LONGEST_REASON = 80, 2_000
LONGEST_NAME, LONGEST_TITLE, LONGEST_TEXT = 300, 1_000, 200_000
"""Characters of ids and field names, of titles, and of texts that are shown."""

_ID = re.compile(r"[A-Za-z0-9-]{8,64}")
_JOINERS = "\u200c\u200d"  # Persian and Indic words, and emoji, are written with them


def usual_guidelines(grades: Mapping[int, str] = GRADES) -> str:
    """Return what raters are asked to do, with these grades."""
    guidelines = (files("rankscope.reports.judging") / "guidelines.txt").read_text("utf-8")
    return guidelines.replace("SCALE", "\n".join(f"{each}  {grades[each]}" for each in grades))


def parse_grades(text: str) -> dict[int, str]:
    """Parse ``0=not relevant,1=relevant``: grades are the keys 0 to 9.

    >>> parse_grades("0=no, 1=yes")
    {0: 'no', 1: 'yes'}
    """
    grades: dict[int, str] = {}
    for part in text.split(","):
        number, equals, label = (piece.strip() for piece in part.partition("="))
        if not re.fullmatch("[0-9]", number) or (equals and not label):
            raise InputError(
                f"--grades: expected a digit and its meaning such as 2=relevant, got "
                f"{shown(part)}; grades are 0 to 9, the key that gives them"
            )
        if int(number) in grades:
            raise InputError(f"--grades: {number} has two meanings; give it one")
        grades[int(number)] = shown_line(label, 60)
    if len(grades) < 2:
        raise InputError("--grades: give at least two grades, such as 0=not relevant,1=relevant")
    return dict(sorted(grades.items()))


def checked_rater(text: object) -> str:
    """Return the name of a rater, or say why it cannot be one."""
    rater = text.strip() if isinstance(text, str) else ""
    if not rater or len(rater) > LONGEST_RATER:
        raise InputError(f"a rater needs a name of 1 to {LONGEST_RATER} characters")
    if not rater.isprintable() or not rater[0].isalnum():
        raise InputError(
            "the name of a rater begins with a letter or a digit, and has no control characters"
        )
    if folded(rater) in map(folded, FINAL):
        raise InputError(
            f"{rater} means the grade that raters settled on; choose another name of a rater"
        )
    return rater


def shown_text(text: str, longest: int = LONGEST_TEXT) -> str:
    r"""Return text as it may be shown, on several lines, and cut where it is far too long.

    >>> shown_text("caf\u00e9\u00a0au lait\r\n\x00 \u202egnp.exe"), shown_text("abcdef", 3)
    ('café\xa0au lait\n\\x00 \\u202egnp.exe', 'abc… (6 characters)')
    """

    def is_shown(sign: str) -> bool:
        is_blank = unicodedata.category(sign) in ("Zs", "Co")
        return sign.isprintable() or is_blank or sign in _JOINERS

    lines = text[:longest].expandtabs(4).splitlines()
    whole = "\n".join(
        "".join(sign if is_shown(sign) else repr(sign)[1:-1] for sign in line) for line in lines
    )
    return whole if len(text) <= longest else f"{whole}… ({counted(len(text), 'character')})"


def shown_line(text: str, longest: int = LONGEST_NAME) -> str:
    """Return an id or a name as it may be shown, on one line."""
    return " ".join(shown_text(text, longest).split("\n"))


Body = dict[str, Any]
"""What is said to the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How is judged."""

    grades: Mapping[int, str]
    order: JudgingOrder = "random"
    guidelines: str = usual_guidelines()
    rater: str | None = None
    """Who judges unless somebody else says so."""
    qrels: str | None = None
    """A file that is written with each export."""


class Desk:
    """A pool, a log, and what raters do at the moment."""

    def __init__(
        self,
        pool: JudgingPool,
        log: JudgmentLog,
        terms: Terms,
        existing: Mapping[Pair, float] | None = None,
    ) -> None:
        self.pool, self.log, self.terms, self.existing = pool, log, terms, dict(existing or {})
        settled = {pair for pair, grade in self.existing.items() if grade >= 0}
        settled -= log.judgments.pairs
        self.pairs = tuple(pair for pair in pool.pairs if pair not in settled)
        self._key = {pair: _key_of(pair) for pair in self.pairs}
        self._pair = {key: pair for pair, key in self._key.items()}
        self._orders: dict[str, list[Pair]] = {}
        self._answers: dict[str, Callable[[str, Mapping[str, Any]], Body]] = {
            "next": self._next,
            "item": lambda rater, body: self._shown(rater, self._named(body.get("key"))),
            "judge": self._judge,
            "undo": self._undo,
        }

    @property
    def requests(self) -> frozenset[str]:
        """What can be asked."""
        return frozenset(self._answers) | {"state", "export"}

    def answer(self, request: str, body: Mapping[str, Any]) -> Body:
        """Answer one request; what cannot be done is an `InputError`."""
        with self.log.held():
            if request in ("state", "export"):
                return self._state(body) if request == "state" else self._export(body)
            return self._answers[request](checked_rater(body.get("rater")), body)

    # --- what is shown

    def _state(self, body: Mapping[str, Any]) -> Body:
        """Say what everybody sees alike."""
        rater, grades = body.get("rater") or self.terms.rater, self.terms.grades.items()
        return {
            "pool": shown_line(self.pool.source),
            "grades": [{"grade": each, "label": label} for each, label in grades],
            "guidelines": shown_text(self.terms.guidelines),
            "raters": [shown_line(each) for each in self.log.judgments.raters],
            "rater": None if rater is None else checked_rater(rater),
            "log": shown_line(self.log.path.name),
            "total": len(self.pairs),
            "longest_reason": LONGEST_REASON,
            "longest_rater": LONGEST_RATER,
        }

    def _next(self, rater: str, body: Mapping[str, Any]) -> Body:
        """Give the next pair that this rater has not judged, behind one that is to be skipped."""
        skipped = None if body.get("skip") is None else self._named(body["skip"])
        return self._shown(rater, self._open(rater, skipped))

    # --- what is done

    def _judge(self, rater: str, body: Mapping[str, Any]) -> Body:
        """Save a judgment; with ``next`` also give the next pair."""
        pair, grade = self._named(body.get("key")), body.get("grade")
        cannot = body.get("cannot") is True
        is_grade = isinstance(grade, int) and not isinstance(grade, bool)
        if not cannot and not (is_grade and grade in self.terms.grades):
            listed = ", ".join(map(str, self.terms.grades))
            raise InputError(f"{shown(grade)} is not a grade; the grades are {listed}")
        wanted = Judgment(
            id=_checked_id(body.get("id")),
            rater=rater,
            **pair._asdict(),
            grade=None if cannot else grade,
            cannot=cannot,
            reason=_checked_reason(body.get("reason", "")),
        )
        answer: Body = {"saved": _spoken(self.log.add(lambda _: wanted)), "key": self._key[pair]}
        if body.get("next"):
            return answer | self._shown(rater, self._open(rater, pair))
        return answer | {"progress": self._progress(rater, pair)}

    def _undo(self, rater: str, body: Mapping[str, Any]) -> Body:
        """Take the last judgment of this rater back."""
        undo_id = _checked_id(body.get("id"))

        def make(judgments: Judgments) -> Judgment:
            if undo_id in judgments.by_id:
                return judgments.by_id[undo_id]
            last = judgments.last_of(rater)
            if last is None:
                raise InputError("there is nothing to undo")
            return Judgment(id=undo_id, rater=rater, **last.pair._asdict(), undo=last.id)

        taken_back = self.log.add(make)
        if taken_back.pair not in self._key:
            return {"item": None, "progress": self._progress(rater, None)}
        before = self.log.judgments.by_id[taken_back.undo]
        return {**self._shown(rater, taken_back.pair), "undone": _spoken(before)}

    def _export(self, body: Mapping[str, Any]) -> Body:
        """Return the judgments as a file; the qrels that were asked for are written, too."""
        if not isinstance(body.get("suffix"), str):
            raise InputError("name the suffix of a file")
        file = f"judgments{body['suffix'][:8]}"
        content = export_bytes(self.log.judgments, file, self.existing)
        return {"name": file, "content": content.decode(), "written": self.write_qrels()}

    def write_qrels(self) -> str | None:
        """Write the qrels that were asked for, if there is a judgment; return the file's name."""
        target = self.terms.qrels
        with self.log.held() as judgments:
            graded = any(judgment.grade is not None for judgment in judgments.all())
            if target is None or not (graded or self.existing):
                return None
            write_export(judgments, target, self.existing)
        return target

    # --- parts of answers

    def _named(self, key: object) -> Pair:
        pair = self._pair.get(key) if isinstance(key, str) else None
        if pair is None:
            raise InputError("this document is not in the pool that is judged now")
        return pair

    def _order(self, rater: str) -> list[Pair]:
        if rater not in self._orders:
            self._orders[rater] = ordered(self.pairs, rater, self.terms.order)
        return self._orders[rater]

    def _open(self, rater: str, after: Pair | None = None) -> Pair | None:
        """Return what is to be judged next; what was skipped comes again at the end."""
        given, order = self.log.judgments.of(rater), self._order(rater)
        start = 0 if after is None else order.index(after) + 1
        return next((pair for pair in order[start:] + order[:start] if pair not in given), None)

    def _progress(self, rater: str, pair: Pair | None) -> Body:
        given, order = self.log.judgments.of(rater), self._order(rater)
        judged = sum(each in given for each in order)
        progress: Body = {"judged": judged, "total": len(order), "can_undo": bool(given)}
        if pair is not None:
            of_query = [each for each in order if each.query_id == pair.query_id]
            judged = sum(each in given for each in of_query)
            progress["query"] = {"judged": judged, "total": len(of_query)}
        return progress

    def _shown(self, rater: str, pair: Pair | None) -> Body:
        item = None if pair is None else self._item(rater, pair)
        return {"item": item, "progress": self._progress(rater, pair)}

    def _item(self, rater: str, pair: Pair) -> Body:
        query = self.pool.queries.get(pair.query_id, QueryText())
        document = self.pool.documents.get(pair.doc_id, DocumentText())
        return {
            "key": self._key[pair],
            "query": {
                "id": shown_line(pair.query_id),
                "text": shown_text(query.text),
                "needs": _shown_fields(query.needs),
            },
            "document": {
                "id": shown_line(pair.doc_id),
                "title": shown_text(document.title, LONGEST_TITLE),
                "text": shown_text(document.text),
                "fields": _shown_fields(document.fields),
            },
            "judged": self._judged(rater, pair),
        }

    def _judged(self, rater: str, pair: Pair) -> Body | None:
        judgment = self.log.judgments.get(rater, pair)
        return None if judgment is None else _spoken(judgment)

    def summary(self) -> str:
        """Say in one sentence what there is to judge, and how far that is."""
        queries = counted(len({pair.query_id for pair in self.pairs}), "query")
        before = len(self.pool.pairs) - len(self.pairs)
        left_out = f", {counted(before, 'pair')} judged before left out" if before else ""
        return f"{counted(len(self.pairs), 'pair')} of {queries} to judge{left_out}"


def _shown_fields(fields: tuple[tuple[str, str], ...]) -> list[Body]:
    return [{"name": shown_line(name), "text": shown_text(text)} for name, text in fields]


def _spoken(judgment: Judgment) -> Body:
    return judgment.model_dump(include={"id", "grade", "cannot", "reason"})


def _key_of(pair: Pair) -> str:
    """Return what the page calls a pair: the same after a restart."""
    digest = hashlib.sha256()
    for text in pair:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()[:24]


def _checked_id(text: object) -> str:
    if not isinstance(text, str) or not _ID.fullmatch(text):
        raise InputError("a judgment needs an id of 8 to 64 letters, digits and dashes")
    return text


def _checked_reason(text: object) -> str:
    if not isinstance(text, str) or len(text) > LONGEST_REASON:
        raise InputError(f"a reason is text of at most {LONGEST_REASON:,} characters")
    try:
        text.encode()
    except UnicodeError:
        raise InputError("the reason is not valid text") from None
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
