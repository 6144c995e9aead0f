"""Python objects named in a spec: ``module:function``, or the object itself.

`UserCode` is the user's own code inside a component: it is called from one thread at a time, unless
the user says that it may be called from several.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import threading
import weakref
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module, invalidate_caches
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.retrieval.options import Options
from rankscope.retrieval.protocol import THIS_PROCESS, Capabilities, contained, sentence
from rankscope.retrieval.python_sources import content_hash, own_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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
        self._options = options
        folder = context.folder or Path.cwd()
        self._files = (
            own_files(reference.partition(":")[0], folder) if isinstance(reference, str) else {}
        )
        self.sources = tuple(_shown_path(path, folder) for path in self._files.values())
        self._content = content_hash(self._files)
        if context.python == "run":
            _forget_edited(reference, self._files, self._content)
        self.target = find_target(reference, context, noun)
        self.is_loaded = context.python == "run" or not isinstance(reference, str)
        self.capabilities = Capabilities(ties="trec", concurrent=options.concurrent)
        self._alone = nullcontext() if options.concurrent else _lock(self.target)

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
            source = f"{THIS_PROCESS}, {_number(target)}"
        return {"name": name, "version": version, "source": source}


def _shown_path(path: Path, folder: Path) -> str:
    home = folder.resolve()
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else path.name


class UserFunction(UserCode):
    """A function of the user's inside a component."""

    def __init__(self, options: FunctionOptions, context: Context, noun: str) -> None:
        super().__init__(options, context, noun)
        if self.is_loaded and not callable(self.target):
            raise InputError(f"expected a function as {noun}, got {shown(options.function)}")

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        return self.called(lambda: self.target(*arguments))


_IMPORTING = threading.RLock()
"""What is imported, and from where, is one thread's business at a time."""


def find_target(reference: Any, context: Context, noun: str) -> Any:
    """Return the object that ``module:name`` names, or the object if it is one already.

    Modules are looked for in the context's folder (that of the config) first. Where the context
    does not allow imports, a name is checked as far as that goes, and the object is None.
    """
    if not isinstance(reference, str):
        return reference
    module_name, colon, path = reference.partition(":")
    if not colon or not module_name or not path:
        raise InputError(f"expected {noun} as module:function, got {shown(reference)}")
    if context.python == "named":
        return None
    folder = context.folder or Path.cwd()
    with _IMPORTING, _looking_first_in(folder):
        _forget_namesake(module_name, folder)
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


_imported: dict[Path, str] = {}
"""By the file of a module: the hash of it and of what it imports, when it was last imported."""


def _forget_edited(reference: Any, files: Mapping[str, Path], content: str) -> None:
    """Let modules be imported again that were edited since this process imported them."""
    file = files.get(reference.partition(":")[0]) if isinstance(reference, str) else None
    if file is None:
        return
    with _IMPORTING:
        if _imported.setdefault(file, content) != content:
            for name in files:
                sys.modules.pop(name, None)
            invalidate_caches()
            _imported[file] = content


def _forget_namesake(module_name: str, folder: Path) -> None:
    """Let a module of the folder be imported, although one of its name is loaded from elsewhere."""
    top = module_name.partition(".")[0]
    paths = [path.resolve() for path in (folder / f"{top}.py", folder / top / "__init__.py")]
    existing = [path for path in paths if path.is_file()]
    file = getattr(sys.modules.get(top), "__file__", None)
    if not existing or file is None or Path(file).resolve() in existing:
        return
    for name in [name for name in sys.modules if name == top or name.startswith(f"{top}.")]:
        del sys.modules[name]
    invalidate_caches()


@contextmanager
def _looking_first_in(folder: Path) -> Iterator[None]:
    """Look for modules in a folder first, for a while.

    The list is replaced, not changed: another thread may be going through it.
    """
    place = str(folder.resolve())
    sys.path = [place, *sys.path]
    try:
        yield
    finally:
        first = sys.path.index(place) if place in sys.path else len(sys.path)
        sys.path = [*sys.path[:first], *sys.path[first + 1 :]]


def _is_found_by_name(target: Any) -> bool:
    """Tell whether the object's module and name lead to it."""
    current: Any = sys.modules.get(getattr(target, "__module__", None) or "")
    for name in getattr(target, "__qualname__", "<nameless>").split("."):
        current = getattr(current, name, None)
    return current is not None and current is target


def _source(named: Any) -> str:
    """Hash the file an object is written in; where there is none, what is known of its code."""
    try:
        file = inspect.getsourcefile(named)
        content = Path(file).read_bytes() if file else b""
    except (TypeError, OSError):
        content = b""
    if not content:
        try:
            content = inspect.getsource(named).encode()
        except (TypeError, OSError):
            content = getattr(getattr(named, "__code__", None), "co_code", b"")
    return hashlib.sha256(content).hexdigest()


_numbers: dict[int, tuple[Callable[[], Any], int]] = {}
_counter = count(1)
_locks: dict[int, threading.RLock] = {}


def _number(target: Any) -> int:
    """Number the objects of this process; an address that is used again gets a new number."""
    known = _numbers.get(id(target))
    if known is not None and known[0]() is target:
        return known[1]
    try:
        find: Callable[[], Any] = weakref.ref(target)
    except TypeError:  # cannot be watched, so it is kept
        find = partial(_same, target)
    number = next(_counter)
    _numbers[id(target)] = find, number
    return number


def _same(target: Any) -> Any:
    return target


def _lock(target: Any) -> threading.RLock:
    """Return the lock of an object, the same wherever it is used; a method's is its object's."""
    return _locks.setdefault(_number(getattr(target, "__self__", target)), threading.RLock())
