"""What is done with input, and what may come of it: a result, or an error on purpose.

A target makes an `Attempt` of a `Random`, and executes it: True is a result, False a refusal, and
anything that is raised a failure. A refusal is one sentence; so is what commands print when they
cannot answer. Where two ways lead to one number, both are gone, and another number is a failure.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import shutil
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import click
import polars as pl

from rankscope.benchmark.config.loading import read_config
from rankscope.benchmark.config.syntax import parse_config, parse_value
from rankscope.benchmark.listing import list_experiments
from rankscope.benchmark.targets import read_targets
from rankscope.cli import main
from rankscope.cli.shared import LABELS
from rankscope.collection.corpus import read_corpus, stream_corpus
from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.collection.queries import read_queries
from rankscope.errors import RankscopeError
from rankscope.measures.language import Measure, parse_measures, parse_trec_measures
from rankscope.ontology.terms import read_ontology
from rankscope.records.report import BenchmarkReport, ExperimentManifest
from rankscope.runs.table import Run, read_run
from rankscope.runs.validation import validate_run
from rankscope.scoring.evaluate import evaluate
from rankscope.scoring.preferences import read_groups
from rankscope.scoring.score_files import read_scores
from rankscope.tables.columns import QRELS, RUN
from rankscope.tables.frames import ParquetFile
from rankscope.tables.rows import as_numbers
from rankscope.tables.whitespace import read_columns
from reliability.fuzz import inputs, seeds

LONGEST_SENTENCE = 3_000
_ATTACKS = 0.01  # so many of all inputs attack memory or time


class WrongError(Exception):
    """Something came out that must not."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One input: the bytes, and under which circumstances they are given."""

    variant: str
    data: bytes


def is_result(action: Callable[[], object]) -> bool:
    """Do something: True if it gives a result, False if it is refused with one sentence."""
    try:
        action()
    except (RankscopeError, click.UsageError) as error:
        check_sentence(str(error))
        return False
    return True


def check_sentence(text: str) -> None:
    """Raise unless this is one line of readable length that does not speak of memory."""
    if not text.strip() or "\n" in text:
        raise WrongError(f"not one sentence: {text[:200]!r}")
    if len(text) > LONGEST_SENTENCE:
        raise WrongError(f"a sentence of {len(text):,} characters: {text[:80]!r}")
    if "not enough memory" in text:
        raise WrongError("the memory did not suffice")


class Target(ABC):
    """Something that input is given to."""

    name: str
    weight: int
    """Of a thousand executions, about so many go to this target."""
    on_files = False
    """Whether it needs the files of `seeds.world` around it, unchanged."""

    @abstractmethod
    def attempt(self, random: Random) -> Attempt:
        """Make an input."""

    @abstractmethod
    def execute(self, attempt: Attempt) -> bool:
        """Give it to rankscope, in the current folder."""


# --- tables


