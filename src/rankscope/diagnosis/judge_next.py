"""What to judge next: unjudged documents, by how much they could change a conclusion.

`Candidates` are the unjudged documents that any system ranks high, each once, with its ranks in all
systems; `write_pool` writes those that are worth judging first to a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankscope.collection.qrels import Qrels
from rankscope.document.blocks import shortened
from rankscope.errors import InputError
from rankscope.files import replacing, source_name, suffix_of
from rankscope.part import Part, PrivateText
from rankscope.tables.delimited import delimited_bytes
from rankscope.tables.jsontext import dump_json
from rankscope.tables.writing import write_trec_or_jsonl

if TYPE_CHECKING:
    from rankscope.diagnosis.rankings import Rankings
    from rankscope.files import PathLike
    from rankscope.measures.judged import BoolArray, FloatArray, IntArray

SMOOTHING = 10.0
"""A rate at one rank is drawn towards the rate at all ranks as if by so many documents."""

MOST_SUPPORT = 4
"""Documents that more systems have are like those that so many have."""

POOLS = (".qrels", ".txt", ".csv", ".tsv", ".jsonl", ".ndjson")
"""What the name of a pool may end in, before that of a compression."""

COLUMNS = {
    **dict.fromkeys(("query_id", "doc_id"), pl.String),
    **dict.fromkeys(("priority", "change", "probability"), pl.Float64),
    "rank": pl.Int64,
    **dict.fromkeys(("systems", "text", "title"), pl.String),
}
"""The columns of a pool in CSV."""

POOLED = -1
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

    @property
    def priority(self) -> float:
        """The expected change: change times probability. Pairs come by this, highest first."""
        return self.change * self.probability

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
class Candidates:
    """The unjudged documents in the first ``depth`` of any system, each once."""

    query: IntArray
    """By document: the number of its query."""
    doc_ids: pl.Series
    """By document: its id."""
    ranks: Mapping[str, IntArray]
    """By system and document: its rank, where the measure looks at it; otherwise 0."""
    probability: FloatArray
    """By document: how probable it is that it is relevant."""
    depth: int
    """How many documents of an answer were looked at."""
    is_complete: bool
    """Whether that is as many as the measure looks at."""

    @classmethod
    def of(cls, rankings: Rankings, *, cutoff: int | None, depth: int, level: float) -> Candidates:
        """Find the unjudged documents down to ``depth``; the measure looks down to ``cutoff``.

        From grade ``level`` on a document is relevant.
        """
        tops = []
        for number, ranking in enumerate(rankings.systems.values()):
            rows = np.flatnonzero(ranking.top(depth))
            tops.append(
                pl.DataFrame(
                    {
                        "key": ranking.key[rows],
                        "query": ranking.query[rows],
                        "doc_id": ranking.doc_ids(rows),
                        "system": np.full(len(rows), number),
                        "rank": ranking.rank[rows],
                        "grade": ranking.grade[rows],
                    }
                )
            )
        documents = (
            pl.concat(tops)
            .group_by("key")
            .agg(
                pl.col("query", "doc_id", "system", "grade").first(),
                pl.col("rank").min(),
                pl.len().alias("support"),
            )
            .sort("key")
        )
        is_unjudged = ~(documents["grade"].to_numpy() >= 0)
        probability = _probability(documents, len(tops), depth, level)[is_unjudged]
        documents = documents.filter(pl.Series(is_unjudged))
        ranks = {}
        for name, ranking in rankings.systems.items():
            seen = slice(None) if cutoff is None else ranking.top(cutoff)
            places = pl.DataFrame({"key": ranking.key[seen], "rank": ranking.rank[seen]})
            of_system = documents.select("key").join(
                places, on="key", how="left", maintain_order="left"
            )
            ranks[name] = of_system["rank"].fill_null(0).to_numpy()
        longest = max(int(ranking.sizes.max(initial=0)) for ranking in rankings.systems.values())
        return cls(
            query=documents["query"].to_numpy(),
            doc_ids=documents["doc_id"],
            ranks=ranks,
            probability=probability,
            depth=depth,
            is_complete=min(cutoff or longest, longest) <= depth,
        )

    def __len__(self) -> int:
        return len(self.query)

    def within(self, system: str) -> BoolArray:
        """By document: whether it is among those of a system that were looked at."""
        rank = self.ranks[system]
        inside: BoolArray = (rank > 0) & (rank <= self.depth)
        return inside


def _probability(documents: pl.DataFrame, systems: int, depth: int, level: float) -> FloatArray:
    """By document: how probable it is that it is relevant.

    Documents are of one kind that the same system alone has among its first, or that two, three or
    more systems have. Of those of one kind at one best rank, (known to be relevant + s·r) /
    (all + s), where r is the same rate at all ranks, (known to be relevant + ½) / (all + 1), and s
    is `SMOOTHING`. Unjudged documents count among all: the rate of judged ones alone is much too
    high for what no judge was shown. (With the 8 official runs of TREC's robust track of 2003, and
    judgments of what a run alone has taken away, 3 to 24 % of these are relevant; this estimate
    gives 3 to 22 %, the rate of judged documents at the same rank 31 to 37 %.)
    """
    support = documents["support"].to_numpy().astype(np.int64)
    shared = systems + np.minimum(support, MOST_SUPPORT) - 2
    kind = np.where(support == 1, documents["system"].to_numpy(), shared)
    kinds = systems + MOST_SUPPORT - 1
    is_relevant = documents["grade"].to_numpy() >= level  # NaN, unjudged, is not
    known = np.bincount(kind[is_relevant], minlength=kinds)
    overall = (known + 0.5) / (np.bincount(kind, minlength=kinds) + 1.0)
    cell = kind * depth + documents["rank"].to_numpy() - 1
    known = np.bincount(cell[is_relevant], minlength=kinds * depth)
    rates = known + SMOOTHING * np.repeat(overall, depth)
    rates /= np.bincount(cell, minlength=kinds * depth) + SMOOTHING
    return np.asarray(rates[cell])


def first_to_judge(
    candidates: Candidates,
    change: FloatArray,
    count: int,
    *,
    query_ids: Iterable[str],
    texts: Mapping[str, str],
    title: Callable[[str], str | None],
) -> tuple[ToJudge, ...]:
    """Return the documents with the highest expected change, highest first.

    Those that would change nothing are left out; ties go by query and document id.
    """
    frame = pl.DataFrame(
        {
            "query_id": pl.Series(query_ids, dtype=pl.String).gather(candidates.query),
            "doc_id": candidates.doc_ids,
            "change": change,
            "probability": candidates.probability,
            "priority": change * candidates.probability,
            **{f"rank {name}": rank for name, rank in candidates.ranks.items()},
        }
    ).filter(pl.col("priority") > 0)
    rounded = (pl.col("priority") / pl.col("priority").max()).round(12)  # equal but for rounding
    first = frame.sort(rounded, "query_id", "doc_id", descending=[True, False, False]).head(count)
    return tuple(
        ToJudge(
            query_id=row["query_id"],
            doc_id=row["doc_id"],
            text=texts.get(row["query_id"]),
            title=title(row["doc_id"]),
            ranks={
                name: row[f"rank {name}"] for name in candidates.ranks if row[f"rank {name}"] > 0
            },
            change=row["change"],
            probability=row["probability"],
        )
        for row in first.iter_rows(named=True)
    )


# --- pools ---------------------------------------------------------------------------------------


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
    in. There queries stay together, each where its first pair is. ``.csv``, ``.tsv``, ``.jsonl``:
    with priority, ranks, what the query asks and the document's title. Any of them may be
    compressed (``.gz``).

    >>> import tempfile, pathlib
    >>> pair = ToJudge(query_id="q", doc_id="d", ranks={"bm25": 2}, change=0.5, probability=0.2)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "pool.qrels"
    >>> write_pool([pair], file)
    >>> file.read_text()
    'q 0 d -1\n'
    """
    check_pool_name(path)
    suffix = suffix_of(path)
    if suffix in (".qrels", ".txt"):
        grades: dict[str, dict[str, int]] = {}
        for pair in pairs:
            grades.setdefault(pair.query_id, {})[pair.doc_id] = POOLED
        write_trec_or_jsonl(Qrels(grades), path)
        return
    with replacing(path) as sink:
        if suffix in (".csv", ".tsv"):
            rows = [
                {
                    **pair.to_dict(),
                    "priority": pair.priority,
                    "rank": min(pair.ranks.values(), default=None),
                    "systems": pair.places,
                }
                for pair in pairs
            ]
            table = {name: [row[name] for row in rows] for name in COLUMNS}
            frame = pl.DataFrame(table, schema=COLUMNS)
            sink.write(delimited_bytes(frame, "," if suffix == ".csv" else "\t"))
        for pair in pairs if suffix in (".jsonl", ".ndjson") else ():
            sink.write(f"{dump_json(pair.to_dict())}\n".encode())
