"""Which files a Python module of the user's is written in, found without importing anything.

A function named in a config does what its module says, and what the modules say that this one
imports from beside the config. All of them are read and parsed, never run, so that a dry run can
tell whether an answer is still the one that the code would give.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path


def own_files(module_name: str, folder: Path) -> dict[str, Path]:
    """Return the files of a module and of the user's own modules that it imports, by module name.

    The user's own are those in ``folder`` and those of the module's own package. Imports anywhere
    in a file count, also inside functions; those made by calls (``import_module``) are not seen.
    Empty if the module cannot be found.
    """
    top = module_name.partition(".")[0]
    roots = [str(folder)]
    elsewhere = {} if _file_or_folder(top, roots) else _installed(top)
    files: dict[str, Path] = {}
    waiting, seen = [module_name], {module_name}
    while waiting:
        for name, path in _located(waiting.pop(), roots, elsewhere):
            if name in files:
                continue
            files[name] = path
            imported = [new for new in _imports(name, path) if new not in seen]
            seen.update(imported)
            waiting += imported
    return dict(sorted(files.items()))


def content_hash(files: Mapping[str, Path]) -> str:
    """Hash modules by name and content."""
    digest = hashlib.sha256()
    for name, path in files.items():
        try:
            content = path.read_bytes()
        except OSError:
            content = b""
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def _file_or_folder(name: str, places: Sequence[str]) -> Path | None:
    """Return the file of a module, or the folder of a package that has no file of its own."""
    for place in places:
        home = Path(place) / name
        for path in (home / "__init__.py", home.with_name(f"{name}.py")):
            if path.is_file():
                return path.resolve()
    folders = (Path(place) / name for place in places)
    return next((path.resolve() for path in folders if path.is_dir()), None)


def _installed(top: str) -> dict[str, tuple[Path | None, list[str]]]:
    """Return where a module is that is not beside the config: its file, and where its parts are."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError, AttributeError):  # one that was not imported from a file
        file = getattr(sys.modules.get(top), "__file__", None)
        return {top: (Path(file), [])} if file else {}
    if spec is None:
        return {}
    is_file = spec.has_location and spec.origin is not None
    path = Path(spec.origin) if is_file and spec.origin is not None else None
    return {top: (path, list(spec.submodule_search_locations or ()))}


def _located(
    module_name: str,
    roots: Sequence[str],
    elsewhere: Mapping[str, tuple[Path | None, list[str]]],
) -> Iterator[tuple[str, Path]]:
    """Yield a module's packages and the module, each with its file, as far as there is one."""
    places, name = list(roots), ""
    for part in module_name.split("."):
        name = f"{name}.{part}" if name else part
        if name in elsewhere:
            path, places = elsewhere[name]
        else:
            path = _file_or_folder(part, places)
            if path is None:
                return
            is_package = path.is_dir() or path.name == "__init__.py"
            home = path if path.is_dir() else path.parent
            places = [str(home)] if is_package else []
        if path is not None and path.is_file():
            yield name, path


def _imports(module_name: str, path: Path) -> Iterator[str]:
    """Yield the names of all modules that a file may import."""
    if path.suffix != ".py":
        return
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # importing it will say what is wrong
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(module_name, node.level, is_package=path.name == "__init__.py")
            origin = ".".join(part for part in (base, node.module) if part)
            if origin:
                yield origin
            yield from (f"{origin}.{alias.name}" if origin else alias.name for alias in node.names)


def _base(module_name: str, level: int, *, is_package: bool) -> str:
    """Return the package that the dots of a relative import stand for; '' without dots."""
    if not level:
        return ""
    parts = module_name.split(".")
    dropped = level - 1 if is_package else level
    return ".".join(parts[: len(parts) - dropped])
