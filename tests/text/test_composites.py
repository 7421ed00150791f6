"""Composite mentions, split without and with gold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.text.biosyn import split_by_gold
from linker.text.composites import split
from linker.text.normalize import normalize

NAMES = {
    "acute renal failure",
    "angelman syndrome",
    "breast cancer",
    "breast neoplasms",
    "c5 deficiency",
    "c6 deficiency",
    "c7 deficiency",
    "cancer",
    "cancer of ovary",
    "cardiomyopathy",
    "cleft lip",
    "cleft palate",
    "colorectal cancer",
    "duchenne and becker muscular dystrophy",
    "duchenne muscular dystrophy",
    "becker muscular dystrophy",
    "endometrial cancer",
    "hand foot and mouth disease",
    "hepatitis a",
    "hepatitis b",
    "hepatitis c",
    "hereditary breast and ovarian cancer syndrome",
    "hypertrophic cardiomyopathy",
    "limb ataxia",
    "gait ataxia",
    "machado joseph disease",
    "nausea",
    "ovarian cancer",
    "ovarian cancers",
    "prader willi syndrome",
    "soft tissue neoplasms",
    "spinocerebellar ataxia 3",
    "vomiting",
}


def is_name(text: str) -> bool:
    return normalize(text) in NAMES


@pytest.mark.parametrize(
    ("mention", "parts"),
    [
        ("breast and ovarian cancer", ["breast cancer", "ovarian cancer"]),
        ("breast & ovarian cancer", ["breast cancer", "ovarian cancer"]),
        ("breast and 79 ovarian cancers", ["breast cancers", "ovarian cancers"]),
        (
            "sporadic breast and ovarian cancers",
            ["sporadic breast cancers", "sporadic ovarian cancers"],
        ),
        ("colorectal and other cancers", ["colorectal cancers", "cancers"]),
        ("hepatitis B/C", ["hepatitis B", "hepatitis C"]),
        ("hepatitis A/B/C", ["hepatitis A", "hepatitis B", "hepatitis C"]),
        (
            "deficiency of C5, C6 and C7",
            ["deficiency of C5", "deficiency of C6", "deficiency of C7"],
        ),
        ("C6 or C7 deficiencies", ["C6 deficiencies", "C7 deficiencies"]),
        (
            "Combined subtotal deficiency of C6 and C7",
            ["Combined subtotal deficiency of C6", "Combined subtotal deficiency of C7"],
        ),
        (
            "atrophic or hypertrophic cardiomyopathy",
            ["atrophic cardiomyopathy", "hypertrophic cardiomyopathy"],
        ),
        (
            "colorectal, endometrial, and ovarian cancers",
            ["colorectal cancers", "endometrial cancers", "ovarian cancers"],
        ),
        (
            "colorectal, skin, and ovarian cancers",
            ["colorectal cancers", "skin cancers", "ovarian cancers"],
        ),
        ("cancer of the breast and ovary", ["cancer of breast", "cancer of ovary"]),
        ("Prader-Willi and Angelman syndromes", ["Prader-Willi syndromes", "Angelman syndromes"]),
        ("cleft lip and palate", ["cleft lip", "cleft palate"]),
        ("cleft lip and/or palate", ["cleft lip", "cleft palate"]),
        ("cleft lip/palate", ["cleft lip", "cleft palate"]),
        ("breast and soft tissue tumours", ["breast tumours", "soft tissue tumours"]),
        (
            "progressive gait and limb ataxia",
            ["progressive gait ataxia", "progressive limb ataxia"],
        ),
        ("nausea and vomiting", ["nausea", "vomiting"]),
    ],
)
def test_split(mention: str, parts: list[str]) -> None:
    assert split(mention, is_name) == parts


@pytest.mark.parametrize(
    "mention",
    [
        "breast cancer",
        "Duchenne and Becker muscular dystrophy",
        "Duchenne or Becker muscular dystrophy",
        "Duchenne/Becker muscular dystrophy",
        "hereditary breast and ovarian cancer syndrome",
        "hereditary breast and ovarian cancer",
        "familial breast and ovarian cancers",
        "inherited breast/ovarian cancer",
        "breast/ovarian cancer",
        "hand, foot and mouth disease",
        "spinocerebellar ataxia 3/Machado-Joseph disease",
        "hypertrophic and non-hypertrophic cardiomyopathy",
        "familial and hypertrophic cardiomyopathy",
        "short trunk and extremities",
        "loss of position and vibration sense",
        "breast cancer, ovarian cancer",
        "breast (and ovarian) cancer",
        "breast and ovarian cancer and vomiting",
        "renal and",
        "and",
        "/",
        ", and ,",
        "",
    ],
)
def test_what_stays_whole(mention: str) -> None:
    assert split(mention, is_name) == [mention]


@given(
    st.lists(
        st.sampled_from(
            [
                "and",
                "or",
                "and/or",
                "/",
                ",",
                "&",
                "breast",
                "ovarian",
                "cancer",
                "of",
                "the",
                "a",
                "C5",
                "(",
                " ",
            ]
        ),
        max_size=14,
    )
)
def test_any_mention_gives_names_with_words(words: list[str]) -> None:
    mention = " ".join(words)
    parts = split(mention, is_name)
    assert parts == [mention] or (len(parts) > 1 and all(part.strip() for part in parts))
    assert len(split_by_gold(mention, 2)) in (1, 2)


@given(st.text())
def test_never_fails(mention: str) -> None:
    assert split(mention, lambda _: True) == [mention]
    assert "".join(split_by_gold(mention, 1)) == mention.strip()


def test_a_long_mention_is_left_whole() -> None:
    mention = "a, b and " * 10_000
    assert split(mention, is_name) == [mention]
    assert split_by_gold(mention, 3) == [mention.strip()]


@pytest.mark.parametrize(
    ("mention", "parts", "names"),
    [
        ("breast and ovarian cancer", 2, ["breast cancer", "ovarian cancer"]),
        ("breast and ovarian cancer", 1, ["breast and ovarian cancer"]),
        ("breast and ovarian cancer", 3, ["breast and ovarian cancer"]),
        ("breast and/or ovarian cancer", 2, ["breast cancer", "ovarian cancer"]),
        (
            "brain, breast, and prostate cancer",
            3,
            ["brain cancer", "breast cancer", "prostate cancer"],
        ),
        ("colon and some other cancers", 2, ["colon other cancers", "some other cancers"]),
        ("cancer of the breast and ovaries", 2, ["cancer of breast", "cancer of ovaries"]),
        ("bone and soft tissue tumors", 2, ["bone tissue tumors", "soft tissue tumors"]),
        ("Duchenne/Becker muscular dystrophy", 2, ["Duchenne", "Becker muscular dystrophy"]),
        ("cleft lip/palate", 2, ["cleft lip", "cleft palate"]),
        ("recurrent meningitis", 2, ["recurrent", "meningitis"]),
        ("combined deficiency of C6 and C7", 2, ["combined deficiency of C6 and C7"]),
        ("cleft lip and/or palate", 2, ["cleft lip and/or palate"]),
        (" hemophilia ", 2, ["hemophilia"]),
    ],
)
def test_split_by_gold(mention: str, parts: int, names: list[str]) -> None:
    assert split_by_gold(mention, parts) == names


@pytest.mark.data
def test_few_single_mentions_of_the_corpus_are_split(data: Path) -> None:
    from linker.readers import medic, pubtator

    concepts = medic.read(data / "medic" / "CTD_diseases_2017-06-06.tsv.gz")
    names = {normalize(name.text) for concept in concepts for name in concept.names}
    gold: dict[str, set[int]] = {}
    for document in pubtator.read(data / "ncbi-disease" / "NCBI_devel.pubtator.txt.gz"):
        for mention in document.mentions:
            gold.setdefault(mention.text, set()).add(len(mention.gold or ()))
    single = [text for text, parts in gold.items() if parts == {1}]
    composite = [text for text, parts in gold.items() if max(parts) > 1]
    assert sum(
        len(split(text, lambda t: normalize(t) in names)) > 1 for text in single
    ) <= 0.003 * len(single)
    right = sum(
        len(split(text, lambda t: normalize(t) in names)) in gold[text] for text in composite
    )
    assert right >= 0.7 * len(composite)
