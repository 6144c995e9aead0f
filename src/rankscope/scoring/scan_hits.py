"""From a scan to hits: ranks under a tie rule, without the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankscope.scoring.align import Hits
from rankscope.scoring.soundness import Lists

if TYPE_CHECKING:
    from rankscope.runs.order import Ties
    from rankscope.scoring.judgments import Judgments
    from rankscope.scoring.scans import Scan


def hits_in_scan(judgments: Judgments, scan: Scan, ties: Ties, cutoffs: tuple[int, ...]) -> Hits:
    """Return the judged documents of a run and their ranks; each query has one stretch."""
    position = {query_id: place for place, query_id in enumerate(scan.query_ids)}
    ids = judgments.query_ids
    stretch = np.fromiter((position.get(query_id, -1) for query_id in ids), np.int64, len(ids))
    ahead = {
        "trec": scan.ahead_by_id,
        "id-asc": scan.tied - 1 - scan.ahead_by_id,
        "given": scan.ahead_as_given,
    }[ties]
    query = judgments.query[scan.hit_pair]
    rank = scan.above + ahead + 1
    by_rank = np.lexsort((rank, query))
    pair = scan.hit_pair[by_rank]
    known = stretch[stretch >= 0]
    several = known[scan.sizes[known] > 1]
    rises, falls = scan.rises[several], scan.falls[several]
    across = scan.tied_across
    return Hits(
        query=query[by_rank],
        rank=rank[by_rank],
        tie_first=scan.above[by_rank] + 1,
        tie_size=scan.tied[by_rank],
        grade=judgments.grade[pair],
        doc_ids=lambda: judgments.packed.doc_ids(pair.tolist()),
        retrieved=np.append(scan.sizes, 0)[stretch],
        tied_at={cutoff: int(across[cutoff]) if cutoff < len(across) else 0 for cutoff in cutoffs},
        lists=Lists(
            len(several),
            int(np.count_nonzero(rises)),
            int(np.count_nonzero(rises & ~falls)),
            int(np.count_nonzero(~rises & ~falls)),
        ),
    )
