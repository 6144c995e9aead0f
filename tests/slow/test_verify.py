"""Verify: no byte of an experiment, and no score that was made up, goes unnoticed."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchmark.world import cli, made, write_world
from rankscope.benchmark.verify import verify
from rankscope.benchmark.write import pages
from rankscope.records.report import BenchmarkReport, ExperimentManifest

MANIFEST, REPORT = "ExperimentManifest.json", "BenchmarkReport.json"
TIMINGS = "Timings.json"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = write_world(tmp_path_factory.mktemp("world"))
    return made(world, world.folder / "out")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """Return a copy to be changed."""
    return Path(shutil.copytree(original, tmp_path / "experiment"))


def problems(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in verify(folder).checks:
        if one.problem:
            found.setdefault(one.what, one.problem)
    return found


def changed(folder: Path, name: str, change: Callable[[Any], None]) -> None:
    """Change the data of a record; unless it is the manifest, with its hash in the manifest."""
    path = folder / name
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if name not in (MANIFEST, TIMINGS):
        hashed(folder, name)


def hashed(folder: Path, name: str) -> None:
    """Make the manifest, or of a page the file of times, believe in a file."""
    data = (folder / name).read_bytes()
    is_page = name.endswith(".html")

    def change(record: Any) -> None:
        entries = record["pages" if is_page else "artifacts"]
        (entry,) = (one for one in entries if one["path"] == name)
        entry.update(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))

    changed(folder, TIMINGS if is_page else MANIFEST, change)


def rewritten(folder: Path, name: str, old: str, new: str) -> None:
    """Replace the first such words of a file that the manifest then believes in."""
    path = folder / name
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    hashed(folder, name)


def column(folder: Path, name: str, change: pl.Expr) -> None:
    """Change a table that the manifest then believes in."""
    pl.read_parquet(folder / name).with_columns(change).write_parquet(folder / name)
    hashed(folder, name)


def test_an_untouched_experiment_holds(original: Path) -> None:
    code, out, err = cli("benchmark", "verify", original, "--format", "json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["ok"]
    assert {one["what"] for one in data["checks"]} >= {
        "config",
        "results/both.parquet, its content",
        "BenchmarkReport.json: comparison",
        "BenchmarkReport.html, its content",
    }


@pytest.mark.parametrize(
    "name",
    [
        "runs/code.run.gz",
        "per_query/words.parquet",
        "queries.parquet",
        "EvaluationReport.words.json",
        "BenchmarkReport.json",
    ],
)
def test_one_byte(folder: Path, name: str) -> None:
    path = folder / name
    data = path.read_bytes()
    for at in (data.index(b"e"), len(data) // 2, data.rindex(b"s")):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        code, out, err = cli("benchmark", "verify", folder)
        assert (code, out) == (2, "") if err else code == 1
        assert name in out + err
    path.unlink()
    code, out, err = cli("benchmark", "verify", folder)
    assert code in (1, 2)
    assert name in out + err


def test_a_file_more(folder: Path) -> None:
    (folder / "runs" / "new \x1b[31m.run").write_text("")
    code, out, _ = cli("benchmark", "verify", folder)
    assert code == 1
    assert "not in the manifest" in out
    assert "\x1b" not in out


def raised(data: Any) -> None:
    data["measures"][0]["value"] += 0.1


def test_a_better_score(folder: Path) -> None:
    changed(folder, "EvaluationReport.code.json", raised)
    ((what, problem),) = problems(folder).items()
    assert what == "EvaluationReport.code.json, its content"
    assert "measures[0].value" in problem
    changed(folder, REPORT, lambda data: raised(data["systems"][1]))
    redrawn(folder)
    assert set(problems(folder)) == {what, "BenchmarkReport.json: systems"}, "in both records"


def redrawn(folder: Path) -> None:
    """Draw the pages of what the records say now."""
    manifest = ExperimentManifest.read(folder / MANIFEST)
    for page, text in pages(BenchmarkReport.read(folder / REPORT), manifest, folder).items():
        (folder / page).write_text(text, encoding="utf-8")
        hashed(folder, page)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("verdict", lambda data: data["verdict"].__setitem__(0, "code is the best.")),
        ("comparison", lambda data: data["comparison"]["pairs"][0].update(p_corrected=0.001)),
        ("comparison", lambda data: data["comparison"]["pairs"][1].update(verdict="better")),
        ("systems", lambda data: data["systems"][0]["accounting"].update(queries=11)),
        ("measures", lambda data: data["measures"][0].update(best=["code"])),
        ("collection", lambda data: data["collection"].update(qrels_sha256="0" * 64)),
    ],
)
def test_what_follows_from_the_runs(
    folder: Path, field: str, change: Callable[[Any], None]
) -> None:
    changed(folder, REPORT, change)
    redrawn(folder)
    assert f"BenchmarkReport.json: {field}" in problems(folder)


def test_a_run_that_was_replaced(folder: Path) -> None:
    shutil.copy(folder / "runs" / "words.run.gz", folder / "runs" / "code.run.gz")
    hashed(folder, "runs/code.run.gz")
    assert {"run of code", "BenchmarkReport.json: systems"} <= set(problems(folder))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("queries.parquet", pl.col("text") + "?"),
        ("queries.parquet", pl.col("metadata").str.replace("r", "R")),
        ("queries.parquet", pl.lit("{").alias("metadata")),
        ("per_query/code.parquet", pl.col("value") + 0.01),
        ("results/code.parquet", pl.col("grade") + 1),
        ("results/code.parquet", pl.col("rank").reverse()),
        ("qrels.parquet", pl.col("grade") + 1),
    ],
)
def test_tables_that_the_manifest_believes_in(folder: Path, name: str, change: pl.Expr) -> None:
    column(folder, name, change)
    assert problems(folder)


def test_a_page_that_shows_something_else(folder: Path) -> None:
    pages = {"BenchmarkComparison.md": "words", "BenchmarkReport.html": "words"}
    for name, old in pages.items():
        rewritten(folder, name, old, "1")
        assert "does not show" in problems(folder)[f"{name}, its content"]


def test_a_page_whose_data_were_changed(folder: Path) -> None:
    name = "BenchmarkReport.html"
    (block,) = re.findall(r'id="data-overview">([^<]*)<', (folder / name).read_text("utf-8"))
    content = gzip.decompress(base64.b64decode(block))
    again = base64.b64encode(gzip.compress(content, 1)).decode()
    rewritten(folder, name, block, again)
    assert problems(folder) == {}, "compressed in another way, it says the same"
    forged = gzip.compress(content[:-8] + b"\x00\x00\x00\x00\x00\x00\xf0?")
    rewritten(folder, name, again, base64.b64encode(forged).decode())
    assert list(problems(folder)) == [f"{name}, its content"]


def test_the_digest(original: Path) -> None:
    digest = hashlib.sha256((original / MANIFEST).read_bytes()).hexdigest()
    for given, code in ((digest, 0), (digest[:12].upper(), 0), ("0" * 64, 1), ("xyz", 1)):
        assert cli("benchmark", "verify", original, "--digest", given)[0] == code


@pytest.mark.parametrize("path", ["../outside", "/etc/hostname", "a\0b"])
def test_paths_that_lead_out(folder: Path, path: str) -> None:
    (folder.parent / "outside").write_text("secret")

    def change(data: Any) -> None:
        artifact = next(
            one for one in data["artifacts"] if one["path"].startswith("EvaluationReport")
        )
        artifact["path"] = path

    changed(folder, MANIFEST, change)
    code, out, err = cli("benchmark", "verify", folder)
    assert (code, err) == (1, "")
    assert "secret" not in out
    assert problems(folder)[path].startswith("cannot be read")

    def elsewhere(data: Any) -> None:
        data["systems"][0]["run"]["file"]["path"] = path
        data["systems"][1]["report"] = path
        data["systems"][2]["per_query"]["path"] = path

    changed(folder, REPORT, elsewhere)
    assert "BenchmarkReport.json: systems" in problems(folder)
    for other in (("compare", folder, folder), ("list", folder.parent)):
        assert cli("benchmark", *other)[0] in (0, 2)
    shutil.copy(folder / "runs" / "words.run.gz", folder / "runs" / "code.run.gz")
    hashed(folder, "runs/code.run.gz")
    assert "run of code" in problems(folder)
    (folder / "runs" / "code.run.gz").unlink()
    (folder / "runs" / "code.run.gz").symlink_to(folder.parent / "outside")
    assert "outside" in problems(folder)["runs/code.run.gz"]


def test_what_is_refused(folder: Path, tmp_path: Path) -> None:
    """Experiments of another version or schema, and what is no experiment at all."""
    manifest, report = ((folder / name).read_text("utf-8") for name in (MANIFEST, REPORT))
    version = json.loads(manifest)["versions"]["rankscope"]
    for name, text, word in (
        (MANIFEST, manifest.replace(f'"rankscope": "{version}"', '"rankscope": "0.0.9"'), "0.0.9"),
        (MANIFEST, manifest.replace("rankscope/manifest/", "rankscope/manifest/9"), "version"),
        (REPORT, report.replace("rankscope/benchmark/", "rankscope/benchmark/9"), "version"),
        (MANIFEST, manifest.replace('"seed": ', '"seed": 1e999, "x": '), "1e999"),
        (MANIFEST, "{}", "expected the schema"),
    ):
        (folder / MANIFEST).write_text(manifest, "utf-8")
        (folder / name).write_text(text, "utf-8")
        if name == REPORT:
            hashed(folder, name)
        code, out, err = cli("benchmark", "verify", folder)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert word in err
        (folder / REPORT).write_text(report, "utf-8")
    for place in (tmp_path, tmp_path / "missing"):
        code, out, err = cli("benchmark", "verify", place)
        assert (code, out) == (2, "")
        assert "not an experiment" in err


# ------------------------------------------------------- folders that anybody may have made

DIGITS = "9" * 5000


@pytest.fixture
def bad(original: Path, folder: Path) -> Iterator[Path]:
    """Return an experiment to be damaged beside a good one; fail, do not wait for a pipe."""

    def late(*_: object) -> None:
        pytest.fail("this takes too long")

    shutil.copytree(original, folder.parent / "good")
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(120)
    yield folder
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def check(bad: Path) -> None:
    """Look at a folder of two experiments, one of which is damaged."""
    code, out, err = cli("benchmark", "list", bad.parent, "--format", "json")
    assert (code, err) == (0, "")
    listed = {Path(row["folder"]).name: row for row in json.loads(out)}
    assert listed["good"]["problem"] == ""
    code, out, err = cli("benchmark", "verify", bad)
    assert code in (1, 2)
    assert err.count("\n") == (1 if code == 2 else 0)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def circle(path: Path) -> None:
    path.symlink_to(path)


def rubbish(path: Path) -> None:
    path.write_bytes(b"\x00\xff rubbish")


@pytest.mark.parametrize("put", [os.mkfifo, device, circle, rubbish, Path.mkdir])
@pytest.mark.parametrize("name", [MANIFEST, REPORT, "per_query/code.parquet"])
def test_what_is_no_file(bad: Path, name: str, put: Callable[[Path], object]) -> None:
    (bad / name).unlink()
    put(bad / name)
    check(bad)


DAMAGE: dict[str, tuple[str, tuple[str | int, ...], object]] = {
    "schema 0": (MANIFEST, ("schema",), "rankscope/manifest/0"),
    "schema of 5,000 digits": (REPORT, ("schema",), f"rankscope/benchmark/{DIGITS}"),
    "5,000 digits": (REPORT, ("depth",), "@" + DIGITS),
    "NaN": (REPORT, ("systems", 0, "measures", 0, "value"), "@NaN"),
    "too large": (REPORT, ("depth",), "@1e400"),
    "no number": (REPORT, ("systems", 0, "measures", 0, "value"), "x"),
    "identity of a number": (REPORT, ("systems", 0, "run", "identity"), 3),
    "half a character": (REPORT, ("systems", 0, "name"), "\ud800"),
    "NUL in a path": (MANIFEST, ("artifacts", 0, "path"), "a\0b"),
    "a path of 100,000 characters": (REPORT, ("systems", 0, "per_query", "path"), "x" * 100_000),
    "a path that leads out": (REPORT, ("queries", "path"), "../../../dev/zero"),
    "a device": (MANIFEST, ("artifacts", 0, "path"), "/dev/zero"),
    "nested lists": (REPORT, ("verdict",), "@" + "[" * 50_000 + "]" * 50_000),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_no_record(bad: Path, name: str) -> None:
    file, (*above, last), value = DAMAGE[name]
    data = json.loads((bad / file).read_text())
    inner: Any = data
    for key in above:
        inner = inner[key]
    inner[last] = value
    text = json.dumps(data)
    if isinstance(value, str) and value.startswith("@"):
        text = text.replace(json.dumps(value), value[1:])
    (bad / file).write_text(text)
    check(bad)
