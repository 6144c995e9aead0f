"""Addresses that come from the environment: refused for what they are, once that is known."""

from __future__ import annotations

import pytest

from rankscope.errors import InputError
from rankscope.retrieval.options import Reading, read_options
from rankscope.retrieval.remote.web import WebOptions


@pytest.mark.parametrize("url", ["${LLM_URL}", "https://${HOST}:9200", "http://host/${INDEX}"])
def test_an_address_with_a_variable_is_checked_when_its_value_is_known(url: str) -> None:
    options = read_options(WebOptions, {"url": url}, Reading(unexpanded=True))
    assert options.url == url


@pytest.mark.parametrize("url", ["${LLM_URL}", "host:9200", "ftp://host", "http://me:pass@host"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"^url: "):
        read_options(WebOptions, {"url": url})


@pytest.mark.parametrize("url", ["host:9200", "ftp://host"])
def test_what_has_no_variable_is_refused_at_once(url: str) -> None:
    with pytest.raises(InputError, match=r"^url: "):
        read_options(WebOptions, {"url": url}, Reading(unexpanded=True))