class Tables(Target):
    """Files of one kind of table: mutated ones of every format, and text by grammar."""

    def __init__(
        self, kind: str, weight: int, contents: dict[str, list[bytes]], *reads: Callable[[Any], Any]
    ) -> None:
        self.name = kind
        self.weight = weight
        self.contents = contents
        self.reads = reads
        self.all = [content for same in contents.values() for content in same]

    def attempt(self, random: Random) -> Attempt:
        suffix = random.choice(list(self.contents))
        data = random.choice(self.contents[suffix])
        chance = random.random()
        if chance < _ATTACKS:
            return Attempt(suffix, inputs.attack(data, random))
        if chance < 0.3:
            return Attempt(*self.written(random))
        if chance < 0.4 and suffix.endswith(".json"):
            return Attempt(suffix, inputs.mutated_json(data, random))
        if chance < 0.45:
            suffix = random.choice([*self.contents, "", ".txt", ".xml"])
        return Attempt(suffix, inputs.mutated(data, random, self.all))

    def written(self, random: Random) -> tuple[str, bytes]:
        """Return a suffix and text by grammar."""
        pair = self.name in ("run", "qrels")
        what = random.randrange(5)
        if what == 0:
            value = [inputs.plain_value(random) for _ in range(random.randrange(4))]
            return ".json", json.dumps(value).encode()
        if what == 1:
            names = (
                ("query_id", "doc_id", "score", "tag") if pair else ("_id", "text", "title", "x")
            )
            separator = random.choice(",\t;")
            text = inputs.delimited_text(random, names, separator)
            return random.choice((".csv", ".tsv", "")), _encoded(text)
        if what == 2:
            return random.choice(("", ".txt", ".jsonl")), _encoded(inputs.words(random, 30))
        if pair:
            return random.choice((f".{self.name}", "")), _encoded(
                inputs.table_text(random, self.name)
            )
        if self.name == "queries":
            return random.choice((".xml", ".topics", "")), _encoded(inputs.topics_text(random))
        record = {"_id": inputs.id_of(random, "d"), "text": inputs.words(random, 3)}
        record |= {random.choice(inputs.WORDS): inputs.plain_value(random)}
        return ".jsonl", json.dumps(record).encode() + b"\n"

    def execute(self, attempt: Attempt) -> bool:
        path = Path(f"a{attempt.variant}")
        path.write_bytes(attempt.data)
        try:
            few = len(attempt.data) % 4 == 0  # the second way costs as much again
            reads = self.reads if few else self.reads[:1]
            results = [is_result(partial(self._read, read, path)) for read in reads]
        finally:
            path.unlink()
        return results[0]

    def _read(self, read: Callable[[Any], Any], path: Path) -> None:
        table = read(path)
        if hasattr(table, "write") and len(table) and path.stat().st_size % 8 == 0:
            again = "again.parquet" if isinstance(table, Run | Qrels) else "again.jsonl"
            table.write(again)
            sizes = getattr(table, "sizes", [1])  # queries without documents survive in JSON only
            if read(again) != table and min(sizes):
                raise WrongError("written and read again it is another table")


def _streamed(path: Any) -> None:
    for _ in stream_corpus(path):
        pass


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class Parquet(Target):
    """Parquet files of two writers, changed by bytes, mostly in footers and headers of pages."""

    name = "parquet"
    weight = 40

    def __init__(self) -> None:
        frame = pl.DataFrame(
            {
                "query_id": ["q1", "q2", "q2"] * 10,
                "doc_id": [f"d{number}" for number in range(30)],
                "score": [number / 7 for number in range(30)],
                "tag": ["t", None, "u"] * 10,
                "list": [[1, 2], [], None] * 10,
            }
        )
        self.contents = []
        for compression in ("zstd", "snappy", "gzip", "lz4", "uncompressed"):
            for rows in (7, 100):
                buffer = io.BytesIO()
                frame.write_parquet(buffer, compression=compression, row_group_size=rows)
                self.contents.append(buffer.getvalue())
        with suppress(ImportError):
            from pyarrow import parquet

            plain = {"use_dictionary": False}
            texts = {"query_id": "DELTA_BYTE_ARRAY", "doc_id": "DELTA_LENGTH_BYTE_ARRAY"}
            split = {"column_encoding": {**texts, "score": "BYTE_STREAM_SPLIT"}}
            for options in ({}, {"data_page_version": "2.0"}, plain, {**plain, **split}):
                sink = io.BytesIO()
                parquet.write_table(frame.to_arrow(), sink, **options)
                self.contents.append(sink.getvalue())

    def attempt(self, random: Random) -> Attempt:
        number = random.randrange(len(self.contents))
        data = self.contents[number]
        footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        what = random.random()
        if what < 0.4:
            data = data[:footer] + inputs.mutated(data[footer:-8], random) + data[-8:]
        elif what < 0.6:
            begin = random.randrange(4, footer)
            data = (
                data[:begin] + inputs.mutated(data[begin : begin + 30], random) + data[begin + 30 :]
            )
        else:
            data = inputs.mutated(data, random, self.contents)
        if random.random() < 0.2:  # the footer is where its length says
            data = data[:-8] + (len(data) - 8 - footer & 0xFFFFFFFF).to_bytes(4, "little") + b"PAR1"
        return Attempt(f"of {number}", data)

    def execute(self, attempt: Attempt) -> bool:
        return is_result(lambda: ParquetFile(attempt.data, source="a.parquet").frame())


