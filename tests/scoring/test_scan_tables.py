"""Hits from scans are the hits of alignment, in every field."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.collection.qrels import Qrels
from rankscope.runs.order import Precision, Ties
from rankscope.runs.table import Run
from rankscope.scoring import align_tables
from rankscope.scoring.align import Hits
from rankscope.scoring.align_tables import hits_in_table
from rankscope.scoring.judgments import Judgments
from rankscope.scoring.scan_hits import hits_in_scan
from rankscope.scoring.scan_tables import scan_of

CUTOFFS = (1, 2, 3, 5, 100)

IDS = st.sampled_from(["a", "b", "c", "d", "é", "z9", "ab"])
QUERIES = st.sampled_from(["q1", "q2", "q3", "ü"])
SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, 2.5, -3.0, 1e300, -1e300])

RUNS = st.dictionaries(QUERIES, st.dictionaries(IDS, SCORES, max_size=7), max_size=4)
QRELS = st.dictionaries(
    QUERIES, st.dictionaries(IDS, st.integers(-1, 3), max_size=6), min_size=1, max_size=4
)


def assert_same_hits(scanned: Hits, aligned: Hits) -> None:
    for field in ("query", "rank", "grade", "tie_first", "tie_size", "retrieved"):
        np.testing.assert_array_equal(getattr(scanned, field), getattr(aligned, field), field)
    assert scanned.doc_ids() == aligned.doc_ids()
    assert scanned.tied_at == aligned.tied_at
    assert scanned.lists == aligned.lists


@settings(max_examples=80, deadline=None)
@given(
    run=RUNS,
    qrels=QRELS,
    small=st.booleans(),
    ties=st.sampled_from(["trec", "id-asc", "given"]),
    precision=st.sampled_from(["double", "single"]),
)
def test_a_scan_tells_the_hits_of_alignment(
    run: dict[str, dict[str, float]],
    qrels: dict[str, dict[str, int]],
    small: bool,
    ties: Ties,
    precision: Precision,
) -> None:
    judgments, table = Judgments(Qrels(qrels)), Run(run)
    packed = judgments.packed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align_tables, "SMALL", 1 << 17 if small else 0)
        scan = scan_of(table, packed, precision)
        aligned = hits_in_table(judgments, table, ties, precision, CUTOFFS)
    assert_same_hits(hits_in_scan(judgments, scan, ties, CUTOFFS), aligned)
