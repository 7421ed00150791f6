"""PubTator documents: offsets, ids, dialects, bad lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.errors import InputError, Skip
from linker.io import pubtator
from linker.records import Candidate, Document, GoldGroup, Mention, Part, Passage, Prediction

from .conftest import refused, written

MINI = Path(__file__).parent.parent / "data" / "mini.pubtator.txt"


def read(folder: Path, text: str, **options: Skip) -> list[Document]:
    path = folder / "x.txt"
    path.write_bytes(text.encode())
    return list(pubtator.read(path, **options))


def test_documents_and_offsets(tmp_path: Path) -> None:
    first, second, third = pubtator.read(MINI)
    assert [d.id for d in (first, second, third)] == ["101", "102", "103"]
    assert first.passages[1].offset == len("Ataxia and naïve β-cells in two sisters.") + 1 == 41
    assert all(first.text[m.spans[0][0] : m.spans[0][1]] == m.text for m in first.mentions)
    assert second.passages == (Passage("Gout.", 0, {"type": "title"}),)
    (document,) = read(tmp_path, '1|t|a "plus"\n1\t0\t8\ta "plus"  \tDisease\tD000001\n')
    assert document.mentions[0].text == 'a "plus"  '
    assert third.passages == (Passage("Only an abstract about scurvy.", 0, {"type": "abstract"}),)


def test_ids_of_every_kind() -> None:
    first, second, third = pubtator.read(MINI)
    gold = {m.text: m.gold for m in (*first.mentions, *second.mentions, *third.mentions)}
    assert gold == {
        "Ataxia": (GoldGroup(("MESH:D001259",)),),  # written with a blank before it
        "breast and ovarian cancer": (GoldGroup(("MESH:D001943",)), GoldGroup(("MESH:D010051",))),
        "ovarian cancer": (GoldGroup(("MESH:D010051",)),),
        "lithium": (GoldGroup(("MESH:D008094",)),),
        "tremor": (GoldGroup(("OMIM:190300", "MESH:D014202"), "all_of"),),
        "fatigue": (),
        "sisters": None,  # five columns: not annotated
        "Gout": (GoldGroup(("MESH:D006073",)),),
        "scurvy": (),  # an empty sixth column
    }


def test_missing_blank_line_second_title_and_crlf(tmp_path: Path) -> None:
    documents = read(tmp_path, "\ufeff1|t|A\r\n1|a|B\r\n2|t|C\r\n2|t|C\r\n\r\n\r\n2|t|C\r\n")
    assert [(d.id, d.text) for d in documents] == [("1", "A B"), ("2", "C"), ("2", "C"), ("2", "C")]


BAD = [
    "1\t0\t4\tgout\tDisease\tD1",
    "1\t2\t99\tut\tDisease",
    "1\t-4\t4\tGout\tDisease",
    "1\t2\t2\t\tDisease",
    "1\t0\t4\tGout",
    "1\t0\tx\tGout\tDisease",
    "1\tx0\t4\tGout\tDisease",
    "2\t0\t4\tGout\tDisease",
    "wrapped abstract",
]


@pytest.mark.parametrize("line", BAD)
def test_bad_lines_stop_or_are_skipped(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(f"1|t|Gout\n{line}\n1\t0\t4\tGout\tDisease\tD1\n")
    (document,) = refused(pubtator.read, path, 2)
    assert [m.text for m in document.mentions] == ["Gout"]


LINE = st.text('ab -+"\\{}βé\u00a0\u0085\u2028\x0b\x1f𝒳', min_size=1, max_size=30)


@given(st.lists(st.tuples(LINE, LINE, st.data()), min_size=1, max_size=3))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str, st.DataObject]]
) -> None:
    documents = []
    for number, (title, abstract, data) in enumerate(texts):
        passages = (
            Passage(title, 0, {"type": "title"}),
            Passage(abstract, len(title) + 1, {"type": "abstract"}),
        )
        whole = f"{title} {abstract}"
        start = data.draw(st.integers(0, len(whole) - 1))
        end = data.draw(st.integers(start + 1, len(whole)))
        spans, kept = ((start, end),), {"pubtator:id": "-1"}
        mention = Mention(whole[start:end], spans, (), "Disease", str(number), metadata=kept)
        documents.append(Document(str(number), passages, (mention,)))
    path = tmp_path_factory.mktemp("written") / "x.txt"
    path.write_text(
        written("pubtator", *((d, ()) for d in documents)), encoding="utf-8", newline="\n"
    )
    assert list(pubtator.read(path)) == documents


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "documents", "mentions"),
    [
        ("ncbi-disease/NCBI_train.pubtator.txt.gz", 593, 5145),
        ("ncbi-disease/NCBI_devel.pubtator.txt.gz", 100, 787),
        ("bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz", 500, 9591),
    ],
)
def test_real_files_are_written_as_they_were(
    data: Path, name: str, documents: int, mentions: int
) -> None:
    read = list(pubtator.read(data / name))
    assert (len(read), sum(len(d.mentions) for d in read)) == (documents, mentions)
    with gzip.open(data / name, "rt", encoding="utf-8", newline="") as file:
        assert written("pubtator", *((d, ()) for d in read)).strip() == file.read().strip()


DATA = Path(__file__).parent.parent / "data"
ABSTRACT = {"type": "abstract"}


def part(text: str, identifier: str) -> Part:
    best, other = Candidate(identifier, text, text, 1.0), Candidate("X:2", "other", "other", 0.5)
    return Part(text, candidates=(best, other))


def test_predictions_replace_the_ids_and_nothing_else() -> None:
    first, *_ = pubtator.read(DATA / "mini.pubtator.txt")
    ataxia, composite, ovarian, *_, sisters = first.mentions
    predictions = [
        Prediction(ataxia, (part("Ataxia", "MESH:D001259"),)),
        Prediction(composite, (part("breast cancer", "MESH:D001943"), Part("ovarian\tcancer"))),
        Prediction(
            ovarian, (Part("ovarian cancer", candidates=part("x", "X:1").candidates, nil=True),)
        ),
        Prediction(sisters, (Part("sisters"),)),
    ]
    expected = written("pubtator", (first, ())).replace("\t D001259\n", "\tMESH:D001259\tmodel\n")
    expected = expected.replace(
        "D001943|D010051\tbreast cancer|ovarian cancer\n",
        "MESH:D001943|-1\tbreast cancer (-)|ovarian cancer (-) model\n",
    ).replace("\tovarian cancer\tDisease\tD010051\n", "\tovarian cancer\tDisease\t-1\tmodel\n")
    assert written("pubtator", (first, predictions)) == expected.replace(
        "\tPerson\n", "\tPerson\t-1\tmodel\n"
    )
    found = Prediction(Mention("Gout", ((0, 4),), type="Disease"), (part("Gout", "X:1"),))
    text = written("pubtator", (Document("1", (Passage("Gout"),)), [found]))
    assert text == "1|t|Gout\n1\t0\t4\tGout\tDisease\tX:1\tmodel\n\n"


def test_confidences_stand_in_the_seventh_column(tmp_path: Path) -> None:
    first, *_ = pubtator.read(DATA / "mini.pubtator.txt")
    ataxia, composite, ovarian, *_ = first.mentions
    sure = Candidate("X:1", "x", "x", 1.0, confidence=0.93116)
    unsure = Candidate("X:2", "x", "x", 0.5, confidence=0.25)
    predictions = [
        Prediction(ataxia, (Part("Ataxia", candidates=(sure,)),)),
        Prediction(
            composite,
            (Part("a|b", candidates=(sure,)), Part("c", nil=True, rejected=unsure), Part("d")),
        ),
        Prediction(ovarian, (Part("x", nil=True, rejected=unsure),)),
    ]
    (tmp_path / "x").write_text(text := written("pubtator", (first, predictions)), encoding="utf-8")
    (again,) = pubtator.read(tmp_path / "x")
    assert [tuple(m.metadata.values()) for m in again.mentions[:3]] == [
        ("X:1", "0.9312 model"),
        ("X:1|-1|-1", "a|b (0.9312)|c (0.2500)|d (-) model"),
        ("-1", "0.2500 model"),
    ]
    assert written("pubtator", (again, ())) == text


def test_unchanged_documents_are_written_as_read() -> None:
    documents = list(pubtator.read(DATA / "mini.pubtator.txt"))
    text = (DATA / "mini.pubtator.txt").read_text(encoding="utf-8")
    expected = text.replace("\n103|a|", "\n\n103|a|") + "\n"
    assert written("pubtator", *((document, ()) for document in documents)) == expected


@pytest.mark.parametrize(
    ("passages", "lines"),
    [
        ((Passage("A\nb", 0), Passage("C", 4), Passage("D", 8)), "1|t|A b\n1|a|C   D\n\n"),
        ((Passage("A", 0), Passage("B", 1)), "1|t|AB\n\n"),  # one line keeps the offsets
        ((Passage("A", 0), Passage("", 2)), "1|t|A\n1|a|\n\n"),
        ((Passage("A", 0, ABSTRACT), Passage("B", 2, {"type": "title"})), "1|a|A\n1|t|B\n\n"),
        ((Passage("A", 3),), "1|t|   A\n\n"),
    ],
)
def test_passages_of_any_shape_keep_their_offsets(
    passages: tuple[Passage, ...], lines: str, tmp_path: Path
) -> None:
    document = Document("1", passages)
    assert written("pubtator", (document, ())) == lines
    (tmp_path / "x").write_text(lines)
    assert next(iter(pubtator.read(tmp_path / "x"))).text == document.text.replace("\n", " ")


def test_a_document_without_an_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pubtator, "LONG_LINE", 100)
    text = "1|t|aaa\n1|a|b\n"
    row = "1\t0\t3\taaa\tDisease\tD1\n"
    assert len(read(tmp_path, (text + row + "\n") * 9)) == 9
    with pytest.raises(InputError):
        read(tmp_path, text + row * 9)
