"""Collections by their ids in ir_datasets, written down once as files that the rest can read.

ir_datasets downloads what it does not have yet. What it gives is kept in the cache folder as JSON
lines, so that a second run reads files and asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankscope.errors import InputError, MissingExtraError, shown
from rankscope.files import replacing
from rankscope.retrieval.cache_entries import make_folder
from rankscope.retrieval.protocol import fingerprint
from rankscope.tables.jsontext import dump_json

_TEXTS = ("text", "query", "title", "question")


def dataset_files(dataset_id: str, cache: Path, *, may_read: bool) -> dict[str, Any]:
    """Return the files of a data set by what they hold; they are written if they are not there.

    With ``may_read`` false the corpus is left out unless it is there.

    Raises:
        InputError: there is no such data set, it lacks queries or judgments, or a download fails.
    """
    folder = make_folder(cache / "ir_datasets" / fingerprint(dataset_id)[:16])
    files = {kind: folder / f"{kind}.jsonl" for kind in ("queries", "qrels", "corpus")}
    wanted = [
        kind for kind, path in files.items() if not path.exists() and (kind != "corpus" or may_read)
    ]
    try:
        dataset: Any = _dataset(dataset_id) if wanted else None
        for kind in wanted:
            if kind != "corpus" or dataset.has_docs():
                with replacing(files[kind]) as sink:
                    for row in _rows(dataset, kind):
                        sink.write(f"{dump_json(row)}\n".encode())
    except MissingExtraError:
        raise
    except Exception as error:  # whatever a download or an archive does
        name = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        problem = f"{shown(dataset_id)} could not be read ({name}{shown(str(error), 200)[1:-1]})"
        raise InputError(f"collection.ir_datasets: {problem}") from error
    return {kind: path for kind, path in files.items() if path.exists()}


def _dataset(dataset_id: str) -> Any:
    try:
        import ir_datasets  # noqa: PLC0415
    except ImportError:
        needed_for = "collection.ir_datasets"
        raise MissingExtraError("ir_datasets", needed_for=needed_for, extra="ir-datasets") from None
    try:
        dataset = ir_datasets.load(dataset_id)
    except KeyError:
        problem = "no data set has this id; the catalogue is at https://ir-datasets.com"
        raise InputError(problem) from None
    for what, is_there in (("queries", dataset.has_queries()), ("judgments", dataset.has_qrels())):
        if not is_there:
            raise InputError(f"no {what}; name a part of it that has, such as beir/scifact/test")
    return dataset


def _rows(dataset: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table."""
    if kind == "qrels":
        for judgment in dataset.qrels_iter():
            fields = judgment._asdict()
            if "relevance" not in fields:
                raise InputError(f"no relevance in the judgments, but {', '.join(fields)}")
            row = {"query_id": judgment.query_id, "doc_id": judgment.doc_id}
            subtopic = fields.get("subtopic_id")
            subtopics = {"subtopic": subtopic} if subtopic else {}
            yield {**row, **subtopics, "grade": judgment.relevance}
        return
    is_query = kind == "queries"
    for item in dataset.queries_iter() if is_query else dataset.docs_iter():
        fields = {name: value for name, value in item._asdict().items() if _is_plain(value)}
        row = {"_id": fields.pop("query_id" if is_query else "doc_id"), **fields}
        text = next((row[name] for name in _TEXTS if isinstance(row.get(name), str)), None)
        if text is None and hasattr(item, "default_text"):
            text = item.default_text()
        if not isinstance(text, str):
            raise InputError(f"no text in the {kind}, but {', '.join(item._fields)}")
        yield {**row, "text": row.get("text", text)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float | bool)
