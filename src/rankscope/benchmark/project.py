"""A small project to begin with: a golden set, a search, a config, a test and a CI workflow."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

from rankscope.collection.corpus import read_corpus
from rankscope.collection.qrels import read_qrels
from rankscope.collection.queries import read_queries
from rankscope.errors import InputError, shown
from rankscope.files import PathLike, read_bytes, replacing

CONFIG = """\
# `rankscope benchmark run rankscope.yaml` asks every system, then scores and compares.
name: search
collection:
{collection}

systems:
{systems}

depth: 10
measures: [nDCG@10, Success@5, RR@10, R@10]
"""
WITH_BASELINE = """\
  mine: {python: "retriever:search"}
  lexical: {bm25: {}}

baseline: lexical"""
WITHOUT_BASELINE = """\
  mine: {python: "retriever:search"}
  # lexical: {bm25: {}}    # to compare with; needs pip install 'rankscope[retrieval]'"""

_DEMO = {
    "corpus.jsonl": "recipes/corpus.jsonl",
    "queries.jsonl": "recipes/queries.jsonl",
    "qrels.tsv": "recipes/qrels/test.tsv",
    "train.tsv": "recipes/qrels/train.tsv",
    "SOURCE.md": "recipes/SOURCE.md",
    "lexical.run": "runs/lexical.run.gz",
    "hybrid.run": "runs/hybrid.run.gz",
}
"""What a copy of the demo holds besides its config, and where it comes from."""

_DEMO_FOLDER = "collection: {path: recipes, split: test}\n"
_DEMO_FILES = """\
collection: {corpus: corpus.jsonl, queries: queries.jsonl, qrels: qrels.tsv, name: recipes}
training: {qrels: train.tsv}
"""


@dataclass(frozen=True, slots=True)
class Project:
    """What was written, and what is still to be done."""

    folder: Path
    files: tuple[str, ...]
    """Relative to the folder."""
    questions: int
    """How many questions the golden set has."""
    to_write: str
    """The file that waits for the user's own search; '' if everything runs as it is."""


def start_project(
    folder: PathLike, *, golden: PathLike | None = None, corpus: PathLike | None = None
) -> Project:
    """Write a project that measures a search, around a golden set of the user's or a small example.

    A golden set or corpus inside the folder is used where it is; a golden set from elsewhere is
    copied, a corpus is named by its path. No existing file is touched: if one of the names is
    taken, nothing is written.
    """
    if corpus is not None and golden is None:
        raise InputError("a corpus needs a golden set about it; give one with --from FILE")
    place = Path(os.fspath(folder))
    contents: dict[str, bytes] = {}
    if golden is None:
        golden_name, corpus_name = "golden.json", "corpus.jsonl"
        contents = {name: _template(name) for name in (golden_name, corpus_name)}
        questions = len(json.loads(contents[golden_name]))
    else:
        questions = _checked(golden, corpus)
        golden_name = _relative(golden, place)
        if golden_name.startswith("../") or Path(golden_name).is_absolute():
            golden_name = Path(os.fspath(golden)).name
            contents[golden_name] = read_bytes(golden)
        corpus_name = "" if corpus is None else _relative(corpus, place)
    contents["retriever.py"] = _template("retriever.py" if corpus_name else "retriever_to_write.py")
    contents["test_retrieval.py"] = _template("test_retrieval.py")
    for own_name, name in ((golden_name, "golden.json"), (corpus_name, "corpus.jsonl")):
        for file in ("retriever.py", "test_retrieval.py"):
            contents[file] = contents[file].replace(
                f'"{name}"'.encode(), _quoted(own_name).encode()
            )
    is_comparable = corpus_name and find_spec("bm25s") is not None
    named = {"corpus": corpus_name, "queries": golden_name, "qrels": golden_name}
    config = CONFIG.format(
        collection="\n".join(f"  {key}: {_quoted(name)}" for key, name in named.items() if name),
        systems=WITH_BASELINE if is_comparable else WITHOUT_BASELINE,
    )
    contents["rankscope.yaml"] = config.encode()
    contents[".github/workflows/retrieval.yml"] = _template("workflow.yml")
    if not os.path.lexists(place / "README.md"):
        contents["README.md"] = _template("README.md").replace(b"golden.json", golden_name.encode())
    _write_new(place, contents)
    return Project(place, tuple(contents), questions, "" if corpus_name else "retriever.py")


def copy_demo(folder: PathLike) -> tuple[str, ...]:
    """Copy the bundled collection with its config and two runs; return the files' names.

    No existing file is touched: if one of the names is taken, nothing is written.
    """
    data = files("rankscope") / "data"
    config = (data / "demo.yaml").read_text("utf-8").replace(_DEMO_FOLDER, _DEMO_FILES)
    contents = {"bench.yaml": config.encode()}
    for name, place in _DEMO.items():
        with as_file(data.joinpath(*place.split("/"))) as path:
            contents[name] = read_bytes(path)
    _write_new(Path(os.fspath(folder)), contents)
    return tuple(contents)


def _template(name: str) -> bytes:
    return (files("rankscope") / "data" / "project" / name).read_bytes()


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _checked(golden: PathLike, corpus: PathLike | None) -> int:
    """Return how many questions a golden set has, which must have texts, or fit the corpus."""
    if os.fspath(golden) == "-":
        raise InputError("a golden set is part of the project; give the name of a file")
    texts, qrels = read_queries(golden), read_qrels(golden)
    missing = next((name for name in qrels.query_ids if name not in texts), None)
    if missing is not None:
        raise InputError(f"{os.fspath(golden)}: query {shown(missing)} has no text to ask")
    if corpus is not None:
        known = read_corpus(corpus)
        expected = [doc_id for name in qrels.query_ids for doc_id in qrels[name]]
        if not any(doc_id in known for doc_id in expected):
            raise InputError(
                f"{os.fspath(corpus)}: holds none of the expected documents, such as "
                f"{shown(expected[0])}; it has {', '.join(map(shown, known.ids[:2]))}"
            )
    return len(qrels.query_ids)


def _relative(path: PathLike, folder: Path) -> str:
    """Return a path as seen from the folder, with the slashes that a config has."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive of Windows
        return Path(os.path.abspath(path)).as_posix()


def _write_new(folder: Path, contents: dict[str, bytes]) -> None:
    """Write all files, or none if one of them is there already."""
    taken = [name for name in contents if os.path.lexists(folder / name)]
    if taken:
        raise InputError(
            f"{shown(folder)}: {', '.join(map(shown, taken))} {'is' if len(taken) == 1 else 'are'} "
            "there already; nothing was written, name another folder"
        )
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder / name) as file:
            file.write(content)
