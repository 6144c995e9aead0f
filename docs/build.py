"""Write the pages that repeat what the code says.

Commands, measures, checks, analyses, options and schemas.

Run ``python docs/build.py`` after changing one of these; a test fails when a page is not
what this would write.
"""

from __future__ import annotations

import inspect
import io
import json
import pkgutil
import sys
import tempfile
import typing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

import click
from rich.console import Console
from search_apis_page import search_apis_page

import rankscope
from rankscope.benchmark.case_schema import case_schema
from rankscope.benchmark.config.model import config_json_schema
from rankscope.cli import output
from rankscope.cli.app import app
from rankscope.cli.help import HEADINGS, Command
from rankscope.diagnosis.analysis import AnyAnalysis, all_analyses
from rankscope.findings import CODES, Code
from rankscope.measures.definition import JUDGED_ONLY, NEARNESS, Definition, written
from rankscope.measures.registry import all_definitions
from rankscope.ontology.nearness import all_similarities
from rankscope.part import Record, json_of
from rankscope.records.report import (
    BenchmarkReport,
    EvaluationReport,
    ExperimentManifest,
    ExperimentTimings,
)
from rankscope.retrieval.engines.loaded import LoadedOptions
from rankscope.retrieval.engines.stored import ServedEngine, ServerOptions, StoreOptions
from rankscope.retrieval.llm.llm_options import ChatOptions, LlmOptions
from rankscope.retrieval.registry import SYSTEMS, Entry
from rankscope.retrieval.stages.rerank import RERANKERS
from rankscope.retrieval.stages.rewrite import REWRITERS
from rankscope.retrieval.vector.embedders import EMBEDDERS
from rankscope.tables.shapes import SHAPES

HERE = Path(__file__).parent
REFERENCE = HERE / "reference"

FAMILIES = {
    "rank": "Rank",
    "graded": "Graded",
    "user_models": "User models",
    "incomplete": "Incomplete judgments",
    "sets": "Sets and counts",
    "trec": "trec_eval's lesser-known ones",
    "diversity": "Diversity",
    "spans": "Spans and texts",
    "near": "Nearness in an ontology",
}


MEASURES_INTRODUCTION = (
    "Every measure under its name in rankscope; the names of other tools are understood too "
    "(`rankscope measures ndcg_cut_10`). All take `judged_only=True`: unjudged documents are "
    "removed before ranks are counted. With an ontology, all that look at documents take `sim`, "
    "`depth` and `ic`: nearness to the expected terms is the grade then, as in "
    "`nDCG(sim=hybrid)@10` (see [Nearness in an ontology](#nearness-in-an-ontology)). `hpo` stands "
    "for the measures of the benchmark of clinical phrases: RR, and at 1, 3, 5 and 10 Success, "
    "MaxOntSim, nDCG, R, P and AP(norm=min). Unless stated, a measure runs from 0 to 1, higher is "
    "better, its mean over queries counts, a query without a relevant document is 0, and ranks "
    "past the end of a run count as nonrelevant."
)


def commands_page() -> str:
    """Return every command with its options; those of several commands are described once."""
    commands = dict(_commands(app, "rankscope"))
    count = Counter(each.row() for command in commands.values() for each in command.declared)
    shared = {each.row(): each for command in commands.values() for each in command.declared}
    shared = {row: each for row, each in shared.items() if count[row] >= SHARED}
    with click.Context(app, info_name="rankscope", **app.context_settings) as context:
        overview = context.get_help()
    parts = [
        "# Commands",
        "`--help` shows what a command does and its common options, `--help-all` all of them.",
        f"```text\n{overview}\n```",
        "## Options of several commands",
    ]
    for heading in HEADINGS:
        rows = [row for row, each in shared.items() if each.heading == heading]
        if rows:
            parts += [f"### {heading}", _option_table(rows)]
    for name, command in commands.items():
        summary, *details = inspect.cleandoc(command.help or "").split("\n\n")
        context = click.Context(command, info_name=name)
        lines = [command.get_usage(context).removeprefix("Usage: "), "", *command.examples]
        parts += [f"## {name}", summary, "```text\n" + "\n".join(lines) + "\n```", *details]
        own = [each.row() for each in command.declared if each.row() not in shared]
        if own:
            parts.append(_option_table(own))
        others = [f"`{each.opts[-1]}`" for each in command.declared if each.row() in shared]
        if others:
            parts.append(f"Also: {', '.join(others)}.")
    return "\n\n".join(parts) + "\n"


