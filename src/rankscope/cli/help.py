"""Commands and options: how they are declared, and what their help looks like.

``--help`` says what a command does, shows examples and lists the common options under headings;
``--help-all`` lists the others too. Options that belong together, as those of scoring do, reach the
command as one argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import click
from click.formatting import wrap_text

from rankscope.errors import UnknownNameError, shown

Function = TypeVar("Function", bound=Callable[..., Any])

HEADINGS = ("Options", "Scoring", "Statistics", "Reading", "Judging", "Model", "Output")
"""The headings of options, in the order in which help shows them."""

HELP_ROW = ("-h, --help", "Show this help")

WIDEST = 24
"""The names of options take no more columns; text starts on the next line where they are longer."""


class Names(click.Choice):  # type: ignore[type-arg]  # no subscript in click before 8.4
    """A choice of names that says which is nearest to an unknown one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return a name that is known."""
        if value not in self.choices:
            self.fail(str(UnknownNameError("value", str(value), self.choices)), param, ctx)
        return str(value)


def file_name(value: str) -> str:
    """Return the name of a file or folder; an empty one would be the current folder."""
    if not value.strip():
        raise click.BadParameter("the name is empty; name a file or folder")
    return value


class Pairs(click.ParamType):  # type: ignore[type-arg]
    """Names and values, ``E=3,S=2``: a dict; of a repeatable option each pair is typed alone."""

    name = "text"

    def __init__(
        self, example: str, read: Callable[[str], Any] = str, *, names: Collection[str] = ()
    ) -> None:
        self._example, self._read, self._names = example, read, names

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, Any]:
        """Return the values by name."""
        if isinstance(value, dict):
            return value
        is_alone = param is not None and param.multiple
        pairs: dict[str, Any] = {}
        for part in [value] if is_alone else value.split(","):
            name, _, text = part.strip().rpartition("=")
            is_name = name in self._names if self._names else name not in ("", *pairs)
            try:
                pairs[name] = self._read(text)
            except ValueError:
                text = ""
            if not text or not is_name:
                names = f", with the names {', '.join(self._names)}" if self._names else ""
                self.fail(f"expected {self._example}{names}; got {shown(part)}", param, ctx)
        return pairs


def merged(
    _: click.Context, param: click.Parameter, each: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    """Return the pairs of a repeatable option as one dict."""
    pairs: dict[str, Any] = {}
    for typed in each:
        for name in typed.keys() & pairs.keys():
            raise click.BadParameter(f"names {name} twice", param=param)
        pairs |= typed
    return pairs


TYPES: dict[str, Any] = {
    **dict.fromkeys(("FILE", "OUT", "DIR"), file_name),
    **dict.fromkeys(("VALUE", "P", "SHARE", "GRADE"), float),
    "N": click.IntRange(1),
}
"""What an option takes, by the word in capitals; text if it is another word."""


@dataclass(frozen=True, slots=True)
class Part:
    """Options that reach a command as one argument."""

    name: str
    """The argument."""
    make: Callable[[dict[str, Any]], Any]
    """Makes it from the values of the options, by name."""


class Option(click.Option):
    """An option under a heading; help shows a rare one only with ``--help-all``."""

    def __init__(
        self,
        *args: Any,
        heading: str = "Options",
        rare: bool = False,
        part: Part | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.heading, self.rare, self.part = heading, rare, part

    def row(self) -> tuple[str, str]:
        """Return what help shows: the names with what they take, and what the option does."""
        names = "/".join((", ".join(self.opts), *self.secondary_opts))
        if not self.is_flag and not self.count:
            names += f" {self.metavar or self.type.name.upper()}"
        text = self.help or ""
        is_shown = not self.is_flag and isinstance(self.default, str | int | float)
        return names, f"{text}  [default: {self.default}]" if is_shown else text


def option(
    declaration: str, text: str, heading: str = "Options", **settings: Any
) -> Callable[..., Any]:
    """Declare an option by its names and what it takes: ``-o --output FILE``.

    Without a word in capitals it is a flag; a word in small letters is its name in Python.
    ``settings`` are those of `Option`, and ``one_of``: values, which the text then ends with.
    """
    if "one_of" in settings:
        names = list(settings.pop("one_of"))
        settings["type"] = Names(names)
        what, space, default = text.partition("  [")
        text = f"{what}: {', '.join(names)}{space}{default}"
    words = declaration.split()
    taken = [word for word in words if word[0] != "-" and not word.islower()]
    names = [word for word in words if word not in taken]
    if taken:
        settings = {"type": TYPES.get(taken[0]), **settings, "metavar": taken[0]}
    else:
        settings["is_flag"] = True

    def declare(function: Function, group: str = "") -> Function:
        return click.option(*names, cls=Option, help=text, heading=group or heading, **settings)(
            function
        )

    return declare


def rare(
    declaration: str, text: str, heading: str = "Options", **settings: Any
) -> Callable[..., Any]:
    """Declare an option that only ``--help-all`` shows."""
    return option(declaration, text, heading, rare=True, **settings)


def options(*each: Callable[..., Any]) -> Callable[..., Any]:
    """Make one decorator of several options."""
    return under("", *each)


def under(heading: str, *each: Callable[..., Any]) -> Callable[..., Any]:
    """Declare several options under one heading of help."""

    def declare(function: Function, group: str = "") -> Function:
        for declared in reversed(each):
            function = declared(function, heading or group)
        return function

    return declare


class Command(click.Command):
    """A command that gathers options which belong together, and whose help starts with examples."""

    def __init__(self, *args: Any, examples: tuple[str, ...] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.examples = examples

    @property
    def declared(self) -> list[Option]:
        """The options that help may show."""
        return [each for each in self.params if isinstance(each, Option) and not each.hidden]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, with one argument for each part."""
        values: dict[Part, dict[str, Any]] = {}
        for each in self.params:
            if isinstance(each, Option) and each.part is not None and each.name is not None:
                values.setdefault(each.part, {})[each.name] = ctx.params.pop(each.name)
        for part, given in values.items():
            ctx.params[part.name] = part.make(given)
        return super().invoke(ctx)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, how it is called, examples, and options by heading."""
        summary, *details = inspect.cleandoc(self.help or "").split("\n\n")
        formatter.write_text(summary)
        formatter.write("\n")
        self.format_usage(ctx, formatter)
        formatter.write("\n")
        formatter.write("".join(f"  {line}\n" for line in self.examples))
        if any(" demo/" in line for line in self.examples):
            formatter.write("  (files of 'rankscope demo --copy demo')\n")
        for paragraph in details:
            formatter.write("\n")
            formatter.write_text(paragraph)
        is_long = ctx.meta.get(_ALL, False)
        shown = [each for each in self.declared if is_long or not each.rare]
        others = sum(each.rare for each in self.declared)
        sections = {
            heading: [each.row() for each in shown if each.heading == heading]
            for heading in HEADINGS
        }
        sections[""] = [HELP_ROW]
        if others and not is_long:
            sections[""].append(("--help-all", f"Show {others} more options"))
        names = [name for rows in sections.values() for name, _ in rows]
        width = min(WIDEST, max(map(len, names)))
        for heading, rows in sections.items():
            if rows:
                formatter.write(f"\n{heading}\n" if heading else "\n")
                write_rows(formatter, rows, width)


def write_rows(formatter: click.HelpFormatter, rows: list[tuple[str, str]], width: int) -> None:
    """Write names beside texts, which are wrapped."""
    indent = " " * (width + 4)
    for name, text in rows:
        first = f"  {name:<{width}}  "
        if len(name) > width:
            formatter.write(f"  {name}\n")
            first = indent
        formatter.write(wrap_text(text, formatter.width, first, indent) + "\n")


_ALL = "rankscope.help_all"


def _show_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def command(
    *examples: str, name: str | None = None, takes: str = "[OPTIONS]"
) -> Callable[[Callable[..., Any]], Command]:
    """Declare a command, with lines that work as they are typed; it ``takes`` arguments besides."""
    show_all = click.option(
        "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_show_all
    )

    def declare(function: Callable[..., Any]) -> Command:
        made = click.command(name, cls=Command, examples=examples, options_metavar=takes)
        return made(show_all(function))

    return declare


def typed_options(ctx: click.Context) -> list[Option]:
    """Return the options of a command that were typed."""
    line = click.core.ParameterSource.COMMANDLINE
    known = [each for each in ctx.command.params if isinstance(each, Option)]
    return [each for each in known if ctx.get_parameter_source(each.name or "") is line]
