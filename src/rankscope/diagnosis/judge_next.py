"""Which documents to judge next: unjudged ones, by how much they could change a conclusion.

`Unjudged` holds the unjudged documents that any system ranks high, each once, with its ranks in all
systems; `write_pool` writes those that are worth judging first to a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.document.blocks import shortened
from rankscope.errors import InputError
from rankscope.files import replacing, source_name, suffix_of
from rankscope.part import Part, PrivateText

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import KeyArray, Ranking, Rankings
    from rankscope.files import PathLike
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray

SMOOTHING = 10.0
"""A rate at one rank is drawn towards the rate at all ranks as if by so many documents."""

MOST_SUPPORT = 4
"""Documents that more systems have are like those that so many have."""

UNJUDGED_GRADE = -1
"""The grade of a pooled document that nobody judged, as in trec_eval."""


class ToJudge(Part):
    """A query and a document that nobody judged for it."""

    query_id: str
    """The query."""
    doc_id: str
    """The document."""
    text: PrivateText = None
    """What the query asks; null if it is not known."""
    title: PrivateText = None
    """The document's title, or the beginning of its text; null if it is not known."""
    ranks: dict[str, int]
    """By system: the document's rank, where the measure looks at it."""
    change: float
    """How much the differences between the systems in question would change if it were relevant,
    added up over the pairs of systems; with one system, how much its mean would."""
    probability: float
    """How often documents that the same systems have, at the same best rank, are known to be
    relevant; smoothed."""
    priority: float
    """The expected change: change times probability. Pairs come by this, highest first."""

    @property
    def document(self) -> str:
        """The document's id and title, as a table shows them."""
        return shortened(f"{self.doc_id} {self.title or ''}", 45)

    @property
    def places(self) -> str:
        """The document's ranks, by system."""
        return ", ".join(f"{name} {rank}" for name, rank in self.ranks.items())

    @property
    def moved(self) -> str:
        """The change, with the digits it needs."""
        return f"{self.change:.5f}"

    @property
    def likely(self) -> str:
        """The probability in per cent."""
        return f"{self.probability:.0%}"


@dataclass(frozen=True, eq=False)
class _Top:
    """The first documents of all systems: a row for each system and document."""

    key: KeyArray
    rank: IntArray
    grade: FloatArray
    system: IntArray

    @cached_property
    def _unique(self) -> tuple[KeyArray, IntArray, IntArray]:
        return np.unique(self.key, return_index=True, return_inverse=True)

    @property
    def unique(self) -> KeyArray:
        """By document: its key."""
        return self._unique[0]

    @property
    def source(self) -> IntArray:
        """By document: a row where it is."""
        return self._unique[1]

    @property
    def document(self) -> IntArray:
        """By row: the number of its document."""
        return self._unique[2]

    def probability(self, depth: int, level: float) -> FloatArray:
        """By document: how probable it is that it is relevant.

        Documents are of one kind that the same system alone has among its first, or that two, three
        or more systems have. Of those of one kind at one best rank, (known to be relevant + s·r) /
        (all + s), where r is the same rate at all ranks, (known to be relevant + ½) / (all + 1),
        and s is `SMOOTHING`. Unjudged documents count among all: the rate of judged ones alone is
        much too high for what no judge was shown. (With the 8 official runs of TREC's robust track
        of 2003, and judgments of what a run alone has taken away, 3 to 24 % of these are relevant;
        this estimate gives 3 to 22 %, the rate of judged documents at the same rank 31 to 37 %.)
        """
        documents = len(self.unique)
        support = np.bincount(self.document, minlength=documents)
        best = np.full(documents, depth, np.int64)
        np.minimum.at(best, self.document, self.rank)
        several = int(self.system.max(initial=0)) + 1  # kinds of those that one system has
        kind = np.where(
            support == 1, self.system[self.source], several + np.minimum(support, MOST_SUPPORT) - 2
        )
        is_relevant = self.grade[self.source] >= level
        kinds = several + MOST_SUPPORT - 1
        overall = (np.bincount(kind[is_relevant], minlength=kinds) + 0.5) / (
            np.bincount(kind, minlength=kinds) + 1.0
        )
        cell = kind * depth + best - 1
        relevant = np.bincount(cell[is_relevant], minlength=kinds * depth)
        rates = relevant + SMOOTHING * np.repeat(overall, depth)
        rates /= np.bincount(cell, minlength=kinds * depth) + SMOOTHING
        return np.asarray(rates[cell])


