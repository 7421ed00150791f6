"""linker review with --project: files become projects, which are listed and written."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import rows

Run = Callable[..., Any]
TABLE = "mention,ward\nbreast cancer,2\nbreast cancer,3\nzzzz qqqq,4\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "wards.csv"
    path.write_text(TABLE, "utf-8")
    return path


@pytest.fixture
def of(run: Run, trained: Path, tmp_path: Path) -> Callable[..., Any]:
    """Runs a command of `linker review` on a file of projects."""
    file = tmp_path / "projects.db"

    def command(name: str, *args: Any) -> Any:
        return run("review", name, *args, "--model", trained, "--decisions", file)

    return command


def test_a_table_becomes_a_project_that_is_listed(of: Run, table: Path) -> None:
    result = of("import", table, "--project", "my wards")
    assert result.code == 0
    assert result.err.splitlines() == [
        "project 1: my wards; its mentions are linked",
        "wards.csv: read as table: 3 rows",
    ]
    (project,) = rows(of("projects").out)
    del project["created"]
    assert project == {
        "project": "1",
        "name": "my wards",
        "kind": "table",
        "mentions": "3",
        "linked": "3",
        "decided": "0",
    }


def test_a_reviewed_table_comes_back_by_the_name_of_its_project(
    of: Run, table: Path, tmp_path: Path
) -> None:
    of("import", table, "--project", "wards")
    path = tmp_path / "wards.reviewed.csv"
    assert of("export", "--project", "wards", "-o", path).code == 0
    with path.open(newline="", encoding="utf-8") as file:
        header, first, *others = csv.reader(file)
    assert header[:4] == ["mention", "ward", "concept_id", "name"]
    assert [first[0], first[2]] == ["breast cancer", "MESH:D001943"]
    first[header.index("state (fill in)")] = "accepted"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, first, *others])
    result = of("import", path, "--project", "wards", "--reviewer", "ann")
    assert result.err == "decisions read: 1; of them new: 1\n"
    assert [project["decided"] for project in rows(of("projects").out)] == ["2"]
    (decision,) = rows(of("export", "--project", "1", "--format", "decisions").out)
    assert (decision["mention"], decision["reviewer"]) == ("breast cancer", "ann")


def test_a_damaged_file_of_a_folder_is_passed_over(of: Run, tmp_path: Path) -> None:
    folder = tmp_path / "stack"
    folder.mkdir()
    damaged = folder / "a.txt.gz"
    damaged.write_bytes(gzip.compress(b"gout " * 1000)[:-20])
    arguments = ("import", folder, "--project", "stack", "--on-error", "skip")
    assert of(*arguments).code == 1  # nothing else is there
    (folder / "b.txt").write_text("It was breast cancer.")
    assert of(*arguments[:-2]).code == 1
    assert rows(of("projects").out) == []
    result = of(*arguments)
    assert result.code == 1
    assert str(damaged) in result.err.splitlines()[-1]
    (project,) = rows(of("projects").out)
    assert (project["name"], project["mentions"]) == ("stack", "1")


def test_a_folder_of_texts_and_further_files_are_one_project(of: Run, tmp_path: Path) -> None:
    (tmp_path / "stack").mkdir()
    for name, text in (
        ("b", "Gout and breast cancer."),
        ("a", "He has gout."),
        ("c", "None here."),
    ):
        (tmp_path / "stack" / f"{name}.txt").write_text(text, "utf-8")
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "d", "title": "No gout", "abstract": "Or gout."}\n', "utf-8")
    result = of("import", tmp_path / "stack", more, "--project", "stack")
    assert result.err.startswith("project 1: stack; its mentions of type Disease are linked\n")
    found = [
        (row["document_id"], row["mention"])
        for row in rows(of("export", "--project", "stack", "--format", "tsv").out)
    ]
    assert found == [
        ("a", "gout"),
        ("b", "Gout"),
        ("b", "breast cancer"),
        ("d", "gout"),
        ("d", "gout"),
    ]


def test_a_text_is_read_as_somebody_says(of: Run, tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("gout\nHe was seen with asthma.\nlupus\n", "utf-8")
    kinds = {"auto": "documents", "list": "list", "documents": "documents"}
    for read_as in kinds:
        assert of("import", path, "--project", read_as, "--read-as", read_as).code == 0
    assert {p["name"]: p["kind"] for p in rows(of("projects").out)} == kinds
    refused = of("import", path, "--project", "x", "--read-as", "table", "--column", "z")
    assert (refused.code, "there is no column 'z'" in refused.err) == (1, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("export", "--project", "other"), "there is no project 'other'; there are: 'wards'"),
        (
            ("import", "{other}", "--project", "wards"),
            "holds documents, and the project has others",
        ),
        (("import", "{table}", "--project", "wards"), "is in the project already, as wards.csv"),
        (("import", "{table}", "--column", "z", "--project", "x"), "there is no column 'z'"),
        (("import", "{mixed}", "--project", "x"), "holds mentions and documents; make two files"),
    ],
)
def test_mistakes_are_told(
    of: Run, table: Path, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    of("import", table, "--project", "wards")
    other = tmp_path / "other.txt"
    other.write_text("7|t|Breast cancer\n7|a|None.\n", "utf-8")
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text('{"mention": "gout"}\n{"id": "7", "text": "No gout."}\n', "utf-8")
    result = of(*(arg.format(other=other, table=table, mixed=mixed) for arg in args))
    assert result.code == 1
    assert said in result.err
