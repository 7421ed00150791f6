"""The tables of docs/names.md, docs/classes.md and docs/encoders.md, out of benchmarks/results/; readme.py writes them."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.lib.tables import RESULTS, result, runs, table

PARTS = ("train", "test", "zero_shot")
KINDS = {  # how the name of a row begins -> the encoder whose speed was measured
    "CCA + DAN level": "dan-higher",
    "CCA + DAN, level": "dan-higher",
    "CCA + DAN": "dan",
    "few-shot": "fewshot",
    "BNE words": "bne-words",
    "BNE": "bne",
    "MiniLM": "transformer",
}
NEAREST = ("word mean", "CCA", "DAN", "CCA + DAN", "BNE words", "BNE", "BNE + SG_W", "BNE + SG_S.C")
RELATEDNESS = ("mayosrs", "umnsrs_relatedness", "umnsrs_similarity")


def names() -> dict[str, Any]:
    """The figures of name encoders, of which there may be none yet."""
    return (
        result("name_encoders")
        if (RESULTS / "name_encoders.json").exists()
        else {"rows": [], "differences": [], "baselines": {}}
    )


def _mean(values: list[float], digits: int = 3) -> str:
    """A mean with the least and the largest value of its runs, where there are several."""
    return ("{:.{d}f} ({:.{d}f}-{:.{d}f})" if values[1] < values[2] else "{:.{d}f}").format(
        *values, d=digits
    )


def retrieval() -> str:
    """Synonym retrieval (Fivez et al. 2021a, tables 3 to 5)."""
    rows = []
    for made in names()["rows"]:
        cells = [_mean(made[part]["map"]) for part in PARTS]
        minutes = f"{statistics.mean(made['cpu_seconds']) / 60:.1f}"
        rows.append(
            [
                made["data"],
                made["encoder"],
                str(made["runs"]),
                *cells,
                _published(made, "map"),
                minutes,
            ]
        )
    return table(
        [
            "names",
            "encoder",
            "runs",
            "mAP train",
            "mAP test",
            "mAP zero-shot",
            "published mAP",
            "CPU minutes",
        ],
        rows,
    )


def mapping() -> str:
    """Concept mapping by the nearest name (the same tables)."""
    rows, scores = [], ("acc", "mrr")
    for made in names()["rows"]:
        ours = [" / ".join(f"{made[part][score][0]:.2f}" for part in PARTS) for score in scores]
        rows.append(
            [
                made["data"],
                made["encoder"],
                ours[0],
                _published(made, "acc"),
                ours[1],
                _published(made, "mrr"),
            ]
        )
    return table(
        [
            "names",
            "encoder",
            "Acc train / test / zero-shot",
            "published",
            "MRR train / test / zero-shot",
            "published",
        ],
        rows,
    )


def _published(made: dict[str, Any], score: str) -> str:
    """What the paper has on train, test and zero-shot names."""
    return (
        " / ".join(f"{made['published'][part][score]:.2f}" for part in PARTS)
        if made["published"]
        else "-"
    )


def effects() -> str:
    """What each part of the DAN adds."""
    rows = []
    for made in names()["differences"]:
        shown = "{:+.3f} ({:+.3f} to {:+.3f})" if made["runs"] > 1 else "{:+.3f}"
        cells = [shown.format(*made[part]) for part in ("test", "zero_shot")]
        published = (
            " / ".join(f"{made['published'][part]:+.2f}" for part in ("test", "zero_shot"))
            if made["published"]
            else "-"
        )
        rows.append([made["data"], made["of"], made["over"], *cells, published])
    return table(["names", "", "over", "test mAP", "zero-shot mAP", "published"], rows)


def relatedness() -> str:
    """Spearman's correlation with human judgement (Fivez et al. 2021a, table 8)."""
    found, kinds = names(), RELATEDNESS
    rows = [
        [kind, *(f"{own['relatedness'][name]:.3f}" for name in kinds)]
        for kind, own in found["baselines"].items()
        if "relatedness" in own
    ]
    for made in found["rows"]:
        if not made["data"].endswith("new names"):  # the row for all names is of the same encoders
            label = f"{made['encoder']}, {made['data'].removesuffix(', all names')}"
            rows.append([label, *(_mean(made["relatedness"][name]) for name in kinds)])
    return table(["", "MayoSRS", "UMNSRS relatedness", "UMNSRS similarity"], rows)


