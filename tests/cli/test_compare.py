"""``rankscope compare``: what it prints, in which format, with which exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankscope.cli import main

DEMO = Path(__file__).parents[1] / "data" / "small"
QRELS = str(DEMO / "qrels.tsv")
RUNS = (str(DEMO / "letters.run"), str(DEMO / "words.run"))
FAST = ("--resamples", "200")

Printed = Any


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Printed:
    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(["compare", *arguments])
        printed = capsys.readouterr()
        code = stop.value.code
        assert isinstance(code, int)
        return code, printed.out, printed.err

    return call


def test_table(run: Printed) -> None:
    code, out, err = run(QRELS, *RUNS, *FAST)
    assert (code, err) == (0, "")
    for word in ("letters", "words", "nDCG@10", "max-T", "seed 0", "12 queries", "cannot tell"):
        assert word in out
    assert "too few for any outcome to be significant" in " ".join(out.split())
    assert out.index("cannot tell") < out.index("0.7295"), "the verdict comes first"


def test_intervals_are_printed_as_they_are(run: Printed) -> None:
    """An interval that is not symmetric must not become ± half of its width."""
    options = ("-m", "Success@10", "--interval", "bca")
    _, data, _ = run(QRELS, *RUNS, *options, "--format", "json", *FAST)
    mean = json.loads(data)["means"][0]
    low, high = mean["interval"]["low"], mean["interval"]["high"]
    assert (low + high) / 2 != pytest.approx(mean["mean"], abs=0.01)
    for output in ("table", "markdown", "html", "latex"):
        _, out, _ = run(QRELS, *RUNS, *options, "--format", output, *FAST)
        assert f"{low:.4f}, {high:.4f}]" in out, output
        assert "±" not in out
        assert r"\pm" not in out


@pytest.mark.parametrize("width", [60, 80])
def test_fits_a_narrow_terminal(width: int) -> None:
    from rankscope.document.terminal import as_text
    from rankscope.document.views import document_of
    from rankscope.statistics.compare import compare

    result = compare(QRELS, list(RUNS), baseline="words", resamples=200)
    text = as_text(document_of(result), width)
    assert max(map(len, text.splitlines())) <= width
    for measure in result.measures:
        assert measure in text
        for name in result.runs:
            assert f"{result.mean(name, measure).mean:.4f}" in text
    assert "…" not in text


def test_json_and_nothing_else(run: Printed) -> None:
    code, out, err = run(QRELS, *RUNS, "--format", "json", "-m", "nDCG@10", *FAST)
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["runs"] == ["letters", "words"]
    assert data["settings"]["seed"] == 0
    [pair] = data["pairs"]
    assert pair["verdict"] == "no difference shown"
    assert pair["interval"]["low"] < pair["difference"] < pair["interval"]["high"]


def test_same_seed_same_bytes(run: Printed) -> None:
    one = run(QRELS, *RUNS, "--format", "json", "--seed", "3", *FAST)
    assert one == run(QRELS, *RUNS, "--format", "json", "--seed", "3", *FAST)


@pytest.mark.parametrize(
    ("output", "start"),
    [
        ("csv", "stratum,measure,base"),
        ("html", "<!doctype html>"),
        ("latex", "% needs"),
        ("markdown", "# Comparison of letters, words\n\n## Verdict\n"),
    ],
)
def test_formats(run: Printed, output: str, start: str, tmp_path: Path) -> None:
    code, out, _ = run(QRELS, *RUNS, "--format", output, *FAST)
    assert code == 0
    assert out.startswith(start)
    target = tmp_path / "out.txt"
    assert run(QRELS, *RUNS, "--format", output, "-o", str(target), *FAST)[:2] == (0, "")
    assert target.read_text("utf-8") == out


def test_table_in_a_file_is_plain(run: Printed, tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    assert run(QRELS, *RUNS, "-o", str(target), *FAST)[0] == 0
    text = target.read_text("utf-8")
    assert "nDCG@10" in text
    assert "\x1b" not in text


def test_options_reach_the_comparison(run: Printed) -> None:
    options = ("--test", "t", "--correction", "bh", "--alpha", "0.1", "--interval", "t")
    more = ("--level", "0.9", "--margin", "0.5", "--family", "all", "--baseline", "words")
    _, out, _ = run(QRELS, *RUNS, *options, *more, "--format", "json", *FAST)
    data = json.loads(out)
    assert data["baseline"] == "words"
    assert data["settings"] == {
        "test": "t",
        "correction": "bh",
        "family": "all",
        "alpha": 0.1,
        "interval": "t",
        "level": 0.9,
        "resamples": 200,
        "seed": 0,
        "margin": 0.5,
    }
    assert "all 6 pairs of 6 measures" in data["family"]


def test_strata(run: Printed) -> None:
    queries = ("--queries", str(DEMO / "queries.jsonl"), "--by")
    code, out, _ = run(QRELS, *RUNS, "-m", "RR", *queries, "difficulty", *FAST)
    assert code == 0
    assert "RR, words against letters, by stratum (p: holm)" in out
    assert "easy" in out
    code, _, err = run(QRELS, *RUNS, *queries, "dificulty", *FAST)
    assert code == 2
    assert "nearest: difficulty" in err
    assert run(QRELS, *RUNS, "--by", "difficulty")[0] == 2


def test_seeds(run: Printed) -> None:
    _, out, _ = run(QRELS, *RUNS, "--seeds", "all=letters", "--format", "json", *FAST)
    data = json.loads(out)
    assert data["runs"] == ["all", "words"]
    assert run(QRELS, *RUNS, "--seeds", "nonsense")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((QRELS, RUNS[0]), "at least two runs"),
        ((QRELS, *RUNS, "--baseline", "word"), "nearest: words"),
        ((QRELS, *RUNS, "--test", "permute"), "unknown test 'permute'; nearest: permutation"),
        ((QRELS, *RUNS, "--correction", "hol"), "nearest: holm"),
        ((QRELS, *RUNS, "-m", "nDCGG@10"), "nDCG"),
        ((QRELS, *RUNS, "--alpha", "5"), "alpha"),
        ((QRELS, *RUNS, "--resamples", "1"), "resamples"),
        ((QRELS, *RUNS, "--seed", "-1"), "seed"),
        ((QRELS, *RUNS, "--margin", "0"), "margin"),
        (("nowhere", *RUNS), "nowhere"),
    ],
)
def test_mistakes_are_one_sentence(run: Printed, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_unjudged_documents(run: Printed) -> None:
    code, out, _ = run(QRELS, *RUNS, *FAST, "--bounds", "-m", "nDCG@10")
    assert code == 0
    assert "Unjudged documents" in out
    assert "may turn" in out
    code, out, _ = run(QRELS, *RUNS, *FAST, "--bounds", "-m", "nDCG@10", "--format", "json")
    holes = json.loads(out)["pairs"][0]["holes"]
    assert holes["lowest"] <= holes["difference"] <= holes["highest"]
    code, out, _ = run(QRELS, *RUNS, *FAST, "-m", "nDCG@10", "--format", "json")
    assert "holes" not in json.loads(out)["pairs"][0]
    seeds = ("--seeds", "a=letters")
    code, _, err = run(QRELS, *RUNS, *FAST, "--bounds", *seeds)
    assert (code, "leave out seeds and weights" in err) == (2, True)


def test_the_best_of_many_runs(run: Printed, tmp_path: Path) -> None:
    """The table has the best runs and the baseline; JSON and csv hold all, whatever is shown."""
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"q{query} 0 d 1\n" for query in range(12)))
    paths = []
    for system in range(8):
        path = tmp_path / f"run{system}.txt"
        lines = [f"q{query} Q0 d 1 {(query + system) % 9} run{system}\n" for query in range(12)]
        lines += [f"q{query} Q0 x 2 4 run{system}\n" for query in range(12)]
        path.write_text("".join(lines))
        paths.append(str(path))
    asked = (str(qrels), *paths, "-m", "RR", *FAST)
    code, out, err = run(*asked, "--max-systems", "2", "--baseline", "run0")
    assert (code, err) == (0, "")
    table = out[out.index("Means") :]
    assert sum(line.startswith("run") for line in table.splitlines()) == 1 + 3, "head, 2, baseline"
    assert "run0 (baseline)" in table
    assert "5 of 8 systems are not shown" in " ".join(table.split())
    for output in ("json", "csv"):
        whole = run(*asked, "--format", output)
        assert run(*asked, "--format", output, "--max-systems", "2") == whole
        assert all(f"run{system}" in whole[1] for system in range(8))
    assert run(*asked, "--max-systems", "0") == run(*asked)
    code, _, err = run(*asked, "--max-systems", "-1")
    assert code == 2
    assert "-1 is not in the range" in err
