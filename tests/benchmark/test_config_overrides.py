"""What is said about a config outside its file: settings and secrets."""

from __future__ import annotations

import copy
import json
import pickle
import re
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankscope.benchmark.config.loading import LoadedConfig, read_config
from rankscope.benchmark.config.secrets import Secrets
from rankscope.errors import FormatError, InputError, RankscopeError

CONFIG = """\
name: soup
collection: here
depth: 100
measures: [nDCG@10, AP@100, nDCG(gain=exp)@10]
targets: {nDCG@10: 0.4}
statistics: {seed: 7}
systems:
  lexical: {bm25: {k1: 1.2}}
  short: bm25
  v1.2, k1=3: {bm25: {b: 0.5}}
  two-words: bm25
  hybrid: {fuse: {of: [lexical, bm25], weights: [0.5, 0.5]}}
"""


def read(
    tmp_path: Path, *sets: str, text: str = CONFIG, environment: Mapping[str, str] | None = None
) -> LoadedConfig:
    path = tmp_path / "c.yaml"
    path.write_text(text, "utf-8")
    return read_config(path, settings=sets, environment=environment or {})


def value(loaded: LoadedConfig, keys: str, by: str = "/") -> Any:
    data: Any = loaded.plain()
    for key in keys.split(by):
        data = data[int(key) if isinstance(data, list) else key]
    return data


@pytest.mark.parametrize(
    ("setting", "keys", "expected"),
    [
        (" depth = 50 ", "depth", 50),
        ("collection.split=dev", "collection/path", "here"),
        ("systems.lexical.bm25.k1=1.5", "systems/lexical/bm25/k1", 1.5),
        ("systems.short.bm25.k1=1.5", "systems/short/bm25/k1", 1.5),
        ("systems.hybrid.fuse.weights.1=0.3", "systems/hybrid/fuse/weights/1", 0.3),
        ("systems.hybrid.fuse.of.1.bm25.k1=2", "systems/hybrid/fuse/of/1", {"bm25": {"k1": 2}}),
        ("measures.1=RR", "measures", ["nDCG@10", "RR", "nDCG(gain=exp)@10"]),
        ("targets.nDCG(gain=exp)@10=0.5", "targets/nDCG(gain=exp)@10", 0.5),
    ],
)
def test_a_setting_changes_one_value(
    tmp_path: Path, setting: str, keys: str, expected: Any
) -> None:
    assert value(read(tmp_path, setting), keys) == expected


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("dept=50", "nearest: depth"),
        ("depth=x", "got 'x'"),
        ("depth.more=3", "depth is 100"),
        ("systems.lexicl.bm25.k1=1", "unknown system 'lexicl'; nearest: lexical"),
        ("systems.lexical.vector.fields=1", "systems.lexical is bm25, not 'vector'"),
        ("systems.lexical.bm25.k1=-1", "from 0 to 1000"),
        ("measures.7=RR", "it has no '7'"),
        ("name=${HOME}", "'${HOME}' is allowed only in the values of systems"),
    ],
)
def test_errors_name_the_setting(tmp_path: Path, setting: str, word: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, setting)
    assert str(caught.value).startswith(f"--set {setting.partition('=')[0]}: ")
    assert word in str(caught.value)


def test_a_setting_is_a_key_and_a_value(tmp_path: Path) -> None:
    for setting in ("", "depth", "=3", "a..b=3", ".=3", f"{'a.' * 99}b=3"):
        with pytest.raises(InputError, match="expected a key and a value"):
            read(tmp_path, setting)


def test_of_several_settings_the_last_one_counts(tmp_path: Path) -> None:
    loaded = read(tmp_path, "depth=20", "depth=30", "statistics.seed=1")
    assert (loaded.config.depth, loaded.config.statistics.seed) == (30, 1)
    assert loaded.overrides == {"depth": 30, "statistics.seed": 1}


