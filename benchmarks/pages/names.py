"""The tables of name encoders."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.lib import results
from benchmarks.pages.classes import RELATEDNESS, TASKS
from benchmarks.pages.tables import Row, interval, mean, rows, starred, table

PARTS = ("train", "test", "zero_shot")
KS = ("1", "4", "16", "64", "256", "1024")  # of coverage
NEAREST = ("word mean", "CCA", "DAN", "CCA + DAN", "BNE words", "BNE", "BNE + SG_W", "BNE + SG_S.C")
SMALL = ("word mean", "CCA", "DAN", "CCA + DAN", "BNE", "BNE words", "MiniLM")
KINDS = {  # how the name of a row begins -> the encoder whose speed was measured
    "CCA + DAN level": "dan-higher",
    "CCA + DAN, level": "dan-higher",
    "CCA + DAN": "dan",
    "few-shot": "fewshot",
    "BNE words": "bne-words",
    "BNE": "bne",
    "MiniLM": "transformer",
}


def _baselines() -> dict[str, Row]:
    baselines: dict[str, Row] = results.figures("name_encoders")["baselines"]
    return baselines


def _fine() -> dict[str, Row]:
    """The rows of encoders that were trained on fine classes."""
    return {row["encoder"]: row for row in rows("name_encoders") if row["data"] == "fine"}


def retrieval() -> str:
    """Synonym retrieval (Fivez et al. 2021a, tables 3 to 5)."""
    lines = []
    for row in rows("name_encoders"):
        means = [mean(row[part]["map"]) for part in PARTS]
        minutes = f"{statistics.mean(row['cpu_seconds']) / 60:.1f}"
        cells = [row["data"], row["encoder"], str(row["runs"]), *means]
        lines.append([*cells, _published(row, "map"), minutes])
    head = "names | encoder | runs | mAP train | mAP test | mAP zero-shot | published mAP"
    return table(f"{head} | CPU minutes", lines)


def mapping() -> str:
    """Concept mapping by the nearest name (the same tables)."""
    lines = []
    for row in rows("name_encoders"):
        cells = [row["data"], row["encoder"]]
        for score in ("acc", "mrr"):
            means = " / ".join(f"{row[part][score][0]:.2f}" for part in PARTS)
            cells += [means, _published(row, score)]
        lines.append(cells)
    scores = "Acc train / test / zero-shot | published | MRR train / test / zero-shot | published"
    return table(f"names | encoder | {scores}", lines)


def _published(row: Row, score: str) -> str:
    """What the paper has on train, test and zero-shot names."""
    paper = row["published"]
    return " / ".join(f"{paper[part][score]:.2f}" for part in PARTS) if paper else "-"


def effects() -> str:
    """What each part of the DAN adds."""
    lines, parts = [], ("test", "zero_shot")
    for row in rows("name_encoders", "differences"):
        shown = "{:+.3f} ({:+.3f} to {:+.3f})" if row["runs"] > 1 else "{:+.3f}"
        paper = row["published"]
        published = " / ".join(f"{paper[part]:+.2f}" for part in parts) if paper else "-"
        gains = [shown.format(*row[part]) for part in parts]
        lines.append([row["data"], row["of"], row["over"], *gains, published])
    return table("names |  | over | test mAP | zero-shot mAP | published", lines)


def relatedness() -> str:
    """Spearman's correlation with human judgement (Fivez et al. 2021a, table 8)."""
    lines = [
        [name, *(f"{row['relatedness'][task]:.3f}" for task in RELATEDNESS)]
        for name, row in _baselines().items()
        if "relatedness" in row
    ]
    for row in rows("name_encoders"):
        if not row["data"].endswith("new names"):  # the row for all names is of the same encoders
            label = f"{row['encoder']}, {row['data'].removesuffix(', all names')}"
            lines.append([label, *(mean(row["relatedness"][task]) for task in RELATEDNESS)])
    return table(f" | {TASKS}", lines)


def coverage() -> str:
    """Mean coverage at k (Phan et al. 2019, figure 4), and their table 2."""
    lines, parts, corpora = [], ("coverage", "hpo_coverage"), ("ncbi", "bc5cdr")
    for name, row in _baselines().items():
        near = [" / ".join(f"{row[p][k]:.2f}" for k in KS) if p in row else "-" for p in parts]
        lines.append([name, *near, *(f"{row['reranking'][c]:.3f}" for c in corpora)])
    for name, row in _fine().items():
        near = [" / ".join(f"{row[p][k][0]:.2f}" for k in KS) for p in parts]
        lines.append([name, *near, *(mean(row["reranking"][c]) for c in corpora)])
    near_head = f"coverage at {' / '.join(KS)}, MEDIC | HPO"
    return table(f" | {near_head} | MAP, NCBI Disease | MAP, BC5CDR", lines)


def nearest() -> str:
    """The names nearest to one mention, by encoder (Fivez et al. 2021a, tables 6 and 7)."""
    by_encoder = {name: row["nearest"] for name, row in _fine().items() if name in NEAREST}
    if not by_encoder:
        return table("", [])
    columns = [starred(names["nearest"]) for names in by_encoder.values()]
    mention = next(iter(by_encoder.values()))["mention"]
    return f"Mention: {mention}\n\n" + table(" | ".join(by_encoder), zip(*columns, strict=True))


