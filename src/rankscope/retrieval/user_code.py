"""Python objects named in a spec: ``module:function``, or the object itself.

`UserCode` is the user's own code inside a component: it is called from one thread at a time, unless
the user says that it may be called from several. A function named in a config does what its module
says, and what the modules say that this one imports from beside the config. All of them are read
and parsed, and not run, to tell whether an answer is still the one that the code would give.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module, invalidate_caches
from importlib.machinery import PathFinder
from importlib.util import find_spec, resolve_name
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.retrieval.options import Options
from rankscope.retrieval.protocol import THIS_PROCESS, Capabilities, contained, sentence

if TYPE_CHECKING:
    from rankscope.retrieval.registry import Context


class FunctionOptions(Options):
    """A function of the user's."""

    function: Any
    """module:function, or the function itself."""
    version: str = ""
    """Change this when what the function does changes; what is kept under another is not used."""
    concurrent: bool = False
    """Whether it may be called from several threads at the same time."""


class UserCode:
    """A Python object of the user's, and how it may be called.

    Where the context does not allow imports, ``target`` is None if it is only named: it can be
    described, and not called.
    """

    def __init__(self, options: FunctionOptions, context: Context, noun: str) -> None:
        reference = options.function
        if context.python == "refused":
            raise InputError(
                f"{noun} is Python code ({shown(reference)}), and --no-python refuses to run any"
            )
        folder, is_named = (context.folder or Path.cwd()).resolve(), isinstance(reference, str)
        files = own_files(reference.partition(":")[0], folder) if is_named else {}
        self.sources = tuple(
            path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name
            for path in files.values()
        )
        self._options = options
        self._content = _content_hash(files)
        self.is_loaded = context.python == "run" or not is_named
        self.target: Any = None if is_named else reference
        if is_named:
            if not all(reference.partition(":")):
                raise InputError(f"expected {noun} as module:function, got {shown(reference)}")
            if self.is_loaded:
                self.target = _imported(reference, folder, files, self._content, noun)
        self.capabilities = Capabilities(ties="trec", concurrent=options.concurrent)
        owner = getattr(self.target, "__self__", self.target)  # a method's lock is its object's
        self._alone = nullcontext() if options.concurrent else _known(owner)[1]

    def called(self, call: Callable[[], Any]) -> Any:
        """Make a call that uses the object, alone unless it may be called by several threads."""
        with self._alone, contained():
            return call()

    def described(self) -> dict[str, str]:
        """Say what object this is, for an identity.

        Its name, the ``version`` the user gives, and a hash of what it is written in, so that what
        was kept before an edit is not taken for what it is after: of code named in a config the
        module and the user's own modules that it imports, of an object its file. Code that cannot
        be found again by its name (a lambda, a closure, an object with values of its own) could be
        anything the next time: without a ``version`` it is this very object, in this process.
        """
        target, reference, version = self.target, self._options.function, self._options.version
        if isinstance(reference, str):
            return {"name": reference, "version": version, "source": self._content}
        named = target if hasattr(target, "__qualname__") else type(target)
        name = f"{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}"
        if version or _is_found_by_name(target):
            source = _source(named)
        else:
            source = f"{THIS_PROCESS}, {_known(target)[0]}"
        return {"name": name, "version": version, "source": source}


class UserFunction(UserCode):
    """A function of the user's inside a component."""

    def __init__(self, options: FunctionOptions, context: Context, noun: str) -> None:
        super().__init__(options, context, noun)
        if self.is_loaded and not callable(self.target):
            raise InputError(f"expected a function as {noun}, got {shown(options.function)}")

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        return self.called(lambda: self.target(*arguments))


# --- importing it --------------------------------------------------------------------------------

_IMPORTING = threading.RLock()
"""What is imported, and from where, is one thread's business at a time."""

_contents: dict[Path, str] = {}
"""By the file of a module: the hash of it and of what it imports, when it was last imported."""


def _imported(
    reference: str, folder: Path, files: Mapping[str, Path], content: str, noun: str
) -> Any:
    """Return the object that ``module:name`` names; modules are looked for in the folder first."""
    module_name, _, path = reference.partition(":")
    with _IMPORTING, _looking_first_in(str(folder)):
        _forget_others(module_name, files, content)
        try:
            with contained():
                target: Any = import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not module_name.startswith(error.name):
                raise InputError(f"{noun} {reference} cannot be imported: {error}") from error
            raise InputError(
                f"{noun} {reference}: module {error.name} not found, neither in {folder} nor among "
                "the installed packages"
            ) from None
        except Exception as error:
            raise InputError(f"{noun} {reference} cannot be imported: {sentence(error)}") from error
    for name in path.split("."):
        if not hasattr(target, name):
            raise UnknownNameError(f"name in {module_name}", name, dir(target))
        target = getattr(target, name)
    return target


