"""For all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep ontologies in a folder of the tests, not in the home of whoever runs them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RANKSCOPE_CACHE", str(tmp_path_factory.mktemp("kept")))
        yield
