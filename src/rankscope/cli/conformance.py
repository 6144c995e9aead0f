"""``rankscope conformance``: what tools answer to the cases of the conformance suite."""

from __future__ import annotations

import click

from rankscope.cli.options import TARGET, format_option
from rankscope.cli.output import emit


@click.command("conformance")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Ask this one; repeatable.")
@click.option("--case", "cases", multiple=True, metavar="ID", help="Put this one; repeatable.")
@click.option("--list", "listed", is_flag=True, help="Print the cases and their known answers.")
@format_option()
@TARGET
@click.pass_context
def conformance(
    ctx: click.Context,
    *,
    tools: tuple[str, ...],
    cases: tuple[str, ...],
    listed: bool,
    format: str,
    target: str | None,
) -> None:
    """Put small cases with known answers to tools that score rankings.

    A definition is not a fault: each case lists the answers known for it, with the definition each
    implies. Without --tool, every tool that is installed is asked. Exit code 1: a tool named with
    --tool gives an answer that no definition explains.
    """
    from rankscope.conformance import suite
    from rankscope.conformance.cases import CaseList, read_cases

    if listed:
        emit(CaseList(cases=read_cases(only=cases)), format=format, target=target)
        return
    result = suite.conformance(tools=tools, cases=cases)
    emit(result, format=format, target=target, whole=bool(tools))
    if tools and any(report.of_kind("fault") + report.of_kind("other") for report in result.tools):
        ctx.exit(1)
