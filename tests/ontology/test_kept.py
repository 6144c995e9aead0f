"""What was read is kept by content, and made again if it is not as it was written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from rankscope.entries import write_arrays, write_entry
from rankscope.ontology import terms as terms_module
from rankscope.ontology.terms import CACHE_VARIABLE, Ontology, default_cache, read_ontology


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "x.obo"
    path.write_text(
        "data-version: v1\n[Term]\nid: A\nname: Älteste\n[Term]\nid: B\nis_a: A\nalt_id: C\n"
        'synonym: "b" EXACT lay []\ndef: "a\\nb" []\nis_a: Q\n'
        "[Term]\nid: O\nis_obsolete: true\nreplaced_by: B\nrelationship: part_of A\n",
        "utf-8",
    )
    return path


def never(*_: object) -> None:
    raise AssertionError("it was read again")


def from_cache(source: Path, cache: Path) -> Ontology:
    with patch.object(terms_module, "read_terms", never):
        return read_ontology(source, cache=cache)


def entry_in(cache: Path) -> Path:
    (entry,) = (cache / "ontologies").iterdir()
    return entry


def everything(ontology: Ontology) -> list[object]:
    graph = ontology.graph
    return [
        *(ontology.ids, ontology.labels, ontology.version, ontology.sha256, ontology.relations),
        *(ontology.alternatives, ontology.obsolete, ontology.undefined, ontology.roots),
        [ontology.term(number) for number in range(len(ontology))],
        *(graph.parents.of.tolist(), graph.ancestors.of.tolist(), graph.up.tolist()),
        *(graph.depths["longest"].tolist(), graph.depths["shortest"].tolist()),
        *(graph.parents.starts.tolist(), graph.ancestors.starts.tolist()),
        ontology.similarity(["A", "B"], ["B", "O"], "lin").tolist(),
    ]


def test_the_second_time_is_as_the_first(source: Path, tmp_path: Path) -> None:
    first = read_ontology(source, cache=tmp_path)
    assert everything(from_cache(source, tmp_path)) == everything(first)


def test_it_is_kept_by_content_not_by_name(source: Path, tmp_path: Path) -> None:
    read_ontology(source, cache=tmp_path)
    copy = tmp_path / "copy.obo"
    copy.write_bytes(source.read_bytes())
    assert from_cache(copy, tmp_path).source == str(copy)
    source.write_text(source.read_text("utf-8").replace("v1", "v2"), "utf-8")
    with pytest.raises(AssertionError, match="it was read again"):
        from_cache(source, tmp_path)


def test_relations_are_part_of_what_is_kept(source: Path, tmp_path: Path) -> None:
    by_is_a = read_ontology(source, cache=tmp_path)
    by_both = read_ontology(source, cache=tmp_path, relations=["is_a", "part_of"])
    assert by_is_a.sha256 != by_both.sha256
    assert len(list((tmp_path / "ontologies").iterdir())) == 2
    again = read_ontology(source, cache=tmp_path, relations=["part_of", "is_a", "is_a"])
    assert again.sha256 == by_both.sha256  # in any order


def flipped(entry: Path) -> None:
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 1
    entry.write_bytes(data)


def halved(entry: Path) -> None:
    data = entry.read_bytes()
    entry.write_bytes(data[: len(data) // 2])


def of_another_version(entry: Path) -> None:
    write_arrays(entry, {"something": np.arange(3)})


def with_other_names(entry: Path) -> None:
    names = np.frombuffer(b"[1, 2]", np.uint8)
    write_arrays(entry, {"names": names, "texts": names})


@pytest.mark.parametrize(
    "damage",
    [
        flipped,
        halved,
        of_another_version,
        with_other_names,
        lambda entry: entry.write_bytes(b""),
        lambda entry: entry.write_bytes(b"not an entry"),
        lambda entry: write_entry(entry, b""),
        lambda entry: write_entry(entry, b"PK\x03\x04"),
        lambda entry: (entry.unlink(), entry.mkdir()),
    ],
)
def test_a_damaged_or_foreign_entry_is_made_again(
    source: Path, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    first = everything(read_ontology(source, cache=tmp_path))
    entry = entry_in(tmp_path)
    damage(entry)
    assert everything(read_ontology(source, cache=tmp_path)) == first
    if entry.is_file():
        assert everything(from_cache(source, tmp_path)) == first


def test_an_entry_of_another_ontology_is_not_taken(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.tsv"
    other.write_text("Z\tY\n", "utf-8")
    read_ontology(other, cache=tmp_path / "other")
    read_ontology(source, cache=tmp_path / "ours")
    entry_in(tmp_path / "ours").write_bytes(entry_in(tmp_path / "other").read_bytes())
    assert read_ontology(source, cache=tmp_path / "ours").ids == ("A", "B")


def test_a_folder_that_cannot_be_written_to_is_no_reason_to_stop(
    source: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("", "utf-8")
    assert len(read_ontology(source, cache=blocked)) == 2
    assert len(read_ontology(source, cache=blocked / "below")) == 2
    read_only = tmp_path / "read-only"
    read_only.mkdir()
    read_only.chmod(0o500)
    try:
        assert len(read_ontology(source, cache=read_only)) == 2
    finally:
        read_only.chmod(0o700)


def test_a_full_disk_is_no_reason_to_stop(source: Path, tmp_path: Path) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with patch.object(os, "fsync", full):
        assert len(read_ontology(source, cache=tmp_path)) == 2
    assert list((tmp_path / "ontologies").iterdir()) == []


def test_where_it_is_kept(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    read_ontology(source)
    assert entry_in(tmp_path / "named").suffix == ".ontology"
    monkeypatch.setenv(CACHE_VARIABLE, "")
    read_ontology(source)
    assert entry_in(tmp_path / "xdg" / "rankscope").is_file()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert default_cache() == tmp_path / "home" / ".cache" / "rankscope"

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    assert default_cache() is None
    assert len(read_ontology(source)) == 2


def test_a_large_ontology(tmp_path: Path) -> None:
    """20,000 terms in seconds, and much faster from what was kept; the limits are generous."""
    stanzas = [
        f'[Term]\nid: T:{n}\nname: term {n}\ndef: "{"about " * 20}{n}" []\n'
        f'synonym: "other {n}" EXACT []\n'
        + "".join(f"is_a: T:{parent}\n" for parent in sorted({n // 3, n // 5}) if n)
        for n in range(20_000)
    ]
    source = tmp_path / "large.obo"
    source.write_text("".join(stanzas), "utf-8")
    start = time.perf_counter()
    ontology = read_ontology(source, cache=tmp_path)
    read = time.perf_counter()
    again = from_cache(source, tmp_path)
    kept = time.perf_counter()
    assert (len(ontology), ontology.ids) == (20_000, again.ids)
    assert read - start < 20
    assert kept - read < 2
