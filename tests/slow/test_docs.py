"""Docs cannot drift: generated pages are current, examples run, links lead somewhere."""

from __future__ import annotations

import doctest
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from rankscope.benchmark.config.loading import read_config
from rankscope.benchmark.project import copy_demo

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE = sorted(DOCS.rglob("*.md"))
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
TYPED = [*TUTORIALS, DOCS / "index.md", ROOT / "README.md"]
EXAMPLES = [page for page in SITE if page not in TUTORIALS and page.name != "commands.md"]
LINKING = [*SITE, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


snippets = loaded("snippets")


def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "build.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", TYPED, ids=named)
def test_tutorials_run_as_typed(page: Path, tmp_path: Path) -> None:
    """In an empty folder, block after block; ``python docs/snippets.py`` writes what is printed."""
    for block in snippets.run(page, tmp_path):
        assert block.current, f"{block.typed}\nprints\n\n{block.printed}"


def test_a_tutorial_that_fails_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nmake demo\n```\n\n```sh\necho 0.12 s\n```\n\n```text\n0.5 s\n```\n")
    [block] = snippets.run(page, tmp_path)
    assert block.current
    page.write_text("```sh\necho 0.1234567890123456\n```\n\n```text\n0.6543210987654321\n```\n")
    assert not snippets.run(page, tmp_path)[0].current, "decimals are no hash"
    page.write_text("```sh\necho a\n```\n\n```text\nb\n```\n")
    [block] = snippets.run(page, tmp_path)
    assert not block.current
    snippets.update(page)
    assert page.read_text() == "```sh\necho a\n```\n\n```text\na\n```\n"
    page.write_text("```sh\necho a\n```\n\n```sh\nfalse\necho b\n```\n")
    with pytest.raises(RuntimeError, match="exit code 1 from\nfalse"):
        snippets.run(page, tmp_path)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in the folder of ``rankscope demo --copy``, whose files the examples name."""
    copy_demo(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_config_shown_is_the_one_of_the_demo(workplace: Path) -> None:
    [config] = blocks(DOCS / "how-to" / "run-a-benchmark.md", "yaml")
    assert config in (workplace / "bench.yaml").read_text("utf-8")


def of_pages(language: str) -> list[Any]:
    return [
        pytest.param(page, block, id=f"{named(page)}-{number}")
        for page in [ROOT / "README.md", *EXAMPLES]
        for number, block in enumerate(blocks(page, language), start=1)
    ]


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize(("page", "code"), of_pages("python"))
def test_python_examples_run(page: Path, code: str) -> None:
    if ">>>" in code:
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
        assert runner.run(test).failed == 0
    else:  # what it registers is gone with its process
        Path("test_example.py").write_text(code, encoding="utf-8")
        pytest_or_not = ["-m", "pytest", "-q"] if "def test_" in code else []
        done = subprocess.run(
            [sys.executable, *pytest_or_not, "test_example.py"],
            env=snippets.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


WITH_OUTPUT = re.compile(
    r"^```console\n(?P<typed>.*?)^```\n(?:\n^```text\n(?P<shown>.*?)^```\n)?", re.M | re.S
)


def console(text: str) -> list[tuple[str, str | None]]:
    """Return the commands of a page, and for one before a block ``text`` the output shown there."""
    commands: list[tuple[str, str | None]] = []
    for block in WITH_OUTPUT.finditer(text):
        *others, last = block["typed"].splitlines()
        commands += [*((command, None) for command in others), (last, block["shown"])]
    return commands


CONSOLE = [
    pytest.param(commands, id=named(page))
    for page in EXAMPLES
    if (commands := console(page.read_text("utf-8")))
]


def test_output_shown_belongs_to_the_command_before_it() -> None:
    page = "```console\n$ a\n$ b\n```\n\n```text\nprinted\n```\n\n```console\n$ c\n```\n"
    assert console(page) == [("$ a", None), ("$ b", "printed\n"), ("$ c", None)]


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("commands", CONSOLE)
def test_console_examples_run(commands: list[tuple[str, str | None]]) -> None:
    """A page's commands, one after the other: a later one may use what an earlier one wrote."""
    for command, shown in commands:
        assert re.match(r"\$ (echo .* \| )?rankscope ", command), f"not run: {command}"
        done = subprocess.run(
            ["bash", "-c", command.removeprefix("$ ")],
            env=snippets.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1), f"{command}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        if shown is not None:
            block = snippets.Block(command, shown, done.stdout)
            assert block.current, f"{command}\nprints\n\n{done.stdout}"


@pytest.mark.parametrize("page", [page for page in EXAMPLES if page not in TYPED], ids=named)
def test_shell_blocks_of_other_pages_are_what_tests_cannot_run(page: Path) -> None:
    """Installing, and measuring for minutes or hours; the rest is ``console``, and is run."""
    for line in "".join(blocks(page, "sh")).splitlines():
        assert re.match(
            r"make |pip install |python (-m reliability\.|-m benches|benches/)", line
        ), line


CONFIGS = [param for param in of_pages("yaml") if "systems:" in param.values[1]]


@pytest.mark.parametrize(("page", "code"), CONFIGS)
def test_configs_are_understood(page: Path, code: str, tmp_path: Path) -> None:
    """An excerpt is completed by what it leaves out."""
    config = {"name": page.stem, "collection": {"path": "recipes"}, **yaml.safe_load(code)}
    path = tmp_path / "excerpt.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    read_config(path, environment=dict.fromkeys(re.findall(r"\$\{(\w+)\}", code), "secret"))


def test_every_page_is_in_the_navigation_and_linked_from_the_entrance() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
    pages = [str(page.relative_to(DOCS)) for page in SITE]
    assert sorted(leaves(site["nav"])) == pages
    index = (DOCS / "index.md").read_text("utf-8")
    assert [page for page in pages if f"({page})" not in index and page != "index.md"] == []


def leaves(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    children = entry.values() if isinstance(entry, dict) else entry
    return [leaf for child in children for leaf in leaves(child)]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site write them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", LINKING, ids=named)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.is_file(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(path), f"{page.name} links to {target}"
        if page in SITE:  # the site holds nothing else
            assert path.is_relative_to(DOCS), f"{page.name} links out of the docs: {target}"


def test_what_a_page_would_load_is_noticed(tmp_path: Path) -> None:
    check = loaded("check_site")
    page = tmp_path / "index.html"
    page.write_text('<a href="https://example.org">a link is no load</a><img src="a.png">')
    assert check.main(tmp_path) == 0
    for loading in (
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="//example.org/a.css">',
        "<style>@import 'https://example.org/a.css'; </style>",
        "<style>a {background: url(https://example.org/a.png)}</style>",
    ):
        page.write_text(loading)
        assert check.main(tmp_path) == 1
