"""The dictionary: reading several files, old ids, lending parents, adding mentions, saving."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker import Dictionary
from linker.dictionary.columns import Columns
from linker.errors import LinkerError
from linker.ids import format_gold
from linker.io import mentions, persistence
from linker.records import Name
from linker.text.normalize import normalize

HEADER = "id\tname\tsynonyms\tparents\talt_ids\tdefinition\ttypes\tstatus\treplaced_by\txrefs"
SMALL = """
A:1\tfever\tpyrexia|hyperthermia
A:2\tflu\tinfluenza|grippe\tA:1\tA:20|A:99\ta viral infection\tT1|T2\t\t\tX:7|Y:a\\|b
A:3\tswine flu\tH1N1\tA:2|A:1\tA:99\t\tT1
B:1\tcold\tflu\tA:1
A:4\told fever\t\t\t\t\t\tobsolete\tA:1
"""


def write(path: Path, text: str, header: str = HEADER) -> Path:
    width = header.count("\t")
    lines = [line + "\t" * (width - line.count("\t")) for line in text.strip("\n").splitlines()]
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def read(tmp_path: Path, text: str = SMALL, **choices: object) -> Dictionary:
    return Dictionary.read(write(tmp_path / "small.tsv", text), **choices)  # type: ignore[arg-type]


def parents(dictionary: Dictionary) -> dict[str, list[str]]:
    return {i: list(dictionary.concept(row).parents) for row, i in enumerate(dictionary.ids)}


def test_a_concept_gives_back_what_was_read(tmp_path: Path) -> None:
    dictionary = read(tmp_path)
    assert len(dictionary) == 4
    flu = dictionary.concept(1)
    assert (flu.id, flu.name, flu.namespace, flu.status) == ("A:2", "flu", "A", "current")
    assert flu.names == (
        Name("flu", "A:2", "preferred"),
        Name("grippe", "A:2"),
        Name("influenza", "A:2"),
    )
    assert (flu.parents, flu.alt_ids) == (("A:1",), ("A:20", "A:99"))
    assert (flu.definition, flu.types, flu.xrefs) == (
        "a viral infection",
        ("T1", "T2"),
        ("X:7", "Y:a|b"),
    )
    assert dictionary.concept(2).parents == ("A:1", "A:2")
    assert dictionary.concept(3).names == (Name("cold", "B:1", "preferred"), Name("flu", "B:1"))
    assert dictionary.preferred_name(2) == "swine flu"
    assert dictionary.name_rows(3).tolist() == [8, 9]


def test_an_id_is_looked_up_as_it_is_written_before_a_prefix_is_guessed(tmp_path: Path) -> None:
    bare = read(tmp_path, "127009\tfever\nMESH:D001260\tataxia\t\t\tD001261\n")
    ids = {"127009": "127009", "D001260": "MESH:D001260", "MeSH:D001260": "MESH:D001260"}
    ids |= {"D001261": "D001261"}
    assert {text: bare.identify(text) for text in ids} == ids
    assert [bare.identify(text) for text in ("OMIM:127009", "MESH:D001261", "x")] == [None] * 3
    assert (bare.rows("127009"), bare.rows("OMIM:127009"), bare.rows("D001260")) == ((0,), (), (1,))
    assert bare.resolve("D001260") == {"MESH:D001260"}


def test_gold_ids_of_other_spellings_are_those_of_the_dictionary(tmp_path: Path) -> None:
    dictionary = read(tmp_path, "ORPHA:558\tMarfan syndrome\nMONDO:0001\tgout\nXY:1\tfever\n")
    table = tmp_path / "gold.tsv"
    table.write_text(
        "a\tOrphanet:558\nb\thttp://www.orpha.net/ORDO/Orphanet_558\nc\tORDO_558|MONDO_0001\n"
        "d\thttp://purl.obolibrary.org/obo/MONDO_0001\ne\tXY_1\nf\txy:1\ng\tZ_1\n"
    )
    gold = {
        mention.text: format_gold(mention.gold or ())
        for mention, _ in mentions.flatten(mentions.read(table, identify=dictionary.identify))
    }
    assert gold == {
        "a": "ORPHA:558",
        "b": "ORPHA:558",
        "c": "ORPHA:558|MONDO:0001",
        "d": "MONDO:0001",
        "e": "XY:1",
        "f": "XY:1",
        "g": "Z_1",
    }


def test_choices_are_for_the_formats_that_have_them(tmp_path: Path) -> None:
    with_prefix = read(tmp_path, "127009\tfever\n", prefix="MIM")
    assert with_prefix.rows("127009") == with_prefix.rows("OMIM:127009") == (0,)
    (tmp_path / "names.txt").write_text("127009||flu\n")
    with pytest.raises(LinkerError):
        Dictionary.read(tmp_path / "names.txt", prefix="SCTID")
    with pytest.raises(LinkerError):
        read(tmp_path, languages=["GER"])
    table = write(tmp_path / "small.tsv", "127009\tfever\t\t127010\n127010\tcough\n")
    both = Dictionary.read(tmp_path / "names.txt", table, prefix="SCTID", hierarchy=table)
    assert list(both.ids) == ["OMIM:127009", "SCTID:127009", "SCTID:127010"]
    assert parents(both)["SCTID:127009"] == ["SCTID:127010"]


def test_names_rank_by_how_often_they_were_annotated_then_by_kind(tmp_path: Path) -> None:
    dictionary = read(tmp_path, "A:1\tache\tpain\nB:1\tPain\n")
    annotations = [("pain", ["A:1"])] * 2 + [
        ("PAIN", ["A:1"]),
        ("pains", ["B:1"]),
        ("pain", ["B:1"]),
    ]
    added = dictionary.add(annotations[:3], normalize).add(annotations[3:], normalize)
    names = [(added.name(row).text, added.name(row).concept_id) for row in range(len(added.names))]
    own = [("ache", "A:1"), ("pain", "A:1"), ("Pain", "B:1")]
    assert names == [*own, ("PAIN", "A:1"), ("pains", "B:1"), ("pain", "B:1")]
    assert added.columns.names.annotated is not None
    assert added.columns.names.annotated.tolist() == [0, 3, 1, 3, 1, 1]
    # 3 times: training, exact; once: training, preferred; never
    order = np.unique(added.entry_rank, return_inverse=True)[1]
    assert order.tolist() == [4, 1, 3, 0, 2, 2]
    assert dictionary.columns.names.annotated is None


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "A", "b", "B ", "c", "!"]), st.integers(0, 3)), max_size=12
    )
)
@settings(max_examples=40)
def test_table_the_slow_way(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, int]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "slow.tsv"
    dictionary = Dictionary.read(
        write(path, "X:0\ta\tA|b\nX:1\tone\ta|A|B\nX:2\tC\tone|c\nX:3\tb\n")
    ).add([(text, [f"X:{i}"]) for text, i in pairs], normalize)
    table = dictionary.table(normalize)
    first = ["training", "preferred", "exact"]

    def place(row: int) -> tuple[int, int]:
        name = dictionary.name(row)
        times = sum(
            normalize(text) == normalize(name.text) and f"X:{i}" == name.concept_id
            for text, i in pairs
        )
        return -times, first.index(name.kind)

    expected: dict[str, dict[int, int]] = {}
    for row in sorted(range(len(dictionary.names)), key=place):
        expected.setdefault(normalize(dictionary.names[row]), {}).setdefault(
            int(dictionary.name_concept[row]), row
        )
    names = {
        text: dict(zip(table.concepts[a:b].tolist(), table.entries[a:b].tolist(), strict=True))
        for text, a, b in zip(table.texts, table.indptr[:-1], table.indptr[1:], strict=True)
    }
    assert names == {text: concepts if text else {} for text, concepts in expected.items()}


def test_saving_and_loading_give_the_same_columns_memory_mapped(tmp_path: Path) -> None:
    dictionary = read(tmp_path).add([("the flu", ["A:2"])])
    dictionary.save(tmp_path / "saved")
    loaded = Dictionary.load(tmp_path / "saved")
    columns = loaded.columns.arrays()
    assert columns.keys() == dictionary.columns.arrays().keys()
    for name, values in dictionary.columns.arrays().items():
        assert np.array_equal(columns[name], values)
        assert columns[name].dtype == values.dtype
        assert isinstance(columns[name].base, mmap.mmap | np.memmap) or not len(values)
    assert (loaded.labels, loaded.sources) == (dictionary.labels, dictionary.sources)
    assert all(loaded.concept(row) == dictionary.concept(row) for row in range(4))
    assert loaded.old_ids == dictionary.old_ids
    assert loaded.hierarchy.ancestors([2])[0].tolist() == [0, 1]
    loaded.add([("more", ["A:1"])]).save(tmp_path / "again")  # what is mapped can be extended
    assert len(Dictionary.load(tmp_path / "again").names) == 12


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("name.concept", [0, 9, 0, 1, 1, 1, 2, 2, 2, 3], "a list names a row that is not there"),
        ("old.indptr", [0.5], "a list of rows is no list of whole numbers"),
    ],
)
def test_columns_that_do_not_fit_are_refused_though_signed(
    tmp_path: Path, column: str, value: list[object], reason: str
) -> None:
    dictionary = read(tmp_path)
    arrays = dictionary.columns.arrays()
    old = arrays[column]
    new = np.array(value, old.dtype if column != "old.indptr" else None)
    columns = Columns.from_arrays(arrays | {column: new})
    forged = Dictionary(columns, dictionary.labels, dictionary.sources)
    with persistence.saving(tmp_path / "saved", "dictionary", {}, lambda *_: None) as folder:
        forged.write(folder)
    with pytest.raises(LinkerError) as caught:
        Dictionary.load(tmp_path / "saved")
    assert reason in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_dictionary_is_not_read_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "-"):
        with pytest.raises(LinkerError):
            Dictionary.read(path)
