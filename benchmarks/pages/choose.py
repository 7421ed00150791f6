"""The tables of README.md: which encoder to choose, and our results beside published ones."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from benchmarks.lib import results
from benchmarks.pages.tables import rows, table


@dataclass(frozen=True, slots=True)
class Choice:
    """An encoder, and where its figures stand."""

    name: str
    purpose: str
    training: str = ""  # how long it takes; empty: it was measured
    row: str = ""  # the configuration of `ncbi_test_<file>`, or who lends names in `default`
    file: str = "dan"


CHOICES = (
    Choice("tfidf", "an answer at once, without torch", "seconds"),
    Choice("static", "the default of the command: no torch, no download", "seconds", "", "default"),
    Choice("static", "the same with `--lend`", "seconds", "DOID, HPO", "default"),
    Choice("dan", "word vectors of your own texts, no download", row="CCA + DAN"),
    Choice("bne", "more accurate than `dan`, no download", "half an hour", "BNE"),
    Choice("transformer", "the most accurate", "an hour", "default", "dense"),
    Choice("dan-higher", "groups names by topic", "minutes", "CCA + DAN, level 4"),
    Choice("fewshot", "a few names of large classes", "minutes", "few-shot"),
)
NETWORKS = {  # encoder -> what its vectors are made of, and the number of parameters
    "tfidf": ("character n-grams", "-"),
    "static": ("static vectors of sub-words", "7 M"),
    "dan": ("word vectors", "-"),
    "bne": ("word and character vectors", "-"),
    "transformer": ("all-MiniLM-L6-v2", "22 M"),
}
PUBLISHED = (  # system, encoder, parameters, Acc@1, Acc@5: NCBI Disease test, protocol biosyn
    ("BioSyn (Sung et al. 2020)", "BioBERT", "110 M", "0.911", "0.939"),
    ("BCNH (Yan et al. 2021)", "BioBERT", "110 M", "0.906", "0.950"),
    ("BioSyn + SapBERT (Liu et al. 2021)", "SapBERT", "110 M", "0.924", "0.958"),
    ("ANGEL (Kim et al. 2025)", "BART-large", "about 400 M", "0.928", "0.957"),
)


def choose() -> str:
    """Each encoder with its accuracy, training time, speed and size, and when to take it."""
    head = "`--encoder` | take it for | Acc@1 (unseen mentions) | training | speed | size"
    return table(head, map(_choice, CHOICES))


def _choice(choice: Choice) -> list[str]:
    accuracies = _accuracies(choice)
    shown = f"{accuracies[0]:.3f} ({accuracies[2]:.3f})" if accuracies else "-"
    speed, size = _costs(choice.name)
    minutes = results.figures("encoder_speed")["training"]["minutes"]
    training = choice.training or f"{minutes:.0f} minutes"
    name = f"`{choice.name}`"
    return [name, choice.purpose, shown, training, speed, size]


def _costs(encoder: str) -> tuple[str, str]:
    """Speed and size of an encoder, in words."""
    if encoder == "tfidf":
        linked = results.figures("speed")["against_biosyn"]["ours"]["mentions_per_second"]
        return f"{statistics.median(linked):,.0f} mentions linked a second", "-"
    if encoder == "static":
        return _costs_of_default()
    measured = results.figures("encoder_speed")["encoding"]["encoders"][encoder]
    rate = statistics.median(measured["names_per_second"])
    return f"{rate:,.0f} names encoded a second", f"{measured['encoder_mb']:.0f} MB"


def _costs_of_default() -> tuple[str, str]:
    """Speed and size of the default, where they were measured."""
    if not results.exists("default_speed"):
        return "-", "-"
    figures = results.figures("default_speed")["systems"]["static"]
    linked = statistics.median(figures["linking"]["as they come"]["mentions_per_second"])
    return f"{linked:,.0f} mentions linked a second", f"{figures['training']['model_mb']:.0f} MB"


def _accuracies(choice: Choice) -> tuple[float, float, float] | None:
    """Acc@1, Acc@5, and Acc@1 on unseen mentions: NCBI Disease test, protocol biosyn.

    None where it was not measured.
    """
    if choice.file == "default":
        of_default = [row for row in rows("default", "test") if row["medic"] == "2012"]
        best = next((row["biosyn"] for row in of_default if row["lent"] == choice.row), None)
        return best and (best["acc"]["1"][0], best["acc"]["5"][0], best["unseen_acc1"][0])
    if choice.name == "tfidf":
        sparse = {row["configuration"]: row for row in rows("ncbi_disease")}
        best = sparse["TF-IDF, chosen on dev"]
        unseen = best["groups"]["unseen_mention"]["acc"]["1"]
        return best["acc"]["1"], best["acc"]["5"], unseen
    dense = {(row["configuration"], row["medic"]): row for row in rows(f"ncbi_test_{choice.file}")}
    best = dense[choice.row, "2012"]["biosyn"]
    return best["acc"]["1"][0], best["acc"]["5"][0], best["unseen_acc1"][0]


def is_lent(choice: Choice) -> bool:
    """Whether the row has lent names."""
    return choice.file == "default" and bool(choice.row)


def published() -> str:
    """NCBI Disease test mentions: our encoders beside published systems."""
    ours = []
    for choice in CHOICES:
        if choice.name in NETWORKS and (accuracies := _accuracies(choice)):
            acc1, acc5, _ = accuracies
            name = f"linker, `{choice.name}`" + f", lent names of {choice.row}" * is_lent(choice)
            ours.append((name, *NETWORKS[choice.name], f"{acc1:.3f}", f"{acc5:.3f}"))
    lines = ([*row[:3], "biosyn", *row[3:]] for row in (*ours, *PUBLISHED))
    return table("system | encoder | parameters | protocol | Acc@1 | Acc@5", lines)


BLOCKS = (choose, published)
