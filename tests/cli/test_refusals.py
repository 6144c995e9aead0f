"""What each command refuses: exit code 2, nothing printed or written, and the word that helps."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import rankscope as rs
from conftest import Rankscope

FILES = {
    "qrels": "q1 0 a 2\nq1 0 c 1\nq2 0 a 1\n",
    "one.run": "q1 Q0 b 1 3 one\nq1 Q0 a 2 2 one\n",
    "two.run": "q1 Q0 a 1 3 two\nq2 Q0 a 1 2 two\n",
    "else.run": "q77 Q0 a 1 1.0 else\n",
    "chunks.run": "q1 Q0 a#3 1 9.1 dense\nq2 Q0 a#1 2 8.0 dense\n",
    "large.qrels": "q1 0 a 1e19\n",
    "labels.tsv": "query_id\tdoc_id\tgrade\nq1\ta\tE\nq1\tb\tI\n",
    "ratings.csv": "query_id,doc_id,rater_1,rater_2\nq1,d1,0,1\n",
    "queries.jsonl": '{"_id": "q1", "text": "x", "kind": "k"}\n{"_id": "q2", "text": "y"}\n',
    "spans.json": json.dumps([{"id": "q1", "spans": [{"doc": "a", "start": 0, "end": 9}]}]),
    "found.json": json.dumps([{"id": "q1", "chunks": [{"doc": "a", "start": 0, "end": 9}]}]),
    "blank.json": '{"q 1": {"d": 1.5}}',
    "zscores": "q1 map 0.5\n",
    "unclear": "a b\n",
    "a.yaml": "",
}

REFUSED = {
    "evaluate": {
        "qrels": "give a run too",
        "qrels no.run -o one.run": "no.run",
        "qrels old=none.run": "none.run",
        "no.qrels one.run": "no.qrels",
        "qrels one.run -m nDGC@10": "nDGC",
        "qrels one.run -m alpha_nDCG@10": "subtopic",
        "qrels one.run one.run": "NAME=FILE",
        "qrels one.run --format wide": "wide",
        "qrels one.run --profile trec_eval-10": "missing",
        "qrels one.run --worst 3 --format json": "--worst",
        "qrels one.run --open": "--html",
        "qrels one.run --intervals --format csv": "--intervals",
        "qrels one.run --bounds --hole-grade -1": "hole_grade",
        "qrels else.run --intersect": "in common",
        "qrels one.run -o ''": "empty",
        "qrels one.run --fail-under RR": "MEASURE=VALUE",
        "qrels one.run --fail-under two:RR=0.1": "'two'",
        "qrels one.run --fail-under RR=70": "70%",
        "qrels one.run --fail-under NumRelRet@5=0.95": "NumRelRet@5",
        "qrels one.run --per-query --format metrics": "--per-query",
        "labels.tsv one.run --labels E=3": "'I'",
        "spans.json one.run": "spans",
        "spans.json found.json --bounds": "spans or texts",
    },
    "compare": {
        "qrels one.run": "two",
        "qrels one.run two.run --baseline tow": "two",
        "qrels one.run two.run --test permute": "permutation",
        "qrels one.run two.run --correction hol": "holm",
        "qrels one.run two.run --alpha 1e-17": "1e-09",
        "qrels one.run two.run --resamples 1000000000000": "100,000,000",
        "qrels one.run two.run --margin 0": "margin",
        "qrels one.run two.run --queries queries.jsonl --cluster kin": "kind",
        "qrels one.run two.run --cluster kind": "--queries",
        "qrels one.run two.run --seeds nonsense": "--seeds",
    },
    "gate": {
        "one.json": "missing argument",
        "one.json two.json qrels": "--qrels QRELS",
        "one.json blank.json": "rankscope/scores/1",
        "one.json two.json -m AP": "AP",
        "one.json two.json --candidate-run x": "'x'",
        "one.json two.json --profile ranx": "one.json",
        "one.json two.json --max-drop nan": "max_drop",
        "one.json two.json --max-drop 2": "1",
        "one.json two.json --min AP": "MEASURE=VALUE",
        "one.json two.json --min RR=7": "from 0 to 1",
        "one.json two.json --noise two.json": "two",
        "one.json two.json --test z": "--test",
        "one.json two.json --junit -": "name a file",
        "one.json two.json --cluster kind": "--queries",
    },
    "diagnose": {
        "qrels": "missing argument",
        "qrels one.run two.run --only failure": "failures",
        "qrels one.run two.run --only ''": "",
        "qrels one.run two.run --baseline third": "third",
        "qrels one.run two.run --set segments": "--set",
        "qrels one.run two.run --set segment=[kind]": "segments",
        "qrels one.run two.run --set ties=3": "wide",
        "qrels one.run two.run --set failures.show=-1": "failures.show",
        "qrels one.run two.run --set segments=[a] --set segments.bins=2": "segments",
        "qrels one.run two.run --stages one,thrd": "thrd",
        "qrels one.run two.run --stages one,one": "twice",
        "qrels one.run two.run --stages ''": "stages",
        "qrels one.run two.run --pool x.pool": "suffix",
        "spans.json found.json": "evaluate",
    },
    "explain": {
        "qrels one.run": "--query",
        "qrels one.run --query q3": "'q3'",
        "qrels one.run --query q1 --theirs 0.5": "--query",
        "qrels one.run --theirs rank": "ranx",
        "qrels one.run --theirs high": "'high'",
        "qrels one.run --theirs 0.5 -m RR -m AP": "one measure",
    },
    "power": {
        "": "--sd",
        "qrels one.run two.run -m NumRet": "NumRet",
        "--sd nan --queries 5": "sd must",
        "--sd 0.2 --difference 0": "difference",
        "--sd 0.2 --difference 1e-9": "10,000,000",
        "--sd 0.2 --queries 5 --power 0.01": "power",
        "--sd 0.2 --queries 5 qrels one.run two.run": "--sd",
    },
    "convert": {
        "missing.run a.csv": "missing.run",
        "unclear x.csv": "unclear",
        "one.run a.what": "suffix",
        "one.run .": "",
        "one.run ''": "empty",
        "one.run a.csv --from trek": "trec",
        "one.run a.csv --labels E=3": "labels",
        "labels.tsv a.qrels --labels E": "LABEL=NUMBER",
        "ratings.csv a.qrels --kind qrels": "ratings.csv",
        "blank.json one.run --kind run": "'q 1'",
        "spans.json out.qrels --kind qrels": "evaluate",
    },
    "runs": {
        "validate one.run --output ''": "empty",
        f"validate one.run --max-depth {2**63}": "10000000",
        "fuse one.run two.run": "-o",
        "fuse one.run two.run -o ''": "empty",
        "fuse one.run two.run -o x.odd": "suffix",
        "fuse one.run two.run -o x.run --format jsn": "json",
        "fuse one.run two.run -o x.run --method rff": "rrf",
        "fuse one.run two.run -o x.run --weights 1": "weights",
        "fuse one.run two.run -o x.run --weights 1,a": "'1,a'",
        "fuse one.run two.run -o x.run --k 0": "k must",
    },
    "trec-eval": {
        "qrels": "missing argument",
        "-m mapp qrels two.run": "map",
        "--9 -m dcg qrels two.run": "--9",
        "-m P_5 qrels two.run": "P.5",
        "-m P.5,5 qrels two.run": "'5,5'",
        "-m P. qrels two.run": "'P.'",
        "-m P.0 qrels two.run": "cutoff",
        "-m all_prefs qrels two.run": "-R prefs",
        "-R prefs qrels two.run": "'official'",
        "-R nugget qrels two.run": "'nugget'",
        "--9 qrels else.run": "none",
        "qrels one.run": "'q2'",
        "large.qrels two.run": "large.qrels:1",
        "-Z zscores qrels two.run": "zscores:1",
    },
    "mcp": {"nowhere": "nowhere", "qrels": "folder"},
    "demo": {"--output ' '": "empty", "--output qrels": "folder"},
    "benchmark": {"run a.yaml --output ''": "empty"},
}


@pytest.mark.parametrize("command", REFUSED)
def test_what_is_refused(rankscope: Rankscope, tmp_path: Path, command: str) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    for name in ("one", "two"):
        scores = rs.evaluate(tmp_path / "qrels", tmp_path / f"{name}.run", ["nDCG@10", "RR"])
        (tmp_path / f"{name}.json").write_text(json.dumps(scores.to_dict(per_query=True)))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    wrong = {}
    for typed, word in REFUSED[command].items():
        done = rankscope(command, *shlex.split(typed))
        after = {path: path.read_bytes() for path in tmp_path.iterdir()}
        refused = (done.returncode, done.stdout, "Traceback" in done.stderr) == (2, "", False)
        if not refused or word not in done.stderr or after != before:
            wrong[typed] = done
    assert wrong == {}