# --- two ways to one number


def by_hand(data: bytes, width: int) -> list[list[str]] | None:
    """Split a TREC file as its format says, without any of rankscope; None if a line is bad."""
    rows = []
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        cells = line.translate(bytes.maketrans(b"\t\v\f\r", b"    ")).split(b" ")
        try:
            texts = [cell.decode() for cell in cells if cell]
        except UnicodeDecodeError:
            return None
        if not texts or texts[0].startswith("#"):
            continue
        if len(texts) != width:
            return None
        rows.append(texts)
    return rows


class WhiteSpace(Target):
    """The fast reader of TREC files against the exact one, and both against splitting by hand."""

    name = "fast and exact readers"
    weight = 100

    def attempt(self, random: Random) -> Attempt:
        kind = random.choice(("run", "qrels"))
        data = _encoded(inputs.table_text(random, kind))
        if random.random() < 0.3:
            data = inputs.mutated(data, random)
        return Attempt(kind, data)

    def execute(self, attempt: Attempt) -> bool:
        layout, width, value = (
            (RUN, 6, "score") if attempt.variant == "run" else (QRELS, 4, "grade")
        )
        columns = layout.headerless[width]
        roles = ("query_id", "doc_id", value)
        stream = io.BytesIO(attempt.data.removeprefix(b"\xef\xbb\xbf"))  # as a file is opened
        exact = read_columns(stream, columns, roles, source="a", layout=layout)
        rows = exact.frame.with_columns(as_numbers(exact.frame[value])).rows()
        expected = by_hand(attempt.data, width)
        if (expected is None) != bool(exact.malformed_count):
            raise WrongError("one splits a line that the other does not")
        if expected is not None:
            place = columns.index(value)
            if [row[:2] for row in rows] != [(cells[0], cells[2]) for cells in expected]:
                raise WrongError("the ids differ from those split by hand")
            for row, cells in zip(rows, expected, strict=True):
                if not _same_number(row[2], cells[place]):
                    raise WrongError(f"{cells[place]!r} was read as {row[2]!r}")
        return not exact.malformed_count


def _same_number(value: float | None, text: str) -> bool:
    """Tell whether a number was read right; what only one of two parsers takes is not judged."""
    try:
        expected = float(text)
    except ValueError:
        return True
    return value is None or value == expected or (math.isnan(value) and math.isnan(expected))


class Scores(Target):
    """Measures from tables against measures from dicts: ties, gaps and odd numbers."""

    name = "tables and dicts"
    weight = 3
    measures = (
        *("nDCG@5", "AP", "RR", "P@3", "R@3", "Bpref", "RBP", "ERR@5", "Rprec", "Success@1"),
    )

    def attempt(self, random: Random) -> Attempt:
        texts = [inputs.table_text(random, kind) for kind in ("qrels", "run")]
        return Attempt("", _encoded("\0".join(texts)))

    def execute(self, attempt: Attempt) -> bool:
        qrels_text, _, run_text = attempt.data.partition(b"\0")
        Path("a.qrels").write_bytes(qrels_text)
        Path("a.run").write_bytes(run_text)

        def both() -> None:
            qrels, run = read_qrels("a.qrels"), read_run("a.run")
            tables = evaluate(qrels, run, self.measures)
            dicts = evaluate(qrels.to_dict(), run.to_dict(), self.measures)
            if dict(tables.means) != dict(dicts.means):
                raise WrongError(f"{tables.means} from tables, {dicts.means} from dicts")

        return is_result(both)


