"""``--debug``: what rankscope logs, and the whole traceback of an error, on standard error."""

from __future__ import annotations

import logging
import sys

from rankscope.printing import without_secrets

ROOT = logging.getLogger("rankscope")
ROOT.addHandler(logging.NullHandler())  # silent unless somebody listens
log = logging.getLogger(__name__)

_NAME = "rankscope --debug"
"""Of the handler that it adds."""


class _Formatter(logging.Formatter):
    """Writes messages and tracebacks without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a message."""
        return without_secrets(super().format(record))


def listen() -> None:
    """Print debug messages on standard error from now on."""
    stop_listening()
    handler = logging.StreamHandler(sys.stderr)
    handler.set_name(_NAME)
    handler.setFormatter(_Formatter("%(levelname)s %(name)s: %(message)s"))
    ROOT.addHandler(handler)
    ROOT.setLevel(logging.DEBUG)
    log.debug("Python %s, %s", sys.version.split()[0], " ".join(sys.argv))


def stop_listening() -> None:
    """Be silent again."""
    for handler in list(ROOT.handlers):
        if handler.name == _NAME:
            ROOT.removeHandler(handler)
            ROOT.setLevel(logging.NOTSET)


def show_traceback(error: BaseException) -> None:
    """Log the traceback of an error with everything that led to it, also what was hidden."""
    cause: BaseException | None = error
    while cause is not None and log.isEnabledFor(logging.DEBUG):
        cause.__suppress_context__ = cause.__cause__ is not None
        cause = cause.__cause__ or cause.__context__
    log.debug("the command failed", exc_info=error)
