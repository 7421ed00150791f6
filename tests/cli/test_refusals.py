"""Command lines that are refused: exit code 2 where they are written wrongly, 1 where they name what is not there."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

PREDICTIONS = "means nothing for predictions under --protocol strict; leave it out"
BIOSYN = "means nothing for biosyn; leave it out"
KS = "'-k': '{}'; expected whole numbers from 1 to 1000000, e.g. 1,5,10,20"

WRONG = [  # exit code 2
    ("lnik", "No such command 'lnik'. Did you mean"),
    ("words tarin", "No such command 'tarin'"),
    ("link {m} --modle y", "Did you mean"),
    ("link {m} -k 0", "Invalid value for '-k': 0 is not in the range 1<=x<=1000000"),
    ("link {m} --under ''", "Invalid value for '--under': names nothing"),
    ("link {m} --workers 0", "Invalid value for '--workers'"),
    ("link {m} --engine ray", "m.txt: each file that is read becomes one in a folder; name the fo"),
    ("link {folder}", "folder: each file that is read becomes one in a folder; name the folder"),
    ("link '{folder}/*.txt' --encoding cp850 -o o", "--encoding is for a file; the files of a job"),
    (
        "link {t}",
        "name the column that holds the mentions; there are 'disease' (gout), 'n' (1); add",
    ),
    ("link {t}", "if it is a list, add --input-format txt, or tsv where ids"),
    ("link {t} --column disease --format tsv", "by one process; leave out --format"),
    ("link {t} --column disease -k 5", "by one process; leave out -k"),
    ("link {t} --column disease --workers 2", "by one process; leave out --workers"),
    ("link {t} --column disease -o o.xlsx", "the table is a text; name a csv or tsv with -o"),
    ("annotate {m} --labels A", "--labels is for --mentions-by"),
    ("annotate {m} --input-format tsv", "--input-format"),
    ("evaluate {t} --under A --predictions x", f"--under {PREDICTIONS}"),
    ("evaluate {t} --device cpu --predictions x", f"--device {PREDICTIONS}"),
    ("evaluate {t} --protocol document --predictions x", "--predictions means nothing for"),
    ("evaluate {t} --threshold 1 --protocol biosyn", f"--threshold {BIOSYN}"),
    ("evaluate {t} --decisions d --protocol biosyn", f"--decisions {BIOSYN}"),
    *((f"evaluate {{t}} -k {ks}", KS.format(ks)) for ks in ("0", "1,x", "1,1000001", "9" * 20)),
    ("review export --format mentions --project x", "--format is mentions"),
    ("review export --format bioc", "--format is bioc"),
    ("dictionary search x y -k 0", "0 is not in the range 1<=x<=1000000"),
    ("model encode {m} -o v.txt", "v.txt: name a file that ends in .npy with -o"),
    ("index", "nothing to do; give --dict, --mentions or --set index.kind=ivf"),
    ("index --namespaces E", "options of reading are for a dictionary; give --dict, too"),
    ("index --set sparse.ngram_max=4", "only options index.FIELD can be set here"),
    ("index --set index.kind=tree", "index.kind is 'tree'; expected: 'auto', 'exact' or 'ivf'"),
    ("serve --set limits.body=0", "limits.body is '0'; expected: greater than or equal to 1"),
    ("words train {m} --set dan.hidden=3 -o w", "only options words.FIELD can be set here"),
    ("words train {m} --set words.tokens=concepts -o w", "name it with --dict"),
    ("train", "Missing option '--dict'"),
    ("train --dict x --set dense.dim=3", "--set: there is no option group 'dense'"),
    ("train --dict x --set ngram_max", "--set ngram_max: expected GROUP.FIELD=VALUE, e.g. sparse."),
    ("train --dict x --preset best --encoder dan", "--preset best: there is no preset 'best'"),
    ("train --dict x --encoder x", "--encoder x: there is no such encoder; choose one of: bne, "),
    ("train --dict x --refit", "of --mentions and --dev"),
    ("train --dict x --resume", "--resume: the encoder static has no checkpoints"),
    ("train --dict x --encoder static --set training.epochs=3", "static makes nothing of it"),
    (
        "train --dict x --encoder dan --set training.seed=-1",
        "training.seed is '-1'; expected: greater",
    ),
    ("train --dict x --encoder tfidf --set static.dim=64", "makes nothing of it"),
]
MISSING = [  # exit code 1
    (
        "link {documents} --type Gene -o out",
        "no mentions of type 'Gene'; choose another --type",
    ),
    ("link {m} --under D99", "D99 is not in the dictionary; select by the id of a concept"),
    ("link {m} --under D001943 --not-under D001943", "the selection is empty: "),
    ("link {m} --namespaces HP", "the model has no concept with the prefix HP; it has: MESH"),
    ("link {t} --column disease --also FOO", "no concept has a reference to 'FOO', but to "),
    ("link '*.txt' -o out --also FOO", "no concept has a reference to 'FOO', but to "),
    ("link '*.txt' -o out --also OMIM --format bioc", "the format bioc has no place for"),
    ("link {t} --column disease --input-format jsonl", "is jsonl; a column can be named in"),
    ("link {m} -o {m}/out.tsv", "out.tsv: cannot be written: File exists; name another output"),
    ("link {m} -o {m}", "m.txt: is read and would be replaced; name another output with -o"),
    ("link {m} --device cuda", "links by characters, which have no vectors to search on a GPU"),
    ("annotate {m} --mentions-by flair:x", "spacy:MODEL or gliner:MODEL"),
    ("annotate {folder}", "has no texts"),
    ("explain '  '", "the mention is blank"),
    ("explain fever MESH:D999999", "MESH:D999999 is not in the dictionary"),
    ("explain fever --document nowhere.txt", "nowhere.txt"),
    ("evaluate {t} --against {folder}", "metrics.json: there is no such file"),
    ("evaluate {t} -o {m}", "m.txt: cannot be written: File exists; name another output with -o"),
    ("model encode {m} -o w.npy", "links by characters alone (tfidf)"),
    ("index --dict no.tsv", "no.tsv: there is no such file"),
    ("index --mentions {m}", "m.txt: holds no annotated mentions; give a file with gold ids"),
    ("evaluate {m}", "m.txt: holds no annotated mentions; give a file with gold ids"),
    ("dictionary stats {folder}", "is not a dictionary in a format that linker knows"),
    ("dictionary stats {model} --types T047", "is a saved dictionary; --types can be chosen only"),
    ("link nowhere.txt", "nowhere.txt: there is no such file; check the path"),
    ("link hepatitis/B", "hepatitis/B: there is no such file; check the path"),
    ("link 'gout\nasthma'", "asthma: there is no such file; check the path"),
    ("link 'gout\tasthma'", "asthma: there is no such file; check the path"),
    *(
        (f"{command} nowhere", "nowhere: there is no such file; check the path")
        for command in (
            *("link -o o", "annotate", "evaluate", "dictionary stats", "dictionary diff {dict}"),
            *("evaluate {t} --predictions", "train --dict", "train --dict {dict} --mentions"),
            *("train --dict {dict} --hierarchy", "train --dict {dict} --spelling"),
            *("train --dict {dict} --lend", "words train -o w"),
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
