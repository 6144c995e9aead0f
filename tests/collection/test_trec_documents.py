"""TREC documents, as they are found on old disks, and folders of files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankscope.benchmark.collection_files import find_files
from rankscope.benchmark.config.collection_config import CollectionConfig
from rankscope.collection.corpus import read_corpus, stream_corpus, stream_doc_ids
from rankscope.collection.qrels import read_qrels
from rankscope.collection.queries import read_queries
from rankscope.errors import FormatError, InputError

LA_TIMES = """<DOC>
<DOCNO> LA010189-0001 </DOCNO>
<DOCID> 1 </DOCID>
<DATE><P>January 1, 1989, Sunday</P></DATE>
<HEADLINE>
<P>SOUP &amp; BREAD</P>
</HEADLINE>
<TEXT>
<P>Leeks are <b>good.</p>
<!-- a note -->
<P>Salt: 3 < 4 grams.</P>
</TEXT>
<TEXT>More.</TEXT>
<TYPE>Recipe</TYPE>
</DOC>
<doc><docno>FBIS3-1</docno><HEADER><H3><TI>Inner title</TI></H3></HEADER>
<F P=105>English</F><TEXT>Body of it</TEXT></doc><DOC><DOCNO>WT01</DOCNO>
<DOCHDR>http://x</DOCHDR>
<html><title>Page</title>Plain <b>words</b> here</html> end
</DOC>
"""


def test_documents(tmp_path: Path) -> None:
    path = tmp_path / "la.sgml"
    path.write_text(LA_TIMES)
    corpus = read_corpus(path)
    assert corpus.to_dict() == {
        "LA010189-0001": {
            "title": "SOUP & BREAD",
            "text": "Leeks are good.\n\nSalt: 3 < 4 grams.\nMore.",
            "docid": "1",
            "date": "January 1, 1989, Sunday",
            "type": "Recipe",
        },
        "FBIS3-1": {
            "title": "Inner title",
            "text": "Body of it",
            "header": "Inner title",
            "f": "English",
        },
        "WT01": {"title": "Page", "text": "PagePlain words here\nend", "dochdr": "http://x"},
    }
    assert list(stream_doc_ids(path)) == corpus.ids


def test_a_folder_of_many_files(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    (folder / "ft" / "ft911").mkdir(parents=True)
    (folder / ".hidden").write_text("no documents")
    for number in range(3):
        text = f"<DOC><DOCNO>FT911-{number}</DOCNO><TEXT>t{number}</TEXT></DOC>\n"
        (folder / "ft" / "ft911" / f"ft911_{number}.gz").write_bytes(gzip.compress(text.encode()))
    assert read_corpus(folder).ids == ["FT911-0", "FT911-1", "FT911-2"]
    assert read_corpus(folder / "ft" / "ft911" / "*.gz").ids == ["FT911-0", "FT911-1", "FT911-2"]
    again = folder / "zz.sgml"
    again.write_text("<DOC><DOCNO>FT911-1</DOCNO></DOC>\n")
    with pytest.raises(InputError, match=r"zz\.sgml:1: the doc_id 'FT911-1'"):
        read_corpus(folder)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<DOC>\n<DOCNO>1</DOCNO>\n", ":1: .*not closed"),
        ("<DOC>\n<DOC>\n", ":2: <DOC> inside"),
        ("<DOC></DOC>\n</DOC>", ":1: .*<DOCNO>"),
        ("<DOC><DOCNO>1</DOCNO></DOC>\n</DOC>", ":2: </DOC> without"),
        ("<DOC>\n<DOCNO>1</DOCNO>\n\udcff</DOC>", ":3: byte 0xff"),
    ],
)
def test_broken_documents(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "c.sgml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FormatError, match=problem):
        read_corpus(path)


def test_hostile_documents_take_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "c.sgml"
    for piece in ("<a>", "</a>", "<!--", "<", "<a ", "&amp;", "<b><a></b>", "<x{}>y</x{}>"):
        body = "".join(piece.format(n, n) if "{" in piece else piece for n in range(20_000))
        path.write_text(f"<DOC><DOCNO>1</DOCNO><TEXT>{body}</TEXT>{body}</DOC>")
        assert [document.doc_id for document in stream_corpus(path)] == ["1"]  # else for hours


# --- folders


def written(home: Path, **tables: list[dict[str, Any]]) -> Path:
    """Write tables as Parquet: ``corpus__0`` is ``corpus/0.parquet``."""
    for place, rows in tables.items():
        path = (home / place.replace("__", "/")).with_suffix(".parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(rows).write_parquet(path)
    return home


def _qrels(query_id: str, doc_id: str) -> list[dict[str, Any]]:
    return [{"query-id": query_id, "corpus-id": doc_id, "score": 1}]


def test_tables_in_folders(tmp_path: Path) -> None:
    home = written(
        tmp_path / "set",
        corpus__0=[{"_id": "d1", "title": "", "text": "one"}],
        corpus__1=[{"_id": "d2", "title": "", "text": "two"}],
        queries__all=[{"_id": q, "text": q} for q in ("q1", "q2", "q3")],
        qrels__test=[*_qrels("q1", "d1"), *_qrels("q2", "d2")],
        qrels__train=_qrels("q3", "d2"),
    )
    (home / "README.md").write_text("A data set.")
    assert read_corpus(home).ids == ["d1", "d2"]
    assert read_queries(home).ids == ["q1", "q2", "q3"]
    assert read_qrels(home).to_dict() == {"q1": {"d1": 1}, "q2": {"d2": 1}}
    assert read_qrels(home / "qrels" / "train.parquet").to_dict() == {"q3": {"d2": 1}}


def test_splits_are_asked_for(tmp_path: Path) -> None:
    splits = {f"qrels__{split}": _qrels(f"q-{split}", "d1") for split in ("dev", "train")}
    home = written(tmp_path / "set", queries=[{"id": "q-dev", "text": "x"}], **splits)
    with pytest.raises(InputError, match="dev, train"):
        read_qrels(home)
    files = find_files(CollectionConfig(path=str(home), split="dev"), tmp_path)
    assert read_queries(files.queries).to_dict() == {"q-dev": {"text": "x"}}
    assert read_qrels(files.qrels).to_dict() == {"q-dev": {"d1": 1}}
    assert files.train_qrels is not None
    assert read_qrels(files.train_qrels).to_dict() == {"q-train": {"d1": 1}}
    with pytest.raises(InputError, match="unknown split 'tset'; there are"):
        find_files(CollectionConfig(path=str(home), split="tset"), tmp_path)
