"""Memory of the commands and of the service, for docs/production.md.

python benchmarks/service/memory.py    5 minutes

The most MB that each process has held, with the default model of MEDIC and names that DOID lends.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import MEDIC, development, locate, medmentions
from benchmarks.lib.linkers import ONTOLOGIES
from benchmarks.lib.measure import Figures, apart, megabytes, run_command
from benchmarks.service.load import Server
from linker import Linker
from linker.io import mentions as readers

LIST = 5_000  # mentions of a request, and of a file of the folder
FILES = 2
SEARCHES = ("diabetes", "hepatic inj", "familial", "D001260")
DECISIONS = 300


def main() -> None:
    """Measure, and write the figures."""
    results.parser(__doc__).parse_args()
    names = list(dict.fromkeys(medmentions()))[: LIST * FILES]
    lists = [names[i : i + LIST] for i in range(0, len(names), LIST)]
    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/model"
        figures: Figures = {"train": train(model), "model_mb": megabytes(Path(model))}
        figures |= {"names": len(Linker.load(model).dictionary.names), "list": LIST}
        print(figures, flush=True)
        figures |= served(model, lists)
        print(figures, flush=True)
        figures["learn"] = learnt(model, folder)
        figures["link"] = linked(model, lists, folder)
    figures = {name: round(figure) for name, figure in figures.items()}
    print(figures)
    results.save("memory", figures)


def train(model: str) -> float:
    """The most memory of a training."""
    words = ["train", "--dict", str(locate(MEDIC["2026"])), "--lend", str(locate(ONTOLOGIES[0]))]
    return float(apart(run_command, *words, "-q", "-o", model)["peak_mb"])


def served(model: str, lists: Sequence[Sequence[str]]) -> Figures:
    """The memory of a service when it has started, at work, and while it loads a model again."""
    server = Server(model, "--decisions", "none", "--set", "limits.seconds=3600")
    figures: Figures = {"started": server.held("VmRSS")}
    with httpx.Client(base_url=server.url, timeout=3600) as client:
        for asked in lists:
            client.post("/link", json={"mentions": asked}).raise_for_status()
        for query in SEARCHES:
            client.get("/search", params={"q": query}).raise_for_status()
        figures["at_work"] = server.held("VmHWM")
        client.post("/reload").raise_for_status()
        client.post("/link", json={"mentions": lists[0]}).raise_for_status()
        figures["reloaded"] = server.held("VmHWM")
    server.end()
    return figures


def learnt(model: str, folder: str) -> float:
    """The most memory of a training with decisions, here those of annotators."""
    table, store = Path(folder, "decided.tsv"), f"{folder}/decisions.sqlite"
    annotated = [m for m, _ in readers.flatten(development()) if m.gold]
    texts = {m.text: m.gold[0].ids[0] for m in annotated if m.gold and "\t" not in m.text}
    dictionary = Linker.load(model).dictionary
    lines = [
        f"{text}\t{concept}\n"
        for text, concept in texts.items()
        if len(dictionary.rows(concept)) == 1  # the others are of an older release
    ]
    table.write_text("".join(lines[:DECISIONS]), encoding="utf-8")
    imported = ["review", "import", str(table), "--reviewer", "Ada", "--decisions", store]
    apart(run_command, *imported, "--model", model, "-q")
    words = ["review", "learn", "--decisions", store, "--model", model, "-o", f"{folder}/next"]
    return float(apart(run_command, *words, "-q")["peak_mb"])


def linked(model: str, lists: Sequence[Sequence[str]], folder: str) -> float:
    """The most memory of `linker link` of a folder of lists."""
    source = Path(folder, "in")
    source.mkdir()
    for number, texts in enumerate(lists):
        Path(source, f"{number}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    words = ["link", str(source), "--model", model, "-o", f"{folder}/out", "-q"]
    return float(apart(run_command, *words)["peak_mb"])


if __name__ == "__main__":
    main()
