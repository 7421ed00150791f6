"""What a text demands of its answer."""

from __future__ import annotations

import pytest

from linker.text.demands import Demand, demand_of

LONG = {"TB": "tuberculosis", "PAH": "pulmonary hypertension", "CF": "cystic fibrosis"}


def demand(text: str) -> Demand | None:
    return demand_of(text, lambda short: " ".join(LONG.get(w, w) for w in short.split()))


@pytest.mark.parametrize(
    ("text", "genes"),
    [
        ("CFTR variant", [("cftr",)]),
        ("pathogenic variant in the NKX2-1 gene", [("nkx2", "1")]),
        ("BRCA1 and BRCA2 mutations", [("brca1",), ("brca2",)]),
        ("cftr mutation", [("cftr",)]),
        ("C9orf72-related disorder", [("c9orf72",)]),
        ("PAH mutation", [("pah",)]),  # it says that this is a gene
        ("PAH-related condition", [("pah",)]),
    ],
)
def test_genes(text: str, genes: list[tuple[str, ...]]) -> None:
    found = demand(text)
    assert found is not None
    assert found.genes == frozenset(genes)


@pytest.mark.parametrize(
    "text", ["asthma", "BRCA1-related breast cancer", "gene therapy", "CFTR", "none", "PCR"]
)
def test_most_texts_demand_nothing(text: str) -> None:
    assert demand(text) is None


def test_a_gene_is_in_one_name_of_the_answer() -> None:
    found = demand("NKX2-1 variant")
    assert found is not None
    names = ["chorea benign", "nkx2 1 related chorea"]
    assert found.allows("chorea benign", "chorea benign", lambda: names)
    assert not found.allows("chorea benign", "chorea benign", lambda: ["chorea benign", "nkx2 5"])


@pytest.mark.parametrize(
    ("text", "preferred", "matched", "names", "expected"),
    [
        ("non-diabetic nephropathy", "diabetes", "diabetes", [], False),
        ("nondiabetic nephropathy", "diabetes", "diabetes", [], False),
        ("non diabetic nephropathy", "nephropathy", "nephropathy", [], True),
        # a name of the concept denies it, too
        ("non-diabetic coma", "diabetes", "coma", ["coma non diabetic"], True),
        ("non-diabetic coma", "diabetes", "coma", ["nondiabetic coma"], True),
        # the concept has the affirmed name beside others
        ("non-infectious hepatitis", "hepatitis a", "infectious hepatitis", [], False),
        ("non-infectious hepatitis", "liver", "infectious hepatitis", ["hepatitis"], True),
        ("non-TB meningitis", "basal exudate", "tb meningitis", [], False),
        ("non-TB meningitis", "tuberculous meningitis", "meningitis", [], False),
        ("non-CF bronchiectasis", "bronchiectasis", "bronchiectasis", [], True),
        ("non-gouty arthritis", "gout", "gout", [], False),
    ],
)
def test_what_non_negates_is_no_answer(
    text: str, preferred: str, matched: str, names: list[str], expected: bool
) -> None:
    found = demand(text)
    assert found is not None
    assert found.allows(preferred, matched, lambda: [preferred, matched, *names]) is expected
