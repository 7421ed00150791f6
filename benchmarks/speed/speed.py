"""Speed and memory: ours beside the way BioSyn does it, in one run; a million lines; loading.

python benchmarks/speed/speed.py             mentions a second, peak memory, start-up, loading
python benchmarks/speed/speed.py --million   also pipes a million mentions through `linker link -`

Writes results/speed.json. Each measurement is a process of its own, with its own
peak memory.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import MEDIC, documents, locate, medmentions
from benchmarks.lib.measure import Figures, apart, memory, peak, rounded, timed

K = 20


def biosyn(inputs: str) -> Figures:
    """The published algorithm: a dense matrix of names, one product and selection a mention."""
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer

    data = json.loads(Path(inputs).read_text(encoding="utf-8"))
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 2)).fit(data["fitted"])
    names = vectorizer.transform(data["names"]).toarray()

    def ranked(query: str) -> list[list[float]]:
        scores = np.matmul(vectorizer.transform([query]).toarray(), names.T)[0]
        top = np.argpartition(scores, -K)[-K:]
        top = top[np.argsort(-scores[top])]
        return [top.tolist(), scores[top].tolist()]

    seconds, rankings = timed(lambda: [ranked(query) for query in data["queries"]])
    return {"seconds": seconds, "peak_mb": peak(), "rankings": rankings}


def ours(inputs: str) -> Figures:
    """A saved model: names ranked in batches, repeated mentions once."""
    from linker import Linker
    from linker.types import Lookup

    data = json.loads(Path(inputs).read_text(encoding="utf-8"))
    generator = Linker.load(data["model"]).generator
    row_of = {text: row for row, text in enumerate(data["names"])}
    start = time.perf_counter()
    distinct = list(dict.fromkeys(data["queries"]))
    ranked = {}
    for at in range(0, len(distinct), 256):
        queries = distinct[at : at + 256]
        answers = generator.rank([Lookup.of(q) for q in queries], K, "names")
        ranked |= {q: (one.names, one.scores) for q, one in zip(queries, answers, strict=True)}
    figures = {"seconds": time.perf_counter() - start, "peak_mb": peak()}
    texts, found = generator.table.texts, (ranked[query] for query in data["queries"])
    rankings = [[[row_of[texts[int(r)]] for r in rows], scores.tolist()] for rows, scores in found]
    return figures | {"distinct": len(distinct), "rankings": rankings}


def load() -> Figures:
    """Reading the MEDIC of 2026 from its compressed CSV."""
    from linker import Dictionary

    seconds, dictionary = timed(lambda: Dictionary.read(locate(MEDIC["2026"])))
    counts = {"concepts": len(dictionary), "names": len(dictionary.names)}
    return {"seconds": seconds, "peak_mb": peak()} | counts


def compare(folder: Path) -> Figures:
    """Ours and BioSyn's on the development mentions, three times, and whether the top 20 agree."""
    from linker import Dictionary, Linker
    from linker.evaluation.protocols import biosyn_queries
    from linker.options import preset
    from linker.text.mentions import grouped

    options = preset("paper-biosyn", "tfidf")
    dictionary = Dictionary.read(locate(MEDIC["2012"]))
    bare = Linker.train(dictionary, encoder="tfidf", options=options)
    linker = Linker.train(
        dictionary, encoder="tfidf", mentions=documents("ncbi", "train"), options=options
    )
    linker.save(folder / "model")
    groups = grouped(documents("ncbi", "devel"), options.text)
    queries = [
        linker.normalize(query)
        for _, items, definitions in groups
        for mention in items
        for query in biosyn_queries(mention, definitions)
    ]
    values: Figures = {"queries": queries, "model": str(folder / "model")}
    values["fitted"] = list(bare.generator.table.texts)
    values["names"] = list(linker.generator.table.texts)
    inputs = folder / "inputs.json"
    inputs.write_text(json.dumps(values), encoding="utf-8")
    sides = {"biosyn": biosyn, "ours": ours}
    runs = [{name: apart(of, str(inputs)) for name, of in sides.items()} for _ in range(3)]
    same = sum(map(same_ranking, runs[0]["biosyn"]["rankings"], runs[0]["ours"]["rankings"]))
    ratios = [run["biosyn"]["seconds"] / run["ours"]["seconds"] for run in runs]
    record = {
        name: {
            "mentions_per_second": rounded(
                (len(queries) / run[name]["seconds"] for run in runs), 1
            ),
            "peak_mb": [round(run[name]["peak_mb"]) for run in runs],
        }
        for name in sides
    }
    less = [run["biosyn"]["peak_mb"] / run["ours"]["peak_mb"] for run in runs]
    return record | {
        "queries": len(queries),
        "distinct_queries": runs[0]["ours"]["distinct"],
        "times_faster": rounded(ratios, 1),
        "times_faster_median": round(statistics.median(ratios), 1),
        "times_less_memory_median": round(statistics.median(less), 1),
        "same_top_20": same,
    }


