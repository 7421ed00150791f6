"""Tab-separated predictions."""

from __future__ import annotations

import io
from collections.abc import Sequence

from linker.outputs import tsv
from linker.types import Candidate, Document, Mention, Part, Prediction

GOUT = Candidate("MESH:D006073", "Gout", "gouts", 0.98765)
TWO = (Candidate("MESH:D001943", "Breast Neoplasms", "breast cancer", 1), Candidate("MESH:D061325", "HBOC", "breast cancer syndrome", 0.5))


def written(*items: tuple[Document | None, Sequence[Prediction]]) -> list[str]:
    file = io.StringIO()
    tsv.write(items, file)
    return file.getvalue().split("\n")


def test_loose_mentions() -> None:
    composite = Prediction(Mention("breast and x cancer"), (Part("breast cancer", candidates=TWO), Part("x cancer", nil=True)))
    assert written((None, [Prediction(Mention("gout"), (Part("gout", candidates=(GOUT,)),))]), (None, [composite])) == [
        "mention\tpart\tconcept_id\tname\tscore\tmatched_name\trank",
        "gout\tgout\tMESH:D006073\tGout\t0.9877\tgouts\t1",
        "breast and x cancer\tbreast cancer\tMESH:D001943\tBreast Neoplasms\t1.0000\tbreast cancer\t1",
        "breast and x cancer\tbreast cancer\tMESH:D061325\tHBOC\t0.5000\tbreast cancer syndrome\t2",
        "breast and x cancer\tx cancer\t\t\t\t\t",
        "",
    ]


def test_documents_have_two_more_columns() -> None:
    mention = Mention("a\tb\nc", ((0, 5), (7, 9)), document_id="1")
    item = (Document("1", mentions=(mention,)), [Prediction(mention, (Part("a\r\nb", candidates=(GOUT,)),))])
    assert written((Document("0"), []), item)[:2] == [
        "mention\tpart\tconcept_id\tname\tscore\tmatched_name\trank\tdocument_id\tspans",
        "a b c\ta  b\tMESH:D006073\tGout\t0.9877\tgouts\t1\t1\t0-5;7-9",
    ]


def test_loose_mention_with_a_document_id() -> None:
    lines = written((None, [Prediction(Mention("x", document_id="7"), (Part("x"),))]), (None, [Prediction(Mention("y"), (Part("y"),))]))
    assert lines[1:3] == ["x\tx\t\t\t\t\t\t7\t", "y\ty\t\t\t\t\t\t\t"]


def test_nil_part_with_candidates_has_no_concept() -> None:
    assert written((None, [Prediction(Mention("x"), (Part("x", candidates=TWO, nil=True),))]))[1] == "x\tx\t\t\t\t\t"


def test_nothing_gives_a_header() -> None:
    assert written() == ["\t".join(tsv.COLUMNS), ""]
