"""Small valid files of each format, which attacks start from."""

from __future__ import annotations

import json
import struct
from pathlib import Path

_DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
PUBTATOR, BIOC_XML, BIOC_JSON, OBO = (
    (_DATA / name).read_bytes()
    for name in ("mini.pubtator.txt", "mini.bioc.xml", "mini.bioc.json", "tiny.obo")
)

TABLE = b"""id\tname\tsynonyms\tparents\talt_ids\tdefinition\ttypes\tstatus\treplaced_by\txrefs
MESH:D001943\tBreast Neoplasms\tbreast cancer|mammary tumor\tMESH:D009369\tMESH:D000001\tA "hot" one.\tT191\tcurrent\t\tUMLS:C1
MESH:D009369\tNeoplasms\tcancer|tumor\t\t\t\tT191\t\t\t
MESH:D010051\tOvarian Neoplasms\tovarian cancer\tMESH:D009369\t\t\t\t\t\t
OMIM:208900\tAtaxia Telangiectasia\tA-T|louis\\|bar syndrome\t\t\t\t\t\t\t
MESH:D006073\tGout\t\t\t\t\t\tobsolete\tMESH:D009369\t
"""
TABLE_CSV = b"""id,name,synonyms,parents
MESH:D001943,"Breast Neoplasms, all",breast cancer|mammary tumor,MESH:D009369
MESH:D009369,"Neo""plasms",cancer,
"""
MEDIC = b"""# Report created: Wed Apr 30 10:00:00 EDT 2026
# DiseaseName\tDiseaseID\tAltDiseaseIDs\tDefinition\tParentIDs\tTreeNumbers\tParentTreeNumbers\tSynonyms\tSlimMappings
#
Breast Neoplasms\tMESH:D001943\tDO:DOID:1612\tTumors.\tMESH:D009369\tC04.588\tC04\tBreast Cancer|Mammary Tumor\tCancer
Neoplasms\tMESH:D009369\t\t\t\tC04\t\tTumors|Cancer\tCancer
Ataxia Telangiectasia\tOMIM:208900\tMESH:D001260\t\tMESH:D009369\t\t\tLouis-Bar Syndrome\t
"""
MEDIC_CSV = b"""# Report created: Wed Apr 30 10:00:00 EDT 2026
# DiseaseName,DiseaseID,AltDiseaseIDs,Definition,ParentIDs,TreeNumbers,ParentTreeNumbers,Synonyms,SlimMappings
"Breast Neoplasms, all",MESH:D001943,DO:DOID:1612,"Some ""hot"" tumors.",MESH:D009369,C04.588,C04,Breast Cancer|Mammary Tumor,Cancer
Neoplasms,MESH:D009369,,,,C04,,Tumors|Cancer,Cancer
"""
NAMES = b"""MESH:D001943||breast neoplasms
MESH:D001943||breast cancer
OMIM:208900|MESH:D001260||ataxia telangiectasia|louis bar syndrome
MESH:D009369||cancer
MESH:D001943|MESH:D009369||tumor
"""
MRCONSO = b"""C0000001|ENG|P|L1|PF|S1|Y|A1||||MSH|MH|1|animal disease|0|N||
C0000002|ENG|S|L1|VO|S1|N|A1||||MSH|SY|1|ovine fever|0|N||
C0000002|ENG|P|L1|PF|S1|Y|A1||||SNOMEDCT_US|SY|1|sheep fever|0|N||
C0000002|FRE|P|L1|PF|S1|Y|A1||||MSH|SY|1|fi\xc3\xa8vre du mouton|0|N||
C0000003|ENG|S|L1|VO|S1|N|A1||||MSH|AB|1|GF|0|N||
C0000003|ENG|S|L1|VO|S1|N|A1||||MSH|SY|1|goat fever|0|O||
"""
MRREL = b"""C0000002|A1|AUI|PAR|C0000001|A2|AUI|isa|R1||MSH|MSH|||N||
C0000003|A1|AUI|PAR|C0000002|A2|AUI|isa|R1||MSH|MSH|||N||
C0000001|A1|AUI|CHD|C0000002|A2|AUI|isa|R1||MSH|MSH|||N||
"""
MRSTY = b"C0000002|T047|B2.2|Disease|AT1||\nC0000003|T184|B2.2|Disease|AT1||\n"
TXT = "breast cancer\novarian and breast cancer\n\nβ-thalassaemia\n  Gout \n".encode()
TSV = b"mention\tid\ttype\nbreast cancer\tMESH:D001943\tDisease\nbreast and ovarian cancer\tD001943|D010051\t\nthe thing\t-1\tDisease\n"
TSV_PLAIN = b"breast cancer\tMESH:D001943\nataxia\tOMIM:208900+D001260\nthe thing\t-1\n"
CSV = b'document,mention,id\n1,"cancer, breast",MESH:D001943\n2,"a ""hot"" gout",-1\n'
JSONL = b"""{"mention": "breast cancer", "gold": "MESH:D001943", "document_id": "1", "spans": [[0, 13]], "type": "Disease"}
{"mention": "breast and ovarian cancer", "ids": ["D001943", "D010051"], "document_id": 7, "spans": [[0, 6], [11, 25]]}
{"mention": "gout", "id": null, "spans": null}
"""
CONCEPT = b"""101||0|6||Disease||ataxia||D001259
101||48|73||CompositeMention||breast cancer|ovarian cancer||D001943|D010051
102||0|4||Disease||gout||-1
"""
SPELLING = b"tumour||tumor\nhaemo  philia||hemophilia\nof||\n"
TOML = b"""[sparse]
ngram_max = 3
analyzer = "char_wb"
sublinear = true

[text]
abbreviations = true
document_weight = 0.5
[normalize]
greek=true
"""
TEXT = b"breast cancer is a tumor of the breast\nsheep fever and ataxia of sheep\n\ngout hurts\n"
WORD2VEC_TEXT = b"3 4\nbreast 0.1 0.2 0.3 0.4\ncancer 1 2 3 -4.5e-1\nfever 0 0 0 1\n"
WORD2VEC_BINARY = b"3 4\n" + b"".join(
    word + b" " + struct.pack("4f", *row) + b"\n"
    for word, row in (
        (b"breast", (0.1, 0.2, 0.3, 0.4)),
        (b"cancer", (1, 2, 3, -0.45)),
        (b"fever", (0, 0, 0, 1)),
    )
)