# --- parsers


class Parsers(Target):
    """Languages: measures, configs, settings, labels, and the smaller files."""

    def __init__(self, name: str, weight: int, files: Path) -> None:
        self.name = name
        self.weight = weight
        config, targets = ((files / name).read_bytes() for name in ("config.yaml", "targets.yaml"))
        self.examples = {
            "config": [config],
            "toml": [b'name = "a"\n[collection]\npath = "x"\n[systems]\nwords = "bm25"\n'],
            "targets": [targets],
            "value": [b"[1, 2.5, {a: no}]", b"{bm25: {k1: 1.2}}", b"1e3", b"'x'"],
            "setting": [b"depth=50", b"systems.words.bm25.k1=1.2", b"measures=[nDCG@10]", b"a.b=c"],
            "labels": [b"E=3,S=2,C=1,I=0"],
            "prefs": [b"q1 g s d1 1\nq1 g s d2 2\nq2 g s d1 1\n"],
        }

    def attempt(self, random: Random) -> Attempt:
        if self.name == "measure language":
            variant = random.choice(("measures", "trec"))
            text = inputs.measure_text(random)
            data = _encoded(text)
            if random.random() < 0.2:
                data = inputs.mutated(data, random)
        else:
            variant = random.choice(("config", "config", *self.examples))
            data = inputs.mutated(random.choice(self.examples[variant]), random)
        if random.random() < _ATTACKS:
            data = inputs.attack(data, random)
        return Attempt(variant, data)

    def execute(self, attempt: Attempt) -> bool:
        data, variant = attempt.data, attempt.variant
        text = data.decode("utf-8", "surrogateescape")
        if variant == "measures":
            return is_result(lambda: _check_measures(text))
        if variant == "trec":
            return is_result(lambda: parse_trec_measures(text))
        if variant == "value":
            return is_result(lambda: parse_value(text, source="--set"))
        if variant == "labels":
            return is_result(lambda: LABELS.convert(text, None, None))
        if variant == "setting":
            Path("config.yaml").write_text(seeds.CONFIG)
            return is_result(lambda: read_config("config.yaml", settings=[text], environment={}))
        path = Path(f"a.{variant}.yaml")
        path.write_bytes(data)
        try:
            return is_result(lambda: _read_small(variant, path, data))
        finally:
            path.unlink()


def _read_small(variant: str, path: Path, data: bytes) -> None:
    if variant == "config":
        read_config(path, environment={})
    elif variant == "toml":
        parse_config(data, source="a", suffix=".toml")
    elif variant == "targets":
        read_targets(path.name, "targets", path.parent)
    else:
        for kind in ("prefs", "qrels_prefs", "qrels_jg"):
            read_groups(path, kind)


def _check_measures(text: str) -> None:
    for parsed in parse_measures(text):
        if Measure.parse(str(parsed.measure)) != parsed.measure:
            raise WrongError(f"{parsed.measure} is read as {Measure.parse(str(parsed.measure))}")


# --- records, commands, experiments


