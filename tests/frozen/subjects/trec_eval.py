"""What `trec-eval` prints for the bundled runs in each of its modes, as a SHA-256 of all its bytes.

What it prints for 135 small inputs is compared byte for byte with NIST's program
(cli/test_trec_eval.py, scoring/test_preferences.py); this adds long files and all modes.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import rankscope as rs
from frozen.bundled import QRELS, RUNS
from rankscope.cli.app import app

MODES = [
    *(
        "",
        "-q",
        "-n -q",
        "-c -q",
        "-M 10 -q",
        "-l 2 -q",
        "-J -q",
        "-N 200 -m utility.1,-1,0,0.1 -q",
    ),
    *("-m all_trec", "-m all_trec -q -c -l 3", "-m official -q", "-m set -q", "-m relstring.20 -q"),
    "-q -m iprec_at_recall..10,.20,.75 -m P.5,7,3 -m Rprec_mult.5.0,0.2 -m ndcg.1=3,2=9,3=4.5",
    "-q -m ndcg_cut.10,20 -m success.2,5 -m 11pt_avg..25,.5,.75 -m utility.2,-1,0,0 -m infAP",
    *("-m rbp.p=0.5 -q", "-m prefs_simp -R qrels_prefs -q", "-m unj -m dcg -q"),
]


def numbers() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        qrels = Path(folder) / "qrels.trec"
        rs.convert(QRELS, qrels)
        return {
            name: {
                mode.strip(): _digest(mode.split(), qrels, path)
                for mode in [*MODES, *(f"--9 {mode}" for mode in MODES)]
            }
            for name, path in RUNS.items()
        }


def _digest(options: list[str], qrels: Path, run: Path) -> str:
    done = CliRunner().invoke(app, ["trec-eval", *options, str(qrels), str(run)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"refused: {type(done.exception).__name__}"
    return hashlib.sha256(done.stdout_bytes).hexdigest()
