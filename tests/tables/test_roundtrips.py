"""What is written is read back: every format, every compression, any id, any number."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankscope.collection.qrels import Qrels, read_qrels
from rankscope.errors import InputError
from rankscope.files import COMPRESSIONS, read_bytes
from rankscope.runs.table import Run, read_run
from rankscope.scoring.evaluate import evaluate
from rankscope.tables.writing import write_trec_or_jsonl

LAW = settings(max_examples=20, deadline=None)

BLANKS = " \t\n\v\f\r"  # what is white space to C
letters = st.characters(exclude_categories=["Cs", "Cc", "Cf"])  # others are escaped or refused
odd = st.sampled_from([*"\"',;#|\\{}[]<>%&=\xa0\u2028\ufefféß中🙂"])
any_ids = st.text(st.one_of(letters, odd), min_size=1, max_size=6)
trec_ids = any_ids.map(lambda text: "".join(c for c in text if c not in BLANKS).lstrip("#\ufeff"))
trec_ids = trec_ids.filter(bool)
numbers = st.floats(allow_nan=False, allow_infinity=False)
grades = st.integers(-5, 5) | st.integers(-(2**53), 2**53) | st.floats(-(2.0**53), 2.0**53)

CARRY_ANYTHING = ("csv", "tsv", "json", "jsonl", "parquet")
SUFFIX = {"trec": ".run"}


def tables(ids: st.SearchStrategy[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    documents = st.dictionaries(ids, values, min_size=1, max_size=4)
    return st.dictionaries(ids, documents, min_size=1, max_size=4)


@contextmanager
def file_for(format: str, compression: str = "") -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / f"table{SUFFIX.get(format, '.' + format)}{compression}"


def exactly(table: dict[str, dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return rows such that 0.0 and -0.0, and two neighbouring floats, are told apart."""
    return [(q, d, float(v).hex()) for q, documents in table.items() for d, v in documents.items()]


@pytest.mark.parametrize("format", CARRY_ANYTHING)
@LAW
@given(table=tables(any_ids, numbers), compression=st.sampled_from(["", *COMPRESSIONS]))
@example(table={"1": {"x": 5e-324, "y": -0.0, "z": 1.7976931348623157e308}}, compression="")
@example(table={"query_id": {"doc_id": 1e16}, "\ufeff": {'"': 0.1, '""': 1 / 3}}, compression="")
@example(table={"{": {"[": 1.0}, "#": {"§": 2.5, "r": 3.0, " a ": 4.0}}, compression="")
def test_runs(format: str, table: dict[str, dict[str, float]], compression: str) -> None:
    with file_for(format, compression) as path:
        Run(table).write(path)
        back = read_run(path)
    assert exactly(back.to_dict()) == exactly(table)
    assert list(back) == list(table)


def best_first(documents: dict[str, float]) -> dict[str, float]:
    """Return documents by score from high to low, and by id from high to low among equals."""
    by_id = sorted(documents.items(), reverse=True)
    return dict(sorted(by_id, key=lambda item: -item[1]))


@LAW
@given(table=tables(trec_ids, numbers), compression=st.sampled_from(["", *COMPRESSIONS]))
@example(table={"q": {"a": 0.0, "b": -0.0, "c": 0.0}}, compression="")
@example(table={"q": {"#d": 1.0, "\ufeffd": 0.5, "é": -0.0}, "0": {"PAR1": 5e-324}}, compression="")
def test_trec_runs(table: dict[str, dict[str, float]], compression: str) -> None:
    with file_for("trec", compression) as path:
        Run(table, name="my system").write(path)
        back = read_run(path, format="trec")
    assert back.name == "my_system"
    assert exactly(back.to_dict()) == exactly({q: best_first(d) for q, d in table.items()})
    assert list(back) == list(table)


@LAW
@given(table=tables(any_ids, numbers), compression=st.sampled_from(["", ".gz"]))
@example(table={"a b": {"c": 1.0}, "a%20b": {"c": 1.0}, "%": {"#": 1.0}}, compression="")
@example(table={"#": {"d": 1.0}, "\ufeff": {"\ufeff": 2.0}}, compression="")
@example(table={"what is\nthis?": {"\x00\u202e": 2.0}}, compression="")
def test_runs_that_keep_any_id(table: dict[str, dict[str, float]], compression: str) -> None:
    with file_for("trec", compression) as path:
        write_trec_or_jsonl(Run(table, name="my system"), path)
        back = read_run(path)
        content = read_bytes(path)
    assert back.fingerprint() == Run(table).fingerprint()
    ids = {*table, *(doc_id for documents in table.values() for doc_id in documents)}
    fits = not any(set(BLANKS) & set(name) for name in ids)
    fits = fits and not any(query_id[0] in "#\ufeff" for query_id in table)
    assert content.startswith(b'{"query_id"') != fits


@st.composite
def judged_runs_with_ties(draw: st.DrawFn) -> tuple[Any, Any]:
    """Draw qrels and a run in which few scores are shared by many documents, in any order."""
    docs = draw(st.lists(trec_ids, min_size=2, max_size=12, unique=True))
    query_ids = draw(st.lists(trec_ids, min_size=1, max_size=3, unique=True))
    scores = st.sampled_from([0.0, -0.0, 1.0, 1.5, 1e16, 1e16 + 2])
    run = {q: {d: draw(scores) for d in draw(st.permutations(docs))} for q in query_ids}
    qrels = {q: {d: draw(st.integers(0, 2)) for d in docs} for q in query_ids}
    qrels[query_ids[0]][docs[0]] = 1  # qrels in which nothing is relevant are refused
    return qrels, run


