"""The preprocessing of BioSyn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.text.biosyn import biosyn_parts, expand_tokens, split_by_gold

TABLE = {
    "AT": "ataxia telangiectasia",
    "NBS": "Nijmegen breakage syndrome",
    "H": "hypodontia",
    "DM1": "DM type 1",
    "DM": "myotonic dystrophy",
}
EXPANDED = """
AT  patients: ataxia telangiectasia patients
AT/NBS: ataxia telangiectasia/Nijmegen breakage syndrome
AT, x: ataxia telangiectasia, x
AT-like: AT-like
(AT): (AT)
type H disease: type hypodontia disease
DM1: myotonic dystrophy type 1
"""
SPLIT = """
breast and ovarian cancer: 2: breast cancer | ovarian cancer
breast and ovarian cancer: 1: breast and ovarian cancer
breast and ovarian cancer: 3: breast and ovarian cancer
breast and/or ovarian cancer: 2: breast cancer | ovarian cancer
brain, breast, and prostate cancer: 3: brain cancer | breast cancer | prostate cancer
colon and some other cancers: 2: colon other cancers | some other cancers
cancer of the breast and ovaries: 2: cancer of breast | cancer of ovaries
bone and soft tissue tumors: 2: bone tissue tumors | soft tissue tumors
Duchenne/Becker muscular dystrophy: 2: Duchenne | Becker muscular dystrophy
cleft lip/palate: 2: cleft lip | cleft palate
recurrent meningitis: 2: recurrent | meningitis
combined deficiency of C6 and C7: 2: combined deficiency of C6 and C7
cleft lip and/or palate: 2: cleft lip and/or palate
"""


@pytest.mark.parametrize("line", EXPANDED.strip().split("\n"))
def test_expand_tokens_knows_words_only(line: str) -> None:
    mention, _, expanded = line.partition(": ")
    assert expand_tokens(mention, TABLE) == expanded


@pytest.mark.parametrize("line", SPLIT.strip().split("\n"))
def test_split_by_gold(line: str) -> None:
    mention, parts, names = line.split(": ")
    assert split_by_gold(mention, int(parts)) == names.split(" | ")


@given(st.text())
def test_any_mention_is_whole_or_split(mention: str) -> None:
    assert split_by_gold(mention, 1) == [mention.strip()]
    assert len(split_by_gold(mention, 2)) in (1, 2)


@pytest.mark.parametrize(
    ("ids", "parts"),
    [
        (["MESH:1", "MESH:2"], ["breast tumor", "ovarian tumor"]),
        (["MESH:1", "OMIM:2"], ["breast and ovarian tumor"]),  # ids of OMIM do not count
        (["OMIM:1", "OMIM:2"], ["breast tumor", "ovarian tumor"]),  # unless they are alone
    ],
)
def test_a_mention(ids: list[str], parts: list[str]) -> None:
    definitions, corrections = {"OT": "Ovarian tumour"}, {"tumour": "tumor"}
    assert biosyn_parts("breast and OT", definitions, ids, corrections) == parts