def coverage() -> str:
    """Mean coverage at k (Phan et al. 2019, figure 4), and their table 2."""
    found, ks, corpora = names(), ("1", "4", "16", "64", "256", "1024"), ("ncbi", "bc5cdr")
    rows = []
    for kind, own in found["baselines"].items():
        near = [
            " / ".join(f"{own[name][k]:.2f}" for k in ks) if name in own else "-"
            for name in ("coverage", "hpo_coverage")
        ]
        rows.append([kind, *near, *(f"{own['reranking'][corpus]:.3f}" for corpus in corpora)])
    for made in (made for made in found["rows"] if made["data"] == "fine"):
        near = [
            " / ".join(f"{made[name][k][0]:.2f}" for k in ks)
            for name in ("coverage", "hpo_coverage")
        ]
        rows.append(
            [made["encoder"], *near, *(_mean(made["reranking"][corpus]) for corpus in corpora)]
        )
    head = ["", f"coverage at {' / '.join(ks)}, MEDIC", "HPO", "MAP, NCBI Disease", "MAP, BC5CDR"]
    return table(head, rows)


def nearest() -> str:
    """The names nearest to one mention, under each encoder (Fivez et al. 2021a, tables 6 and 7)."""
    kept = [
        (made["encoder"], made["nearest"])
        for made in names()["rows"]
        if made["data"] == "fine" and made["encoder"] in NEAREST
    ]
    columns = [
        [f"{name}{' *' * right}".replace("*", "\\*") for name, right in own["nearest"]]
        for _, own in kept
    ]
    made = table([encoder for encoder, _ in kept], zip(*columns, strict=True))
    return f"Mention: {kept[0][1]['mention']}\n\n{made}" if kept else made


def hybrid() -> str:
    """Encoders made of word vectors as dense scorer on the test mentions."""
    head = [
        "encoder",
        "MEDIC",
        "runs",
        "biosyn Acc@1 (95% interval)",
        "Acc@5",
        "Acc@20",
        "unseen",
        "strict Acc@1",
        "Acc@5",
    ]
    rows = []
    for made in runs("ncbi_test_dan")["rows"]:
        biosyn, strict = made["biosyn"], made["strict"]
        unseen = biosyn["unseen_acc1"][0]
        cells = [
            made["configuration"],
            made["medic"],
            str(made["runs"]),
            "{:.4f} ({:.3f}-{:.3f})".format(*biosyn["acc"]["1"]),
        ]
        cells += [f"{biosyn['acc'][k][0]:.4f}" for k in ("5", "20")] + [
            "-" if unseen is None else f"{unseen:.3f}"
        ]
        rows.append([*cells, *(f"{strict['acc'][k][0]:.4f}" for k in ("1", "5"))])
    return table(head, rows)


def cost() -> str:
    """What the DAN costs, beside MiniLM."""
    figures = speed()
    if not figures:
        return table([], [])
    made, words = figures["training"], figures["word_vectors"]
    dan, minilm = (
        statistics.median(figures["encoding"]["encoders"][kind]["names_per_second"])
        for kind in ("dan", "transformer")
    )
    faster = figures["encoding"]["encoders"]["dan"]["times_faster_median"]
    rows = [
        [
            "names encoded a second, MiniLM beside it in the same run",
            f"{dan:,.0f} / {minilm:,.0f}, {faster:.1f} times",
        ],
        [
            f"training on MEDIC 2017 with train and dev, {made['threads']} threads",
            f"{made['minutes']:.1f} minutes, peak memory {made['peak_mb']:,} MB",
        ],
        ["the model", f"{made['model_mb']:.0f} MB, {made['names']:,} names"],
        [
            "word vectors, made once for all models",
            f"{words['words']:,} words, {words['cpu_minutes']:.0f} minutes of one core",
        ],
    ]
    for way, own in figures["drawing"].items():
        if isinstance(own, dict):
            share = f"{own['share']:.0%} of an epoch ({own['seconds_drawing']:.0f} s beside {own['seconds_of_steps']:.0f} s of steps)"
            rows.append(
                [
                    f"drawing {way}, {figures['drawing']['names']:,} names",
                    f"{share}, memory so far {own['peak_mb']:,} MB",
                ]
            )
    return table(["what", "figure"], rows)


