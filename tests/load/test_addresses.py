"""Is a system on this machine, or may it be somebody else's?"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rankscope import Corpus
from rankscope.retrieval.load.addresses import elsewhere
from rankscope.retrieval.options import Options, Secret
from rankscope.retrieval.protocol import Capabilities, Component, Identity, Query, Ranking, System


class Somewhere(Options):
    """Where it is."""

    url: str = ""
    """An address."""
    dsn: Secret | None = None
    """A connection string."""
    hosts: tuple[str, ...] = ()
    """Several."""


class Remote(System):
    capabilities = Capabilities(remote=True)

    def __init__(self, options: Options | None, *below: Component) -> None:
        self.options = options
        self._below = below
        self.capabilities = Capabilities(remote=True)

    def parts(self) -> Sequence[Component]:
        return self._below

    def index(self, corpus: Corpus) -> None:
        """Do nothing."""

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:  # noqa: ARG002
        return [Ranking() for _ in queries]

    def identity(self) -> Identity:
        return Identity(kind="remote", version="1", parameters={})


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9200/index",
        "http://localhost:9200",
        "http://[::1]:80",
        "https://search.localhost/x",
        "127.1.2.3:5432",
        "localhost",
    ],
)
def test_this_machine(url: str) -> None:
    assert elsewhere(Remote(Somewhere(url=url))) == []


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://search.example.org/index", "search.example.org"),
        ("http://10.0.0.5:9200", "10.0.0.5"),
        ("http://localhost.example.org", "localhost.example.org"),
        ("http://127.0.0.1.example.org/", "127.0.0.1.example.org"),
        ("http://localhost@example.org/", "example.org"),
        ("example.org:9200", "example.org"),
    ],
)
def test_another_machine(url: str, host: str) -> None:
    assert elsewhere(Remote(Somewhere(url=url))) == [host]


def test_connection_strings_are_read_and_not_shown() -> None:
    secret = Secret("host=db.example.org password=hunter22 dbname=x")
    assert elsewhere(Remote(Somewhere(dsn=secret))) == ["db.example.org"]
    here = Secret("host=/var/run/postgresql dbname=x")
    assert elsewhere(Remote(Somewhere(dsn=here))) == []
    assert elsewhere(Remote(Somewhere(dsn=Secret("dbname=x user=y")))) == []
    web = Secret("postgresql://me:hunter22@db.example.org/x")
    assert elsewhere(Remote(Somewhere(dsn=web))) == ["db.example.org"]


def test_parts_count_and_each_host_once() -> None:
    far = Remote(Somewhere(url="http://a.example.org"))
    also = Remote(Somewhere(hosts=("b.example.org", "a.example.org", "localhost")))
    assert elsewhere(Remote(None, far, also)) == ["a.example.org", "b.example.org"]


def test_what_does_not_say_where_it_is_may_be_anywhere() -> None:
    assert elsewhere(Remote(None)) == ["what Remote asks"]
    assert elsewhere(Remote(Somewhere())) == ["what Remote asks"]
