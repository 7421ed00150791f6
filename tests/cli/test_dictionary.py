"""linker dictionary: stats, convert, diff, search."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary

Run = Callable[..., Any]


@pytest.fixture
def old(medic: Callable[..., Path]) -> Path:
    rows = (
        ("Disease", "D000001", "", ""),
        ("Cough", "D000002", "D000001", "tussis|coughing"),
        ("Wheeze", "D000003", "D000001", "Tussis"),
    )
    return medic(*rows, file="old.tsv")


@pytest.fixture
def lender(tmp_path: Path) -> Path:
    text = "id\tname\tsynonyms\tnarrow\txrefs\nD:1\tpertussis\tTussis\twhoop\tMESH:D000002\n"
    (tmp_path / "lender.tsv").write_text(text)
    return tmp_path / "lender.tsv"


SUMMARY = "concepts: joined 1, ambiguous 0, not joined 0; names: lent 1, known already 1, kind not"


def test_lend_writes_what_becomes_of_each_name(
    run: Run, old: Path, lender: Path, tmp_path: Path, trained: Path
) -> None:
    result = run("dictionary", "lend", old, lender, "-o", tmp_path / "names.tsv")
    assert result.code == 0
    assert result.err.startswith(f"names lent by lender.tsv: {SUMMARY}")
    rows = [line.split("\t") for line in (tmp_path / "names.tsv").read_text().splitlines()]
    ours = "MESH:D000002"
    assert rows == [
        ["concept_id", "name", "lender_id", "file", "status"],
        [ours, "pertussis", "D:1", "lender.tsv", "lent"],
        [ours, "Tussis", "D:1", "lender.tsv", "known already"],
        [ours, "whoop", "D:1", "lender.tsv", "kind not lent"],
    ]


def test_stats(run: Run, old: Path, trained: Path) -> None:
    result = run("dictionary", "stats", old)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[0] == "old.tsv  medic  release not stated  3 concepts"
    figures = dict(re.split(r"  +", line) for line in result.out.splitlines()[1:])
    expected = {"concepts": "3", "names": "6", "distinct names": "5", "ambiguous names": "1"}
    expected |= {"namespaces": "MESH 3"}
    assert figures.items() >= (expected | {"roots": "MESH:D000001", "cycles": "none"}).items()
    record = json.loads(run("dictionary", "stats", old, "--format", "json").out)
    assert (record["concepts"], record["depth"], record["cycles"]) == (3, 1, [])
    assert "  346 concepts" in run("dictionary", "stats", trained).out  # a model folder
    filtered = run("dictionary", "stats", old, "--namespaces", "OMIM, HP", "--format", "json")
    assert "check --types and --namespaces (there are: MESH 3)" in filtered.err


def test_convert(run: Run, sample: Path, tmp_path: Path) -> None:
    for name in ("table.tsv", "table.tsv.gz"):
        assert run("dictionary", "convert", sample, "-o", tmp_path / name) == (0, "", "")
    packed, plain = ((tmp_path / f"table.tsv{end}").read_bytes() for end in (".gz", ""))
    assert gzip.decompress(packed) == plain
    assert run("dictionary", "convert", sample).out == (tmp_path / "table.tsv").read_text("utf-8")
    one, other = Dictionary.read(sample), Dictionary.read(tmp_path / "table.tsv")
    assert list(map(one.concept, range(len(one)))) == list(map(other.concept, range(len(other))))
    assert run("dictionary", "diff", sample, tmp_path / "table.tsv").err == "no difference\n"


def test_diff(run: Run, old: Path, medic: Callable[..., Path]) -> None:
    new = medic(
        ("Disease", "D000001", "", ""),
        ("Coughs", "D000002", "", "tussis|Cough"),
        ('"5" scar', "D000004", "D000001", ""),
    )
    result = run("dictionary", "diff", old, new)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == "change\tconcept_id\tname\tdetails"
    assert set(lines[1:]) == {
        "concept removed\tMESH:D000003\tWheeze\t",
        'concept added\tMESH:D000004\t"""5"" scar"\t',  # quoted where that is needed
        "preferred name changed\tMESH:D000002\tCoughs\tCough",
        "names removed\tMESH:D000002\tCoughs\tcoughing",
        "names added\tMESH:D000002\tCoughs\tCoughs",
        "parents removed\tMESH:D000002\tCoughs\tMESH:D000001",
    }
    assert re.search(r"^concept added +1 concepts$", result.err, re.MULTILINE)
    assert run("dictionary", "diff", old, new, "-q").err == ""


def test_search(run: Run, old: Path, sample: Path) -> None:
    said = "MESH:D000002\tCough\n  also: tussis | coughing\n  parents: MESH:D000001\n"
    assert run("dictionary", "search", old, "COUGHING").out == said
    alternative = run("dictionary", "search", sample, "OMIM:300100")
    assert alternative.out.startswith("MESH:D000326\tAdrenoleukodystrophy\n")
    result = run("dictionary", "search", old, "tussis", "-k", "1")
    assert len(re.findall("^MESH", result.out, re.MULTILINE)) == 1
    assert result.err == "there are more; show more with -k 2\n"
    nothing = "no concept has the id 'gout', or a name like it\n"
    assert run("dictionary", "search", old, "gout") == (0, "", nothing)