def speed() -> dict[str, Any]:
    """What each encoder costs, where that was measured."""
    return result("encoder_speed") if (RESULTS / "encoder_speed.json").exists() else {}


def normalization() -> str:
    """Accuracy of the nearest name, with and without exact matches (Phan et al. 2019, table 3)."""
    rows = []
    for made in _rows("bne", "normalization"):
        theirs = (
            " / ".join(f"{value:.3f}" for value in made["published"]) if made["published"] else "-"
        )
        cells = [
            f"{own['accuracy']:.4f} (n={own['n']})"
            for own in made.values()
            if isinstance(own, dict)
        ]
        rows.append([made["encoder"], "yes" if made["xm"] else "no", *cells, theirs])
    return table(
        [
            "encoder",
            "exact matches",
            "NCBI Disease, test",
            "BC5CDR, development",
            "published, both test",
        ],
        rows,
    )


def levels_map() -> str:
    """Similarity ranking on each level (Fivez et al. 2021b, table 4)."""
    return _levels("map")


def levels_mrr() -> str:
    """Hypernym detection on each level (Fivez et al. 2021b, table 5)."""
    return _levels("mrr")


def _levels(part: str) -> str:
    rows = []
    for made in _rows("levels"):
        theirs = result("levels")["published"].get(made["encoder"])
        published = " / ".join(f"{value:.2f}" for value in theirs[part == "mrr"]) if theirs else "-"
        minutes = f"{statistics.mean(made['cpu_seconds']) / 60:.1f}"
        rows.append(
            [
                made["root"],
                made["encoder"],
                str(made["runs"]),
                *(_mean(values) for values in made[part]),
                published,
                minutes,
            ]
        )
    head = [
        "below",
        "encoder",
        "runs",
        *(f"level {k}" for k in range(1, 5)),
        "published (SNOMED-CT, C1290864)",
        "CPU minutes",
    ]
    return table(head, rows)


def levels_relatedness() -> str:
    """Relatedness after training on levels (Fivez et al. 2021b, table 7)."""
    rows = [
        [made["root"], made["encoder"], *(_mean(made["relatedness"][name]) for name in RELATEDNESS)]
        for made in _rows("levels")
        if not (made["encoder"] in ("word mean", "MiniLM") and made["root"] != "MESH:D009422")
    ]
    return table(
        ["trained below", "encoder", "MayoSRS", "UMNSRS relatedness", "UMNSRS similarity"], rows
    )


def levels_hypernyms() -> str:
    """The nearest hypernyms of a test name (Fivez et al. 2021b, table 6)."""
    kept = [
        (made["encoder"], made["hypernyms"])
        for made in _rows("levels")
        if made["root"] == "MESH:D009422"
    ]
    columns = [
        [f"{name}{' *' * right}".replace("*", "\\*") for name, right in own["nearest"]]
        for _, own in kept
    ]
    made = table([encoder for encoder, _ in kept], zip(*columns, strict=True))
    return (
        f"Mention: {kept[0][1]['mention']}; right: {', '.join(kept[0][1]['right'])}\n\n{made}"
        if kept
        else made
    )


def shots() -> str:
    """Few-shot encoders on their inputs (Fivez et al. 2021c, table 3)."""
    theirs = (
        {(name, on): values for name, on, *values in result("few_shot")["published"]}
        if _rows("few_shot")
        else {}
    )
    rows = []
    for made in _rows("few_shot"):
        published = theirs.get((made["input"], made["on"]))
        cells = [_mean(made["relatedness"][name]) for name in RELATEDNESS]
        seconds = f"{statistics.mean(made['cpu_seconds']):.0f}"
        shown = " / ".join(f"{value:.2f}" for value in published) if published else "-"
        rows.append([made["input"], made["on"], str(made["samples"]), *cells, shown, seconds])
    return table(
        [
            "input",
            "trained on",
            "samples",
            "MayoSRS",
            "UMNSRS relatedness",
            "UMNSRS similarity",
            "published",
            "CPU seconds",
        ],
        rows,
    )


