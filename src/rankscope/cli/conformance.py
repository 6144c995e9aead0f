"""``rankscope conformance``: what tools answer to the cases of the conformance suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.conformance.cases import Case, Value
    from rankscope.conformance.suite import CaseOutcome, ToolReport


@click.command("conformance")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Ask this one; repeatable.")
@click.option("--case", "cases", multiple=True, metavar="ID", help="Put this one; repeatable.")
@click.option("--list", "listed", is_flag=True, help="Print the cases and their known answers.")
@click.option("--format", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.pass_context
def conformance(
    ctx: click.Context, *, tools: tuple[str, ...], cases: tuple[str, ...], listed: bool, format: str
) -> None:
    """Put small cases with known answers to tools that score rankings.

    A definition is not a fault: each case lists the answers known for it, with the definition each
    implies. Without --tool, every tool that is installed is asked. Exit code 1: a tool named with
    --tool gives an answer that no definition explains.
    """
    from rankscope.conformance import suite
    from rankscope.conformance.cases import read_cases

    chosen = read_cases(only=cases)
    if listed:
        lines = [line for case in chosen for line in _case_lines(case)]
        click.echo("\n".join(lines) if format == "table" else _json([c.to_dict() for c in chosen]))
        return
    result = suite.conformance(tools=tools, cases=cases)
    if format == "json":
        click.echo(result.to_json(), nl=False)
    else:
        for report in result.tools:
            click.echo("\n".join(_report_lines(report, chosen, whole=bool(tools))))
    if tools and any(report.of_kind("fault") + report.of_kind("other") for report in result.tools):
        ctx.exit(1)


def _json(data: object) -> str:
    import json

    return json.dumps(data, indent=2, ensure_ascii=False)


def _case_lines(case: Case) -> Iterator[str]:
    yield f"{case.id}: {case.title}; {case.asked}"
    for answer in case.answers:
        yield f"  {answer.name}  {_shown(answer.value):>9}  {answer.kind}: {answer.text}"


def _report_lines(report: ToolReport, cases: tuple[Case, ...], *, whole: bool) -> Iterator[str]:
    if report.version is None:
        yield f"{report.tool}: not installed (package {report.package})"
        return
    by_id = {case.id: case for case in cases}
    counts = ", ".join(
        f"{sum(outcome.kind == kind for outcome in report.outcomes)} {words}"
        for kind, words in (
            ("definition", "by a definition"),
            ("fault", "by a fault"),
            ("other", "by neither"),
            ("not asked", "not asked"),
        )
    )
    yield f"{report.tool} {report.version}: {counts}"
    for outcome in report.outcomes:
        if whole or outcome.kind in ("fault", "other"):
            yield _outcome_line(outcome, by_id[outcome.case])


def _outcome_line(outcome: CaseOutcome, case: Case) -> str:
    texts = {answer.name: answer.text for answer in case.answers}
    text = texts.get(outcome.answer or "", outcome.note)
    value = "-" if outcome.value is None else _shown(outcome.value)
    return f"  {case.id:<21} {case.asked:<13} {value:>9}  {outcome.answer or '-'}  {text}"


def _shown(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.4f}"
