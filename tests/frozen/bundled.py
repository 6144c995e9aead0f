"""The bundled collection: 200 recipes, 120 judged questions, two runs."""

from __future__ import annotations

from pathlib import Path

import rankscope

DATA = Path(rankscope.__file__).parent / "data"
QRELS = DATA / "recipes" / "qrels" / "test.tsv"
RUNS = {name: DATA / "runs" / f"{name}.run.gz" for name in ("lexical", "hybrid")}
