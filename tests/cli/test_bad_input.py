"""What is wrong with the input, where, and what to do: exit code 1, one sentence, no traceback."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import typed

Run = Callable[..., Any]

HEADER = b"# DiseaseName\tDiseaseID\tAltDiseaseIDs\tDefinition\tParentIDs\tTreeNumbers\tParentTreeNumbers\tSynonyms\tSlimMappings\n"
ASTHMA = b"Asthma\tMESH:D001249\t\t\t\t\t\twheezing disease\t\n"


def row(name: str, identifier: str, parents: str = "", synonyms: str = "") -> bytes:
    return f"{name}\t{identifier}\t\t\t{parents}\t\t\t{synonyms}\t\n".encode()


DICTIONARIES = {
    "not a dictionary": (
        b"Dear reader,\nthis is a letter.\n",
        "is not a dictionary in a format .* 'Dear reader,'; .*--dict-format",
    ),
    "columns": (
        HEADER + ASTHMA + b"Cough\tMESH:D003371\n",
        r"line 3: 2 columns: 'Cough\\tMESH:D003371'; expected 9: DiseaseName.*fetch",
    ),
    "no such parent": (
        HEADER + ASTHMA + row("Cough", "MESH:D003371", "MESH:D012818"),
        "line 3: a parent is not there: 'MESH:D012818'; expected the id of a concept; add the parent, or give the file",
    ),
    "broken gzip": (
        gzip.compress(HEADER + ASTHMA * 1000, mtime=0)[:60],
        r"the gzip data is broken after line \d.*; fetch the file again",
    ),
}


@pytest.mark.parametrize(
    ("command", "case"),
    [*(("train --dict", case) for case in DICTIONARIES), ("dictionary stats", "columns")],
)
def test_dictionaries(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, case: str
) -> None:
    monkeypatch.chdir(tmp_path)
    content, message = DICTIONARIES[case]
    Path("d.tsv").write_bytes(content)
    result = run(*typed(command), "d.tsv")
    assert result.code == 1
    assert re.fullmatch(rf"linker: d\.tsv(: |, ){message}.*", result.err.strip(), re.DOTALL), (
        result.err
    )
    assert result.out == ""
    assert not Path("linker-model").exists()


@pytest.mark.parametrize(
    "change",
    [lambda text: b"\xef\xbb\xbf" + text, lambda text: text.replace(b"\n", b"\r\n"), gzip.compress],
)
def test_a_bom_windows_line_ends_and_gzip_are_no_matter(
    run: Run, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    dictionary, mentions = tmp_path / "d.tsv", tmp_path / "m.txt"
    dictionary.write_bytes(change(HEADER + ASTHMA))
    mentions.write_bytes(change(b"wheezing disease\n"))
    train = ("train", "--encoder", "tfidf", "--dict", dictionary)
    assert run(*train, "-o", tmp_path / "model").code == 0
    result = run("link", mentions, "--model", tmp_path / "model")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[1].startswith(
        "wheezing disease\twheezing disease\tMESH:D001249\tAsthma\t1.0000\twheezing disease\t1\t"
    )


PUBTATOR = b"1|t|Asthma in children\n1|a|None.\n"
MENTIONS = {
    "empty": (
        b"",
        "holds no mentions or documents; check that it is the right file, and its format",
    ),
    "span": (
        PUBTATOR + b"1\t0\t5\tAsthma\tDisease\tD001249\n",
        "line 3: the text of document 1 at 0-5 is 'Asthm', not the mention: 'Asthma'; expected offsets .*; mend the offsets, or skip",
    ),
    "broken gzip": (
        gzip.compress(b"asthma\n" * 3_000, mtime=0)[:-10],
        r"the gzip data is broken.*; fetch the file again",
    ),
    "latin-1 in UTF-8": (
        "Röteln\n".encode() + "Sjögren\n".encode("latin-1"),
        "line 2: byte 0xf6 is not UTF-8: 'Sjögren.*; expected UTF-8; save it as UTF-8",
    ),
    "json": (
        b'{"mention": "asthma"}\n{"mention": \n',
        "line 2: the line is not JSON .*; expected .*; write one object a line",
    ),
}


@pytest.mark.parametrize("case", MENTIONS)
def test_mentions(link: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.chdir(tmp_path)
    content, message = MENTIONS[case]
    Path("m.txt").write_bytes(content)
    Path("out.tsv").write_text("old\n")
    result = link("m.txt", "-o", "out.tsv")
    assert result.code == 1
    assert re.fullmatch(rf"linker: m\.txt(: |, ){message}.*", result.err.strip(), re.DOTALL), (
        result.err
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.txt", "out.tsv"]
    assert Path("out.tsv").read_text() == "old\n"


def test_bad_records_can_be_skipped_reported_and_counted(run: Run, tmp_path: Path) -> None:
    rows = (
        row("Cough", "D003371", "D999999"),
        row("", "D000001"),
        row("Asthma", "D001249"),
        b"short\n",
    )
    (tmp_path / "d.tsv").write_bytes(HEADER + ASTHMA + b"".join(rows))
    result = run(
        "train", "--dict", tmp_path / "d.tsv", "--on-error", "skip", "-o", tmp_path / "model"
    )
    assert result.code == 0
    skipped = [
        line.removeprefix(f"linker: skipped: {tmp_path / 'd.tsv'}, ")
        for line in result.err.splitlines()
        if "skipped: " in line
    ]
    assert [line.partition(";")[0] for line in skipped] == [
        "line 4: the concept name is empty: 'MESH:D000001'",
        "line 5: the concept id occurs a second time: 'MESH:D001249'",
        "line 6: 1 columns: 'short'",
        "line 3: a parent is not there: 'MESH:D999999'",
    ]
    assert "4 bad records were skipped" in result.err
    assert "2 concepts" in result.err


def test_bad_mentions_can_be_skipped(link: Run, tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_bytes(b"asthma\n\nbreast cancer\n" + b"x" * 2000 + b"\n")
    result = link(tmp_path / "m.txt", "--on-error", "skip", "-k", "1")
    assert result.code == 0
    assert [line.split("\t")[0] for line in result.out.splitlines()] == [
        "mention",
        "asthma",
        "",
        "breast cancer",
    ]
    assert "m.txt, line 4: the mention has 2,000 characters" in result.err
    assert result.err.endswith("1 bad record was skipped\n")


@pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="there is no /proc/self/mem, whose reading fails"
)
def test_an_input_that_cannot_be_read_is_not_blamed_on_the_output(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    result = run(
        *typed("link /proc/self/mem --input-format txt --model"), trained, "-o", tmp_path / "out"
    )
    assert (result.code, result.err) == (
        1,
        "linker: /proc/self/mem: cannot be read: Input/output error\n",
    )


def test_a_type_that_is_not_there(link: Run, sample: Path) -> None:
    result = link(sample.with_name("sample_documents.pubtator.txt"), "--type", "Gene")
    assert result.code == 1
    assert (
        "holds no mentions of type 'Gene'; expected one of its types: Disease; choose with --type"
        in result.err
    )
