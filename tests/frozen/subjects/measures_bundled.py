"""Every measure on the bundled collection, per query: our rules, and where other tools' differ.

Oracles: trec_eval 9 through pytrec_eval, ir_measures, and NIST's own program
(cli/test_trec_eval.py, measures/test_oracles.py, scoring/test_rules.py).
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from frozen.bundled import QRELS, RUNS
from frozen.scored import under_profiles
from measures.variants import EXAMPLES

SEEDS = "hit@5 MRR@10 P@5 R@50 R@100 nDCG@10 AP@100 Success@5 nDCG(gain=exp)@10"


def numbers() -> dict[str, Any]:
    usual = [str(rs.Measure.parse(text)) for text in SEEDS.split()]
    examples = [str(measure) for measure in EXAMPLES if not measure.needs]
    measures = list(dict.fromkeys([*usual, *examples]))
    qrels = rs.read_qrels(QRELS)
    return {name: under_profiles(qrels, rs.read_run(path), measures) for name, path in RUNS.items()}
