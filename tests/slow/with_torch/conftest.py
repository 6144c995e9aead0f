"""What needs torch; not collected where it is not installed. `make test-torch` installs it."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

collect_ignore_glob = [] if find_spec("sentence_transformers") else ["test_*.py"]

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make small models, each once: ``small("CrossEncoder", labels=2)`` is a folder."""
    from with_torch.small import make

    folders: dict[str, Path] = {}

    def folder(kind: str, **options: Any) -> Path:
        key = f"{kind} {sorted(options.items())}"
        if key not in folders:
            folders[key] = make(tmp_path_factory.mktemp("model") / kind, kind, **options)
        return folders[key]

    return folder
