"""Duplicates: copies of texts in the corpus and in answers.

Exact copies have the same title and text but for case and spacing. Near copies share at least 0.9
(Jaccard) of all their five words in a row; `rankscope.diagnosis.near_copies` finds every such pair.
What counts in an answer is that two documents are copies themselves, not that they are linked by a
third. A copy of what is missed is a cause of `rankscope.diagnosis.failures`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from pydantic import Field

from rankscope.diagnosis.analysis import Analysed, Config, Inputs, Row, analysis, found
from rankscope.diagnosis.document_texts import Words
from rankscope.diagnosis.near_copies import near_copies
from rankscope.diagnosis.show import part_table, percent, system_table
from rankscope.document.blocks import Block, sentences, shortened
from rankscope.errors import counted
from rankscope.findings import Finding, declare
from rankscope.part import Part, PrivateText

MANY = 0.01
"""From this share of documents or of places on copies are worth a finding."""

COPIES_IN_CORPUS = declare(
    "RS643",
    "copies-in-corpus",
    "note",
    unit="document",
    advice="keep one of each group in the index, or judge and count them as one document",
    meaning="""At least one in a hundred documents is a copy of another one, exact or nearly so.""",
)
WASTED_PLACES = declare(
    "RS644",
    "copies-in-answers",
    "note",
    unit="place",
    advice="show one document of each group of copies",
    meaning="""At least one in a hundred places of the first k repeats the text of a document that
    is higher up in the same answer.""",
)


class DuplicatesConfig(Config):
    """What counts as a copy, and how much is looked at."""

    similarity: float = Field(default=0.9, ge=0.5, le=1)
    """From this Jaccard similarity on texts are near copies."""
    shingle: int = Field(default=5, ge=1, le=20)
    """Of so many words in a row."""
    characters: int = Field(default=10_000_000, ge=0)
    """How much text is looked at: of documents that are judged or in the first k of an answer
    first, then of others."""
    show: int = Field(default=5, ge=0)
    """How many examples are shown."""


class CopyCount(Part):
    """How many copies there are."""

    documents: int
    """Documents with at least one copy."""
    groups: int
    """Groups of them; those of near copies are linked, each with at least one other."""

    @property
    def superfluous(self) -> int:
        """Documents that could go, if one of each group stayed."""
        return self.documents - self.groups


class CopyGroup(Part):
    """Documents that are copies."""

    kind: Literal["exact", "near"]
    """Whether all have the same text."""
    size: int
    """How many there are."""
    documents: tuple[str, ...]
    """The ids of the first of them, at most three."""
    title: PrivateText
    """The title of the first, or the beginning of its text."""

    @property
    def beginning(self) -> str:
        """The title, as a table shows it."""
        return shortened(self.title or "")


class SystemCopies(Row):
    """Copies in the answers of one system."""

    places: int
    """Documents in the first k of all answers."""
    wasted: int
    """Of the first k, those with a copy of a document higher up in the same answer."""
    queries: int
    """In how many answers."""

    @property
    def share(self) -> str:
        """The share of places that are wasted."""
        return percent(self.wasted, self.places)


class Duplicates(Analysed):
    """Copies in the corpus, in answers and in judgments."""

    corpus: int
    """Documents in the corpus."""
    looked_at: int
    """How many of them were looked at."""
    without_text: int
    """How many of these have neither title nor text; they are copies of nothing."""
    pairs_left_out: int
    """How many pairs of texts were too many to be compared; 0: no near copy can be missing."""
    exact: CopyCount
    """Exact copies."""
    all_copies: CopyCount
    """Exact and near copies together."""
    groups: tuple[CopyGroup, ...]
    """The largest groups."""
    systems: tuple[SystemCopies, ...]
    """By system."""


@analysis(
    title="Duplicates",
    needs=("scores", "runs", "qrels", "corpus"),
    written="duplicates: {similarity: 0.8}",
    place=70,
)
def duplicates(config: DuplicatesConfig, inputs: Inputs) -> Duplicates:
    """Copies of texts in the corpus and in answers."""
    inputs.require(len(inputs.corpus), "the corpus has no document")
    copies = _Copies.of(inputs, config)
    systems = []
    for name, ranking in inputs.rankings.systems.items():
        rows = np.flatnonzero(ranking.top(inputs.cutoff))
        places = inputs.texts.places(ranking.doc_ids(rows))
        top = pl.DataFrame(
            {"query": ranking.query[rows], "rank": ranking.rank[rows], "place": places}
        )
        wasted = copies.among(top, top).filter(pl.col("rank") > pl.col("rank_copy"))
        systems.append(
            SystemCopies(
                system=name,
                places=top.height,
                wasted=wasted.select("query", "rank").n_unique(),
                queries=wasted["query"].n_unique(),
            )
        )
    return Duplicates(
        corpus=len(inputs.corpus),
        looked_at=copies.documents.height,
        without_text=copies.documents["text"].null_count(),
        pairs_left_out=copies.left_out,
        exact=copies.count("text"),
        all_copies=copies.count("group"),
        groups=_groups(inputs, copies, config.show),
        systems=tuple(systems),
    )


@duplicates.find
def _find(result: Duplicates, inputs: Inputs) -> Iterator[Finding]:
    """Say how many copies there are, and where they waste places."""
    copies = result.all_copies
    if copies.superfluous >= MANY * result.looked_at:
        yield COPIES_IN_CORPUS.finding(
            f"{counted(copies.superfluous, 'document')} of {result.looked_at:,} "
            f"({percent(copies.superfluous, result.looked_at)}) repeat the text of another "
            f"({result.exact.superfluous:,} of them exactly)",
            count=copies.superfluous,
        )
    yield from found(
        WASTED_PLACES,
        [row for row in result.systems if row.wasted and row.wasted >= MANY * row.places],
        lambda row: (
            f"{row.system} spends {row.wasted:,} of {row.places:,} places ({row.share}) on copies "
            f"of documents higher up in the same answer, in {counted(row.queries, 'query')}"
        ),
        focus=inputs.focus,
    )


@duplicates.show
def _show(result: Duplicates) -> Iterator[Block | None]:
    copies, exact = result.all_copies, result.exact
    looked = f"looked at: {result.looked_at:,} of {counted(result.corpus, 'document')}"
    lines = [f"Nothing in the corpus is a copy of something else; {looked}"]
    if copies.documents:
        all_groups, groups = counted(copies.groups, "group"), counted(exact.groups, "group")
        share = percent(copies.superfluous, result.looked_at)
        lines = [
            f"{counted(copies.documents, 'document')} of the corpus have copies, in {all_groups}",
            f"{copies.superfluous:,} ({share}) could go; {looked}",
            f"exact copies alone: {counted(exact.documents, 'document')} in {groups}",
        ]
    if result.without_text:
        lines.append(f"{counted(result.without_text, 'document')} without title and text left out")
    if result.looked_at < result.corpus:
        lines.append(
            "What was not looked at counts as no copy; duplicates.characters says how much is"
        )
    if result.pairs_left_out:
        lines.append(
            f"{counted(result.pairs_left_out, 'pair')} of texts with common passages were too many "
            "to compare: some near copies may be missing"
        )
    yield sentences(lines)
    yield system_table(
        result.systems,
        "Copies in answers",
        legend=("wasted", "queries"),
        columns="wasted: wasted places | share | queries",
    )
    yield part_table(
        result.groups,
        "The largest groups of copies",
        columns="size: copies | kind | documents | beginning: title",
    )


@dataclass(frozen=True, eq=False)
class _Copies:
    """The documents that were looked at, and which are copies."""

    documents: pl.DataFrame
    """By document, in the order of importance: its place in the corpus, the number of its text
    (exact copies have one; null: it has none), and its group."""
    pairs: pl.DataFrame
    """Texts that are copies, each way and each of itself: text, text_copy."""
    left_out: int

    @classmethod
    def of(cls, inputs: Inputs, config: DuplicatesConfig) -> _Copies:
        """Look at documents in the order of importance, as far as the config allows."""
        places = inputs.texts.by_importance(inputs.rankings, inputs.cutoff)
        sizes = inputs.corpus.texts().str.len_chars().to_numpy()[places].cumsum()
        places = places[: int(np.searchsorted(sizes, config.characters, "right"))]
        forms = pl.Series("form", inputs.texts.forms(places), dtype=pl.String)
        documents = pl.DataFrame({"place": places, "form": forms}).with_row_index("at")
        texts = documents.filter(pl.col("form") != "").unique("form", maintain_order=True)
        words = Words.of(texts["form"].to_list())
        near = near_copies(words, width=config.shingle, threshold=config.similarity)
        texts = texts.select("form", group=pl.Series(near.group)).with_row_index("text")
        documents = documents.join(texts, on="form", how="left", maintain_order="left")
        itself = np.arange(texts.height)
        pairs = pl.DataFrame(
            {
                "text": np.concatenate([near.left, near.right, itself]),
                "text_copy": np.concatenate([near.right, near.left, itself]),
            },
            schema_overrides={"text": pl.UInt32, "text_copy": pl.UInt32},
        )
        return cls(documents.drop("form"), pairs, near.left_out)

    def among(self, rows: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
        """Join rows of query and place with others of the same query that are their copies.

        A document is not a copy of itself.
        """
        known = self.documents.drop_nulls("text").filter(pl.len().over("group") > 1)
        left, right = (table.join(known.drop("at"), on="place") for table in (rows, others))
        joined = left.join(right, on=["query", "group"], suffix="_copy")
        joined = joined.filter(pl.col("place") != pl.col("place_copy"))
        return joined.join(self.pairs, on=["text", "text_copy"])

    def count(self, same: str) -> CopyCount:
        """Count documents with copies: those with the same text, or in one group."""
        sizes = self.documents[same].drop_nulls().value_counts()["count"]
        several = sizes.filter(sizes > 1)
        return CopyCount(documents=int(several.sum()), groups=len(several))


def _groups(inputs: Inputs, copies: _Copies, show: int) -> tuple[CopyGroup, ...]:
    """Describe the largest groups."""
    groups = (
        copies.documents.drop_nulls("text")
        .group_by("group", maintain_order=True)
        .agg(pl.col("place").sort().head(3), pl.len(), pl.col("text").n_unique().alias("texts"))
        .filter(pl.col("len") > 1)
        .sort("len", descending=True, maintain_order=True)
        .head(show)
    )
    ids = inputs.corpus.ids if groups.height else ()
    named = [tuple(ids[place] for place in places) for places in groups["place"]]
    return tuple(
        CopyGroup(
            kind="exact" if row["texts"] == 1 else "near",
            size=row["len"],
            documents=doc_ids,
            title=inputs.texts.title(doc_ids[0]),
        )
        for doc_ids, row in zip(named, groups.iter_rows(named=True), strict=True)
    )