def _prediction(mention: str, *found: tuple[str, str, float]) -> dict[str, object]:
    candidates = [
        {"concept_id": i, "name": name, "matched_name": name, "score": score}
        | {"sparse_score": score, "dense_score": None}
        for i, name, score in found
    ]
    part = {"text": mention, "expanded": None, "spans": [[0, 4]], "nil": not candidates}
    part["candidates"] = candidates
    return {"schema": 1, "mention": mention, "document_id": "1", "spans": [[0, 4]], "parts": [part]}


_PREDICTED = (  # of the mentions of TSV_PLAIN
    _prediction(
        "breast cancer",
        ("MESH:D001943", "Breast Neoplasms", 0.93),
        ("MESH:D009369", "Neoplasms", 0.5),
    ),
    _prediction("ataxia", ("OMIM:208900", "Ataxia Telangiectasia", 0.4)),
    _prediction("the thing"),
)
PREDICTIONS = "".join(json.dumps(prediction) + "\n" for prediction in _PREDICTED).encode()


def _biosyn(mention: str, gold: str, *found: tuple[str, str]) -> dict[str, object]:
    candidates = [{"name": name, "cui": cui, "label": 1} for name, cui in found]
    return {"mentions": [{"mention": mention, "golden_cui": gold, "candidates": candidates}]}


_QUERIES = [
    _biosyn(
        "breast cancer", "D001943", ("breast cancer", "D001943"), ("cancer", "D009369|D000001")
    ),
    _biosyn("ataxia", "208900+D001260", ("ataxia", "OMIM:208900")),
    _biosyn("the thing", "-1", ("cancer", "D009369")),
]
BIOSYN = json.dumps({"queries": _QUERIES, "acc1": 0.5}).encode()
