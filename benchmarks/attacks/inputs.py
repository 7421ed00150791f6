"""Small valid files of each format, which attacks start from, and mutations of bytes: small faults, hostile values, and what is far too much."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import re
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from linker import Dictionary


def dictionary(folder: Path) -> Dictionary:
    """Make a folder with the file of a small dictionary, dict.tsv, which is read."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dict.tsv").write_bytes(TABLE)
    return Dictionary.read(folder / "dict.tsv")


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
[normalize]
greek=true
"""
TEXT = b"breast cancer is a tumor of the breast\nsheep fever and ataxia of sheep\n\ngout hurts\n"
WORD2VEC_TEXT = b"3 4\nbreast 0.1 0.2 0.3 0.4\ncancer 1 2 3 -4.5e-1\nfever 0 0 0 1\n"
_VECTORS = {b"breast": (0.1, 0.2, 0.3, 0.4), b"cancer": (1, 2, 3, -0.45), b"fever": (0, 0, 0, 1)}
WORD2VEC_BINARY = b"3 4\n" + b"".join(
    word + b" " + struct.pack("4f", *row) + b"\n" for word, row in _VECTORS.items()
)


def _prediction(mention: str, *found: tuple[str, str, float]) -> str:
    names = ("concept_id", "name", "matched_name", "score", "sparse_score", "dense_score")
    candidates = [
        dict(zip(names, (i, name, name, s, s, None), strict=True)) for i, name, s in found
    ]
    part = {"text": mention, "expanded": None, "spans": [[0, 4]], "nil": not candidates}
    about = {"schema": 1, "mention": mention, "document_id": "1", "spans": [[0, 4]]}
    return json.dumps(about | {"parts": [part | {"candidates": candidates}]}) + "\n"


_CANCER = (("MESH:D001943", "Breast Neoplasms", 0.93), ("MESH:D009369", "Neoplasms", 0.5))
_PREDICTED = (  # of the mentions of TSV_PLAIN
    _prediction("breast cancer", *_CANCER),
    _prediction("ataxia", ("OMIM:208900", "Ataxia Telangiectasia", 0.4)),
    _prediction("the thing"),
)
PREDICTIONS = "".join(_PREDICTED).encode()


def _biosyn(mention: str, gold: str, *found: tuple[str, str]) -> dict[str, object]:
    candidates = [{"name": name, "cui": cui, "label": 1} for name, cui in found]
    return {"mentions": [{"mention": mention, "golden_cui": gold, "candidates": candidates}]}


_FOUND = (("breast cancer", "D001943"), ("cancer", "D009369|D000001"))
_QUERIES = [
    _biosyn("breast cancer", "D001943", *_FOUND),
    _biosyn("ataxia", "208900+D001260", ("ataxia", "OMIM:208900")),
    _biosyn("the thing", "-1", ("cancer", "D009369")),
]
BIOSYN = json.dumps({"queries": _QUERIES, "acc1": 0.5}).encode()

# ---------------------------------------------------------------------------------------- mutations

LARGE = 300_000  # bytes that a mutation adds at most
NUMBERS = (
    "0", "-1", "1", "-0", "0.5", "1e400", "-1e400", "1e-400", "Infinity", "-Infinity", "NaN",
    "inf", "nan", "1e999999999", "127", "255", "256", "32768", "65536", "2147483647",
    "2147483648", "4294967296", "2500000000", "999999999", "9223372036854775807",
    "9223372036854775808", "1" + "0" * 20, "-1" + "0" * 20, "9" * 400, "-" + "9" * 400,
    "9" * 5000, "007", "1_0", "0x10", "٣", "²", "½", " 5", "", "true", "text",
)  # fmt: skip
TOKENS = (
    b"\t", b"|", b"||", b"+", b'"', b"'", b"\\", b"/", b",", b";", b":", b" ", b"<", b">", b"&",
    b"{", b"}", b"[", b"]", b"#", b"!", b"\n", b"\r", b"\r\n", b"\n\n", b"\x00", b"\x0b",
    b"\x0c", b"\x1a", b"\x7f", b"\x80", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf",
    b"\xff\xfe", b"\xc2\x85", b"\xe2\x80\xa8", b"\xf0\x9f\xa6\xa0", b"\xcc\x81",
    b"\xe2\x80\xae", b"\xf4\x90\x80\x80", b"\\ud800", b"\\udfff", b"\\u0000", b"&#0;",
    b"&#xd800;", b"&a;", b"]]>", b"<![CDATA[", b"<!--", b"<?x?>", b"\x1f\x8b", b"PK\x03\x04",
    b"|t|", b"|a|", b"[Term]\n", b"id:", b"is_a: X:1\n", b"MESH:", b"-1", b"null", b"[]", b"{}",
    b'""', b'{"schema": 2}', b"mention\tid\n",
)  # fmt: skip
ENTITIES = (
    b'<!DOCTYPE collection [<!ENTITY a "aaaaaaaaaa">%s<!ENTITY f SYSTEM "file:///etc/hostname">]>'
    % b"".join(
        b'<!ENTITY %c "%s">' % (name, b"&%c;" % (name - 1) * 10)
        for name in range(ord("b"), ord("k"))
    )
)
NESTED = (b"[", b'{"a":', b"<a>", b"(", b'[{"a":', b"<passage>", b"a.")
_NUMBER = re.compile(rb"-?\d+(\.\d+)?")


def mutated(rng: random.Random, data: bytes) -> bytes:
    """One to four mutations of some bytes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(_WEIGHTED)(rng, data)
    return data


