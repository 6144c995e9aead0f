"""A folder as the server for assistants is given one: files, links out of it, and a secret."""

from __future__ import annotations

from pathlib import Path

import rankscope as rs

QRELS = {f"q{n}": {"a": 1, "b": 2} for n in range(12)}
GOOD = {query_id: {"b": 2.0, "a": 1.0} for query_id in QRELS}
MIXED = {
    query_id: {"a": 2.0, "b": 1.0} if n % 3 else GOOD[query_id] for n, query_id in enumerate(QRELS)
}
EVALUATE = {"qrels": "qrels.tsv", "runs": ["runs/mixed.run"], "measures": ["nDCG@10"]}


def fill(folder: Path) -> Path:
    (folder / "runs").mkdir(parents=True)
    rs.Qrels(QRELS).write(folder / "qrels.tsv")
    for name, run in (("good", GOOD), ("mixed", MIXED)):
        rs.Run(run).write(folder / "runs" / f"{name}.run")
    (folder / ".secret").write_text("hidden", encoding="utf-8")
    (folder.parent / "outside.run").write_bytes((folder / "runs" / "good.run").read_bytes())
    (folder / "link.run").symlink_to(folder.parent / "outside.run")
    (folder / "out").symlink_to(folder.parent)
    (folder / "inner.run").symlink_to(folder / "runs" / "good.run")
    return folder
