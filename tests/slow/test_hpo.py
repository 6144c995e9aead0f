"""The Human Phenotype Ontology as hpo3 carries it: the same graph, and who computes what.

hpo3 gives terms without annotations an information content of 0, here they count as if one disease
had them. So its numbers are compared where both terms are annotated, and those that follow from the
difference are derived from hpo3's own information content.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from rankscope.ontology.graph import FloatArray, IntArray
from rankscope.ontology.terms import Ontology, read_ontology

pyhpo = pytest.importorskip("pyhpo", reason="hpo3 is not installed")

if getattr(pyhpo, "__backend__", "") != "hpo3":
    pytest.skip("pyhpo is not hpo3", allow_module_level=True)

ROOT = "HP:0000001"
SINGLE = 1e-5
"""hpo3 computes in single precision."""


@dataclass(frozen=True)
class Hpo:
    """Both, and pairs of terms: half of them any, half of them related."""

    ours: Ontology
    theirs: dict[str, Any]
    pairs: list[tuple[Any, Any]]
    first: IntArray
    second: IntArray

    @property
    def says(self) -> FloatArray:
        """Information content by hpo3, by our number."""
        return np.array([self.theirs[term_id].information_content.omim for term_id in self.ours])

    @property
    def are_annotated(self) -> Any:
        """By pair: whether some disease has each of the two terms."""
        has = np.array([len(self.theirs[term_id].omim_diseases) > 0 for term_id in self.ours])
        return has[self.first] & has[self.second]

    def by_hpo3(self, method: str) -> FloatArray:
        from pyhpo.helper import batch_similarity

        return np.array(batch_similarity(self.pairs, kind="omim", method=method))

    def by_us(self, name: str) -> FloatArray:
        first, second = (
            [self.ours.ids[number] for number in side] for side in (self.first, self.second)
        )
        near: FloatArray = self.ours.similarity(first, second, name, ic="annotations")
        return near


@pytest.fixture(scope="module")
def hpo(tmp_path_factory: pytest.TempPathFactory) -> Hpo:
    pyhpo.Ontology()
    theirs = {term.id: term for term in pyhpo.Ontology if not term.is_obsolete}
    folder = tmp_path_factory.mktemp("hpo")
    rows = ["id\tname\tparents"]
    rows += [
        f"{term.id}\t{term.name}\t{'|'.join(parent.id for parent in term.parents)}"
        for term in theirs.values()
    ]
    (folder / "hpo.tsv").write_text("\n".join(rows), "utf-8")
    things = [
        f"{disease.id}\tHP:{term:07d}"
        for disease in pyhpo.Ontology.omim_diseases
        for term in disease.hpo
    ]
    (folder / "omim.tsv").write_text("\n".join(things), "utf-8")
    ours = read_ontology(folder / "hpo.tsv", annotations=folder / "omim.tsv")
    pairs = pairs_of(list(theirs.values()))
    first, second = (np.array([ours.number(pair[side].id) for pair in pairs]) for side in range(2))
    return Hpo(ours, theirs, pairs, first, second)


def pairs_of(terms: list[Any]) -> list[tuple[Any, Any]]:
    chance = random.Random(20251124)
    pairs = [(chance.choice(terms), chance.choice(terms)) for _ in range(1500)]
    for term in chance.sample(terms, 1500):
        above = sorted(term.all_parents, key=lambda other: other.id)
        if above:  # the root has none
            ancestor = chance.choice(above)
            near = sorted(ancestor.children, key=lambda other: other.id)
            pairs.append((term, chance.choice([*near, ancestor, term])))
    return pairs


def test_graph(hpo: Hpo) -> None:
    assert hpo.ours.roots == (ROOT,)
    assert hpo.ours.undefined == ()
    for term_id, term in hpo.theirs.items():
        number = hpo.ours.number(term_id)
        above = {hpo.ours.ids[other] for other in hpo.ours.graph.ancestors[number].tolist()}
        assert above == {term_id, *(other.id for other in term.all_parents)}
        assert hpo.ours.graph.depths["shortest"][number] == term.shortest_path_to_root()


def test_information_content(hpo: Hpo) -> None:
    ours = hpo.ours.information("annotations")
    has = np.array([len(hpo.theirs[term_id].omim_diseases) > 0 for term_id in hpo.ours])
    assert 0 < (~has).sum() < len(has)
    np.testing.assert_allclose(ours[has], hpo.says[has], rtol=0, atol=SINGLE)
    assert set(hpo.says[~has]) == {0.0}
    assert set(ours[~has]) == {ours.max()}


def test_path(hpo: Hpo) -> None:
    np.testing.assert_allclose(hpo.by_us("path"), hpo.by_hpo3("dist"), rtol=0, atol=SINGLE)


@pytest.mark.parametrize(
    ("name", "method"), [("resnik", "resnik"), ("lin", "lin"), ("jiang-conrath", "jc")]
)
def test_of_annotated_terms(hpo: Hpo, name: str, method: str) -> None:
    """Equal, but for Jiang-Conrath with the root, which hpo3 gives 0, and Resnik of a term itself.

    Resnik is divided here by the most that a term says, and is 1 for a term and itself.
    """
    ours, theirs = hpo.by_us(name), hpo.by_hpo3(method)
    compared = hpo.are_annotated & (hpo.first != hpo.second)
    if name == "resnik":
        ours *= hpo.ours.information("annotations").max()
    if name == "jiang-conrath":
        root = hpo.ours.number(ROOT)
        is_root = (hpo.first == root) | (hpo.second == root)
        assert set(theirs[compared & is_root]) <= {0.0}
        assert (ours[compared & is_root] > 0).all()
        compared &= ~is_root
    assert compared.sum() > 500
    np.testing.assert_allclose(ours[compared], theirs[compared], rtol=0, atol=SINGLE)


def test_what_follows_from_an_information_content_of_0(hpo: Hpo) -> None:
    """Lin of hpo3 is above 1 for a term without annotations and one above it that has some."""
    above = hpo.theirs["HP:0002813"]
    term = next(
        hpo.theirs[hpo.ours.ids[number]]
        for number in hpo.ours.graph.below(hpo.ours.number(above.id))[0].tolist()
        if not hpo.theirs[hpo.ours.ids[number]].omim_diseases
    )
    # the most informative ancestor they share says no less than `above`: 2·IC / (IC + 0) ≥ 2
    theirs = term.similarity_score(above, kind="omim", method="lin")
    assert theirs == pytest.approx(2.0, abs=SINGLE)
    ours = hpo.ours.similarity(term.id, above.id, "lin", ic="annotations")
    says = hpo.ours.information("annotations")[hpo.ours.number(above.id)]
    most = hpo.ours.information("annotations").max()
    assert ours == pytest.approx(2 * says / (says + most), abs=1e-12)
    assert term.similarity_score(term, kind="omim", method="lin") == 0.0
    assert hpo.ours.similarity(term.id, term.id, "lin", ic="annotations") == 1.0


def test_graphic_of_hpo3_leaves_out_the_terms_themselves(hpo: Hpo) -> None:
    """Its union has proper ancestors only, so it is not simGIC; with ours it would be."""
    says = hpo.says
    theirs = hpo.by_hpo3("graphic")
    of = hpo.ours.graph.ancestors
    for place in range(0, len(hpo.pairs), 10):
        a, b = int(hpo.first[place]), int(hpo.second[place])
        if a == b:
            continue
        above_a, above_b = set(of[a].tolist()), set(of[b].tolist())
        shared = says[list(above_a & above_b)].sum()
        union = says[list((above_a - {a}) | (above_b - {b}))].sum()
        assert theirs[place] == pytest.approx(shared / union if union else 0.0, abs=SINGLE)


# --- the bundled clinical phrases ----------------------------------------------------------------

PHENOTYPIC_ABNORMALITY = "HP:0000118"


def test_expected_ids_of_bundled_cases_are_current_terms(hpo: Hpo) -> None:
    """They exist, are no longer replaced, and their domain is the branch of the first."""
    root = hpo.theirs[PHENOTYPIC_ABNORMALITY]
    branches = {child.name: child.id for child in root.children}
    for language in (files("rankscope") / "data" / "hpo").iterdir():
        [path] = language.iterdir()
        for case in json.loads(path.read_text("utf-8"))["test_cases"]:
            terms = [hpo.theirs[term_id] for term_id in case["expected_hpo_ids"]]
            for term in terms:
                assert PHENOTYPIC_ABNORMALITY in {parent.id for parent in term.all_parents}
            above = {terms[0].id, *(parent.id for parent in terms[0].all_parents)}
            assert branches[case["hpo_domain"]] in above, case["case_id"]
            if case["category"] == "exact_match" and language.name == "english":
                assert case["text"].casefold() in {term.name.casefold() for term in terms}
