"""Python objects named in a spec: ``module:function``, or the object itself."""

from __future__ import annotations

import hashlib
import inspect
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope.errors import InputError, UnknownNameError, shown
from rankscope.retrieval.system import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankscope.retrieval.registry import Context

__all__ = ["described_target", "find_target", "sentence"]


def find_target(reference: Any, context: Context, what: str) -> Any:
    """Return the object that ``module:name`` names, or the object if it is one already.

    Modules are looked for in the context's folder (that of the config) first.
    """
    if not isinstance(reference, str):
        return reference
    module_name, colon, path = reference.partition(":")
    if not colon or not module_name or not path:
        raise InputError(f"{what} is named as module:function, not {shown(reference)}")
    with _found_first(context.folder or Path.cwd()):
        try:
            found: Any = import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not module_name.startswith(error.name):
                raise InputError(f"{what} {reference} cannot be imported: {error}") from None
            raise InputError(
                f"{what} {reference}: there is no module {error.name} in "
                f"{context.folder or Path.cwd()} or among the installed packages"
            ) from None
        except Exception as error:
            raise InputError(f"{what} {reference} cannot be imported: {sentence(error)}") from None
    for name in path.split("."):
        if not hasattr(found, name):
            raise UnknownNameError(f"name in {module_name}", name, dir(found))
        found = getattr(found, name)
    return found


@contextmanager
def _found_first(folder: Path) -> Iterator[None]:
    """Look for modules in a folder first, for a while."""
    place = str(folder.resolve())
    sys.path.insert(0, place)
    try:
        yield
    finally:
        if place in sys.path:
            sys.path.remove(place)


def described_target(target: Any, version: str) -> dict[str, str]:
    """Say what a Python object is, for an identity.

    Its name, the ``version`` the user gives, and a hash of the file it is written in, so that
    answers kept before an edit are not taken for answers after it. What the code depends on beyond
    its file, only the user knows: that is what ``version`` is for.
    """
    named = target if hasattr(target, "__qualname__") else type(target)
    return {
        "name": f"{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}",
        "version": version,
        "source": _source(named),
    }


def _source(named: Any) -> str:
    try:
        file = inspect.getsourcefile(named)
        content = Path(file).read_bytes() if file else b""
    except (TypeError, OSError):
        content = b""
    return hashlib.sha256(content).hexdigest() if content else fingerprint(repr(type(named)))


def sentence(error: BaseException) -> str:
    """Return an exception as one line: its kind and what it says."""
    said = " ".join(str(error).split())
    if len(said) > 300:
        said = f"{said[:299]}…"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
