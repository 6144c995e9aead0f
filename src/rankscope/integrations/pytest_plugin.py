"""The pytest plugin: a fixture ``rankscope`` that fails a test on a regression, or below a limit.

::

    def test_search_is_no_worse(rankscope):
        rankscope.assert_no_regression("baseline.json", "candidate.run", qrels="qrels.tsv")

    def test_search_is_good(rankscope):
        rankscope.assert_at_least("candidate.run", {"nDCG@10": 0.4}, qrels="qrels.tsv")

``pytest --rankscope-report FILE`` writes one report of all of them, as HTML, Markdown or JSON by
the suffix; with pytest-xdist, too: workers send what they found at their end.

Loaded by every pytest run where rankscope is installed, so nothing heavy is imported here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rankscope.integrations.asserting import (
    QualityError,
    assert_at_least,
    assert_no_regression,
    listeners,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from rankscope.records.assertions import Assertion

_SENT = "rankscope_assertions"
"""What workers of pytest-xdist call what they send."""

_SUFFIXES = (".html", ".htm", ".md", ".markdown", ".json")


class Gatekeeper:
    """What the fixture ``rankscope`` gives."""

    assert_at_least = staticmethod(assert_at_least)
    assert_no_regression = staticmethod(assert_no_regression)

    def __repr__(self) -> str:
        return "<assertions of rankscope>"


@pytest.fixture(scope="session")
def rankscope() -> Gatekeeper:
    """Check retrieval runs: ``rankscope.assert_no_regression(baseline, candidate, …)``."""
    return Gatekeeper()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: Any) -> Generator[None, Any, Any]:
    """Let the verdict be the first that is read, also in the short summary."""
    report = yield
    error = call.excinfo and call.excinfo.value
    if isinstance(error, QualityError) and hasattr(report.longrepr, "reprcrash"):
        before = f"{QualityError.__module__}.{QualityError.__qualname__}: "
        crash, entries = report.longrepr.reprcrash, report.longrepr.reprtraceback.reprentries
        if crash is not None:
            crash.message = f"rankscope: {error}".partition("\n")[0]
        for entry in entries:
            entry.lines = [line.replace(before, "rankscope: ", 1) for line in entry.lines]
    return report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that asks for a report."""
    parser.getgroup("rankscope").addoption(
        "--rankscope-report",
        metavar="FILE",
        help="Write a report of all assertions of rankscope: .html, .md or .json.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin a report if one is asked for."""
    target = config.getoption("--rankscope-report")
    if target is None:
        return
    if Path(target).suffix.lower() not in _SUFFIXES:
        raise pytest.UsageError(
            f"--rankscope-report must end with .html, .md or .json, which say what it is; "
            f"got {target!r}"
        )
    config.pluginmanager.register(_Reporter(Path(target).absolute()), "rankscope-report")


class _Reporter:
    """Collects assertions, in this process or from workers, and writes their report."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.assertions: list[Assertion] = []
        self.written = ""
        listeners.append(self.assertions.append)

    def pytest_unconfigure(self) -> None:
        listeners.remove(self.assertions.append)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker of pytest-xdist sent; one that crashed sent nothing."""
        from rankscope.records.assertions import Assertion  # noqa: PLC0415

        sent = getattr(node, "workeroutput", {}).get(_SENT, "[]")
        self.assertions += map(Assertion.model_validate, json.loads(sent))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_SENT] = json.dumps([assertion.to_dict() for assertion in self.assertions])
        elif not session.config.getoption("collectonly"):
            self._write()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.written:
            terminalreporter.write_sep("-", self.written)

    def _write(self) -> None:
        from datetime import UTC, datetime  # noqa: PLC0415

        import rankscope  # noqa: PLC0415
        from rankscope.document.views import document_of  # noqa: PLC0415
        from rankscope.files import replacing  # noqa: PLC0415
        from rankscope.records.assertions import AssertionReport  # noqa: PLC0415

        report = AssertionReport(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            rankscope=rankscope.__version__,
            assertions=tuple(sorted(self.assertions, key=lambda assertion: assertion.test)),
        )
        suffix = self.target.suffix.lower()
        if suffix == ".json":
            text = report.to_json()
        elif suffix.startswith(".m"):
            from rankscope.document.markdown import as_markdown  # noqa: PLC0415

            text = as_markdown(document_of(report), names_as_code=True)
        else:
            from rankscope.document.pages import page  # noqa: PLC0415

            text = page(document_of(report))
        self.target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.target) as sink:
            sink.write(text.encode("utf-8", "backslashreplace"))
        self.written = f"rankscope report: {self.target}"