SHARED = 3
"""So many commands that have an option make it one that is described once."""


def _commands(group: click.Group, name: str) -> Iterator[tuple[str, Command]]:
    """Yield the commands of a group, by what is typed."""
    context = click.Context(group)
    for child in group.list_commands(context):
        found = group.get_command(context, child)
        if isinstance(found, click.Group):
            yield from _commands(found, f"{name} {child}")
        else:
            assert isinstance(found, Command)
            yield f"{name} {child}", found


def _option_table(rows: Sequence[tuple[str, str]]) -> str:
    cells = [(f"`{names}`".replace("|", "\\|"), text) for names, text in rows]
    lines = [f"| {names} | {text} |" for names, text in cells]
    return "\n".join(["| option | what it does |", "|---|---|", *lines])


def measures_page() -> str:
    """Return every measure with all that its definition says."""
    definitions = [one for one in all_definitions() if one.family in FAMILIES]
    parts = [
        "# Measures",
        MEASURES_INTRODUCTION,
    ]
    for family, title in FAMILIES.items():
        names = [
            f"[{one.name}](#{one.name.lower()})" for one in definitions if one.family == family
        ]
        parts.append(f"**{title}:** {' · '.join(names)}")
    for family, title in FAMILIES.items():
        parts.append(f"## {title}")
        parts += [_measure(one) for one in definitions if one.family == family]
    parts += ["### Similarities", _similarities()]
    return "\n\n".join(parts) + "\n"


def _similarities() -> str:
    """Return how near two terms can be, as a table."""
    rows = ["| sim | formula | what it means | reference |", "|---|---|---|---|"]
    rows += [
        f"| `{one.name}` | {one.formula} | {one.summary} | {one.reference} |"
        for one in all_similarities()
    ]
    legend = (
        "d is the depth of a term, the steps from a root by the longest path (`depth=shortest`: by "
        "the shortest), D the greatest depth, LCA the deepest shared ancestor. IC is information "
        "content, from structure (Seco: 1 − ln(terms below + 1) / ln(all terms)) or, with "
        "`ic=annotations`, from annotations (−ln(n/N), n at least 1); MICA is the shared ancestor "
        "with most of it. All are brought to [0, 1], 1 for a term and itself, 0 where no ancestor "
        "is shared or a term is unknown."
    )
    return "\n".join(rows) + f"\n\n{legend}"


USUAL = "0 to 1, higher is better; over queries: mean"
SHORT = "ranks past its end count as nonrelevant"
"""What measures do not say of themselves again."""


def _measure(one: Definition) -> str:
    low, high = one.range
    top = "∞" if high == float("inf") else f"{high:g}"
    bottom = "−∞" if low == float("-inf") else f"{low:g}"
    better = "higher is better" if one.higher_is_better else "lower is better"
    scale = f"{bottom} to {top}, {better}; over queries: {one.aggregate}"
    lines = [
        f"### {one.name}",
        "",
        f"{one.summary} Written `{one.example}`.",
        "",
        f"- formula: {one.formula}",
        f"- range: {'' if scale == USUAL else scale}",
        f"- no relevant document: {'' if one.no_relevant == '0' else one.no_relevant}",
        f"- short run: {'' if one.short_run == SHORT else one.short_run}",
        f"- reference: {one.reference}",
    ]
    lines += [
        f"- `{parameter.name}={written(parameter.default)}`: {parameter.summary}"
        for parameter in one.parameters
        if parameter is not JUDGED_ONLY and (one.needs == "terms" or parameter not in NEARNESS)
    ]
    return "\n".join(line for line in lines if not line.endswith(": "))


SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
<rect fill="#101418" width="100%" height="100%" rx="10"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""
"""A terminal drawn with fonts every machine has; nothing is fetched."""


def demo_picture() -> str:
    """Return what ``rankscope demo`` prints, as a picture."""
    console = Console(
        record=True, width=100, force_terminal=True, color_system="truecolor", highlight=False,
        file=io.StringIO(),
    )  # fmt: skip
    console.print("[bold]$ make demo[/bold]")
    original = output.make_console
    setattr(output, "make_console", lambda *_: console)  # noqa: B010
    try:
        with tempfile.TemporaryDirectory() as folder:
            app.main(["demo", "--output", folder], standalone_mode=False)
            recorded = console.export_svg(title="", code_format=SVG, unique_id="demo")
    finally:
        setattr(output, "make_console", original)  # noqa: B010
    return recorded.replace(folder, "rankscope-demo")


CHECKS_INTRODUCTION = """\
Every problem rankscope looks for in runs, qrels, comparisons and benchmarks, with a code that does
not change. `rankscope runs validate` reports all that concern runs and qrels; `read_run` and
`read_qrels` refuse a table that has an *error* of its own, in the same words.

- **error**: the numbers would be wrong or could not be computed. `runs validate` exits with 1. With
  `--strict` it also fails runs that are not fit to be handed in: not in six columns (RS107), with
  ranks that are repeated (RS111) or disagree with the scores (RS113), deeper than `--max-depth`
  (RS131), or with queries of the qrels (RS161) or of the list (RS162) unanswered.
- **warning**: the numbers can be computed, but may not mean what you think.
- **note**: good to know.

A finding says how many cases there are and names the first three: file and line, query, document.
Nothing is ever repaired. A check that cannot be made, for example because no corpus was given, is
listed as *not applicable*; that is not the same as passed.

**No silent zero.** What could only be answered with 0 is refused with exit code 2: an empty run
(RS101), no query or document in common (RS171, RS172), qrels in which nothing is relevant (RS214).
In a benchmark a system with such an error is *broken*: it is not scored, nothing is compared with
it, and the exit code is 1. `trec-eval` does what NIST's program does."""

CHECKS_SECTIONS = {
    "A run by itself": ("RS10", "RS11", "RS12", "RS13", "RS14", "RS15"),
    "A run against qrels, queries and a corpus": ("RS16", "RS17"),
    "A run against an ontology": ("RS18",),
    "Qrels": ("RS20", "RS21"),
    "Golden sets and cases": ("RS22", "RS23"),
    "Comparisons": ("RS6",),
    "Benchmarks": ("RS7",),
}

CHECKS_GUESS = """\
For RS171 and RS172 the guess names the one change that would make most ids match: blanks around an
id, upper and lower case, leading zeros, a number written with a fraction, the suffix of a chunk, a
prefix, a folder or namespace, a file ending, or query and document columns that are swapped.

A run that finds nothing may be poor rather than broken. RS172 is an error only if no retrieved
document is judged for *any* query, and only if no corpus is known that holds documents of both;
then, and where documents are judged for other queries only, it is a warning."""


DECLARING = ("runs", "ontology", "scoring", "collection", "statistics", "diagnosis", "benchmark")
"""The packages whose modules declare codes."""