def _forget_others(module_name: str, files: Mapping[str, Path], content: str) -> None:
    """Let modules be imported that are loaded as they were before an edit, or from elsewhere."""
    top, invalid = module_name.partition(".")[0], False
    if module_name in files:
        file = files[module_name]
        invalid = _contents.setdefault(file, content) != content
        _contents[file] = content
    loaded = getattr(sys.modules.get(top), "__file__", None)
    if top in files and loaded is not None:
        invalid |= Path(loaded).resolve() != files[top]
    if invalid:
        for name in [*sys.modules]:
            if name in files or name.startswith(f"{top}."):
                del sys.modules[name]
        invalidate_caches()


@contextmanager
def _looking_first_in(place: str) -> Iterator[None]:
    """Look for modules in a folder first, for a while.

    The list is replaced, not changed: another thread may be going through it.
    """
    sys.path = [place, *sys.path]
    try:
        yield
    finally:
        first = sys.path.index(place) if place in sys.path else len(sys.path)
        sys.path = [*sys.path[:first], *sys.path[first + 1 :]]


# --- what it is written in -----------------------------------------------------------------------


def own_files(module_name: str, folder: Path) -> dict[str, Path]:
    """Return the files of a module and of the user's own modules that it imports, by module name.

    The user's own are those in ``folder`` and those of the module's own package. Imports anywhere
    in a file count, also inside functions; those made by calls (``import_module``) are not seen.
    Empty if the module cannot be found.
    """
    invalidate_caches()
    files: dict[str, Path] = {}
    waiting, seen = [module_name], {module_name}
    while waiting:
        for name, path in _located(waiting.pop(), module_name.partition(".")[0], folder):
            if name not in files:
                files[name] = path
                imported = [new for new in _imports(name, path) if new not in seen]
                seen.update(imported)
                waiting += imported
    return dict(sorted(files.items()))


def _located(module_name: str, top: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield a module's packages and the module, each with its file, as far as there is one.

    Only a package of the name ``top`` may be installed elsewhere than in the folder.
    """
    places, name = [str(folder)], ""
    for part in module_name.split("."):
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(name, places)
        if spec is None and name == top:
            with suppress(ImportError, ValueError, AttributeError):  # not imported from a file
                spec = find_spec(top)
        if spec is None:
            return
        if spec.origin is None:  # a folder without a file of its own
            places = [str(Path(place) / part) for place in places]
        else:
            places = list(spec.submodule_search_locations or ())
            if Path(spec.origin).is_file():
                yield name, Path(spec.origin).resolve()


def _imports(module_name: str, path: Path) -> Iterator[str]:
    """Yield the names of all modules that a file may import."""
    if path.suffix != ".py":
        return
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # importing it will say what is wrong
    is_package = path.name == "__init__.py"
    package = module_name if is_package else module_name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # above the top
                origin = resolve_name(f"{'.' * node.level}{node.module or ''}", package)
                yield origin
                yield from (f"{origin}.{alias.name}" for alias in node.names)


def _content_hash(files: Mapping[str, Path]) -> str:
    """Hash modules by name and content."""
    digest = hashlib.sha256()
    for name, path in files.items():
        content = b""
        with suppress(OSError):
            content = path.read_bytes()
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def _is_found_by_name(target: Any) -> bool:
    """Tell whether the object's module and name lead to it."""
    current: Any = sys.modules.get(getattr(target, "__module__", None) or "")
    for name in getattr(target, "__qualname__", "<nameless>").split("."):
        current = getattr(current, name, None)
    return current is not None and current is target


def _source(named: Any) -> str:
    """Hash the file an object is written in; where there is none, what is known of its code."""
    content = b""
    with suppress(TypeError, OSError):
        file = inspect.getsourcefile(named)
        content = Path(file).read_bytes() if file else b""
    if not content:
        try:
            content = inspect.getsource(named).encode()
        except (TypeError, OSError):
            content = getattr(getattr(named, "__code__", None), "co_code", b"")
    return hashlib.sha256(content).hexdigest()


_objects: dict[int, tuple[int, threading.RLock]] = {}
_kept: list[Any] = []
_counter = count(1)


def _known(target: Any) -> tuple[int, threading.RLock]:
    """Return the number of an object in this process, and its lock, the same wherever it is used.

    An address that is used again gets a new number.
    """
    key = id(target)
    if key not in _objects:
        _objects.setdefault(key, (next(_counter), threading.RLock()))
        try:
            weakref.finalize(target, _objects.pop, key, None).atexit = False
        except TypeError:  # its end cannot be noticed, so it has none
            _kept.append(target)
    return _objects[key]
