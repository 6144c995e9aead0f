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

_SCRIPTS = ("data.js", "texts.js", "charts.js", "list.js", "explorer.js")

_BODY = """\
<div id="explorer"><p class="quiet">The queries are shown by a script, which did not run.</p></div>
"""

_CHARTS = """\
<section id="query-charts">
<h3>Query by query</h3>
<div class="row">
<label class="picker"><span>Measure</span><select id="chart-measure"></select></label>
<label class="picker"><span>System</span><select id="chart-a"></select></label>
<label class="picker"><span>against</span><select id="chart-b"></select></label>
<a id="chart-table" href="#queries">as a table</a>
</div>
<div id="query-chart-place"></div>
</section>
"""


@cache
def _asset(name: str) -> str:
    return (files("rankscope.reports.explorer") / name).read_text("utf-8")


def report_page(document: Document, contents: Contents | None) -> str:
    """Return the page of a document; without contents it has no explorer."""
    if contents is None:
        return page(document)
    several = len(contents.systems) > 1
    explorer = Explorer(
        title="Queries",
        body=_BODY,
        overview=_CHARTS if several else "",
        overview_link=("query-charts", "Query by query") if several else None,
        follows="what-would-gain-most",
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