def checks_page() -> str:
    """Return every code with what it means and what to do."""
    parts = ["# Checks", CHECKS_INTRODUCTION]
    for module in pkgutil.walk_packages(rankscope.__path__, "rankscope."):
        if module.name.split(".")[1] in DECLARING:
            import_module(module.name)
    left = [CODES[code] for code in sorted(CODES)]
    for title, prefixes in CHECKS_SECTIONS.items():
        rows = [_code(code) for code in left if code.code.startswith(prefixes)]
        left = [code for code in left if not code.code.startswith(prefixes)]
        head = [
            "| code | name | severity | what it means | what to do |",
            "|---|---|---|---|---|",
        ]
        parts += [f"## {title}", "\n".join([*head, *rows])]
    assert not left, f"{left[0].code} belongs to no section of the page"
    return "\n\n".join([*parts, CHECKS_GUESS]) + "\n"


def _code(code: Code) -> str:
    first = code.advice.split()[0]
    start = code.advice[:1].upper() if first.isalpha() else code.advice[:1]
    advice = f"{start}{code.advice[1:]}."
    cells = (code.code, f"`{code.name}`", code.severity, code.meaning, advice)
    return f"| {' | '.join(cells)} |"


ANALYSES_INTRODUCTION = """\
What a benchmark looks into beyond means and differences. Each analysis has a field in
[BenchmarkReport.json](schemas/benchmark.json) (`analyses`) and a section in reports. It reports
what it found, that it found nothing, or that it is not applicable and why."""


def analyses_page() -> str:
    """Return every analysis with what it needs and how it is configured."""
    parts = ["# Analyses", ANALYSES_INTRODUCTION, *map(_analysis, all_analyses())]
    return "\n\n".join(parts) + "\n"


def _analysis(analysis: AnyAnalysis) -> str:
    lines = [
        f"## {analysis.title} (`{analysis.name}`)",
        "",
        analysis.summary,
        "",
        f"- looks at: {', '.join(analysis.needs)}",
        f"- configured as: `{analysis.written}`" if analysis.written else "- always on",
    ]
    if analysis.codes:
        found = ", ".join(f"{code.code} `{code.name}`" for code in analysis.codes)
        lines.append(f"- [findings](checks.md): {found}")
    return "\n".join(lines)


_RECORDS = (
    EvaluationReport,
    BenchmarkReport,
    ExperimentManifest,
    ExperimentTimings,
)


def _record_schema(one: type[Record]) -> str:
    return f"{json_of(one.json_schema(), width=500)}\n"


def _schema(made: dict[str, object]) -> str:
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


OPTIONS_INTRODUCTION = """\
Every option of the [search systems](systems.md) and of their embedders, rewriters and rerankers.
What is not required may be left out. A value that is not a table is that of the first option that
is required, or else of the first: `{run: a.run}`."""


ENGINES_INTRODUCTION = """\
## Options of engines

`chroma`, `lancedb`, `postgres`, `qdrant` and `sqlite` share these. Not all have a server or a
folder, or search what is there already; an option that an engine has no use for is refused."""


MODELS_INTRODUCTION = """\
## Options of language models

The `llm` of embedders, rewriters and rerankers, and of `rankscope judge --model`, share these. An
embedder has no use for what a prompt is made with."""


def options_page() -> str:
    """Return the options of every component as they are registered."""
    tables = [
        _options(entry, registry.noun)
        for registry in (SYSTEMS, EMBEDDERS, REWRITERS, RERANKERS)
        for entry in registry
    ]
    shared = Entry("engines", "engines", ServerOptions, ServedEngine)
    rows = "\n".join(_option_rows(shared, own=False))
    models = Entry("models", "models", ChatOptions, ServedEngine)
    llm_rows = "\n".join(_option_rows(models, own=False))
    parts = [
        "# System options",
        OPTIONS_INTRODUCTION,
        f"{ENGINES_INTRODUCTION}\n\n{rows}",
        f"{MODELS_INTRODUCTION}\n\n{llm_rows}",
        *tables,
    ]
    return "\n\n".join(parts) + "\n"


