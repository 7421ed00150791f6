"""The dictionary: reading several files, old ids, lending parents, adding mentions, saving."""

from __future__ import annotations

import mmap
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker import Dictionary
from linker.dictionary.columns import Columns
from linker.errors import LinkerError
from linker.io import persistence
from linker.io.table import medic
from linker.records import Concept, Name
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
        Name("influenza", "A:2"),
        Name("grippe", "A:2"),
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


def test_all_records_come_back_from_the_readers(sample: Path) -> None:
    dictionary = Dictionary.read(sample)
    rows = {identifier: row for row, identifier in enumerate(dictionary.ids)}

    def comparable(concept: Concept) -> Concept:
        """Without alternative ids that are current, and in one order."""
        alternative = tuple(sorted(set(concept.alt_ids) - set(rows)))
        return replace(concept, parents=tuple(sorted(concept.parents)), alt_ids=alternative)

    for read in medic.read(sample):
        assert comparable(dictionary.concept(rows[read.id])) == comparable(read)


def test_rows_and_what_ids_stand_for(tmp_path: Path) -> None:
    dictionary = read(tmp_path)
    rows = {"A:2": (1,), "A:99": (1, 2), "A:4": (0,), "nothing": ()}
    assert {identifier: dictionary.rows(identifier) for identifier in rows} == rows
    resolved = {"A:99": {"A:2", "A:3"}, "A:4": {"A:1"}, "Z:1": {"Z:1"}}
    assert {identifier: dictionary.resolve(identifier) for identifier in resolved} == resolved


def test_an_id_is_looked_up_as_it_is_written_before_a_prefix_is_guessed(tmp_path: Path) -> None:
    bare = read(tmp_path, "127009\tfever\nMESH:D001260\tataxia\t\t\tD001261\n")
    ids = {"127009": "127009", "D001260": "MESH:D001260", "MeSH:D001260": "MESH:D001260"}
    ids |= {"D001261": "D001261"}
    assert {text: bare.identify(text) for text in ids} == ids
    assert [bare.identify(text) for text in ("OMIM:127009", "MESH:D001261", "x")] == [None] * 3
    assert (bare.rows("127009"), bare.rows("OMIM:127009"), bare.rows("D001260")) == ((0,), (), (1,))
    assert bare.resolve("D001260") == {"MESH:D001260"}


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


def test_adding_mentions_leaves_the_original_untouched(tmp_path: Path) -> None:
    dictionary = read(tmp_path)
    before = {name: values.copy() for name, values in dictionary.columns.arrays().items()}
    loose = [("bug", ["A:99"]), ("bug", ["A:3"]), ("flu", ["A:2"]), ("x", ["Z:1"])]
    more = dictionary.add([("the flu", ["A:2"]), *loose, ("cold or flu", ["B:1", "A:2", "Z:1"])])
    after = dictionary.columns.arrays()
    assert all(np.array_equal(values, before[name]) for name, values in after.items())
    assert (len(dictionary.names), len(more.names), len(more)) == (10, 15, 4)
    pairs = [("the flu", "A:2"), ("bug", "A:2"), ("bug", "A:3")]
    pairs += [("cold or flu", "B:1"), ("cold or flu", "A:2")]
    assert [more.name(row) for row in range(10, 15)] == [Name(*p, "training") for p in pairs]
    assert more.names[:10] == list(dictionary.names)
    assert more.concept(1).name == "flu"
    assert more.name_rows(1).tolist() == [3, 4, 5, 10, 11, 14]
    assert more.rows("A:99") == (1, 2)
    assert dictionary.add([]) is dictionary


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


def test_names_can_be_left_out(tmp_path: Path) -> None:
    dictionary = read(tmp_path, "A:1\tache\tpain|sore\nB:1\tfever\theat\n").add([("hot", ["B:1"])])
    smaller = dictionary.without(np.array([1, 4]))
    assert list(smaller.names) == ["ache", "sore", "fever", "hot"]
    assert [smaller.name(row).concept_id for row in range(4)] == ["A:1", "A:1", "B:1", "B:1"]
    assert [smaller.preferred_name(row) for row in range(2)] == ["ache", "fever"]
    assert smaller.columns.names.annotated is not None
    assert smaller.columns.names.annotated.tolist() == [0, 0, 0, 1]
    assert len(dictionary.names) == 6
    with pytest.raises(ValueError, match="a preferred name cannot be left out"):
        dictionary.without(np.array([3]))


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


@pytest.mark.data
def test_medic_of_2012_takes_its_parents_from_that_of_2017(data: Path) -> None:
    lender = Dictionary.read(data / "medic" / "CTD_diseases_2017-06-06.tsv.gz")
    assert (len(lender), len(lender.names)) == (11_865, 11_865 + 66_129)
    assert (lender.hierarchy.edges, lender.hierarchy.cycles()) == (20_018, [])
    assert [lender.ids[row] for row in lender.hierarchy.roots] == ["MESH:C"]
    assert sum(len(rows) > 1 for rows in lender.old_ids.values()) == 178
    dictionary = Dictionary.read(data / "medic" / "medic_06Jul2012.txt.gz").with_parents(lender)
    assert dictionary.hierarchy.cycles() == []
    (above,) = dictionary.hierarchy.ancestors(dictionary.rows("MESH:D001943"))
    assert dictionary.rows("MESH:D009369")[0] in above  # breast neoplasms are neoplasms


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("name.concept", [0, 9, 0, 1, 1, 1, 2, 2, 2, 3], "a list names a row that is not there"),
        ("id.offsets", [0, 9, 3, 3, 3], "lists of rows overlap or leave gaps"),
        ("name.data", [255] * 45, "can't decode byte 0xff"),
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
    if column == "name.data":
        new = np.full(len(old), 255, np.uint8)
    columns = Columns.from_arrays(arrays | {column: new})
    forged = Dictionary(columns, dictionary.labels, dictionary.sources)
    with persistence.saving(tmp_path / "saved", "dictionary", {}, lambda *_: None) as folder:
        forged.write(folder)
    with pytest.raises(LinkerError) as caught:
        Dictionary.load(tmp_path / "saved")
    assert str(caught.value).startswith(
        f"{tmp_path / 'saved'}: is damaged, or a dictionary of another release ("
    )
    assert reason in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_dictionary_is_not_read_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    pipe = tmp_path / "pipe"
    for path, named in ((pipe, f"a pipe ({pipe})"), ("-", "standard input")):
        with pytest.raises(LinkerError) as caught:
            Dictionary.read(path)
        assert str(caught.value) == f"a dictionary cannot be read from {named}; name a file"