@dataclass(frozen=True, eq=False)
class Unjudged:
    """Unjudged documents in the first ``depth`` of any system, by key; each once."""

    query: IntArray
    """By document: the number of its query."""
    key: KeyArray
    """By document: what stands for query and document."""
    ranks: Mapping[str, IntArray]
    """By system and document: its rank, where the measure looks at it; otherwise 0."""
    source: IntArray
    """By document: a place where it is, as a row of all candidates of all systems together."""
    rows: tuple[tuple[str, IntArray], ...]
    """By system: the rows of its ranking that are candidates."""
    depth: int
    """How many documents of an answer were looked at."""
    is_complete: bool
    """Whether that is as many as the measure looks at."""
    probability: FloatArray
    """By document: how probable it is that it is relevant."""

    @classmethod
    def of(cls, rankings: Rankings, *, cutoff: int | None, depth: int, level: float) -> Unjudged:
        """Find the unjudged documents down to ``depth``; the measure looks down to ``cutoff``.

        From grade ``level`` on a document is relevant.
        """
        rows = {name: np.flatnonzero(each.top(depth)) for name, each in rankings.systems.items()}
        systems = [(rankings.systems[name], mine) for name, mine in rows.items()]
        top = _Top(
            np.concatenate([ranking.key[mine] for ranking, mine in systems]),
            np.concatenate([ranking.rank[mine] for ranking, mine in systems]),
            np.concatenate([ranking.grade[mine] for ranking, mine in systems]),
            np.repeat(np.arange(len(systems)), [len(mine) for _, mine in systems]),
        )
        holes = np.flatnonzero(~(top.grade[top.source] >= 0))
        key, source = top.unique[holes], top.source[holes]
        place = np.full(len(top.unique), -1)
        place[holes] = np.arange(len(holes))
        ranks = {}
        for number, (name, (ranking, mine)) in enumerate(zip(rows, systems, strict=True)):
            rank = np.zeros(len(key), np.int64)
            of_row = place[top.document[top.system == number]]
            rank[of_row[of_row >= 0]] = ranking.rank[mine[of_row >= 0]]
            if len(key) and (cutoff is None or cutoff > depth):
                below = _below(ranking, depth, cutoff, key)
                near = np.minimum(np.searchsorted(key, ranking.key[below]), len(key) - 1)
                same = key[near] == ranking.key[below]
                rank[near[same]] = ranking.rank[below[same]]
            ranks[name] = rank
        query = np.concatenate([ranking.query[mine] for ranking, mine in systems])
        return cls(
            query=query[source],
            key=key,
            ranks=ranks,
            source=source,
            rows=tuple(rows.items()),
            depth=depth,
            is_complete=(cutoff is not None and cutoff <= depth)
            or all(ranking.sizes.max(initial=0) <= depth for ranking in rankings.systems.values()),
            probability=top.probability(depth, level)[holes],
        )

    def __len__(self) -> int:
        return len(self.key)

    def is_candidate(self, rank: IntArray) -> BoolArray:
        """Tell of some ranks whether they are among those looked at."""
        inside: BoolArray = (rank > 0) & (rank <= self.depth)
        return inside

    @cached_property
    def _starts(self) -> IntArray:
        return np.cumsum([0, *(len(mine) for _, mine in self.rows)])

    def doc_ids(self, rankings: Rankings, which: IntArray) -> list[str]:
        """Return the ids of some of the documents."""
        ids = np.empty(len(which), object)
        sources = self.source[which]
        for number, (name, mine) in enumerate(self.rows):
            low, high = self._starts[number], self._starts[number + 1]
            here = np.flatnonzero((sources >= low) & (sources < high))
            ids[here] = rankings.systems[name].doc_ids(mine[sources[here] - low])
        return [str(doc_id) for doc_id in ids]


_BITS = np.uint64((1 << 22) - 1)


def _below(ranking: Ranking, depth: int, cutoff: int | None, keys: KeyArray) -> IntArray:
    """Return the rows below ``depth`` that may be documents of these keys.

    Of millions of rows few are: their last bits tell at once that most are not.
    """
    wanted = np.zeros(int(_BITS) + 1, np.bool_)
    wanted[keys & _BITS] = True
    below = wanted[ranking.key & _BITS] & ~ranking.top(depth)
    if cutoff is not None:
        below &= ranking.top(cutoff)
    return np.flatnonzero(below)