def hybrid() -> str:
    """Encoders made of word vectors as dense scorer on the test mentions."""
    lines = []
    for row in rows("ncbi_test_dan"):
        biosyn, strict = row["biosyn"], row["strict"]
        cells = [row["configuration"], row["medic"], str(row["runs"]), interval(biosyn["acc"]["1"])]
        cells += [f"{biosyn['acc'][k][0]:.4f}" for k in ("5", "20")]
        unseen = biosyn["unseen_acc1"][0]
        cells.append("-" if unseen is None else f"{unseen:.3f}")
        lines.append([*cells, *(f"{strict['acc'][k][0]:.4f}" for k in ("1", "5"))])
    head = "encoder | MEDIC | runs | biosyn Acc@1 (95% interval) | Acc@5 | Acc@20 | unseen"
    return table(f"{head} | strict Acc@1 | Acc@5", lines)


def normalization() -> str:
    """Accuracy of the nearest name, with and without exact matches (Phan et al. 2019, table 3)."""
    lines = []
    for row in rows("bne", "normalization"):
        tasks = [cell for cell in row.values() if isinstance(cell, dict)]
        cells = [f"{task['accuracy']:.4f} (n={task['n']})" for task in tasks]
        paper = row["published"]
        published = " / ".join(f"{value:.3f}" for value in paper) if paper else "-"
        lines.append([row["encoder"], "yes" if row["xm"] else "no", *cells, published])
    head = "encoder | exact matches | NCBI Disease, test | BC5CDR, development"
    return table(f"{head} | published, both test", lines)


def encoders() -> str:
    """All encoders side by side: what was measured of each."""
    trained, linked = _on_names(), _linked()
    measured = results.figures("encoder_speed")["encoding"]["encoders"]
    # those that stand on other inputs have the speed of these
    few = [name for name in trained if name.startswith("few-shot on")]
    higher = [name for name in trained if name.startswith("CCA + DAN level")]
    lines = []
    for name in (*SMALL, "few-shot", *few, "CCA + DAN, level 4", *higher):
        kind = next((kind for start, kind in KINDS.items() if name.startswith(start)), "")
        lines.append(_encoder_row(name, trained.get(name), linked.get(name), measured.get(kind)))
    head = (
        "encoder | mAP of synonyms, test / zero-shot | MAP, BM25's candidates | "
        "MayoSRS / UMNSRS relatedness / similarity | "
        "NCBI Disease test, biosyn, hybrid, Acc@1 / 5 | CPU minutes before lists | "
        "names a second | MB + MB of vectors"
    )
    return table(head, lines)


def _on_names() -> dict[str, Row]:
    """The row of each encoder in the tables of names and of classes."""
    trained = {}
    for row in rows("levels"):
        if row["root"] == "DOID:7" and row["encoder"].startswith(("CCA + DAN", "MiniLM")):
            is_trained = row["encoder"] != "MiniLM"
            trained[row["encoder"] + f", {row['root']}" * is_trained] = row
    for row in rows("few_shot"):
        if row["input"] in ("fastText", "CCA") and row["on"] in ("I", "S"):
            trained[f"few-shot on {row['input']}, {row['on']}"] = row
    return trained | _fine()


def _linked() -> dict[str, Row]:
    """The row of each encoder in the table of linking, with the names of 2012."""
    every = [row for row in rows("ncbi_test_dan") if row["medic"] == "2012"]
    linked = {row["configuration"]: row for row in every}
    for row in rows("ncbi_test_dense"):
        if (row["configuration"], row["medic"]) == ("default", "2012"):
            linked["MiniLM"] = row
    return linked


def _encoder_row(
    name: str, trained: Row | None, linked: Row | None, measured: Row | None
) -> list[str]:
    cells: dict[str, Any] = dict.fromkeys(
        ("map", "reranking", "relatedness", "acc", "minutes", "speed", "size"), "-"
    )
    if trained:
        related = trained["relatedness"]
        cells["relatedness"] = " / ".join(f"{related[task][0]:.3f}" for task in RELATEDNESS)
        if minutes := statistics.mean(trained["cpu_seconds"]) / 60:
            cells["minutes"] = f"{minutes:.1f}"
        if "test" in trained:
            values = (trained[part]["map"][0] for part in ("test", "zero_shot"))
            cells["map"] = " / ".join(f"{value:.3f}" for value in values)
        if "reranking" in trained:
            cells["reranking"] = f"{trained['reranking']['ncbi'][0]:.3f}"
    if linked:
        acc = linked["biosyn"]["acc"]
        cells["acc"] = f"{acc['1'][0]:.4f} / {acc['5'][0]:.4f}"
    if measured:
        cells["speed"] = f"{statistics.median(measured['names_per_second']):,.0f}"
        cells["size"] = f"{measured['encoder_mb']:.0f} + {measured['vectors_mb']:.0f}"
    return [name, *cells.values()]


BLOCKS = (
    retrieval,
    mapping,
    effects,
    relatedness,
    coverage,
    nearest,
    hybrid,
    normalization,
    encoders,
)