def same_ranking(theirs: list[list[float]], ours: list[list[float]]) -> bool:
    """Whether two rankings have the same scores, and the same names above the last score.

    At the last score either may choose.
    """
    if any(abs(a - b) > 1e-5 for a, b in zip(theirs[1], ours[1], strict=False)):
        return False
    above = [
        {row for row, score in zip(*side, strict=True) if score > theirs[1][-1] + 1e-5}
        for side in (theirs, ours)
    ]
    return above[0] == above[1]


def million(folder: Path, lines: int = 1_000_000) -> Figures:
    """Pipe mentions, sampled from MedMentions, through `linker link -` and watch its memory."""
    from linker import Dictionary, Linker
    from linker.files import read_lines

    Linker.train(Dictionary.read(locate(MEDIC["2026"])), encoder="tfidf").save(folder / "medic2026")
    sample = random.Random(0).choices(medmentions(), k=lines)
    command = [sys.executable, "-m", "linker.cli", "link", "-"]
    command += ["--model", str(folder / "medic2026"), "-o", str(folder / "out.tsv")]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    in_use: list[tuple[float, float]] = []
    fed = threading.Thread(target=feed, args=(process, sample))
    fed.start()
    while process.poll() is None:
        in_use += ((time.perf_counter() - start, mb) for mb in memory(process.pid, "VmRSS"))
        time.sleep(1)
    fed.join()
    seconds = time.perf_counter() - start
    tenths = [
        round(max(mb for at, mb in in_use if at <= seconds * (i + 1) / 10)) for i in range(10)
    ]
    rows = sum(1 for _ in read_lines(folder / "out.tsv"))
    return {
        "lines": lines,
        "distinct": len(set(sample)),
        "exit_code": process.returncode,
        "rows_written": rows,
        "seconds": round(seconds),
        "lines_per_second": round(lines / seconds),
        "peak_mb_after_each_tenth_of_the_time": tenths,
    }


def feed(process: subprocess.Popen[bytes], lines: list[str]) -> None:
    """Write all lines to a process and close its input."""
    assert process.stdin is not None
    with process.stdin as pipe:
        for line in lines:
            pipe.write(line.encode("utf-8") + b"\n")


def seconds(*command: str) -> float:
    """The median time of a command over five runs."""
    times = [
        timed(lambda: subprocess.run(command, check=True, capture_output=True))[0] for _ in range(5)
    ]
    return round(statistics.median(times), 3)


def main(with_million: bool) -> None:
    """Run all measurements."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures: Figures = {"against_biosyn": compare(folder)}
        print(json.dumps(figures, indent=1), flush=True)
        figures["help_seconds"] = seconds(sys.executable, "-m", "linker.cli", "--help")
        loads = [apart(load) for _ in range(3)]
        middle = sorted(loads, key=lambda one: one["seconds"])[1]
        figures["reading_medic_2026"] = {key: round(value, 2) for key, value in middle.items()}
        if with_million:
            figures["million_lines"] = million(folder)
    print(json.dumps(figures, indent=1))
    results.save("speed", figures, seed=0)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--million", action="store_true")
    main(parser.parse_args().million)
