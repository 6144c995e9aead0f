"""For each command lines that work as typed, on files of ``rankscope demo --copy demo``."""

from __future__ import annotations

_QRELS = "demo/qrels.tsv"
_LEXICAL = "demo/lexical.run"
_HYBRID = "demo/hybrid.run"
_RUN = "rankscope benchmark run demo/bench.yaml"
_EXPERIMENT = "benchmarks/recipes-*"

EXAMPLES = {
    "demo": "rankscope demo --copy demo",
    "init": "rankscope init my-search",
    "benchmark run": _RUN,
    "benchmark verify": f"{_RUN}\nrankscope benchmark verify {_EXPERIMENT}",
    "benchmark compare": (
        f"{_RUN}\n{_RUN} --set depth=50 --output shallow\n"
        f"rankscope benchmark compare {_EXPERIMENT} shallow/recipes-*"
    ),
    "benchmark list": f"{_RUN}\nrankscope benchmark list benchmarks",
    "benchmark schema": "rankscope benchmark schema config",
    "evaluate": f"rankscope evaluate {_QRELS} {_LEXICAL} -m nDCG@10 --worst 5",
    "compare": f"rankscope compare {_QRELS} {_LEXICAL} {_HYBRID} --baseline lexical",
    "gate": f"rankscope gate {_LEXICAL} {_HYBRID} --qrels {_QRELS} --max-drop 0.02",
    "diagnose": f"rankscope diagnose {_QRELS} {_LEXICAL} {_HYBRID}",
    "report": f"{_RUN}\nrankscope report {_EXPERIMENT} -o recipes.html",
    "judge": (
        f"rankscope diagnose {_QRELS} {_LEXICAL} {_HYBRID} --pool pool.jsonl\n"
        "rankscope judge pool.jsonl --status"
    ),
    "judge-llm": (
        f"rankscope judge-llm {_QRELS} --queries demo/queries.jsonl --corpus demo/corpus.jsonl \\\n"
        "  --set url=http://localhost:11434/v1 --set model=qwen3 --dry-run"
    ),
    "power": f"rankscope power {_QRELS} {_LEXICAL} {_HYBRID} --difference 0.03",
    "explain": f"rankscope explain {_QRELS} {_LEXICAL} --query q001 -m nDCG@10",
    "why": f"rankscope why {_QRELS} {_LEXICAL} -m AP@100 --theirs 0.65",
    "measures": "rankscope measures nDCG",
    "trec-eval": (
        f"rankscope convert {_QRELS} qrels.trec\nrankscope trec-eval qrels.trec {_LEXICAL}"
    ),
    "convert": f"rankscope convert {_LEXICAL} lexical.parquet",
    "mcp": "rankscope mcp demo/ < /dev/null",
    "runs validate": f"rankscope runs validate {_LEXICAL} --qrels {_QRELS}",
    "runs fetch": "rankscope runs fetch demo/bench.yaml --system lexical -o fetched",
    "runs fuse": f"rankscope runs fuse {_LEXICAL} {_HYBRID} -o fused.run",
    "cases validate": (
        "rankscope init my-cases\n"
        "rankscope cases validate my-cases/golden.json --corpus my-cases/corpus.jsonl"
    ),
    "cases schema": "rankscope cases schema",
}


def epilog(command: str) -> str:
    """Return what a command's help ends with."""
    lines = EXAMPLES[command].replace("\n", "\n  ")
    files = " (files from 'rankscope demo --copy demo')" if " demo/" in lines else ""
    return f"\b\nExample{files}:\n  {lines}"