class Records(Target):
    """JSON records: mutated by bytes and by structure."""

    name = "records"
    weight = 60

    def __init__(self, files: Path) -> None:
        home = files / "experiments" / "x"
        self.examples = {
            "BenchmarkReport.json": (home / "BenchmarkReport.json").read_bytes(),
            "ExperimentManifest.json": (home / "ExperimentManifest.json").read_bytes(),
            "EvaluationReport.words.json": (home / "EvaluationReport.words.json").read_bytes(),
            "a.scores.json": (files / "a.scores.json").read_bytes(),
        }

    def attempt(self, random: Random) -> Attempt:
        name = random.choice(list(self.examples))
        data = self.examples[name]
        chance = random.random()
        if chance < _ATTACKS:
            return Attempt(name, inputs.attack(data, random))
        if chance < 0.6:
            return Attempt(name, inputs.mutated_json(data, random))
        return Attempt(name, inputs.mutated(data, random, list(self.examples.values())))

    def execute(self, attempt: Attempt) -> bool:
        path = Path(attempt.variant)
        path.write_bytes(attempt.data)
        reads: dict[str, Callable[[Path], object]] = {
            "BenchmarkReport.json": BenchmarkReport.read,
            "ExperimentManifest.json": ExperimentManifest.read,
        }
        try:
            return is_result(lambda: reads.get(attempt.variant, read_scores)(path))
        finally:
            path.unlink()


