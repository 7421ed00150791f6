"""Composite mentions, split without a look at gold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.text.composites import split
from linker.text.normalize import normalize

_NAMES = """
acute renal failure, angelman syndrome, becker muscular dystrophy, breast cancer, breast neoplasms,
c5 deficiency, c6 deficiency, c7 deficiency, cancer, cancer of ovary, cardiomyopathy, cleft lip,
cleft palate, colorectal cancer, duchenne and becker muscular dystrophy,
duchenne muscular dystrophy, endometrial cancer, gait ataxia, hand foot and mouth disease,
hepatitis a, hepatitis b, hepatitis c, hereditary breast and ovarian cancer syndrome,
hypertrophic cardiomyopathy, limb ataxia, machado joseph disease, nausea, ovarian cancer,
ovarian cancers, prader willi syndrome, soft tissue neoplasms, spinocerebellar ataxia 3, vomiting
"""
NAMES = {"", *map(str.strip, _NAMES.split(","))}


def is_name(text: str) -> bool:
    return normalize(text) in NAMES


SPLIT = """
breast and ovarian cancer: breast cancer | ovarian cancer
breast & ovarian cancer: breast cancer | ovarian cancer
breast and 79 ovarian cancers: breast cancers | ovarian cancers
sporadic breast and ovarian cancers: sporadic breast cancers | sporadic ovarian cancers
colorectal and other cancers: colorectal cancers | cancers
hepatitis B/C: hepatitis B | hepatitis C
hepatitis A/B/C: hepatitis A | hepatitis B | hepatitis C
deficiency of C5, C6 and C7: deficiency of C5 | deficiency of C6 | deficiency of C7
C6 or C7 deficiencies: C6 deficiencies | C7 deficiencies
Combined subtotal deficiency of C6 and C7: Combined subtotal deficiency of C6 | Combined subtotal deficiency of C7
atrophic or hypertrophic cardiomyopathy: atrophic cardiomyopathy | hypertrophic cardiomyopathy
colorectal, endometrial, and ovarian cancers: colorectal cancers | endometrial cancers | ovarian cancers
colorectal, skin, and ovarian cancers: colorectal cancers | skin cancers | ovarian cancers
cancer of the breast and ovary: cancer of breast | cancer of ovary
Prader-Willi and Angelman syndromes: Prader-Willi syndromes | Angelman syndromes
cleft lip and palate: cleft lip | cleft palate
cleft lip and/or palate: cleft lip | cleft palate
cleft lip/palate: cleft lip | cleft palate
breast and soft tissue tumours: breast tumours | soft tissue tumours
progressive gait and limb ataxia: progressive gait ataxia | progressive limb ataxia
nausea and vomiting: nausea | vomiting
"""


@pytest.mark.parametrize("line", SPLIT.strip().split("\n"))
def test_split(line: str) -> None:
    mention, _, parts = line.partition(": ")
    assert split(mention, is_name) == parts.split(" | ")


WHOLE = """
breast cancer
Duchenne and Becker muscular dystrophy
Duchenne or Becker muscular dystrophy
Duchenne/Becker muscular dystrophy
hereditary breast and ovarian cancer syndrome
hereditary breast and ovarian cancer
familial breast and ovarian cancers
inherited breast/ovarian cancer
breast/ovarian cancer
hand, foot and mouth disease
spinocerebellar ataxia 3/Machado-Joseph disease
hypertrophic and non-hypertrophic cardiomyopathy
familial and hypertrophic cardiomyopathy
short trunk and extremities
loss of position and vibration sense
breast cancer, ovarian cancer
breast (and ovarian) cancer
breast and ovarian cancer and vomiting
renal and
and
/
, and ,
"""


@pytest.mark.parametrize("mention", [*WHOLE.strip().split("\n"), ""])
def test_what_stays_whole(mention: str) -> None:
    assert split(mention, is_name) == [mention]


WORDS = [
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
]


@given(st.lists(st.sampled_from(WORDS), max_size=14))
def test_any_mention_gives_names_with_words(words: list[str]) -> None:
    mention = " ".join(words)
    parts = split(mention, is_name)
    assert parts == [mention] or (len(parts) > 1 and all(part.strip() for part in parts))


@pytest.mark.data
def test_few_single_mentions_of_the_corpus_are_split(data: Path) -> None:
    from linker.io import pubtator
    from linker.io.table import medic

    concepts = medic.read(data / "medic" / "CTD_diseases_2017-06-06.tsv.gz")
    names = {normalize(name.text) for concept in concepts for name in concept.names}
    gold: dict[str, set[int]] = {}
    for document in pubtator.read(data / "ncbi-disease" / "NCBI_devel.pubtator.txt.gz"):
        for mention in document.mentions:
            gold.setdefault(mention.text, set()).add(len(mention.gold or ()))
    single = [text for text, parts in gold.items() if parts == {1}]
    composite = [text for text, parts in gold.items() if max(parts) > 1]
    counts = {text: len(split(text, lambda t: normalize(t) in names)) for text in gold}
    assert sum(counts[text] > 1 for text in single) <= 0.003 * len(single)
    assert sum(counts[text] in gold[text] for text in composite) >= 0.7 * len(composite)