WORDS = (
    *("depth", "systems", "lexical", "bm25", "k1", "measures", "targets", "collection", "short"),
    *(".", ".", "=", "=", "0", "9", "-", "[", "(", ")", "{", "}", "${A}", "$${", "&a", " ", "\n"),
)
texts = st.lists(st.sampled_from(WORDS), max_size=9).map("".join) | st.text(max_size=9)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(given=st.lists(texts, max_size=3))
def test_any_setting_is_applied_or_one_sentence(tmp_path: Path, given: list[str]) -> None:
    try:
        loaded = read(tmp_path, *given, environment={"A": "hunter2"})
    except RankscopeError as error:
        message = str(error)
    else:
        message = json.dumps(loaded.plain())
    assert "\n" not in message
    assert "hunter2" not in message


# --- secrets -------------------------------------------------------------------------------------

SECRET = "pässword/with+signs & 'quotes' \\ and more of it, longer than a message shows"
WITH_SECRET = """\
name: soup
collection: here
systems:
  lexical: bm25
  api:
    python: {function: "m:f", version: "Bearer ${TOKEN}, not $${TOKEN}"}
"""


def test_secrets_are_put_in_only_when_asked(tmp_path: Path) -> None:
    loaded = read(tmp_path, text=WITH_SECRET, environment={"TOKEN": SECRET})
    made = loaded.systems()
    assert made["api"]["python"]["version"] == f"Bearer {SECRET}, not ${{TOKEN}}"
    assert made["lexical"] == "bm25"
    assert value(loaded, "systems/api/python/version") == "Bearer ${TOKEN}, not $${TOKEN}"
    assert loaded.secrets.names == ("TOKEN",)
    sent = pickle.loads(pickle.dumps(loaded))  # to another process
    assert (sent.systems(), sent.sha256) == (made, loaded.sha256)


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    loaded = read(tmp_path, "depth=5", text=WITH_SECRET, environment={"TOKEN": SECRET})
    other = read(tmp_path, "depth=5", text=WITH_SECRET, environment={"TOKEN": "another one"})
    shown = [repr(loaded), str(loaded), repr(loaded.secrets), json.dumps(loaded.plain())]
    shown += [repr(loaded.overrides), loaded.secrets.hide(f"no {SECRET}")]
    assert not any("pässword" in text or "p\\u00e4" in text for text in shown)
    assert loaded.sha256 == other.sha256
    wrong = WITH_SECRET.replace("version:", "versoin:")
    with pytest.raises(FormatError, match=r"c.yaml:6: systems.api.python: .*'versoin'") as caught:
        read(tmp_path, text=wrong, environment={"TOKEN": SECRET})
    assert SECRET[:9] not in "".join(traceback.format_exception(caught.value))


def test_references_that_cannot_be(tmp_path: Path) -> None:
    version = "c.yaml:6: systems.api.python.version: "
    for old, new, message in (
        ("${TOKEN}", "${OTHER}", f"{version}the environment variable OTHER"),
        ("${TOKEN}", "${EMPTY}", f"{version}the environment variable EMPTY"),
        ("${TOKEN}", "${}", f"{version}'${{' without"),
        ("soup", "${TOKEN}", "c.yaml:1: name: '${TOKEN}' is allowed only"),
        ("  lexical", "  ${TOKEN}", "c.yaml:4: systems.${TOKEN}: '${TOKEN}' is allowed only"),
    ):
        text = WITH_SECRET.replace(old, new, 1)
        with pytest.raises(FormatError, match=re.escape(message)):
            read(tmp_path, text=text, environment={"TOKEN": SECRET, "EMPTY": ""})


def test_hiding_and_expanding() -> None:
    secrets = Secrets({"HOST": "localhost", "PORT": "80", "LONG": "localhost:8080"})
    data = {"x": ["localhost:80", "1800", 80, None, 0.5], "y": {"z": "localhost:8080"}}
    before = copy.deepcopy(data)
    expected = {"x": ["${HOST}:${PORT}", "1800", 80, None, 0.5], "y": {"z": "${LONG}"}}
    assert (secrets.hide(data), data) == (expected, before)
    assert Secrets({"A": "NAME"}).hide("${A} NAME") == "${A} ${A}"
    chained = Secrets({"A": "B_VALUE", "B_VALUE": "secret"})
    assert chained.hide("${B_VALUE} B_VALUE") == "${B_VALUE} ${A}"
    assert Secrets().hide(data) is data
    assert Secrets().expand("$${A}") == "${A}"
    with pytest.raises(InputError, match="the variable B"):
        Secrets({"A": "x"}).expand("${B}")