def _options(entry: Entry[typing.Any], noun: str) -> str:
    title = f"## {noun.capitalize()} `{entry.name}`"
    summary = f"{entry.summary[:1].upper()}{entry.summary[1:]}."
    is_engine = issubclass(entry.options, LoadedOptions)
    if is_engine:
        bases = (ServerOptions, StoreOptions, LoadedOptions)
        most = next(base for base in bases if issubclass(entry.options, base))
        missing = [name for name in ServerOptions.model_fields if name not in most.model_fields]
        but = f", but {', '.join(f'`{name}`' for name in missing)}" if missing else ""
        summary += f" And [what engines share](#options-of-engines){but}."
    is_model = issubclass(entry.options, LlmOptions)
    if is_model:
        summary += " And [what language models share](#options-of-language-models)."
    own = is_engine or is_model
    return "\n".join([title, "", summary, "", *_option_rows(entry, own=own)])


def _option_rows(entry: Entry[typing.Any], *, own: bool) -> list[str]:
    """Return a table of options; ``own``: of those alone that the model itself declares."""
    schema = entry.json_schema()
    rows = ["| option | default | what it is |", "|---|---|---|"]
    for name, option in schema["properties"].items():
        if own and name not in entry.options.__annotations__:
            continue
        default = "required" if name in schema.get("required", ()) else _default(option)
        rows.append(f"| `{name}` | {default} | {' '.join(option['description'].split())} |")
    return rows


def _default(option: dict[str, typing.Any]) -> str:
    value = option.get("default")
    if value in (None, "", []):
        return ""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


SHAPES_INTRODUCTION = (
    "What `evaluate`, `compare`, `gate`, `diagnose`, `evaluate_retriever`, commands and configs "
    "read as gold or as a run. The first shape that fits counts; what fits none is refused, and so "
    "is a table that could be read in two ways, with the option that decides (`relevant=`, "
    "`--relevant`). Scores say how they were read (`scores.reading`). Names of columns are in "
    "[File formats](formats.md#names-and-lists).\n\n"
    "| shape | example | may be |\n|---|---|---|\n"
    "| TREC lines | `q1 0 a 2` and `q1 Q0 a 1 0.9 tag` | gold, run |\n"
)


def shapes_page() -> str:
    """Return the page of everything that is read, from the list of shapes."""
    rows = [
        f"| {shape.name} | {_code_in(shape.example)} | {shape.roles} |"
        for shape in SHAPES
        if shape.example != "{}"
    ]
    return f"# What is read\n\n{SHAPES_INTRODUCTION}" + "\n".join(rows) + "\n"


def _code_in(example: str) -> str:
    parts = example.split(" or ") if example[0] in "[{" else []
    return " or ".join(f"`{part}`" for part in parts) or example


PAGES: dict[str, Callable[[], str]] = {
    "shapes.md": shapes_page,
    "commands.md": commands_page,
    "measures.md": measures_page,
    "checks.md": checks_page,
    "analyses.md": analyses_page,
    "system-options.md": options_page,
    "search-apis.md": search_apis_page,
    "schemas/config.json": lambda: _schema(config_json_schema()),
    "schemas/cases.json": lambda: _schema(case_schema()),
    **{f"schemas/{one.kind}.json": partial(_record_schema, one) for one in _RECORDS},
}
"""The pages of the reference that are written from the code."""


def main(arguments: list[str]) -> int:
    """Write the pages; with ``--check`` only tell whether they are current."""
    old = [name for name, page in PAGES.items() if _read(name) != page()]
    if "--check" in arguments:
        for name in old:
            print(f"docs/reference/{name} is old; run python docs/build.py", file=sys.stderr)  # noqa: T201
        return bool(old)
    for name in old:
        (REFERENCE / name).parent.mkdir(exist_ok=True)
        (REFERENCE / name).write_text(PAGES[name](), encoding="utf-8")
    (HERE / "demo.svg").write_text(demo_picture(), encoding="utf-8")
    return 0


def _read(name: str) -> str:
    page = REFERENCE / name
    return page.read_text("utf-8") if page.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
