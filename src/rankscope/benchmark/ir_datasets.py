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

_PLAIN = (str, int, float, bool)
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
    if wanted:
        dataset = _loaded(dataset_id)
        for kind in wanted:
            if kind != "corpus" or dataset.has_docs():
                with replacing(files[kind]) as sink:
                    for row in _read(dataset, kind, dataset_id):
                        sink.write(f"{dump_json(row)}\n".encode())
    return {kind: path for kind, path in files.items() if path.exists()}


def _loaded(dataset_id: str) -> Any:
    try:
        import ir_datasets  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError(
            "ir_datasets", needed_for="collection.ir_datasets", extra="ir-datasets"
        ) from None
    try:
        dataset = ir_datasets.load(dataset_id)
    except KeyError:
        raise InputError(
            f"collection.ir_datasets: ir_datasets has no data set {shown(dataset_id)}; its "
            "catalogue is at https://ir-datasets.com"
        ) from None
    for what, is_there in (("queries", dataset.has_queries()), ("judgments", dataset.has_qrels())):
        if not is_there:
            raise InputError(
                f"collection.ir_datasets: {shown(dataset_id)} has no {what}; name a part of it "
                "that has, such as beir/scifact/test of beir/scifact"
            )
    return dataset


def _read(dataset: Any, kind: str, dataset_id: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table; whatever a download or an archive does is one sentence."""
    try:
        yield from _rows(dataset, kind, dataset_id)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"collection.ir_datasets: {shown(dataset_id)} could not be read "
            f"({type(error).__name__}: {shown(str(error), 200)})"
        ) from error


def _rows(dataset: Any, kind: str, dataset_id: str) -> Iterator[dict[str, Any]]:
    if kind == "qrels":
        for judgment in dataset.qrels_iter():
            row = {"query_id": judgment.query_id, "doc_id": judgment.doc_id}
            subtopic = getattr(judgment, "subtopic_id", None)
            yield {**row, **({"subtopic": subtopic} if subtopic else {}), "grade": _grade(judgment)}
        return
    items, id_name = (
        (dataset.queries_iter(), "query_id")
        if kind == "queries"
        else (dataset.docs_iter(), "doc_id")
    )
    for item in items:
        fields = {name: value for name, value in item._asdict().items() if _is_plain(value)}
        row = {"_id": fields.pop(id_name), **fields}
        text = next((row[name] for name in _TEXTS if isinstance(row.get(name), str)), None)
        if text is None and hasattr(item, "default_text"):
            text = item.default_text()
        if not isinstance(text, str):
            raise InputError(
                f"collection.ir_datasets: {shown(dataset_id)} has {kind} without text, with "
                f"{', '.join(map(shown, item._fields))}"
            )
        yield {**row, "text": row.get("text", text)}


def _grade(judgment: Any) -> Any:
    if not hasattr(judgment, "relevance"):
        raise InputError(
            "collection.ir_datasets: its judgments have no relevance, but "
            f"{', '.join(map(shown, judgment._fields))}"
        )
    return judgment.relevance


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, _PLAIN) for item in value) and not hasattr(value, "_fields")
    return isinstance(value, _PLAIN)
