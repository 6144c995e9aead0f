"""Caches as documents: what one holds, what was taken away, whether it is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.document.blocks import (
    Column,
    Document,
    Section,
    Sentence,
    Sentences,
    Table,
    cells,
    good_if,
    text_columns,
)
from rankscope.document.views import view
from rankscope.errors import counted

if TYPE_CHECKING:
    from rankscope.retrieval.kept_entries import CacheCheck, CacheContents, CachePruned


def size(count: int) -> str:
    """Return a number of bytes in words.

    >>> size(999), size(1_234_000), size(25 * 10**9)
    ('999 bytes', '1.2 MB', '25 GB')
    """
    if count < 1000:
        return counted(count, "byte")
    value, unit = count / 1000, "kB"
    for larger in ("MB", "GB", "TB"):
        if value >= 999.5:
            value, unit = value / 1000, larger
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"


@view
def contents_document(contents: CacheContents) -> Document:
    """Show what a cache holds, the largest kind first."""
    rows = tuple(
        cells(
            row.kind,
            row.what,
            row.entries,
            size(row.bytes),
            (row.last_used or "").replace("T", " ").removesuffix("Z") or None,
        )
        for row in contents.kinds
    )
    table = Table(
        (*text_columns("kind", "what"), Column("entries", digits=0), Column("size", "text"),
         Column("last used (UTC)", "text")),
        rows,
    )  # fmt: skip
    whole = f"{counted(contents.entries, 'entry')}, {size(contents.bytes)}, in {contents.folder}"
    blocks = (Sentences((Sentence(whole),)), table)
    return Document(f"Cache {contents.folder}", (Section("", blocks),), data=lambda: table)


@view
def pruned_document(pruned: CachePruned) -> Document:
    """Show what was taken away."""
    verb = "would be" if pruned.is_plan else "was" if pruned.removed == 1 else "were"
    text = (
        f"{counted(pruned.removed, 'entry')} ({size(pruned.removed_bytes)}) {verb} removed; "
        f"{counted(pruned.entries, 'entry')} ({size(pruned.bytes)}) "
        f"{'remains' if pruned.entries == 1 else 'remain'} in {pruned.folder}"
    )
    return Document("Cache", (Section("", (Sentences((Sentence(text),)),)),))


@view
def check_document(check: CacheCheck) -> Document:
    """Show whether a cache is whole."""
    all_whole = (
        f"{counted(check.entries, 'entry')} ({size(check.bytes)}) of {check.folder}: each is as it "
        "was written"
    )
    done = "removed" if check.removed else "counts as absent, and is made again when it is needed"
    lines = [Sentence(f"✗ {name}: damaged, or under another key than its own; {done}", "bad")
             for name in check.damaged]  # fmt: skip
    if check.damaged:
        of = f"{len(check.damaged)} of {counted(check.entries, 'entry')}"
        lines.insert(0, Sentence(f"{of} of {check.folder} cannot be used", "bad"))
    else:
        lines = [Sentence(all_whole, good_if(True))]
    return Document("Cache", (Section("", (Sentences(tuple(lines)),)),))