@pytest.mark.parametrize("format", ["trec", *CARRY_ANYTHING])
@LAW
@given(judged=judged_runs_with_ties())
@example(judged=({"q": {"a": 0, "b": 1}}, {"q": {"a": 1.0, "b": 1.0}}))
@example(judged=({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}))
def test_writing_and_reading_back_changes_no_measure(format: str, judged: tuple[Any, Any]) -> None:
    qrels, table = judged
    run = Run(table)
    with file_for(format) as path:
        run.write(path, format=format)
        again = read_run(path, format=format, name="run")
    measures = ["P@1", "nDCG@10", "RR"]
    before, after = evaluate(qrels, run, measures), evaluate(qrels, again, measures)
    assert after.per_query.rows() == before.per_query.rows()
    assert evaluate(qrels, table, measures).per_query.rows() == before.per_query.rows()


@pytest.mark.parametrize("format", CARRY_ANYTHING)
@LAW
@given(table=tables(any_ids, grades))
def test_qrels(format: str, table: dict[str, dict[str, float]]) -> None:
    with file_for(format) as path:
        Qrels(table).write(path)
        back = read_qrels(path)
    assert [(q, d, float(v)) for q, ds in back.to_dict().items() for d, v in ds.items()] == [
        (q, d, float(v)) for q, ds in table.items() for d, v in ds.items()
    ]


@LAW
@given(table=tables(trec_ids, grades))
def test_trec_qrels(table: dict[str, dict[str, float]]) -> None:
    with file_for("trec") as path:
        Qrels(table).write(path)
        back = read_qrels(path, format="trec")
    assert back == Qrels(table)
    assert list(back) == list(table)


@pytest.mark.parametrize("format", ["trec", "csv", "tsv", "json", "jsonl", "parquet"])
@LAW
@given(table=tables(trec_ids, st.dictionaries(trec_ids, st.integers(0, 4), min_size=1, max_size=3)))
def test_subtopics(format: str, table: dict[str, dict[str, dict[str, int]]]) -> None:
    qrels = Qrels(table)
    with file_for(format) as path:
        qrels.write(path)
        back = read_qrels(path, format=format)
    assert back.to_dict() == qrels.to_dict()
    if qrels.subtopics is not None:
        assert back.to_dict() == table


def test_what_trec_cannot_carry_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.run"
    path.write_bytes(b"the old content")
    for name in (*(f"a{blank}b" for blank in BLANKS), " d", "d\n"):
        for table in ({name: {"d": 1.0}}, {"q": {name: 1.0}}):
            with pytest.raises(InputError, match="cannot be written"):
                Run(table).write(path, format="trec")
    for name in ("#q", "\ufeffq", "a b"):
        with pytest.raises(InputError, match="cannot be written"):
            Run({name: {"d": 1.0}}).write(path, format="trec")
        with pytest.raises(InputError, match="cannot be written"):
            Qrels({name: {"d": 1.0}}).write(path, format="trec")
    assert path.read_bytes() == b"the old content"
    assert list(tmp_path.iterdir()) == [path]


def test_a_subtopic_with_a_blank_is_refused(tmp_path: Path) -> None:
    qrels = Qrels({"q": {"d": {"a b": 1, "c": 1}}})
    with pytest.raises(InputError, match="subtopic 'a b'"):
        qrels.write(tmp_path / "new.qrels")
    assert list(tmp_path.iterdir()) == []


def test_odd_first_ids_are_recognised(tmp_path: Path) -> None:
    path = tmp_path / "odd.txt"
    for name in ("{a}", "[1]", "<top>", "%x", "-", "0", "'", '"', "q"):
        Run({name: {"d": 1.5, "e": 0.5}}).write(path)
        assert read_run(path).to_dict() == {name: {"d": 1.5, "e": 0.5}}
        Qrels({name: {"d": 1, "e": 0}}).write(path)
        assert read_qrels(path).to_dict() == {name: {"d": 1, "e": 0}}


def test_queries_without_documents_survive_in_json(tmp_path: Path) -> None:
    Run({"a": {"x": 1.0}, "b": {}}).write(tmp_path / "run.json")
    assert read_run(tmp_path / "run.json").to_dict() == {"a": {"x": 1.0}, "b": {}}


def test_formats_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="topics"):
        Qrels({"q": ["d"]}).write(tmp_path / "q.tsv", format="topics")
    with pytest.raises(InputError, match="unknown"):
        Run({"q": ["d"]}).write(tmp_path / "run.unknown")
    assert list(tmp_path.iterdir()) == []


def test_same_content_same_bytes(tmp_path: Path) -> None:
    run = Run({"q": {"d": 1.0}})
    for suffix in ("run", "run.gz", "csv.xz", "jsonl.zst", "json.bz2", "parquet"):
        one, two = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
        run.write(one)
        run.write(two)
        assert one.read_bytes() == two.read_bytes()
