"""Eight official runs of the TREC 2003 robust track: means under two profiles, AP per topic.

Oracle: trec_eval 9 through pytrec_eval (scoring/test_on_collections.py).
"""

from __future__ import annotations

from typing import Any

import rankscope as rs
from real import COLLECTIONS

MEASURES = [
    *("AP", "P@5", "P@10", "P@30", "R@100", "R@1000", "nDCG", "nDCG@10", "nDCG(gain=exp)@20", "RR"),
    *("Rprec", "Bpref", "infAP", "GMAP", "11pt", "IPrec(recall=0.2)", "Success@10", "ERR@20"),
    *("RBP(p=0.8)", "Q", "SetF", "NumRelRet", "Judged@10", "INST", "AP@100"),
]


def numbers() -> dict[str, Any]:
    folder = COLLECTIONS / "robust03"
    if not folder.is_dir():
        raise FileNotFoundError("the runs of robust03 are not here")
    qrels = rs.read_qrels(folder / "qrels.txt.gz")
    found = {}
    for path in sorted(folder.glob("*.run.gz")):
        ours = rs.evaluate(qrels, path, MEASURES)
        nist = rs.evaluate(qrels, path, MEASURES, profile="trec_eval-9")
        ap = ours.values("AP")
        found[path.name.removesuffix(".run.gz")] = {
            "means": [ours.means[measure] for measure in ours.measures],
            "means as trec_eval-9": [nist.means[measure] for measure in nist.measures],
            "AP": [ap[query] for query in sorted(ap)],
        }
    return {"measures": MEASURES, "runs": found}
