"""Logging: the standard library's, under the name ``rankscope``, silent unless somebody listens.

A module that logs says ``log = logger(__name__)``. On the command line ``--debug`` listens.
"""

from __future__ import annotations

import logging

ROOT = logging.getLogger("rankscope")
ROOT.addHandler(logging.NullHandler())


def logger(module: str) -> logging.Logger:
    """Return the logger of a module, by its full name."""
    return logging.getLogger(module)
