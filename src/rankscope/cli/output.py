"""How commands write: a result becomes a document, and a document becomes text in any format."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, TextIO

import click

from rankscope.printing import put, put_line, visible, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console

    from rankscope.diagnosis.failures import Failures
    from rankscope.document.blocks import Document, Point
    from rankscope.reports.explorer.contents import Contents
    from rankscope.scoring.scored_runs import Scored

FORMATS = ("table", "markdown", "html", "latex", "csv", "json")

METRICS = "metrics"
"""The format of results that have metrics: one flat JSON object of names and numbers."""


def make_console() -> Console:
    """Return a console for standard output; rich honours NO_COLOR and pipes by itself."""
    from rich.console import Console

    from rankscope.document.terminal import WIDTH

    class PipedConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # for `main` to handle, as everywhere else

    width = None if sys.stdout.isatty() else WIDTH
    return PipedConsole(highlight=False, markup=False, emoji=False, soft_wrap=False, width=width)


def program(*, anywhere: bool = False) -> str:
    """Return how this program is called from the folder it was started in, or from anywhere."""
    called = sys.argv[0]
    if os.path.basename(called) == "__main__.py":
        return f"{quote(sys.executable)} -m rankscope"
    on_path = shutil.which("rankscope")
    is_on_path = on_path is not None and os.path.realpath(on_path) == os.path.realpath(called)
    if is_on_path or os.path.basename(called) != "rankscope":  # called from Python
        return "rankscope"
    return quote(os.path.abspath(called) if anywhere else called)


def print_line(text: str = "", file: TextIO | None = None) -> None:
    """Print a line that is not broken, such as a path."""
    print(visible(without_secrets(text)), file=file, flush=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where and how a command writes its result: what the options of writing say."""

    format: str = "table"
    target: str | None = None
    """The file of ``--output``."""
    html: str | None = None
    """A page that is written besides."""
    is_opened: bool = False
    full: bool = False
    raw: bool = False
    top: int | None = None
    with_text: bool = True

    def write(
        self,
        result: object,
        *,
        data: Callable[[], Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        contents: Callable[[], Contents | None] | None = None,
        points: Sequence[Point] = (),
        **options: Any,
    ) -> None:
        """Write a result to standard output or to a file, and its page.

        The result is a document, or anything that has a view (``options`` are the view's). JSON is
        what ``data`` returns, or the result's own ``to_dict``; ``metrics`` are options of
        `metrics_of`; ``contents`` returns what the explorer of a page shows, and ``points`` are
        added to the answer.
        """
        from rankscope.document.blocks import Document, Point
        from rankscope.document.views import document_of

        page = self.html or (self.target if self.format == "html" else None)
        if self.is_opened and page is None:
            raise click.UsageError("--open needs a page; name it with --html FILE")
        if self.format == "json" and self.html is None:  # nothing has to be drawn
            self.put(self._data(result, data, metrics))
            return
        shown = result if isinstance(result, Document) else document_of(result, **options)
        document = _typed(shown)
        if self.html is not None:
            write_file(self.html, _page_of(document, contents))
            points = (Point("Page", (self.html,), is_code=True), *points)
        document = _with_points(document, points)
        if self.format in ("csv", METRICS):
            print_warnings(document.warnings)
        if self.format == "table" and self.target is None:
            from rankscope.document.terminal import draw

            draw(document, make_console(), full=self.full)
        elif self.format == "html":
            self.put([_page_of(document, contents)])
        elif self.format in ("json", METRICS):
            self.put(self._data(result, data, metrics))
        else:
            self.put([self._text(document)])
        if self.is_opened and page is not None:
            show_in_browser(page)

    def put(self, pieces: Iterable[str]) -> None:
        """Write text to standard output, or to the file of ``--output``."""
        if self.target is not None:
            _write_pieces(self.target, pieces)
            return
        for piece in pieces:
            put(piece)

    def _data(
        self, result: Any, data: Callable[[], Any] | None, metrics: Mapping[str, Any] | None
    ) -> Iterable[str]:
        """Return a result as JSON."""
        if self.format == METRICS:
            from rankscope.integrations.metrics import metrics_of

            result = metrics_of(result, **(metrics or {}))
        elif data is not None:
            result = data()
        return _json_pieces(result, unicode=self.target is not None or _is_unicode())

    def _text(self, document: Document) -> str:
        """Return a document as text."""
        if self.format == "markdown":
            from rankscope.document.markdown import as_markdown

            return as_markdown(document, full=self.full)
        if self.format == "latex":
            from rankscope.document.latex import as_latex

            return as_latex(document, full=self.full)
        if self.format == "csv":
            from rankscope.document.csv_text import as_csv

            return as_csv(document, raw=self.raw)
        from rankscope.document.terminal import as_text

        return as_text(document, full=self.full)


def show_in_browser(page: str) -> None:
    """Open a page that was written, or is served."""
    import webbrowser

    webbrowser.open(page if page.startswith("http:") else Path(page).absolute().as_uri())


def page_contents(
    scored: Scored,
    output: Output,
    *,
    golden: str,
    queries: str | None,
    corpus: str | None,
    baseline: str | None = None,
    failures: Failures | None = None,
) -> Contents | None:
    """Gather the queries, rankings and texts of a page; a golden set may hold the queries."""
    from rankscope.collection.corpus import read_corpus
    from rankscope.reports.explorer.contents import TOP, contents_of_scored

    return contents_of_scored(
        scored,
        queries=described(queries, golden) if output.with_text else (),
        corpus=None if corpus is None or not output.with_text else read_corpus(corpus),
        baseline=baseline,
        failures=failures,
        top=output.top or TOP,
        with_text=output.with_text,
    )


def described(queries: str | None, golden: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return ids, texts and metadata of queries: from their file, or a golden set, if it is one."""
    from rankscope.collection.queries import read_queries
    from rankscope.errors import RankscopeError
    from rankscope.retrieval.golden import texts_in

    try:
        table = read_queries(golden if queries is None else queries)
    except RankscopeError:
        if queries is not None:
            raise
        return [(query_id, text, {}) for query_id, text in texts_in(golden).items()]
    metadata = table.metadata
    return [(query_id, table[query_id], dict(metadata.get(query_id, {}))) for query_id in table]


def _page_of(document: Document, contents: Callable[[], Contents | None] | None) -> str:
    from rankscope.reports.explorer.packing import report_page

    return report_page(document, None if contents is None else contents())


def _with_points(document: Document, more: Sequence[Point]) -> Document:
    """Return a document whose answer says more, before what comes next."""
    from rankscope.document.blocks import Points

    answer = document.answer
    if answer is None or not more:
        return document
    blocks = [block for block in answer.blocks if not isinstance(block, Points)]
    points = [p for block in answer.blocks if isinstance(block, Points) for p in block.points]
    last = [point for point in points if point.label == "Next"]
    merged = Points((*(point for point in points if point not in last), *more, *last))
    return replace(document, answer=replace(answer, blocks=(*blocks, merged)))


def print_warnings(lines: Iterable[str]) -> None:
    """Say on standard error what numbers alone would hide."""
    for line in lines:
        put_line(as_typed(line))


_OPTION = re.compile(
    r"\b(corpus|doc_id_from|duplicates|labels|languages?|no_answer|ontology|order|overlap|"
    r"profile|query|relevance_level|relevant|retrieved|ties)=(?:\"(\w+)\"|(?=[\w'…]))"
)
"""A parameter in a message of Python's that is an option of commands."""

_COLUMN = re.compile(r"\b(query|relevant|retrieved|doc|score|grade)=('[^']*')?(?=[,); ]|$)")
"""A parameter that names a column."""


def as_typed(text: str) -> str:
    """Return a message with options as they are typed on the command line.

    >>> as_typed("give doc_id_from='#'"), as_typed('with order="given"')
    ("give --doc-id-from '#'", 'with --order given')
    >>> as_typed("say which it is (relevant='gold', doc=)")
    'say which it is (--relevant gold, --columns doc=NAME)'
    """

    def column(match: re.Match[str]) -> str:
        role, name = match[1], (match[2] or "NAME").strip("'")
        if role in ("query", "relevant", "retrieved"):
            return f"--{role} {name}"
        return f"--columns {role}={name}"

    def option(match: re.Match[str]) -> str:
        return f"--{match[1].replace('_', '-')} {match[2] or ''}"

    return _OPTION.sub(option, _COLUMN.sub(column, text))


def _typed(part: Any) -> Any:
    """Return a document, or a part of one, whose sentences have options as they are typed."""
    from rankscope.document import blocks

    match part:
        case blocks.Document():
            return replace(part, sections=_typed(part.sections), answer=_typed(part.answer))
        case blocks.Section() | blocks.Answer():
            return replace(part, blocks=_typed(part.blocks))
        case blocks.Points():
            return replace(part, points=_typed(part.points))
        case blocks.Point():
            return replace(part, lines=tuple(map(as_typed, part.lines)))
        case blocks.Sentences():
            return replace(part, sentences=_typed(part.sentences))
        case blocks.Sentence():
            return replace(part, text=as_typed(part.text))
        case tuple():
            return tuple(map(_typed, part))
    return part


def write_file(target: str, text: str) -> None:
    """Replace a file as a whole."""
    _write_pieces(target, [text])


def _write_pieces(target: str, pieces: Iterable[str]) -> None:
    from rankscope.files import replacing

    with replacing(target) as sink:
        for piece in pieces:
            sink.write(piece.encode("utf-8", "backslashreplace"))


def _json_pieces(value: Any, *, unicode: bool) -> Iterator[str]:
    """Yield the text of plain data, or of a result, which may be too large to hold as a whole."""
    if hasattr(value, "json_pieces"):
        pieces: Iterable[str] = value.json_pieces(ascii_only=not unicode)
    else:
        pieces = [json.dumps(value, indent=2, ensure_ascii=not unicode, allow_nan=False) + "\n"]
    for piece in pieces:
        odd = () if piece.isascii() else {*piece} - {"\n"}
        escaped = {ord(sign): json.dumps(sign)[1:-1] for sign in odd if not sign.isprintable()}
        yield piece.translate(escaped) if escaped else piece


def _is_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def print_json(value: Any) -> None:
    """Print one JSON document and nothing else."""
    Output(format="json").write(value, data=lambda: value)