def packed(rng: random.Random, data: bytes) -> tuple[bytes, bool]:
    """The bytes as they are or in gzip, and whether they can be taken out again."""
    choice = rng.random()
    if choice < 0.85:
        return data, True
    packed = gzip.compress(data, mtime=0)
    if choice < 0.92:
        return packed, True
    if choice < 0.95:
        return packed[: rng.randrange(2, len(packed))], False
    return b"\x1f\x8b" + _flip(rng, packed)[2:], False


def _chunk(rng: random.Random, data: bytes) -> tuple[bytes, bytes, bytes]:
    """A chunk, between what stands before and behind it."""
    start = rng.randint(0, len(data))
    end = min(len(data), start + rng.choice((1, 2, 4, 10, 40, 200)))
    return data[:start], data[start:end], data[end:]


def _flip(rng: random.Random, data: bytes) -> bytes:
    flipped = bytearray(data)
    for _ in range(min(len(data), rng.choice((1, 1, 2, 8)))):
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def _on_chunk(rng: random.Random, data: bytes, how: str) -> bytes:
    """A chunk is other bytes, is gone, or stands there many times: long lines, many cells."""
    before, chunk, behind = _chunk(rng, data)
    if how == "set":
        chunk = rng.randbytes(len(chunk))
    elif how == "delete":
        chunk = b""
    else:
        times = rng.choice((50, 2_000, 20_000, 200_000))
        chunk *= min(times, LARGE // max(1, len(chunk)))
    return before + chunk + behind


def _at_place(rng: random.Random, data: bytes, how: str) -> bytes:
    """Something is inserted at a place: a token, brackets without end, a chunk of the data."""
    new = _chunk(rng, data)[1] if how == "duplicate" else b""
    at = rng.randint(0, len(data))
    if how == "insert":
        new = rng.choice(TOKENS) * rng.choice((1, 1, 1, 2, 10))
    elif how == "nest":
        new = rng.choice(NESTED) * rng.choice((100, 2_000, 100_000))
    return data[:at] + new + data[at:]


def _number(rng: random.Random, data: bytes, *, counted: bool = False) -> bytes:
    """A number is another; or with what stands around it is there many times, counted up: many distinct ids or words in a line."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    at = rng.choice(found)
    if not counted:
        return data[: at.start()] + rng.choice(NUMBERS).encode() + data[at.end() :]
    start = data.rfind(rng.choice((b"|", b" ", b"\t", b"\n", b",", b";")), 0, at.start()) + 1
    sign = rng.choice((b"|", b"||", b" ", b"\t", b",", b";", b"\n"))
    before, times = rng.choice((data[start : at.start()][:20], b"")), (50, 2_000, 9_000, 16_000)
    many = b"".join(b"%s%d%s" % (before, n, sign) for n in range(rng.choice(times)))
    return data[:start] + many + data[start:]


def _lines(rng: random.Random, data: bytes) -> bytes:
    """Lines in another order, lost or doubled."""
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.randrange(3)
    if change == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif change == 1:
        del lines[one]
    else:
        lines.insert(other, lines[one])
    return b"".join(lines)


def _line_ends(rng: random.Random, data: bytes) -> bytes:
    end = rng.choice((b"\r", b"\r\n", b"\n\n", b"\n\r", b"\x85", b"\x00\n", b" \n"))
    return data.replace(b"\n", end, -1 if rng.random() < 0.5 else rng.randint(1, 3))


def _encoding(rng: random.Random, data: bytes) -> bytes:
    how = rng.choice(("", "utf-16", "utf-16-le", "utf-32"))
    return data.decode("utf-8", "replace").encode(how) if how else b"\xef\xbb\xbf" + data


def _entities(rng: random.Random, data: bytes) -> bytes:
    """XML entities: one within the other, and a file."""
    at = data.find(b"<", rng.choice((0, 1))) if b"<" in data else 0
    text = data.find(b"</", rng.randint(0, len(data)))
    entity = rng.choice((b"&a;", b"&c;", b"&j;", b"&f;"))
    inner = data[at:text] + entity + data[text:] if text > at else data[at:]
    return data[:at] + ENTITIES + inner


def _json(rng: random.Random, data: bytes) -> bytes:
    """A value of a JSON text, or of a line of one, changed."""
    for is_whole in (True, False):
        lines = [data] if is_whole else data.split(b"\n")
        at = 0 if is_whole else rng.randrange(len(lines))
        with contextlib.suppress(ValueError, RecursionError):
            lines[at] = json.dumps(changed(rng, json.loads(lines[at]))).encode()
            return b"\n".join(lines)
    return _at_place(rng, data, "insert")


def changed(rng: random.Random, value: Any) -> Any:
    """A JSON value of which one value, somewhere in it, is another."""
    holders = [holder for holder in _holders(value) if holder]
    if not holders:
        return other(rng)
    holder = rng.choice(holders)
    key = rng.choice(sorted(holder) if isinstance(holder, dict) else range(len(holder)))
    how = rng.randrange(6)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[key + rng.choice(("", "x", "\ud800", "\0"))] = holder.pop(key)
    elif how == 2:
        old = holder[key]
        holder[key] = rng.choice(([old], {"a": old}, str(old), [old] * 1000))
    else:
        holder[key] = other(rng)
    return value


def _holders(value: Any) -> list[Any]:
    if not isinstance(value, dict | list):
        return []
    inner = value.values() if isinstance(value, dict) else value
    return [value, *(holder for one in inner for holder in _holders(one))]


def other(rng: random.Random) -> Any:
    """A value that is not expected."""
    if rng.random() < 0.1:
        nested: Any = []
        for _ in range(rng.choice((10, 200))):
            nested = rng.choice(([nested], {"a": nested}))
        return nested
    return rng.choice(
        (
            None, True, False, 0, -1, 1, 0.5, 1e308, float("inf"), float("-inf"), float("nan"),
            2**31, 2**63, 10**20, int("9" * 400), "", " ", "a", "-1", "null", "\ud800",
            "a\udfffb", "\0", "\n", "a\tb", '"', "x" * 2_000, "x" * 200_000, "😀", "../../x",
            "/", [], {}, [[]], [None], ["a"], [1, 2], [[1, 2]], [[0, float("inf")]], [[-1, 0]],
            {"a": 1}, {"": {}}, [1.5] * 3, [[0, 10**20]],
        )
    )  # fmt: skip


_Mutation = Callable[[random.Random, bytes], bytes]
_WEIGHTED: list[_Mutation] = [
    *(_flip, _flip, *[partial(_on_chunk, how="set")] * 2, *[partial(_on_chunk, how="delete")] * 2),
    *[partial(_at_place, how="duplicate")] * 2,
    *[lambda rng, data: data[: rng.randint(0, len(data))]] * 2,
    *(_lines, _lines, _line_ends, _line_ends, _encoding, _encoding),
    *(
        partial(_on_chunk, how="repeat"),
        partial(_number, counted=True),
        partial(_at_place, how="nest"),
        _entities,
    ),
    *([partial(_at_place, how="insert")] * 6 + [_number] * 6 + [_json] * 6),
]