def command(arguments: Iterable[str]) -> bool:
    """Run a command in this process: True if it answers, False if it says that it cannot."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    nothing = io.TextIOWrapper(io.BytesIO(b""), "utf-8")
    status: object = 0
    arguments = list(arguments)
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "stdin", nothing):
        try:
            main(arguments)
        except SystemExit as ended:
            status = ended.code
    printed, said = (_text(stream) for stream in (out, err))
    if status not in (0, 1, 2):
        raise WrongError(f"exit {status}: {said[-300:]}")
    if "Traceback" in said or "Warning:" in said:
        raise WrongError(f"printed {said[:300]!r}")
    if status == 2 and not said.strip():
        raise WrongError("exit 2 without a sentence")
    if "not enough memory" in said:
        raise WrongError("the memory did not suffice")
    if status != 2 and printed.startswith("{") and "--format" in arguments and "json" in arguments:
        json.loads(printed)
    return status != 2


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace")


_LINES = (
    *("evaluate qrels.txt a.run", "evaluate qrels.txt a.run b.run -m nDCG@5 --format json"),
    *("evaluate qrels.txt a.run --per-query --format csv", "evaluate qrels.tsv a.run --bounds"),
    *("evaluate qrels.txt a.run --profile trec_eval-9 --ties id-asc", "measures nDCG"),
    *(
        "evaluate qrels.txt a.run --format latex --intersect --labels E=3,S=2",
        "measures --format json",
    ),
    *("compare qrels.txt a.run b.run --resamples 100 --format json", "convert a.run x.json"),
    *("compare qrels.txt a.run b.run --queries queries.jsonl --by group --resamples 100",),
    *("compare qrels.txt a.run b.run --test t --correction bh --interval t --margin 0.1",),
    *("gate a.scores.json b.scores.json --max-drop 0.1 --resamples 100 --format json",),
    *("gate a.run b.run --qrels qrels.txt --min nDCG@10=0.1 --resamples 100 --junit j.xml",),
    *("diagnose qrels.txt a.run b.run --queries queries.jsonl --resamples 100 --format json",),
    *("power --sd 0.2 --queries 50 --difference 0.05", "power qrels.txt a.run b.run"),
    *("runs validate a.run --qrels qrels.txt --corpus corpus.jsonl --format json",),
    *("runs fuse a.run b.run -o f.run --method rrf --k 60", "runs fuse a.run b.run -o f.json"),
    *("runs fuse a.run b.run -o f.run --method sum --normalise min-max --weights 1 2",),
    *("explain qrels.txt a.run --query q1 --format json",),
    *("explain qrels.txt a.run --theirs all --format json",),
    *("explain qrels.txt a.run -m nDCG@5 --theirs 0.5 --theirs 0.6", "trec-eval qrels.txt a.run"),
    *(
        "trec-eval -q -m map -m ndcg_cut.5 -l 1 qrels.txt a.run",
        "trec-eval -c -M 5 qrels.txt a.run",
    ),
    *(
        "convert qrels.txt x.tsv --kind qrels",
        "convert queries.jsonl x.csv",
        "convert corpus.jsonl x.parquet",
    ),
    *(
        "benchmark list experiments",
        "benchmark schema config",
    ),
    *("benchmark run config.yaml --set depth=5 --fail-under nDCG@5=0.2 --no-python",),
)


class Commands(Target):
    """Command lines: arguments left out, doubled, exchanged and added."""

    name = "command lines"
    weight = 5
    on_files = True

    def __init__(self) -> None:
        self.lines = [line.split() for line in _LINES]
        self.all = sorted({word for line in self.lines for word in line})

    def attempt(self, random: Random) -> Attempt:
        words = list(random.choice(self.lines))
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            at = random.randrange(len(words) + 1)
            what = random.randrange(5)
            if what == 0 and at < len(words):
                del words[at]
            elif what == 1:
                words.insert(at, random.choice(self.all))
            elif what == 2 and at < len(words):
                words[at] = random.choice((*inputs.NUMBERS, *inputs.WORDS))
            elif what == 3 and at < len(words):
                words[at] = inputs.mutated(
                    words[at].encode("utf-8", "surrogateescape"), random
                ).decode("utf-8", "surrogateescape")
            else:
                other = random.choice(self.lines)
                options = [place for place, word in enumerate(other) if word.startswith("-")]
                if options:
                    place = random.choice(options)
                    words += other[place : place + 2]
        words = [word.replace("\0", "") for word in words]  # no command line can hold one
        return Attempt("", "\0".join(words).encode("utf-8", "surrogateescape"))

    def execute(self, attempt: Attempt) -> bool:
        text = attempt.data.decode("utf-8", "surrogateescape")
        words = text.split("\0") if text else []
        if words[:1] == ["demo"] or "/" in "".join(words).replace("/dev/null", ""):
            return False  # it takes seconds, or could write elsewhere
        return command(words)


class CommandFiles(Target):
    """Commands that are right, on files that are not."""

    name = "commands on files"
    weight = 2
    on_files = True

    def __init__(self, files: Path) -> None:
        names = {word for line in _LINES for word in line.split() if (files / word).is_file()}
        self.examples = {name: (files / name).read_bytes() for name in sorted(names)}
        self.lines = [line for line in _LINES if any(word in names for word in line.split())]

    def attempt(self, random: Random) -> Attempt:
        line = random.choice(self.lines)
        name = random.choice([word for word in line.split() if word in self.examples])
        data = self.examples[name]
        if random.random() < _ATTACKS:
            data = inputs.attack(data, random)
        elif name.endswith(".json") and random.random() < 0.7:
            data = inputs.mutated_json(data, random)
        else:
            data = inputs.mutated(data, random, list(self.examples.values()))
        return Attempt(f"{name} {line}", data)

    def execute(self, attempt: Attempt) -> bool:
        name, *words = attempt.variant.split(" ")
        Path(name).write_bytes(attempt.data)
        return command(words)


class Experiments(Target):
    """Folders of experiments in which one file is another: listed, verified and compared."""

    name = "experiments"
    weight = 2
    on_files = True
    commands = ("list", "verify", "compare")

    def __init__(self, files: Path) -> None:
        home = files / "experiments" / "x"
        self.examples = {
            str(path.relative_to(home)): path.read_bytes()
            for path in sorted(home.rglob("*"))
            if path.is_file()
        }

    def attempt(self, random: Random) -> Attempt:
        records = [name for name in self.examples if name.endswith(".json")]
        name = random.choice(records if random.random() < 0.6 else list(self.examples))
        data = self.examples[name]
        if random.random() < _ATTACKS:
            data = inputs.attack(data, random)
        elif name.endswith(".json") and random.random() < 0.8:
            data = inputs.mutated_json(data, random)
        else:
            data = inputs.mutated(data, random, list(self.examples.values()))
        repair = random.choice(("as it is", "repaired"))
        return Attempt(f"{random.choice(self.commands)}|{repair}|{name}", data)

    def execute(self, attempt: Attempt) -> bool:
        asked, repair, name = attempt.variant.split("|")
        home = Path("experiments/x")
        (home / name).write_bytes(attempt.data)
        if repair == "repaired":
            _repair(home / "ExperimentManifest.json", name, attempt.data)
        if asked == "list":
            return is_result(lambda: list_experiments(Path("experiments")))
        folders = ["experiments/x"] if asked == "verify" else ["experiments/x", "experiments/y"]
        return command(["benchmark", asked, *folders])


def _repair(manifest: Path, name: str, data: bytes) -> None:
    """Let the manifest record the changed file, so that more than its hash is looked at."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        record = json.loads(manifest.read_bytes())
        for file in record["files"]:
            if file["path"] == name:
                file |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        manifest.write_text(json.dumps(record))


