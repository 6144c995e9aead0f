"""Python objects named in a spec: ``module:function``, or the object itself."""

from __future__ import annotations

import hashlib
import inspect
import sys
import threading
import weakref
from contextlib import contextmanager
from functools import partial
from importlib import import_module, invalidate_caches
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rankscope.errors import InputError, UnknownNameError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rankscope.retrieval.registry import Context

__all__ = ["described_target", "find_target", "sentence"]


_IMPORTING = threading.RLock()
"""What is imported, and from where, is one thread's business at a time."""


def find_target(reference: Any, context: Context, what: str) -> Any:
    """Return the object that ``module:name`` names, or the object if it is one already.

    Modules are looked for in the context's folder (that of the config) first.
    """
    if not isinstance(reference, str):
        return reference
    module_name, colon, path = reference.partition(":")
    if not colon or not module_name or not path:
        raise InputError(f"{what} is named as module:function, not {shown(reference)}")
    folder = context.folder or Path.cwd()
    with _IMPORTING, _found_first(folder):
        _forget_namesake(module_name, folder)
        try:
            found: Any = import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not module_name.startswith(error.name):
                raise InputError(f"{what} {reference} cannot be imported: {error}") from None
            raise InputError(
                f"{what} {reference}: there is no module {error.name} in {folder} or among the "
                "installed packages"
            ) from None
        except Exception as error:
            raise InputError(f"{what} {reference} cannot be imported: {sentence(error)}") from None
    for name in path.split("."):
        if not hasattr(found, name):
            raise UnknownNameError(f"name in {module_name}", name, dir(found))
        found = getattr(found, name)
    return found


def _forget_namesake(module_name: str, folder: Path) -> None:
    """Let a module of the folder be imported, although one of its name came from another place."""
    top = module_name.partition(".")[0]
    own = [path.resolve() for path in (folder / f"{top}.py", folder / top / "__init__.py")]
    there = [path for path in own if path.is_file()]
    file = getattr(sys.modules.get(top), "__file__", None)
    if not there or file is None or Path(file).resolve() in there:
        return
    for name in [one for one in sys.modules if one == top or one.startswith(f"{top}.")]:
        del sys.modules[name]
    invalidate_caches()


@contextmanager
def _found_first(folder: Path) -> Iterator[None]:
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


def described_target(target: Any, reference: Any, version: str) -> dict[str, str]:
    """Say what a Python object is, for an identity; ``reference`` is how the spec gave it.

    Its name, the ``version`` the user gives, and a hash of the file it is written in, so that what
    was kept before an edit is not taken for what it is after. Code that cannot be found again by
    its name (a lambda, a closure, an object with values of its own) could be anything the next
    time: without a ``version`` it is this very object, in this process.
    """
    named = target if hasattr(target, "__qualname__") else type(target)
    name = f"{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}"
    if isinstance(reference, str):
        module = sys.modules.get(reference.partition(":")[0], named)
        source = _source(named if inspect.isfunction(named) else module)
        return {"name": reference, "version": version, "source": source}
    if version or _found_by_name(target):
        return {"name": name, "version": version, "source": _source(named)}
    return {"name": name, "version": version, "source": f"process {_PROCESS}, {_number(target)}"}


def _found_by_name(target: Any) -> bool:
    """Tell whether the object's module and name lead to it."""
    found: Any = sys.modules.get(getattr(target, "__module__", None) or "")
    for name in getattr(target, "__qualname__", "<nameless>").split("."):
        found = getattr(found, name, None)
    return found is not None and found is target


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


_PROCESS = uuid4().hex
_numbers: dict[int, tuple[Callable[[], Any], int]] = {}


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


_counter = count(1)


def _same(target: Any) -> Any:
    return target


def sentence(error: BaseException) -> str:
    """Return an exception as one line: its kind and what it says."""
    said = " ".join(str(error).split())
    if len(said) > 300:
        said = f"{said[:299]}…"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
