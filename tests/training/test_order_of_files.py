"""The order of rows and synonyms in a dictionary file changes no answer."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary, Linker, train
from linker.io import mentions
from linker.training.release import with_dictionary

SAMPLE = Path(__file__).resolve().parents[2] / "dictionaries"
SYNONYMS = 7  # the column of MEDIC
LENDER = """id\tname\tsynonyms\txrefs
X:1\tmammary cancer\tcancer, mammary|mammary carcinoma\tMESH:D001943
X:2\tmammary carcinoma\tcarcinoma, mammary\tMESH:D001943
X:3\tbronchial asthma\tasthma, bronchial\tMESH:D001249
"""


def shuffled(seed: int) -> str:
    """The lines of the sample dictionary in another order, and the synonyms within each."""
    source = random.Random(seed)
    lines = (SAMPLE / "sample_medic.tsv").read_text("utf-8").splitlines()
    head = [line for line in lines if line.startswith("#")]
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    for row in rows:
        synonyms = row[SYNONYMS].split("|")
        source.shuffle(synonyms)
        row[SYNONYMS] = "|".join(synonyms)
    source.shuffle(rows)
    return "\n".join([*head, *("\t".join(row) for row in rows)]) + "\n"


def read(folder: Path, text: str, lender: str) -> Dictionary:
    (folder / "sample_medic.tsv").write_text(text, "utf-8")
    (folder / "lender.tsv").write_text(lender, "utf-8")
    return Dictionary.read(folder / "sample_medic.tsv").lend(folder / "lender.tsv")


def answers(linker: Linker) -> list[dict[str, Any]]:
    """All that is said of the sample's mentions, with sets."""
    items = list(mentions.read(SAMPLE / "sample_mentions.tsv"))
    texts = ["cancer of the breast", "breast cancer familial", "mammary cancer", "asthma bronchial"]
    return [prediction.to_dict() for prediction in linker.link([*items, *texts], k=5, coverage=0.9)]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    text = (SAMPLE / "sample_medic.tsv").read_text("utf-8")
    return train(read(tmp_path_factory.mktemp("original"), text, LENDER))


@pytest.mark.parametrize("seed", range(3))
def test_a_dictionary_in_another_order_gives_the_same_answers(
    original: Linker, tmp_path: Path, seed: int
) -> None:
    header, *rows = LENDER.splitlines()
    other = read(tmp_path, shuffled(seed), "\n".join([header, *reversed(rows)]) + "\n")
    expected = answers(original)
    assert answers(with_dictionary(original, other)) == expected
    assert answers(train(other)) == expected


def test_a_mention_alone_has_the_answer_that_it_has_among_others(original: Linker) -> None:
    texts = [mention.text for mention in mentions.read(SAMPLE / "sample_mentions.tsv")][::5]
    together = [prediction.to_dict() for prediction in original.link(texts, k=5, coverage=0.9)]
    alone = [original.link([text], k=5, coverage=0.9)[0].to_dict() for text in texts]
    assert alone == together
