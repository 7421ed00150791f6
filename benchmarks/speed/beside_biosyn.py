"""Characters beside BioSyn's published way (Sung et al. 2020); start-up, reading, a million lines.

Names are those of the MEDIC of 2012 with training mentions. Theirs holds the weights of all names
in a full matrix, and links a mention alone by its scores with all of them.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib.data import MEDIC, documents, locate, medmentions
from benchmarks.lib.measure import Figures, apart, memory, peak, ratio, rounded, timed
from linker import Dictionary, Linker
from linker.evaluation.protocols import biosyn_queries
from linker.io.files import read_lines
from linker.linking.options import preset
from linker.text.mentions import grouped
from linker.training.pipeline import train

TOP = 20
SAME = 1e-4  # scores nearer than this count as equal
Top = tuple[list[int], list[float]]  # rows of the names, best first, and scores


def queries_of(linker: Linker, split: str) -> list[list[str]]:
    """What is asked of each mention of NCBI Disease: one query, or one for each part."""
    groups = grouped(documents("ncbi", split), linker.options.text)
    pairs = [(m, definitions) for _, items, definitions in groups for m in items if m.gold]
    return [list(map(linker.normalize, biosyn_queries(*pair))) for pair in pairs]


def ranked(generator: Any, queries: Sequence[str]) -> dict[str, Top]:
    """Our TOP names of each distinct query, in batches."""
    found: dict[str, Top] = {}
    distinct = list(dict.fromkeys(queries))
    for at in range(0, len(distinct), 256):
        asked = distinct[at : at + 256]
        answers = generator.rank(list(asked), TOP, "names")
        pairs = zip(asked, answers, strict=True)
        found |= {query: (one.names.tolist(), one.scores.tolist()) for query, one in pairs}
    return found


def same_top(theirs: Top, ours: Top) -> bool:
    """Whether two rankings have the same scores, and the same names but for ties with the last."""
    if len(theirs[1]) != len(ours[1]) or not np.allclose(theirs[1], ours[1], rtol=0, atol=SAME):
        return False
    score = dict(zip(*ours, strict=True)) | dict(zip(*theirs, strict=True))
    return all(score[row] - theirs[1][-1] <= SAME for row in set(theirs[0]) ^ set(ours[0]))


def characters(given: argparse.Namespace) -> Figures:
    """Mentions a second and memory beside theirs; start-up, reading, and a million lines."""
    with tempfile.TemporaryDirectory() as folder:
        figures: Figures = {"against_biosyn": _by_characters(Path(folder))}
        help_ = [sys.executable, "-m", "linker.cli", "--help"]
        runs = [timed(partial(subprocess.check_output, help_))[0] for _ in range(5)]
        figures["help_seconds"] = round(statistics.median(runs), 3)
        figures["reading_medic_2026"] = apart(read)
        figures["million_lines"] = million(Path(folder), 10_000 if given.quick else 1_000_000)
    return figures


def biosyn(inputs: str) -> Figures:
    """Their way: a dense matrix of names, one product and selection a mention."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    data = json.loads(Path(inputs).read_text(encoding="utf-8"))
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 2), dtype=np.float32)
    names = vectorizer.fit(data["fitted"]).transform(data["names"]).toarray()

    def best(query: str) -> Top:
        scores = np.matmul(vectorizer.transform([query]).toarray(), names.T)[0]
        top = np.argpartition(scores, -TOP)[-TOP:]
        top = top[np.argsort(-scores[top])]
        return top.tolist(), scores[top].tolist()

    seconds, tops = timed(lambda: [best(query) for query in data["queries"]])
    return {"seconds": seconds, "peak_mb": peak(), "tops": tops}


def ours(inputs: str) -> Figures:
    """A saved model: names ranked in batches, repeated mentions once."""
    data = json.loads(Path(inputs).read_text(encoding="utf-8"))
    generator = Linker.load(Path(inputs).with_name("model")).generator
    seconds, tops = timed(lambda: ranked(generator, data["queries"]))
    figures = {"seconds": seconds, "peak_mb": peak(), "distinct": len(tops)}
    return figures | {"tops": [tops[query] for query in data["queries"]]}


def read() -> Figures:
    """Reading the MEDIC of 2026 from its compressed CSV."""
    seconds, dictionary = timed(lambda: Dictionary.read(locate(MEDIC["2026"])))
    sizes = {"concepts": len(dictionary), "names": len(dictionary.names)}
    return {"seconds": round(seconds, 2), "peak_mb": round(peak(), 2)} | sizes


def _by_characters(folder: Path) -> Figures:
    """Both ways on the development mentions, three times, and whether the top 20 agree."""
    options = preset("paper-biosyn", "tfidf")
    dictionary = Dictionary.read(locate(MEDIC["2012"]))
    bare = train(dictionary, encoder="tfidf", options=options)
    known = documents("ncbi", "train")
    linker = train(dictionary, encoder="tfidf", mentions=known, options=options)
    linker.save(folder / "model")
    queries = [query for of_one in queries_of(linker, "devel") for query in of_one]
    fitted, names = (list(one.generator.table.texts) for one in (bare, linker))
    inputs = folder / "inputs.json"
    inputs.write_text(json.dumps({"queries": queries, "fitted": fitted, "names": names}))
    sides = {"biosyn": biosyn, "ours": ours}
    runs = [{name: apart(of, str(inputs)) for name, of in sides.items()} for _ in range(3)]
    figures: Figures = {"queries": len(queries), "distinct_queries": runs[0]["ours"]["distinct"]}
    for name in sides:
        rates = rounded((len(queries) / run[name]["seconds"] for run in runs), 1)
        peaks = [round(run[name]["peak_mb"]) for run in runs]
        figures[name] = {"mentions_per_second": rates, "peak_mb": peaks}
    for what, key in (("times_faster", "seconds"), ("times_less_memory", "peak_mb")):
        values = [[run[name][key] for run in runs] for name in sides]
        figures[f"{what}_median"] = ratio(*values, digits=1)
    pairs = zip(*(runs[0][name]["tops"] for name in sides), strict=True)
    return figures | {"same_top_20": sum(same_top(*pair) for pair in pairs)}


def million(folder: Path, lines: int) -> Figures:
    """Pipe mentions, sampled from MedMentions, through `linker link -` and watch its memory."""
    dictionary, model, output = Dictionary.read(locate(MEDIC["2026"])), folder / "2026", "out.tsv"
    train(dictionary, encoder="tfidf").save(model)
    sample = random.Random(0).choices(medmentions(), k=lines)
    command = [sys.executable, "-m", "linker.cli", "link", "-", "--model", model, "-o", output]
    start, in_use = time.perf_counter(), list[tuple[float, float]]()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=folder, text=True)

    def feed() -> None:
        assert process.stdin is not None
        with process.stdin as pipe:
            pipe.writelines(f"{line}\n" for line in sample)

    fed = threading.Thread(target=feed)
    fed.start()
    while process.poll() is None:
        in_use += ((time.perf_counter() - start, mb) for mb in memory(process.pid, "VmRSS"))
        time.sleep(lines / 1_000_000)
    fed.join()
    seconds = time.perf_counter() - start
    ends = [seconds * (tenth + 1) / 10 for tenth in range(10)]
    return {
        "lines": lines,
        "distinct": len(set(sample)),
        "exit_code": process.returncode,
        "rows_written": sum(1 for _ in read_lines(folder / output)),
        "seconds": round(seconds),
        "lines_per_second": round(lines / seconds),
        "peak_mb_after_each_tenth_of_the_time": [
            round(max(mb for at, mb in in_use if at <= end)) for end in ends
        ],
    }
