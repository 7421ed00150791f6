"""BioSyn `.concept` files."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.io import biosyn
from linker.records import GoldGroup, Mention

from .conftest import refused


def folder(path: Path) -> Path:
    (path / "7.concept").write_text(
        "7||0|4||SpecificDisease||gout||D006073\n7||9|30||CompositeMention||breast cancer|ovarian cancer||D001943|D010051\n"
    )
    (path / "12.concept").write_text(
        "12||5|9||DiseaseClass||ochronotic|arthropathy|| D009794+190300\n12||11|12||Modifier||x||-1\n"
    )
    (path / "notes.txt").write_text("not read")
    return path


def test_folder(tmp_path: Path) -> None:
    first, second = biosyn.read_mentions(folder(tmp_path))
    assert [first.id, second.id] == ["12", "7"]
    assert second.mentions[0] == Mention(
        "gout",
        ((0, 4),),
        (GoldGroup(("MESH:D006073",)),),
        "SpecificDisease",
        "7",
        metadata={"concept:ids": "D006073"},
    )
    assert [m.gold for m in first.mentions] == [
        (GoldGroup(("MESH:D009794", "OMIM:190300"), "all_of"),),
        (),
    ]
    assert second.mentions[1].text == "breast cancer|ovarian cancer"
    assert second.mentions[1].gold == (GoldGroup(("MESH:D001943",)), GoldGroup(("MESH:D010051",)))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1||0|4||A||gout", "the line is not a mention: '1||0|4||A||gout'; expected"),
        ("1||0-4||A||gout||D1", "the line is not a mention"),
        ("1||0|4||A|| ||D1", "the mention is empty"),
        ("", "the line is not a mention: ''"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "1.concept"
    path.write_text(f"{line}\n1||0|4||A||gout||D1\n")
    (document,) = refused(biosyn.read_mentions, path, 1)
    assert len(document.mentions) == 1