def shots_nearest() -> str:
    """The nearest training names before and after (Fivez et al. 2021c, table 4)."""
    kept = [
        made
        for made in _rows("few_shot")
        if made["nearest"] and (made["input"], made["on"]) == ("fastText", "S")
    ]
    if not kept:
        return table([], [])
    own = kept[0]["nearest"]
    columns = [
        [f"{name}{' *' * right}".replace("*", "\\*") for name, right in own[side]]
        for side in ("before", "after")
    ]
    return f"Mention: {own['mention']} ({own['class']})\n\n" + table(
        ["fastText", "15-shot fastText"], zip(*columns, strict=True)
    )


def encoders() -> str:
    """All encoders side by side: what was measured of each."""
    made_of = {made["encoder"]: made for made in names()["rows"] if made["data"] == "fine"}
    linked = {
        made["configuration"]: made
        for made in runs("ncbi_test_dan")["rows"]
        if made["medic"] == "2012"
    }
    minilm = [
        made
        for made in runs("ncbi_test_dense")["rows"]
        if (made["configuration"], made["medic"]) == ("default", "2012")
    ]
    if minilm:
        linked["MiniLM"] = minilm[0]
    standing = [
        made for made in _rows("few_shot") if made["input"] in ("fastText", "CCA")
    ]  # on others it has their speed
    few = {
        f"few-shot on {made['input']}, {made['on']}": made
        for made in standing
        if made["on"] in ("I", "S")
    }
    wide = [made for made in _rows("levels") if made["root"] == "DOID:7"]
    higher = {
        f"{made['encoder']}, {made['root']}": made
        for made in wide
        if made["encoder"].startswith("CCA + DAN")
    }
    untrained = {made["encoder"]: made for made in wide if made["encoder"] == "MiniLM"}
    rows, measured = [], speed()["encoding"]["encoders"] if speed() else {}
    small = ("word mean", "CCA", "DAN", "CCA + DAN", "BNE", "BNE words", "MiniLM")
    for name in (*small, "few-shot", *few, "CCA + DAN, level 4", *higher):
        own = made_of.get(name) or few.get(name) or higher.get(name) or untrained.get(name) or {}
        ranked = linked[name]["biosyn"]["acc"] if name in linked else None
        fast = measured.get(
            next((kind for start, kind in KINDS.items() if name.startswith(start)), "")
        )
        minutes = statistics.mean(own["cpu_seconds"]) / 60 if own else 0
        rows.append(
            [
                name,
                f"{own['test']['map'][0]:.3f} / {own['zero_shot']['map'][0]:.3f}"
                if "test" in own
                else "-",
                f"{own['reranking']['ncbi'][0]:.3f}" if "reranking" in own else "-",
                " / ".join(f"{own['relatedness'][task][0]:.3f}" for task in RELATEDNESS)
                if own
                else "-",
                f"{ranked['1'][0]:.4f} / {ranked['5'][0]:.4f}" if ranked else "-",
                f"{minutes:.1f}" if minutes else "-",
                f"{statistics.median(fast['names_per_second']):,.0f}" if fast else "-",
                f"{fast['encoder_mb']:.0f} + {fast['vectors_mb']:.0f}" if fast else "-",
            ]
        )
    head = [
        "encoder",
        "mAP of synonyms, test / zero-shot",
        "MAP, BM25's candidates",
        "MayoSRS / UMNSRS relatedness / similarity",
    ]
    head += [
        "NCBI Disease test, biosyn, hybrid, Acc@1 / 5",
        "CPU minutes before lists",
        "names a second",
        "MB + MB of vectors",
    ]
    return table(head, rows)


def _rows(name: str, part: str = "rows") -> list[dict[str, Any]]:
    """The rows of a benchmark that may not have run yet."""
    rows: list[dict[str, Any]] = result(name)[part] if (RESULTS / f"{name}.json").exists() else []
    return rows


BLOCKS: tuple[Callable[[], str], ...] = (
    retrieval,
    mapping,
    effects,
    relatedness,
    coverage,
    nearest,
    hybrid,
    cost,
    normalization,
    levels_map,
    levels_mrr,
    levels_relatedness,
    levels_hypernyms,
    shots,
    shots_nearest,
    encoders,
)
