"""Chunks of a file, and files of a job, that are linked."""

from __future__ import annotations

import io
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary, Linker
from linker.errors import LinkerError
from linker.io import outputs, pubtator
from linker.io.formats import PREDICTIONS
from linker.jobs import linking
from linker.jobs.linking import LinkSettings, link_files
from linker.jobs.machines import Machines
from linker.jobs.parts import Job, Summary
from linker.records import Document, Mention
from linker.training.pipeline import train


def test_chunks_have_a_number_of_mentions() -> None:
    mentions = [Mention(str(i)) for i in range(5)]
    assert [len(chunk) for chunk in linking.chunks(mentions, 2)] == [2, 2, 1]
    assert list(linking.chunks([], 2)) == [[]]
    drugs = [Mention(text, type="Drug") for text in "abc"]
    documents = [Document("1", mentions=(*mentions, *drugs)), Document("2"), Document("3")]
    by_id = [[d.id for d in chunk] for chunk in linking.chunks(documents, 6)]
    assert by_id == [["1"], ["2", "3"]]
    by_id = [[d.id for d in c] for c in linking.chunks(documents, 6, lambda m: not m.type)]
    assert by_id == [["1", "2"], ["3"]]


@pytest.mark.parametrize("form", sorted({*PREDICTIONS} - {"source_to_concept_map"}))  # of OMOP
def test_chunks_join_to_what_one_process_writes(
    model: Path, sample: Path, tmp_path: Path, form: str
) -> None:
    path = sample.with_name("sample_documents.pubtator.txt")
    documents = list(pubtator.read(path))
    assert len(documents) > 2
    linker = Linker.load(model)
    settings = LinkSettings(str(model), form, batch_size=1)
    do = settings.of_chunks(True, linker)
    whole = do(documents)
    chunks = [do(chunk) for chunk in linking.chunks(documents, 1)]
    assert len(chunks) > 2
    for written in ([whole], chunks, [do(chunk) for chunk in linking.chunks([], 1)]):
        file = io.StringIO()
        layout = linking.layout_of(form, True, linker, False)
        items = linker.link_items(documents if any(w.items for w in written) else [])
        outputs.write(form, items, file, layout)
        joined = outputs.joined(form, [(w.header, w.text) for w in written])
        assert "".join(joined) == file.getvalue()


@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_a_loose_mention_that_comes_again_is_written_as_before(
    model: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    linker, asked = Linker.load(model), list[Mention]()
    link = Linker.link_items

    def noted(self: Linker, items: Any, **limits: Any) -> Any:
        asked.extend(items := list(items))
        return link(self, items, **limits)

    monkeypatch.setattr(Linker, "link_items", noted)
    settings = LinkSettings(str(model), form, mention_type="Disease")
    do = settings.of_chunks(False, linker)
    gout, fever = Mention("gout", type="Disease"), Mention("fever", type="Disease")
    drug, other = Mention("gout", type="Drug"), Mention("gout", type="Disease", document_id="2")
    monkeypatch.setattr(linking, "_KEPT", 2)
    chunks = [[gout, drug, fever, gout], [fever, other, gout], [drug], [fever, gout]]
    new = ([gout, drug, fever], [other], [drug], [fever, gout])  # all are forgotten after three
    for chunk, wanted in zip(chunks, new, strict=True):
        asked.clear()
        written = do(chunk)
        assert asked == wanted
        alone = [settings.of_chunks(False, linker)([mention]) for mention in chunk]
        assert written.text == "".join(one.text for one in alone)
        assert written.mentions == sum(mention is not drug for mention in chunk)
        assert written.tally.outcomes == sum((one.tally.outcomes for one in alone), Counter())


def run(source: Path, output: Path, model: Path, **settings: Any) -> Summary:
    work = link_files(LinkSettings(str(model), **settings))
    return Job(str(source), str(output), work).run(Machines(1), lambda _: None)


def test_options_that_change_answers_change_names(
    model: Path, inputs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    assert run(inputs, output, model, form="jsonl").done == 2
    assert run(inputs, output, model, form="jsonl", batch_size=3).done == 0
    assert run(inputs, output, model, form="jsonl", k=3).done == 2
    assert run(inputs, output, model, form="tsv", k=3).done == 2
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    assert run(inputs, output, copy, form="jsonl").done == 0  # it is the content that counts


def test_a_model_that_is_replaced_while_the_job_runs(
    model: Path, inputs: Path, tmp_path: Path, sample: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    work = link_files(LinkSettings(str(copy)))
    train(Dictionary.read(sample), encoder="tfidf", mentions=[], corrections={"a": "b"}).save(copy)
    with pytest.raises(LinkerError, match="was replaced since the job began; run it again"):
        Job(str(inputs), str(tmp_path / "out"), work).run(Machines(1), lambda _: None)


def test_parquet_out_is_the_table(model: Path, inputs: Path, tmp_path: Path) -> None:
    pq: Any = pytest.importorskip("pyarrow.parquet")
    run(inputs / "a.txt", tmp_path / "table", model)
    run(inputs / "a.txt", tmp_path / "rows", model, form="parquet")
    (table,) = (tmp_path / "table").glob("part-*")
    (rows,) = (tmp_path / "rows").glob("part-*")
    head, *lines = table.read_text().splitlines()
    columns = pq.read_table(rows).select(["mention", "part", "concept_id", "matched_name", "rank"])
    cells = [["" if v is None else str(v) for v in r.values()] for r in columns.to_pylist()]
    places = [head.split("\t").index(name) for name in columns.column_names]
    assert cells == [[line.split("\t")[place] for place in places] for line in lines]


def test_an_empty_part_has_an_empty_output(model: Path, inputs: Path, tmp_path: Path) -> None:
    (inputs / "b.txt").write_text("")
    assert run(inputs, tmp_path / "out", model, form="jsonl").records == 5
    assert sorted(p.stat().st_size > 0 for p in (tmp_path / "out").glob("part-*")) == [False, True]
