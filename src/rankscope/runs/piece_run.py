"""A run of pieces: what a retriever returned as spans or texts, without ids that are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, shown
from rankscope.files import is_path
from rankscope.runs.run_files import name_in_file
from rankscope.tables.columns import NO_COLUMNS, RUN, UNREAD, Columns, Reading
from rankscope.tables.pieces import PieceRows, read_piece
from rankscope.tables.reading import open_table
from rankscope.tables.shapes import pair_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.runs.order import Order
    from rankscope.tables.pieces import Piece


class PieceRun:
    """Retrieved pieces by query, best first: by score, or as they are listed."""

    def __init__(
        self,
        pieces: Mapping[str, list[Piece]],
        *,
        name: str = "run",
        order: Order = "score",
        reading: Reading = UNREAD,
    ) -> None:
        self.name, self.reading = name, reading
        self.pieces = dict(pieces)
        for query_id, items in self.pieces.items() if order == "score" else ():
            without = sum(piece.number is None for piece in items)
            if 0 < without < len(items):
                raise InputError(f"query {shown(query_id)}: give all pieces a score, or none")
            # those of equal scores, or without, stay as listed
            self.pieces[query_id] = sorted(items, key=lambda piece: -(piece.number or 0.0))

    @property
    def query_ids(self) -> list[str]:
        """The queries, in the order given."""
        return list(self.pieces)

    @property
    def doc_ids(self) -> Iterator[str]:
        """The documents that the pieces are of, where that is known."""
        documents = (piece.document for items in self.pieces.values() for piece in items)
        return (document for document in documents if document is not None)

    def __len__(self) -> int:
        return sum(map(len, self.pieces.values()))


def as_piece_run(
    data: Any,
    *,
    name: str = "run",
    order: Order = "score",
    corpus: Any = None,
    columns: Columns = NO_COLUMNS,
) -> PieceRun:
    """Take retrieved pieces in any form: a path, records, a dict by query, a frame.

    With a ``corpus`` the run holds ids of chunks, and the corpus their spans or texts.
    """
    if isinstance(data, PieceRun):
        return data
    if corpus is not None:
        return _looked_up(data, name, order, corpus, columns)
    if is_path(data):
        with open_table(data, RUN, columns=columns) as file:
            rows = file.rows(RUN.roles, pieces=True)
        name = name_in_file(data)
    else:
        rows = pair_rows(data, RUN, columns, source=name, pieces=True)
    if not isinstance(rows, PieceRows) or rows.reading.by_position:
        raise InputError(
            f"{rows.source}: {rows.reading.shape}, and the golden set holds spans or texts; give "
            "records with the query and its contexts, or {query: [piece, …]}"
        )
    return PieceRun(rows.by_query, name=name, order=order, reading=rows.reading)


def _looked_up(data: Any, name: str, listed: Order, corpus: Any, columns: Columns) -> PieceRun:
    """Find the chunks that a run names in the corpus that holds them."""
    from rankscope.collection.corpus import Corpus, read_corpus  # noqa: PLC0415
    from rankscope.runs.table import as_run  # noqa: PLC0415

    run = as_run(data, name=name, columns=columns)
    if listed == "given":
        run = run.in_given_order()
    table = read_corpus(corpus) if is_path(corpus) else corpus
    table = table if isinstance(table, Corpus) else Corpus(table)
    wanted = set(run.doc_ids)
    chunks = {
        chunk.doc_id: replace(
            read_piece(chunk.fields, RUN, f"the corpus: chunk {shown(chunk.doc_id)}"), number=None
        )
        for chunk in table.documents()
        if chunk.doc_id in wanted
    }
    missing = wanted - chunks.keys()
    if missing:
        raise InputError(f"run {shown(run.name)}: chunk {shown(min(missing))} is not in the corpus")
    best = run.answers(run.query_ids).to_dict()
    pieces = {
        query_id: [chunks[name] for name in documents] for query_id, documents in best.items()
    }
    return PieceRun(pieces, name=run.name, reading=run.reading)