class SelfTest(Target):
    """What the fuzzer itself must notice, by name: a fuzzer that never fails proves nothing."""

    name = "self-test"
    weight = 0

    def attempt(self, random: Random) -> Attempt:
        return Attempt("", random.choice((b"fine", b"error")))

    def execute(self, attempt: Attempt) -> bool:
        if b"abort" in attempt.data:
            os.abort()
        if b"hang" in attempt.data:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        while b"slow" in attempt.data or b"hang" in attempt.data:
            pass
        if b"memory" in attempt.data:
            is_result(lambda: bytearray(100 << 30))
        if b"print" in attempt.data:
            os.write(2, b"thread panicked")
        if b"error" in attempt.data:
            raise KeyError("an error that is not on purpose")
        return is_result(lambda: None)


# --- all of them


def _read_ontology(path: Any) -> object:
    """Read an ontology, and compare two of its terms."""
    ontology = read_ontology(path)
    ontology.ancestors(ontology.ids[0])
    return ontology.similarity(ontology.ids[0], ontology.ids[-1])


def all_targets(files: Path, scratch: Path) -> dict[str, Target]:
    """Return the targets by name; ``files`` is the world of `seeds`."""
    contents = seeds.tables(scratch)
    targets: list[Target] = [
        Tables("run", 50, contents["run"], read_run, validate_run),
        Tables("qrels", 50, contents["qrels"], read_qrels),
        Tables("queries", 200, contents["queries"], read_queries),
        Tables(
            "corpus", 150, contents["corpus"], read_corpus, lambda path: list(stream_corpus(path))
        ),
        Tables("ontology", 150, seeds.ontologies(), _read_ontology),
        Parquet(),
        WhiteSpace(),
        Scores(),
        Parsers("measure language", 350, files),
        Parsers("configs and settings", 16, files),
        Records(files),
        Commands(),
        CommandFiles(files),
        Experiments(files),
        SelfTest(),
    ]
    return {target.name: target for target in targets}


class Sandbox:
    """Folders to work in; the one with files is made new whenever something in it has changed."""

    def __init__(self, files: Path, home: Path) -> None:
        self.files = files
        self.plain = home / "plain"
        self.world = home / "world"
        self.plain.mkdir()
        self.expected: list[tuple[str, int]] = []

    def enter(self, target: Target) -> None:
        """Make the folder that a target needs the current one."""
        if not target.on_files:
            os.chdir(self.plain)
            return
        os.chdir(self.files)
        if not self.expected or self._state() != self.expected:
            shutil.rmtree(self.world, ignore_errors=True)
            shutil.copytree(self.files, self.world)
            self.expected = self._state()
        os.chdir(self.world)

    def _state(self) -> list[tuple[str, int]]:
        """Return all paths, and when each file was changed last."""
        state = []
        for home, folders, names in os.walk(self.world):
            state += [(os.path.join(home, name), 0) for name in folders]
            for name in names:
                path = os.path.join(home, name)
                with suppress(OSError):
                    state.append((path, os.stat(path, follow_symlinks=False).st_mtime_ns))
        return sorted(state)
