"""UMLS RRF files, made line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.errors import InputError
from linker.io.parsing import Languages
from linker.io.tabs import rrf
from linker.records import Concept, Name

from .conftest import refused


def atom(
    cui: str,
    text: str,
    *,
    lat: str = "ENG",
    flags: str = "S VO N",
    sab: str = "AAA",
    tty: str = "SY",
    suppress: str = "N",
) -> str:
    ts, stt, preferred = flags.split()
    return f"{cui}|{lat}|{ts}|L1|{stt}|S1|{preferred}|A1||||{sab}|{tty}|1|{text}|0|{suppress}||"


def relation(first: str, rel: str, second: str, *, sab: str = "AAA", suppress: str = "N") -> str:
    return f"{first}|A1|AUI|{rel}|{second}|A2|AUI|isa|R1||{sab}|{sab}|||{suppress}||"


def semantic_type(cui: str, tui: str) -> str:
    return f"{cui}|{tui}|B2.2|Disease|AT1||"


NAMES = [
    atom("C9000001", "animal disease", flags="P PF Y"),
    atom("C9000002", "ovine fever"),
    atom("C9000002", "sheep fever", flags="P PF Y", sab="BBB"),
    atom("C9000002", "ovine fever", sab="BBB"),
    atom("C9000002", "SF", tty="AB"),
    atom("C9000002", "OF", tty="ACR"),
    atom("C9000002", "fièvre du mouton", lat="FRE", flags="P PF Y"),
    atom("C9000002", "old fever", suppress="O"),
    atom("C9000002", "edited fever", suppress="E"),
    atom("C9000002", "kind of fever", suppress="Y"),
    atom("C9000003", "fièvre", lat="FRE"),
    atom("C9000004", "goat fever", sab="BBB"),
]
RELATIONS = [
    relation("C9000002", "PAR", "C9000001"),
    relation("C9000002", "PAR", "C9000001", sab="BBB"),
    relation("C9000002", "PAR", "C9000002"),
    relation("C9000002", "PAR", "C9000003"),
    relation("C9000002", "RB", "C9000004"),
    relation("C9000001", "CHD", "C9000002"),
    relation("C9000004", "PAR", "C9000002", suppress="O"),
    relation("C9000004", "PAR", "C9000001", sab="BBB"),
]
TYPES = [
    semantic_type("C9000002", "T047"),
    semantic_type("C9000002", "T033"),
    semantic_type("C9000003", "T184"),
]


@pytest.fixture
def meta(tmp_path: Path) -> Path:
    for name, lines in (("MRCONSO", NAMES), ("MRREL", RELATIONS), ("MRSTY", TYPES)):
        save(tmp_path / f"{name}.RRF", lines)
    return tmp_path


def save(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def parents(concepts: list[Concept]) -> dict[str, tuple[str, ...]]:
    return {c.id[-1]: tuple(p[-1] for p in c.parents) for c in concepts}


def test_a_concept_whole(meta: Path) -> None:
    identifier = "UMLS:C9000002"
    assert list(rrf.read(meta))[1] == Concept(
        identifier,
        "sheep fever",
        (
            Name("sheep fever", identifier, "preferred", "ENG", "BBB"),
            Name("ovine fever", identifier, "exact", "ENG", "AAA"),
            Name("SF", identifier, "abbreviation", "ENG", "AAA"),
            Name("OF", identifier, "abbreviation", "ENG", "AAA"),
        ),
        parents=("UMLS:C9000001",),
        types=("T033", "T047"),
        namespace="UMLS",
    )


def test_languages(meta: Path) -> None:
    french = list(rrf.read(meta, languages=Languages(["fr"])))
    assert [(c.id, c.name) for c in french] == [
        ("UMLS:C9000002", "fièvre du mouton"),
        ("UMLS:C9000003", "fièvre"),
    ]
    assert parents(french) == {"2": ("3",), "3": ()}
    both = {c.id: c for c in rrf.read(meta, languages=Languages(()))}
    assert both["UMLS:C9000002"].name == "sheep fever"
    assert both["UMLS:C9000002"].names[-1] == Name(
        "fièvre du mouton", "UMLS:C9000002", "exact", "FRE", "AAA"
    )


@pytest.mark.parametrize(
    "line", ["C9000002|ENG|a name", atom("", "a"), atom("D900001", "a"), atom("C9000001", " ")]
)
def test_bad_names_stop_or_are_skipped(meta: Path, line: str) -> None:
    path = save(meta / "MRCONSO.RRF", [line, *NAMES])
    kept = refused(rrf.read, meta, 1, named=path)
    assert [c.id[-1] for c in kept] == ["1", "2", "4"]


def test_names_out_of_order(meta: Path) -> None:
    save(meta / "MRCONSO.RRF", [NAMES[-1], *NAMES])
    with pytest.raises(InputError):
        list(rrf.read(meta))


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("MRREL", "C9000002|PAR|C9000001|"),
        ("MRREL", relation("C9000002", "PAR", "mother")),
        ("MRSTY", "C9000002|T047"),
        ("MRSTY", semantic_type("C9000002", "Disease")),
    ],
)
def test_bad_parents_and_types_stop_or_are_skipped(meta: Path, file: str, line: str) -> None:
    good = list(rrf.read(meta))
    path = save(meta / f"{file}.RRF", [line, *(RELATIONS if file == "MRREL" else TYPES)])
    assert refused(rrf.read, meta, 1, named=path) == good
