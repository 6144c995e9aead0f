"""What the pages of ``evaluate``, ``compare`` and ``diagnose`` let look around in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankscope.diagnosis.failures import Failures
    from rankscope.reports.explorer.contents import Contents
    from rankscope.scoring.scores import Scored


def page_contents(
    scored: Scored,
    *,
    queries: str | None,
    corpus: str | None,
    top: int | None,
    with_text: bool,
    baseline: str | None = None,
    failures: Failures | None = None,
) -> Contents | None:
    """Gather queries, rankings and texts behind what was scored.

    ``queries`` may be the file of judgments, if that is a golden set and holds them.
    """
    from rankscope.collection.corpus import read_corpus
    from rankscope.reports.explorer.of_runs import TOP, contents_of_scored
    from rankscope.reports.explorer.whole_page import limited

    contents = contents_of_scored(
        scored,
        queries=_asked(queries) if with_text else (),
        corpus=None if corpus is None or not with_text else read_corpus(corpus),
        baseline=baseline,
        failures=failures,
        top=top or TOP,
    )
    return limited(contents, with_text=with_text)


def _asked(path: str | None) -> Iterable[tuple[str, str, dict[str, Any]]]:
    """Return ids, texts and metadata of queries; of judgments that hold none, nothing."""
    from rankscope.collection.queries import read_queries
    from rankscope.errors import RankscopeError
    from rankscope.retrieval.golden import texts_in

    if path is None or path == "-":
        return ()
    try:
        table = read_queries(path)
    except (RankscopeError, OSError):
        return [(query_id, text, {}) for query_id, text in texts_in(path).items()]
    metadata = table.metadata
    return [(query_id, table[query_id], dict(metadata.get(query_id, {}))) for query_id in table]
