"""Command lines that are refused: exit code 2 where they are written wrongly, 1 where they name what is not there."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import write

Run = Callable[..., Any]

PREDICTIONS = "means nothing for predictions under --protocol strict; leave it out"
BIOSYN = "means nothing for biosyn; leave it out"
KS = "'-k': '{}'; expected whole numbers from 1 to 1000000, e.g. 1,5,10,20"

WRONG = [  # exit code 2
    ("lnik", "No such command 'lnik'. Did you mean"),
    ("link {m} --modle y", "Did you mean"),
    ("link {m} --under ''", "Invalid value for '--under': names nothing"),
    ("link {m} --engine ray", "m.txt: each file that is read becomes one in a folder; name the fo"),
    ("link {folder}", "folder: each file that is read becomes one in a folder; name the folder"),
    ("link '{folder}/*.txt' --encoding cp850 -o o", "--encoding is for a file; the files of a job"),
    (
        "link {t}",
        "name the column that holds the mentions; there are 'disease' (gout), 'n' (1); add",
    ),
    ("link {t} --column disease --format tsv", "by one process; leave out --format"),
    ("link {t} --column disease -o o.xlsx", "the table is a text; name a csv or tsv with -o"),
    ("annotate {m} --labels A", "--labels is for --mentions-by"),
    ("evaluate {t} --under A --predictions x", f"--under {PREDICTIONS}"),
    ("evaluate {t} --protocol document --predictions x", "--predictions means nothing for"),
    ("evaluate {t} --threshold 1 --protocol biosyn", f"--threshold {BIOSYN}"),
    *((f"evaluate {{t}} -k {ks}", KS.format(ks)) for ks in ("0", "1,x")),
    ("review export --format mentions --project x", "--format is mentions"),
    ("review export --format bioc", "--format is bioc"),
    ("model encode {m} -o v.txt", "v.txt: name a file that ends in .npy with -o"),
    ("index --namespaces E", "options of reading are for a dictionary; give --dict, too"),
    ("index --set sparse.ngram_max=4", "only options index.FIELD can be set here"),
    ("serve --set limits.body=0", "limits.body is '0'; expected: greater than or equal to 1"),
    ("words train {m} --set words.tokens=concepts -o w", "name it with --dict"),
    ("train", "Missing option '--dict'"),
    ("train --dict x --set dense.dim=3", "--set: there is no option group 'dense'"),
    ("train --dict x --preset best --encoder dan", "--preset best: there is no preset 'best'"),
    ("train --dict x --encoder x", "--encoder x: there is no such encoder; choose one of: bne, "),
    ("train --dict x --refit", "of --mentions and --dev"),
    ("train --dict x --resume", "--resume: the encoder static has no checkpoints"),
    ("train --dict x --encoder static --set training.epochs=3", "static makes nothing of it"),
]
MISSING = [  # exit code 1
    (
        "link {documents} --type Gene -o out",
        "no mentions of type 'Gene'; choose another --type",
    ),
    ("link {m} --under D99", "D99 is not in the dictionary; select by the id of a concept"),
    ("link {m} --under D001943 --not-under D001943", "the selection is empty: "),
    ("link {t} --column disease --also FOO", "no concept has a reference to 'FOO', but to "),
    ("link '*.txt' -o out --also OMIM --format bioc", "the format bioc has no place for"),
    ("link {t} --column disease --input-format jsonl", "is jsonl; a column can be named in"),
    ("link {m} -o {m}", "m.txt: is read and would be replaced; name another output with -o"),
    ("link {m} --device cuda", "links by characters, which have no vectors to search on a GPU"),
    ("annotate {m} --mentions-by flair:x", "spacy:MODEL or gliner:MODEL"),
    ("annotate {folder}", "has no texts"),
    ("explain '  '", "the mention is blank"),
    ("explain fever MESH:D999999", "MESH:D999999 is not in the dictionary"),
    ("evaluate {t} --against {folder}", "metrics.json: there is no such file"),
    ("evaluate {t} -o {m}", "m.txt: cannot be written: File exists; name another output with -o"),
    ("model encode {m} -o w.npy", "links by characters alone (tfidf)"),
    ("index --dict no.tsv", "no.tsv: there is no such file"),
    ("index --mentions {m}", "m.txt: holds no annotated mentions; give a file with gold ids"),
    ("dictionary stats {folder}", "is not a dictionary in a format that linker knows"),
    ("dictionary stats {model} --types T047", "is a saved dictionary; --types can be chosen only"),
    ("link nowhere.txt", "nowhere.txt: there is no such file; check the path"),
    ("link 'gout\nasthma'", "asthma: there is no such file; check the path"),
    *(
        (f"{command} nowhere", "nowhere: there is no such file; check the path")
        for command in (
            *("annotate", "evaluate", "dictionary stats", "evaluate {t} --predictions"),
            *("train --dict", "train --dict {dict} --mentions", "train --dict {dict} --lend"),
        )
    ),
]


@pytest.mark.parametrize(
    ("command", "message", "code"),
    [*((*case, 2) for case in WRONG), *((*case, 1) for case in MISSING)],
)
def test_a_command_line_is_refused_in_one_sentence(
    run: Run,
    sample: Path,
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    message: str,
    code: int,
) -> None:
    monkeypatch.setattr("linker.jobs.machines.cores", lambda: 2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINKER_MODEL", str(trained))
    (tmp_path / "folder").mkdir()
    (tmp_path / "m.txt").write_text("gout\n")
    (tmp_path / "t.csv").write_text("disease,n\ngout,1\n")
    if command.startswith("serve"):
        pytest.importorskip("fastapi")
    places = {"m": "m.txt", "t": "t.csv", "folder": "folder", "dict": sample, "model": trained}
    places["documents"] = sample.with_name("sample_documents.pubtator.txt")
    before = sorted(tmp_path.iterdir())
    if command.startswith("index"):  # which writes where the model is
        command += " -o other"
    result = run(*shlex.split(command.format(**places)))
    assert (result.code, result.out) == (code, "")
    assert message in " ".join(result.err.split())
    if code == 2:
        assert result.err.startswith("Usage: linker ")
    else:
        assert result.err.splitlines()[-1].startswith("linker: ")
    assert sorted(path for path in tmp_path.iterdir() if path.suffix != ".sqlite") == before


def test_bad_mentions_leave_the_old_output(link: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "m.txt", tmp_path / "out.tsv"
    path.write_text("1|t|Asthma in children\n1|a|None.\n1\t0\t5\tAsthma\tDisease\tD001249\n")
    out.write_text("old\n")
    result = link(path, "-o", out)
    assert result.code == 1
    assert f"linker: {path}, line 3: the text of document 1 at 0-5 is 'Asthm', not" in result.err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.txt", "out.tsv"]
    assert out.read_text() == "old\n"


def test_bad_records_can_be_skipped_reported_and_counted(run: Run, tmp_path: Path) -> None:
    bad = ["X:2\t\t", "X:1"]
    path = write(tmp_path / "d.tsv", ["X:1\tasthma\twheezing disease", *bad])
    assert run("train", "--dict", path, "-o", tmp_path / "model").code == 1
    result = run("train", "--dict", path, "--on-error", "skip", "-o", tmp_path / "model")
    assert result.code == 0
    for line in (3, 4):
        assert f"linker: skipped: {path}, line {line}: " in result.err
    assert "2 bad records were skipped" in result.err
    assert "1 concepts" in result.err
