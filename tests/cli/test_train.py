"""linker train: what it says, what it writes, what it takes and refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from linker import Linker, LinkerOptions
from linker.encoders.static import WordPieces
from linker.errors import LinkerError

Run = Callable[..., Any]


def config(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "config.json").read_text("utf-8"))


def write(path: Path, rows: Sequence[str]) -> Path:
    path.write_text("id\tname\tsynonyms\n" + "\n".join(rows) + "\n", "utf-8")
    return path


def test_train_then_link_with_nothing_else_typed(
    run: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("train", "--dict", sample)
    assert (result.code, result.out) == (0, "")
    assert re.fullmatch(
        r"dictionary: sample_medic.tsv \(medic\): (\d+) concepts\n"
        r"encoder: static \(needs no download and no torch\)\n"
        r"ranker: as it is shipped, fitted to the training and development mentions of NCBI "
        r"Disease and BC5CDR, and names of MEDIC\n"
        r"model: linker-model \(\1 concepts, 1,\d{3} distinct names\)\n",
        result.err,
    )
    assert Linker.load("linker-model").encoder == "static"
    Path("m.txt").write_text("breast cancer\n")
    assert "MESH:D001943" in run("link", "m.txt").out


def test_training_again_replaces_the_model(run: Run, sample: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    assert run("train", "--dict", sample, "-o", model, "--set", "sparse.ngram_max=5").code == 0
    assert config(model)["options"]["sparse"]["ngram_max"] == 5
    assert run("train", "--dict", sample, "-o", model).code == 0
    assert config(model)["options"]["sparse"]["ngram_max"] == LinkerOptions().sparse.ngram_max
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_folder_of_others_is_left_alone(run: Run, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("mine")
    result = run("train", "--dict", sample, "-o", tmp_path / "thesis")
    assert result.code == 1
    message = f"{tmp_path / 'thesis'}: holds chapter.txt, which linker did not write there; move it, or name another folder with -o"
    assert result.err == f"linker: {message}\n"
    assert [path.name for path in tmp_path.rglob("*")] == ["thesis", "chapter.txt"]


def test_a_file_of_the_user_in_a_model_stops_before_any_work(
    run: Run, sample: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    assert run("train", "--dict", sample, "-o", model).code == 0
    (model / "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    message = f"{model}: holds notes.txt, which linker did not write there; move it, or name another folder with -o"
    for dictionary in (sample, tmp_path / "nowhere"):  # not even the dictionary is looked at
        assert run("train", "--dict", dictionary, "-o", model) == (1, "", f"linker: {message}\n")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    (model / "notes.txt").unlink()
    assert run("train", "--dict", sample, "-o", model).code == 0


def test_a_file_in_the_way(run: Run, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    result = run("train", "--dict", sample, "-o", tmp_path / "file")
    assert result.code == 1
    assert "file: is a file; name a folder with -o" in result.err
    result = run("train", "--dict", sample, "-o", tmp_path / "file" / "model")
    assert result.code == 1
    assert re.search(
        r"linker: .*file/model: cannot be written: (?!.*free space).*; name another output with -o\n$",
        result.err,
    )
    assert (tmp_path / "file").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_empty_folder_and_new_folders_are_filled(run: Run, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "a" / "b" / "model"):
        assert run("train", "--dict", sample, "-o", folder).code == 0
        assert config(folder)["kind"] == "model"


def test_mentions_are_added_unless_told_otherwise(run: Run, sample: Path, tmp_path: Path) -> None:
    mentions = tmp_path / "m.tsv"
    mentions.write_text("sugar trouble\tD003924\nnothing\t-1\n")
    texts = {}
    for flag in ("--extend", "--no-extend"):
        options = ("--no-extend",) if flag == "--no-extend" else ()
        assert (
            run(
                "train",
                "--dict",
                sample,
                "--mentions",
                mentions,
                *options,
                "-o",
                tmp_path / flag[2:],
            ).code
            == 0
        )
        model = Linker.load(tmp_path / flag[2:])
        texts[flag] = "sugar trouble" in set(model.dictionary.names)
        assert model.seen.mentions == {"sugar trouble", "nothing"}
    assert texts == {"--extend": True, "--no-extend": False}


def test_several_files_of_mentions(run: Run, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("sugar trouble\tD003924\n")
    (tmp_path / "b.jsonl").write_text('{"mention": "breathing trouble", "gold": "D001249"}\n')
    options = ("--mentions", tmp_path / "a.tsv", "--mentions", tmp_path / "b.jsonl")
    assert run("train", "--dict", sample, *options, "-o", tmp_path / "model").code == 0
    assert Linker.load(tmp_path / "model").seen.mentions == {"sugar trouble", "breathing trouble"}


def test_development_mentions_are_reported_and_refitted_on_request(
    run: Run, sample: Path, tmp_path: Path
) -> None:
    train, dev = tmp_path / "train.tsv", tmp_path / "dev.tsv"
    train.write_text("sugar trouble\tD003924\n")
    dev.write_text("sugar trouble\tD003924\nzzz\tD001249\n")
    options = ("--dict", sample, "--mentions", train, "--dev", dev, "-o", tmp_path / "model")
    result = run("train", *options)
    assert "development mentions, protocol strict:" in result.err
    assert re.search(r"^all +2 +0\.5000 ", result.err, re.MULTILINE)
    assert Linker.load(tmp_path / "model").seen.mentions == {"sugar trouble"}
    again = run("train", *options, "--refit")
    assert re.search(r"^all +2 +0\.5000 ", again.err, re.MULTILINE)  # reported before the refit
    assert Linker.load(tmp_path / "model").seen.mentions == {"sugar trouble", "zzz"}


def test_options_come_from_the_preset_then_the_file_then_the_command_line(
    run: Run, sample: Path, tmp_path: Path
) -> None:
    (tmp_path / "o.toml").write_text(
        '[sparse]\nngram_max = 4\nanalyzer = "char_wb"\n\n[text]\ncomposites = false\n'
    )
    options = (
        "--encoder",
        "tfidf",
        "--preset",
        "paper-biosyn",
        "--config",
        tmp_path / "o.toml",
        "--set",
        "sparse.ngram_max=3",
        "--set",
        "normalize.greek=true",
    )
    assert run("train", "--dict", sample, *options, "-o", tmp_path / "model").code == 0
    found = config(tmp_path / "model")["options"]
    assert (found["sparse"]["analyzer"], found["sparse"]["ngram_max"]) == ("char_wb", 3)
    assert (found["text"]["composites"], found["text"]["training_composites"]) == (False, "join")
    assert (found["normalize"]["greek"], found["normalize"]["punctuation"]) == (True, "ascii")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "ngram_max: 3\n",
            r"o\.toml: not TOML: .*; expected tables such as \[sparse\] with ngram_max = 3",
        ),
        (
            "ngram_max = 3\n",
            r"o\.toml: there is no option group 'ngram_max'; choose one of: normalize, text, sparse",
        ),
        (
            "[sparse]\nngrams = 3\n",
            r"o\.toml: there is no option sparse\.ngrams; sparse has: analyzer, ngram_min, ngram_max, sublinear",
        ),
        (
            "[sparse]\nngram_max = 2.5\n",
            r"o\.toml: sparse\.ngram_max is 2\.5; expected: a whole number",
        ),
        (
            "[sparse]\nngram_max = 1\n",
            r"o\.toml: sparse\.ngram_min \d and ngram_max 1: 1 <= ngram_min <= ngram_max is wanted",
        ),
        (
            "[sparse]\nngram_max = " + "9" * 5000,
            r"o\.toml: not TOML: .*; expected tables such as \[sparse\] with ngram_max = 3",
        ),
        (
            "[sparse]\nngram_max = 0x" + "f" * 5000,
            r"o\.toml: sparse\.ngram_max is a number of thousands of digits",
        ),
        (
            "[sparse]\nngram_max = " + "[" * 5000,
            r"o\.toml: not TOML: .*; expected tables such as \[sparse\] with ngram_max = 3",
        ),
        ("[sparse]\nngram_max = 0\n", r"o\.toml: sparse\.ngram_max is 0; expected: 1 or more"),
    ],
)
def test_a_broken_file_of_options(
    run: Run, sample: Path, tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "o.toml").write_text(content)
    result = run(
        "train", "--dict", sample, "--config", tmp_path / "o.toml", "-o", tmp_path / "model"
    )
    assert result.code == 1
    assert re.search(f"linker: .*{message}", result.err)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--set", "sparse.ngrams=3"),
            "--set sparse.ngrams=3: there is no option sparse.ngrams; sparse has: analyzer, ngram_min, ngram_max",
        ),
        (
            ("--set", "dense.dim=3"),
            "--set dense.dim=3: there is no option group 'dense'; choose one of: normalize, text, sparse",
        ),
        (
            ("--set", "sparse.ngram_max=many"),
            "--set sparse.ngram_max=many: sparse.ngram_max is 'many'; expected: a whole number",
        ),
        (
            ("--set", "ngram_max"),
            "--set ngram_max: expected GROUP.FIELD=VALUE, e.g. sparse.ngram_max=3",
        ),
        (
            ("--preset", "best"),
            "--preset best: there is no preset 'best'; choose one of: default, paper-biosyn",
        ),
        (
            ("--encoder", "nonsense"),
            "--encoder nonsense: there is no such encoder; choose one of: bne, bne-words, dan, ",
        ),
        (("--dict-format", "xls"), "'xls' is not one of 'medic', 'obo', 'rrf', 'biosyn', 'table'"),
        (
            ("--mentions-format", "xls"),
            "'xls' is not one of 'txt', 'tsv', 'jsonl', 'pubtator', 'bioc', 'concept'",
        ),
        (
            ("--refit",),
            "--refit trains again on the mentions of --mentions and --dev; name some with --dev",
        ),
        (
            ("--refit", "--dev", "d"),
            "--refit trains again on the mentions of --mentions and --dev; name some with --mentions",
        ),
    ],
)
def test_a_wrong_command_line_says_what_there_is(
    run: Run, sample: Path, options: tuple[str, ...], message: str
) -> None:
    result = run("train", "--dict", sample, *options)
    assert (result.code, result.out) == (2, "")
    assert message in " ".join(result.err.split())
    assert not Path("linker-model").exists()


def test_the_encoder_can_be_named(run: Run, sample: Path, tmp_path: Path) -> None:
    result = run("train", "--dict", sample, "--encoder", "tfidf", "-o", tmp_path / "model")
    assert result.code == 0
    assert "encoder:" not in result.err
    assert config(tmp_path / "model")["encoder"] == "tfidf"


def test_a_spelling_list_goes_into_the_model(run: Run, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("distrophy||dystrophy\n")
    (tmp_path / "m.txt").write_text("Becker muscular distrophy\n")
    common = ("--encoder", "tfidf", "--spelling", tmp_path / "s.txt", "-o", tmp_path / "model")
    assert run("train", "--dict", sample, *common).code == 0
    result = run("link", tmp_path / "m.txt", "--model", tmp_path / "model", "-k", "1")
    assert result.out.splitlines()[1].split("\t")[2:5] == [
        "MESH:D020388",
        "Muscular Dystrophy, Duchenne",
        "1.0000",
    ]
    (tmp_path / "s.txt").write_text("distrophy\n")
    result = run(
        "train", "--dict", sample, "--spelling", tmp_path / "s.txt", "-o", tmp_path / "model"
    )
    assert result.code == 1
    assert (
        "s.txt, line 1: this is no correction: 'distrophy'; expected wrong||right; mend or delete the line"
        in result.err
    )


def test_several_dictionaries_make_one_model(run: Run, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "hp.tsv").write_text("id,name\nHP:0000001,Bald patches\n")
    result = run("train", "--dict", sample, "--dict", tmp_path / "hp.tsv", "-o", tmp_path / "model")
    assert "dictionary: hp.tsv (table): 1 concepts" in result.err
    (tmp_path / "m.txt").write_text("bald patches\nbreast cancer\n")
    rows = run(
        "link", tmp_path / "m.txt", "--model", tmp_path / "model", "-k", "1"
    ).out.splitlines()[1:]
    assert [row.split("\t")[2] for row in rows] == ["HP:0000001", "MESH:D001943"]


def test_concepts_can_be_chosen_by_namespace(run: Run, sample: Path, tmp_path: Path) -> None:
    assert (
        run("train", "--dict", sample, "--namespaces", "OMIM", "-o", tmp_path / "model").code == 0
    )
    assert {i.partition(":")[0] for i in Linker.load(tmp_path / "model").dictionary.ids} == {"OMIM"}
    result = run("train", "--dict", sample, "--namespaces", "HP", "-o", tmp_path / "model")
    assert result.code == 1
    message = r"sample_medic\.tsv: holds no concept that the filters keep; check --types and --namespaces \(there are: MESH \d+, OMIM \d+\)\n$"
    assert re.search(message, result.err)
    assert (
        run("train", "--dict", sample, "--namespaces", "omim:", "-o", tmp_path / "lower").code == 0
    )
    assert list(Linker.load(tmp_path / "lower").dictionary.ids) == list(
        Linker.load(tmp_path / "model").dictionary.ids
    )


def test_a_dictionary_of_which_nothing_is_kept_is_told(
    run: Run, sample: Path, tmp_path: Path
) -> None:
    (tmp_path / "hp.tsv").write_text("id,name\nHP:0000001,Bald patches\n")
    result = run(
        "train",
        "--dict",
        sample,
        "--dict",
        tmp_path / "hp.tsv",
        "--namespaces",
        "HP",
        "-o",
        tmp_path / "model",
    )
    assert result.code == 0
    assert f"linker: {sample}: holds no concept that the filters keep\n" in result.err
    assert list(Linker.load(tmp_path / "model").dictionary.ids) == ["HP:0000001"]


def test_mentions_of_another_vocabulary_are_an_error(
    run: Run, sample: Path, tmp_path: Path
) -> None:
    (tmp_path / "m.tsv").write_text(
        "sugar trouble\tUMLS:C0011849\nbreathing trouble\tUMLS:C0004096\nnothing\t-1\n"
    )
    result = run(
        "train", "--dict", sample, "--mentions", tmp_path / "m.tsv", "-o", tmp_path / "model"
    )
    assert result.code == 1
    message = r"linker: the dictionary knows the id of none of the 2 training mentions \(UMLS:C0011849; its own: (MESH|OMIM):\w+\)\n$"
    assert re.search(message, result.err)
    assert not (tmp_path / "model").exists()


def test_another_file_lends_its_parents(run: Run, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text(
        "D001943||breast cancer\nD009369||neoplasm\nD018567||male breast cancer\n"
    )
    assert (
        run(
            "train", "--dict", tmp_path / "d.txt", "--hierarchy", sample, "-o", tmp_path / "model"
        ).code
        == 0
    )
    dictionary = Linker.load(tmp_path / "model").dictionary
    (row,) = dictionary.rows("MESH:D018567")
    assert "MESH:D001943" in [
        dictionary.ids[parent] for parent in dictionary.hierarchy.parents([row])[0]
    ]


def test_the_dictionary_of_a_model_can_be_used_again(
    run: Run, trained: Path, tmp_path: Path
) -> None:
    assert run("train", "--dict", trained, "-o", tmp_path / "model").code == 0
    assert list(Linker.load(tmp_path / "model").dictionary.ids) == list(
        Linker.load(trained).dictionary.ids
    )
    result = run("train", "--dict", trained, "--namespaces", "OMIM", "-o", tmp_path / "model")
    assert result.code == 1
    assert (
        f"{trained}: is a saved dictionary; --namespaces can be chosen only where its files are read"
        in result.err
    )


def test_a_cycle_is_told(run: Run, medic: Callable[..., Path], tmp_path: Path) -> None:
    path = medic(("A disease", "D000001", "D000002", ""), ("B disease", "D000002", "D000001", ""))
    result = run("train", "--dict", path, "-o", tmp_path / "model")
    assert result.code == 0
    assert re.search(
        r"the hierarchy has a cycle of 2 concepts \(MESH:D00000\d, MESH:D00000\d\); each is the others' ancestor",
        result.err,
    )


def test_development_mentions_of_another_dictionary_are_refused(
    run: Run, sample: Path, tmp_path: Path
) -> None:
    (tmp_path / "dev.tsv").write_text("seizure\tHP:0001250\n")
    result = run("train", "--dict", sample, "--dev", tmp_path / "dev.tsv", "-o", tmp_path / "model")
    assert result.code == 1
    assert (
        "dev.tsv: the dictionary has none of its 1 annotated ids (HP:0001250; its own: MESH:"
        in result.err
    )
    assert not (tmp_path / "model").exists()


def test_names_that_are_lent_are_counted_and_linked(
    run: Run, medic: Callable[..., Path], tmp_path: Path
) -> None:
    dictionary = medic(("Cough", "D000002", "", "tussis"), ("Fever", "D000003", "", ""))
    lender = tmp_path / "lender.tsv"
    lender.write_text("id\tname\txrefs\nD:1\tague\tMSH:D000003\nD:2\thiccup\tEFO:1\n")
    result = run("train", "--dict", dictionary, "--lend", lender, "-o", tmp_path / "model")
    assert result.code == 0
    assert "dictionary: lender.tsv (table, names only): 1 concepts" in result.err
    assert (
        "names lent by lender.tsv: concepts: joined 1, ambiguous 0, not joined 1; "
        "names: lent 1, concept joins none 1\n"
    ) in result.err
    (tmp_path / "mentions.txt").write_text("ague\nfever\n")
    linked = run("link", tmp_path / "mentions.txt", "--model", tmp_path / "model", "-k", 1)
    header, *rows = (line.split("\t") for line in linked.out.splitlines())
    assert header[-2] == "source"
    assert [(row[2], row[5], row[-2]) for row in rows] == [
        ("MESH:D000003", "ague", "lender.tsv"),
        ("MESH:D000003", "Fever", ""),
    ]


def test_a_lender_that_joins_nothing_stops_the_training(
    run: Run, medic: Callable[..., Path], tmp_path: Path
) -> None:
    dictionary = medic(("Cough", "D000002", "", "tussis"))
    lender = tmp_path / "lender.tsv"
    lender.write_text("id\tname\nD:1\tague\n")
    result = run("train", "--dict", dictionary, "--lend", lender, "-o", tmp_path / "model")
    assert (result.code, (tmp_path / "model").exists()) == (1, False)
    assert result.err.startswith(f"linker: {lender}: none of its concepts joins a concept")
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("asked", ["static", "tfidf"])
def test_who_asks_for_an_encoder_gets_it_without_a_word(
    run: Run, sample: Path, tmp_path: Path, asked: str
) -> None:
    result = run("train", "--dict", sample, "-o", tmp_path / "model", "--encoder", asked)
    assert result.code == 0
    assert "encoder:" not in result.err
    assert Linker.load(tmp_path / "model").encoder == asked


def test_the_same_seed_makes_the_same_model(run: Run, sample: Path, tmp_path: Path) -> None:
    mentions = sample.with_name("sample_mentions.tsv")

    def trained(*seed: str) -> tuple[str, dict[str, bytes]]:
        result = run(
            *("train", "--dict", sample, "--mentions", mentions, "-o", tmp_path / "model"), *seed
        )
        assert result.code == 0
        files = [path for path in (tmp_path / "model").rglob("*") if path.is_file()]
        return result.err, {
            path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in files
        }

    first, again, other = (trained("--seed", seed) for seed in "334")
    assert first == again
    ranker = "model/ranker/w.npy"  # fitted in folds, which the seed deals
    assert first[1][ranker] != other[1][ranker]


@pytest.mark.parametrize(
    "flags",
    [("--epochs", "3"), ("--device", "cpu"), ("--loss", "marginal"), ("--top-k", "5")],
)
@pytest.mark.parametrize("encoder", [(), ("--encoder", "static")])
def test_flags_of_gradients_are_refused(
    run: Run, sample: Path, tmp_path: Path, flags: tuple[str, str], encoder: tuple[str, ...]
) -> None:
    result = run("train", "--dict", sample, "-o", tmp_path / "model", *encoder, *flags)
    message = "only an encoder with weights is trained, not static; choose --encoder transformer, dan or static-tuned, or do without"
    assert result.code == 2
    assert result.err.endswith(f"Error: {' '.join(flags)}: {message}\n")


@pytest.mark.parametrize(
    ("first", "other", "letters"),
    [
        ("болезнь", "недуг", "абвгдежзклмнопрстуфх"),
        ("病", "症", "一丁丂七丄丅丆万丈三上下丌不与丏丐丑丒专"),
    ],
)
def test_a_dictionary_in_another_script(
    run: Run, tmp_path: Path, first: str, other: str, letters: str
) -> None:
    """No word has a vector: a warning says so, and characters link all the same."""
    codes = [left + right for left in letters for right in letters]
    rows = [f"X:{i}\t{first} {code}\t{code}{code} {other}" for i, code in enumerate(codes)]
    path = write(tmp_path / "d.tsv", rows)
    result = run("train", "--dict", path, "-o", tmp_path / "m")
    assert result.code == 0
    assert re.search(r"(\d+) of \1 names have no word with a static vector", result.err)
    (tmp_path / "m.txt").write_text(f"{first} {codes[7]}\n", "utf-8")
    assert "X:7\t" in run("link", "--model", tmp_path / "m", tmp_path / "m.txt").out


@pytest.mark.parametrize(
    "rows",
    [["X:1\tfever\t"], ["X:1\tfever\t—|?!|fever fever"]],
    ids=["one name", "punctuation"],
)
def test_a_few_names_are_enough(run: Run, tmp_path: Path, rows: list[str]) -> None:
    result = run("train", "--dict", write(tmp_path / "d.tsv", rows), "-o", tmp_path / "m")
    assert result.code == 0
    (tmp_path / "m.txt").write_text("fevers\n")
    assert "X:1\t" in run("link", "--model", tmp_path / "m", tmp_path / "m.txt").out


@pytest.mark.parametrize(
    ("count", "what"),
    [
        (0, "as it is shipped, "),
        (49, "as it is shipped, "),
        (60, "fitted to 60 annotated mentions, in 5 folds"),
    ],
)
def test_ten_names_are_trained_linked_explained_and_judged(
    run: Run, tmp_path: Path, count: int, what: str
) -> None:
    names = [
        "fever",
        "gout",
        "stroke",
        "asthma",
        "measles",
        "mumps",
        "rabies",
        "scurvy",
        "tetanus",
        "flu",
    ]
    path = write(tmp_path / "d.tsv", [f"X:{place}\t{n}\t" for place, n in enumerate(names)])
    for name, size in (("some.tsv", count), ("judged.tsv", 20)):
        lines = (f"{names[i % 10]} {i}\tX:{i % 10}\n" for i in range(size))
        (tmp_path / name).write_text("".join(lines))
    more = ("--mentions", tmp_path / "some.tsv") if count else ()
    trained = run("train", "--dict", path, *more, "-o", tmp_path / "m")
    assert trained.code == 0
    assert f"ranker: {what}" in trained.err
    (tmp_path / "t.txt").write_text("rabies\n…\n")
    linked = run("link", tmp_path / "t.txt", "--model", tmp_path / "m").out.splitlines()
    assert linked[1].startswith("rabies\trabies\tX:6\t")
    assert len(linked) == 1 + 5 + 1  # five candidates of the one, none of the other
    assert "X:6" in run("explain", "rabies", "--model", tmp_path / "m").out
    judged = run("evaluate", tmp_path / "judged.tsv", "--model", tmp_path / "m")
    assert judged.code == 0
    assert judged.out.splitlines()[1].split()[:3] == ["all", "20", "1.0000"]


def test_a_dictionary_of_punctuation(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d.tsv", ["X:1\t—\t?!"])
    result = run("train", "--dict", path, "-o", tmp_path / "m")
    assert result.code == 1
    assert "no name of the dictionary is left once normalised" in result.err


def test_a_shipped_table_that_is_missing_is_said_before_the_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shipped() -> None:
        raise LinkerError("install linker again")

    monkeypatch.setattr(WordPieces, "shipped", shipped)
    result = run("train", "--dict", "nowhere", "-o", tmp_path / "m")
    assert (result.code, result.err) == (1, "linker: install linker again\n")


def test_the_default_needs_neither_torch_nor_transformers_nor_tokenizers(
    sample: Path, tmp_path: Path
) -> None:
    missing = (
        "torch",
        "transformers",
        "tokenizers",
        "huggingface_hub",
        "accelerate",
        "safetensors",
    )
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name.partition('.')[0] in {missing!r}:\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from linker.cli import main\n"
        "sys.argv = ['linker', *sys.argv[1:]]\n"
        "main()"
    )

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
        )

    trained = call("train", "--dict", sample, "-o", tmp_path / "m")
    assert trained.returncode == 0, trained.stderr
    assert "encoder: static" in trained.stderr
    (tmp_path / "mentions.txt").write_text("kidney failure\n")
    linked = call("link", "--model", tmp_path / "m", tmp_path / "mentions.txt")
    assert linked.returncode == 0, linked.stderr
    assert "MESH:" in linked.stdout