def first_to_judge(
    holes: Unjudged,
    rankings: Rankings,
    change: FloatArray,
    count: int,
    *,
    texts: Mapping[str, str],
    title: Callable[[str], str | None],
) -> tuple[ToJudge, ...]:
    """Return the documents with the highest expected change, highest first.

    Those that would change nothing are left out; ties go by query and document id.
    """
    priority = change * holes.probability
    moving = np.flatnonzero(priority > 0)
    count = min(count, len(moving))
    if not count:
        return ()
    rounded = np.round(priority[moving] / priority.max(), 12)  # equal but for rounding is equal
    least = np.partition(rounded, len(moving) - count)[len(moving) - count]
    near = moving[rounded >= least]  # all that tie with the last one are looked at
    names = pl.DataFrame(
        {
            "priority": rounded[rounded >= least],
            "query_id": [rankings.query_ids[number] for number in holes.query[near].tolist()],
            "doc_id": holes.doc_ids(rankings, near),
            "place": near,
        }
    )
    ordered = names.sort(["priority", "query_id", "doc_id"], descending=[True, False, False]).head(
        count
    )
    return tuple(
        ToJudge(
            query_id=query_id,
            doc_id=doc_id,
            text=texts.get(query_id),
            title=title(doc_id),
            ranks={name: int(rank[at]) for name, rank in holes.ranks.items() if rank[at] > 0},
            change=float(change[at]),
            probability=float(holes.probability[at]),
            priority=float(priority[at]),
        )
        for _, query_id, doc_id, at in ordered.iter_rows()
    )


POOLS = (".qrels", ".txt", ".csv", ".tsv", ".jsonl", ".ndjson")
"""What the name of a pool may end in, before that of a compression."""


def check_pool_name(path: PathLike) -> None:
    """Refuse a name that does not say how the pool is to be written."""
    if suffix_of(path) not in POOLS:
        raise InputError(
            f"{source_name(path, output=True)}: the suffix does not tell the format of the pool; "
            "use .qrels or .txt (TREC), .csv, .tsv or .jsonl"
        )


def write_pool(pairs: Iterable[ToJudge], path: PathLike) -> None:
    r"""Write pairs of query and document that are to be judged, those to be judged first on top.

    ``.qrels`` and ``.txt``: a TREC file with the grade −1, pooled and not judged: fill the grades
    in. ``.csv``, ``.tsv``, ``.jsonl``: with priority, ranks, what the query asks and the document's
    title. Any of them may be compressed (``.gz``).

    >>> import tempfile, pathlib
    >>> pair = ToJudge(query_id="q", doc_id="d", ranks={"bm25": 2}, change=0.5, probability=0.2,
    ...                priority=0.1)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "pool.qrels"
    >>> write_pool([pair], file)
    >>> file.read_text()
    'q 0 d -1\n'
    """
    check_pool_name(path)
    chosen = list(pairs)
    suffix = suffix_of(path)
    if suffix in (".qrels", ".txt"):
        _write_trec(chosen, path)
    elif suffix in (".csv", ".tsv"):
        from rankscope.tables.delimited import delimited_bytes  # noqa: PLC0415

        with replacing(path) as sink:
            sink.write(delimited_bytes(_frame(chosen), "," if suffix == ".csv" else "\t"))
    else:
        from rankscope.tables.jsontext import dump_json  # noqa: PLC0415

        with replacing(path) as sink:
            for pair in chosen:
                sink.write(f"{dump_json(pair.to_dict())}\n".encode())


def _write_trec(pairs: list[ToJudge], path: PathLike) -> None:
    """Write TREC lines; a table keeps queries together, each where its first pair is."""
    from rankscope.collection.qrels import Qrels  # noqa: PLC0415
    from rankscope.tables.writing import write_trec_or_jsonl  # noqa: PLC0415

    grades: dict[str, dict[str, int]] = {}
    for pair in pairs:
        grades.setdefault(pair.query_id, {})[pair.doc_id] = UNJUDGED_GRADE
    write_trec_or_jsonl(Qrels(grades), path)


def _frame(pairs: list[ToJudge]) -> pl.DataFrame:
    columns = {
        "query_id": pl.String,
        "doc_id": pl.String,
        "priority": pl.Float64,
        "change": pl.Float64,
        "probability": pl.Float64,
        "rank": pl.Int64,
        "systems": pl.String,
        "text": pl.String,
        "title": pl.String,
    }
    rows = [
        {
            **pair.to_dict(),
            "rank": min(pair.ranks.values(), default=None),
            "systems": pair.places,
        }
        for pair in pairs
    ]
    return pl.DataFrame({name: [row[name] for row in rows] for name in columns}, schema=columns)
