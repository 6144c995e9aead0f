"""The page of a report with its explorer."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from rankscope.document.pages import Explorer, page
from rankscope.reports.explorer.packing import blocks

if TYPE_CHECKING:
    from rankscope.document.blocks import Document
    from rankscope.reports.explorer.contents import Contents

_SCRIPTS = ("data.js", "texts.js", "list.js", "explorer.js")

_BODY = (
    '<div id="explorer"><p class="quiet">A script shows the questions; it did not run.</p></div>'
)


@cache
def _asset(name: str) -> str:
    return (files("rankscope.reports.explorer") / name).read_text("utf-8")


def report_page(document: Document, contents: Contents | None) -> str:
    """Return the page of a document; without contents it has no explorer."""
    if contents is None:
        return page(document)
    explorer = Explorer(
        title="Questions",
        body=_BODY,
        script="".join(map(_asset, _SCRIPTS)),
        style=_asset("explorer.css"),
        data=blocks(contents),
    )
    return page(document, explorer)


def limited(
    contents: Contents | None, *, top: int | None = None, with_text: bool = True
) -> Contents | None:
    """Return less of some contents: fewer documents of each answer, no texts."""
    if contents is not None and top is not None:
        contents = contents.cut(top)
    if contents is not None and not with_text:
        contents = contents.without_text()
    return contents
